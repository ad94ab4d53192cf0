"""What somebody typed is not lost where it cannot be taken: the log-in has ended, or another has begun since.

Every form says who it was shown to (`ui/templatetags/typed.py`). So a page, `kept.html`, can keep what was sent and
send it again, for that person alone. What a browser keeps is up to `typed.js`; it is told what has been taken.
"""

import re
from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.messages import ERROR, get_messages
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.middleware.csrf import REASON_BAD_ORIGIN
from django.shortcuts import render, resolve_url
from django.utils.cache import add_never_cache_headers

FIELD = "typed_by"
ID, TAKEN = "typed_id", "taken"  # a field of the form, and what says the same once it has been taken
TAKEN_SECONDS = 600
MOST_BYTES = 3 * 1024 * 1024  # with files, which are not kept
_SIGNER = Signer(salt=FIELD)
_NOT_KEPT = re.compile(r"password|secret|token|private|passphrase|^code$", re.IGNORECASE)
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def sign(user: AbstractBaseUser) -> str:
    """What a form says of the person whom it is shown to."""
    return _SIGNER.sign(str(user.pk))


def writer_of(request: HttpRequest) -> int | None:
    """The key of the person to whom the form was shown that is sent here; None if it does not say, or is unreadable."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if request.method != "POST" or request.content_type not in _FORMS:
        return None
    if not length.isdecimal() or int(length) > MOST_BYTES:
        return None
    try:
        return int(_SIGNER.unsign(request.POST.get(FIELD, "")))
    except (BadSignature, ValueError, BadRequest, SuspiciousOperation, MultiPartParserError, OSError):
        return None


def keep(request: HttpRequest) -> HttpResponse | None:
    """A page that keeps what was sent and did not count, to be sent again; None if the form does not say whose it is.

    Passwords, secrets and files are not kept.
    """
    writer = writer_of(request)
    if writer is None:
        return None
    context = {
        "address": request.get_full_path(),
        "kept": list(_kept(request)),
        "has_files": bool(request.FILES),
        "typed_by": request.POST[FIELD],
        "is_other": request.user.is_authenticated and request.user.pk != writer,
    }
    response = render(request, "kept.html", context, status=403)
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
    return (None if is_foreign else keep(request)) or render(request, "403_csrf.html", status=403)


def tell_taken(request: HttpRequest, response: HttpResponseBase) -> None:
    """Tell the page's script that what was typed into a form has been taken: it was answered by leading on, without an
    error, by something new or by a file. Where it leads says so, else a cookie.
    """
    typed: str = (getattr(request, "_post", None) or {}).get(ID, "")
    if not re.fullmatch(r"[a-z0-9]{1,40}", typed):
        return
    leads_on = response.status_code in (201, 302, 303) or response.has_header("Content-Disposition")
    queued = getattr(get_messages(request), "_queued_messages", [])
    is_refused = any(message.level >= ERROR for message in queued)
    if not leads_on or is_refused or response.headers.get("Location", "").startswith(resolve_url(settings.LOGIN_URL)):
        return
    # In another site's frame there are no cookies, and to a script that sends a form no address with a fragment.
    if response.has_header("Location") and request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate":
        address, _hash, fragment = response["Location"].partition("#")
        response["Location"] = f"{address}#{TAKEN}-{typed}{fragment and f'.{fragment}'}"
        return
    response.set_cookie(
        TAKEN, typed, max_age=TAKEN_SECONDS, secure=bool(settings.SESSION_COOKIE_SECURE), samesite="Lax"
    )
