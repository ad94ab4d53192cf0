"""The researcher's pages about collections, runs and campaigns, and the log-in."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours, Refused
from core.http import Request, page_of, refuse_in, see_other
from evaluation.files.metadata import flatten
from evaluation.files.runs import run_name
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.census import census_sentences
from pools.forms import MEGABYTE, CampaignForm, RunUploadForm, too_large
from pools.models import Campaign, Collection, Run

FORM_BYTES = MEGABYTE  # what an upload's other fields may add to its file


# --- what all of the researcher's pages share


def campaign_of(request: Request, pk: int) -> Campaign:
    """The campaign, if it belongs to a lab of the user's. Raises NotYours."""
    campaign = pool_selectors.campaigns_of(request.user).filter(pk=pk).first()
    if campaign is None:
        raise NotYours(_("There is no such campaign, or it belongs to another lab."))
    return campaign


def _collection_of(request: Request, pk: str | int) -> Collection:
    known = str(pk).isdecimal() and len(str(pk)) < 19  # what a key can be
    collection = pool_selectors.collections_of(request.user).filter(pk=pk).first() if known else None
    if collection is None:
        raise NotYours(_("There is no such collection, or it belongs to another lab."))
    return collection


def _run_of(request: Request, pk: int) -> Run:
    run = pool_selectors.runs_of(request.user).filter(pk=pk).first()
    if run is None:
        raise NotYours(_("There is no such run, or it belongs to another lab."))
    return run


# --- collections


@login_required
@require_GET
def collections(request: Request) -> HttpResponse:
    """Every collection of the user's labs."""
    page = page_of(request, pool_selectors.collections_of(request.user))
    context = {
        "page": page,
        "rows": pool_selectors.collection_rows(page.object_list),
        "labs": pool_selectors.labs_of(request.user).order_by("name"),
    }
    return render(request, "pools/collections.html", context)


@login_required
@require_GET
def collection(request: Request, pk: int) -> HttpResponse:
    """One collection: what it holds, its runs and its campaigns."""
    found = _collection_of(request, pk)
    context = {
        "collection": found,
        "size": pool_selectors.collection_size(found),
        "runs": found.runs.order_by("name"),
        "campaigns": found.campaigns.order_by("-id"),
    }
    return render(request, "pools/collection.html", context)


# --- runs


@login_required
@require_GET
def runs(request: Request) -> HttpResponse:
    """Every run of the user's labs."""
    return render(request, "pools/runs.html", {"page": page_of(request, pool_selectors.runs_of(request.user))})


@login_required
@require_GET
def run(request: Request, pk: int) -> HttpResponse:
    """One run and its census."""
    found = _run_of(request, pk)
    context = {
        "run": found,
        "sentences": census_sentences(found.census),
        "metadata": list(flatten(found.metadata)),
        "campaigns": found.campaigns.order_by("-id"),
        "file_name": str(found.original.name).rpartition("/")[2],
        "file_size": pool_selectors.file_size(found),
    }
    return render(request, "pools/run.html", context)


@login_required
@require_POST
def run_delete(request: Request, pk: int) -> HttpResponse:
    """Delete a run that no campaign uses."""
    found = _run_of(request, pk)
    pool_services.run_delete(run=found)
    messages.success(request, _("The run “%(name)s” has been deleted.") % {"name": found.name})
    return see_other("pools:runs")


@csrf_exempt  # the check would read the whole upload first; run_upload_checked has it
@login_required
@require_http_methods(["GET", "POST"])
def run_upload(request: Request) -> HttpResponse:
    """Upload a run file. One that is too large is refused before it is read."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if request.method == "POST" and int(length) > settings.UPLOAD_MEGABYTES * MEGABYTE + FORM_BYTES:
        form = RunUploadForm(None, user=request.user)
        context = {"form": form, "refused": too_large()}
        response = render(request, "pools/run_upload.html", context, status=413)
        response["Connection"] = "close"
        return response
    checked: HttpResponse = _run_upload_checked(request)
    return checked


@csrf_protect
def _run_upload_checked(request: Request) -> HttpResponse:
    if request.method == "GET":
        form = RunUploadForm(user=request.user, initial={"collection": request.GET.get("collection")})
        return render(request, "pools/run_upload.html", {"form": form})
    form = RunUploadForm(request.POST, request.FILES, user=request.user)
    status, check = 400, None
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            stored = pool_services.run_import(
                collection=form.cleaned_data["collection"],
                name=form.cleaned_data["name"] or run_name(file.name),
                source=file.file,
                filename=file.name,
                team=form.cleaned_data["team"],
                notes=form.cleaned_data["notes"],
            )
        except pool_services.BadRun as error:
            check, status = error.check, error.status
        except Refused as error:
            status = refuse_in(form, error)
        else:
            messages.success(request, _("The run “%(name)s” has been checked and stored.") % {"name": stored.name})
            return see_other("pools:run", stored.pk)
    return render(request, "pools/run_upload.html", {"form": form, "check": check}, status=status)


# --- campaigns


@login_required
@require_GET
def campaigns(request: Request) -> HttpResponse:
    """Every campaign of the user's labs."""
    page = page_of(request, pool_selectors.campaigns_of(request.user))
    context = {
        "page": page,
        "rows": pool_selectors.campaign_rows(page.object_list),
        "labs": pool_selectors.labs_of(request.user).order_by("name"),
    }
    return render(request, "pools/campaigns.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def campaign_new(request: Request) -> HttpResponse:
    """A new campaign: first its collection, then its runs and settings."""
    chosen = request.GET.get("collection")
    if chosen is None:
        rows = pool_selectors.collection_rows(pool_selectors.collections_of(request.user))
        return render(request, "pools/campaign_collection.html", {"rows": rows})
    found = _collection_of(request, chosen)
    if request.method == "GET":
        form = CampaignForm(collection=found)
        return render(request, "pools/campaign_new.html", {"form": form, "collection": found})
    form = CampaignForm(request.POST, collection=found)
    status = 400
    if form.is_valid():
        try:
            made = pool_services.campaign_create(
                lab=found.lab,
                collection=found,
                runs=form.cleaned_data["runs"],
                name=form.cleaned_data["name"],
                created_by=request.user,
                **form.settings(),
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            messages.success(
                request, _("The campaign has been created as a draft. Check its pools and its bill, then start it.")
            )
            return see_other("judgments:campaign", made.pk)
    return render(request, "pools/campaign_new.html", {"form": form, "collection": found}, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def campaign_delete(request: Request, pk: int) -> HttpResponse:
    """Delete a draft, after asking once."""
    found = campaign_of(request, pk)
    if request.method == "GET":
        return render(request, "pools/campaign_delete.html", {"campaign": found})
    pool_services.campaign_delete(campaign=found)
    messages.success(request, _("The draft “%(name)s” has been deleted.") % {"name": found.name})
    return see_other("pools:campaigns")
