"""What a platform must offer, and nothing of how any of them does it.

An `Adapter` is one platform, and `platforms.registry` knows all of them. What a call is made through (`client`) is the
adapter's own business: the rest of the package hands it on.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from django.utils.translation import gettext as _

from core.errors import Refused
from core.money import DOLLARS
from platforms.calls import Answer, Handler
from platforms.demands import Demands, FilterKind
from platforms.models import Operation, Payment, Publication
from platforms.vocabulary import Vocabulary
from tasks.models import Hit
from tasks.outside_panels import Exit


class Trouble(StrEnum):
    """What a failed call leaves to be done."""

    UNKNOWN = "unknown"  # it may have been done: ask again with the same token, or look
    THROTTLED = "throttled"  # not done: slow down
    FUNDS = "funds"  # not done: the account is empty
    ACCOUNT = "account"  # not done: keys are absent, wrong or not allowed
    REPEATED = "repeated"  # done before, with this token
    STATE = "state"  # the thing is in another state: read it again
    REFUSED = "refused"  # not done, and never will be as it is


class NotTold(Refused):
    """The platform does not tell what was asked for."""


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


class Heard(NamedTuple):
    """A message that a worker wrote, as the platform says it. `hit_id` is the HIT, or `study` the study, that it is
    about; empty where it is about none. `cursor` is what to ask for later ones by.
    """

    message_id: str
    worker_id: str
    hit_id: str
    subject: str
    text: str
    sent_at: datetime
    cursor: str
    study: str = ""


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


class Notice(NamedTuple):
    """What a platform's notification is about: an assignment, a study, or (both empty) nothing that matters here."""

    event_id: str
    assignment_id: str
    study: str


class MarkedHit(NamedTuple):
    """A HIT at the platform that bears a publication's mark, and its reward."""

    mark: str
    reward: Decimal


class TestStudy(NamedTuple):
    """A study for test participants, and where it is at the platform."""

    study_id: str
    address: str


class AccountFacts(NamedTuple):
    """What a platform says of a lab's account: its workspace and project; its currency, and what it can
    spend; the fee on a payment as a share of it, taxes included; and what only some accounts have, and this one has.
    """

    workspace_id: str
    workspace: str
    project_id: str
    currency: str
    balance: Decimal
    fee_share: Decimal
    offers: list[str]


class Ending(StrEnum):
    """How a worker's visit ended, where the platform is told by a code."""

    FINISHED = "finished"
    FAILED = "failed"  # the test pairs
    LEFT = "left"  # early: to be returned, and what was done is paid apart
    UNANSWERED = "unanswered"  # early, before any answer: to be returned, and nothing is owed
    DECLINED = "declined"  # the consent
    NOTHING = "nothing"  # there was no task for them


class Adapter(ABC):
    """One platform: its operations, its errors, its money, and what it tells.

    `operations` has a handler for each kind of operation that the platform has.
    `errors` are what a failed call raises; `token_life` is how long the platform surely knows a token;
    `spends_real_money` says whether people are paid real money there. `has_lab_accounts`: whether each lab has an
    account of its own there, whose token is stored here; if not, the keys are this site's. `opens_together`: whether
    a campaign's HITs are one thing there, opened and ended as a whole, and which of them a worker gets is decided here
    when they arrive. `bonus_purposes`: what it pays as bonuses. `rejection_categories`: one of these goes with each
    rejection, if there are any, and `least_rejection` is how many characters its reason has at least.
    `asks_for_returns`: whether workers can be asked to return what they submitted, and `return_reasons` are the
    platform's own reasons for it, beside free words.
    `notifies_accounts`: whether it sends notifications for a lab's whole account (`platforms.hooks`). `vocabulary`: its
    words for what is said in general ones here. `unused_terms` mean nothing there, such as a lifetime where HITs do not
    end by themselves. `has_subjects`: whether messages have one.
    `reaches_beginners`: whether a message reaches also those who have submitted no work. `has_test_runs`: whether some
    accounts there can try a study with test participants.
    """

    vocabulary: ClassVar[Vocabulary] = Vocabulary()
    has_lab_accounts: ClassVar[bool] = False
    unused_terms: ClassVar[frozenset[str]] = frozenset()
    has_subjects: ClassVar[bool] = True
    reaches_beginners: ClassVar[bool] = False
    has_test_runs: ClassVar[bool] = False
    opens_together: ClassVar[bool] = False
    rejection_categories: ClassVar[tuple[str, ...]] = ()
    least_rejection: ClassVar[int] = 1
    asks_for_returns: ClassVar[bool] = False
    return_reasons: ClassVar[tuple[str, ...]] = ()
    notifies_accounts: ClassVar[bool] = False
    bonus_purposes: ClassVar[frozenset[str]] = frozenset(Payment.BONUSES)

    platform: str
    operations: Mapping[Operation.Kind, Handler]
    errors: ClassVar[tuple[type[Exception], ...]]
    token_life: ClassVar[timedelta]
    spends_real_money: bool

    # --- connecting

    def for_lab(self, lab_id: int) -> "Adapter":
        """The platform as a lab reaches it."""
        return self

    @property
    def payer(self) -> str:
        """Whose account pays there: the same text for the same account."""
        return ""

    def account_facts(self, token: str, workspace_id: str) -> AccountFacts:
        """Ask who a token belongs to, and what the account has. Raises Refused where accounts are not the labs'."""
        raise Refused(_("The account at this platform is set where this site runs."))

    @abstractmethod
    def how_to_give_access(self) -> str:
        """What to do where the platform does not accept the keys or the token, or there are none."""

    @abstractmethod
    def assert_configured(self) -> None:
        """Raise Refused where this site was not told where the platform is."""

    @property
    @abstractmethod
    def submit_host(self) -> str:
        """Where its frames post finished work. Raises Refused as `assert_configured` does."""

    @abstractmethod
    def client(self, *, read_seconds: int | None = None) -> Any:
        """Something to make calls through. Raises Refused as `assert_configured` does."""

    @abstractmethod
    def assert_host(self, client: Any) -> None:
        """Raise Refused unless the client talks to the platform. To be asked before money is spent."""

    @abstractmethod
    def trouble_of(self, error: Exception) -> Trouble:
        """What a failed call leaves to be done. Raises the error itself if it is none of `errors`."""

    @abstractmethod
    def code_of(self, error: Exception) -> str:
        """The most telling code of an error."""

    # --- terms

    @abstractmethod
    def pay_at_first(self) -> str:
        """How work is paid unless somebody chooses."""

    @abstractmethod
    def requirements_at_first(self) -> list[dict[str, Any]]:
        """The requirements on workers that terms start from."""

    @abstractmethod
    def requirements_of(self, demands: Demands) -> list[dict[str, Any]]:
        """Demands in the platform's own words, as a publication keeps them."""

    @abstractmethod
    def demands_of(self, requirements: list[dict[str, Any]]) -> Demands:
        """The demands behind requirements; what is of no known kind is among `others`."""

    @abstractmethod
    def countries_of(self, requirements: Iterable[dict[str, Any]]) -> Iterator[str]:
        """The countries that requirements of whatever kind name."""

    def filters_offered(self) -> list[FilterKind]:
        """The filters that researchers can choose by the platform's own names, beside those that every platform has.
        Raises Refused where the platform does not say.
        """
        return []

    def terms_troubles(self, publication: Publication) -> list[str]:
        """Why terms cannot be as they are at this platform, in sentences, beside what holds at all of them."""
        return []

    @abstractmethod
    def is_told_the_same(self, before: Publication, after: Publication) -> bool:
        """Whether workers at the platform see no difference between these terms."""

    @abstractmethod
    def dry_run(self, publication: Publication, hits: Iterable[Hit]) -> Iterator[tuple[str, Answer]]:
        """The exact requests that publishing these HITs will make, as `(operation, parameters)`."""

    def test_study_make(self, client: Any, publication: Publication, *, email: str) -> TestStudy:
        """Make a study that only test participants see, and that pays nobody; first, a test participant of this
        address, if one is given.
        """
        raise NotTold(_("This platform has no test runs."))

    def test_study_end(self, client: Any, publication: Publication) -> None:
        """End the study of a test run. One that is over stays so."""
        raise NotTold(_("This platform has no test runs."))

    least_told = 1  # the smallest number but 0 that `count_workers` says

    @abstractmethod
    def count_workers(self, publication: Publication, *, seconds: int) -> tuple[int, int]:
        """Active workers who meet the publication's requirements, and all active ones. Raises NotTold."""

    # --- money

    @property
    def currency(self) -> str:
        """That of the account, and so of all amounts here: one of core.money.CURRENCIES."""
        return DOLLARS

    @property
    def least_hourly(self) -> Decimal | None:
        """What the platform demands that an hour pays by the median time."""
        return None

    @property
    def advised_hourly(self) -> Decimal | None:
        """What the platform recommends that an hour pays."""
        return None

    @abstractmethod
    def balance(self, client: Any, *, once: bool = False) -> Decimal:
        """What the account can spend now. Asked `once`, or again while the answer is slow or lost."""

    def pays_leavers(self, publication: Publication) -> bool:
        """Whether whoever leaves early is paid a part of the reward, and so does not return the task there."""
        return False

    def pay_for_leaving(self, publication: Publication, earned: Decimal) -> Decimal:
        """What somebody is paid apart who leaves early and has earned so much: no less."""
        return earned

    @abstractmethod
    def reward_fee(self, reward: Decimal, max_assignments: int) -> Decimal:
        """The fee for one approved assignment of a HIT of so many, in whole cents."""

    @abstractmethod
    def bonus_fee(self, bonus: Decimal) -> Decimal:
        """The fee for a bonus, in whole cents."""

    @abstractmethod
    def fees_in_words(self, max_assignments: int) -> str:
        """The fees on HITs of up to so many assignments, as a bill describes them."""

    @abstractmethod
    def who_adds_money(self) -> str:
        """Who adds money to the account, and how."""

    @property
    def can_be_asked_for_money(self) -> bool:
        """Whether somebody at the platform adds money when they are asked (`ask_for_money`)."""
        return False

    def ask_for_money(self, amount: Decimal, reason: str) -> None:
        """Ask for money in the account. Asked again for the same reason, the later amount replaces the earlier."""
        raise NotTold(_("Nobody at this platform can be asked for money."))

    # --- work

    @abstractmethod
    def about_rejecting(self, publication: Publication) -> str:
        """What rejecting work does to its worker, and within what limits, for whoever is about to."""

    @abstractmethod
    def about_reversing(self) -> str:
        """How work that was rejected is paid after all, for whoever is about to use its data."""

    @abstractmethod
    def about_writing(self) -> str:
        """Whom a message reaches, and within what limits, for whoever is about to write one."""

    @abstractmethod
    def write_to(
        self, client: Any, publication: Publication, *, subject: str, text: str, worker_ids: list[str]
    ) -> dict[str, str]:
        """Send a message to up to 100 workers, in one call. Those it did not reach, by id, each with why."""

    @property
    def tells_messages(self) -> bool:
        """Whether it says what workers write (`messages_after`)."""
        return False

    @abstractmethod
    def messages_after(self, cursor: str) -> list[Heard]:
        """What workers wrote since the `cursor` of an earlier answer (empty: ever), the oldest first; some of it if it
        is much, and perhaps the last again. Raises NotTold.
        """

    @abstractmethod
    def may_extend(self, max_assignments: int, target: int) -> bool:
        """Whether a HIT of so many assignments may have as many as are wanted."""

    @abstractmethod
    def reviewable_hits(self, client: Any, hit_type_id: str) -> Iterator[str]:
        """The platform's ids of HITs that it calls ready for review."""

    @abstractmethod
    def take_off_list(self, client: Any, platform_hit_id: str) -> None:
        """Have the platform call a HIT ready for review no more."""

    @abstractmethod
    def submitted(self, client: Any, platform_hit_id: str) -> Iterator[Answer]:
        """What was submitted on a HIT, in the platform's words, each to be read with `work_of`."""

    @abstractmethod
    def work_of(self, answer: Answer) -> Work:
        """One submitted assignment. Raises KeyError where the platform leaves out what it always says."""

    def changes(
        self, client: Any, publication: Publication, before: dict[str, int], *, at: datetime, everything: bool
    ) -> Changes:
        """What may have changed of a study since its submissions were `counted`, or `everything` there is. Only asked
        of a platform that `opens_together`.
        """
        raise NotTold(_("This platform lists assignments only by their HIT."))

    def places_taken(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """Of a study whose submissions were counted by state: how many places are taken, and how many of these by
        people at work. Only asked of a platform that `opens_together`.
        """
        raise NotTold(_("This platform lists assignments only by their HIT."))

    def look(self, client: Any, publication: Publication, assignment_id: str) -> Seen:
        """One assignment as the platform has it now. Raises NotTold where it tells of none by itself."""
        raise NotTold(_("This platform lists assignments only by their HIT."))

    def check_visit(self, publication: Publication, parameters: Mapping[str, str], *, goes_on: bool) -> None:
        """Check what the address of a visit proves by itself, where the platform signs it. `goes_on`: the visit began
        before, and nothing begins now. Raises Refused where it proves something else, or nothing though it should.
        """
        return

    def confirm_arrival(self, publication: Publication, *, study: str, worker_id: str, assignment_id: str) -> None:
        """Ask whether this worker is at work on this assignment there now. Raises Refused if not."""
        raise Refused(_("Workers of this platform come by the address of a HIT."))

    def exit_of(self, publication: Publication, ending: Ending) -> Exit | None:
        """Where a worker goes back to, by how the visit ended; None where the page is in the platform's frame."""
        return None

    # --- the ledger

    @abstractmethod
    def marked_hits(self, client: Any, publication: Publication) -> dict[str, MarkedHit]:
        """The HITs at the platform that bear the publication's mark, by id."""

    @abstractmethod
    def mark_of(self, operation: Operation) -> str:
        """The mark of the HIT that an operation publishes."""

    @abstractmethod
    def reward_of(self, client: Any, platform_hit_id: str) -> Decimal:
        """A HIT's reward."""

    @abstractmethod
    def bonuses_of(self, client: Any, platform_hit_id: str) -> Decimal:
        """The bonuses that were paid on a HIT."""

    # --- notifications

    @abstractmethod
    def ask_for_notifications(self, publication: Publication, address: str) -> None:
        """Have the platform tell this address of submitted work. Asking again changes nothing."""

    @abstractmethod
    def is_notification_signed(self, *, secret: str, header: str, body: bytes, at: datetime) -> bool:
        """Whether a notification's header proves that its body was just sent by who has the secret."""

    @abstractmethod
    def hits_notified_of(self, body: bytes) -> list[str]:
        """The platform's ids of the HITs that a notification is about. Raises BadRequest for what is none."""

    def may_notify(self, site: str) -> bool:
        """Whether the platform sends notifications to a site at this address."""
        return False

    def hook_secret(self, client: Any) -> str:
        """The secret that the account's notifications are signed with."""
        raise NotTold(_("This platform sends no notifications for an account."))

    def keep_hooks(self, client: Any, address: str) -> None:
        """Be subscribed to the account's notifications under this address. Asking again changes nothing."""
        raise NotTold(_("This platform sends no notifications for an account."))

    def end_hooks(self, client: Any, address: str) -> None:
        """Be subscribed under this address no more."""
        raise NotTold(_("This platform sends no notifications for an account."))

    def notice_of(self, *, secret: str, headers: Mapping[str, str], body: bytes, at: datetime) -> Notice | None:
        """What a notification is about; None if it is not proved to be the platform's. Raises BadRequest."""
        return None
