"""One call of one operation, and the table of what answers each."""

from collections.abc import Callable
from typing import Any, NamedTuple

from marketplace.api.paging import Page
from marketplace.models import AccessKey, Requester


class Call(NamedTuple):
    """A checked request: who calls, with which key, and the parameters."""

    operation: str
    request_id: str
    key: AccessKey
    parameters: dict[str, Any]

    @property
    def requester(self) -> Requester:
        return self.key.requester

    @property
    def scope(self) -> str:
        """What a page token of this call is good for."""
        return f"{self.requester.pk} {self.operation}"


Handler = Callable[[Call], dict[str, Any]]
HANDLERS: dict[str, Handler] = {}


def handles(operation: str) -> Callable[[Handler], Handler]:
    """Register a function as the one that answers an operation. It runs in a transaction."""

    def register(handler: Handler) -> Handler:
        assert operation not in HANDLERS
        HANDLERS[operation] = handler
        return handler

    return register


def listed(page: Page, name: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of an operation that lists something."""
    answer: dict[str, Any] = {"NumResults": len(items), name: items}
    return answer | {"NextToken": page.next_token} if page.next_token else answer
