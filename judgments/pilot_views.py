"""The researcher's page about a campaign's pilot: what it taught, and what comes next."""

from decimal import Decimal

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from core.errors import BadRequest
from core.http import Request, see_other
from core.roles import Right, needs
from judgments.piloting import pilot_lessons
from platforms.money.bills import campaign_bill, remaining_bill
from platforms.publishing.repaying import rest_copy, rest_copy_obstacle
from platforms.terms import publication_likely
from pools.http import campaign_of
from tasks import pilots
from tasks import selectors as task_selectors


class PayForm(forms.Form):
    """What a HIT of the rest pays."""

    reward = forms.DecimalField(
        label=gettext_lazy("Reward per HIT"), min_value=Decimal("0.00"), max_digits=8, decimal_places=2
    )


@needs(Right.SEE)
@require_GET
def pilot(request: Request, pk: int) -> HttpResponse:
    """What the pilot taught so far."""
    campaign = campaign_of(request, pk)
    lessons, publication = pilot_lessons(campaign), publication_likely(campaign)
    pace, is_live = task_selectors.expected_pace(campaign), campaign.state in pilots.LIVE
    least = campaign.reward if pace is None else max(campaign.reward, pace.least)
    context = {
        "campaign": campaign,
        "lessons": lessons,
        "pace": pace,
        "is_live": is_live,
        "pay_form": PayForm(initial={"reward": least}),
        "pay_lacking": task_selectors.lacking_pay(campaign),
        "pay_obstacle": rest_copy_obstacle(campaign) if is_live and lessons.held else "",
        "pilot_bill": remaining_bill(publication),
        "rest_bill": campaign_bill(publication, pairs=lessons.held * campaign.pairs_per_hit) if lessons.held else None,
    }
    return render(request, "judgments/pilot.html", context)


@needs(Right.SPEND)
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


@needs(Right.DESIGN)
@require_POST
def rest_repay(request: Request, pk: int) -> HttpResponse:
    """End the pilot, and go on with a copy at another pay."""
    campaign, form = campaign_of(request, pk), PayForm(request.POST)
    if not form.is_valid():
        raise BadRequest(_("Enter what a HIT of the rest pays, in whole cents."))
    draft = rest_copy(campaign=campaign, reward=form.cleaned_data["reward"], by=request.user, at=timezone.now())
    text = _(
        "The pilot is closed. This copy reuses what it judged, and asks about the rest at the new pay. Start it here."
    )
    messages.success(request, text)
    return see_other("campaigns:campaign", draft.pk)
