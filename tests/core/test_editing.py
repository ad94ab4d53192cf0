"""Nobody's edit is undone in silence: two people open each form that changes what is stored, and both send it.

Each address that takes a form must be named here, so a form cannot be forgotten.
"""

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser, LexborNode

from api import webhooks
from api.models import Event
from campaigns.template_terms import template_save
from core.http import edit_in_turn
from core.models import Lab, User
from platforms.terms import publication_write
from pools.models import Campaign
from runs.models import Collection
from tasks.services import consent_write
from tests import factories
from tests.core.test_roles import addresses
from tests.leaderboards import taking_part

pytestmark = pytest.mark.django_db
SAVED = "Somebody else has saved this since you opened it."


class Edit(NamedTuple):
    """A field of a page, what two people make of it, and what both of them fill in besides."""

    name: str
    field: str
    theirs: str
    yours: str
    others: Mapping[str, str] = {}


_EXAMPLE = {"example-example_better": "A.", "example-example_worse": "B.", "example-example_why": "So."}
EDITS = [
    Edit("tasks:wording", "words-title", "Their title", "Your title"),
    Edit("tasks:wording", "example-example_query", "their example?", "your example?", _EXAMPLE),
    Edit("tasks:wording", "pay-how", "By cheque.", "By post."),
    Edit("tasks:wording", "consent-text", "With the ethics board.", "Without it."),
    Edit("tasks:outside_panel", "finished_exit", "THEIRS1", "YOURS22", {"name": "Panel"}),
    Edit("platforms:terms", "countries", "US, GB", "DE"),
    Edit("campaigns:template", "instructions", "Their instructions.", "Your instructions."),
    Edit("campaigns:template_terms", "description", "Their description.", "Your description."),
    Edit("campaigns:pay_floor", "pay_floor", "7.25", "15.00"),
    Edit("protection:protection_lab", "worker_days", "100", "222"),
    Edit("core:alarm_choice", "reach", "none", "all"),
    Edit("results:settings", "baseline", "bm25", "dense"),
    Edit("upkeep:upkeep", "fewest", "17", "23"),
    Edit("leaderboards:board_edit", "about", "What they say.", "What you say."),
    Edit("leaderboards:policy_new", "text", "Their policy.", "Your policy.", {"why": "Better."}),
    Edit("core:lab_rename", "name", "Their lab", "Your lab"),
    Edit("core:role", "role", "viewer", "organizer"),
    Edit("api:webhook", "url", "https://example.org/theirs", "https://example.org/yours"),
    Edit("campaigns:campaign_edit", "instructions", "Their instructions.", "Your instructions."),
    Edit("campaigns:campaign_rename", "name", "Their name", "Your name"),
    Edit("runs:run_models", "models_used", "their-model", "your-model"),
    Edit("admin", "username", "theirs", "yours"),
]
# Where nothing that a page shows is replaced by what somebody entered into it.
EXEMPT: dict[str, set[str]] = {
    "adds something": {
        *("api:tokens", "api:webhooks", "core:lab_new", "core:people", "leaderboards:board_new"),
        *("leaderboards:dev", "leaderboards:import", "leaderboards:season_new", "leaderboards:submit"),
        *("leaderboards:team", "leaderboards:team_new", "platforms:conversation", "campaigns:template_save"),
        *(
            "campaigns:campaign_new",
            "runs:collection_add",
            "runs:collection_new",
            "runs:dataset_new",
            "runs:sending_begin",
            "runs:sending_continue",
            "leaderboards:sending_begin",
            "leaderboards:sending_continue",
        ),
        *("runs:dataset_texts", "runs:files", "runs:files_read", "runs:run_upload", "pools:preferences_import"),
        *("judgments:judgments_import", "machines:machine_ask", "machines:machine_import", "results:ask"),
        *("results:version_new", "tasks:panel", "tasks:tests", "tasks:tests_copy", "tasks:tests_suggest"),
        *("platforms:test_run", "judgments:rest_repay", "protection:bundle_make", "judgments:make_exports"),
        "results:show",
    },
    "decides, as one more row beside those that there are": {
        *("review:assignment", "review:worker", "review:review", "review:bulk_undo"),
        *("review:disagreement", "review:reports", "leaderboards:decide", "leaderboards:board_act"),
        *("leaderboards:submission_act", "platforms:submission", "platforms:compensate", "platforms:decline"),
        *("tasks:tests_decide", "tasks:test_decide", "upkeep:decide"),
    },
    "sends again what was shown, which is compared already": {
        *("platforms:publish", "platforms:pay", "platforms:adjustment", "runs:files_discard")
    },
    "removes one pair, if it still is the one that was shown": {"tasks:practice"},
    "is a press, which says all that it does": {
        *("api:delivery_repeat", "api:token_revoke", "api:webhook_act", "core:disable", "core:remove"),
        *("core:reset_link", "core:revoke", "core:session_end", "core:test_mail", "machines:machine_delete"),
        *("machines:machine_stop", "protection:protection_erase", "protection:protection_worker"),
        *("judgments:rest_launch", "judgments:round_ask", "protection:campaign_erase"),
        *("protection:member_close", "leaderboards:export", "leaderboards:order", "leaderboards:team_leave"),
        *("platforms:ask_for_money", "platforms:compare", "platforms:extend", "platforms:listen"),
        *("platforms:message_set_aside", "platforms:move", "platforms:retry", "platforms:set_aside"),
        *("campaigns:template_default", "campaigns:template_delete", "campaigns:campaign_archive"),
        *("campaigns:campaign_delete", "campaigns:campaign_unarchive", "runs:job_cancel", "runs:outside_scores_delete"),
        *(
            "pools:preferences_delete",
            "runs:run_delete",
            "runs:run_release",
            "results:compute",
            "results:later_runs",
            "tasks:launch",
        ),
        *("tasks:outside_panel_delete", "tasks:trials_revoke", "usersessions_list", "socialaccount_connections"),
        *("platforms:pause", "platforms:resume", "platforms:stop", "platforms:expire"),
    },
    "replaces what is not shown: a secret, or a whole file": {
        *("account_change_password", "platforms:lab_account", "runs:outside_scores")
    },
    "is about oneself alone, and asks for proof": {"account_email", "account_reauthenticate"},
    "shows something and stores nothing": {"campaigns:consequences", "tasks:trial_of_wording"},
}


class World(NamedTuple):
    """One of each thing that is edited, and where."""

    paths: dict[str, str]
    pages: dict[str, str]  # where the form is, if that is elsewhere

    def page(self, name: str) -> str:
        return self.pages.get(name, self.paths[name])


@pytest.fixture
def agnes(lab: Lab) -> Client:
    """The browser of an admin of the site and of the lab."""
    agnes = factories.user("agnes", is_staff=True, is_superuser=True)
    lab.members.add(agnes, through_defaults={"role": "admin"})
    client = Client()
    client.force_login(agnes)
    return client


@pytest.fixture
def boris(lab: Lab) -> Client:
    """The browser of another."""
    boris = factories.user("boris", is_staff=True, is_superuser=True)
    lab.members.add(boris, through_defaults={"role": "admin"})
    client = Client()
    client.force_login(boris)
    return client


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    return factories.campaign(collection, "draft", start=False)


@pytest.fixture
def world(draft: Campaign, rita: User, settings: Any) -> World:
    settings.MARKETPLACE_URL = "http://localhost:8100"
    lab, at = draft.lab, timezone.now()
    publication_write(campaign=draft)
    template = template_save(campaign=draft, name="usual", by=rita, at=at)
    board = taking_part.make(draft.collection, rita)
    webhook, _secret = webhooks.webhook_create(
        lab=lab, url="https://example.org/first", events=Event.values, by=rita, at=at
    )
    member = lab.memberships.get(user=factories.member(lab, "researcher", "rolf"))
    keys: dict[str, tuple[object, ...]] = {
        "campaigns:template": (template.pk,),
        "campaigns:template_terms": (template.pk,),
        "core:alarm_choice": (),
        "upkeep:upkeep": (board.slug,),
        "leaderboards:board_edit": (board.slug,),
        "leaderboards:policy_new": (board.slug,),
        "core:role": (lab.pk, member.pk),
        "runs:run_models": (draft.collection.runs.order_by("pk").values_list("pk", flat=True)[0],),
        "api:webhook": (lab.pk, webhook.pk),
        "admin:core_user_change": (member.user.pk,),
    }
    of_lab = {"campaigns:pay_floor", "protection:protection_lab", "core:lab_rename"}
    paths = {}
    for name in {edit.name for edit in EDITS}:
        key = "admin:core_user_change" if name == "admin" else name
        paths[name] = reverse(key, args=keys.get(key, (lab.pk if name in of_lab else draft.pk,)))
    return World(paths, {"core:role": reverse("core:people", args=[lab.pk])})


def form_of(answer: Any, path: str, field: str) -> dict[str, Any]:
    """What a browser would send of the page's form that has the field and goes there."""
    for form in LexborHTMLParser(answer.text).css("form[method=post]"):
        goes_there = form.attributes.get("action") in (None, "", path)
        if goes_there and form.css_first(f'[name="{field}"]') is not None:
            return _sent(form)
    raise AssertionError(f"{path} has no form with {field}: {answer.text}")


def _sent(form: LexborNode) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for control in form.css("[name]"):
        of, name = control.attributes, str(control.attributes["name"])
        if control.tag == "textarea":
            sent[name] = control.text().removeprefix("\n")
        elif control.tag == "select":
            chosen = control.css("option[selected]") or control.css("option")[:1]
            sent[name] = [option.attributes.get("value") or "" for option in chosen]
        elif of.get("type") in ("checkbox", "radio"):
            if "checked" in of:
                sent[name] = [*sent.get(name, []), of.get("value", "on")]
        elif control.tag == "input" and of.get("type") not in ("submit", "file"):
            sent[name] = of.get("value") or ""
    return sent


def opened(browser: Client, world: World, edit: Edit) -> dict[str, Any]:
    return {**form_of(browser.get(world.page(edit.name)), world.paths[edit.name], edit.field), **edit.others}


def plain(value: Any) -> str:
    return "".join(value).replace("\r\n", "\n").strip()


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.name} {edit.field}")
def test_who_saves_second_sees_what_was_saved_first_and_saves_by_a_second_press(
    edit: Edit, world: World, agnes: Client, boris: Client
) -> None:
    if edit.name == "core:alarm_choice":
        boris = agnes  # everybody has their own: two tabs
    path = world.paths[edit.name]
    first, second = opened(agnes, world, edit), opened(boris, world, edit)

    assert agnes.post(path, {**first, edit.field: edit.theirs}).status_code in (302, 303)
    refused = boris.post(path, {**second, edit.field: edit.yours})

    assert refused.status_code in (200, 400), refused.content
    assert SAVED in refused.text
    assert 'role="alert" tabindex="-1" autofocus' in refused.text
    assert plain(opened(agnes, world, edit)[edit.field]) == edit.theirs
    again = form_of(refused, path, edit.field)
    assert plain(again[edit.field]) == edit.yours, "yours is still in the form"
    answer = boris.post(path, {**edit.others, **again})
    assert answer.status_code in (302, 303), answer.content
    assert plain(opened(agnes, world, edit)[edit.field]) == edit.yours


def test_every_address_that_takes_a_form_is_tried_or_exempt(campaign: Campaign, agnes: Client) -> None:
    taking = set()
    for address in addresses(campaign):
        if "POST" in agnes.options(address.path).headers.get("Allow", ""):
            taking.add(address.name)
    exempt = {name for names in EXEMPT.values() for name in names}
    tried = {edit.name for edit in EDITS if edit.name != "admin"} | {"platforms:filters"}
    assert taking - tried - exempt == set()
    assert exempt - taking == set()
    assert exempt & tried == set()


def test_the_terms_of_one_and_the_description_of_another_are_both_kept_apart(
    world: World, draft: Campaign, agnes: Client, boris: Client
) -> None:
    edit = Edit("platforms:terms", "countries", "US, GB", "")
    path, first, second = world.paths["platforms:terms"], *(opened(user, world, edit) for user in (agnes, boris))
    agnes.post(path, {**first, "countries": "US, GB"})

    refused = boris.post(path, {**second, "description": "Four more words here."})

    rows = [row.text(separator="|", strip=True) for row in LexborHTMLParser(refused.text).css("[role=alert] tbody tr")]
    assert rows == ["Countries|US, GB|–"]
    draft.publication.refresh_from_db()
    assert "US" in str(draft.publication.requirements)


def test_the_same_again_is_no_conflict(world: World, agnes: Client) -> None:
    edit = EDITS[0]
    sent = {**opened(agnes, world, edit), edit.field: "A title"}
    path = world.paths[edit.name]
    assert [agnes.post(path, sent).status_code for _press in range(2)] == [303, 303]


def test_a_script_that_sends_no_digest_is_not_compared(world: World, agnes: Client) -> None:
    words = {"words-title": "Title", "words-question": "Which?", "words-instructions": "Read."}
    assert agnes.post(world.paths["tasks:wording"], words).status_code == 303
    assert agnes.post(world.paths["tasks:wording"], {**words, "words-title": "Other"}).status_code == 303


def test_a_draft_that_is_being_changed_is_not_changed_by_another(
    world: World, agnes: Client, boris: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = next(edit for edit in EDITS if edit.name == "campaigns:campaign_edit")
    path, first, second = world.paths[edit.name], *(opened(user, world, edit) for user in (agnes, boris))
    monkeypatch.setattr("runs.background.is_small", lambda _job: False)
    monkeypatch.setattr("runs.jobs.work.delay", lambda _job: None)
    assert agnes.post(path, {**first, "instructions": "Theirs."}).status_code == 303

    refused = boris.post(path, {**second, "instructions": "Yours."})

    assert refused.status_code == 400
    assert "This draft is being changed right now." in refused.text


def test_a_practice_pair_is_not_removed_in_place_of_another(draft: Campaign, agnes: Client, boris: Client) -> None:
    page = reverse("tasks:practice", args=[draft.pk])
    for number in range(2):
        words = {"question": f"question {number}?", "better": "A.", "worse": "B.", "explanation": "So."}
        assert agnes.post(page, words).status_code == 303
    first = {"remove": "1", "question": "question 0?"}
    assert agnes.post(page, first).status_code == 303
    refused = boris.post(page, first)
    assert refused.status_code == 409
    assert "Nothing was removed" in refused.text
    draft.refresh_from_db()
    assert "question 1?" in draft.practice_pairs


@pytest.mark.django_db(transaction=True)
def test_two_presses_at_once_take_turns(draft: Campaign, agnes: Client) -> None:
    page = reverse("tasks:wording", args=[draft.pk])
    sent = form_of(agnes.get(page), page, "consent-text")
    answers = []

    def press() -> None:
        answers.append(agnes.post(page, {**sent, "consent-text": "Yours."}))
        connection.close()

    other = threading.Thread(target=press)
    with edit_in_turn(RequestFactory().post(page)):
        other.start()
        with connection.cursor() as cursor:
            waiting = 0
            while not waiting and other.is_alive():
                cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                (waiting,) = cursor.fetchone()
        consent_write(campaign=draft, text="Theirs.")
    other.join()

    assert waiting, "the second press waits for the first"
    assert SAVED in answers[0].text
    assert [text.text for text in draft.consent_texts.all()] == ["Theirs."]
