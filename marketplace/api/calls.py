"""One call of one operation, and the table of what answers each."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from django.db.models import Model, QuerySet

from marketplace.api.paging import page
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

    def arguments(self, **names: str) -> dict[str, Any]:
        """Arguments by the names of their parameters: `hit_id="HITId"`. What was not sent is left out."""
        return {argument: self.parameters[name] for argument, name in names.items() if name in self.parameters}


Handler = Callable[[Call], dict[str, Any]]
HANDLERS: dict[str, Handler] = {}
Row = TypeVar("Row", bound=Model)


def handles(operation: str) -> Callable[[Handler], Handler]:
    """Register a function as the one that answers an operation. It runs in a transaction."""

    def register(handler: Handler) -> Handler:
        assert operation not in HANDLERS
        HANDLERS[operation] = handler
        return handler

    return register


def performs(operation: str, service: Callable[..., object], **names: str) -> None:
    """Register a service as what an operation does for the requester. Its answer is empty; for `names`, see Call."""

    @handles(operation)
    def perform(call: Call) -> dict[str, Any]:
        service(requester=call.requester, **call.arguments(**names))
        return {}


def lists(
    operation: str, name: str, write: Callable[[Row], dict[str, Any]], *, by: str = "", newest_first: bool = False
) -> Callable[[Callable[[Call], QuerySet[Row]]], None]:
    """Register a function that gives rows as what an operation lists, page by page: see paging.page for the order."""

    def register(rows: Callable[[Call], QuerySet[Row]]) -> None:
        @handles(operation)
        def answer(call: Call) -> dict[str, Any]:
            of = f"{call.requester.pk} {operation}"
            page_of_rows = page(rows(call), call.parameters, of=of, by=by, newest_first=newest_first)
            items = [write(row) for row in page_of_rows.rows]
            next_page = {"NextToken": page_of_rows.next_token} if page_of_rows.next_token else {}
            return {"NumResults": len(items), name: items, **next_page}

    return register
