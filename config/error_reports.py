"""Reports of errors to a Sentry, or to what speaks like one. Used only where SENTRY_DSN is set.

A report holds nothing that the program computed: what kind of exception, where in the code, on which route, and the
request's id, by which the log has the rest. Messages, arguments, local variables, addresses, headers and forms may hold
tokens, workers' ids and passages, so a report is made anew of what is known to hold none, not cleaned of what might.
"""

import logging
from typing import Any

import sentry_sdk
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.types import Event, Hint

from core.outage import OUTAGES
from core.version import VERSION

KEPT = ("event_id", "timestamp", "platform", "level", "logger", "release", "sdk")
KEPT_OF_FRAMES = ("filename", "function", "module", "lineno", "in_app", "pre_context", "context_line", "post_context")


def install(dsn: str) -> None:
    """Send what the handler in the settings is given. Nothing of Django or Celery is patched."""
    sentry_sdk.init(
        dsn=dsn,
        release=f"bestknown@{VERSION}",
        before_send=keep_places,
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[AtexitIntegration(callback=lambda _pending, _timeout: None)],
        send_default_pii=False,
        include_local_variables=False,
        max_breadcrumbs=0,
        max_request_body_size="never",
        send_client_reports=False,
    )


class LeaveOutOutages(logging.Filter):
    """Drops what a database that is away makes every request say, and hosts that only scanners ask for."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is reported. /healthz/all says that a database is away."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, OUTAGES) and not record.name.startswith("django.security")


def keep_places(event: Event, hint: Hint) -> Event:
    """A report that has nothing but kinds and places of the given one."""
    record: logging.LogRecord = hint["log_record"]
    report: dict[str, Any] = {name: event[name] for name in KEPT if name in event}  # type: ignore[literal-required]
    report["tags"] = {"request_id": getattr(record, "request_id", "-"), "line": f"{record.name}:{record.lineno}"}
    if record.args:  # what was not put together from parts may hold anything
        report["logentry"] = {"message": str(record.msg)}
    route = getattr(getattr(getattr(record, "request", None), "resolver_match", None), "route", "")
    if route:
        report["transaction"] = f"/{route}"
    errors: list[dict[str, Any]] = (event.get("exception") or {}).get("values", [])
    report["exception"] = {"values": [_error(error) for error in errors]}
    return report  # type: ignore[return-value]


def _error(error: dict[str, Any]) -> dict[str, Any]:
    frames = (error.get("stacktrace") or {}).get("frames", [])
    places = [{name: frame[name] for name in KEPT_OF_FRAMES if name in frame} for frame in frames]
    return {"type": error.get("type"), "module": error.get("module"), "stacktrace": {"frames": places}}
