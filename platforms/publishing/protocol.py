"""What publishing asks of a platform: its terms, and what only some platforms have."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from platforms.calls import Answer
from platforms.demands import Demands, FilterKind
from platforms.models import Publication
from platforms.reviewing.protocol import Work
from tasks.models import Hit


class Publishing(ABC):
    """The terms of a publication there. `unused_terms` mean nothing there, such as a lifetime where HITs do not end by
    themselves. `least_told` is the smallest number but 0 that `count_workers` says.
    """

    unused_terms: ClassVar[frozenset[str]] = frozenset()
    least_told: ClassVar[int] = 1

    @abstractmethod
    def pay_at_first(self) -> str:
        """How work is paid unless somebody chooses."""

    def requirements_at_first(self) -> list[dict[str, Any]]:
        """The requirements on workers that terms start from."""
        return []

    @abstractmethod
    def requirements_of(self, demands: Demands) -> list[dict[str, Any]]:
        """Demands in the platform's own words, as a publication keeps them. Raises Refused where it has none."""

    @abstractmethod
    def demands_of(self, requirements: list[dict[str, Any]]) -> Demands:
        """The demands behind requirements; what is not exactly of a known kind is among `others`."""

    def countries_of(self, requirements: Iterable[dict[str, Any]]) -> Iterator[str]:
        """The countries that requirements of whatever kind name, where these are to be checked."""
        return iter(())

    def terms_troubles(self, publication: Publication) -> list[str]:
        """Why terms cannot be as they are at this platform, in sentences, beside what holds at all of them."""
        return []

    @abstractmethod
    def is_told_the_same(self, before: Publication, after: Publication) -> bool:
        """Whether workers at the platform see no difference between these terms."""

    @abstractmethod
    def dry_run(self, publication: Publication, hits: Iterable[Hit]) -> Iterator[tuple[str, Answer]]:
        """The exact requests that publishing these HITs will make, as `(operation, parameters)`. Ids and tokens that
        are not known before are words in pointed brackets.
        """

    @abstractmethod
    def count_workers(self, publication: Publication, *, seconds: int) -> tuple[int, int]:
        """Active workers who meet the publication's requirements, and all active ones. Raises NotTold."""


class Filters(ABC):
    """A platform where researchers can choose filters by its own names, beside those that every platform has."""

    @abstractmethod
    def filters_offered(self) -> list[FilterKind]:
        """The filters by title. Raises Refused where the platform does not say."""


class TestStudy(NamedTuple):
    """A study for test participants, and where it is at the platform."""

    study_id: str
    address: str


class TestRuns(ABC):
    """A platform where some accounts can try a study with test participants."""

    @abstractmethod
    def test_study_make(self, client: Any, publication: Publication, *, email: str) -> TestStudy:
        """Make a study that only test participants see, and that pays nobody; first, a test participant of this
        address, if one is given.
        """

    @abstractmethod
    def test_study_end(self, client: Any, publication: Publication) -> None:
        """End the study of a test run. One that is over stays so."""


class Visit(NamedTuple):
    """What the address that somebody comes by says of them, in the platform's ids."""

    study: str
    worker_id: str
    assignment_id: str


class Seen(NamedTuple):
    """One assignment as the platform has it now: whether it ended there without work, or what was submitted."""

    is_over: bool
    work: Work | None


class Changes(NamedTuple):
    """What may be new of a study: submitted work; ids of assignments that ended there without (`gone`), so that their
    places are free; and ids of those who `left` early here, came back there, and are paid a part of the reward.
    `counts` are the study's submissions by state, before anything was read; empty where they are not to be relied on.
    The study `is_quiet` while nobody is at work there and nothing waits for a decision. `unreturned` work holds places,
    though its people came back without answers long enough ago to have returned it; None where not everything was read.
    """

    works: list[Work]
    gone: list[str]
    left: list[str]
    counts: dict[str, int]
    is_quiet: bool
    unreturned: list[Work] | None = None


class Studies(ABC):
    """A platform where a campaign's HITs are one thing, a study, opened and ended as a whole; which of them a worker
    gets is decided here when they arrive.
    """

    @abstractmethod
    def changes(
        self, client: Any, publication: Publication, before: dict[str, int], *, at: datetime, everything: bool
    ) -> Changes:
        """What may have changed of a study since its submissions were counted, or `everything` there is."""

    @abstractmethod
    def places_taken(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """Of a study whose submissions were counted by state: how many places are taken, and how many of these by
        people at work.
        """

    @abstractmethod
    def look(self, client: Any, publication: Publication, assignment_id: str) -> Seen:
        """One assignment as the platform has it now."""

    @abstractmethod
    def visit_of(self, parameters: Mapping[str, str]) -> Visit:
        """What the parameters of an address say; nothing is proved by that."""

    @abstractmethod
    def check_visit(self, publication: Publication, parameters: Mapping[str, str], *, goes_on: bool) -> None:
        """Check what the address of a visit proves by itself, where the platform signs it. `goes_on`: the visit began
        before, and nothing begins now. Raises Refused where it proves something else, or nothing though it should.
        """

    @abstractmethod
    def confirm_arrival(self, publication: Publication, *, study: str, worker_id: str, assignment_id: str) -> None:
        """Ask whether this worker is at work on this assignment there now. Raises Refused if not."""


class HitLists(ABC):
    """A platform that lists assignments by their HIT only, and the HITs that are ready for review."""

    @abstractmethod
    def reviewable_hits(self, client: Any, hit_type_id: str) -> Iterator[str]:
        """The platform's ids of HITs that it calls ready for review."""

    @abstractmethod
    def take_off_list(self, client: Any, platform_hit_id: str) -> None:
        """Have the platform call a HIT ready for review no more."""


class HitNotifications(ABC):
    """A platform that tells an address of what was submitted on a HIT."""

    @abstractmethod
    def ask_for_notifications(self, publication: Publication, address: str) -> None:
        """Have the platform tell this address of submitted work. Asking again changes nothing."""

    @abstractmethod
    def is_notification_signed(self, *, secret: str, header: str, body: bytes, at: datetime) -> bool:
        """Whether a notification's header proves that its body was just sent by who has the secret."""

    @abstractmethod
    def hits_notified_of(self, body: bytes) -> list[str]:
        """The platform's ids of the HITs that a notification is about. Raises BadRequest for what is none."""
