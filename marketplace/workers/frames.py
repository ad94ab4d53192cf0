"""The frame that a task is done in: where it points, what it may do, and what it sends back.

It shows one of two kinds of pages. A requester's page comes from the requester's own origin. A requester's HTML is
served from here, but as a document without an origin (CSP `sandbox` without allow-same-origin): it reads no cookie and
no page of ours, wherever it is opened. Neither may move the page around it: when work is submitted, the page around the
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
from marketplace.selectors import tasks as task_selectors
from marketplace.selectors.lookups import worker_of
from marketplace.sentences import explain_refusal
from marketplace.services.assignments import assignment_submit
from marketplace.services.due import catch_up

# What a requester's page may do. Not: move the page around it, or, served from here, have our origin.
ALLOWED = "allow-forms allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads"
# What a requester's page may ask the worker's browser for. The browser asks the worker, where it matters.
FEATURES = "autoplay; camera; clipboard-write; fullscreen; microphone"
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


def make_frame(hit: Hit, question: Question, *, worker: Worker, assignment: Assignment | None = None) -> Frame:
    """Make the frame of a task: for its preview, or for work on an assignment. In a preview no worker is named."""
    parameters = {
        "assignmentId": assignment.assignment_id if assignment else PREVIEW_ASSIGNMENT,
        "hitId": hit.hit_id,
        **({"workerId": worker.worker_id} if assignment else {}),
        "turkSubmitTo": settings.MARKETPLACE_URL,
    }
    marketplace_origin = write_origin(settings.MARKETPLACE_URL)
    form_targets = [SELF, marketplace_origin]
    if question.html:
        token = signing.dumps(
            [hit.hit_id, worker.worker_id, assignment.assignment_id if assignment else ""], salt=_SALT
        )
        address = reverse("workers:question", args=[token], query=parameters)
        return Frame(address, ALLOWED, question.frame_height, form_targets)
    parts = urlsplit(question.url)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    origin = write_origin(question.url)
    sandbox = ALLOWED if origin == marketplace_origin else f"{ALLOWED} allow-same-origin"
    return Frame(urlunsplit(parts._replace(query=query)), sandbox, question.frame_height, [origin, *form_targets])


def write_origin(address: str) -> str:
    """Write an address's scheme, host and port for a content policy: `'none'` if it is not an address."""
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
    """Show a requester's HTML in a document without an origin. The token says for whom: no cookies reach it."""
    catch_up()
    try:
        hit_id, worker_id, assignment_id = signing.loads(token, salt=_SALT, max_age=None)
        worker = worker_of(worker_id)
        if assignment_id:
            assignment = task_selectors.assignment_of(worker, assignment_id)
            if assignment.state != Assignment.State.ACCEPTED:
                raise WrongState("Assignment", Assignment.State.ACCEPTED)
            html = task_selectors.question_of(assignment.hit).html
        else:
            signing.loads(token, salt=_SALT, max_age=PREVIEW_SECONDS)
            html = task_selectors.hit_preview(worker, hit_id).question.html
    except signing.BadSignature:
        return _show_framed(request, _("Nothing here"), _("Open the task again from the list of tasks."), status=404)
    except Refused as refused:
        explanation = explain_refusal(refused)
        return _show_framed(request, explanation.title, explanation.text, status=explanation.status)
    before, after = (_write_script(request, name) for name in ("turk.js", "question.js"))
    start = _BEFORE_HTML.match(html)
    head = start.end() if start else 0  # a script before the doctype would change how the page is drawn
    page = f"{html[:head]}{before}{html[head:]}\n{after}\n"
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    response[HEADER] = f"sandbox {ALLOWED}; frame-ancestors 'self'"
    add_never_cache_headers(response)
    return response


def _write_script(request: HttpRequest, name: str) -> str:
    return f'<script src="{request.build_absolute_uri(static(f"marketplace/js/{name}"))}"></script>'


@require_http_methods(["GET", "POST"])
@csrf_exempt
@xframe_options_exempt
def external_submit(request: HttpRequest) -> HttpResponse:
    """Where the form in a task's frame is sent. Nobody is logged in there, and the form comes from another site.

    The assignment id is the authority: nobody but the worker who holds the task was told it, and it cannot be guessed.
    Sending the same again changes nothing and gets the same answer. Some requesters' pages send a GET: it counts.
    """
    request.upload_handlers = []  # files are not taken, nor kept anywhere
    fields = [
        (name, value)
        for source in (request.GET, request.POST)
        for name, values in source.lists()
        for value in values
        if isinstance(value, str)
    ]
    ids = [value for name, value in fields if name == "assignmentId"]
    if not ids or ids[-1] == PREVIEW_ASSIGNMENT:
        return _show_framed(
            request,
            _("This was a preview"),
            _("Nothing was submitted. Accept the task first, with the button above."),
            status=400,
        )
    catch_up()
    try:
        if not _ID.fullmatch(ids[-1]):
            raise DoesNotExist("Assignment", ids[-1])
        assignment = assignment_submit(
            assignment_id=ids[-1], fields=[(name, value) for name, value in fields if name != "assignmentId"]
        )
    except Refused as refused:
        explanation = explain_refusal(refused)
        return _show_framed(request, explanation.title, explanation.text, status=explanation.status)
    return _show_framed(
        request,
        _("Your work has been submitted"),
        _("The requester has received it. You can continue."),
        status=200,
        link=f"{settings.MARKETPLACE_URL}{reverse('workers:work', args=[assignment.assignment_id])}",
    )


def _show_framed(request: HttpRequest, title: str, text: str, *, status: int, link: str = "") -> HttpResponse:
    """Render a small page of ours that may be shown in a frame of ours, and nowhere else."""
    is_framed = request.headers.get("Sec-Fetch-Dest") in ("iframe", "frame")
    context = {"title": title, "text": text, "link": link, "framed": is_framed, "at": clock.now()}
    response = render(request, "marketplace/workers/framed.html", context, status=status)
    response._csp_replace = {  # type: ignore[attr-defined]  # read by csp's middleware
        "frame-ancestors": [SELF],
        "frame-src": ["'none'"],
    }
    add_never_cache_headers(response)
    return response
