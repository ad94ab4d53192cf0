"""What the pages show beside a worker's work: letters, people, money owed, decisions to make."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Count, Max, Q, QuerySet, Sum

from marketplace.errors import DoesNotExist
from marketplace.models import (
    ACCOUNT,
    AccessKey,
    Account,
    ApiCall,
    Assignment,
    AuditEvent,
    DailyRun,
    Dispute,
    DueFailure,
    Entry,
    Hit,
    Invitation,
    Message,
    Requester,
    Worker,
)
from marketplace.money import ZERO
from marketplace.qualifying import Action
from marketplace.selectors.money import Balance, balance
from marketplace.selectors.qualifying import unmet_by

MOST_CALLS = 10_000
"""API calls that a page goes through at most; the command api_calls shows all."""


class RequesterRow(NamedTuple):
    """A requester and what it has."""

    requester: Requester
    balance: Balance
    open_hits: int


class Rejections(NamedTuple):
    """How much work a requester rejected, and how much of that without a reason."""

    total: int
    without_reason: int


class Owed(NamedTuple):
    """A worker and what is to be paid out to the worker, in dollars."""

    worker: Worker
    amount: Decimal


class Batch(NamedTuple):
    """Payouts that were made together, under one reference."""

    reference: str
    at: datetime
    workers: int
    amount: Decimal
    came_back: Decimal | None
    """What of the amount came back, if anything."""


# --- of a worker


def unread_of(worker: Worker) -> int:
    """How many messages the worker has not opened."""
    return Message.objects.filter(worker=worker, direction=Message.Direction.TO_WORKER, read_at=None).count()


def message_of(worker: Worker, message_pk: int) -> Message:
    """One of the worker's messages, in either direction. Raises DoesNotExist."""
    rows = Message.objects.select_related("requester", "hit__hit_type")
    found = rows.filter(worker=worker, pk=message_pk).first()
    if found is None:
        raise DoesNotExist("Message", str(message_pk))
    return found


def hit_to_ask_about(worker: Worker, hit_id: str) -> Hit:
    """A HIT that the worker may write about: one the worker did something on, or can find. Raises DoesNotExist."""
    hit = Hit.objects.select_related("hit_type", "requester").filter(hit_id=hit_id).first()
    if hit is not None:
        if Assignment.objects.filter(hit=hit, worker=worker).exists():
            return hit
        if not unmet_by(worker, hit.hit_type.requirements, Action.DISCOVER):
            return hit
    raise DoesNotExist("HIT", hit_id)


def dispute_of(assignment: Assignment) -> Dispute | None:
    """What the worker asked the operator about this assignment, if anything."""
    return Dispute.objects.filter(assignment=assignment).first()


# --- for the operator


def requester_rows() -> list[RequesterRow]:
    """All requesters by name."""
    open_hits = Hit.objects.filter(status=Hit.Status.ASSIGNABLE).order_by().values_list("requester")
    counts = dict(open_hits.annotate(hits=Count("pk")))
    newest = {
        entry.requester_id: Balance(entry.available_after or ZERO, entry.on_hold_after or ZERO)
        for entry in Entry.objects.filter(requester__isnull=False)
        .order_by("requester", "-number")
        .distinct("requester")
    }
    return [
        RequesterRow(requester, newest.get(requester.pk, Balance(ZERO, ZERO)), counts.get(requester.pk, 0))
        for requester in Requester.objects.order_by("name")
    ]


def requester_of(account_id: str) -> Requester:
    """The requester of an account id. Raises DoesNotExist."""
    found = Requester.objects.filter(account_id=account_id).first()
    if found is None:
        raise DoesNotExist("Requester", account_id)
    return found


def requester_balance(requester: Requester) -> Balance:
    """What a requester has now."""
    return balance(requester.pk)


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


def requester_message(requester: Requester, message_pk: int) -> Message:
    """A message that a worker wrote to the requester. Raises DoesNotExist."""
    rows = Message.objects.select_related("worker", "requester", "hit__hit_type")
    found = rows.filter(requester=requester, direction=Message.Direction.TO_REQUESTER, pk=message_pk).first()
    if found is None:
        raise DoesNotExist("Message", str(message_pk))
    return found


def workers_found(words: str = "") -> QuerySet[Worker]:
    """Workers whose id or address holds the words, newest first."""
    rows = Worker.objects.select_related("account").order_by("-pk")
    if words := words.strip():
        rows = rows.filter(Q(worker_id__icontains=words) | Q(account__email__icontains=words))
    return rows


def invitations_all() -> QuerySet[Invitation]:
    """Every invitation, newest first."""
    return Invitation.objects.select_related("used_by").order_by("-pk")


def disputes_all() -> QuerySet[Dispute]:
    """Every dispute: open ones first, the longest waiting of them first; then closed ones, newest first."""
    rows = Dispute.objects.select_related(
        "assignment__hit__hit_type", "assignment__hit__requester", "assignment__worker"
    )
    return rows.order_by("-closed_at", "opened_at")  # PostgreSQL puts what has no closed_at first


def dispute_by_pk(dispute_pk: int) -> Dispute:
    """One dispute, with what it is about. Raises DoesNotExist."""
    found = disputes_all().filter(pk=dispute_pk).first()
    if found is None:
        raise DoesNotExist("Dispute", str(dispute_pk))
    return found


def disputes_open() -> int:
    """How many disputes wait for a decision."""
    return Dispute.objects.filter(state=Dispute.State.OPEN).count()


def daily_run(name: str) -> DailyRun | None:
    """When something of services.daily was last done, and what came of it; None if it never was."""
    return DailyRun.objects.filter(name=name, ended_at__isnull=False).first()


def calls_of(requester: Requester, *, words: str = "") -> QuerySet[ApiCall]:
    """The requester's newest API calls, newest first: those by a key, with an operation, an outcome or about an id."""
    rows = ApiCall.objects.select_related("key").filter(key__in=AccessKey.objects.filter(requester=requester))
    if words := words.strip():
        rows = rows.filter(
            Q(key__key_id=words) | Q(operation=words) | Q(outcome=words) | Q(subject=words) | Q(request_id=words)
        )
    return rows.order_by("-pk")[:MOST_CALLS]


def due_failures() -> QuerySet[DueFailure]:
    """What was due on HITs and failed, the longest failing first."""
    return DueFailure.objects.select_related("hit__requester").order_by("first_at", "pk")


def owed_all() -> list[Owed]:
    """Who is owed something, most first."""
    sums = Entry.objects.filter(worker__isnull=False).order_by().values_list("worker").annotate(owed=Sum("earned"))
    amounts = {worker: amount for worker, amount in sums.values_list("worker", "owed") if amount and amount > 0}
    workers = Worker.objects.select_related("account").in_bulk(list(amounts))
    return sorted((Owed(workers[pk], amount) for pk, amount in amounts.items()), key=lambda row: -row.amount)


def payout_batches() -> list[Batch]:
    """Payouts by reference, newest first."""
    rows = (
        Entry.objects.filter(kind=Entry.Kind.PAYOUT)
        .order_by()
        .values_list("note")
        .annotate(at=Max("at"), workers=Count("pk"), amount=-Sum("earned"), came_back=Sum("bounce__earned"))
        .order_by("-at")
    )
    return [Batch(*row) for row in rows]


def payouts_of(reference: str) -> QuerySet[Entry]:
    """The payouts of one reference, by worker, each with the entry of its coming back, if it did."""
    rows = Entry.objects.select_related("worker__account", "bounce")
    return rows.filter(kind=Entry.Kind.PAYOUT, note=reference).order_by("worker")


def payout_by_pk(payout_pk: int) -> Entry:
    """One payout. Raises DoesNotExist."""
    rows = Entry.objects.select_related("worker__account", "bounce")
    found = rows.filter(kind=Entry.Kind.PAYOUT, pk=payout_pk).first()
    if found is None:
        raise DoesNotExist("Payout", str(payout_pk))
    return found


def work_undecided(requester: Requester) -> QuerySet[Assignment]:
    """What was submitted to a requester and not decided on, the oldest first."""
    rows = Assignment.objects.select_related("worker", "hit__hit_type")
    return rows.filter(hit__requester=requester, state=Assignment.State.SUBMITTED).order_by("submitted_at", "pk")


class AuditRow(NamedTuple):
    """An event of the audit, and who did it: the account's address as it is today, or the command's name."""

    event: AuditEvent
    who: str


def audit_all(words: str = "") -> QuerySet[AuditEvent]:
    """What operators did, newest first; with `words`, what has them in its actor, action or subject."""
    rows = AuditEvent.objects.order_by("-at", "-pk")
    for word in words.split()[:10]:
        named = Account.objects.filter(email__icontains=word).values_list("pk", flat=True)[:100]
        people = [f"{ACCOUNT} {pk}" for pk in named]
        rows = rows.filter(
            Q(actor__icontains=word)
            | Q(action__icontains=word)
            | Q(subject__icontains=word)
            | Q(actor__in=people)
            | Q(subject__in=people)
        )
    return rows


def audit_rows(events: Iterable[AuditEvent]) -> list[AuditRow]:
    """Events with the names of those who did them."""
    events = list(events)
    pks = {event.actor.removeprefix(f"{ACCOUNT} ") for event in events if event.actor.startswith(f"{ACCOUNT} ")}
    accounts = {f"{ACCOUNT} {account.pk}": account.email for account in Account.objects.filter(pk__in=pks)}
    return [AuditRow(event, accounts.get(event.actor, event.actor)) for event in events]
