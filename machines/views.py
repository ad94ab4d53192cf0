"""The pages of a collection's machine judges."""

from typing import Any

from django.contrib import messages
from django.db.models import Case, When
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours, Refused
from core.http import Request, see_other
from core.lists import Columns, ListFilter, Listing, Sort, render_lists, search_filter
from core.roles import Right, needs
from machines import answers, endpoint, machine_asking
from machines import answers as machine_services
from machines.forms import MachineAskingForm, MachineForm
from machines.models import MachineAsking
from runs.http import ImportPage, collection_of, import_file
from runs.models import Collection, Job


def _import_words(collection: Collection) -> dict[str, object]:
    return {
        "title": _("Import a machine's answers"),
        "crumbs": [(_("Machine judges"), reverse("machines:machines", args=[collection.pk]))],
        "crumb": _("Import"),
        "heading": _("Import a machine's answers for %(name)s") % {"name": collection.name},
        "about": [
            _(
                "Ask about each pair in both orders if you can. A machine has one answer for a pair: if its answers to "
                "the two orders differ, that is a tie, and where it gave one of them, that one holds."
            )
        ],
        "note": _(
            "The file is checked line by line first. If it has an error, or names queries or passages that the "
            "collection does not know, nothing is stored, and you see which."
        ),
    }


IMPORT = ImportPage(Job.Kind.MACHINE, _import_words, MachineForm, answers.machine_ask)
LATEST = 20  # machines that are or were being asked
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


@needs(Right.SEE)
@require_GET
def machines(request: Request, pk: int) -> HttpResponseBase:
    """The machine judges of a collection."""
    collection = collection_of(request, pk)
    judges = collection.machine_judges.select_related("imported_by").order_by("name")
    listing = Listing(request, judges, sorts=SORTS, narrow=MachineFilter, columns=COLUMNS)
    askings = MachineAsking.objects.filter(campaign__collection=collection).exclude(state=MachineAsking.State.DONE)
    ended = Case(When(state=MachineAsking.State.ASKING, then=0), default=1)  # those can be stopped, so they come first
    latest = askings.select_related("campaign").order_by(ended, "-id")[:LATEST]
    context = {
        "collection": collection,
        "listing": listing,
        "askings": latest,
        "askings_unshown": askings.count() - len(latest),
        "may_be_asked": endpoint.is_set_up(),
    }
    return render_lists(request, "machines/machines.html", context)


@csrf_exempt  # import_file checks it
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def machine_import(request: Request, pk: int) -> HttpResponse:
    """Upload a machine's answers."""
    return import_file(request, pk, IMPORT)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def machine_ask(request: Request, pk: int) -> HttpResponse:
    """Have a machine asked about a campaign's pairs."""
    collection = collection_of(request, pk)
    initial = {"prompt": _(machine_asking.PROMPT)}
    form = MachineAskingForm(request.POST or None, collection=collection, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            asking = machine_asking.machine_asking_start(**form.cleaned_data, by=request.user, at=timezone.now())
        except Refused as error:
            form.add_error(None, str(error))
        else:
            text = _("%(name)s is being asked about %(campaign)s. Reload this page to see how far it is.")
            messages.success(request, text % {"name": asking.name, "campaign": asking.campaign.name})
            return see_other("machines:machines", pk)
    page: dict[str, Any] = {
        "title": _("Ask a machine"),
        "heading": _("Ask a machine about %(name)s") % {"name": collection.name},
        "crumbs": [
            (_("Collections"), reverse("runs:collections")),
            (collection.name, reverse("pools:collection", args=[pk])),
            (_("Machine judges"), reverse("machines:machines", args=[pk])),
        ],
    }
    if not endpoint.is_set_up():
        page |= {"empty": _("This site has no endpoint to ask. Whoever runs it can set MACHINE_API_URL.")}
        return render(request, "core/form.html", page)
    sent = _(
        "The texts of queries and passages are sent to %(host)s, except passages that come only from runs that are not "
        "for release."
    )
    page |= {
        "form": form,
        "notice": sent % {"host": endpoint.host()},
        "about": [
            _(
                "Its answers become a machine judge, as imported ones do: they are compared with people's judgments, "
                "and never counted among them. If the two orders of a pair are answered differently, that is a tie. An "
                "answer that this site already has, of the same model to the same prompt, is not asked for again."
            )
        ],
        "button": _("Ask"),
    }
    return render(request, "core/form.html", page, status=400 if form.errors else 200)


@needs(Right.DESIGN)
@require_POST
def machine_stop(request: Request, pk: int, asking_pk: int) -> HttpResponse:
    """Ask a machine nothing more."""
    asking = MachineAsking.objects.filter(pk=asking_pk, campaign__collection=collection_of(request, pk)).first()
    if asking is None:
        raise NotYours(_("This collection has no such machine judge."))
    machine_asking.machine_asking_stop(asking=asking, at=timezone.now())
    messages.success(request, _("“%(name)s” is asked nothing more.") % {"name": asking.name})
    return see_other("machines:machines", pk)


@needs(Right.DESIGN)
@require_POST
def machine_delete(request: Request, pk: int, judge_pk: int) -> HttpResponse:
    judge = collection_of(request, pk).machine_judges.filter(pk=judge_pk).first()
    if judge is None:
        raise NotYours(_("This collection has no such machine judge."))
    machine_services.machine_judge_delete(judge=judge)
    messages.success(request, _("The machine judge “%(name)s” has been deleted.") % {"name": judge.name})
    return see_other("machines:machines", pk)
