"""The researcher's page about a campaign's practice pairs, and how workers did in them."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.errors import BadRequest, NotNow, NotYours, Refused
from core.http import Request, edits, refuse_in, see_other
from core.lists import Listing
from core.roles import Right, needs
from pools.http import campaign_of
from pools.models import Campaign
from pools.practice import PracticePair, lacking_practice, read_practice_pairs, right_needed
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.forms import PracticePairForm
from tasks.practice import practice_counts, practice_minutes

OFFERED = 20  # test pairs on a page


@needs(Right.SEE, changing=Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def practice(request: Request, pk: int) -> HttpResponse:
    """A campaign's practice pairs; POST adds one in the researcher's own words or a test pair, or removes one."""
    campaign = campaign_of(request, pk)
    form, status = PracticePairForm(), 200
    if request.method == "POST":
        if "remove" in request.POST:
            return _remove(request, campaign)
        if "test" in request.POST:
            return _take_test(request, campaign)
        form, status = PracticePairForm(request.POST), 400
        if form.is_valid():
            words = form.cleaned_data
            pair = PracticePair(words["question"], words["better"], words["worse"], words["explanation"])
            try:
                task_services.practice_add(campaign=campaign, pair=pair)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The practice pair has been added."))
                return see_other("tasks:practice", pk)
    return render(request, "tasks/practice.html", _context(request, campaign, form), status=status)


def _remove(request: Request, campaign: Campaign) -> HttpResponse:
    text = request.POST["remove"][:4]
    number, pairs = int(text) if text.isdecimal() else 0, read_practice_pairs(campaign.practice_pairs)
    question = request.POST.get("question")
    if question is not None and 1 <= number <= len(pairs) and pairs[number - 1].question != question:
        raise NotNow(_("Somebody has changed the practice pairs since you opened the page. Nothing was removed."))
    task_services.practice_change(campaign=campaign, number=number, pair=None)
    messages.success(request, _("The practice pair has been removed."))
    return see_other("tasks:practice", campaign.pk)


def _take_test(request: Request, campaign: Campaign) -> HttpResponse:
    key, why = request.POST["test"][:18], request.POST.get("explanation", "").strip()
    test = campaign.test_pairs.filter(pk=int(key)).first() if key.isdecimal() else None
    if test is None:
        raise NotYours(_("This campaign has no such test pair."))
    if not why:
        raise BadRequest(_("Say why the passage is better: workers read it after they have chosen."))
    task_services.practice_take_test(test_pair=test, why=why, by=request.user, at=timezone.now())
    messages.success(request, _("The pair is for practice now. It is no longer a test pair."))
    return see_other("tasks:practice", campaign.pk)


def _context(request: Request, campaign: Campaign, form: PracticePairForm) -> dict[str, Any]:
    confirmed = task_selectors.confirmed_tests(campaign)
    has_practice = campaign.practice != Campaign.Practice.NOTHING
    return {
        "campaign": campaign,
        "draft": campaign.state == Campaign.State.DRAFT,
        "has_practice": has_practice,
        "pairs": read_practice_pairs(campaign.practice_pairs),
        "needed": right_needed(campaign),
        "minutes": practice_minutes(campaign),
        "lacking": lacking_practice(campaign),
        "counts": practice_counts(campaign) if has_practice else None,
        "form": form,
        "tests": Listing(request, confirmed.select_related("relevant", "off_topic"), key="tests", size=OFFERED),
        "lang": campaign.language,
    }
