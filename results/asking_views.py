"""The researcher's page about more judgments: where they would help, what they cost, and asking for them."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods

from core.http import Request, see_other
from core.roles import Right, needs
from evaluation.statistics.asking import JUDGMENTS, WANTED
from pools.http import campaign_of
from pools.models import Campaign
from results import asking


class AskForm(forms.Form):
    budget = forms.DecimalField(label=gettext_lazy("Budget"), min_value=Decimal("0.01"), max_digits=8, decimal_places=2)
    judgments = forms.TypedChoiceField(label=gettext_lazy("Judgments of a pair, at most"), coerce=int)
    wanted = forms.TypedChoiceField(
        label=gettext_lazy("Passages of a confidence set, at most"),
        coerce=int,
        choices=[(number, str(number)) for number in WANTED],
    )

    def __init__(self, *args: Any, campaign: Campaign, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        numbers = asking.numbers_of(campaign) or JUDGMENTS[-1:]
        self.usual = {"budget": asking.USUAL, "judgments": numbers[0], "wanted": WANTED[0]}
        self.fields["judgments"].choices = [(number, str(number)) for number in numbers]  # type: ignore[attr-defined]


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def ask(request: Request, pk: int) -> HttpResponse:
    """What a budget would settle, and asking for it."""
    campaign = campaign_of(request, pk)
    first = AskForm(campaign=campaign).usual
    sent = request.POST if request.method == "POST" else request.GET if "budget" in request.GET else first
    form = AskForm(sent, campaign=campaign)
    if not form.is_valid():
        return render(request, "results/ask.html", {"campaign": campaign, "form": form}, status=400)
    if request.method == "POST":
        last = request.POST.get("seen", "")
        offer = asking.further_ask(campaign=campaign, **form.cleaned_data, seen=int(last) if last.isdecimal() else -1)
        text = ngettext(
            "More judgments are asked for, on %(count)s query: up to %(cost)s.",
            "More judgments are asked for, on %(count)s queries: up to %(cost)s.",
            len(offer.queries),
        )
        messages.success(request, text % {"count": f"{len(offer.queries):,}", "cost": campaign.money(offer.bill.total)})
        return see_other("results:ask", pk)
    offer = asking.offer_for(campaign, **form.cleaned_data)
    context = {"campaign": campaign, "form": form, "offer": offer, "says": says(campaign, offer)}
    return render(request, "results/ask.html", context)


@needs(Right.SEE)
@require_GET
def offer(request: Request, pk: int) -> HttpResponse:
    """The usual offer in a sentence, for the campaign's page."""
    campaign = campaign_of(request, pk)
    judgments = next(iter(asking.numbers_of(campaign)), JUDGMENTS[-1])
    offer = asking.offer_for(campaign, judgments=judgments)
    context = {"campaign": campaign, "offer": offer, "says": says(campaign, offer)}
    return render(request, "results/parts.html#offer", context)


def says(campaign: Campaign, offer: asking.Offer) -> str:
    """What an offer would settle, in a sentence; empty where it buys nothing."""
    if offer.obstacle or not offer.queries:
        return ""
    settled = round(offer.settled)
    if not settled:
        return _("Spend %(cost)s more: less than one more query would be settled.") % {
            "cost": campaign.money(offer.bill.total)
        }
    text = ngettext(
        "Spend %(cost)s more: about %(count)s more query settled.",
        "Spend %(cost)s more: about %(count)s more queries settled.",
        settled,
    )
    return text % {"cost": campaign.money(offer.bill.total), "count": f"{settled:,}"}
