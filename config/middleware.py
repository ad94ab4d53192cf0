"""What holds for every page: how long a log-in lasts, what a browser keeps and may do, how refusals look."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.auth.views import redirect_to_login
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.middleware.locale import LocaleMiddleware
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from core.audit.origin import acting, request_origin
from core.direct import Redirect
from core.errors import Refused
from core.logs import REQUEST_ID
from core.models import User
from core.roles import NotAllowed, Right, check_address, right_of
from judgments.pages.framing import allow_frame
from ui import typed

PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        *("accelerometer", "autoplay", "browsing-topics", "camera", "display-capture", "geolocation"),
        *("gyroscope", "hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb", "xr-spatial-tracking"),
    )
)


class RequestIds:
    """Give each request an id: in every line that is logged about it, by the jobs that it asks for too, and in the
    answer. It is not taken back when the view ends, since what is streamed is made after that.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = secrets.token_hex(8)
        REQUEST_ID.set(request_id)
        response = self.get_response(request)
        response["X-Request-ID"] = request_id
        return response


class PrivatePages:
    """Let no browser or proxy keep a page, since many people share browsers, and let no page use a device. What
    somebody typed, their own tab keeps until it is taken.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        typed.tell_taken(request, response)
        if "Cache-Control" not in response.headers:
            add_never_cache_headers(response)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response


class SessionsEnd:
    """End a log-in that nobody has used for SESSION_COOKIE_AGE seconds, or that began SESSION_LONGEST seconds ago.

    Using the site renews it, with a write at most once in SESSION_RENEWED seconds. A page that refreshes by itself is
    not used by anybody.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            now = timezone.now().timestamp()
            if now - request.session.get("began", now) > settings.SESSION_LONGEST:
                logout(request)
            elif (
                "HX-Request" not in request.headers and now - request.session.get("seen", 0) > settings.SESSION_RENEWED
            ):
                request.session["seen"] = now
                request.session.setdefault("began", now)
                if request.user.is_authenticated:
                    User.objects.filter(pk=request.user.pk).update(last_seen_at=timezone.now())
        return self.get_response(request)


class WorkersLanguage(LocaleMiddleware):
    """The workers' pages begin in the browser's language, until their campaign's is known (`core.languages`).

    All other pages are in English: the catalogues hold what workers read, and half a page would be in their language.
    """

    PATHS = ("/c/", "/m/", "/w/", "/j/")

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info.startswith(self.PATHS):
            super().process_request(request)
        else:
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = translation.get_language()


class AuditNamesWhoActs:
    """Have what a request changes recorded with the person who sent it, where from and why (core/audit)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(lambda: request_origin(request)):
            return self.get_response(request)


class RolesAreKept:
    """Ask whoever opens a page that is not public to log in, and check what it needs (core/roles.py).

    A view that does not say what it needs is an error. Views of the API ask for a token themselves.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _arguments: Any, named: dict[str, Any]
    ) -> HttpResponse | None:
        if right_of(request) == Right.PUBLIC:
            return None
        if request.user.is_authenticated:
            reads_itself = getattr(view, "csrf_exempt", False)  # it says what is wrong with what was sent
            if not reads_itself and typed.writer_of(request) not in (None, request.user.pk):
                return typed.keep(request)
            try:
                check_address(request, names_nothing=not named)
            except NotAllowed as refused:
                return answer_refusal(request, refused)
        elif getattr(view, "login_required", True):
            return typed.keep(request) or redirect_to_login(request.get_full_path())
        return None


class HeadStaysHere:
    """Answer HEAD without a redirect to a bucket, whose addresses are signed for GET."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.method == "HEAD" and isinstance(response, Redirect):
            response.describe()
        return response


class LargePieces:
    """Send what views stream line by line in pieces of some size, since sending a piece costs as much as making many
    lines. Files from a disk are in such pieces already.
    """

    BYTES = 1 << 16

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
            response.streaming_content = self._pieces(cast(Iterator[bytes], response.streaming_content))
        return response

    def _pieces(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        piece = bytearray()
        for line in lines:
            piece += line
            if len(piece) >= self.BYTES:
                yield bytes(piece)
                piece.clear()
        if piece:
            yield bytes(piece)


class RefusalsAsPages:
    """Answer a Refused with its own sentence: a page for people, JSON for scripts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 405 and not response.content and request.method == "GET":
            return self._only_forms(request, response)
        return response

    def _only_forms(self, request: HttpRequest, refused: HttpResponse) -> HttpResponse:
        """A page for a visitor who opened an address that only accepts forms."""
        link = {"url": reverse("campaigns:campaigns"), "label": _("Go to the campaigns")}
        context = {
            "title": _("Page not found"),
            "text": _("This address only accepts a form. Nothing was changed. Go back and use the button on the page."),
            "link": link if request.user.is_authenticated else None,
        }
        response = render(request, "message.html", context, status=405)
        response["Allow"] = refused["Allow"]
        add_never_cache_headers(response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return answer_refusal(request, exception) if isinstance(exception, Refused) else None


def answer_refusal(request: HttpRequest, refused: Refused) -> HttpResponse:
    """A refusal as a page, or as JSON for a script."""
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"error": str(refused)}, status=refused.status)
    way_out = refused.way_out
    if way_out is None and request.user.is_authenticated:
        way_out = (reverse("campaigns:campaigns"), _("Go to the campaigns"))
    link = {"url": way_out[0], "label": way_out[1]} if way_out else None
    context = {"title": _(refused.title), "text": str(refused), "link": link}
    response = render(request, "message.html", context, status=refused.status)
    add_never_cache_headers(response)
    return allow_frame(response, refused.framed_by) if refused.framed_by else response
