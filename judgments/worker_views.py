"""The researcher's page about everybody who judges for their labs, across campaigns."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from core.http import Request
from core.lists import Listing
from judgments import lists as judgment_lists
from judgments import selectors as judgment_selectors


@login_required
@require_GET
def workers(request: Request) -> HttpResponse:
    """Every worker of the user's labs, those who came last first."""
    found = judgment_selectors.workers_across_campaigns(request.user)
    narrow = judgment_lists.PersonFilter
    context = {"listing": Listing(request, found, sorts=judgment_lists.PERSON_SORTS, narrow=narrow)}
    return render(request, "judgments/workers.html", context)
