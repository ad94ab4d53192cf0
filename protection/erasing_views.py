"""The pages on which an account is closed, and a whole campaign erased."""

import logging
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods
from kombu.exceptions import OperationalError

from core.errors import NotNow, Refused
from core.http import Request, membership_of, refuse_in, see_other
from core.roles import Right, needs
from pools.http import campaign_of
from pools.models import Campaign
from protection import jobs as protection_jobs
from protection.campaign_erasing import whole_plan
from protection.closing import account_close as close
from protection.closing import closing_plan
from protection.views import WhyForm

log = logging.getLogger(__name__)


class EraseForm(WhyForm):
    """Erasing a campaign: its name, so that nobody erases another by mistake, and why."""

    name = forms.CharField(label=gettext_lazy("The campaign's name, to confirm"), max_length=100)
    field_order = ("name", "why")

    def __init__(self, *args: Any, campaign: Campaign) -> None:
        super().__init__(*args)
        self.campaign = campaign

    def clean_name(self) -> str:
        if self.cleaned_data["name"].strip() != self.campaign.name:
            raise forms.ValidationError(_("This is not the campaign's name. Nothing was changed."))
        return self.campaign.name


@needs(Right.SIGNED_IN)
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no types
@require_http_methods(["GET", "POST"])
def account_close(request: Request) -> HttpResponse:
    """What closing one's own account would do; POST does it, and logs out."""
    form, status = WhyForm(request.POST if request.method == "POST" else None), 200
    if request.method == "POST" and form.is_valid():
        try:
            close(user=request.user, at=timezone.now(), why=form.cleaned_data["why"])
        except Refused as error:
            status = refuse_in(form, error)
        else:
            request.session.flush()
            messages.success(request, _("Your account is closed. Nothing here says any more who it was."))
            return see_other("login")
    context = {"person": request.user, "plan": closing_plan(request.user), "form": form, "is_own": True}
    return render(request, "protection/account_close.html", context, status=status)


@needs(Right.SITE)
@require_http_methods(["GET", "POST"])
def member_close(request: Request, pk: int, membership_pk: int) -> HttpResponse:
    """The same of a member, for admins of the site."""
    membership = membership_of(request, pk, membership_pk)
    if membership.user == request.user:
        return see_other("protection:account_close")
    form, status = WhyForm(request.POST if request.method == "POST" else None), 200
    if request.method == "POST" and form.is_valid():
        try:
            close(user=membership.user, at=timezone.now(), why=form.cleaned_data["why"])
        except Refused as error:
            status = refuse_in(form, error)
        else:
            messages.success(request, _("The account is closed. Nothing here says any more who it was."))
            return see_other("core:people", pk)
    plan = closing_plan(membership.user)
    context = {"person": membership.user, "lab": membership.lab, "plan": plan, "form": form, "is_own": False}
    return render(request, "protection/account_close.html", context, status=status)


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
def campaign_erase(request: Request, pk: int) -> HttpResponse:
    """What erasing the whole campaign would do; POST has it done in the background."""
    campaign, status = campaign_of(request, pk), 200
    plan = whole_plan(campaign, at=timezone.now())
    form = EraseForm(request.POST or None, campaign=campaign)
    if request.method == "POST":
        if plan.obstacles:
            raise NotNow(_("The campaign cannot be erased. %(why)s") % {"why": " ".join(plan.obstacles)})
        if form.is_valid():
            try:
                protection_jobs.erase_whole_campaign.delay(pk, form.cleaned_data["why"])
            except OperationalError as error:
                log.warning("A job could not be asked for: %s", error)
                messages.warning(
                    request, _("This cannot be asked for now. Nothing was changed; try again in a minute.")
                )
                return see_other("protection:campaign_erase", pk)
            messages.success(request, _("“%(name)s” is being erased. This takes a moment.") % {"name": campaign.name})
            return see_other("campaigns:campaigns")
        status = 400
    context = {"campaign": campaign, "plan": plan, "form": form}
    return render(request, "protection/campaign_erase.html", context, status=status)
