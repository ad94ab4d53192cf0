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
            headers = {"Allow": response.headers["Allow"]}
            return HttpResponse(loader.render_to_string("405.html"), status=405, headers=headers)
        return response


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """What was sent cannot be understood."""
    return HttpResponse(loader.render_to_string("400.html"), status=400)


def forbidden(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """Somebody who is logged in may not see this."""
    return HttpResponse(loader.render_to_string("403.html"), status=403)


def not_found(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """There is no page at this address."""
    return HttpResponse(loader.render_to_string("404.html"), status=404)


def server_error(_request: HttpRequest) -> HttpResponse:
    """Something is broken here, or the database does not answer: that passes, so it is 503."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return HttpResponse(loader.render_to_string("500.html"), status=500)
    return HttpResponse(loader.render_to_string("503.html"), status=503, headers={"Retry-After": "5"})
