"""Browsers that somebody has logged in from before, which a signed cookie says: tries of a log-in there count alone.

So whoever tries passwords for a name does not lock out its owner, who uses their own browser.
"""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

_KNOWN = "known-browser"
KNOWN_SECONDS = 365 * 86_400


def known_browser(request: HttpRequest, name: str) -> str:
    """The browser's own name, if this name has logged in from it before; else empty."""
    cookie = request.COOKIES.get(_cookie_name(), "")
    try:
        known_name, browser = signing.loads(cookie, salt=_KNOWN, max_age=KNOWN_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(browser) if known_name == name else ""


def remember_browser(request: HttpRequest, response: HttpResponse, name: str) -> None:
    """Let the answer to a log-in say who has logged in; the browser tells nobody but the page of the log-in."""
    response.set_cookie(
        _cookie_name(),
        signing.dumps([name, secrets.token_hex(8)], salt=_KNOWN),
        max_age=KNOWN_SECONDS,
        path=request.path,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def _cookie_name() -> str:
    return f"{_KNOWN}-{settings.COOKIE_MARK}"
