"""The pages of a collection's machine judges."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours
from core.http import Request, see_other
from core.lists import Columns, ListFilter, Listing, Sort, render_lists, search_filter
from judgments import machines as machine_services
from pools import background
from pools.forms import MachineForm
from pools.models import Job
from pools.views import ImportPage, collection_of, import_file

IMPORT = ImportPage(Job.Kind.MACHINE, "judgments/machine_import.html", MachineForm, background.machine_ask)
SORTS: dict[str, Sort] = {
    "name": "name",
    "model": "model",
    "answers": "answer_count",
    "pairs": "pair_count",
    "imported": "imported_at",
}
COLUMNS: Columns = {
    "name": "name",
    "model": "model",
    "prompt": "prompt",
    "answers": "answer_count",
    "pairs": "pair_count",
    "sha256": "sha256",
    "imported": "imported_at",
    "imported_by": "imported_by",
}


class MachineFilter(ListFilter):
    """Machine judges by name."""

    name = search_filter(gettext_lazy("Name"))


@login_required
@require_GET
def machines(request: Request, pk: int) -> HttpResponseBase:
    """The machine judges of a collection."""
    collection = collection_of(request, pk)
    judges = collection.machine_judges.select_related("imported_by").order_by("name")
    listing = Listing(request, judges, sorts=SORTS, narrow=MachineFilter, columns=COLUMNS)
    context = {"collection": collection, "listing": listing}
    return render_lists(request, "judgments/machines.html", context)


@csrf_exempt  # import_file checks it
@login_required
@require_http_methods(["GET", "POST"])
def machine_import(request: Request, pk: int) -> HttpResponse:
    """Upload a machine's answers."""
    return import_file(request, pk, IMPORT)


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
