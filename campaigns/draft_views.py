"""What a draft's settings lead to, beside their form; and whom a platform could reach, before anything is fixed."""

from copy import copy

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from campaigns.consequences import Consequences, consequences_of
from campaigns.forms import CampaignForm
from core.errors import Refused
from core.http import Request
from core.roles import Right, needs
from platforms.publishing.reach import reach_look
from platforms.terms import publication_to_reach
from pools.http import campaign_of
from pools.models import Campaign, new_token
from runs.http import collection_of


@needs(Right.DESIGN)
@require_POST
def consequences(request: Request) -> HttpResponse:
    """Count what the settings in the form of a campaign lead to. Nothing is stored.

    A script shows the answer beside the form; without one, it is a page.
    """
    collection = collection_of(request, request.POST.get("collection", ""))
    draft, key = None, request.POST.get("draft", "")
    if key.isdecimal() and len(key) < 19:
        draft = campaign_of(request, int(key))
    form = CampaignForm(request.POST, collection=collection, instance=copy(draft) if draft else None)
    campaign = draft or Campaign(lab=collection.lab, collection=collection)
    outcome: Consequences | None = None
    troubles: list[str] = []
    if form.is_valid() or not set(form.errors) - {"name"}:
        campaign.name = new_token()  # whatever it will be called
        for name, value in form.settings().items():
            setattr(campaign, name, value)
        try:
            outcome = consequences_of(campaign, list(form.cleaned_data["runs"]))
        except Refused as refused:
            troubles.append(str(refused))
    else:
        labels = {name: form.fields[name].label for name in form.errors if name in form.fields}
        troubles += [f"{labels.get(name, '')}: {error}" for name, errors in form.errors.items() for error in errors]
    part = "#consequences" if "HX-Request" in request.headers else ""
    context = {
        "found": outcome,
        "campaign": campaign,
        "troubles": troubles,
        "collection": collection,
        "whole": not part,
    }
    return render(request, f"campaigns/consequences.html{part}", context)


@needs(Right.SEE)
@require_GET
def draft_reach(request: Request, pk: int) -> HttpResponse:
    """How many workers of its platform could take a draft's HITs. The platform is asked now."""
    publication = publication_to_reach(campaign_of(request, pk))
    return render(request, "platforms/parts.html#reach", {"reach": reach_look(publication), "publication": publication})
