"""The researcher's page on which a draft is changed."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from campaigns import draft_jobs
from campaigns.forms import CampaignForm
from core.errors import NotNow
from core.http import Request, edit_in_turn
from core.roles import Right, needs
from pools.http import campaign_of
from pools.models import Campaign
from runs.http import begin, job_asked_again
from runs.models import Job


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def campaign_edit(request: Request, pk: int) -> HttpResponse:
    """Every setting of a draft. A job makes its pools and pairs again where they follow from what has changed."""
    draft = campaign_of(request, pk)
    if draft.state != Campaign.State.DRAFT:
        raise NotNow(_("The campaign has started, so its settings can no longer be changed."))
    status = 200
    if request.method == "POST":
        with edit_in_turn(request):
            form, job = _ask(request, campaign_of(request, pk))
        if job is not None:
            return begin(request, job)
        status = 400
    else:
        form = _form(request, draft)
    context = {"form": form, "collection": draft.collection, "draft": campaign_of(request, pk)}
    return render(request, "campaigns/campaign_new.html", context, status=status)


def _ask(request: Request, draft: Campaign) -> tuple[CampaignForm, Job | None]:
    """Have the draft changed, unless the form has errors or a change that was asked for before is still being made."""
    form = CampaignForm.changing(draft, request.POST)
    if not form.is_valid():
        return form, None
    if Job.objects.filter(
        outcome_id=draft.pk, kind=Job.Kind.CAMPAIGN, state__in=[Job.State.RECEIVING, Job.State.WAITING]
    ).exists():
        form.add_error(None, _("This draft is being changed right now. Save again once that is done."))
        return form, None
    job = draft_jobs.campaign_ask(
        collection=draft.collection,
        runs=form.cleaned_data["runs"],
        name=form.cleaned_data["name"],
        settings=form.settings(),
        by=request.user,
        at=timezone.now(),
        draft=draft,
    )
    return form, job


def _form(request: Request, draft: Campaign) -> CampaignForm:
    """The draft's form, or what was asked for before, in vain (`?again=`)."""
    before = job_asked_again(request, Job.Kind.CAMPAIGN)
    if before is None or before.request.get("draft") != draft.pk:
        return CampaignForm.changing(draft)
    campaign = draft_jobs.settings_of(before)
    campaign.pk = draft.pk
    form = CampaignForm(collection=draft.collection, instance=campaign, initial={"runs": before.request["runs"]})
    form.as_shown = CampaignForm.changing(draft).as_shown  # not what was asked for, but what is stored
    return form
