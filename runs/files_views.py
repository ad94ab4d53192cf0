"""The pages on which somebody brings files into a collection, and sees which texts it lacks."""

from collections.abc import Iterator

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.forms import Form
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core import direct
from core.errors import Refused
from core.http import Request, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs, right_of
from runs import background, receiving, sending
from runs import selectors as run_selectors
from runs.forms import CollectionForm, ReadForm
from runs.http import begin, collection_of, is_too_large, job_asked_again, job_of, refuse_too_large
from runs.models import Collection, Job, Upload
from runs.sending import too_large

# What a file can be said to be.
PARTS = [(part.value, part.label) for part in (*receiving.READ, Upload.Part.NONE)]


@csrf_exempt  # as of run_upload
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@direct.sends_files
def collection_new(request: Request) -> HttpResponse:
    """A new collection: its name, and files."""
    if is_too_large(request):
        form = CollectionForm(None, user=request.user)
        return refuse_too_large(request, "runs/collection_files.html", form, **_limits())
    try:
        checked: HttpResponse = _collection_new_checked(request)
    except TooManyFilesSent:
        form = CollectionForm(None, user=request.user)
        return _refuse_too_many(request, "runs/collection_files.html", form, **_limits())
    return checked


@csrf_protect
def _collection_new_checked(request: Request) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, Job.Kind.COLLECTION)
        initial = None if before is None else {"lab": before.lab_id, "name": before.name, **before.request}
        form = CollectionForm(user=request.user, initial=initial)
        return render(request, "runs/collection_files.html", {"form": form, **_limits()})
    form = CollectionForm(request.POST, user=request.user)
    if not form.is_valid():
        return render(request, "runs/collection_files.html", {"form": form, **_limits()}, status=400)
    data = form.cleaned_data
    job = receiving.files_open(
        lab=data["lab"],
        name=data["name"],
        language=data["language"],
        collection=None,
        by=request.user,
        at=timezone.now(),
    )
    return _take(request, job)


@csrf_exempt  # as of run_upload
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@direct.sends_files
def collection_add(request: Request, pk: int) -> HttpResponse:
    """More files for a collection."""
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, "runs/collection_files.html", None, collection=collection, **_limits())
    try:
        checked: HttpResponse = _collection_add_checked(request, collection)
    except TooManyFilesSent:
        return _refuse_too_many(request, "runs/collection_files.html", None, collection=collection, **_limits())
    return checked


@csrf_protect
def _collection_add_checked(request: Request, collection: Collection) -> HttpResponse:
    if request.method == "GET":
        return render(request, "runs/collection_files.html", {"collection": collection, **_limits()})
    lab, by, at = collection.lab, request.user, timezone.now()
    job = receiving.files_open(lab=lab, name=collection.name, language=None, collection=collection, by=by, at=at)
    return _take(request, job)


@csrf_exempt  # as of run_upload
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@direct.sends_files
def files(request: Request, pk: int) -> HttpResponse:
    """Files that were received: what each seems to be. Further ones can be sent."""
    job = job_of(request, pk, right_of(request))
    if job.state != Job.State.RECEIVING or job.is_fetching:
        return see_other("runs:job", job.pk)
    if is_too_large(request):
        if _is_script(request):
            return _answer_in_json(too_large(), 413)
        return refuse_too_large(request, "runs/files.html", ReadForm(), **_files_context(job))
    try:
        checked: HttpResponse = _files_checked(request, job)
    except TooManyFilesSent:
        return _refuse_too_many(request, "runs/files.html", ReadForm(), **_files_context(job))
    return checked


@csrf_protect
def _files_checked(request: Request, job: Job) -> HttpResponse:
    if request.method == "POST":
        return _take(request, job)
    return render(request, "runs/files.html", {"form": ReadForm(), **_files_context(job)})


def _take(request: Request, job: Job) -> HttpResponse:
    """Keep the files that a request brings, and show them all."""
    try:
        sent = sending.files_of(request.FILES, request.POST, request.user).getlist("files")
        receiving.files_must_fit(job=job, more=len(sent))
    except Refused as error:
        if _is_script(request):
            return _answer_in_json(str(error), error.status)
        messages.error(request, f"{error} {_('None of the files you sent was kept.')}")
        return see_other("runs:files", job.pk)
    for file in sent:
        try:
            _keep(job, file)
        except Refused as error:
            if _is_script(request):
                return _answer_in_json(str(error), error.status)
            messages.error(request, str(error))
    if _is_script(request):
        return _answer_in_json("", 201)
    return see_other("runs:files", job.pk)


def _keep(job: Job, file: "UploadedFile") -> None:  # type: ignore[type-arg]  # generic in its stubs only
    if (file.size or 0) > settings.UPLOAD_MEGABYTES * sending.MEGABYTE:
        raise Refused(too_large())
    receiving.file_add(job=job, file=file)


def _refuse_too_many(request: Request, template: str, form: Form | None, **context: object) -> HttpResponse:
    """The page again, once the rest of what was sent has been read: browsers show no answer before."""
    while request.read(1 << 20):
        pass
    refused = f"{receiving.too_many()} {_('None of the files you sent was kept.')}"
    return render(request, template, {"form": form, "refused": refused, **context}, status=400)


def _is_script(request: Request) -> bool:
    """Whether the page's script sent it, one file at a time."""
    return request.headers.get("Accept") == "application/json"


def _answer_in_json(error: str, status: int) -> HttpResponse:
    return JsonResponse({"error": error}, status=status)


def _limits() -> dict[str, object]:
    return {
        "megabytes": settings.UPLOAD_MEGABYTES,
        "most": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        "direct": direct.least_bytes(),
    }


def _files_context(job: Job) -> dict[str, object]:
    return {"job": job, "uploads": job.uploads.order_by("name", "id"), "parts": PARTS, **_limits()}


@needs(Right.DESIGN)
@require_POST
@direct.sends_files
def files_read(request: Request, pk: int) -> HttpResponse:
    """Have the files read, each as what the form says; or take one of them away."""
    job = job_of(request, pk, right_of(request))
    if job.is_fetching:
        return see_other("runs:job", job.pk)
    removed = request.POST.get("remove", "")
    if removed.isdecimal():
        if upload := job.uploads.select_related("job").filter(pk=removed[:18]).first():
            receiving.file_remove(upload=upload)
        return see_other("runs:files", job.pk)
    form = ReadForm(request.POST)
    if not form.is_valid():
        return render(request, "runs/files.html", {"form": form, **_files_context(job)}, status=400)
    chosen = {
        upload.pk: part
        for upload in job.uploads.all()
        if (part := request.POST.get(f"part-{upload.pk}")) in Upload.Part.values
    }
    try:
        started = receiving.files_read(job=job, parts=chosen, **form.cleaned_data)
    except Refused as error:
        form.add_error(None, str(error))
        job.refresh_from_db()
        for upload in job.uploads.all():  # what was chosen is not lost
            job.uploads.filter(pk=upload.pk).update(part=chosen.get(upload.pk, upload.part))
        return render(request, "runs/files.html", {"form": form, **_files_context(job)}, status=error.status)
    return begin(request, started)


@needs(Right.DESIGN)
@require_POST
def files_discard(request: Request, pk: int) -> HttpResponse:
    """Delete files that were received and not read."""
    job = job_of(request, pk, right_of(request))
    if job.is_fetching:
        return see_other("runs:job", job.pk)
    collection = job.collection_id
    background.files_discard(job=job)
    messages.success(request, _("The files have been deleted. Nothing of them was stored."))
    return see_other("pools:collection", collection) if collection else see_other("runs:collections")


# --- texts that are not there yet


@needs(Right.SEE)
@require_GET
def missing_texts(request: Request, pk: int) -> HttpResponseBase:
    """The queries and passages of a collection that have no text, and what would supply it."""
    collection = collection_of(request, pk)
    queries, passages = run_selectors.untexted_queries(collection), run_selectors.untexted_passages(collection)
    context = {
        "collection": collection,
        "size": run_selectors.collection_size(collection),
        "queries": Listing(request, queries, key="queries", columns={"query": "qid"}),
        "passages": Listing(request, passages, key="passages", columns={"passage": "pid", "in_qrels": "is_in_qrels"}),
    }
    return render_lists(request, "runs/missing_texts.html", context)


@needs(Right.SEE)
@require_GET
def missing_ids(request: Request, pk: int) -> StreamingHttpResponse:
    """The ids of the passages without a text, one a line."""
    collection = collection_of(request, pk)
    rows = run_selectors.untexted_passages(collection).values_list("pid", flat=True)

    def lines() -> Iterator[str]:
        for pid in rows.iterator(chunk_size=10_000):
            yield f"{pid}\n"

    response = StreamingHttpResponse(lines(), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="missing-passages-{collection.pk}.txt"'
    return response
