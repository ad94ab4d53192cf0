"""The review bench: what is counted of work, decisions on many at once, and undoing them."""

import csv
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import BadRequest, NotNow
from core.models import User
from evaluation.statistics.reliability import Cast, reliabilities
from judgments import jobs as judgment_jobs
from judgments import quality, summarizing
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.models import Acceptance, AssignmentSummary, Decision, Export, Judgment, WorkerSummary
from platforms.messages import conversations
from platforms.models import Message, Operation, Payment, Publication
from pools.models import Campaign
from results.inputs import inputs_of
from results.sections.stored import to_json
from results.sections.whole import compute
from review import deciding
from review import jobs as review_jobs
from review.models import BulkDecision
from runs.models import Collection
from tasks.models import Assignment, Worker
from tests import factories
from tests.platforms.test_reviewing import done, opened, submitted

Action = BulkDecision.Action


@pytest.fixture
def twice(collection: Collection) -> Campaign:
    """A campaign whose pairs are judged twice, in one HIT."""
    return factories.campaign(collection, "twice", pairs_per_hit=7, tests_per_hit=2, overlap=2)


@pytest.fixture
def works(twice: Campaign) -> list[Assignment]:
    """Alice and Bob judged all pairs and disagree on three of seven."""
    alice, bob = (factories.worker(twice, name) for name in ("Alice", "Bob"))
    first = factories.do(alice, twice)
    second = factories.take(bob, twice)
    factories.judge(second)
    pairs = second.items.filter(pair__isnull=False).order_by("position").values_list("position", flat=True)
    factories.judge(second, only=list(pairs[:3]), prefer="b")
    return [first, judgment_services.assignment_finish(assignment=second, at=timezone.now())]


def make(campaign: Campaign, action: str, chosen: QuerySet[Assignment], by: User, **more: Any) -> BulkDecision:
    """A decision on many, carried out."""
    at = timezone.now()
    bulk = deciding.bulk_create(campaign=campaign, action=action, chosen=chosen, why="Careless.", by=by, at=at, **more)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    return bulk


def states(bulk: BulkDecision) -> list[str]:
    return list(bulk.rows.order_by("pk").values_list("state", flat=True))


# --- counting


def test_work_is_counted_by_assignment_worker_and_campaign_once_for_all_who_look(
    twice: Campaign, works: list[Assignment]
) -> None:
    assert judgment_jobs.summarize() == "campaigns counted: 1"
    assert judgment_jobs.summarize() == "campaigns counted: 0"  # nothing changed since
    for work in works:
        row = AssignmentSummary.objects.get(assignment=work)
        assert (row.pairs, row.tests, row.passed, row.compared, row.agreed) == (7, 2, 2, 7, 4)
        assert (row.median_seconds, row.pass_share) == (9.0, 1.0)
        assert WorkerSummary.objects.get(campaign=twice, worker=work.worker).agreement == pytest.approx(4 / 7)
    assert (twice.summary.compared, twice.summary.agreed) == (7, 4)  # Alice with Bob on each pair, once


def test_a_campaigns_figures_are_of_accepted_work_and_each_comparison_counts_once(twice: Campaign, rita: User) -> None:
    alice, bob, carol, dora = (factories.worker(twice, name) for name in ("Alice", "Bob", "Carol", "Dora"))
    factories.do(carol, twice, fail_tests=True, prefer="b", seconds=1)  # excluded
    left = factories.take(dora, twice)
    factories.judge(left, only=[1, 2, 3], prefer="b", seconds=1)
    judgment_services.assignment_leave(assignment=left, at=timezone.now())
    factories.do(alice, twice)
    second = factories.take(bob, twice)
    factories.judge(second)
    pairs = second.items.filter(pair__isnull=False).order_by("position").values_list("position", flat=True)
    factories.judge(second, only=list(pairs[:3]), prefer="b")
    judgment_services.assignment_finish(assignment=second, at=timezone.now())
    assert judgment_jobs.summarize() == "campaigns counted: 1"

    row = twice.summary
    accepted = Assignment.objects.filter(campaign=twice, verdict=Assignment.Verdict.ACCEPTED)
    lefts = 0
    for work in accepted:
        for item in work.items.filter(pair__isnull=False):
            lefts += Judgment.objects.filter(assignment=work, item=item).latest("pk").preferred == "left"
    assert sorted(work.worker.label for work in accepted) == ["Alice", "Bob"]
    assert (row.compared, row.agreed, row.agreement) == (7, 4, 4 / 7)  # seven pairs, three of which they disagree on
    assert (row.pairs, row.median_seconds, row.left_share) == (14, 9.0, lefts / 14)
    assert (row.tests, row.passed) == (6, 4)  # Carol's failures too, or nobody would ever fail
    results = to_json(compute(inputs_of(twice)))
    assert (results["agreement"]["compared"], results["agreement"]["raw"]) == (row.compared, row.agreement)
    assert (results["quality"]["seconds_median"], results["quality"]["left_share"]) == (9.0, row.left_share)


def test_all_are_fast_where_all_judge_faster_than_anybody_reads(client: Client, twice: Campaign, rita: User) -> None:
    # A question of about 6 words and two passages of 12 take 3 seconds at 600 words a minute.
    for name in ("Alice", "Bob"):
        factories.do(factories.worker(twice, name), twice, seconds=1)
    judgment_jobs.summarize()
    assert twice.summary.median_seconds == 1.0
    client.force_login(rita)
    address = reverse("review:work", args=[twice.pk])
    assert len(client.get(address, {"flag": "fast"}).context["listing"].page) == 2
    context = client.get(address).context
    assert [row.flags for row in (*context["rows"], *context["worker_rows"])] == [["fast"]] * 4


def test_nobody_is_fast_who_takes_the_time_to_read(twice: Campaign, works: list[Assignment]) -> None:
    judgment_jobs.summarize()  # nine seconds a pair
    assert [
        row.flags for row in judgment_selectors.worker_rows(twice, judgment_selectors.workers_with_work(twice))
    ] == [[], []]


def test_models_tell_how_far_workers_are_relied_on_excluded_ones_too(
    twice: Campaign, works: list[Assignment], rita: User
) -> None:
    quality.assignment_exclude(assignment=works[1], why="Careless.", by=rita, at=timezone.now())
    judgment_jobs.summarize()
    judged = Judgment.objects.filter(assignment__in=works, item__pair__isnull=False).order_by("pk")
    cast = {}
    for vote in judged.select_related("item", "assignment"):
        left, right = ("a", "b") if vote.item.a_left else ("b", "a")
        preferred = left if vote.preferred == "left" else right
        cast[vote.item_id] = Cast(str(vote.item.pair_id), left, right, str(vote.assignment.worker_id), preferred)
    expected = reliabilities(cast.values())
    assert len(expected) == 2
    for work in works:
        row = WorkerSummary.objects.get(campaign=twice, worker=work.worker)
        rates = expected[str(work.worker_id)]
        assert (rates.pairs, row.correct_share, row.unguessed_share) == (7, rates.correct, rates.unguessed)


def test_excluding_work_changes_what_others_agree_with(twice: Campaign, works: list[Assignment], rita: User) -> None:
    judgment_jobs.summarize()
    quality.assignment_exclude(assignment=works[1], why="Careless.", by=rita, at=timezone.now())
    twice.refresh_from_db()
    assert summarizing.campaign_summarize(campaign=twice)
    assert AssignmentSummary.objects.get(assignment=works[0]).compared == 0
    assert AssignmentSummary.objects.get(assignment=works[1]).compared == 7  # with what is accepted


# --- deciding on many


def test_excluding_all_of_a_workers_data_says_what_it_would_do_does_it_and_is_undone(
    twice: Campaign, works: list[Assignment], rita: User
) -> None:
    count = Acceptance.objects.filter(assignment=works[0]).count()
    chosen = twice.assignments.filter(pk=works[0].pk)
    preview = deciding.bulk_preview(campaign=twice, action=Action.EXCLUDE_ALL, chosen=chosen)
    assert (preview.chosen, preview.change, preview.judgments, preview.pays) == (1, 1, count, 0)
    assert not Decision.objects.exists()

    bulk = make(twice, Action.EXCLUDE_ALL, chosen, rita)
    assert states(bulk) == ["done"]
    assert not Acceptance.objects.filter(assignment=works[0]).exists()
    assert Acceptance.objects.filter(assignment=works[1]).exists()
    (decision,) = Decision.objects.filter(kind="excluded")
    assert (decision.why, decision.by) == ("Careless.", rita)

    deciding.bulk_undo(bulk=bulk, by=rita, at=timezone.now())
    assert review_jobs.decide(bulk.pk) == "rows decided: 1"
    assert states(bulk) == ["undone"]
    assert Acceptance.objects.filter(assignment=works[0]).count() == count
    assert Decision.objects.filter(kind="restored", why="Undone: Careless.").count() == 1
    assert review_jobs.decide() == "rows decided: 0"


def test_one_row_that_fails_stops_no_other_and_says_why(
    twice: Campaign, works: list[Assignment], rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    exclude = quality.assignment_exclude

    def refuse(*, assignment: Assignment, **fields: Any) -> Assignment:
        if assignment.pk == works[0].pk:
            raise ValueError("a broken row")
        return exclude(assignment=assignment, **fields)

    monkeypatch.setattr(quality, "assignment_exclude", refuse)
    bulk = make(twice, Action.EXCLUDE, twice.assignments.all(), rita)
    assert states(bulk) == ["failed", "done"]
    assert bulk.rows.get(state="failed").error == "ValueError: a broken row"
    assert Acceptance.objects.filter(assignment=works[0]).exists()


def test_what_was_so_before_is_not_undone(twice: Campaign, works: list[Assignment], rita: User) -> None:
    quality.assignment_exclude(assignment=works[0], why="Before.", by=rita, at=timezone.now())
    bulk = make(twice, Action.EXCLUDE, twice.assignments.all(), rita)
    assert bulk.rows.count() == 1
    deciding.bulk_undo(bulk=bulk, by=rita, at=timezone.now())
    deciding.bulk_run(bulk=bulk, at=timezone.now(), seconds=60)
    works[0].refresh_from_db()
    assert works[0].verdict == "excluded"
    with pytest.raises(NotNow, match="would change nothing"):
        make(twice, Action.EXCLUDE, twice.assignments.filter(pk=works[0].pk), rita)


def test_workers_are_barred_and_welcomed_again_once_each(twice: Campaign, works: list[Assignment], rita: User) -> None:
    bulk = make(twice, Action.BAR, twice.assignments.all(), rita)
    assert bulk.rows.count() == 2
    assert not Worker.objects.filter(barred_at=None, assignments__campaign=twice).exists()
    deciding.bulk_undo(bulk=bulk, by=rita, at=timezone.now())
    deciding.bulk_run(bulk=bulk, at=timezone.now(), seconds=60)
    assert not Worker.objects.filter(barred_at__isnull=False).exists()


def test_a_bar_that_somebody_else_set_meanwhile_is_not_lifted_by_undoing(
    twice: Campaign, works: list[Assignment], rita: User
) -> None:
    alice, at = works[0].worker, timezone.now()
    bulk = deciding.bulk_create(
        campaign=twice, action=Action.BAR, chosen=twice.assignments.all(), why="Careless.", by=rita, at=at
    )
    quality.worker_bar(worker=alice, campaign=twice, why="A robot.", by=rita, at=at)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    assert states(bulk) == ["unchanged", "done"]
    deciding.bulk_undo(bulk=bulk, by=rita, at=at)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    assert Worker.objects.get(barred_at__isnull=False) == alice


def test_a_row_that_is_decided_while_the_decision_is_undone_is_undone_too(
    twice: Campaign, works: list[Assignment], rita: User
) -> None:
    chosen, at = twice.assignments.filter(pk=works[0].pk), timezone.now()
    bulk = deciding.bulk_create(campaign=twice, action=Action.EXCLUDE, chosen=chosen, why="Careless.", by=rita, at=at)

    def decide_first(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """Where the update would wait for the row that is being decided."""
        if "review_bulkrow" in sql and "waiting" in params:
            with connection.cursor() as cursor:
                cursor.cursor.execute("UPDATE review_bulkrow SET state = 'done'")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(decide_first):
        deciding.bulk_undo(bulk=bulk, by=rita, at=at)
    assert states(bulk) == ["undoing"]


# --- money


@pytest.fixture
def published(campaign: Campaign, settings: Any) -> Publication:
    """Two assignments that were submitted at the marketplace and wait for a decision."""
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = "http://localhost:8100"
    publication = opened(campaign)
    for name in ("Alice", "Bob"):
        work = done(publication, name)
        submitted(publication, work, assignment=work)
    return publication


def test_pay_and_bonus_are_planned_once_and_cannot_be_undone(
    campaign: Campaign, published: Publication, rita: User
) -> None:
    with pytest.raises(NotNow, match="would change nothing"):  # only what is approved gets a bonus
        make(campaign, Action.BONUS, campaign.assignments.all(), rita, amount=Decimal("0.50"))
    preview = deciding.bulk_preview(campaign=campaign, action=Action.PAY, chosen=campaign.assignments.all())
    assert (preview.change, preview.pays) == (2, 2 * published.listed)
    paid = make(campaign, Action.PAY, campaign.assignments.all(), rita)
    assert states(paid) == ["done", "done"]
    with pytest.raises(NotNow, match="cannot be undone"):
        deciding.bulk_undo(bulk=paid, by=rita, at=timezone.now())

    bonus = {"amount": Decimal("0.50")}
    preview = deciding.bulk_preview(campaign=campaign, action=Action.BONUS, chosen=campaign.assignments.all(), **bonus)
    assert (preview.change, preview.pays, preview.fees) == (2, Decimal("1.00"), Decimal("0.20"))
    make(campaign, Action.BONUS, campaign.assignments.all(), rita, **bonus)
    with pytest.raises(NotNow, match="would change nothing"):
        make(campaign, Action.BONUS, campaign.assignments.all(), rita, **bonus)
    assert Payment.objects.filter(purpose="extra", amount="0.50", by=rita, why="Careless.").count() == 2
    assert Operation.objects.filter(kind="extra-bonus").count() == 2
    with pytest.raises(BadRequest, match="up to"):
        make(campaign, Action.BONUS, campaign.assignments.all(), rita, amount=Decimal(101))


def test_who_has_said_how_much_and_not_yet_why_is_not_told_of_a_mistake(
    campaign: Campaign, published: Publication, rita: User
) -> None:
    make(campaign, Action.PAY, campaign.assignments.all(), rita)
    client = Client()
    client.force_login(rita)
    data = {"action": "bonus", "amount": "0.25", "row": list(campaign.assignments.values_list("pk", flat=True))}
    address = reverse("review:review", args=[campaign.pk])
    page = client.post(address, data).content.decode()
    assert 'name="why"' in page and "This field is required" not in page
    assert "This field is required" in client.post(address, data | {"why": "", "expected": ""}).content.decode()


def test_work_is_rejected_with_the_reason_that_the_worker_reads(
    campaign: Campaign, published: Publication, rita: User
) -> None:
    make(campaign, Action.REJECT, campaign.assignments.all(), rita)
    assert not Payment.objects.exists()
    reasons = Operation.objects.filter(kind="reject").values_list("request__RequesterFeedback", flat=True)
    assert list(reasons) == ["Careless.", "Careless."]


# --- messages


def test_only_those_whom_the_platform_reaches_are_counted_and_written_to(
    campaign: Campaign, published: Publication, rita: User
) -> None:
    alice, bob = (work.worker for work in campaign.assignments.order_by("pk"))
    client, everybody = Client(), campaign.assignments.all()
    client.force_login(rita)

    def said() -> str:
        preview = deciding.bulk_preview(campaign=campaign, action=Action.MESSAGE, chosen=everybody)
        data = {"action": "message", "row": [str(work.pk) for work in everybody]}
        page = client.post(reverse("review:review", args=[campaign.pk]), data).content.decode()
        assert f"{preview.change} of 2 chosen can be written to." in page
        assert ("takes no message to the others" in page) == (preview.change < 2)
        return f"{preview.change} of {preview.chosen}"

    assert said() == "0 of 2"  # nobody's work is decided on
    with pytest.raises(NotNow, match=r"takes no message to this worker yet.*approved or rejected"):
        conversations.message_write(
            publication=published, worker=alice, subject="Hm", text="Hm?", by=rita, at=timezone.now()
        )
    make(campaign, Action.PAY, everybody.filter(worker=alice), rita)
    assert said() == "0 of 2"  # the platform does not know of it yet
    Operation.objects.filter(kind="approve").update(state="done", ended_at=timezone.now())
    assert said() == "1 of 2"
    published.messages.create(worker=bob, state="received", subject="Hm", text="Hm?", at=timezone.now())
    assert said() == "2 of 2"  # who wrote is answered
    Message.objects.all().delete()
    assert states(make(campaign, Action.MESSAGE, everybody, rita)) == ["done"]
    assert list(Message.objects.values_list("worker", flat=True)) == [alice.pk]


def test_the_data_of_rejected_work_are_used_only_after_it_was_said_that_nobody_was_paid(
    campaign: Campaign, published: Publication, rita: User
) -> None:
    client, works = Client(), campaign.assignments.order_by("pk")
    client.force_login(rita)
    make(campaign, Action.EXCLUDE, works, rita)
    make(campaign, Action.REJECT, works.filter(pk=works[0].pk), rita)
    preview = deciding.bulk_preview(campaign=campaign, action=Action.RESTORE, chosen=works)
    assert (preview.change, preview.rejected) == (2, 1)
    data = {"action": "restore", "row": [str(work.pk) for work in works]}
    page = client.post(reverse("review:review", args=[campaign.pk]), data).content.decode()
    assert "1 of them was rejected, and its worker was not paid for it." in page
    assert "should be paid." in page and "within 30 days" in page
    data["row"] = [str(works[1].pk)]
    assert "rejected" not in client.post(reverse("review:review", args=[campaign.pk]), data).content.decode()
    for work, warns in zip(works, (True, False), strict=True):
        page = client.get(reverse("review:assignment", args=[campaign.pk, work.pk])).content.decode()
        assert ("This work was rejected, and its worker was not paid for it." in page) == warns


def test_a_message_that_is_posted_twice_is_written_once(campaign: Campaign, published: Publication, rita: User) -> None:
    make(campaign, Action.PAY, campaign.assignments.all(), rita)
    Operation.objects.update(state="done", ended_at=timezone.now())
    for _request in range(2):
        make(campaign, Action.MESSAGE, campaign.assignments.all(), rita)
    assert Message.objects.filter(state="planned", text="Careless.").count() == 2  # one to each of two workers

    first, now = Message.objects.earliest("id"), timezone.now()
    fields: dict[str, Any] = {"publication": published, "worker": first.worker, "subject": first.subject, "by": rita}
    again = conversations.message_write(text="Careless.", at=now, **fields)
    assert again == first
    assert conversations.message_write(text="Careful.", at=now, **fields) != first
    assert conversations.message_write(text="Careless.", at=now + timedelta(minutes=11), **fields) != first
    Message.objects.filter(text="Careless.").update(state="failed")
    assert conversations.message_write(text="Careless.", at=now, **fields) != first
    published.messages.create(worker=first.worker, state="received", subject="Hm", text="Hm?", at=now)
    conversations.message_write(text="Careless.", at=now, **fields)
    assert Message.objects.filter(state="planned", text="Careless.").count() == 2


# --- the pages


def test_the_count_of_pairs_follows_a_decision_on_data_at_once(
    client: Client, twice: Campaign, works: list[Assignment], rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(rita)
    judgment_jobs.make_exports(twice.pk)
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(judgment_jobs.make_exports, "delay", lambda *args: calls.append(args))
    page, review = (reverse(name, args=[twice.pk]) for name in ("campaigns:campaign", "review:review"))
    assert "7 of 7 (100%)" in client.get(page).text and "being recounted" not in client.get(page).text
    chosen = {"row": [works[0].pk], "action": "exclude", "why": "Careless.", "expected": "1 0.00"}
    assert client.post(review, chosen).status_code == 303
    assert calls == [()]
    assert "being recounted" in client.get(page).text
    Export.objects.update(rests_until=timezone.now())
    judgment_jobs.make_exports()
    assert "0 of 7 (0%)" in client.get(page).text and "being recounted" not in client.get(page).text
    address = reverse("review:assignment", args=[twice.pk, works[0].pk])
    assert client.post(address, {"why": "I read it.", "decision": "restore"}).status_code == 303
    assert calls == [(), ()]
    assert client.post(review, {**chosen, "action": "bar"}).status_code == 303
    assert calls == [(), ()]  # a bar changes no count


def test_the_bench_shows_what_it_would_do_then_does_it_without_scripts(
    client: Client, twice: Campaign, works: list[Assignment], rita: User
) -> None:
    client.force_login(rita)
    judgment_jobs.summarize()
    work = client.get(reverse("review:work", args=[twice.pk])).content.decode()
    assert "4/7" in work
    address = reverse("review:review", args=[twice.pk])
    preview = client.post(address, {"row": [works[0].pk], "action": "exclude"})
    text = preview.content.decode()
    assert "1 of 1 chosen would change" in text
    nothing = client.post(address, {"action": "exclude", "why": "Too fast.", "expected": "0"})
    assert (nothing.status_code, "Choose at least one row" in nothing.content.decode()) == (400, True)
    assert not BulkDecision.objects.exists()
    data = {"row": [works[0].pk], "action": "exclude", "why": "Too fast."}
    assert client.post(address, data).status_code == 400  # it was not seen what it would do
    done = client.post(address, data | {"expected": preview.context["expected"]})
    (bulk,) = BulkDecision.objects.all()
    assert done["Location"] == reverse("review:bulk", args=[twice.pk, bulk.pk])
    page = client.get(done["Location"]).content.decode()
    assert "Too fast." in page
    client.post(reverse("review:bulk_undo", args=[twice.pk, bulk.pk]))
    works[0].refresh_from_db()
    assert works[0].verdict == "accepted"


def test_all_that_the_filter_leaves_can_be_chosen_and_nothing_else_is(
    client: Client, twice: Campaign, works: list[Assignment], rita: User
) -> None:
    client.force_login(rita)
    quality.assignment_exclude(assignment=works[1], why="Before.", by=rita, at=timezone.now())
    address = reverse("review:review", args=[twice.pk])
    every = client.post(address + "?verdict=excluded", {"everything": "yes", "action": "restore"})
    assert every.context["preview"].chosen == 1
    of_workers = client.post(address, {"of": "workers", "row": [works[0].worker_id], "action": "exclude"})
    assert (of_workers.context["action"], of_workers.context["preview"].change) == ("exclude-all", 1)
    assert client.post(address, {"row": [works[0].pk], "action": "pay"}).status_code == 400  # no platform pays


def test_the_tables_are_sorted_and_narrowed_on_the_server_and_come_as_csv(
    client: Client, twice: Campaign, works: list[Assignment], rita: User
) -> None:
    client.force_login(rita)
    judgment_jobs.summarize()
    AssignmentSummary.objects.filter(assignment=works[0]).update(median_seconds=1.0)
    address = reverse("review:work", args=[twice.pk])
    for sort, first in (("time", works[0]), ("-time", works[1])):
        assert client.get(address, {"sort": sort}).context["listing"].page[0] == first
    assert list(client.get(address, {"flag": "fast"}).context["listing"].page) == [works[0]]
    lines = b"".join(client.get(reverse("review:assignments_csv", args=[twice.pk]), {"flag": "fast"}))
    (row,) = csv.DictReader(lines.decode().splitlines())
    assert (row["assignment"], row["flags"], row["agreed"]) == (str(works[0].pk), "fast", "4")
    workers = b"".join(client.get(reverse("review:workers_csv", args=[twice.pk]))).decode()
    assert workers.count("\n") == 3
    assert "Alice" not in workers


def test_each_column_of_the_bench_sorts(client: Client, twice: Campaign, works: list[Assignment], rita: User) -> None:
    client.force_login(rita)
    judgment_jobs.summarize()
    AssignmentSummary.objects.filter(assignment=works[0]).update(median_seconds=1.0, pass_share=0.5)
    WorkerSummary.objects.filter(worker=works[1].worker).update(left_share=1.0, pairs=10)
    address = reverse("review:work", args=[twice.pk])
    heads = re.findall(r"<th scope=\"col\".*?</th>", client.get(address).content.decode().partition("decisions")[0])
    still = [head for head in heads if "sort=" not in head and "visually-hidden" not in head]
    assert len(heads) > 25 and still == []

    for sort, first in (("flags", works[1]), ("-flags", works[0]), ("worker", works[0]), ("-worker", works[1])):
        assert client.get(address, {"sort": sort}).context["listing"].page[0] == first
    for sort, worker in (("-flags", works[1]), ("flags", works[0]), ("worker", works[0]), ("-worker", works[1])):
        assert client.get(address, {"workers-sort": sort}).context["workers"].page[0] == worker.worker


def test_work_is_sorted_by_what_became_of_its_pay(
    client: Client, campaign: Campaign, published: Publication, rita: User
) -> None:
    client.force_login(rita)
    paid, waiting = campaign.assignments.order_by("pk")
    of = {"publication": published, "assignment": paid, "submission": paid.submission}
    Payment.objects.create(
        purpose="reward", state="paid", amount=1, fee=0, owed_at=timezone.now(), paid_at=timezone.now(), **of
    )
    address = reverse("review:work", args=[campaign.pk])
    for sort, rows in (("pay", [waiting, paid]), ("-pay", [paid, waiting])):
        assert list(client.get(address, {"sort": sort}).context["listing"].page) == rows


def test_undoing_an_exclusion_keeps_out_what_the_rule_would_have_excluded_since(campaign: Campaign, rita: User) -> None:
    Campaign.objects.update(exclusion="worker")
    careless = factories.worker(campaign, "Careless")
    first = factories.do(careless, campaign)
    bulk = make(campaign, Action.EXCLUDE, campaign.assignments.filter(pk=first.pk), rita)
    second = factories.do(careless, campaign, fail_tests=True)
    deciding.bulk_undo(bulk=bulk, by=rita, at=timezone.now())
    deciding.bulk_run(bulk=bulk, at=timezone.now(), seconds=60)
    row = bulk.rows.get()
    assert row.state == "kept" and f"assignment {second.pk}" in row.error
    first.refresh_from_db()
    assert first.verdict == "excluded" and not Acceptance.objects.filter(assignment=first).exists()
