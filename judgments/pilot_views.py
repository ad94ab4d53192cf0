"""The researcher's page about a campaign's pilot: what it taught, and what comes next."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from core.http import Request, see_other
from judgments.piloting import pilot_lessons
from platforms.bills import campaign_bill, remaining_bill
from platforms.publishing import publication_likely
from pools.views import campaign_of
from tasks import pilots
from tasks import selectors as task_selectors


@login_required
@require_GET
def pilot(request: Request, pk: int) -> HttpResponse:
    """What the pilot taught so far."""
    campaign = campaign_of(request, pk)
    lessons, publication = pilot_lessons(campaign), publication_likely(campaign)
    context = {
        "campaign": campaign,
        "lessons": lessons,
        "pace": task_selectors.expected_pace(campaign),
        "pilot_bill": remaining_bill(publication),
        "rest_bill": campaign_bill(publication, pairs=lessons.held * campaign.pairs_per_hit) if lessons.held else None,
    }
    return render(request, "judgments/pilot.html", context)


@login_required
@require_POST
def rest_launch(request: Request, pk: int) -> HttpResponse:
    """Launch the HITs that were held back. Again is not an error."""
    launched = pilots.rest_launch(campaign=campaign_of(request, pk))
    if launched:
        text = ngettext("%(count)s more HIT has been launched.", "%(count)s more HITs have been launched.", launched)
        messages.success(request, text % {"count": f"{launched:,}"})
    else:
        messages.info(request, _("No HITs are held back: the rest was launched before."))
    return see_other("judgments:pilot", pk)
