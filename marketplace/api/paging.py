"""Pages of lists. A NextToken is opaque to clients, signed, and good for the same list of the same requester only.

It holds the last row of its page, so that rows which come and go meanwhile neither repeat nor hide others. Every page
that is not empty has one, the last included: clients of Mechanical Turk ask on until a page is empty.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from django.core.signing import BadSignature, Signer
from django.db.models import Model, Q, QuerySet

from marketplace.errors import InvalidValue

DEFAULT_SIZE = 10
Row = TypeVar("Row", bound=Model)


class InvalidToken(InvalidValue):
    """A NextToken that is not ours, or of another list."""

    code = "InvalidNextToken"


class Page(NamedTuple):
    """Some rows, and the token of the next page; both empty after the last row."""

    rows: list[Any]
    next_token: str


def page(
    rows: QuerySet[Row], parameters: Mapping[str, Any], *, of: str, by: str = "", newest_first: bool = False
) -> Page:
    """The page of `rows` that a request asks for, in the order of a time field `by` (if any) and the primary key.

    `of` says whose list this is, and of what: a token of another list is refused. Raises InvalidToken.
    """
    size = parameters.get("MaxResults", DEFAULT_SIZE)
    scope = _scope(of, parameters)
    sign = "-" if newest_first else ""
    rows = rows.order_by(*([sign + by] if by else []), sign + "pk")
    if token := parameters.get("NextToken"):
        rows = rows.filter(_after(_read(token, scope), by, "lt" if newest_first else "gt"))
    rows_of_page = list(rows[:size])
    if not rows_of_page:
        return Page([], "")
    last = rows_of_page[-1]
    key = [getattr(last, by).isoformat() if by else "", last.pk]
    return Page(rows_of_page, _write(key, scope))


def _after(key: list[Any], by: str, comparison: str) -> Q:
    moment, pk = key
    later = Q(**{f"pk__{comparison}": pk})
    if not by:
        return later
    time = datetime.fromisoformat(moment)
    return Q(**{f"{by}__{comparison}": time}) | (Q(**{by: time}) & later)


def _scope(of: str, parameters: Mapping[str, Any]) -> str:
    filters = {name: value for name, value in parameters.items() if name not in ("NextToken", "MaxResults")}
    text = json.dumps([of, filters], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write(key: list[Any], scope: str) -> str:
    text = base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")
    return Signer(salt=f"marketplace page {scope}").sign(text)


def _read(token: str, scope: str) -> list[Any]:
    try:
        text = Signer(salt=f"marketplace page {scope}").unsign(token)
    except BadSignature:
        raise InvalidToken("This NextToken is not one of this list.") from None
    key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    assert isinstance(key, list)
    return key
