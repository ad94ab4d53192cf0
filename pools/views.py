"""The pages of a collection and of a run, with the campaigns that use them, and of imported preferences."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours
from core.http import Request, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs
from evaluation.files.metadata import flatten
from pools import lists as pool_lists
from pools import preference_imports
from pools.http import campaign_listing
from pools.models import Campaign
from runs import lists as run_lists
from runs import selectors as run_selectors
from runs.census import census_sentences
from runs.forms import PreferencesForm
from runs.http import ImportPage, collection_of, import_file, jobs_shown, run_of
from runs.models import Collection, Job

VERSIONS = 10  # of the preference qrels, on a collection's page


@needs(Right.SEE)
@require_GET
def collection(request: Request, pk: int) -> HttpResponseBase:
    """One collection: what it holds, its runs and its campaigns."""
    collection = collection_of(request, pk)
    context = {
        "collection": collection,
        "size": run_selectors.collection_size(collection),
        "outside": run_selectors.outside_scores_of(collection),
        "runs": Listing(
            request,
            collection.runs.select_related("collection").order_by("name"),
            sorts=run_lists.RUN_SORTS,
            narrow=run_lists.CollectionRunFilter,
            key="runs",
            columns=run_lists.RUN_COLUMNS,
        ),
        "campaigns": _campaigns(request, collection.campaigns.order_by("-id")),
        "imports": Listing(
            request,
            run_selectors.preference_imports_of(collection),
            sorts=run_lists.PREFERENCE_IMPORT_SORTS,
            narrow=run_lists.PreferenceImportFilter,
            key="imports",
            columns=run_lists.PREFERENCE_IMPORT_COLUMNS,
        ),
        "versions": Listing(
            request,
            collection.versions.select_related("campaign", "made_by").order_by("-number"),
            sorts=pool_lists.VERSION_SORTS,
            key="versions",
            columns=pool_lists.VERSION_COLUMNS,
            size=VERSIONS,
        ),
        "jobs": jobs_shown(request, collection=collection),
    }
    return render_lists(request, "pools/collection.html", context)


def _campaigns(request: Request, campaigns: QuerySet[Campaign]) -> Listing:
    """The campaigns of a collection, or of a run."""
    return campaign_listing(request, campaigns.select_related("collection", "lab"), key="campaigns")


@needs(Right.DESIGN)
@require_POST
def preferences_delete(request: Request, pk: int, import_pk: int) -> HttpResponse:
    """Delete imported preferences that nothing has used."""
    imported = collection_of(request, pk).preference_imports.filter(pk=import_pk).first()
    if imported is None:
        raise NotYours(_("This collection has no such imported preferences."))
    preference_imports.preference_import_delete(preference_import=imported)
    messages.success(request, _("The imported preferences “%(name)s” have been deleted.") % {"name": imported.name})
    return see_other("pools:collection", pk)


@needs(Right.SEE)
@require_GET
def run(request: Request, pk: int) -> HttpResponseBase:
    run = run_of(request, pk)
    context = {
        "run": run,
        "sentences": census_sentences(run.census),
        "metadata": list(flatten(run.metadata)),
        "campaigns": _campaigns(request, run.campaigns.order_by("-id")),
        "file_name": str(run.original.name).rpartition("/")[2],
        "file_size": run_selectors.file_size(run),
    }
    return render_lists(request, "pools/run.html", context)


def _preferences_words(collection: Collection) -> dict[str, object]:
    other = _(
        'To see winners, agreement and results of these judgments, <a href="%(address)s">import them as a campaign</a> '
        "instead. Do not import the same judgments in both ways: they would count twice."
    )
    return {
        "title": _("Import preferences"),
        "heading": _("Import preferences into %(name)s") % {"name": collection.name},
        "about": [
            _(
                "Judgments that were made elsewhere, by people or by a program, can save you work: campaigns whose "
                "settings include imported preferences do not ask again about pairs that they cover."
            ),
            mark_safe(other % {"address": reverse("judgments:judgments_import", args=[collection.pk])}),  # noqa: S308
        ],
        "note": _(
            "The file is checked line by line first. If it has an error, or an id that the collection does not know, "
            "nothing is stored, and you see which line to fix. Do not import what a campaign over this collection "
            "exported: its judgments count already."
        ),
    }


PREFERENCES = ImportPage(Job.Kind.PREFERENCES, _preferences_words, PreferencesForm, preference_imports.preferences_ask)


@csrf_exempt  # import_file checks it
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def preferences_import(request: Request, pk: int) -> HttpResponse:
    """Upload a file of preferences."""
    return import_file(request, pk, PREFERENCES)
