"""Where refusals become answers."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

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
        context = {"title": exception.title, "text": str(exception)}
        return render(request, "message.html", context, status=exception.status)
