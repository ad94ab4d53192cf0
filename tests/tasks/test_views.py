"""The researcher's pages about test pairs, wording, the panel, and a campaign's start and end."""

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from core.errors import Refused
from core.models import Lab, User
from pools.models import Campaign
from runs.models import Collection
from tasks import jobs as task_jobs
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.links import home_address
from tasks.models import Invitation, TestPair, Worker
from tests import factories
from tests.api.conftest import Program


@pytest.fixture
def page(client: Client, rita: User, lab: Lab) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    """A campaign that has not started, without test pairs."""
    return factories.campaign(collection, "draft", tests=0, start=False, tests_per_hit=2)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the background, instead of asking it."""
    calls: list[str] = []
    monkeypatch.setattr(task_jobs.pack_waiting_campaigns, "delay", lambda: calls.append("pack"))
    return calls


def test_another_lab_sees_and_changes_nothing(draft: Campaign) -> None:
    other = factories.user("sam")
    factories.lab("Another lab", other)
    browser = Client()
    browser.force_login(other)
    for name in ("tests", "wording", "panel"):
        assert browser.get(reverse(f"tasks:{name}", args=[draft.pk])).status_code == 404, name
    pages = ("tasks:tests", "tasks:wording", "tasks:panel", "tasks:tests_suggest", "tasks:launch", "platforms:move")
    for name in pages:
        assert browser.post(reverse(name, args=[draft.pk]), {"names": "x"}).status_code == 404, name
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("name", ["tasks:tests_suggest", "tasks:launch", "platforms:move"])
def test_nothing_is_changed_by_opening_an_address(page: Client, draft: Campaign, name: str) -> None:
    assert page.get(reverse(name, args=[draft.pk])).status_code == 405


# --- test pairs


def test_suggested_pairs_are_confirmed_and_declined_one_by_one(page: Client, rita: User, draft: Campaign) -> None:
    factories.elsewhere(draft.collection)
    answer = page.post(reverse("tasks:tests_suggest", args=[draft.pk]), {"count": "2"})
    assert answer.status_code == 303
    first, two = draft.test_pairs.order_by("id")
    assert {first.state, two.state} == {"suggested"}
    text = page.get(reverse("tasks:tests", args=[draft.pk])).content.decode()
    assert escape(first.question) in text
    assert escape(first.off_topic_text) in text
    page.post(reverse("tasks:test_decide", args=[draft.pk, first.pk]), {"decision": "confirm"})
    page.post(reverse("tasks:test_decide", args=[draft.pk, two.pk]), {"decision": "decline"})
    first.refresh_from_db()
    two.refresh_from_db()
    assert (first.state, first.decided_by, two.state) == ("confirmed", rita, "declined")


def test_only_test_pairs_whose_passages_were_opened_are_confirmed(page: Client, draft: Campaign, lab: Lab) -> None:
    factories.elsewhere(draft.collection)
    page.post(reverse("tasks:tests_suggest", args=[draft.pk]), {"count": "4"})
    first, two, three, four = draft.test_pairs.order_by("id")
    at, decide = reverse("tasks:tests", args=[draft.pk]), reverse("tasks:tests_decide", args=[draft.pk])
    text = page.get(at).content.decode()
    assert escape(first.off_topic_text) in text, "the first is open"
    assert escape(two.question) in text and escape(two.off_topic_text) not in text
    answer = page.post(decide, {"read_one": two.pk})
    assert answer["Location"].endswith(f"#test-{two.pk}")
    assert escape(two.off_topic_text) in page.get(at).content.decode()

    everyone = {"test": [test.pk for test in (first, two, three, four)], "decision": "confirm"}
    text = page.post(decide, everyone, follow=True).content.decode()
    assert "2 test pairs have been confirmed." in text
    assert "2 test pairs have not been confirmed, as you have not opened them here." in text
    assert set(draft.test_pairs.filter(state="confirmed")) == {first, two}
    assert escape(three.off_topic_text) in text, "the next one is open then"
    page.post(decide, {"confirm_one": four.pk})
    four.refresh_from_db()
    assert four.state == "suggested"
    somebody = Client()
    somebody.force_login(factories.member(lab, "researcher", "nora"))
    text = somebody.post(decide, {"test": [three.pk], "decision": "confirm"}, follow=True).content.decode()
    assert "1 test pair has not been confirmed, as you have not opened it here." in text
    page.post(decide, {"test": [three.pk, four.pk], "decision": "decline"})
    assert set(draft.test_pairs.filter(state="declined")) == {three, four}, "nobody need read what they decline"


def test_the_first_suggestion_is_open_at_once_and_taken_with_one_press(page: Client, draft: Campaign) -> None:
    factories.elsewhere(draft.collection)
    first, two = task_services.test_pairs_suggest(campaign=draft, count=2, seed=1)
    text = page.get(reverse("tasks:tests", args=[draft.pk])).text
    assert escape(first.off_topic_text) in text and escape(two.off_topic_text) not in text
    text = page.post(reverse("tasks:tests_decide", args=[draft.pk]), {"confirm_one": first.pk}, follow=True).text
    assert draft.test_pairs.get(state="confirmed") == first and escape(two.off_topic_text) in text


def test_a_test_pair_of_another_campaign_is_not_found(page: Client, draft: Campaign, collection: Collection) -> None:
    other = factories.campaign(collection, "other", tests=1, start=False)
    pair = other.test_pairs.get()
    answer = page.post(reverse("tasks:test_decide", args=[draft.pk, pair.pk]), {"decision": "decline"})
    assert answer.status_code == 404
    pair.refresh_from_db()
    assert pair.state == "confirmed"


def test_a_written_pair_is_confirmed_by_that(page: Client, draft: Campaign) -> None:
    words = {"question": "what is a cat", "relevant_text": "An animal.", "off_topic_text": "Bread needs flour."}
    assert page.post(reverse("tasks:tests", args=[draft.pk]), words).status_code == 303
    assert draft.test_pairs.get().state == TestPair.State.CONFIRMED


def test_the_confirmed_test_pairs_of_another_campaign_are_copied(
    page: Client, rita: User, draft: Campaign, collection: Collection
) -> None:
    factories.elsewhere(collection)
    other = factories.campaign(collection, "other", tests=2, start=False)
    task_services.test_pairs_suggest(campaign=other, count=1, seed=1)
    (suggested,) = other.test_pairs.filter(state="suggested")
    task_services.test_pair_decide(test_pair=suggested, confirm=True, by=None, at=timezone.now())
    task_services.test_pairs_suggest(campaign=draft, count=1, seed=1)
    here = draft.test_pairs.get()
    assert (here.relevant, here.off_topic, here.state) == (suggested.relevant, suggested.off_topic, "suggested")
    task_services.test_pairs_suggest(campaign=other, count=1, seed=2)

    text = page.get(reverse("tasks:tests", args=[draft.pk])).content.decode()
    assert f'<option value="{other.pk}">other (3)</option>' in text
    answer = page.post(reverse("tasks:tests_copy", args=[draft.pk]), {"source": other.pk}, follow=True)
    assert "3 test pairs have been copied" in answer.content.decode()
    copied = draft.test_pairs.order_by("question")
    assert {(test.state, test.decided_by) for test in copied} == {("confirmed", rita)}
    words = ("question", "relevant_text", "off_topic_text", "query", "relevant", "off_topic")
    theirs = other.test_pairs.filter(state="confirmed").order_by("question")
    assert list(copied.values_list(*words)) == list(theirs.values_list(*words))

    again = page.post(reverse("tasks:tests_copy", args=[draft.pk]), {"source": other.pk}, follow=True)
    assert "0 test pairs have been copied" in again.content.decode()
    assert draft.test_pairs.count() == 3


def test_test_pairs_copied_from_another_collection_name_no_passage_of_it(
    page: Client, draft: Campaign, lab: Lab, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    elsewhere = factories.collection(
        tmp_path / "other",
        in_lab=lab,
        name="elsewhere",
        qrels={"q1": ["p1"], "q2": ["p4"]},
        tops={"red": {"q1": ["p2"]}},
    )
    factories.elsewhere(elsewhere)
    other = factories.campaign(elsewhere, "other", tests=0, start=False)
    task_services.test_pairs_suggest(campaign=other, count=1, seed=1)
    task_services.test_pairs_decide(test_pairs=other.test_pairs.all(), confirm=True, by=None, at=timezone.now())
    page.post(reverse("tasks:tests_copy", args=[draft.pk]), {"source": other.pk})
    copied = draft.test_pairs.get()
    assert copied.question == other.test_pairs.get().question
    assert (copied.query, copied.relevant, copied.off_topic) == (None, None, None)


def test_test_pairs_are_not_copied_from_another_lab_or_language_or_to_a_campaign_that_has_started(
    page: Client, draft: Campaign, campaign: Campaign, collection: Collection, tmp_path: Path
) -> None:
    arabic = factories.campaign(collection, "arabic", start=False, language="ar")
    sam = factories.user("sam")
    (tmp_path / "sam").mkdir()
    hers = factories.campaign(factories.small(tmp_path / "sam", factories.lab("Another lab", sam)), "hers", start=False)
    text = page.get(reverse("tasks:tests", args=[draft.pk])).content.decode()
    assert "arabic (6)" not in text
    assert "hers (6)" not in text
    for source, status in ((arabic, 400), (hers, 400), (draft, 400)):
        answer = page.post(reverse("tasks:tests_copy", args=[draft.pk]), {"source": source.pk})
        assert (answer.status_code, draft.test_pairs.count()) == (status, 0), source.name
    with pytest.raises(Refused, match="within a lab"):
        task_services.test_pairs_copy(campaign=draft, source=hers, by=None, at=timezone.now())
    with pytest.raises(Refused, match="is in another language"):
        task_services.test_pairs_copy(campaign=draft, source=arabic, by=None, at=timezone.now())
    assert page.post(reverse("tasks:tests_copy", args=[campaign.pk]), {"source": arabic.pk}).status_code == 400
    with pytest.raises(Refused):
        task_services.test_pairs_copy(campaign=campaign, source=draft, by=None, at=timezone.now())


def test_a_pair_that_is_refused_keeps_what_was_written(page: Client, draft: Campaign) -> None:
    words = {"question": "what is a cat", "relevant_text": "The same <b>.", "off_topic_text": "The same <b>."}
    answer = page.post(reverse("tasks:tests", args=[draft.pk]), words)
    assert answer.status_code == 409
    text = answer.content.decode()
    assert "must differ" in text
    assert 'value="what is a cat"' in text
    assert text.count("The same &lt;b&gt;.") == 2
    assert not draft.test_pairs.exists()


def test_test_pairs_are_fixed_once_the_campaign_has_started(page: Client, campaign: Campaign) -> None:
    pair = campaign.test_pairs.first()
    assert pair is not None
    decide = reverse("tasks:test_decide", args=[campaign.pk, pair.pk])
    assert page.post(decide, {"decision": "decline"}).status_code == 409
    assert page.post(reverse("tasks:tests_suggest", args=[campaign.pk]), {"count": "1"}).status_code == 409
    assert "Suggest more" not in page.get(reverse("tasks:tests", args=[campaign.pk])).content.decode()
    assert task_selectors.test_counts(campaign)[1:] == (0, 6, 0, 6)


# --- what workers read


def test_a_changed_consent_text_is_a_new_version(page: Client, campaign: Campaign) -> None:
    address = reverse("tasks:wording", args=[campaign.pk])
    page.post(address, {"consent-text": "I agree to this."})
    page.post(address, {"consent-text": "I agree to this. "})
    assert list(campaign.consent_texts.order_by("version").values_list("version", flat=True)) == [1, 2]
    assert page.post(address, {"consent-text": "  "}).status_code == 400


def test_what_workers_read_changes_in_a_draft_only(page: Client, draft: Campaign, campaign: Campaign) -> None:
    words = {"words-title": "New title", "words-question": "Which is better?", "words-instructions": "Read\r\nboth."}
    assert page.post(reverse("tasks:wording", args=[draft.pk]), words).status_code == 303
    draft.refresh_from_db()
    assert (draft.title, draft.question, draft.instructions) == ("New title", "Which is better?", "Read\nboth.")
    answer = page.post(reverse("tasks:wording", args=[campaign.pk]), words)
    assert answer.status_code == 409
    campaign.refresh_from_db()
    assert campaign.title == "Compare answers to questions"


# --- the panel


def test_each_panel_member_gets_one_link(page: Client, draft: Campaign) -> None:
    address = reverse("tasks:panel", args=[draft.pk])
    assert page.post(address, {"names": "Dora\n\n Emil \nDora"}).status_code == 303
    page.post(address, {"names": "Emil"})
    dora, emil = Worker.objects.order_by("label")
    assert (dora.label, emil.label) == ("Dora", "Emil")
    text = page.get(address).content.decode()
    for worker in (dora, emil):
        token = home_address(worker, draft).rpartition("/w/")[2].split(":")[0]  # the rest of it holds the time
        assert f"/w/{token}:" in text


# --- start and end


def test_a_draft_without_its_test_pairs_does_not_start(page: Client, draft: Campaign, calls: list[str]) -> None:
    answer = page.post(reverse("tasks:launch", args=[draft.pk]))
    assert answer.status_code == 409
    assert "at least 2 confirmed test pairs but has 0" in answer.content.decode()
    draft.refresh_from_db()
    assert draft.state == "draft"
    assert calls == []


def test_starting_asks_for_packing_once_it_is_stored(
    page: Client, collection: Collection, calls: list[str], django_capture_on_commit_callbacks: object
) -> None:
    ready = factories.campaign(collection, "ready", start=False)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        assert page.post(reverse("tasks:launch", args=[ready.pk])).status_code == 303
    ready.refresh_from_db()
    assert ready.state == "packing"
    assert calls == ["pack"]


def test_a_campaign_starts_although_nobody_can_be_asked_to_pack(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: object
) -> None:
    from kombu.exceptions import OperationalError

    def unreachable() -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(task_jobs.pack_waiting_campaigns, "delay", unreachable)
    ready = factories.campaign(collection, "ready", start=False)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        assert page.post(reverse("tasks:launch", args=[ready.pk])).status_code == 303
    ready.refresh_from_db()
    assert ready.state == "packing"


def test_a_campaign_is_paused_resumed_and_closed(page: Client, campaign: Campaign) -> None:
    address = reverse("platforms:move", args=[campaign.pk])
    for state in ("paused", "open", "closed"):
        assert page.post(address, {"to": state}).status_code == 303
        campaign.refresh_from_db()
        assert campaign.state == state
    assert page.post(address, {"to": "draft"}).status_code == 409
    campaign.refresh_from_db()
    assert campaign.state == "closed"


def test_one_person_is_on_the_panel_once_however_they_are_written(page: Client, draft: Campaign) -> None:
    address = reverse("tasks:panel", args=[draft.pk])
    pasted = "\ufeffAnn Müller\r\nann  mu\u0308ller \nANN MÜLLER\nA\u200bnn\xa0Müller\n"
    pasted += '"Smith, Bob"\nSmith, Bob\n\u200b\n'

    first = page.post(address, {"names": pasted}, follow=True)

    on_panel = [row.worker.label for row in task_selectors.invitations_of(draft).order_by("pk")]
    assert on_panel == ["Ann Müller", "Smith, Bob"]
    assert "2 people now have a link." in first.text
    assert "Already on the panel: Ann Müller and Smith, Bob." in first.text  # named twice
    again = page.post(address, {"names": "ＡＮＮ müller\nCarl"}, follow=True)
    assert "Already on the panel: Ann Müller." in again.text
    assert Worker.objects.filter(lab=draft.lab).count() == 3


def test_a_large_panel_is_paged_and_its_links_come_in_one_file(page: Client, draft: Campaign) -> None:
    task_services.panel_invite(campaign=draft, labels=[f"member {number:03}" for number in range(120)])
    address = reverse("tasks:panel", args=[draft.pk])
    text = page.get(address).content.decode()
    assert "member 000" in text and "member 119" not in text
    assert "member 119" in page.get(address, {"page": 99}).content.decode()
    lines = page.get(reverse("tasks:panel_links", args=[draft.pk])).getvalue().decode().splitlines()
    assert len(lines) == 120
    assert all("\t" in line and "/w/" in line for line in lines)


def test_a_longer_list_of_test_pairs_asks_the_database_no_more_often(page: Client, rita: User, draft: Campaign) -> None:
    factories.elsewhere(draft.collection)
    suggested = task_services.test_pairs_suggest(campaign=draft, count=9, seed=1)
    assert len(suggested) > 4 and all(test.relevant and test.off_topic for test in suggested)
    task_services.test_pairs_decide(test_pairs=suggested[::2], confirm=True, by=rita, at=timezone.now())
    TestPair.objects.filter(pk__in=[test.pk for test in suggested[::2]]).update(
        proven_at=timezone.now(), proven_by=rita
    )
    addresses = [f"campaigns/{draft.pk}/test-pairs/", reverse("tasks:tests", args=[draft.pk])]
    counts = []
    for _round in range(2):
        page.get(addresses[1])  # the caches are filled
        for ask, address in zip((Program(rita).get, page.get), addresses, strict=True):
            with CaptureQueriesContext(connection) as queries:
                assert ask(address).status_code == 200
            counts.append(len(queries))
        draft.test_pairs.exclude(pk__in=[test.pk for test in suggested[:2]]).delete()
    assert counts[:2] == counts[2:], counts
