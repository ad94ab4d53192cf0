"""Practice: how a worker's goes at a campaign's practice pairs follow each other, and what is known of them.

The rules are the same for a worker, whose goes are rows, and for a trial, which remembers them for a while.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from random import Random
from statistics import median
from typing import NamedTuple

from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from core.errors import NotNow
from evaluation.judging.reading import least_minutes, reading_minutes
from pools.models import Campaign
from pools.practice import PracticePair, practice_pairs_of, right_needed
from tasks.models import Assignment, Practice, Worker

State = Practice.State
TRIES = 2  # at a comprehension check
OPEN = (State.DONE, State.SKIPPED, State.PASSED)  # what lets a worker judge
LEFT, RIGHT = "left", "right"
MEASURED_FROM = 200
MEASURED_ENOUGH = 10


@dataclass(frozen=True)
class Go:
    """One go: sides by position, from 1. `state` is `active` until every pair is answered, or it is skipped."""

    number: int
    answers: Mapping[int, str] = field(default_factory=dict)
    state: str = State.ACTIVE
    right: int = 0


class ShownPractice(NamedTuple):
    """One practice pair as it is shown; `preferred` is empty before it is answered."""

    position: int
    total: int
    question: str
    left: str
    right: str
    better: str
    why: str
    preferred: str

    @property
    def is_right(self) -> bool:
        """Whether the better passage was chosen."""
        return self.preferred == self.better


@dataclass(frozen=True)
class Standing:
    """Where somebody is in a campaign's practice: their goes, oldest first, and the pairs."""

    campaign: Campaign
    pairs: Sequence[PracticePair]
    goes: Sequence[Go]

    @property
    def needed(self) -> int:
        """How many answers must be right."""
        return right_needed(self.campaign)

    @property
    def is_open(self) -> bool:
        """Whether they may judge."""
        return not self.pairs or any(go.state in OPEN for go in self.goes)

    @property
    def tries_left(self) -> int:
        """Goes at a check that are left, this one included."""
        return TRIES - sum(go.state == State.FAILED for go in self.goes)

    @property
    def is_refused(self) -> bool:
        """Whether they failed the check for good."""
        return not self.is_open and self.tries_left <= 0

    @property
    def may_skip(self) -> bool:
        """Whether the campaign lets them go on without."""
        return self.campaign.practice == Campaign.Practice.OPTIONAL and not self.is_open

    @property
    def last(self) -> Go | None:
        return self.goes[-1] if self.goes else None

    @property
    def go(self) -> Go:
        """The go that is under way, or the one that would begin now; the newest where none may begin by itself."""
        last = self.last
        if last is None:
            return Go(1)
        if last.state == State.FAILED and not self.is_open and not self.is_refused:
            return Go(last.number + 1)
        return last

    @property
    def waiting(self) -> list[int]:
        """Positions that the go has no answer to."""
        if self.go.state != State.ACTIVE:
            return []
        return [position for position in range(1, len(self.pairs) + 1) if position not in self.go.answers]

    def better_side(self, position: int, number: int) -> str:
        """Where a go shows the better passage: drawn from the seed, and on the other side in the next go."""
        is_left = Random(f"practice {self.campaign.seed} {position}").random() < 0.5
        return LEFT if is_left == bool(number % 2) else RIGHT

    def shown(self, position: int, number: int | None = None) -> ShownPractice | None:
        """One pair as the go shows it, or an earlier one by its number; None if there is none at this position."""
        if not 1 <= position <= len(self.pairs):
            return None
        pair, go = self.pairs[position - 1], self.go
        for earlier in self.goes:
            go = earlier if earlier.number == number else go
        better = self.better_side(position, go.number)
        left, right = (pair.better, pair.worse) if better == LEFT else (pair.worse, pair.better)
        total, preferred = len(self.pairs), go.answers.get(position, "")
        return ShownPractice(position, total, pair.question, left, right, better, pair.why, preferred)

    def answered(self, position: int, preferred: str) -> Go:
        """The go after an answer. The first answer to a pair stands, and an ended go stays as it is."""
        go = self.go
        if go.state != State.ACTIVE or position in go.answers or not 1 <= position <= len(self.pairs):
            return go
        answers = {**go.answers, position: preferred}
        right = sum(side == self.better_side(at, go.number) for at, side in answers.items())
        state = self._end(right) if len(answers) == len(self.pairs) else State.ACTIVE
        return replace(go, answers=answers, right=right, state=state)

    def _end(self, right: int) -> str:
        if self.campaign.practice != Campaign.Practice.CHECK or self.is_open:
            return State.DONE
        return State.PASSED if right >= self.needed else State.FAILED

    def skipped(self) -> Go:
        return replace(self.go, state=State.SKIPPED)

    def again(self) -> Go:
        """A further go, for somebody who may judge already."""
        return self.go if self.go.state == State.ACTIVE else Go(self.go.number + 1)


def rows_of(worker: Worker, campaign: Campaign, came_from: str) -> QuerySet[Practice]:
    """A worker's goes in a campaign, oldest first, as far as they are known to be theirs.

    Anyone can type ids into a frame's address, so a go at a platform counts only for who comes from the same address,
    or once the platform has confirmed the work.
    """
    theirs = (
        Q(assignment__platform_assignment_id="")
        | Q(assignment__submission__isnull=False)
        | Q(assignment__came_from=came_from)
    )
    return Practice.objects.filter(theirs, worker=worker, campaign=campaign).order_by("id")


def go_of(row: Practice) -> Go:
    return Go(row.number, {int(key): side for key, side in row.answers.items()}, row.state, row.right)


def standing_of(worker: Worker, campaign: Campaign, came_from: str = "") -> Standing:
    """Where a worker is in a campaign's practice."""
    pairs = practice_pairs_of(campaign)
    goes = [go_of(row) for row in rows_of(worker, campaign, came_from)] if pairs else []
    return Standing(campaign, pairs, goes)


def must_have_practised(assignment: Assignment) -> None:
    """Raise NotNow while practice waits for the worker of an assignment."""
    if assignment.campaign.practice == Campaign.Practice.NOTHING:
        return
    if not standing_of(assignment.worker, assignment.campaign, assignment.came_from).is_open:
        raise NotNow(_("Practice comes first: open the task again to go on with it."))


def without_failed(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Those that were not left because a check was failed: that is never held against a worker."""
    return assignments.exclude(practices__state=State.FAILED, judged=0)


class Counts(NamedTuple):
    """How many workers are at which point of a campaign's practice, by the best that they reached."""

    active: int
    done: int
    skipped: int
    passed: int
    failed_once: int
    refused: int


def practice_counts(campaign: Campaign) -> Counts:
    """Count the workers in a campaign's practice."""
    by_worker = campaign.practices.order_by().values("worker")
    reached = by_worker.annotate(
        opened=Count("id", filter=Q(state__in=OPEN)),
        passes=Count("id", filter=Q(state=State.PASSED)),
        finished=Count("id", filter=Q(state=State.DONE)),
        failures=Count("id", filter=Q(state=State.FAILED)),
    )
    failed = Q(opened=0, failures__gt=0)
    return Counts(
        **reached.aggregate(
            active=Count("worker", filter=Q(opened=0, failures=0)),
            passed=Count("worker", filter=Q(passes__gt=0)),
            done=Count("worker", filter=Q(passes=0, finished__gt=0)),
            skipped=Count("worker", filter=Q(passes=0, finished=0, opened__gt=0)),
            failed_once=Count("worker", filter=failed & Q(failures__lt=TRIES)),
            refused=Count("worker", filter=failed & Q(failures__gte=TRIES)),
        )
    )


# --- how long it takes


def practice_minutes(campaign: Campaign) -> int:
    """Minutes that practice takes, rounded up: the median of what workers took, if enough did it and people can read it
    in that time; else the time for reading it. 0 without practice.
    """
    pairs = practice_pairs_of(campaign)
    if not pairs:
        return 0
    seconds = _seconds_taken(campaign) if campaign.pk else []
    texts = [text for pair in pairs for text in pair]
    if len(seconds) >= MEASURED_ENOUGH and median(seconds) / 60 >= least_minutes(texts):
        return max(1, ceil(median(seconds) / 60))
    return max(1, ceil(reading_minutes(texts, choices=len(pairs))))


def _seconds_taken(campaign: Campaign) -> list[float]:
    first = campaign.practices.filter(number=1, state__in=(State.DONE, State.PASSED, State.FAILED)).order_by("-id")
    times = first.values_list("began_at", "ended_at")[:MEASURED_FROM]
    return [(ended - began).total_seconds() for began, ended in times if ended is not None]


def seconds_in(assignments: Sequence[int]) -> dict[int, float]:
    """How long practice took in each assignment that had any, by the assignment's key."""
    rows = Practice.objects.filter(assignment__in=assignments, ended_at__isnull=False).order_by()
    spent = (
        rows.values("assignment").annotate(spent=Sum(F("ended_at") - F("began_at"))).values_list("assignment", "spent")
    )
    return {key: length.total_seconds() for key, length in spent}
