"""Writing operations into the outbox. Planning one again is not an error: it is there once."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext as _

from core.money import dollars
from platforms.models import Operation, Payment, Publication, PublishedHit, Submission, TermsVersion
from platforms.mturk.client import external_question, frame_address
from platforms.mturk.endpoints import endpoint_of
from tasks.models import Hit, Platform, Worker

Kind = Operation.Kind
COMPENSATION_TIME = timedelta(hours=1)
"""What a worker has to take a compensation once it is accepted."""
LONG_AGO = 1
"""A time that is past for every platform, in seconds: a HIT that expires then has expired."""


def operation_plan(
    *,
    publication: Publication,
    kind: str,
    subject: str,
    request: dict[str, Any],
    at: datetime,
    payment: Payment | None = None,
    submission: Submission | None = None,
    published_hit: PublishedHit | None = None,
    worker: Worker | None = None,
    terms: TermsVersion | None = None,
) -> Operation:
    """The operation of that kind on that subject, planned now if there is none yet."""
    operation, _new = Operation.objects.get_or_create(
        publication=publication,
        kind=kind,
        subject=subject,
        defaults={
            "request": request,
            "next_try": at,
            "payment": payment,
            "submission": submission,
            "published_hit": published_hit,
            "worker": worker,
            "terms": terms,
        },
    )
    return operation


def hit_type_request(publication: Publication, exclusion_id: str) -> dict[str, Any]:
    """What CreateHITType is asked for, with the exclusion of workers who get no more HITs."""
    excluded = {
        "QualificationTypeId": exclusion_id,
        "Comparator": "DoesNotExist",
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }
    return {
        "Title": publication.title,
        "Description": described(publication),
        "Keywords": keyworded(publication),
        "Reward": f"{publication.listed:.2f}",
        "AssignmentDurationInSeconds": int(publication.assignment_duration.total_seconds()),
        "AutoApprovalDelayInSeconds": int(publication.auto_approval.total_seconds()),
        "QualificationRequirements": [*publication.requirements, excluded],
    }


def described(publication: Publication) -> str:
    """The description, after a sentence about the bonus where the listed reward is not all of the pay."""
    bonus = bonus_up_to(publication)
    if not bonus:
        return publication.description
    sentence = _("Pays %(listed)s and a bonus of up to %(bonus)s, for the comparisons that you make.") % {
        "listed": dollars(publication.listed),
        "bonus": dollars(bonus),
    }
    return f"{sentence} {publication.description}"[:2000]


def keyworded(publication: Publication) -> str:
    """The keywords; at our own marketplace with the one by which it shows the bonus beside the reward."""
    bonus = bonus_up_to(publication)
    if not bonus or publication.platform != Platform.MARKETPLACE:
        return publication.keywords
    word = f"bonus-up-to-{bonus:.2f}"
    room = 1000 - len(word) - 2
    kept = publication.keywords if len(publication.keywords) <= room else publication.keywords[:room].rpartition(",")[0]
    return f"{kept}, {word}" if kept else word


def bonus_up_to(publication: Publication) -> Decimal:
    """What the listed reward lacks of all the pay, in dollars; 0 where it is all."""
    bonus = publication.campaign.reward - publication.listed
    return bonus if publication.pay == Publication.Pay.BASE_AND_BONUS and bonus > 0 else Decimal(0)


def hit_request(publication: Publication, hit: Hit, round_number: int, max_assignments: int) -> dict[str, Any]:
    """What CreateHITWithHITType is asked for, but for the token."""
    return {
        "HITTypeId": publication.hit_type_id,
        "MaxAssignments": max_assignments,
        "LifetimeInSeconds": int(publication.lifetime.total_seconds()),
        "Question": external_question(frame_address(publication, hit)),
        "RequesterAnnotation": f"bestknown {publication.reference} {hit.number}/{round_number}",
    }


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
    wanted = list(hits)
    PublishedHit.objects.bulk_create(
        [
            PublishedHit(
                publication=publication, hit=hit, round=round_number, max_assignments=max_assignments or hit.needed
            )
            for hit in wanted
            if hit.needed
        ],
        ignore_conflicts=True,
    )
    published_hits = PublishedHit.objects.filter(
        publication=publication, hit__in=wanted, round=round_number, operations=None
    )
    operations = [
        Operation(
            publication=publication,
            kind=Kind.CREATE,
            subject=f"{published_hit.hit_id}/{round_number}",
            published_hit=published_hit,
            next_try=at,
            request=hit_request(publication, published_hit.hit, round_number, published_hit.max_assignments),
        )
        for published_hit in published_hits.select_related("hit")
        if published_hit.hit is not None
    ]
    return len(Operation.objects.bulk_create(operations, ignore_conflicts=True))


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
    chosen = list(
        elsewhere.exclude(busy).annotate(calls=Count("operations", filter=Q(operations__kind=Kind.RETYPE)))[:limit]
    )
    operations = [
        Operation(
            publication=publication,
            kind=Kind.RETYPE,
            subject=f"{published_hit.pk}/{published_hit.calls + 1}",
            published_hit=published_hit,
            terms=terms,
            next_try=at,
            request={"HITId": published_hit.platform_hit_id, "HITTypeId": terms.hit_type_id},
        )
        for published_hit in chosen
    ]
    return len(Operation.objects.bulk_create(operations, ignore_conflicts=True))


def end_plan(*, publication: Publication, published_hits: Iterable[PublishedHit], at: datetime) -> int:
    """Plan that HITs expire now. What was planned for them before, and is not done, is overtaken."""
    return _turn(publication, Kind.EXPIRE, published_hits, LONG_AGO, at)


def reopen_plan(
    *, publication: Publication, published_hits: Iterable[PublishedHit], until: datetime, at: datetime
) -> int:
    """Plan that HITs stay open until a time. What was planned for them before, and is not done, is overtaken."""
    return _turn(publication, Kind.REOPEN, published_hits, int(until.timestamp()), at)


def _turn(
    publication: Publication, kind: str, published_hits: Iterable[PublishedHit], expire_at: int, at: datetime
) -> int:
    chosen = list(published_hits)
    for published_hit in chosen:
        published_hit.turn += 1
    PublishedHit.objects.bulk_update(chosen, ["turn"], batch_size=1000)
    Operation.objects.bulk_create(
        [
            Operation(
                publication=publication,
                kind=kind,
                subject=f"{published_hit.pk}/{published_hit.turn}",
                published_hit=published_hit,
                next_try=at,
                request={"HITId": published_hit.platform_hit_id, "ExpireAt": expire_at},
            )
            for published_hit in chosen
        ],
        batch_size=1000,
        ignore_conflicts=True,
    )
    return len(chosen)


def exclusion_name(publication: Publication) -> str:
    """The name of a lab's exclusion qualification: one for each lab and platform."""
    return f"No further tasks of {publication.campaign.lab.name[:100]} ({publication.campaign.lab_id})"


def compensation_request(
    publication: Publication, payment: Payment, turn: int, worker_id: str, question: str
) -> dict[str, Any]:
    """The steps of a compensation: a qualification that one worker gets, a HIT type that asks for it, one HIT.

    `turn` counts the offers of one payment.
    """
    endpoint = endpoint_of(publication.platform)
    name = f"Compensation {payment.token} ({endpoint.name})"
    return {
        "worker": worker_id,
        "qualification": {
            "Name": name,
            "Description": "Given to the one worker whom a task owes a payment.",
            "QualificationTypeStatus": "Active",
        },
        "hit_type": {
            "Title": f"Compensation: {publication.title}"[:128],
            "Description": "Payment for work that could not be submitted. Only you can see this task.",
            "Reward": f"{payment.amount:.2f}",
            "AssignmentDurationInSeconds": int(COMPENSATION_TIME.total_seconds()),
            "AutoApprovalDelayInSeconds": 3 * 24 * 3600,
        },
        "hit": {
            "MaxAssignments": 1,
            "LifetimeInSeconds": 30 * 24 * 3600,
            "Question": question,
            "RequesterAnnotation": f"bestknown {publication.reference} compensation {payment.token}/{turn}",
        },
    }
