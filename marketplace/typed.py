"""What somebody typed is not lost where it cannot be taken: the log-in has ended, or another has begun since.

Every form says who it was shown to (`marketplace/templatetags/typed.py`). So a page can keep what was sent and send it
again, for that person alone. What a browser keeps is up to `typed.js`; it is told what has been taken.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.contrib.messages import ERROR, get_messages
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.middleware.csrf import REASON_BAD_ORIGIN
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.views.csrf import csrf_failure

from marketplace.models import Account

FIELD = "typed_by"
ID, TAKEN = "typed_id", "taken"  # a field of the form, and what says the same once it has been taken
TAKEN_SECONDS = 600
_SIGNER = Signer(salt=FIELD)
_NOT_KEPT = re.compile(r"password|secret|token|private|passphrase|^code$", re.IGNORECASE)
_PAGES = ("workers", "operator")
_FOR_ANYBODY = ("login", "logout", "register", "language", "password_new")


def sign(account: Account) -> str:
    """What a form says of the person whom it is shown to."""
    return _SIGNER.sign(str(account.pk))


def writer_of(request: HttpRequest) -> int | None:
    """The key of the person to whom the form was shown that is sent here; None if it does not say, or is unreadable."""
    try:
        return int(_SIGNER.unsign(request.POST.get(FIELD, "")))
    except (BadSignature, ValueError, BadRequest, SuspiciousOperation, MultiPartParserError, OSError):
        return None


def keep(request: HttpRequest) -> HttpResponse | None:
    """A page that keeps what was sent and did not count, to be sent again; None if the form does not say whose it is.

    Passwords and secrets are not kept.
    """
    writer = writer_of(request)
    if writer is None:
        return None
    context = {
        "address": request.get_full_path(),
        "kept": list(_kept(request)),
        "typed_by": request.POST[FIELD],
        "is_other": request.user.is_authenticated and request.user.pk != writer,
    }
    response = render(request, "marketplace/kept.html", context, status=403)
    add_never_cache_headers(response)
    return response


def _kept(request: HttpRequest) -> Iterator[tuple[str, str]]:
    for name, values in request.POST.lists():
        if name not in ("csrfmiddlewaretoken", FIELD) and not _NOT_KEPT.search(name):
            for value in values:
                yield name, str(value)


def refuse_token(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer to a form whose CSRF token is not this log-in's."""
    is_foreign = reason.startswith(REASON_BAD_ORIGIN.partition("%")[0])
    return (None if is_foreign else keep(request)) or csrf_failure(request, reason)


def _tell_taken(request: HttpRequest, response: HttpResponseBase) -> None:
    """Tell the page's script that what was typed into a form has been taken: it was answered by leading on without an
    error, or by something new. Where it leads says so, else a cookie.
    """
    typed: str = (getattr(request, "_post", None) or {}).get(ID, "")
    if not re.fullmatch(r"[a-z0-9]{1,40}", typed) or response.status_code not in (201, 302, 303):
        return
    queued = getattr(get_messages(request), "_queued_messages", [])
    if any(message.level >= ERROR for message in queued):
        return
    address = response.headers.get("Location", "")
    if address.startswith(settings.LOGIN_URL):
        return
    if address:
        response["Location"] = f"{address}#{TAKEN}-{typed}"
        return
    response.set_cookie(
        TAKEN, typed, max_age=TAKEN_SECONDS, secure=bool(settings.SESSION_COOKIE_SECURE), samesite="Lax"
    )


class TypedIsKept:
    """Middleware: a form that is sent after a log-in has ended, or by somebody else, is kept to be sent again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        _tell_taken(request, response)
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        match = request.resolver_match
        if request.method != "POST" or match is None or match.app_name not in _PAGES or match.url_name in _FOR_ANYBODY:
            return None
        return None if writer_of(request) == request.user.pk else keep(request)
