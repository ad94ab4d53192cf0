"""The ethics summary of a campaign, as a page and as a PDF."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.http import Request
from core.roles import Right, needs
from pools.http import campaign_of
from protection.ethics import ethics_summary


@needs(Right.SEE)
@require_GET
def ethics(request: Request, pk: int) -> HttpResponse:
    """What a review board asks about."""
    campaign = campaign_of(request, pk)
    context = {"campaign": campaign, "summary": ethics_summary(campaign, timezone.now())}
    return render(request, "protection/ethics.html", context)


@needs(Right.SEE)
@require_GET
def ethics_file(request: Request, pk: int) -> HttpResponse:
    """The same as a PDF."""
    from protection.ethics_pdf import ethics_response  # its libraries take a second to load

    return ethics_response(campaign_of(request, pk))
