"""Keeping in step with a study: one request while nothing changed, and nothing missed whatever changes."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from core.models import Alarm
from judgments import quality
from platforms import study_syncing, submitted
from platforms.models import Operation, Payment, Publication, PublishedHit, StudySync, Submission
from platforms.prolific import adapter as prolific_adapter
from platforms.prolific import client as prolific_client
from platforms.prolific import operations
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Work
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from tasks.models import Assignment
from tests.platforms.platforms import Clock, drain
from tests.platforms.prolific.test_work import begin, finish
from tests.rows import fresh
from tests.simulation.prolific import Double

READ = ("submissions/", "counts/")


@pytest.fixture
def clock(published: Publication) -> Clock:
    """A clock; the study was read once."""
    clock = Clock()
    publication_sync(publication=published, at=clock())
    return clock


def reads(prolific: Double, act: Callable[[], object]) -> list[str]:
    """What was read of the study while something was done: `counts`, `list`, `list ACTIVE`, or `one`."""
    before = len(prolific.requests())
    act()
    calls = []
    for request in prolific.requests()[before:]:
        path = request["path"]
        if request["method"] == "GET" and "submissions" in path:
            kind = "counts" if path.endswith("counts/") else "list" if path.endswith("/submissions/") else "one"
            calls.append(f"{kind} {request['query'].get('status', '')}".strip())
    return calls


def test_while_nothing_changes_one_request_is_all(published: Publication, prolific: Double, clock: Clock) -> None:
    _place, assignment = begin(published, prolific)
    sync = lambda: publication_sync(publication=published, at=clock())  # noqa: E731
    assert reads(prolific, sync) == ["counts"]  # somebody is at work: that is nothing to read
    assert reads(prolific, sync) == ["counts"]
    finish(published, prolific, assignment)
    assert reads(prolific, sync) == ["counts", "list AWAITING_REVIEW"]
    assert Submission.objects.get().assignment == assignment
    assert reads(prolific, sync) == ["counts"]
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=published, at=clock())
    drain(published, clock)
    assert reads(prolific, sync) == ["counts"]  # that it was approved is known here
    assert reads(prolific, sync) == ["counts"]
    assert Payment.objects.get().state == "paid"


def test_who_returned_or_timed_out_is_found_among_those_at_work(
    published: Publication, prolific: Double, clock: Clock
) -> None:
    (first, gone), (_second, stays) = begin(published, prolific, "Gone"), begin(published, prolific, "Stays")
    publication_sync(publication=published, at=clock())
    prolific.give_back(first.submission)
    calls = reads(prolific, lambda: publication_sync(publication=published, at=clock()))
    assert calls == ["counts", "list ACTIVE", "one"]
    for assignment in (gone, stays):
        assignment.refresh_from_db()
    assert gone.leased_until <= clock() < stays.leased_until


def test_equal_counts_hide_a_change_until_everything_is_read(
    published: Publication, prolific: Double, clock: Clock
) -> None:
    places = [begin(published, prolific, name) for name in ("Ann", "Bea")]
    prolific.give_back(places[0][0].submission)
    publication_sync(publication=published, at=clock())
    counts = StudySync.objects.get().counts
    # Behind our back, the one who had returned is at work again, and the other has returned.
    swap = "UPDATE submission SET status = CASE status WHEN 'ACTIVE' THEN 'RETURNED' ELSE 'ACTIVE' END"
    prolific.do("sql", statement=swap)
    assert publication_sync(publication=published, at=clock()).polled == 0
    other = places[1][1]
    assert fresh(other).leased_until > clock() and StudySync.objects.get().counts == counts
    clock.ahead += study_syncing.POLL_EVERY
    assert reads(prolific, lambda: publication_sync(publication=published, at=clock()))[:2] == ["counts", "list"]
    assert fresh(other).leased_until <= clock()


def test_what_somebody_approved_at_prolific_is_found_whether_it_waited_here_or_not(
    published: Publication, prolific: Double, clock: Clock
) -> None:
    (waiting, first), (unseen, second) = begin(published, prolific, "Ann"), begin(published, prolific, "Bea")
    finish(published, prolific, first)
    publication_sync(publication=published, at=clock())
    finish(published, prolific, second)
    for place in (waiting, unseen):
        prolific.do("approve", submission=place.submission)
    calls = reads(prolific, lambda: publication_sync(publication=published, at=clock()))
    assert calls == ["counts", "one", "list"]  # one that we knew; that there is another is told by the counts alone
    assert set(Submission.objects.values_list("status", "assignment")) == {
        ("Approved", first.pk), ("Approved", second.pk),
    }  # fmt: skip


def test_pages_are_as_large_as_prolific_gives_and_a_size_that_it_refuses_is_made_smaller(
    published: Publication, prolific: Double, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        prolific.take(published.hit_type_id, prolific.participant(f"Pat {number}"))
    client = adapter_of(published).client()
    assert len(list(prolific_client.submissions_of(client, published.hit_type_id))) == 3
    assert prolific.requests()[-1]["query"]["page_size"] == "1000"
    prolific.settings(most_rows=2)  # it gives fewer than are asked for
    assert len({row["id"] for row in prolific_client.submissions_of(client, published.hit_type_id)}) == 3
    monkeypatch.setattr(prolific_client, "PAGE", 2)
    prolific.settings(most_rows=2, refuses_more=True)
    assert len({row["id"] for row in prolific_client.submissions_of(client, published.hit_type_id)}) == 3
    assert [request["status"] for request in prolific.requests("submissions/")[-3:]] == [400, 200, 200]


def test_of_a_long_list_that_waits_for_review_only_what_is_new_is_read(
    published: Publication, prolific: Double, clock: Clock
) -> None:
    early = begin(published, prolific, "Early")
    works = [begin(published, prolific, f"Pat {number}") for number in range(2)]
    sync = lambda: publication_sync(publication=published, at=clock())  # noqa: E731
    prolific.settings(most_rows=1)
    finish(published, prolific, works[0][1])
    sync()
    finish(published, prolific, works[1][1])
    assert reads(prolific, sync) == ["counts", "list AWAITING_REVIEW"]  # one page of two
    finish(published, prolific, early[1])  # who began first is on the last page
    assert reads(prolific, sync) == ["counts", *["list AWAITING_REVIEW"] * 3]
    assert Submission.objects.filter(assignment__isnull=False).count() == 3


def test_many_are_approved_by_one_call_and_each_is_paid_once(
    published: Publication, prolific: Double, clock: Clock
) -> None:
    works = [begin(published, prolific, f"Pat {number}") for number in range(3)]
    for _place, assignment in works:
        finish(published, prolific, assignment)
    publication_sync(publication=published, at=clock())
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=published, at=clock())
    prolific.give_back(works[0][0].submission)  # just before: it cannot be approved, and must not stop the others
    prolific.requests()
    drain(published, clock, rounds=4)
    (bulk,) = prolific.requests("bulk-approve")
    assert len(bulk["body"]["submission_ids"]) == 2
    approved = {row["submission"] for row in prolific.ledger("reward")}
    assert approved == {place.submission for place, _assignment in works[1:]}
    done = Operation.objects.filter(kind="approve", state="done")
    assert {row.submission.platform_assignment_id for row in done if row.submission} == approved
    assert {row.result["status"] for row in done} == {"APPROVED"}
    paid = Payment.objects.filter(state="paid")
    assert {row.submission.platform_assignment_id for row in paid if row.submission} == approved
    assert all(row.evidence["status"] == "APPROVED" and row.paid_at for row in paid)
    assert Submission.objects.filter(status="Approved").count() == 2
    drain(published, clock)
    assert (
        Operation.objects.get(kind="approve", state="refused").submission.platform_assignment_id
        == works[0][  # type: ignore[union-attr]
            0
        ].submission
    )
    assert len(prolific.ledger("reward")) == 2


@pytest.mark.parametrize("lost", ["lost before", "lost after", "broken after"])
def test_a_bulk_approval_whose_answer_is_lost_is_looked_at_one_by_one(
    lost: str, published: Publication, prolific: Double, clock: Clock
) -> None:
    for number in range(3):
        finish(published, prolific, begin(published, prolific, f"Pat {number}")[1])
    publication_sync(publication=published, at=clock())
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=published, at=clock())
    prolific.fault(lost, path="bulk-approve", times=1)
    drain(published, clock)
    assert len(prolific.requests("bulk-approve")) == 1
    assert set(Payment.objects.values_list("state", flat=True)) == {"paid"}
    assert len(prolific.ledger("reward")) == 3
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_a_whole_list_of_approvals_is_read_where_there_are_many(
    published: Publication, prolific: Double, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "MOST_LOOKS", 1)
    for number in range(3):
        finish(published, prolific, begin(published, prolific, f"Pat {number}")[1])
    publication_sync(publication=published, at=clock())
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=published, at=clock())
    calls = reads(prolific, lambda: drain(published, clock))
    assert calls == ["list AWAITING_REVIEW", "list AWAITING_REVIEW", "list APPROVED"]
    assert set(Payment.objects.values_list("state", flat=True)) == {"paid"}


def test_one_that_cannot_be_stored_stops_nobody_and_is_tried_again(
    published: Publication, prolific: Double, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bad, first), (_good, second) = begin(published, prolific, "Bad"), begin(published, prolific, "Good")
    for assignment in (first, second):
        finish(published, prolific, assignment)
    real, tries = prolific_adapter.ProlificAdapter.work_of, list[str]()

    def broken(self: prolific_adapter.ProlificAdapter, row: dict[str, str]) -> Work:
        work = real(self, row)
        if work.assignment_id == bad.submission:
            tries.append(bad.submission)
            return work._replace(worker_id="\0")
        return work

    monkeypatch.setattr(prolific_adapter.ProlificAdapter, "work_of", broken)
    publication_sync(publication=published, at=clock())
    assert Submission.objects.get().assignment == second
    alarm = Alarm.objects.get(kind="job", settled_at=None)
    assert PublishedHit.objects.get(pk=alarm.about_id).hit_id == first.hit_id
    publication_sync(publication=published, at=clock())
    assert (Submission.objects.count(), fresh(alarm).tries, len(tries)) == (1, 1, 2)  # it rests
    monkeypatch.setattr(prolific_adapter.ProlificAdapter, "work_of", real)
    clock.ahead += timedelta(hours=1)
    publication_sync(publication=published, at=clock())
    assert Submission.objects.count() == 2 and not Alarm.objects.filter(settled_at=None).exists()


def test_sets_store_what_single_rows_would(published: Publication, prolific: Double, clock: Clock) -> None:
    _place, assignment = begin(published, prolific)
    other = Assignment.objects.create(
        campaign=assignment.campaign, hit=assignment.hit, worker=assignment.worker, layout=0, taken_at=clock(),
        leased_until=clock() + timedelta(hours=1), platform_assignment_id="f" * 24,
    )  # fmt: skip
    finish(published, prolific, assignment)
    publication_sync(publication=published, at=clock())
    row = Submission.objects.get()
    facts = {name: getattr(row, name) for name in ("receipt", "status", "seconds_there", "auto_approval_at")}
    other.refresh_from_db()
    assert other.leased_until <= clock()
    Submission.objects.all().delete()
    Assignment.objects.filter(pk=other.pk).update(leased_until=clock() + timedelta(hours=1))
    client = adapter_of(published).client()
    (answer,) = prolific_client.submissions_of(client, published.hit_type_id)
    work = adapter_of(published).work_of(answer)._replace(receipt=assignment.receipt)
    submitted.submission_store(published_hit=row.published_hit, work=work, at=clock())
    again = Submission.objects.get()
    assert {name: getattr(again, name) for name in facts} == facts and again.assignment == assignment
    assert fresh(other).leased_until <= clock()
