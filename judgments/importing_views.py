"""The page on which judgments that were made elsewhere become a campaign of their own."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from core.errors import Refused
from core.http import Request, refuse_in
from evaluation.files.runs import run_name
from pools import background
from pools.forms import JudgmentsForm
from pools.models import Collection, Job
from pools.views import begin, collection_of, is_too_large, job_asked_again, refuse_too_large

PAGE = "judgments/judgments_import.html"


@csrf_exempt  # the check would read the whole upload first; _judgments_import_checked has it
@login_required
@require_http_methods(["GET", "POST"])
def judgments_import(request: Request, pk: int) -> HttpResponse:
    """Upload a file of judgments. One that is too large is refused before it is read."""
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, PAGE, JudgmentsForm(None), collection=collection)
    checked: HttpResponse = _judgments_import_checked(request, collection)
    return checked


@csrf_protect
def _judgments_import_checked(request: Request, collection: Collection) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, Job.Kind.JUDGMENTS)
        initial = None if before is None else {"name": before.name, **before.request}
        return render(request, PAGE, {"form": JudgmentsForm(initial=initial), "collection": collection})
    form = JudgmentsForm(request.POST, request.FILES)
    status = 400
    if form.is_valid():
        data = form.cleaned_data
        try:
            asked = background.judgments_ask(
                collection=collection,
                file=data["file"],
                name=data["name"] or run_name(data["file"].name),
                question=data["question"],
                note=data["note"],
                by=request.user,
                at=timezone.now(),
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return begin(request, asked)
    return render(request, PAGE, {"form": form, "collection": collection}, status=status)
