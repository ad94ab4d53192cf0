"""Jobs go on although one campaign, publication or piece of work is in trouble, and say so where people look."""

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from core import alarms
from core.errors import NotNow
from core.models import Alarm, User
from judgments import jobs as judgment_jobs
from judgments import quality
from judgments import services as judgment_services
from judgments.evidence import Evidence
from platforms import jobs as platform_jobs
from platforms import ledger_comparison, outbox
from platforms.ledger_comparison import Comparison
from platforms.models import LedgerComparison, Operation, Publication, PublishedHit, Submission
from platforms.mturk.adapter import MTurkAdapter
from platforms.mturk.client import code_of
from platforms.mturk.operations import make_own_qualification
from platforms.publishing.publications import terms_keep
from platforms.reviewing import payments, settling
from platforms.syncing import finished_end
from pools.models import Campaign
from results import jobs as result_jobs
from results import refreshing
from runs.models import Collection
from tasks import jobs as task_jobs
from tasks import services as task_services
from tasks.models import Assignment, Hit, TestPair, Worker
from tests import factories

State = Campaign.State


@pytest.fixture
def drafts(collection: Collection) -> tuple[Campaign, Campaign]:
    """Two drafts that are ready to start."""
    first, second = (
        factories.campaign(collection, name, tests=2, tests_per_hit=2, start=False) for name in ("first", "second")
    )
    return first, second


def state_of(campaign: Campaign) -> str:
    return Campaign.objects.values_list("state", flat=True).get(pk=campaign.pk)


def damage(campaign: Campaign) -> None:
    """What no check foresees: the campaign's first HIT number is taken."""
    Hit.objects.create(campaign=campaign, number=1, needed=1)


def test_a_campaign_that_cannot_be_packed_stops_no_other(drafts: tuple[Campaign, Campaign], rita: User) -> None:
    first, second = drafts
    for campaign in drafts:
        task_services.campaign_launch(campaign=campaign)
    damage(first)
    assert task_jobs.pack_waiting_campaigns() == f"packed {second.pk}"
    assert (state_of(first), state_of(second)) == (State.PACKING, State.OPEN)

    client = Client()
    client.force_login(rita)
    page = client.get(f"/campaigns/{first.pk}/").content.decode()
    assert "The HITs could not be packed" in page and "hit_number_once" in page and "next try at" in page
    assert "could not be packed" not in client.get(f"/campaigns/{second.pk}/").content.decode()


def test_a_campaigns_page_shows_how_far_packing_is_and_asks_again_by_itself(
    drafts: tuple[Campaign, Campaign], rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _second = drafts
    task_services.campaign_launch(campaign=first)
    client = Client()
    client.force_login(rita)
    pages: list[str] = []
    copy_rows = task_services.copy_rows

    def copy_and_look(*arguments: Any) -> int:
        copied = copy_rows(*arguments)
        if len(arguments) == 4:
            pages.append(client.get(f"/campaigns/{first.pk}/").content.decode())
        return copied

    waiting = client.get(f"/campaigns/{first.pk}/").content.decode()
    assert "Waiting to start." in waiting and 'data-refresh="3"' in waiting
    monkeypatch.setattr(task_services, "copy_rows", copy_and_look)
    task_jobs.pack_waiting_campaigns()
    assert "Storing the items of the HITs" in pages[0] and "9 of 9 (100%)" in pages[0]
    assert 'data-refresh="3"' not in client.get(f"/campaigns/{first.pk}/").content.decode()


def test_what_failed_rests_is_tried_again_and_its_alarm_ends_once_it_succeeds(
    drafts: tuple[Campaign, Campaign], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _second = drafts
    task_services.campaign_launch(campaign=first)
    damage(first)
    task_jobs.pack_waiting_campaigns()
    alarm = Alarm.objects.get()
    assert alarm.tries == 1 and timedelta(seconds=50) < alarm.retry_at - alarm.raised_at < timedelta(seconds=70)
    task_jobs.pack_waiting_campaigns()
    assert Alarm.objects.get().tries == 1, "it rests"

    later = alarm.retry_at + timedelta(seconds=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    task_jobs.pack_waiting_campaigns()
    alarm.refresh_from_db()
    assert alarm.tries == 2 and alarm.retry_at - later == timedelta(minutes=2)

    first.hits.all().delete()
    monkeypatch.setattr(timezone, "now", lambda: alarm.retry_at)
    task_jobs.pack_waiting_campaigns()
    assert state_of(first) == State.OPEN
    assert not alarms.alarms_raised(first).exists()


def test_a_campaign_that_lacks_test_pairs_when_it_is_packed_is_a_draft_again(
    drafts: tuple[Campaign, Campaign], rita: User
) -> None:
    first, second = drafts
    for campaign in drafts:
        task_services.campaign_launch(campaign=campaign)
    TestPair.objects.filter(campaign=first).first().delete()  # type: ignore[union-attr]
    assert task_jobs.pack_waiting_campaigns() == f"packed {second.pk}"
    assert state_of(first) == State.DRAFT
    client = Client()
    client.force_login(rita)
    page = client.get(f"/campaigns/{first.pk}/").content.decode()
    assert "is a draft again" in page and "needs at least 2 confirmed test pairs but has 1" in page
    task_services.test_pair_write(
        campaign=first, question="q", relevant_text="r", off_topic_text="o", by=None, at=timezone.now()
    )
    task_services.campaign_launch(campaign=Campaign.objects.get(pk=first.pk))
    assert not alarms.alarms_raised(first).exists()
    task_jobs.pack_waiting_campaigns()
    assert state_of(first) == State.OPEN


def test_a_test_pair_is_not_decided_on_by_somebody_whose_page_is_older_than_the_start(
    drafts: tuple[Campaign, Campaign],
) -> None:
    first, _second = drafts
    test = TestPair.objects.select_related("campaign").filter(campaign=first).first()
    assert test is not None and test.campaign.state == State.DRAFT
    task_services.campaign_launch(campaign=Campaign.objects.get(pk=first.pk))
    with pytest.raises(NotNow):
        task_services.test_pair_decide(test_pair=test, confirm=False, by=None, at=timezone.now())
    with pytest.raises(NotNow):
        task_services.test_pair_write(
            campaign=test.campaign, question="q", relevant_text="r", off_topic_text="o", by=None, at=timezone.now()
        )
    assert TestPair.objects.get(pk=test.pk).state == TestPair.State.CONFIRMED


@pytest.mark.django_db(transaction=True)
def test_a_start_waits_for_the_change_of_a_draft_that_is_under_way(drafts: tuple[Campaign, Campaign]) -> None:
    first, _second = drafts
    outcome: list[object] = []

    def launch() -> None:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '300ms'")
                task_services.campaign_launch(campaign=first)
        except OperationalError as error:
            outcome.append(error)
        finally:
            connection.close()

    with transaction.atomic():
        test_pair = TestPair.objects.filter(campaign=first).first()
        assert test_pair is not None
        task_services.test_pair_decide(test_pair=test_pair, confirm=False, by=None, at=timezone.now())
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    assert len(outcome) == 1, "the start had to wait"
    assert state_of(first) == State.DRAFT


def test_one_publications_trouble_rings_and_stops_no_other(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = []
    for name in ("first", "second"):
        campaign = factories.campaign(collection, name, pairs_per_hit=3, tests_per_hit=2)
        published.append(
            Publication.objects.create(campaign=campaign, state=Publication.State.OPEN, title="t", description="d")
        )
    first = published[0]
    broken = {first.pk}

    def settle(publication: Publication) -> int:
        if publication.pk in broken:
            raise KeyError("SubmitTime")
        return 1

    assert platform_jobs._each("settle", "decided", settle) == "decided: 1"
    alarm = Alarm.objects.get(settled_at=None)
    assert (alarm.of, alarm.kind, alarm.about) == (first, "job", "settle")
    assert "KeyError: 'SubmitTime'" in alarm.text and "decide on submitted work and pay" in alarm.text
    broken.clear()
    assert platform_jobs._each("settle", "decided", settle) == "decided: 1"  # the first rests
    Alarm.objects.update(retry_at=timezone.now())
    assert platform_jobs._each("settle", "decided", settle) == "decided: 2"
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_work_that_cannot_be_checked_keeps_no_other_waiting(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for worker in (alice, bob):
        assignment = factories.take(worker, campaign)
        Assignment.objects.filter(pk=assignment.pk).update(platform_assignment_id=f"A{worker.pk}")
        assignment.refresh_from_db()
        factories.judge(assignment)
        judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    of_alice, of_bob = Assignment.objects.order_by("id")
    confirm(of_alice)
    confirm(of_bob)
    check = quality.assignment_check

    def check_or_fail(assignment: Assignment, *, at: object) -> None:
        if assignment.pk == of_alice.pk:
            raise KeyError("poison")
        check(assignment, at=at)  # type: ignore[arg-type]

    monkeypatch.setattr(quality, "assignment_check", check_or_fail)
    assert judgment_jobs.check() == "checked: 1"
    of_bob.refresh_from_db()
    assert of_bob.verdict == Assignment.Verdict.ACCEPTED
    client = Client()
    client.force_login(rita)
    page = client.get(f"/campaigns/{campaign.pk}/platform/").content.decode()
    assert f"Assignment {of_alice.pk} could not be checked" in page
    monkeypatch.undo()
    assert judgment_jobs.check() == "checked: 0"  # it rests
    Alarm.objects.update(retry_at=timezone.now())
    assert judgment_jobs.check() == "checked: 1"
    assert not Alarm.objects.filter(settled_at=None).exists()


def confirm(assignment: Assignment) -> None:
    """A platform confirmed that this worker submitted it."""
    publication, _new = Publication.objects.get_or_create(
        campaign=assignment.campaign, defaults={"state": Publication.State.OPEN, "title": "t", "description": "d"}
    )
    published_hit = PublishedHit.objects.create(publication=publication, hit=assignment.hit, max_assignments=1)
    Submission.objects.create(
        publication=publication,
        published_hit=published_hit,
        platform_assignment_id=assignment.platform_assignment_id,
        platform_worker_id="W",
        assignment=assignment,
        status="Submitted",
        submitted_at=timezone.now(),
    )


def test_results_that_cannot_be_computed_ring_and_stop_no_other(
    collection: Collection, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaigns = []
    for name in ("first", "second"):
        campaign = factories.campaign(collection, name, pairs_per_hit=3, tests_per_hit=2)
        factories.do(factories.worker(campaign, f"worker of {name}"), campaign)
        campaigns.append(campaign)
    first, second = campaigns
    inputs_of = refreshing.inputs_of

    def inputs_or_fail(campaign: Campaign, evidence: Evidence) -> object:
        if campaign.pk == first.pk:
            raise ValueError("a damaged acceptance")
        return inputs_of(campaign, evidence)

    monkeypatch.setattr(refreshing, "inputs_of", inputs_or_fail)
    assert result_jobs.compute_results() == "results computed: 1"
    assert not hasattr(first, "result") and second.result is not None
    client = Client()
    client.force_login(rita)
    page = client.get(f"/campaigns/{first.pk}/").content.decode()
    assert "The results could not be computed (ValueError: a damaged acceptance)" in page


def test_a_submission_that_cannot_be_decided_on_keeps_no_other_waiting(
    campaign: Campaign, alice: Worker, bob: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for worker in (alice, bob):
        assignment = factories.do(worker, campaign)
        Assignment.objects.filter(pk=assignment.pk).update(platform_assignment_id=f"A{worker.pk}")
        assignment.refresh_from_db()
        confirm(assignment)
    of_alice, of_bob = Submission.objects.order_by("id")
    publication = of_alice.publication
    approve = payments.submission_pay

    def approve_or_fail(submission: Submission, **how: object) -> None:
        approve(submission, **how)  # type: ignore[arg-type]
        if submission.pk == of_alice.pk:
            raise KeyError("poison")

    monkeypatch.setattr(settling, "submission_pay", approve_or_fail)
    monkeypatch.setattr(settling, "BATCH", 1)
    at = timezone.now()
    assert settling.publication_settle(publication=publication, at=at) == 1
    of_alice.refresh_from_db()
    of_bob.refresh_from_db()
    assert (of_alice.decision, of_bob.decision) == ("", Submission.Decision.APPROVE)
    assert not of_alice.payments.exists(), "nothing of what failed stays"
    alarm = Alarm.objects.get(settled_at=None)
    assert alarm.about_id == of_alice.pk and "KeyError: 'poison'" in alarm.text
    monkeypatch.undo()
    assert settling.publication_settle(publication=publication, at=at) == 0  # it rests
    assert settling.publication_settle(publication=publication, at=at + timedelta(minutes=1)) == 1
    assert not Alarm.objects.filter(settled_at=None).exists()


@pytest.mark.django_db(transaction=True)
def test_ending_finished_hits_waits_for_whoever_changes_the_publication(campaign: Campaign) -> None:
    publication = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, title="t", description="d"
    )
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM platforms_publication WHERE id = %s FOR NO KEY UPDATE", [publication.pk])
        with pytest.raises(OperationalError), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '300ms'")
            finished_end(publication=publication, at=timezone.now())
    finally:
        other.close()


def test_a_comparison_of_another_version_is_as_none(campaign: Campaign) -> None:
    publication = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, title="t", description="d"
    )
    comparison = LedgerComparison.objects.create(
        publication=publication,
        version=0,
        began_at=timezone.now(),
        made_at=timezone.now(),
        is_full=True,
        differences=0,
        content={"what": "was kept then"},
    )
    assert ledger_comparison.comparison_last(publication) is None
    amounts = {name: "1.50" for name in Comparison._fields if name != "differences"}
    comparison.version, comparison.content = ledger_comparison.VERSION, {**amounts, "differences": ["HIT 1 differs."]}
    comparison.save()
    last = ledger_comparison.comparison_last(publication)
    assert last is not None and last.comparison.balance == Decimal("1.50")
    assert last.comparison.differences == ["HIT 1 differs."]


class OddPlatform:
    """A platform whose answers are not what its documentation says."""

    class meta:  # noqa: N801 - boto3's own name
        endpoint_url = "http://localhost:9"

    def create_hit_type(self, **_asked: object) -> dict[str, object]:
        return {"NoSuchThing": 1}


def test_an_answer_that_is_not_understood_stays_in_doubt_with_an_alarm(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, title="t", description="d"
    )
    at = timezone.now()
    terms = terms_keep(publication=publication, by=None, at=at)
    operation = Operation.objects.create(publication=publication, kind="hit-type", terms=terms, next_try=at)
    monkeypatch.setattr(MTurkAdapter, "client", lambda _adapter: OddPlatform())
    monkeypatch.setattr(MTurkAdapter, "assert_host", lambda _adapter, _client: None)
    assert outbox.operations_run(publication=publication, clock=lambda: at, sleep=lambda _seconds: None) == 1
    operation.refresh_from_db()
    assert operation.state == Operation.State.UNKNOWN and operation.next_try > at
    assert operation.first_sent_at is not None and "KeyError: 'HITTypeId'" in operation.error
    alarm = Alarm.objects.get(settled_at=None)
    assert (alarm.kind, alarm.about_id) == ("doubt", operation.pk)

    monkeypatch.setattr(OddPlatform, "create_hit_type", lambda _self, **_asked: {"HITTypeId": "T1"})
    later = operation.next_try + timedelta(seconds=1)
    outbox.operations_run(publication=publication, clock=lambda: later, sleep=lambda _seconds: None)
    operation.refresh_from_db()
    assert operation.state == Operation.State.DONE
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_a_qualification_of_that_name_that_is_not_ours_is_the_platforms_refusal() -> None:
    error = ClientError(
        {"Error": {"Code": "QualificationTypeAlreadyExists", "Message": "taken"}}, "CreateQualificationType"
    )

    class Platform:
        def create_qualification_type(self, **_asked: object) -> None:
            raise error

        def list_qualification_types(self, **_asked: object) -> dict[str, object]:
            return {"QualificationTypes": [{"Name": "another"}]}

    assert code_of(error) == "QualificationTypeAlreadyExists"
    with pytest.raises(ClientError):
        make_own_qualification(Platform(), {"Name": "ours"})
