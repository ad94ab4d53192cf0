"""What somebody typed is kept to be sent again where the log-in has ended, or another has begun since: see ui.typed."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from ui.typed import keep, tell_taken, writer_of

_PAGES = ("workers", "operator")
_FOR_ANYBODY = ("login", "logout", "register", "language", "password_new")


class TypedIsKept:
    """Middleware: a form that is sent after a log-in has ended, or by somebody else, is kept to be sent again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        tell_taken(request, response)
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        match = request.resolver_match
        if request.method != "POST" or match is None or match.app_name not in _PAGES or match.url_name in _FOR_ANYBODY:
            return None
        return None if writer_of(request) == request.user.pk else keep(request)
