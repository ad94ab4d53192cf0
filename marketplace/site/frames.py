"""The frame that a task is done in: where it points, what it may do, and what it sends back.

Two kinds of pages stand in it. A requester's page comes from the requester's own origin. A requester's HTML is served
from here, but as a document without an origin (CSP `sandbox` without allow-same-origin): it reads no cookie and no
page of ours, wherever it is opened. Neither may move the page around it: when work is submitted, the page around the
frame finds out by itself, and has a link for those without JavaScript.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from csp.constants import HEADER, SELF
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from marketplace import clock
from marketplace.errors import DoesNotExist, Refused, WrongState
from marketplace.models import Assignment, Hit, Worker
from marketplace.questions import PREVIEW_ASSIGNMENT, Question
from marketplace.selectors import work
from marketplace.selectors.lookups import worker_of
from marketplace.services.assignments import assignment_submit
from marketplace.services.due import catch_up
from marketplace.site.words import refusal_said

ALLOWED = "allow-forms allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads"
"""What a requester's page may do. Not: move the page around it, or, served from here, have our origin."""
FEATURES = "autoplay; camera; clipboard-write; fullscreen; microphone"
"""What a requester's page may ask the worker's browser for. The browser asks the worker, where it matters."""
PREVIEW_SECONDS = 86_400
_SALT = "marketplace.question"
_ID = re.compile("[A-Za-z0-9]{1,64}")
# Comments and white space, and a doctype: nothing that puts anything on the page.
_BEFORE_HTML = re.compile(r"\ufeff?(?:\s|<!--(?:(?!-->).)*-->)*<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")


class Frame(NamedTuple):
    """An iframe: its address, its sandbox, its height in pixels (0: as fits), and the origins that it may show."""

    address: str
    sandbox: str
    height: int
    origins: Sequence[str]
    allow: str = FEATURES


def frame_of(hit: Hit, question: Question, *, worker: Worker, assignment: Assignment | None = None) -> Frame:
    """The frame of a task: for its preview, or for work on an assignment. In a preview no worker is named."""
    told = {
        "assignmentId": assignment.assignment_id if assignment else PREVIEW_ASSIGNMENT,
        "hitId": hit.hit_id,
        **({"workerId": worker.worker_id} if assignment else {}),
        "turkSubmitTo": settings.MARKETPLACE_URL,
    }
    ours = [SELF, origin_of(settings.MARKETPLACE_URL)]  # where the form in the frame is sent to
    if question.html:
        token = signing.dumps(
            [hit.hit_id, worker.worker_id, assignment.assignment_id if assignment else ""], salt=_SALT
        )
        address = reverse("site:question", args=[token], query=told)
        return Frame(address, ALLOWED, question.frame_height, ours)
    parts = urlsplit(question.url)
    query = "&".join(filter(None, (parts.query, urlencode(told))))
    origin = origin_of(question.url)
    own = origin == origin_of(settings.MARKETPLACE_URL)
    sandbox = ALLOWED if own else f"{ALLOWED} allow-same-origin"
    return Frame(urlunsplit(parts._replace(query=query)), sandbox, question.frame_height, [origin, *ours])


def origin_of(address: str) -> str:
    """Scheme, host and port, fit for a content policy; none's address gives `'none'`."""
    parts = urlsplit(address)
    try:
        host = (parts.hostname or "").encode("idna").decode() if ":" not in (parts.hostname or "") else parts.hostname
        port = f":{parts.port}" if parts.port else ""
    except (UnicodeError, ValueError):
        return "'none'"
    host = f"[{host}]" if host and ":" in host else host or ""
    return f"{parts.scheme}://{host}{port}" if _HOST.fullmatch(host) else "'none'"


@require_safe
@xframe_options_exempt
def question(request: HttpRequest, token: str) -> HttpResponse:
    """A requester's HTML, in a document without an origin. The token says for whom: there are no cookies in there."""
    catch_up()
    try:
        hit_id, worker_id, assignment_id = signing.loads(token, salt=_SALT, max_age=None)
        worker = worker_of(worker_id)
        if assignment_id:
            assignment = work.assignment_of(worker, assignment_id)
            if assignment.state != Assignment.State.ACCEPTED:
                raise WrongState("Assignment", Assignment.State.ACCEPTED)
            html = work.question_of(assignment.hit).html
        else:
            signing.loads(token, salt=_SALT, max_age=PREVIEW_SECONDS)
            html = work.hit_preview(worker, hit_id).question.html
    except signing.BadSignature:
        return _framed(request, _("Nothing here"), _("Open the task again from the list."), status=404)
    except Refused as refused:
        said = refusal_said(refused)
        return _framed(request, said.title, said.text, status=said.status)
    before, after = (_script(request, name) for name in ("turk.js", "question.js"))
    start = _BEFORE_HTML.match(html)
    head = start.end() if start else 0  # a script before the doctype would change how the page is drawn
    page = f"{html[:head]}{before}{html[head:]}\n{after}\n"
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    response[HEADER] = f"sandbox {ALLOWED}; frame-ancestors 'self'"
    add_never_cache_headers(response)
    return response


def _script(request: HttpRequest, name: str) -> str:
    return f'<script src="{request.build_absolute_uri(static(f"marketplace/{name}"))}"></script>'


@require_http_methods(["GET", "POST"])
@csrf_exempt
@xframe_options_exempt
def external_submit(request: HttpRequest) -> HttpResponse:
    """Where the form in a task's frame is sent. Nobody is logged in there, and the form comes from another site.

    The assignment id is the authority: nobody but the worker who holds the task was told it, and it cannot be guessed.
    Sending the same again changes nothing and gets the same answer. Some requesters' pages send a GET: it counts.
    """
    request.upload_handlers = []  # files are not taken, nor kept anywhere
    sent = [
        (name, value)
        for source in (request.GET, request.POST)
        for name, values in source.lists()
        for value in values
        if isinstance(value, str)
    ]
    ids = [value for name, value in sent if name == "assignmentId"]
    if not ids or ids[-1] == PREVIEW_ASSIGNMENT:
        return _framed(
            request,
            _("This was a preview"),
            _("Nothing was sent. Accept the task first: the button stands above."),
            status=400,
        )
    catch_up()
    try:
        if not _ID.fullmatch(ids[-1]):
            raise DoesNotExist("Assignment", ids[-1])
        assignment = assignment_submit(
            assignment_id=ids[-1], fields=[(name, value) for name, value in sent if name != "assignmentId"]
        )
    except Refused as refused:
        said = refusal_said(refused)
        return _framed(request, said.title, said.text, status=said.status)
    return _framed(
        request,
        _("Your work is in"),
        _("The requester has it now, and you can go on."),
        status=200,
        link=f"{settings.MARKETPLACE_URL}{reverse('site:work', args=[assignment.assignment_id])}",
    )


def _framed(request: HttpRequest, title: str, text: str, *, status: int, link: str = "") -> HttpResponse:
    """A small page of ours that may stand in a frame of ours, and nowhere else."""
    framed = request.headers.get("Sec-Fetch-Dest") in ("iframe", "frame")
    context = {"title": title, "text": text, "link": link, "framed": framed, "at": clock.now()}
    response = render(request, "marketplace/site/framed.html", context, status=status)
    response._csp_replace = {  # type: ignore[attr-defined]  # read by csp's middleware
        "frame-ancestors": [SELF],
        "frame-src": ["'none'"],
    }
    add_never_cache_headers(response)
    return response
