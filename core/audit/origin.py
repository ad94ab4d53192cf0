"""Who is acting: told to the database with each statement that changes a recorded table, and with no other statement.

Whatever reaches the database past this (psql, another program) is recorded under the name of its database user.
"""

import getpass
import ipaddress
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.contrib.auth import SESSION_KEY
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import HttpRequest
from psycopg2.extensions import adapt

from core.addresses import UNKNOWN, client_address
from core.audit.tables import recorded_tables
from core.logs import REQUEST_ID, hide_tokens
from core.models import AuditEntry, User

SETTING = "bestknown.audit"  # what core_audit_record() in the database reads
Kind = AuditEntry.ActorKind
_WHY_LENGTH = 2000


class Origin(NamedTuple):
    """Who acts. `person` is a user's key; `name` says which job or command, and on whose account of the system."""

    kind: str
    person: int | None = None
    name: str = ""
    address: str = ""
    why: str = ""


_ORIGIN: ContextVar[Callable[[], Origin] | None] = ContextVar("audit_origin", default=None)
_JOBS: dict[str, Token[Callable[[], Origin] | None]] = {}
_WHY: ContextVar[str] = ContextVar("audit_why", default="")


def origin() -> Origin:
    """Who acts now, with the reason that was given."""
    make = _ORIGIN.get()
    acting = _command() if make is None else make()
    return acting._replace(why=(_WHY.get() or acting.why)[:_WHY_LENGTH])


@contextmanager
def acting(make: Callable[[], Origin]) -> Iterator[None]:
    """Have what the block does recorded as done by whom `make` says, which is asked when something is recorded."""
    token = _ORIGIN.set(make)
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def begin(job: str, origin: Origin) -> None:
    """Have what follows recorded as done by a job, until it ends."""
    _JOBS[job] = _ORIGIN.set(lambda: origin)


def end(job: str) -> None:
    if (token := _JOBS.pop(job, None)) is not None:
        _ORIGIN.reset(token)


@contextmanager
def because(why: str) -> Iterator[None]:
    """Have what the block does recorded with a reason."""
    token = _WHY.set(why.strip())
    try:
        yield
    finally:
        _WHY.reset(token)


def request_origin(request: HttpRequest) -> Origin:
    """The person of a request, without a query where there is none."""
    person = None
    user = request.__dict__.get("user")
    if isinstance(user, User):  # an API token's
        person = user.pk
    elif (session := getattr(request, "session", None)) is not None and session.accessed:
        person = session.get(SESSION_KEY)
    # Of a form with files, what the view has read of it.
    is_short = request.method == "POST" and request.content_type == "application/x-www-form-urlencoded"
    form = request.POST if is_short else getattr(request, "_post", None) or {}
    why = str(form.get("why", ""))
    return Origin(
        kind=Kind.PERSON if person else Kind.VISITOR,
        person=int(person) if person else None,
        address=shorten(client_address(request)),
        why=why,
    )


def shorten(address: str) -> str:
    """The network that an address is in, of 256 IPv4 addresses, or the first 48 bits of an IPv6 address."""
    if address == UNKNOWN:
        return ""
    network = ipaddress.ip_network((address, 48 if ":" in address else 24), strict=False)
    return str(network)


def _command() -> Origin:
    """A command, or a shell: whoever runs it has an account of the operating system, and none of ours."""
    system_user = "?"
    with suppress(OSError, KeyError, ImportError):
        system_user = getpass.getuser()
    words = [Path(sys.argv[0]).name, *sys.argv[1:2]]
    return Origin(Kind.COMMAND, name=hide_tokens(f"{' '.join(words)} ({system_user})")[:200])


def install(connection: BaseDatabaseWrapper, **_named: Any) -> None:
    """Have a connection tell the database who acts."""
    if _tell not in connection.execute_wrappers:
        connection.execute_wrappers.append(_tell)


def _tell(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Set who acts, for this transaction, in the same message as a statement that changes a recorded table."""
    if many or not _changes(sql):
        return execute(sql, params, many, context)
    statement = f"SELECT set_config('{SETTING}', {_quoted(origin(), context)}, true); "
    if params is not None:
        statement = statement.replace("%", "%%")
    return execute(statement + sql, params, many, context)


def _changes(sql: Any) -> bool:
    if not isinstance(sql, str):
        return False
    text = sql.lstrip()
    verb = text[:6].upper()
    if verb in ("INSERT", "UPDATE", "DELETE"):
        return _write().match(text) is not None
    return verb.startswith("WITH") and _write().search(text) is not None


@cache
def _write() -> re.Pattern[str]:
    """The beginning of a statement that changes a recorded table."""
    return re.compile(rf'(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(?:{"|".join(recorded_tables())})\b', re.IGNORECASE)


def _quoted(acting: Origin, context: dict[str, Any]) -> str:
    """What core_audit_record() reads, as a literal."""
    request_id = REQUEST_ID.get()
    facts = acting._asdict() | {"request": "" if request_id == "-" else request_id}
    texts = {name: value.replace("\0", "") if isinstance(value, str) else value for name, value in facts.items()}
    literal = adapt(json.dumps(texts))
    literal.prepare(context["connection"].connection)
    return str(literal.getquoted().decode())
