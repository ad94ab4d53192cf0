"""What reviewing asks of a platform: submitted work, and how people are paid or turned away."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from platforms.calls import Answer
from platforms.models import Publication
from tasks.outside_panels import Exit


class Ending(StrEnum):
    """How a worker's visit ended, where the platform is told by a code."""

    FINISHED = "finished"
    FAILED = "failed"  # the test pairs
    LEFT = "left"  # early: to be returned, and what was done is paid apart
    UNANSWERED = "unanswered"  # early, before any answer: to be returned, and nothing is owed
    DECLINED = "declined"  # the consent
    NOTHING = "nothing"  # there was no task for them


class Work(NamedTuple):
    """Work that was submitted, as a platform says it. `status` is one of Submission.Status."""

    assignment_id: str
    worker_id: str
    status: str
    submitted_at: datetime | None
    auto_approval_at: datetime | None
    approval: str
    receipt: str
    seconds: float | None = None  # from accepting to submitting, by the platform's clock


class Reviewing(ABC):
    """Submitted work there. `rejection_categories`: one of these goes with each rejection, if there are any, and
    `least_rejection` is how many characters its reason has at least. `return_reasons` are the platform's own for asking
    workers to return what they submitted, beside free words.
    """

    rejection_categories: ClassVar[tuple[str, ...]] = ()
    least_rejection: ClassVar[int] = 1
    return_reasons: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def submitted(self, client: Any, platform_hit_id: str) -> Iterator[Answer]:
        """What was submitted on a HIT, in the platform's words, each to be read with `work_of`."""

    @abstractmethod
    def work_of(self, answer: Answer) -> Work:
        """One submitted assignment. Raises KeyError where the platform leaves out what it always says."""

    @abstractmethod
    def about_rejecting(self, publication: Publication) -> str:
        """What rejecting work does to its worker, and within what limits, for whoever is about to."""

    @abstractmethod
    def about_reversing(self) -> str:
        """How work that was rejected is paid after all, for whoever is about to use its data."""

    def may_extend(self, max_assignments: int, target: int) -> bool:
        """Whether a HIT of so many assignments may have as many as are wanted."""
        return True

    def approved_within(self, publication: Publication) -> timedelta:
        """How long after it was submitted work is approved there, whatever anybody does."""
        return publication.auto_approval

    def pays_leavers(self, publication: Publication) -> bool:
        """Whether whoever leaves early is paid a part of the reward, and so does not return the task there."""
        return False

    def pay_for_leaving(self, publication: Publication, earned: Decimal) -> Decimal:
        """What somebody is paid apart who leaves early and has earned so much: no less."""
        return earned

    def exit_of(self, publication: Publication, ending: Ending) -> Exit | None:
        """Where a worker goes back to, by how the visit ended; None where the page is in the platform's frame."""
        return None
