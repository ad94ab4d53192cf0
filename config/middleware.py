"""Where refusals become answers."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from judgments.framing import allow_frame
from pools.errors import Refused


class RefusalsAsPages:
    """Answer a Refused with its own sentence: a page for people, JSON for scripts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, Refused):
            return None
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse({"error": str(exception)}, status=exception.status)
        way_out = exception.way_out
        if way_out is None and request.user.is_authenticated:
            way_out = (reverse("pools:campaigns"), _("Go to the campaigns"))
        link = {"url": way_out[0], "label": way_out[1]} if way_out else None
        context = {"title": exception.title, "text": str(exception), "link": link}
        response = render(request, "message.html", context, status=exception.status)
        add_never_cache_headers(response)
        return allow_frame(response, exception.framed_by) if exception.framed_by else response
