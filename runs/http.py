"""What pages about collections, runs and jobs share: finding them, taking a file, beginning a job and leading on."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.csrf import csrf_protect
from kombu.exceptions import OperationalError

from core import direct
from core.errors import Refused
from core.http import Request, refuse_in, see_other
from core.lists import Listing
from core.models import Lab
from core.roles import Right, labs_of, right_of
from evaluation.files.runs import run_name
from runs import background, sending
from runs import jobs as run_jobs
from runs import lists as run_lists
from runs import selectors as run_selectors
from runs.forms import AnswersForm
from runs.models import Collection, Job, Run
from runs.sending import MEGABYTE, too_large

JOBS = 10  # in progress, or without success, on a page


log = logging.getLogger(__name__)
FORM_BYTES = MEGABYTE  # what an upload's other fields may add to its file


def collection_of(request: Request, pk: str | int) -> Collection:
    """The collection, if the user has the right that the address needs. Raises NotYours and NotAllowed."""
    return run_selectors.collection_for(request.user, pk, right_of(request))


def run_of(request: Request, pk: int) -> Run:
    """The run, if the user has the right that the address needs. Raises NotYours and NotAllowed."""
    return run_selectors.run_for(request.user, pk, right_of(request))


def collections_context(request: Request, right: Right = Right.SEE) -> dict[str, Any]:
    collections = run_selectors.collections_of(request.user, right)
    listing = Listing(
        request,
        collections.select_related("lab"),
        sorts=run_lists.COLLECTION_SORTS,
        narrow=run_lists.CollectionFilter,
        columns=run_lists.COLLECTION_COLUMNS,
        lines=run_selectors.collection_rows,
    )
    return {"listing": listing, "rows": run_selectors.collection_rows(listing.page.object_list)}


def choose_collection(request: Request, heading: str, target: str, template: str = "") -> HttpResponse:
    """The collections, each of which leads on to a page that needs one, and may be opened for it. The only one does so
    by itself.
    """
    context = collections_context(request, right_of(request)) | {
        "heading": heading,
        "target": target,
        "template": template if template.isdecimal() else "",
    }
    listing, rows = context["listing"], context["rows"]
    if len(rows) == 1 and not listing.is_narrowed:
        query = {"collection": rows[0].collection.pk} | ({"template": template} if template.isdecimal() else {})
        return HttpResponseRedirect(f"{reverse(target)}?{urlencode(query)}")
    listing.columns = None
    return render(request, "runs/choose_collection.html", context)


def first_labs(request: Request) -> list[Lab]:
    """A page asks no more than whether there are labs, and several."""
    return list(labs_of(request.user).order_by("name")[:2])


class ImportPage(NamedTuple):
    """A page on which a file is imported into a collection. `ask` takes the form's values and makes a job of `kind`;
    `words` is what the page says around the form (core/form.html).
    """

    kind: Job.Kind
    words: Callable[[Collection], dict[str, object]]
    form: type[AnswersForm]
    ask: Callable[..., Job]


@direct.sends_files
def import_file(request: Request, pk: int, page: ImportPage) -> HttpResponse:
    """Show a page of an import, or ask for it. A file that is too large is refused before it is read: the view is
    exempt from the check of the form's origin, which would read all of it, and that is checked here afterwards.
    """
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, "runs/file_form.html", page.form(None), **_around(collection, page))
    checked: HttpResponse = _import_checked(request, collection, page)
    return checked


@csrf_protect
def _import_checked(request: Request, collection: Collection, page: ImportPage) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, page.kind)
        initial = None if before is None else {"name": before.name, **before.request}
        return render(request, "runs/file_form.html", {"form": page.form(initial=initial), **_around(collection, page)})
    form = page.form(request.POST, sending.files_of(request.FILES, request.POST, request.user))
    status = 400
    if form.is_valid():
        fields = form.cleaned_data
        fields["name"] = fields["name"] or run_name(fields["file"].name)
        try:
            job = page.ask(collection=collection, by=request.user, at=timezone.now(), **fields)
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return begin(request, job)
    return render(request, "runs/file_form.html", {"form": form, **_around(collection, page)}, status=status)


def _around(collection: Collection, page: ImportPage) -> dict[str, object]:
    """The words of an import's page, below those that are the same on all of them."""
    words = page.words(collection)
    crumbs = [
        (_("Collections"), reverse("runs:collections")),
        (collection.name, reverse("pools:collection", args=[collection.pk])),
        *words.pop("crumbs", []),  # type: ignore[misc]
    ]
    return {"crumbs": crumbs, "direct": direct.least_bytes(), "button": _("Check and store"), **words}


def is_too_large(request: Request, megabytes: int | None = None) -> bool:
    length = request.META.get("CONTENT_LENGTH") or "0"
    most = settings.UPLOAD_MEGABYTES if megabytes is None else megabytes
    return request.method == "POST" and int(length) > most * MEGABYTE + FORM_BYTES


def refuse_too_large(request: Request, template: str, form: Form | None, **context: object) -> HttpResponse:
    response = render(request, template, {"form": form, "refused": too_large(), **context}, status=413)
    response["Connection"] = "close"
    return response


def begin_to_send(request: Request, begin: Callable[..., sending.Sending]) -> HttpResponse:
    """Begin to send a file straight to the bucket, of which `name` and `size` are posted: where its parts go."""
    name, size = request.POST.get("name", ""), request.POST.get("size", "")
    bytes_of_it = int(size) if size.isdecimal() and len(size) < 19 else 0
    return _sending_response(
        lambda: begin(user=request.user, name=name, size=bytes_of_it, at=timezone.now()), status=201
    )


def go_on_sending(request: Request, token: str) -> HttpResponse:
    """Where what is missing of a file goes; nowhere, once it is whole."""
    return _sending_response(lambda: sending.sending_continue(token=token, user=request.user))


def _sending_response(do: Callable[[], sending.Sending], status: int = 200) -> HttpResponse:
    try:
        state = do()
    except Refused as error:
        return JsonResponse({"error": str(error)}, status=error.status)
    parts = [part._asdict() for part in state.parts]
    return JsonResponse({**state._asdict(), "parts": parts}, status=status)


def jobs_shown(request: Request, **which: object) -> Listing:
    jobs = run_selectors.jobs_shown(run_selectors.jobs_of(request.user).filter(**which), timezone.now())
    return Listing(request, jobs, key="jobs", size=JOBS, columns=run_lists.JOB_COLUMNS)


def job_of(request: Request, pk: int, right: Right = Right.SEE) -> Job:
    """The job, if the user has the right. Raises NotYours and NotAllowed."""
    return run_selectors.job_for(request.user, pk, right)  # SEE also where one that was asked for leads on


def job_asked_again(request: Request, kind: str) -> Job | None:
    """The job whose form is shown again with what was entered (`?again=`)."""
    key = request.GET.get("again", "")
    is_key = key.isdecimal() and len(key) < 19  # what a key can be
    return run_selectors.jobs_of(request.user).filter(pk=key, kind=kind).first() if is_key else None


def begin(request: Request, job: Job) -> HttpResponse:
    """Do a small job at once, and have any other done in the background."""
    if background.is_small(job):
        background.job_do(job_id=job.pk)
        job = job_of(request, job.pk)
    if job.state == Job.State.DONE:
        return lead_on(request, job)
    if job.is_open:
        try:
            run_jobs.work.delay(job.pk)
        except OperationalError as error:
            log.warning("Job %s waits for the next tick: %s", job.pk, error)
    response = see_other("runs:job", job.pk)
    response["Location"] += "?then"
    return response


def lead_on(request: Request, done: Job) -> HttpResponse:
    """To what came of a job, and say that it is there."""
    name = {"name": done.name}
    if done.kind == Job.Kind.RUN and done.run_id:
        messages.success(request, _("The run “%(name)s” has been checked and stored.") % name)
        return see_other("pools:run", done.run_id)
    if done.kind == Job.Kind.CAMPAIGN and done.outcome_id and "draft" in done.request:
        messages.success(request, _("The draft has been changed. Its pools and its bill follow from the new settings."))
        return see_other("campaigns:campaign", done.outcome_id)
    if done.kind == Job.Kind.JUDGMENTS and done.outcome_id:
        messages.success(request, _("The judgments have been imported. The results follow in a moment."))
        return see_other("campaigns:campaign", done.outcome_id)
    if done.kind == Job.Kind.CAMPAIGN and done.outcome_id:
        messages.success(
            request, _("The campaign has been created as a draft. Check its pools and its bill, then start it.")
        )
        return see_other("campaigns:campaign", done.outcome_id)
    if done.kind == Job.Kind.COLLECTION and done.collection_id:
        if done.counts.get("refused"):
            return see_other("runs:job", done.pk)
        messages.success(request, added_in_words(done.counts))
        return see_other("pools:collection", done.collection_id)
    if done.kind == Job.Kind.MACHINE and done.collection_id:
        messages.success(request, _("The answers of “%(name)s” have been imported.") % name)
        return see_other("machines:machines", done.collection_id)
    if done.kind == Job.Kind.PREFERENCES and done.collection_id:
        judgments, pairs = done.counts["judgments"], done.counts["pairs"]
        names = {
            "judgments": ngettext("%(n)s judgment", "%(n)s judgments", judgments) % {"n": f"{judgments:,}"},
            "pairs": ngettext("%(n)s pair", "%(n)s pairs", pairs) % {"n": f"{pairs:,}"},
        }
        messages.success(request, _("Imported: %(judgments)s on %(pairs)s.") % names)
        return see_other("pools:collection", done.collection_id)
    return see_other("runs:job", done.pk)


def added_in_words(counts: Mapping[str, int]) -> str:
    """What files added to a collection."""
    parts = [
        ngettext("%(count)s query", "%(count)s queries", counts.get("queries", 0)),
        ngettext("%(count)s qrel", "%(count)s qrels", counts.get("qrels", 0)),
        ngettext("%(count)s run", "%(count)s runs", counts.get("runs", 0)),
        ngettext("%(count)s passage", "%(count)s passages", counts.get("passages", 0)),
    ]
    numbers = [counts.get(name, 0) for name in ("queries", "qrels", "runs", "passages")]
    words = [part % {"count": f"{number:,}"} for part, number in zip(parts, numbers, strict=True) if number]
    return _("Added: %(what)s.") % {"what": ", ".join(words) or _("nothing new")}
