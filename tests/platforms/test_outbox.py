"""Every call is made once, whatever happens on the way: against a real marketplace, with its faults."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Payment, Publication
from platforms.mturk import operations
from platforms.outbox import LEASE, operation_finish, operation_retry, operations_finish, operations_run
from platforms.publishing.publications import (
    publication_expire,
    publication_extend,
    publication_pause,
    publication_plan,
    publication_publish,
    publication_resume,
    publication_stop,
    publishing_progress,
    terms_keep,
)
from platforms.registry import handler_of
from platforms.reviewing.compensations import compensation_offer
from pools.models import Campaign
from tasks.models import Hit
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.platforms import Clock, drain, published_hit_of, work
from tests.races import beside

Kind, State = Operation.Kind, Operation.State


def platform_hits(requester: Requester) -> list[dict[str, Any]]:
    """Every HIT that the marketplace has of us."""
    pages = requester.client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
    return [hit for page in pages for hit in page["HITs"]]


def many_hits(campaign: Campaign, count: int) -> None:
    """Copies of the campaign's first HIT, without items: enough to be published."""
    first = campaign.hits.count() + 1
    Hit.objects.bulk_create([Hit(campaign=campaign, number=first + n, needed=1) for n in range(count)])


def finish_alone(operation: Operation, type_id: str) -> bool:
    answer = {"QualificationType": {"QualificationTypeId": type_id}}
    return operation_finish(
        handler=handler_of(operation.publication, operation.kind), operation=operation, answer=answer, at=timezone.now()
    )


def finish_together(operation: Operation, type_id: str) -> bool:
    answer = {"QualificationType": {"QualificationTypeId": type_id}}
    handler, answers = handler_of(operation.publication, operation.kind), {operation.pk: answer}
    return bool(operations_finish(handler=handler, operations=[operation], answers=answers, at=timezone.now()))


def begin(publication: Publication, clock: Clock) -> None:
    """Publish, up to and with the HIT type."""
    publication_publish(publication=publication, at=clock())
    for _ in range(2):
        operations_run(publication=publication, clock=clock, sleep=clock.sleep)
        publication_plan(publication_id=publication.pk, at=clock())


def begin_with(publication: Publication, marketplace: Marketplace, *faults: str) -> Clock:
    """Begin, and make one call for a HIT, the first to meet these faults."""
    clock = Clock()
    begin(publication, clock)
    marketplace.test("faults", script=[{"kind": kind, "operation": "CreateHITWithHITType"} for kind in faults])
    operations_run(publication=publication, limit=1, clock=clock, sleep=clock.sleep)
    return clock


def lost_replies(publication: Publication, marketplace: Marketplace, requester: Requester) -> list[dict[str, Any]]:
    """Publish while the reply to the first three HITs is dropped after they were made."""
    clock = Clock()
    begin(publication, clock)
    marketplace.test("faults", script=[{"kind": "reply_dropped", "operation": "CreateHITWithHITType", "times": 3}])
    drain(publication, clock)
    assert marketplace.test("faults")["met"] == {"reply_dropped": 3}
    return platform_hits(requester)


def test_a_campaign_is_published_hit_by_hit_and_publishing_again_changes_nothing(
    published: Publication, requester: Requester
) -> None:
    hits = platform_hits(requester)

    assert len(hits) == 3
    assert {hit["RequesterAnnotation"] for hit in hits} == {
        f"bestknown {published.reference} {number}/1" for number in (1, 2, 3)
    }
    assert publishing_progress(published) == (3, 0, 0, 0)
    assert all(
        published_hit.platform_hit_id in {hit["HITId"] for hit in hits}
        for published_hit in published.published_hits.all()
    )

    before = Operation.objects.count()

    publication_publish(publication=published, at=timezone.now())
    drain(published)

    assert Operation.objects.count() == before
    assert len(platform_hits(requester)) == 3


def test_planning_keeps_a_bounded_number_of_calls_ahead(publication: Publication) -> None:
    many_hits(publication.campaign, 1197)
    Publication.objects.filter(pk=publication.pk).update(state="open", exclusion_id="E", hit_type_id="T")
    terms_keep(publication=publication, by=None, at=timezone.now(), hit_type_id="T")

    planned = [publication_plan(publication_id=publication.pk, at=timezone.now()) for _ in range(3)]
    assert planned == [500, 0, 0]

    Operation.objects.filter(kind=Kind.CREATE).update(state=State.DONE)
    assert publication_plan(publication_id=publication.pk, at=timezone.now()) == 500
    assert publishing_progress(publication).unplanned == 200


def test_a_hit_whose_reply_was_lost_is_published_once(
    publication: Publication, marketplace: Marketplace, requester: Requester
) -> None:
    assert len(lost_replies(publication, marketplace, requester)) == 3
    creates = Operation.objects.filter(kind=Kind.CREATE)
    assert set(creates.values_list("state", flat=True)) == {State.DONE}
    assert creates.filter(result__repeated="HitAlreadyExists").count() == 3
    assert publication.published_hits.exclude(platform_hit_id="").count() == 3


def test_without_the_token_the_same_storm_publishes_twice(
    publication: Publication, marketplace: Marketplace, requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "token_of", lambda operation: {})

    assert len(lost_replies(publication, marketplace, requester)) == 6
    both = comparison_make(publication=publication, at=timezone.now())
    assert len(both.differences) == 3
    assert publication.alarms.filter(kind="ledger", settled_at=None).exists()


def test_a_storm_of_faults_publishes_each_hit_once(
    publication: Publication, marketplace: Marketplace, requester: Requester
) -> None:
    many_hits(publication.campaign, 37)
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    kinds = ("before_commit", "after_commit", "reply_dropped", "throttled")
    marketplace.test("faults", storm={"seed": "7", "chances": dict.fromkeys(kinds, 0.1)})

    drain(publication, clock)

    marketplace.test("faults", clear=True)
    annotations = [hit["RequesterAnnotation"] for hit in platform_hits(requester)]
    assert len(annotations) == len(set(annotations)) == 40
    assert publishing_progress(publication) == (40, 0, 0, 0)


@pytest.mark.parametrize(("fault", "found"), [("reply_dropped", 1), ("before_commit", 0)])
def test_after_a_day_a_lost_hit_is_found_by_its_annotation_and_one_that_never_arrived_is_made(
    publication: Publication, marketplace: Marketplace, requester: Requester, fault: str, found: int
) -> None:
    clock = begin_with(publication, marketplace, fault)
    assert Operation.objects.filter(state=State.UNKNOWN).count() == 1
    marketplace.advance(hours=25)
    clock.sleep(25 * 3600)

    drain(publication, clock)

    assert len(platform_hits(requester)) == 3
    assert Operation.objects.filter(kind=Kind.CREATE, result__found=True).count() == found


def test_the_row_and_token_stand_before_the_call(publication: Publication, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    states = []

    def look(_handler: Any, _client: Any, operation: Operation) -> dict[str, Any]:
        states.append((connection.in_atomic_block, Operation.objects.get(pk=operation.pk).state, operation.token))
        raise KeyboardInterrupt  # as a worker that is stopped in the middle

    monkeypatch.setattr(operations.ExclusionType, "make", look)
    with pytest.raises(KeyboardInterrupt):
        operations_run(publication=publication, clock=clock, sleep=clock.sleep)

    row = Operation.objects.get()
    assert states[0][1:] == (State.SENT, row.token)
    assert (row.state, row.attempts) == (State.SENT, 1)
    monkeypatch.undo()


def _publish_forever(publication_id: int) -> None:
    connection.close()
    publication = Publication.objects.get(pk=publication_id)
    while True:
        publication_plan(publication_id=publication_id, at=timezone.now())
        operations_run(publication=publication)


@pytest.mark.django_db(transaction=True)
def test_workers_that_are_killed_leave_nothing_undone_and_nothing_twice(
    publication: Publication, requester: Requester
) -> None:
    many_hits(publication.campaign, 57)
    publication_publish(publication=publication, at=timezone.now())
    fork = multiprocessing.get_context("fork")
    for round_number in range(5):
        connection.close()
        workers = [fork.Process(target=_publish_forever, args=[publication.pk], daemon=True) for _ in range(3)]
        for worker in workers:
            worker.start()
        while Operation.objects.filter(state=State.DONE).count() < 10 * (round_number + 1):
            workers[0].join(0.02)
        for worker in workers:
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
    cut_off = Operation.objects.filter(state=State.SENT).count()
    clock = Clock()
    clock.sleep(LEASE.total_seconds() + 60)

    drain(publication, clock)

    annotations = [hit["RequesterAnnotation"] for hit in platform_hits(requester)]
    assert cut_off > 0
    assert len(annotations) == len(set(annotations)) == 60
    assert publishing_progress(publication) == (60, 0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_make_each_call_once(publication: Publication, requester: Requester) -> None:
    many_hits(publication.campaign, 37)
    clock = Clock()
    begin(publication, clock)

    def run(_number: int) -> int:
        try:
            return operations_run(publication=Publication.objects.get(pk=publication.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(run, range(4)))

    assert sum(counts) == 40
    assert set(Operation.objects.values_list("attempts", flat=True)) == {1}
    assert len(platform_hits(requester)) == 40


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("finish", [finish_alone, finish_together])
def test_of_two_answers_to_one_call_the_first_is_written_down(
    publication: Publication, finish: Callable[[Operation, str], bool]
) -> None:
    publication_publish(publication=publication, at=timezone.now())
    operation = Operation.objects.get()  # two processes have made it, the second because the first was slow

    with beside(lambda: finish(operation, "Q1"), lambda: finish(operation, "Q2")) as done:
        Operation.objects.select_for_update().get()

    first = next(name for each, name in zip(done, ("Q1", "Q2"), strict=True) if each.result())
    publication.refresh_from_db()
    operation.refresh_from_db()
    assert sorted(each.result() for each in done) == [False, True]
    assert (operation.result["QualificationType"]["QualificationTypeId"], publication.exclusion_id) == (first, first)


def test_calls_keep_to_the_rate(publication: Publication) -> None:
    many_hits(publication.campaign, 17)
    clock = Clock()
    begin(publication, clock)
    Publication.objects.filter(pk=publication.pk).update(rate=2)
    began = clock()

    count = operations_run(publication=publication, limit=10, clock=clock, sleep=clock.sleep)

    assert count == 10
    assert clock() - began > timedelta(seconds=4)  # ten turns of half a second, slept or passed


def test_throttling_slows_down_and_loses_nothing(
    publication: Publication, marketplace: Marketplace, requester: Requester
) -> None:
    clock = begin_with(publication, marketplace, "throttled")

    operation = Operation.objects.get(kind=Kind.CREATE, attempts=1)
    publication.refresh_from_db()
    assert operation.state == State.PLANNED
    assert publication.next_call_at is not None
    assert publication.next_call_at > clock() + timedelta(seconds=1)
    drain(publication, clock)
    assert len(platform_hits(requester)) == 3


def test_an_empty_account_rings_and_goes_on_when_it_is_filled(
    publication: Publication, marketplace: Marketplace, requester: Requester
) -> None:
    clock = Clock()
    begin(publication, clock)
    requester.hit(Reward="833.30")  # with its fee, all but 4 cents
    drain(publication, clock, rounds=10)
    assert publication.alarms.filter(kind="funds", settled_at=None).exists()
    assert not Operation.objects.filter(state=State.REFUSED).exists()

    marketplace.test("deposit", account_id=requester.account_id, amount="100.00")
    drain(publication, clock)

    assert publishing_progress(publication).posted == 3
    assert not publication.alarms.filter(settled_at=None).exists()


@pytest.mark.parametrize("halt", [publication_pause, publication_stop])
def test_a_halt_ends_what_is_open_and_resuming_opens_it(
    published: Publication, requester: Requester, wanda: Worker, halt: Callable[..., Publication]
) -> None:
    clock = Clock()
    for _ in range(2):
        halt(publication=published, at=clock())
    drain(published, clock, rounds=5)
    assert {hit["HITStatus"] for hit in platform_hits(requester)} == {"Reviewable"}
    assert "no longer available" in wanda.cannot_accept(published_hit_of(published, 1).platform_hit_id)

    for _ in range(2):
        publication_resume(publication=published, at=clock())
    drain(published, clock)

    assert {hit["HITStatus"] for hit in platform_hits(requester)} == {"Assignable"}
    assert wanda.accept(published_hit_of(published, 1).platform_hit_id)


def test_a_pause_in_the_middle_publishes_no_more_and_resumes(publication: Publication, requester: Requester) -> None:
    clock = Clock()
    begin(publication, clock)
    operations_run(publication=publication, limit=1, clock=clock, sleep=clock.sleep)
    publication_pause(publication=publication, at=clock())
    drain(publication, clock, rounds=5)
    assert len(platform_hits(requester)) == 1

    publication_resume(publication=publication, at=clock())
    drain(publication, clock)

    assert [hit["HITStatus"] for hit in platform_hits(requester)] == ["Assignable"] * 3


def test_a_hit_that_was_on_its_way_when_the_kill_switch_fell_is_found_and_ended(
    publication: Publication, marketplace: Marketplace, requester: Requester
) -> None:
    clock = begin_with(publication, marketplace, "reply_dropped")
    publication_stop(publication=publication, at=clock())

    drain(publication, clock, rounds=10)

    assert [hit["HITStatus"] for hit in platform_hits(requester)] == ["Reviewable"]


def test_a_pause_does_not_lift_the_kill_switch(published: Publication) -> None:
    publication_stop(publication=published, at=timezone.now())
    assert publication_pause(publication=published, at=timezone.now()).state == Publication.State.STOPPED


def test_extending_and_expiring_again_is_not_an_error(published: Publication, requester: Requester) -> None:
    clock = Clock()
    until = (clock() + timedelta(days=90)).replace(microsecond=0)
    assert publication_extend(publication=published, until=until, at=clock()) == 3
    assert publication_extend(publication=published, until=until, at=clock()) == 0
    drain(published, clock)
    assert publication_extend(publication=published, until=until, at=clock()) == 0
    assert {hit["Expiration"] for hit in platform_hits(requester)} == {until}

    assert publication_expire(publication=published, at=clock()) == 3
    assert publication_expire(publication=published, at=clock()) == 0
    drain(published, clock)

    assert publication_expire(publication=published, at=clock()) == 0
    assert {hit["HITStatus"] for hit in platform_hits(requester)} == {"Reviewable"}


def test_a_refused_call_rings_and_can_be_tried_again(published: Publication, requester: Requester) -> None:
    clock = Clock()
    published_hit = published_hit_of(published, 1)
    requester.client.update_expiration_for_hit(HITId=published_hit.platform_hit_id, ExpireAt=0)
    requester.client.delete_hit(HITId=published_hit.platform_hit_id)
    publication_extend(publication=published, until=clock() + timedelta(days=60), at=clock())

    drain(published, clock)

    refused = Operation.objects.get(state=State.REFUSED)
    assert refused.published_hit == published_hit
    assert published.alarms.filter(kind="refused", settled_at=None).count() == 1
    assert operation_retry(operation=refused, at=clock())
    assert not published.alarms.filter(settled_at=None).exists()


def test_a_stop_while_hits_are_being_opened_again_leaves_none_open(
    published: Publication, requester: Requester, marketplace: Marketplace
) -> None:
    clock = Clock()
    publication_pause(publication=published, at=clock())
    drain(published, clock)
    publication_resume(publication=published, at=clock())
    marketplace.test("faults", script=[{"kind": "reply_dropped", "operation": "UpdateExpirationForHIT"}])
    operations_run(publication=published, limit=1, clock=clock, sleep=clock.sleep)

    publication_stop(publication=published, at=clock())
    drain(published, clock, rounds=10)

    assert {hit["HITStatus"] for hit in platform_hits(requester)} == {"Reviewable"}


def test_a_hit_in_doubt_stays_in_doubt_when_its_repeat_is_throttled(
    publication: Publication, requester: Requester, marketplace: Marketplace
) -> None:
    clock = begin_with(publication, marketplace, "reply_dropped", "throttled")
    Operation.objects.filter(kind=Kind.CREATE, state=State.PLANNED).update(next_try=clock() + timedelta(hours=1))
    clock.sleep(60)
    operations_run(publication=publication, limit=1, clock=clock, sleep=clock.sleep)
    assert Operation.objects.get(attempts=2).state == State.UNKNOWN

    publication_stop(publication=publication, at=clock())
    drain(publication, clock, rounds=10)

    assert [hit["HITStatus"] for hit in platform_hits(requester)] == ["Reviewable"]


def test_a_compensation_whose_reply_was_lost_is_found_by_its_token(
    published: Publication, marketplace: Marketplace, wanda: Worker
) -> None:
    clock = Clock()
    mine = work(published, wanda)
    Payment.objects.create(
        publication=published, assignment=mine, purpose="compensation", amount="1.00", fee="0.20", owed_at=clock()
    )
    offer = compensation_offer(payment=Payment.objects.get(), at=clock())
    marketplace.test("faults", script=[{"kind": "reply_dropped", "operation": "CreateHITWithHITType"}])

    drain(published, clock)

    offer.refresh_from_db()
    assert (offer.state, offer.result["repeated"]) == (State.DONE, "HitAlreadyExists")
    assert offer.published_hit is not None
    assert offer.published_hit.platform_hit_id
