"""The researcher's page from which a campaign's tasks are tried, and sent to be tried."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from core.http import Request, see_other
from core.roles import Right, needs
from pools.http import campaign_of
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import trials


@needs(Right.SEE)
@require_GET
def trial(request: Request, pk: int) -> HttpResponse:
    """Try the task: the workers' pages wide and as on a phone, and a link for others."""
    campaign = campaign_of(request, pk)
    return _show(request, campaign, trials.trial_link(campaign))


@needs(Right.DESIGN)
@require_POST
def trial_of_wording(request: Request, pk: int) -> HttpResponse:
    """Try the task with words that are not saved: those sent, and for the rest those of the campaign."""
    campaign = campaign_of(request, pk)
    words = task_selectors.words_to_try(campaign)
    sent = {name: request.POST.get(f"words-{name}") for name in ("title", "question", "instructions")}
    sent["consent"] = request.POST.get("consent-text")
    words |= {name: text.replace("\r\n", "\n").strip() for name, text in sent.items() if text and text.strip()}
    return _show(request, campaign, trials.trial_link(campaign, words))


@needs(Right.DESIGN)
@require_POST
def trials_revoke(request: Request, pk: int) -> HttpResponse:
    """Make all links to trials of the campaign worthless."""
    trials.trials_revoke(campaign=campaign_of(request, pk))
    messages.success(request, _("The links to trials no longer work. Below is a new one."))
    return see_other("tasks:trial", pk)


def _show(request: Request, campaign: Campaign, trial: trials.Trial) -> HttpResponse:
    context = {
        "campaign": campaign,
        "counts": task_selectors.test_counts(campaign),
        "obstacle": trials.trial_obstacle(campaign),
        "unsaved": bool(trial.wording),
        "address": trial.address,
        "start": reverse("judging:preview", args=[trial.token]),
        "until": trial.until,
    }
    response = render(request, "tasks/trial.html", context)
    response._csp_update = {"frame-src": ["'self'"]}  # type: ignore[attr-defined]  # as csp.decorators.csp_update does
    return response
