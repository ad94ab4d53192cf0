"""The researcher's pages about judgments: what they show, to whom, and the decisions that people make on them."""

import io
import json
import re
import zipfile
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.lists import Listing
from core.models import User
from judgments import exports
from judgments import jobs as judgment_jobs
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.behaviour import behaviour
from judgments.evidence import Evidence
from judgments.models import Decision
from platforms.models import Publication
from pools.models import Campaign
from pools.settings import ChallengerSettings, RoundSettings, names_in, settings_of
from runs.models import Collection
from tasks.models import Assignment, Worker
from tasks.names import pseudonym
from tests import factories
from tests.rows import fresh


@pytest.fixture
def failed(campaign: Campaign, alice: Worker) -> Assignment:
    """Alice's assignment, excluded by the rule."""
    assignment = factories.take(alice, campaign)
    factories.judge(assignment, fail_tests=True)
    return judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


@pytest.fixture
def accepted(campaign: Campaign, bob: Worker) -> Assignment:
    """Bob's assignment, accepted, with a changed mind on one pair."""
    assignment = factories.take(bob, campaign)
    factories.judge(assignment, prefer="b")
    factories.judge(assignment, prefer="a")
    return judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


def every_page(campaign: Campaign, assignment: Assignment) -> list[str]:
    pool = campaign.pools.order_by("id").first()
    assert pool is not None
    return [
        *(reverse(name, args=[campaign.pk]) for name in ("campaigns:campaign", "campaigns:plan", "campaigns:settings")),
        *(reverse(name, args=[campaign.pk]) for name in ("judgments:queries", "judgments:files", "review:work")),
        reverse("results:query", args=[campaign.pk, pool.pk]),
        reverse("review:assignment", args=[campaign.pk, assignment.pk]),
        reverse("review:worker", args=[campaign.pk, assignment.worker_id]),
        *(reverse("judgments:export", args=[campaign.pk, name]) for name in [*exports.NAMES, "all.zip"]),
    ]


def text_of(page: Client, name: str, *arguments: object) -> str:
    """A page's words, without its tags."""
    answer = page.get(reverse(name, args=arguments))
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


# --- who sees what


def test_nested_things_belong_to_the_campaign_in_the_address(
    page: Client, collection: Collection, campaign: Campaign, failed: Assignment
) -> None:
    other = factories.campaign(collection, "other")
    for address in every_page(campaign, failed)[6:9]:
        assert page.get(address).status_code == 200, address
        assert page.get(address.replace(f"/{campaign.pk}/", f"/{other.pk}/", 1)).status_code == 404, address


def test_an_admin_sees_all(client: Client, ada: User, campaign: Campaign, failed: Assignment) -> None:
    client.force_login(ada)
    judgment_jobs.make_exports()
    for address in every_page(campaign, failed):
        assert client.get(address).status_code == 200, address


# --- the campaign


def test_a_draft_shows_its_pools_its_bill_and_what_it_lacks(page: Client, collection: Collection) -> None:
    draft = factories.campaign(
        collection, "draft", tests=1, start=False, pairs_per_hit=3, tests_per_hit=2, redo_rate="0.1"
    )
    text = text_of(page, "campaigns:campaign", draft.pk)
    assert "3 runs over small: 4 queries, 7 pairs to compare (all pairs), in 3 HITs." in text
    assert "at least 2 confirmed test pairs but has 1" in text
    assert "Total $9.60" in text  # 3 HITs at $2.00 and $0.40, and one of them again
    source = page.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()
    assert 'type="submit" disabled>Start</button>' in source
    assert "<rect" in source


def test_a_draft_that_has_all_it_needs_can_be_started(page: Client, collection: Collection) -> None:
    draft = factories.campaign(collection, "draft", start=False, tests_per_hit=2)
    source = page.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()
    assert 'type="submit">Start</button>' in source
    assert reverse("campaigns:campaign_delete", args=[draft.pk]) in source


def test_an_open_campaign_shows_how_far_how_good_and_how_much(
    page: Client, campaign: Campaign, failed: Assignment, accepted: Assignment
) -> None:
    judgment_jobs.make_exports()
    text = text_of(page, "campaigns:campaign", campaign.pk)
    assert "3 of 7 (43%)" in text
    assert "1 of 3 (33%)" in text
    assert "1 barred" in text
    assert "To be paid $4.00" in text
    assert "Preferred the off-topic passage in 2 of 2 test pairs." in text
    assert f"/c/{campaign.link}/" in text
    text = text_of(page, "judgments:files", campaign.pk)
    for name in exports.NAMES:
        assert name in text


def test_every_setting_is_shown_but_those_of_other_designs(page: Client, campaign: Campaign) -> None:
    parts = {"rounds": RoundSettings, "all_pairs": None}
    of_designs = [*names_in(RoundSettings), *names_in(ChallengerSettings)]
    for design, part in parts.items():
        Campaign.objects.filter(pk=campaign.pk).update(design=design)
        settings = page.get(reverse("campaigns:settings", args=[campaign.pk])).text
        read = names_in(part) if part else []
        # and the runs, and when it was made
        assert settings.count("<dt>") == len(settings_of(Campaign)) - len(of_designs) + len(read) + 2
        labels = {name: str(Campaign._meta.get_field(name).verbose_name) for name in of_designs}
        assert [name for name, label in labels.items() if f"<dt>{label}" in settings] == read


# --- queries


def test_queries_are_found_by_their_words_and_ids(page: Client, campaign: Campaign) -> None:
    assert "how long does a snail live" in text_of(page, "judgments:queries", campaign.pk)
    address = reverse("judgments:queries", args=[campaign.pk])
    html = page.get(address, {"q": "SNAIL"}).content.decode()
    assert "snail" in html
    assert "australia" not in html
    assert "australia" in page.get(address, {"q": "q2"}).content.decode()
    assert "Nothing matches." in page.get(address, {"q": "nowhere"}).content.decode()


def test_a_query_shows_who_beat_whom_and_the_judgments_behind_it(
    page: Client, campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    for worker in (alice, bob, factories.worker(campaign, "Dora")):
        assignment = factories.take(worker, campaign)
        factories.judge(assignment, prefer="a")
        judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    pool = campaign.pools.get(query__qid="q1")
    text = text_of(page, "results:query", campaign.pk, pool.pk)
    assert "The best known answer is passage 1 (p1)." in text
    assert "original qrel, grade 1" in text
    assert "Passage 1 against passage 2 1 to 0" in text
    assert "Passage 2 against passage 3 1 to 0" in text
    assert any(pseudonym(campaign, worker.pk) in text for worker in (alice, bob))
    assert "Alice" not in text


def test_a_query_whose_pairs_wait_says_so(page: Client, campaign: Campaign) -> None:
    pool = campaign.pools.get(query__qid="q1")
    assert "0 of 3 judgments have been made." in text_of(page, "results:query", campaign.pk, pool.pk)
    alone = campaign.pools.get(query__qid="q4")
    assert "needs no judgment" in text_of(page, "results:query", campaign.pk, alone.pk)


# --- work


def test_work_can_be_looked_through(page: Client, campaign: Campaign, failed: Assignment, accepted: Assignment) -> None:
    address = reverse("review:work", args=[campaign.pk])
    excluded = page.get(address, {"verdict": "excluded"}).content.decode()
    table = excluded[excluded.index("<tbody>") : excluded.index("</tbody>")]
    assert reverse("review:assignment", args=[campaign.pk, failed.pk]) in table
    assert reverse("review:assignment", args=[campaign.pk, accepted.pk]) not in table
    assert page.get(address, {"verdict": "nonsense", "page": "99"}).status_code == 200


def test_an_assignment_shows_each_item_with_its_times_and_changes(
    page: Client, campaign: Campaign, accepted: Assignment, failed: Assignment
) -> None:
    text = text_of(page, "review:assignment", campaign.pk, accepted.pk)
    assert text.count("What was shown") == 5
    assert text.count("changed once") == 3
    assert text.count("passed") == 2
    assert text_of(page, "review:assignment", campaign.pk, failed.pk).count(" failed ") == 2


def test_excluding_and_restoring_need_a_reason_and_record_who(
    page: Client, rita: User, campaign: Campaign, accepted: Assignment
) -> None:
    address = reverse("review:assignment", args=[campaign.pk, accepted.pk])
    assert page.post(address, {"why": "  ", "decision": "exclude"}).status_code == 400
    assert not Decision.objects.exists()
    assert page.post(address, {"why": "Too fast.", "decision": "exclude"}).status_code == 303
    assert fresh(accepted).verdict == "excluded"
    assert page.post(address, {"why": "They explained it.", "decision": "restore"}).status_code == 303
    accepted.refresh_from_db()
    assert accepted.verdict == "accepted"
    decisions = list(Decision.objects.order_by("id").values_list("kind", "why", "by"))
    assert decisions == [("excluded", "Too fast.", rita.pk), ("restored", "They explained it.", rita.pk)]
    assert "They explained it." in text_of(page, "review:assignment", campaign.pk, accepted.pk)


def test_work_that_goes_on_cannot_be_excluded(page: Client, campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    address = reverse("review:assignment", args=[campaign.pk, assignment.pk])
    answer = page.post(address, {"why": "Kept <here>.", "decision": "exclude"})
    assert answer.status_code == 409
    assert "has not finished this assignment yet" in answer.content.decode()
    assert not Decision.objects.exists()


def test_a_worker_is_barred_and_welcomed_again_with_a_reason(page: Client, campaign: Campaign, alice: Worker) -> None:
    address = reverse("review:worker", args=[campaign.pk, alice.pk])
    assert page.post(address, {"decision": "bar"}).status_code == 400
    assert fresh(alice).barred_at is None
    page.post(address, {"decision": "bar", "why": "Asked to leave."})
    alice.refresh_from_db()
    assert alice.barred_at is not None
    assert "Asked to leave." in text_of(page, "review:worker", campaign.pk, alice.pk)
    page.post(address, {"decision": "unbar", "why": "Came back."})
    assert fresh(alice).barred_at is None


# --- exports


def test_each_export_is_served_as_it_is_made(page: Client, campaign: Campaign, accepted: Assignment) -> None:
    files_of = factories.exported(campaign)
    judgment_jobs.make_exports()
    for name, content in files_of.items():
        answer = page.get(reverse("judgments:export", args=[campaign.pk, name]))
        assert answer.getvalue() == content
        assert answer["Content-Disposition"] == f'attachment; filename="pilot-{name}"'
        assert answer["X-Content-Type-Options"] == "nosniff"
    archive = page.get(reverse("judgments:export", args=[campaign.pk, "all.zip"]))
    assert archive["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(archive.getvalue())) as files:
        assert {name: files.read(name) for name in files.namelist()} == files_of
    assert json.loads(files_of["manifest.json"])["counts"]["judgments accepted"] == 3


@pytest.mark.parametrize("name", ["manifest.txt", "all.tar", "preference-qrels.txt.bak"])
def test_other_names_are_not_found(page: Client, campaign: Campaign, name: str) -> None:
    assert page.get(reverse("judgments:export", args=[campaign.pk, name])).status_code == 404


def test_the_campaigns_page_computes_nothing(
    page: Client, campaign: Campaign, accepted: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgment_jobs.make_exports()

    def refuse(*_arguments: object, **_named: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(exports, "_MAKE", {})
    monkeypatch.setattr(judgment_selectors, "judging_progress", refuse)
    for name in ("pools", "waiting", "preferences"):
        monkeypatch.setattr(Evidence, name, property(refuse))
    text = text_of(page, "campaigns:campaign", campaign.pk)
    assert "3 of 7 (43%)" in text
    assert "Queries with one best known answer: 2 of 4; still without all their judgments: 2." in text


def test_the_workers_page_and_the_results_agree_on_sides_and_times(
    page: Client, campaign: Campaign, bob: Worker
) -> None:
    assignment = factories.take(bob, campaign)
    factories.judge(assignment)
    at = timezone.now()
    for item in assignment.hit.items.filter(pair__isnull=False):
        for side, seconds in (("left", 50), ("right", 3)):  # a changed mind
            judgment_services.judgment_save(
                assignment_id=assignment.pk,
                position=item.position,
                preferred=side,
                shown_at=at,
                at=at + timedelta(seconds=seconds),
            )
    judgment_services.assignment_finish(assignment=assignment, at=at)
    assert judgment_jobs.summarize() == "campaigns counted: 1"
    (row,) = judgment_selectors.worker_rows(campaign, list(judgment_selectors.workers_with_work(campaign)))
    whole = behaviour(campaign)
    assert row.summary is not None
    assert (row.summary.left_share, row.summary.median_seconds) == (0, 3)
    assert (whole.left / (whole.left + whole.right), whole.seconds) == (0, 3)


def test_workers_are_listed_page_by_page(
    page: Client, campaign: Campaign, accepted: Assignment, failed: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Listing.__init__.__kwdefaults__, "size", 1)
    by_key = [pseudonym(campaign, pk) for pk in sorted([accepted.worker_id, failed.worker_id])]
    for number, name in enumerate(by_key, start=1):
        answer = page.get(reverse("review:work", args=[campaign.pk]), {"workers": number}).content.decode()
        table = answer.partition('id="workers"')[2].partition('id="decisions"')[0]
        assert name in table
        assert by_key[2 - number] not in table


def test_the_campaigns_page_leads_to_the_alarms_of_its_publication(page: Client, campaign: Campaign) -> None:
    publication = Publication.objects.create(campaign=campaign, title="Mine", description="Mine")
    publication.alarms.create(kind="funds", text="The account is empty.", raised_at=timezone.now())
    text = page.get(reverse("campaigns:campaign", args=[campaign.pk])).content.decode()
    assert f'<a href="{reverse("platforms:publication", args=[campaign.pk])}">See the problems</a>' in text
