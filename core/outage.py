"""What people see, and what is logged, while PostgreSQL does not answer: 503 with a sentence, and one line."""

import logging
import sys

import psycopg2
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from core.error_pages import server_error

OUTAGES = (OperationalError, InterfaceError, psycopg2.OperationalError, psycopg2.InterfaceError)
RETRY_SECONDS = 5


def answer_error(request: HttpRequest) -> HttpResponse:
    """The page for an exception that nobody caught: 503 if the database is why, else 500. It asks no database."""
    error = sys.exc_info()[1]
    if not isinstance(error, OUTAGES):
        return server_error(request)
    text = _sentence(error)
    response: HttpResponse
    if "application/json" in request.headers.get("Accept", ""):
        response = JsonResponse({"error": text}, status=503)
    else:
        page = render_to_string("message.html", {"title": _("One moment, please"), "text": text})
        response = HttpResponse(page, status=503)
        # A page of a platform's frame stays readable there. This one has no controls, so any site may frame it.
        response.xframe_options_exempt = True
        response._csp_replace = {"frame-ancestors": ["*"]}  # type: ignore[attr-defined]
    response["Retry-After"] = str(RETRY_SECONDS)
    add_never_cache_headers(response)
    return response


def _sentence(error: BaseException) -> str:
    code = getattr(error, "pgcode", None) or getattr(error.__cause__, "pgcode", None)
    if code in ("57014", "55P03"):  # cancelled at its time limit; no lock in time
        return _("This took too long and was stopped; nothing was changed. Please try again in a moment.")
    if code == "53100":
        return _(
            "The disk of the site's database is full: nothing can be saved until there is space. What "
            "was saved is safe."
        )
    return _(
        "The site is waiting for its database. This page will work again as soon as the database "
        "answers; what was saved is safe."
    )


class ShortOutages(logging.Filter):
    """One line instead of a traceback where the database is not reached: thousands of requests may say the same."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the record. It is always kept."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OUTAGES):
            reason = str(error).strip().partition("\n")[0]
            record.msg, record.args = f"{record.getMessage()}: {reason}".replace("%", "%%"), ()
            record.exc_info = record.exc_text = None
        return True
