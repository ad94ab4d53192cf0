"""What every platform must offer: a connection, and what each part of this package asks of it (`*.protocol`).

What only some platforms have is a class of its own there, such as `TestRuns`: a platform has it, or not.
"""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.calls import Handler
from platforms.messages.protocol import Messages
from platforms.models import Operation
from platforms.money.protocol import Money
from platforms.publishing.protocol import Publishing
from platforms.reviewing.protocol import Reviewing
from platforms.vocabulary import Vocabulary


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


class WrongHost(Refused):
    """The client would talk to another host than the platform's."""

    def __init__(self, actual: str, platform: str, expected: str) -> None:
        text = _("The client is connected to %(actual)s, but %(platform)s is at %(wanted)s. Nothing was sent.")
        super().__init__(text % {"actual": actual, "platform": platform, "wanted": expected})


class Adapter(Publishing, Reviewing, Money, Messages):
    """One platform. `operations` has a handler for each kind of call that it can make. `errors` are what a failed call
    raises; `token_life` is how long the platform surely knows a token. `vocabulary`: its words for what is said in
    general ones here. `submit_host` is where its frames post finished work; it raises Refused as `assert_configured`.
    """

    vocabulary: ClassVar[Vocabulary] = Vocabulary()
    errors: ClassVar[tuple[type[Exception], ...]]
    token_life: ClassVar[timedelta]
    operations: ClassVar[Mapping[Operation.Kind, Handler]]

    @abstractmethod
    def how_to_give_access(self) -> str:
        """What to do where the platform does not accept the keys or the token, or there are none."""

    @abstractmethod
    def assert_configured(self) -> None:
        """Raise Refused where this site was not told where the platform is."""

    @property
    def submit_host(self) -> str:
        return ""

    @abstractmethod
    def client(self, *, read_seconds: int | None = None) -> Any:
        """Something to make calls through. Raises Refused as `assert_configured` does."""

    @abstractmethod
    def assert_host(self, client: Any) -> None:
        """Raise WrongHost unless the client talks to the platform. To be asked before money is spent."""

    @abstractmethod
    def trouble_of(self, error: Exception) -> Trouble:
        """What a failed call leaves to be done. Raises the error itself if it is none of `errors`."""

    @abstractmethod
    def code_of(self, error: Exception) -> str:
        """The most telling code of an error."""
