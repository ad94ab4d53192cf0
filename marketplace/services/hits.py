"""HITs: made, extended, expired and deleted."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction

from marketplace import clock, ids
from marketplace.errors import InvalidIncrease, InvalidValue, WrongState
from marketplace.models import Assignment, Entry, EventKind, Hit, HitType, Requester
from marketplace.money import LARGE_HIT, LARGEST, bonus_read
from marketplace.questions import question_check, question_read
from marketplace.requirements import MOST_REQUIREMENTS, SYSTEM, requirement_read
from marketplace.selectors.ledger import balance
from marketplace.selectors.lookups import get_or_refuse, hit_type_of, qualification_type_known
from marketplace.services.events import Event, events_note
from marketplace.services.holds import hits_settle, unit_cost
from marketplace.services.ledger import entries_write, shortage

YEAR = 31_536_000
MONTH = 2_592_000
MOST_ASSIGNMENTS = 1_000_000_000
State = Assignment.State
Status = Hit.Status


@dataclass(frozen=True)
class HitTypeFacts:
    """All that makes a HIT type: two with equal facts are one."""

    title: str
    description: str
    reward: Decimal
    assignment_seconds: int
    auto_approval_seconds: int = MONTH
    keywords: str = ""
    requirements: Sequence[dict[str, Any]] = field(default=())

    def checked(self) -> "HitTypeFacts":
        """Itself, with its requirements written in one way, if the documented limits hold. Raises InvalidValue."""
        _between("AssignmentDurationInSeconds", self.assignment_seconds, 30, YEAR)
        _between("AutoApprovalDelayInSeconds", self.auto_approval_seconds, 0, MONTH)
        _not_longer("Title", self.title, 128)
        _not_longer("Description", self.description, 2000)
        _not_longer("Keywords", self.keywords, 1000)
        if not self.title.strip() or not self.description.strip():
            raise InvalidValue("Title and Description must not be empty.")
        if len(self.requirements) > MOST_REQUIREMENTS:
            raise InvalidValue(f"At most {MOST_REQUIREMENTS} QualificationRequirements, not {len(self.requirements)}.")
        read = [requirement_read(requirement) for requirement in self.requirements]
        return HitTypeFacts(**{**self.__dict__, "requirements": read})

    def fingerprint(self) -> str:
        """SHA-256 over all facts."""
        return hashlib.sha256(json.dumps(self.__dict__, default=str, sort_keys=True).encode()).hexdigest()


@transaction.atomic
def hit_type_register(*, requester: Requester, facts: HitTypeFacts) -> HitType:
    """The requester's HIT type of these facts: the one there is, or a new one. Raises InvalidValue, DoesNotExist."""
    facts = facts.checked()
    for requirement in facts.requirements:
        type_id = requirement["QualificationTypeId"]
        if type_id not in SYSTEM:
            qualification_type_known(type_id)
    same = HitType.objects.filter(requester=requester, fingerprint=facts.fingerprint(), retired_at=None)
    if (hit_type := same.first()) is not None:
        return hit_type
    new = HitType(
        type_id=ids.entity_id(),
        group_id=ids.entity_id(),
        requester=requester,
        fingerprint=facts.fingerprint(),
        bonus_up_to=bonus_read(facts.keywords),
        created_at=clock.now(),
        **facts.__dict__,
    )
    HitType.objects.bulk_create([new], ignore_conflicts=True)  # of two at once, one is first
    return same.get()


@transaction.atomic(savepoint=False)
def hit_create(
    *,
    hit_id: str,
    requester: Requester,
    hit_type: HitType,
    question: str,
    lifetime_seconds: int,
    max_assignments: int = 1,
    annotation: str = "",
) -> Hit:
    """Offer a HIT. What it can cost is held. Raises InvalidValue, InvalidQuestion, Unsupported, InsufficientFunds."""
    _between("LifetimeInSeconds", lifetime_seconds, 30, YEAR)
    _between("MaxAssignments", max_assignments, 1, MOST_ASSIGNMENTS)
    _not_longer("RequesterAnnotation", annotation, 255)
    question_check(question_read(question, insecure_urls=settings.DEVELOPMENT))
    at = clock.now()
    cost = unit_cost(hit_type, max_assignments) * max_assignments
    if cost > LARGEST:  # no account holds that much, and no row takes it
        raise shortage(cost, balance(requester.pk).available)
    hit = Hit(
        hit_id=hit_id,
        requester=requester,
        hit_type=hit_type,
        question=question,
        annotation=annotation,
        max_assignments=max_assignments,
        created_at=at,
        expires_at=at + timedelta(seconds=lifetime_seconds),
        held=cost,
    )
    hit.save(force_insert=True)
    events_note([Event(EventKind.HIT_CREATED, hit)], at=at)
    # Money last: it locks the requester, and others who publish for it wait until this transaction ends.
    hold = Entry(kind=Entry.Kind.HOLD, available=-hit.held, on_hold=hit.held, hit=hit)
    entries_write(requester_pk=requester.pk, entries=[hold] if hit.held else [], at=at)
    return hit


def hit_lock(requester: Requester, hit_id: str) -> Hit:
    """The requester's HIT, locked until the transaction ends. Raises DoesNotExist."""
    hits = Hit.objects.select_for_update(of=("self",), no_key=True).select_related("hit_type")
    return get_or_refuse(hits.filter(requester=requester, hit_id=hit_id), "HIT", hit_id)


@transaction.atomic
def hit_extend(*, requester: Requester, hit_id: str, more: int) -> Hit:
    """Ask for more assignments. Raises InsufficientFunds, and InvalidIncrease across the line of 10."""
    hit = hit_lock(requester, hit_id)
    _open(hit)
    if more < 1 or hit.max_assignments + more > MOST_ASSIGNMENTS:
        raise InvalidValue(f"NumberOfAdditionalAssignments is {more}, which is not from 1 to {MOST_ASSIGNMENTS:,}.")
    if hit.max_assignments < LARGE_HIT <= hit.max_assignments + more:
        raise InvalidIncrease(
            f"HIT {hit_id} was created with fewer than {LARGE_HIT} assignments and cannot be extended to "
            f"{hit.max_assignments + more}."
        )
    hit.max_assignments += more
    hit.save(update_fields=["max_assignments"])
    at = clock.now()
    _settle(hit, at=at)
    events_note([Event(EventKind.HIT_EXTENDED, hit)], at=at)
    return hit


@transaction.atomic
def hit_expire_at(*, requester: Requester, hit_id: str, expires_at: datetime) -> Hit:
    """Move the end of a HIT. A time in the past ends it now; a later one opens it again, and holds the money again.

    Raises InsufficientFunds if there is too little to open it again.
    """
    hit = hit_lock(requester, hit_id)
    _open(hit)
    at = clock.now()
    if expires_at > at + timedelta(seconds=YEAR):
        raise InvalidValue(f"ExpireAt is {expires_at:%Y-%m-%d %H:%M:%S} UTC, more than 365 days from now.")
    extended = expires_at > max(at, hit.expires_at)
    hit.expires_at = max(expires_at, hit.created_at) if expires_at > at else min(at, hit.expires_at)
    hit.save(update_fields=["expires_at"])
    _settle(hit, at=at)
    if extended:
        events_note([Event(EventKind.HIT_EXTENDED, hit)], at=at)
    return hit


@transaction.atomic
def hit_change_type(*, requester: Requester, hit_id: str, type_id: str) -> Hit:
    """Give a HIT another type's title, reward and so on. Assignments keep the reward that they were accepted for.

    A higher price is held for each slot that is or may become free. Raises InsufficientFunds if that is too much.
    """
    hit = hit_lock(requester, hit_id)
    _open(hit)
    hit.hit_type = hit_type_of(requester, type_id)
    hit.save(update_fields=["hit_type"])
    _settle(hit, at=clock.now())
    return hit


@transaction.atomic
def hit_mark_reviewing(*, requester: Requester, hit_id: str, revert: bool = False) -> Hit:
    """Reviewable to Reviewing, or back. Raises WrongState from any other status; done already is no error."""
    hit = hit_lock(requester, hit_id)
    allowed, after = (Status.REVIEWING, Status.REVIEWABLE) if revert else (Status.REVIEWABLE, Status.REVIEWING)
    if hit.status not in (allowed, after):
        raise WrongState("HIT", allowed)
    hit.status = after
    hit.save(update_fields=["status"])
    return hit


@transaction.atomic
def hit_delete(*, requester: Requester, hit_id: str) -> Hit:
    """Dispose of a HIT that is Reviewable and all of whose work is approved or rejected. Raises WrongState."""
    hit = hit_lock(requester, hit_id)
    if hit.status != Status.REVIEWABLE:
        raise WrongState("HIT", Status.REVIEWABLE)
    if hit.n_submitted:
        raise WrongState("HIT", Status.REVIEWABLE, because=f"Assignments without a decision: {hit.n_submitted}.")
    hits_dispose([hit], at=clock.now())
    return hit


@transaction.atomic
def hits_end(*, requester_pk: int) -> int:
    """End all HITs of a requester now. How many had time left. The clock acts on them: see services.due."""
    at = clock.now()
    rows = Hit.objects.filter(requester=requester_pk, expired=False, expires_at__gt=at)
    rows = rows.exclude(status=Status.DISPOSED)
    # Locked in the order that everybody locks them in
    ended = list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    return Hit.objects.filter(pk__in=ended).update(expires_at=at)


def hits_dispose(hits: Sequence[Hit], *, at: datetime) -> None:
    """Dispose of locked HITs on which nothing is left to decide."""
    for hit in hits:
        hit.status = Status.DISPOSED
    hits_settle(hits, at=at)
    events_note([Event(EventKind.HIT_DISPOSED, hit) for hit in hits], at=at)


def _settle(hit: Hit, *, at: datetime) -> None:
    """As hits_settle, for one HIT whose requester asked for something. Raises InsufficientFunds."""
    hits_settle([hit], at=at, may_refuse=True)


def _open(hit: Hit) -> None:
    if hit.status == Status.DISPOSED:
        raise WrongState("HIT", *(status for status in Status if status != Status.DISPOSED))


def _between(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidValue(f"{name} is {value}, which is not from {least:,} to {most:,}.")


def _not_longer(name: str, value: str, most: int) -> None:
    if len(value) > most:
        raise InvalidValue(f"{name} has {len(value):,} characters, more than {most:,}.")
