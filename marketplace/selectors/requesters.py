"""Requesters, and what belongs to them beside HITs and qualifications."""

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet

from marketplace.models import (
    AccessKey,
    ApiCall,
    Assignment,
    DepositRequest,
    Entry,
    Hit,
    Message,
    Requester,
    WorkerBlock,
)
from marketplace.money import ZERO
from marketplace.selectors.ledger import Balance

# API calls that a page goes through at most.
MOST_CALLS = 10_000


class RequesterRow(NamedTuple):
    requester: Requester
    balance: Balance
    open_hits: int


class Rejections(NamedTuple):
    """How much work a requester rejected, and how much of that without a reason."""

    total: int
    without_reason: int


def requesters_matching(words: str = "") -> QuerySet[Requester]:
    """Requesters by name: all, or those with these words in their name, or with this account id."""
    rows = Requester.objects.order_by("name")
    words = words.strip()
    return rows.filter(Q(name__icontains=words) | Q(account_id=words)) if words else rows


def requester_rows(requesters: Iterable[Requester]) -> list[RequesterRow]:
    """What some requesters have, in their order."""
    requesters = list(requesters)
    keys = [requester.pk for requester in requesters]
    open_hits = Hit.objects.filter(status=Hit.Status.ASSIGNABLE, requester__in=keys).order_by()
    counts = dict(open_hits.values_list("requester").annotate(hits=Count("pk")))
    newest = {
        entry.requester_id: Balance(entry.available_after or ZERO, entry.on_hold_after or ZERO)
        for entry in Entry.objects.filter(requester__in=keys).order_by("requester", "-number").distinct("requester")
    }
    return [
        RequesterRow(requester, newest.get(requester.pk, Balance(ZERO, ZERO)), counts.get(requester.pk, 0))
        for requester in requesters
    ]


def deposit_requests_open() -> QuerySet[DepositRequest]:
    """What requesters have asked the operator for and was neither granted nor declined, the oldest first."""
    return DepositRequest.objects.filter(closed_at=None).select_related("requester").order_by("asked_at", "pk")


def requester_rejections(requester: Requester) -> Rejections:
    """What the requester rejected and did not approve after all."""
    rejected = Assignment.objects.filter(hit__requester=requester, state=Assignment.State.REJECTED)
    counts = rejected.aggregate(total=Count("pk"), without_reason=Count("pk", filter=Q(feedback="")))
    return Rejections(**counts)


def requester_entries(requester: Requester) -> QuerySet[Entry]:
    """A requester's ledger, newest first."""
    rows = Entry.objects.select_related("worker", "hit__hit_type", "assignment")
    return rows.filter(requester=requester).order_by("-number")


def requester_keys(requester: Requester) -> QuerySet[AccessKey]:
    """A requester's access keys, newest first, revoked ones included."""
    return AccessKey.objects.filter(requester=requester).order_by("-pk")


def blocks_of(requester: Requester) -> QuerySet[WorkerBlock]:
    return WorkerBlock.objects.select_related("worker").filter(requester=requester)


def calls_of(requester: Requester, *, words: str = "") -> QuerySet[ApiCall]:
    """The requester's newest API calls, newest first: those by a key, with an operation, an outcome or about an id."""
    rows = ApiCall.objects.select_related("key").filter(key__in=AccessKey.objects.filter(requester=requester))
    if words := words.strip():
        rows = rows.filter(
            Q(key__key_id=words) | Q(operation=words) | Q(outcome=words) | Q(subject=words) | Q(request_id=words)
        )
    return rows.order_by("-pk")[:MOST_CALLS]


def work_undecided(requester: Requester) -> QuerySet[Assignment]:
    """What was submitted to a requester and not decided on, the oldest first."""
    rows = Assignment.objects.select_related("worker", "hit__hit_type")
    return rows.filter(hit__requester=requester, state=Assignment.State.SUBMITTED).order_by("submitted_at", "pk")


def messages_from_workers(requester: Requester, *, after: int) -> QuerySet[Message]:
    """What workers wrote to a requester after the message with this key, the oldest first."""
    rows = requester.messages.filter(direction=Message.Direction.TO_REQUESTER, pk__gt=after)
    return rows.select_related("worker", "hit").order_by("pk")
