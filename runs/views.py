"""The pages of collections, runs and what was asked for."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core import direct
from core.errors import Refused
from core.http import Request, edits, refuse_in, see_other
from core.lists import Listing, render_lists
from core.progress import progress_of
from core.roles import Right, needs, right_of
from evaluation.files.runs import run_name
from runs import background, sending
from runs import lists as run_lists
from runs import selectors as run_selectors
from runs import services as run_services
from runs.forms import OutsideScoresForm, RunModelsForm, RunUploadForm
from runs.http import (
    added_in_words,
    begin,
    choose_collection,
    collection_of,
    collections_context,
    first_labs,
    is_too_large,
    job_asked_again,
    job_of,
    jobs_shown,
    lead_on,
    refuse_too_large,
    run_of,
)
from runs.models import Collection, Job

REFRESH = 2  # seconds between two looks of the page


@needs(Right.SIGNED_IN)
@require_GET
def collections(request: Request) -> HttpResponseBase:
    """Every collection of the user's labs."""
    context = collections_context(request) | {
        "labs": first_labs(request),
        "jobs": jobs_shown(request, kind=Job.Kind.COLLECTION),
    }
    return render_lists(request, "runs/collections.html", context)


@csrf_exempt  # as of run_upload
@needs(Right.SEE, changing=Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def outside_scores(request: Request, pk: int) -> HttpResponseBase:
    """How the collection's runs score elsewhere; a file replaces what is stored."""
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, "runs/outside_scores.html", OutsideScoresForm(None), collection=collection)
    checked: HttpResponseBase = _outside_scores_checked(request, collection)
    return checked


@csrf_protect
def _outside_scores_checked(request: Request, collection: Collection) -> HttpResponseBase:
    stored = run_selectors.outside_scores_of(collection)
    status = 200
    form = OutsideScoresForm(initial={"source": stored.source if stored else ""})
    if request.method == "POST":
        form, status = OutsideScoresForm(request.POST, request.FILES), 400
        if form.is_valid():
            file = form.cleaned_data["file"]
            try:
                outcome = run_services.outside_scores_set(
                    collection=collection,
                    source=form.cleaned_data["source"],
                    file=file,
                    filename=file.name,
                    by=request.user,
                    at=timezone.now(),
                )
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The outside scores have been stored. Results are computed again."))
                if outcome.foreign:
                    messages.warning(request, _foreign_in_words(outcome.foreign))
                return see_other("runs:outside_scores", collection.pk)
    context: dict[str, Any] = {"collection": collection, "form": form, "stored": stored}
    if stored is not None:
        scores = sorted(stored.scores.items(), key=lambda entry: (-entry[1][0], entry[0]))
        listing = Listing(request, scores, columns=run_lists.SCORE_COLUMNS)
        names = [run for run, _score in listing.page]
        keys = dict(collection.runs.filter(name__in=names).values_list("name", "id"))
        context |= {
            "listing": listing,
            "rows": [(run, score, rank, keys.get(run)) for run, (score, rank) in listing.page],
        }
    return render_lists(request, "runs/outside_scores.html", context, status=status)


def _foreign_in_words(count: int) -> str:
    return ngettext(
        "%(count)s run of the file is not in the collection. Its score counts once the run is imported.",
        "%(count)s runs of the file are not in the collection. Their scores count once the runs are imported.",
        count,
    ) % {"count": f"{count:,}"}


@needs(Right.MAINTAIN)
@require_POST
def outside_scores_delete(request: Request, pk: int) -> HttpResponse:
    run_services.outside_scores_delete(collection=collection_of(request, pk))
    messages.success(request, _("The outside scores have been deleted. Results are computed again."))
    return see_other("pools:collection", pk)


@needs(Right.SIGNED_IN)
@require_GET
def runs(request: Request) -> HttpResponseBase:
    """Every run of the user's labs."""
    runs = run_selectors.runs_of(request.user)
    context = {
        "listing": Listing(
            request, runs, sorts=run_lists.RUN_SORTS, narrow=run_lists.RunFilter, columns=run_lists.RUN_COLUMNS
        ),
        "jobs": jobs_shown(request, kind=Job.Kind.RUN),
    }
    return render_lists(request, "runs/runs.html", context)


@needs(Right.MAINTAIN)
@require_POST
def run_delete(request: Request, pk: int) -> HttpResponse:
    """Delete a run that no campaign uses."""
    run = run_of(request, pk)
    run_services.run_delete(run=run)
    messages.success(request, _("The run “%(name)s” has been deleted.") % {"name": run.name})
    return see_other("runs:runs")


@needs(Right.MAINTAIN)
@require_POST
def run_release(request: Request, pk: int) -> HttpResponse:
    """Let exports have what only this run brought, or hold it back."""
    run = run_of(request, pk)
    run_services.run_release(run=run, is_released=request.POST.get("is_released") == "yes")
    if run.is_released:
        text = _("Exports are made again, with what only “%(name)s” brought.")
    else:
        text = _("Exports are made again, without what only “%(name)s” brought.")
    messages.success(request, text % {"name": run.name})
    return see_other("pools:run", pk)


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
@edits
def run_models(request: Request, pk: int) -> HttpResponse:
    """Say which models a run uses."""
    run = run_of(request, pk)
    form = RunModelsForm(request.POST or None, initial={"models_used": run.models_used})
    if form.is_valid():
        run_services.run_describe(run=run, at=timezone.now(), **form.cleaned_data)
        messages.success(request, _("Saved. Machine judges are compared again, within a minute or two."))
        return see_other("pools:run", pk)
    page = {
        "title": _("Models"),
        "of": run.name,
        "crumbs": [(_("Runs"), reverse("runs:runs")), (run.name, reverse("pools:run", args=[pk]))],
        "heading": _("Models that “%(name)s” uses") % {"name": run.name},
        "button": _("Save"),
        "back": (_("Cancel"), reverse("pools:run", args=[pk])),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=400 if form.is_bound else 200)


def _upload_page() -> dict[str, object]:
    """What the page of an upload says around its form."""
    return {
        "title": _("Upload a run"),
        "crumbs": [(_("Runs"), reverse("runs:runs"))],
        "crumb": _("Upload"),
        "to": reverse("runs:run_upload"),
        "direct": direct.least_bytes(),
        "button": _("Check and store"),
        "note": _(
            "The file is checked line by line first. If it has errors, none of it is stored, and you see which lines "
            "to fix."
        ),
    }


@csrf_exempt  # the check would read the whole upload first; _run_upload_checked has it
@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
@direct.sends_files
def run_upload(request: Request) -> HttpResponse:
    """Upload a run file. One that is too large is refused before it is read."""
    if is_too_large(request):
        return refuse_too_large(
            request, "runs/file_form.html", RunUploadForm(None, user=request.user), **_upload_page()
        )
    checked: HttpResponse = _run_upload_checked(request)
    return checked


@csrf_protect
def _run_upload_checked(request: Request) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, Job.Kind.RUN)
        initial: dict[str, object] = {"collection": request.GET.get("collection")}
        if before is not None:
            initial = {"collection": before.collection_id, "name": before.name, **before.request}
        form = RunUploadForm(user=request.user, initial=initial)
        if form.must_choose:
            return choose_collection(request, _("Upload a run: to which collection?"), "runs:run_upload")
        return render(request, "runs/file_form.html", {"form": form, **_upload_page()})
    sent = sending.files_of(request.FILES, request.POST, request.user)
    form = RunUploadForm(request.POST, sent, user=request.user)
    status = 400
    if form.is_valid():
        data = form.cleaned_data
        try:
            job = background.run_ask(
                collection=data["collection"],
                file=data["file"],
                name=data["name"] or run_name(data["file"].name),
                team=data["team"],
                notes=data["notes"],
                models_used=data["models_used"],
                without_query=data["without_query"],
                by=request.user,
                at=timezone.now(),
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return begin(request, job)
    return render(request, "runs/file_form.html", {"form": form, **_upload_page()}, status=status)


@needs(Right.SEE)
@require_GET
def job(request: Request, pk: int) -> HttpResponse:
    """How far something is that somebody asked for, and what came of it. `?then` leads on once it is done."""
    job = job_of(request, pk)
    if job.state == Job.State.RECEIVING and job.kind == Job.Kind.COLLECTION and not job.is_fetching:
        return see_other("runs:files", job.pk)
    if job.state == Job.State.DONE and "then" in request.GET:
        return lead_on(request, job)
    context = {
        "job": job,
        "progress": progress_of(background.progress_key(job)),
        "refresh": REFRESH if job.is_open else 0,
        "uploads": job.uploads.select_related("run").order_by("is_stored", "name", "id"),
        "added": added_in_words(job.counts),
    }
    return render(request, "runs/job.html", context)


@needs(Right.MAINTAIN)
@require_POST
def job_cancel(request: Request, pk: int) -> HttpResponse:
    """Cancel a job that has not ended."""
    job = job_of(request, pk, right_of(request))
    background.job_cancel(job=job, by=request.user)
    return see_other("runs:job", job.pk)
