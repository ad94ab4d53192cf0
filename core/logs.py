"""Keep tokens and people out of every log (of this site, of gunicorn in front of it, and of Celery), and say which
request a line is about.

Anyone who has the address of a worker's page can act as that worker, so no address may be logged: neither by a
page's error, nor by a refusal or a traceback, whichever logger and handler it goes through.
"""

import json
import logging
import re
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

# The request that is being answered, or that asked for the job that is being done; a job of the clock's has its own id.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="-")

HIDDEN = "…"
_VALUE = r"[^/\s?#&\"'<>,()]+"
_SECRETS = re.compile(
    # a signed token: value, time and signature, as they are or percent-encoded
    r"[\w.-]{4,}(?::|%3A)[0-9A-Za-z]{4,8}(?::|%3A)[\w-]{20,}"
    # the part of an address that carries one, or a link that is handed out
    rf"|(?<=/[cjmpw]/){_VALUE}"
    rf"|(?<=/platform/notifications/){_VALUE}|(?<=/password/new/){_VALUE}"
    rf"|(?<=/invited/){_VALUE}|(?<=/shown/){_VALUE}|(?<=/email/confirm/){_VALUE}"
    # what a platform's frame is told
    r"|(?<=assignmentId=)[^&\s\"']+|(?<=workerId=)[^&\s\"']+|(?<=[?&]form=)[^&\s\"']+"
    # a worker's id at Mechanical Turk and the marketplace
    r"|(?-i:\bA(?=[A-Z]*[0-9])[0-9A-Z]{11,14}\b)",
    re.IGNORECASE,
)


def hide_tokens(text: str) -> str:
    """The text with an ellipsis in place of everything that would let a reader act as a worker, or tell who one is."""
    return _SECRETS.sub(HIDDEN, text)


class TokenFreeRecord(logging.LogRecord):
    """A log record whose message, traceback and stack hold no token, whatever formats it. It knows its request."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.request_id = REQUEST_ID.get()
        if self.exc_info and self.exc_info[0] is not None:
            # Formatters take a traceback that is written out already.
            self.exc_text = hide_tokens("".join(traceback.format_exception(*self.exc_info)).rstrip("\n"))
        if self.stack_info:
            self.stack_info = hide_tokens(self.stack_info)

    def getMessage(self) -> str:  # noqa: N802 - the name is logging's
        """The message with its arguments, without tokens."""
        return hide_tokens(super().getMessage())


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The fields that searching needs: when, how bad, who says it, for which request, what, and the traceback."""
        fields = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "request_id": getattr(record, "request_id", "-"),
            "message": record.getMessage(),
        }
        if record.exc_text:
            fields["traceback"] = record.exc_text
        return json.dumps(fields, ensure_ascii=False)


def install() -> None:
    """Make every log record of this process, from now on, one without tokens."""
    logging.setLogRecordFactory(TokenFreeRecord)
