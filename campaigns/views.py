"""The pages on which campaigns are listed, made, renamed, archived and deleted."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from campaigns import draft_jobs, searching
from campaigns.forms import CampaignForm, RenameForm
from campaigns.starts import STARTS
from campaigns.templating import default_template
from core.errors import Refused
from core.http import Request, edits, refuse_in, see_other
from core.lists import render_lists
from core.roles import Right, needs
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.http import campaign_crumbs, campaign_listing, campaign_of
from pools.models import Campaign, CampaignTemplate
from runs.forms import OFFERED
from runs.http import begin, choose_collection, collection_of, first_labs, job_asked_again, jobs_shown
from runs.models import Collection, Job

COPIES = 3  # of the newest campaigns that a new one is offered to copy


@needs(Right.SIGNED_IN)
@require_GET
def campaigns(request: Request) -> HttpResponseBase:
    """Every campaign of the user's labs."""
    labs = first_labs(request)
    if not labs and not request.user.is_staff:
        return see_other("leaderboards:boards")  # whoever is in no lab takes part in leaderboards
    campaigns = pool_selectors.campaigns_of(request.user)
    listing = campaign_listing(request, campaigns)
    context = {
        "listing": listing,
        "rows": pool_selectors.campaign_rows(listing.page.object_list),
        "labs": labs,
        "jobs": jobs_shown(request, kind=Job.Kind.CAMPAIGN),
    }
    if not campaigns.filter(created_by=request.user).exists():
        example = campaigns.filter(state=Campaign.State.CLOSED, result__isnull=False).order_by("-pk").first()
        context |= {"is_beginner": True, "example": example}
    return render_lists(request, "campaigns/campaigns.html", context)


@needs(Right.SIGNED_IN)
@require_GET
def search(request: Request) -> HttpResponse:
    """What the user may see with some words in its name, and what explains them."""
    words = request.GET.get("q", "").strip()[:200]
    kinds = searching.search(request.user, words) if len(words) > 1 else []
    return render(request, "campaigns/search.html", {"search_words": words, "kinds": kinds})


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def campaign_new(request: Request) -> HttpResponse:
    """A new campaign: first its collection, then its runs and settings."""
    chosen = request.GET.get("collection")
    if chosen is None:
        carried = request.GET.get("template", "")
        return choose_collection(
            request, _("New campaign: which collection?"), "campaigns:campaign_new", template=carried[:18]
        )
    collection = collection_of(request, chosen)
    if request.method == "GET":
        form, template = _campaign_form(request, collection)
        return render(request, "campaigns/campaign_new.html", _campaign_context(request, form, collection, template))
    form, template = CampaignForm(request.POST, collection=collection), _template_of(collection, request.POST)
    if form.is_valid():
        job = draft_jobs.campaign_ask(
            collection=collection,
            runs=form.cleaned_data["runs"],
            name=form.cleaned_data["name"],
            settings=form.settings(),
            by=request.user,
            at=timezone.now(),
            template=template,
        )
        return begin(request, job)
    return render(
        request, "campaigns/campaign_new.html", _campaign_context(request, form, collection, template), status=400
    )


def _campaign_form(request: Request, collection: Collection) -> tuple[CampaignForm, CampaignTemplate | None]:
    """The form of a new campaign, and the template that it was filled in from: what was asked for before, in vain; a
    copy; a way to begin; what a template has, the lab's default if none was chosen; or the usual settings.
    """
    before, copied = job_asked_again(request, Job.Kind.CAMPAIGN), request.GET.get("copy", "")
    if before is not None and before.collection_id == collection.pk:
        entered = draft_jobs.settings_of(before)
        form = CampaignForm(collection=collection, instance=entered, initial={"runs": before.request["runs"]})
        return form, _template_of(collection, before.request)
    if copied.isdecimal():
        return CampaignForm.copying(campaign_of(request, int(copied[:18]), Right.SEE), collection), None
    if start := STARTS.get(request.GET.get("start", "")):
        return CampaignForm.starting(start, collection), None
    template = _template_of(collection, request.GET)
    if template is None and "template" not in request.GET:
        template = default_template(collection.lab)
    if template is None:
        return CampaignForm(collection=collection), None
    return CampaignForm.beginning(template, collection), template


def _template_of(collection: Collection, fields: Mapping[str, Any]) -> CampaignTemplate | None:
    """The template of the collection's lab that is named by its key, if any."""
    key = str(fields.get("template", ""))
    is_key = key.isdecimal() and len(key) < 19  # what a key can be
    return collection.lab.templates.filter(pk=int(key)).first() if is_key else None


def _campaign_context(
    request: Request, form: CampaignForm, collection: Collection, template: CampaignTemplate | None
) -> dict[str, object]:
    offered = list(collection.lab.templates.order_by("name")[:OFFERED])
    if template is not None and template not in offered:
        offered.append(template)
    copied, start = request.GET.get("copy", ""), request.GET.get("start", "")
    return {
        "form": form,
        "collection": collection,
        "template": template,
        "templates": offered,
        "starts": STARTS.items(),
        "start": start or ("" if template or copied else "paper"),
        "copied": copied,
        "campaigns": Campaign.objects.filter(collection=collection).order_by("-pk")[:COPIES],
    }


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def campaign_rename(request: Request, pk: int) -> HttpResponse:
    """Give a campaign another name."""
    campaign = campaign_of(request, pk)
    form, status = RenameForm(request.POST or None, initial={"name": campaign.name}), 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                pool_services.campaign_rename(campaign=campaign_of(request, pk), name=form.cleaned_data["name"])
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The campaign has been renamed."))
                return see_other("campaigns:campaign", pk)
    page = {
        "title": _("Rename"),
        "of": campaign.name,
        "crumbs": campaign_crumbs(campaign),
        "heading": _("Rename “%(name)s”") % {"name": campaign.name},
        "lead": _("Workers do not see the name. Exports that contain it are made again."),
        "button": _("Rename"),
        "back": (_("Keep the name"), reverse("campaigns:campaign", args=[pk])),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)


@needs(Right.DESIGN)
@require_POST
def campaign_archive(request: Request, pk: int) -> HttpResponse:
    """Leave a campaign out of lists."""
    pool_services.campaign_archive(campaign=campaign_of(request, pk), at=timezone.now())
    messages.success(request, _("The campaign has been archived. To see it in a list, choose the archive there."))
    return see_other("campaigns:campaign", pk)


@needs(Right.DESIGN)
@require_POST
def campaign_unarchive(request: Request, pk: int) -> HttpResponse:
    """List a campaign again."""
    pool_services.campaign_unarchive(campaign=campaign_of(request, pk))
    messages.success(request, _("The campaign is listed again."))
    return see_other("campaigns:campaign", pk)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def campaign_delete(request: Request, pk: int) -> HttpResponse:
    """Delete a draft, after asking once."""
    campaign = campaign_of(request, pk)
    if request.method == "GET":
        address = reverse("campaigns:campaign", args=[pk])
        page: dict[str, Any] = {
            "title": _("Delete a draft"),
            "heading": _("Delete “%(name)s”?") % {"name": campaign.name},
            "crumbs": [(_("Campaigns"), reverse("campaigns:campaigns")), (campaign.name, address)],
            "crumb": _("Delete"),
            "lead": _("The campaign has started, so it cannot be deleted. Close it instead."),
            "back": (_("Back to the campaign"), address, "button"),
        }
        if campaign.state == Campaign.State.DRAFT:
            page |= {"asks_why": True, "button": _("Delete the draft"), "back": (_("Keep it"), address)}
            page["lead"] = _(
                "Its settings, pools, pairs and test pairs are deleted permanently. The runs and the collection stay."
            )
        return render(request, "core/form.html", page)
    pool_services.campaign_delete(campaign=campaign)
    messages.success(request, _("The draft “%(name)s” has been deleted.") % {"name": campaign.name})
    return see_other("campaigns:campaigns")
