"""Pages for errors that happen before, or instead of, any view.

Django's own check the CSRF token once more, so they read the form that may be what cannot be read: an odd encoding or a
body that is too long ended in an error of the site. These read nothing of the request.
"""

import sys
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template import loader
from django.utils.translation import gettext as _

# Whose pages people open; elsewhere, programs read the status.
_PAGES = ("workers", "operator")


class MethodNotAllowedPage:
    """Middleware: where somebody opens an address that only takes forms, the bare 405 becomes a page with a way on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        match = request.resolver_match
        if response.status_code == 405 and match is not None and match.app_name in _PAGES:
            text = _("This address only receives forms. Go back to the page you came from, or start again.")
            return _page(405, _("Nothing to see here"), text, Allow=response.headers["Allow"])
        return response


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """What was sent cannot be understood."""
    text = _("What was sent could not be read. Please go back and try again.")
    return _page(400, _("This request cannot be read"), text)


def forbidden(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """Somebody who is logged in may not see this."""
    return _page(403, _("No access"), _("You do not have access to this page."))


def not_found(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """There is no page at this address."""
    return _page(404, _("Nothing here"), _("There is no page at this address."))


def server_error(_request: HttpRequest) -> HttpResponse:
    """Something is broken here, or the database does not answer: that passes, so it is 503."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return _page(500, _("Something went wrong"), _("This is not your fault. Please try again in a minute."))
    text = _(
        "The marketplace is waiting for its database. This page will work again as soon as the database answers. "
        "Submitted work is safe."
    )
    return _page(503, _("One moment, please"), text, **{"Retry-After": "5"})


def _page(status: int, title: str, text: str, **headers: str) -> HttpResponse:
    content = loader.render_to_string("marketplace/plain.html", {"title": title, "text": text})
    return HttpResponse(content, status=status, headers=headers)
