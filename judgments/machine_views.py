"""The pages of a collection's machine judges."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours, Refused
from core.http import Request, refuse_in, see_other
from core.lists import ListFilter, Listing, search_filter
from evaluation.files.runs import run_name
from judgments import machines as machine_services
from pools import background
from pools.forms import MachineForm
from pools.models import Collection, Job
from pools.views import begin, collection_of, is_too_large, job_asked_again, refuse_too_large

IMPORT = "judgments/machine_import.html"
SORTS = {
    "name": "name",
    "model": "model",
    "answers": "answer_count",
    "pairs": "pair_count",
    "imported": "imported_at",
}


class MachineFilter(ListFilter):
    """Machine judges by name."""

    name = search_filter(gettext_lazy("Name"))


@login_required
@require_GET
def machines(request: Request, pk: int) -> HttpResponse:
    """The machine judges of a collection."""
    collection = collection_of(request, pk)
    judges = collection.machine_judges.select_related("imported_by").order_by("name")
    context = {"collection": collection, "listing": Listing(request, judges, sorts=SORTS, narrow=MachineFilter)}
    return render(request, "judgments/machines.html", context)


@csrf_exempt  # the check would read the whole upload first; _machine_import_checked has it
@login_required
@require_http_methods(["GET", "POST"])
def machine_import(request: Request, pk: int) -> HttpResponse:
    """Upload a machine's answers. A file that is too large is refused before it is read."""
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, IMPORT, MachineForm(None), collection=collection)
    checked: HttpResponse = _machine_import_checked(request, collection)
    return checked


@csrf_protect
def _machine_import_checked(request: Request, collection: Collection) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, Job.Kind.MACHINE)
        initial = None if before is None else {"name": before.name, **before.request}
        return render(request, IMPORT, {"form": MachineForm(initial=initial), "collection": collection})
    form = MachineForm(request.POST, request.FILES)
    status = 400
    if form.is_valid():
        data = form.cleaned_data
        try:
            asked = background.machine_ask(
                collection=collection,
                file=data["file"],
                name=data["name"] or run_name(data["file"].name),
                model=data["model"],
                prompt=data["prompt"],
                by=request.user,
                at=timezone.now(),
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return begin(request, asked)
    return render(request, IMPORT, {"form": form, "collection": collection}, status=status)


@login_required
@require_POST
def machine_delete(request: Request, pk: int, judge_pk: int) -> HttpResponse:
    """Delete a machine judge with its answers."""
    judge = collection_of(request, pk).machine_judges.filter(pk=judge_pk).first()
    if judge is None:
        raise NotYours(_("This collection has no such machine judge."))
    machine_services.machine_judge_delete(judge=judge)
    messages.success(request, _("The machine judge “%(name)s” has been deleted.") % {"name": judge.name})
    return see_other("judgments:machines", pk)
