"""What a HIT holds of its requester's money, and its counts and status, which follow from its assignments."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import Count, F, Manager

from marketplace.models import Assignment, Entry, EventKind, Hit, HitType
from marketplace.money import LARGEST, ZERO, reward_fee
from marketplace.selectors.ledger import balance
from marketplace.services.events import Event, events_note
from marketplace.services.ledger import entries_write, shortage, spendable_lock

State = Assignment.State
Status = Hit.Status
Row = TypeVar("Row", Hit, Assignment)
_COUNTED = (State.ACCEPTED, State.SUBMITTED, State.APPROVED, State.REJECTED)


def hits_settle(
    hits: Sequence[Hit],
    *,
    at: datetime,
    payments: Mapping[int, Sequence[Entry]] | None = None,
    may_refuse: bool = False,
) -> None:
    """Bring locked HITs in line with their assignments and the time: counts, status, money held, events.

    `payments` are further entries to write, by the requester's primary key: all of a requester's are written together,
    and last, because that locks the requester until the transaction ends.

    The status follows from what is left to do. Assignable: a slot is free, and time is left. Unassignable: none is,
    but an assignment is in progress. Reviewable: none is, and nobody can begin. Reviewing is Reviewable with a mark.

    Held is what may still have to be paid: what was promised for work that is submitted; while time is left, today's
    price for each free slot, and for work in progress what was promised or today's price, whichever is more, because
    its slot may become free again; afterwards what was promised. So whatever workers and the clock do, a HIT needs no
    new money. What its requester asks for may need some: with `may_refuse`, InsufficientFunds is raised if it is not
    there. Without, a HIT that needs money which its requester does not have (its price was raised before the rule
    above was kept) ends now, which never needs any.
    """
    counts = _counts(hits)
    events: list[Event] = []
    required = {hit.pk: _bring_in_line(hit, counts.get(hit.pk, {}), events, at=at) for hit in hits}
    growing = [hit for hit in hits if required[hit.pk] > hit.held]
    if growing and not may_refuse:
        for hit in _beyond_means(growing, required):
            hit.expires_at = at
            required[hit.pk] = _bring_in_line(hit, counts.get(hit.pk, {}), events, at=at)
            hit.save(update_fields=["expires_at"])
    entries = {requester_pk: list(paid) for requester_pk, paid in (payments or {}).items()}
    for hit in hits:
        if more := required[hit.pk] - hit.held:
            if required[hit.pk] > LARGEST:
                raise shortage(more, balance(hit.requester_id).available)
            kind = Entry.Kind.HOLD if more > 0 else Entry.Kind.RELEASE
            entries.setdefault(hit.requester_id, []).append(Entry(kind=kind, available=-more, on_hold=more, hit=hit))
            hit.held = required[hit.pk]
    rows_save(hits, ["expired", "status", "reviewable_at", "held", *(f"n_{state.lower()}" for state in _COUNTED)])
    events_note(events, at=at)
    for requester_pk in sorted(entries):
        entries_write(requester_pk=requester_pk, entries=entries[requester_pk], at=at)


# How many live assignments a HIT has, by their state and what they cost.
_Counts = Mapping[tuple[str, Decimal], int]


def _counts(hits: Sequence[Hit]) -> dict[int, dict[tuple[str, Decimal], int]]:
    rows = Assignment.objects.filter(hit__in=[hit.pk for hit in hits], state__in=_COUNTED).order_by()
    counts: dict[int, dict[tuple[str, Decimal], int]] = {}
    for hit_pk, state, cost, number in rows.values_list("hit_id", "state", F("reward") + F("fee")).annotate(
        number=Count("pk")
    ):
        counts.setdefault(hit_pk, {})[state, cost] = number
    return counts


def _bring_in_line(hit: Hit, counts: _Counts, events: list[Event], *, at: datetime) -> Decimal:
    """A HIT's counts and status, and what happens to it. Returns what it has to hold."""
    for state in _COUNTED:
        setattr(hit, f"n_{state.lower()}", sum(number for (is_in, _), number in counts.items() if is_in == state))
    open_ = False
    free = 0
    if hit.status != Status.DISPOSED:
        open_ = hit.expires_at > at
        if not open_ and not hit.expired:
            events.append(Event(EventKind.HIT_EXPIRED, hit))
        hit.expired = not open_
        free = hit.n_available if open_ else 0
        before, hit.status = hit.status, _status(hit, free)
        if hit.status == Status.REVIEWABLE and before not in (Status.REVIEWABLE, Status.REVIEWING):
            hit.reviewable_at = at
            events.append(Event(EventKind.HIT_REVIEWABLE, hit))
        elif hit.status in (Status.ASSIGNABLE, Status.UNASSIGNABLE):
            hit.reviewable_at = None
    unit = unit_cost(hit.hit_type, hit.max_assignments)
    least: dict[str, Decimal] = {State.SUBMITTED: ZERO, State.ACCEPTED: unit if open_ else ZERO}
    in_use = [max(cost, least[state]) * number for (state, cost), number in counts.items() if state in least]
    return sum(in_use, ZERO) + unit * free


def _beyond_means(growing: Sequence[Hit], required: Mapping[int, Decimal]) -> list[Hit]:
    """Those of the HITs whose requesters cannot pay for what they have to hold in addition."""
    beyond = []
    for requester_pk in sorted({hit.requester_id for hit in growing}):
        spendable = spendable_lock(requester_pk)
        for hit in growing:
            if hit.requester_id == requester_pk:
                if (more := required[hit.pk] - hit.held) > spendable:
                    beyond.append(hit)
                else:
                    spendable -= more
    return beyond


def rows_save(rows: Sequence[Row], fields: Sequence[str]) -> None:
    """Write these fields of locked rows: one statement for all rows that get the same values, as most of many do."""
    alike: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        alike.setdefault(tuple(getattr(row, name) for name in fields), []).append(row.pk)
    for values, pks in alike.items():
        manager: Manager[Row] = type(rows[0])._default_manager
        manager.filter(pk__in=pks).update(**dict(zip(fields, values, strict=True)))


def _status(hit: Hit, free: int) -> Status:
    if free:
        return Status.ASSIGNABLE
    if hit.n_accepted:
        return Status.UNASSIGNABLE
    return Status.REVIEWING if hit.status == Status.REVIEWING else Status.REVIEWABLE


def unit_cost(hit_type: HitType, max_assignments: int) -> Decimal:
    """What one assignment of a HIT costs in dollars: its reward and the fee."""
    return hit_type.reward + reward_fee(hit_type.reward, max_assignments)
