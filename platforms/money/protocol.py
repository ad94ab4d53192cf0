"""What money asks of a platform: what it charges, what an account has, and what it says was paid."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple, Self

from core.money import DOLLARS
from platforms.models import LabAccount, Operation, Payment, Publication


class MarkedHit(NamedTuple):
    """A HIT at the platform that bears a publication's mark, and its reward."""

    mark: str
    reward: Decimal


class Money(ABC):
    """The account there, and its ledger. `spends_real_money`: whether people are paid real money there; `is_sandbox`:
    whether nothing there is more than a trial. `bonus_purposes`: what it pays as bonuses. `payer` is the same text for
    the same account. Amounts are in `currency`, one of core.money.CURRENCIES. `least_hourly` is what the platform
    demands that an hour pays by the median time, and `advised_hourly` what it recommends.
    """

    spends_real_money: bool
    is_sandbox: bool = False
    bonus_purposes: ClassVar[frozenset[str]] = frozenset(Payment.BONUSES)

    @property
    def payer(self) -> str:
        return ""

    @property
    def currency(self) -> str:
        return DOLLARS

    @property
    def least_hourly(self) -> Decimal | None:
        return None

    @property
    def advised_hourly(self) -> Decimal | None:
        return None

    @abstractmethod
    def balance(self, client: Any, *, once: bool = False) -> Decimal:
        """What the account can spend now. Asked `once`, or again while the answer is slow or lost."""

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


class Deposits(ABC):
    """A platform where somebody adds money to the account when they are asked."""

    @abstractmethod
    def ask_for_money(self, amount: Decimal, reason: str) -> None:
        """Ask for money in the account. Asked again for the same reason, the later amount replaces the earlier."""


class Notice(NamedTuple):
    """What a platform's notification is about: an assignment, a study, or (both empty) nothing that matters here."""

    event_id: str
    assignment_id: str
    study: str


class LabAccounts(ABC):
    """A platform where each lab has an account of its own, whose token is stored here, and which sends notifications
    for the whole account (`platforms.hooks`). Elsewhere the keys are this site's.
    """

    @abstractmethod
    def for_lab(self, lab_id: int) -> Self:
        """The platform as a lab reaches it."""

    @abstractmethod
    def account_of(self, token: str, workspace_id: str) -> tuple[LabAccount, Decimal]:
        """Ask who a token belongs to: the account, not stored, without its lab and token, and what it can spend now.
        Raises Refused for what cannot be used.
        """

    @abstractmethod
    def may_notify(self, site: str) -> bool:
        """Whether the platform sends notifications to a site at this address."""

    @abstractmethod
    def hook_secret(self, client: Any) -> str:
        """The secret that the account's notifications are signed with."""

    @abstractmethod
    def keep_hooks(self, client: Any, address: str) -> None:
        """Be subscribed to the account's notifications under this address. Asking again changes nothing."""

    @abstractmethod
    def end_hooks(self, client: Any, address: str) -> None:
        """Be subscribed under this address no more."""

    @abstractmethod
    def notice_of(self, *, secret: str, headers: Mapping[str, str], body: bytes, at: datetime) -> Notice | None:
        """What a notification is about; None if it is not proved to be the platform's. Raises BadRequest."""
