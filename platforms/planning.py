"""Writing operations into the outbox. Planning one again is not an error: it is there once."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict, Unpack

from django.db.models import Count, Exists, Max, OuterRef, Q

from platforms.models import Operation, Payment, Publication, PublishedHit, Submission, TermsVersion
from platforms.publishing.protocol import Studies
from platforms.registry import adapter_of, handler_of
from tasks.models import Hit, Worker

Kind = Operation.Kind


class About(TypedDict, total=False):
    """What an operation is about: the columns that its request is made from, and that make it the one of its kind."""

    published_hit: PublishedHit
    payment: Payment
    submission: Submission
    worker: Worker
    terms: TermsVersion
    turn: int
    until: datetime
    barred_at: datetime


def publication_lock(publication: Publication) -> Publication:
    """The publication as it is stored, locked until the transaction ends."""
    locked = Publication.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("campaign__lab").get(pk=publication.pk)


def operation_plan(*, publication: Publication, kind: str, at: datetime, **about: Unpack[About]) -> Operation:
    """The operation of that kind about that, planned now if there is none yet."""
    [draft] = _operations(publication, kind, at, [about])
    operation, _new = Operation.objects.get_or_create(
        publication=publication, kind=kind, **about, defaults={"request": draft.request, "next_try": at}
    )
    return operation


def _operations(publication: Publication, kind: str, at: datetime, abouts: Iterable[About]) -> list[Operation]:
    """Operations of one kind with their requests, not stored."""
    handler = handler_of(publication, kind)
    operations = [Operation(publication=publication, kind=kind, next_try=at, **about) for about in abouts]
    for operation in operations:
        operation.request = handler.request(operation)
    return operations


def published_hits_plan(
    *,
    publication: Publication,
    hits: Iterable[Hit],
    at: datetime,
    round_number: int = 1,
    max_assignments: int | None = None,
) -> int:
    """Plan the publication of HITs, with `max_assignments` each, or as many as it still needs. How many now.

    The caller holds the transaction.
    """
    chosen = list(hits)
    PublishedHit.objects.bulk_create(
        [
            PublishedHit(
                publication=publication, hit=hit, round=round_number, max_assignments=max_assignments or hit.needed
            )
            for hit in chosen
            if hit.needed
        ],
        ignore_conflicts=True,
    )
    published_hits = PublishedHit.objects.filter(
        publication=publication, hit__in=chosen, round=round_number, operations=None
    )
    planned = list(published_hits.select_related("hit").order_by("hit__number"))
    if isinstance(adapter_of(publication), Studies):  # one call for all of them
        planned = sorted(planned, key=lambda published_hit: published_hit.pk)[-1:]
    operations = _operations(publication, Kind.CREATE, at, [{"published_hit": row} for row in planned])
    return len(Operation.objects.bulk_create(operations, ignore_conflicts=True))


def adjustments_plan(*, publication: Publication, payments: Iterable[Payment], at: datetime) -> int:
    """Plan that adjustments of the pay are paid, a call for each. How many. The caller holds the transaction."""
    abouts: list[About] = [{"submission": row.submission, "payment": row} for row in payments if row.submission]
    operations = _operations(publication, Kind.ADJUST, at, abouts)
    return len(Operation.objects.bulk_create(operations, batch_size=1000))


def retypes_plan(*, publication: Publication, terms: TermsVersion, limit: int, at: datetime) -> int:
    """Plan that HITs come under the newest terms: those that are open or need work, and are under others. How many.

    A HIT has one such call at a time, so the last one made is of the newest terms. The caller holds the transaction.
    """
    open_or_needed = Q(hit__needed__gt=0) | Q(hit__isnull=False, expires_at__gt=at)
    elsewhere = (
        publication.published_hits.filter(open_or_needed)
        .exclude(platform_hit_id="")
        .exclude(hit_type_id=terms.hit_type_id)
    )
    calls = Operation.objects.filter(published_hit=OuterRef("pk"), kind=Kind.RETYPE)
    busy = Exists(calls.filter(Q(ended_at=None) | Q(terms=terms, state=Operation.State.REFUSED)))
    chosen = elsewhere.exclude(busy).annotate(calls=Count("operations", filter=Q(operations__kind=Kind.RETYPE)))
    abouts: list[About] = [
        {"published_hit": row, "terms": terms, "turn": row.calls + 1} for row in chosen.order_by("hit__number")[:limit]
    ]
    operations = _operations(publication, Kind.RETYPE, at, abouts)
    return len(Operation.objects.bulk_create(operations, ignore_conflicts=True))


def end_plan(
    *, publication: Publication, published_hits: Iterable[PublishedHit], at: datetime, for_now: bool = False
) -> int:
    """Plan that HITs expire now. What was planned for them before, and is not done, is overtaken.

    With `for_now`, each call keeps the time until which its HIT would have been open, so that it can be reopened.
    """
    return _turn(publication, Kind.EXPIRE, published_hits, at, {}, for_now=for_now)


def reopen_plan(
    *, publication: Publication, published_hits: Iterable[PublishedHit], until: datetime, at: datetime
) -> int:
    """Plan that HITs stay open until a time. What was planned for them before, and is not done, is overtaken."""
    return _turn(publication, Kind.REOPEN, published_hits, at, {"until": until})


def _turn(
    publication: Publication,
    kind: str,
    published_hits: Iterable[PublishedHit],
    at: datetime,
    shared: About,
    *,
    for_now: bool = False,
) -> int:
    chosen = list(published_hits)
    called = chosen
    if chosen and isinstance(adapter_of(publication), Studies):  # one call, and one turn, for all HITs
        together = publication.published_hits.filter(hit__isnull=False)
        turn = together.aggregate(last=Max("turn", default=0))["last"] + 1
        together.update(turn=turn)
        called = chosen[:1]
        called[0].turn = turn
    else:
        for row in chosen:
            row.turn += 1
        PublishedHit.objects.bulk_update(chosen, ["turn"], batch_size=1000)
    abouts: list[About] = [{**shared, "published_hit": row, "turn": row.turn} for row in called]
    operations = _operations(publication, kind, at, abouts)
    if for_now:
        for operation, published_hit in zip(operations, called, strict=True):
            operation.until = published_hit.expires_at
    Operation.objects.bulk_create(operations, batch_size=1000, ignore_conflicts=True)
    return len(chosen)
