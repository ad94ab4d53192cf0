"""Pages inside a platform's frame: only that platform may frame them, and they may post to it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse

from core.errors import Refused
from core.languages import speak
from judgments.selectors import Terms
from platforms.models import Publication
from platforms.registry import adapter_named
from tasks import links
from tasks.models import Assignment

View = Callable[..., HttpResponse]


def submit_host(terms: Publication | Terms) -> str:
    """Where finished work is posted: from settings, never from the frame's address."""
    return adapter_named(terms.platform).submit_host


def platform_of(assignment: Assignment) -> Publication | None:
    """The publication that an assignment came through; None for a worker with a link."""
    if not assignment.platform_assignment_id:
        return None
    try:
        return assignment.campaign.publication  # asked for once: the campaign keeps it
    except Publication.DoesNotExist:
        return None


def allow_frame(response: HttpResponse, platform: str) -> HttpResponse:
    """Let the pages of the platform at this address show the response in a frame, and take a form from it. A platform
    that shows our pages in no frame has no address.
    """
    if not platform:
        return response
    parts = urlsplit(platform)
    origin = f"{parts.scheme}://{parts.netloc}"
    response.xframe_options_exempt = True
    policy = {"frame-ancestors": [origin], "form-action": ["'self'", origin]}
    response._csp_replace = policy  # type: ignore[attr-defined]  # as csp.decorators.csp_replace does to a whole view
    return response


@contextmanager
def expiring_in_frame() -> Iterator[None]:
    """Let a platform show, in its frame, that the address of work that came through it has expired."""
    try:
        yield
    except links.Expired as expired:
        publication = None if expired.assignment is None else platform_of(expired.assignment)
        expired.framed_by = None if publication is None else submit_host(publication)
        raise


def in_platforms_frame(view: View) -> View:
    """For pages of an assignment, which is looked up once and handed to the view before its token.

    If it came through a platform, that platform may show the page in a frame.
    """

    @wraps(view)
    def framed(request: HttpRequest, token: str, *arguments: Any, **named: Any) -> HttpResponse:
        with expiring_in_frame():
            assignment = links.assignment_of(token)
        speak(request, assignment.campaign.language)
        publication = platform_of(assignment)
        if publication is None:
            return view(request, assignment, token, *arguments, **named)
        platform = submit_host(publication)
        try:
            return allow_frame(view(request, assignment, token, *arguments, **named), platform)
        except Refused as refused:
            refused.framed_by = platform
            raise

    return framed
