"""The page of a lab's account at a platform where each lab has its own."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core.errors import NotYours, Refused
from core.http import Request, refuse_in, see_other
from core.money import CURRENCIES, in_currency
from core.roles import Right, labs_of, needs, require
from platforms.hooks import said_of
from platforms.models import PUBLISHED_TO, LabAccount
from platforms.money.lab_accounts import LONGEST_TOKEN, lab_account_remove, lab_account_store
from platforms.registry import ADAPTERS


class AccountForm(forms.Form):
    """A token, which is never shown again, and the workspace that pays."""

    token = forms.CharField(
        label=gettext_lazy("API token"),
        max_length=LONGEST_TOKEN,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Prolific makes it under “Settings”, “API tokens”. It is stored encrypted."),
        error_messages={"required": gettext_lazy("Copy the token from the platform.")},
    )
    workspace = forms.CharField(
        label=gettext_lazy("Workspace"),
        max_length=64,
        required=False,
        help_text=gettext_lazy("Its id, if the token opens more than one. It pays for the lab's campaigns."),
    )


@needs(Right.MANAGE)
@sensitive_post_parameters("token")
@require_http_methods(["GET", "POST"])
def lab_account(request: Request, pk: int, platform: str) -> HttpResponse:
    """A lab's account at a platform. POST asks the platform about a token and stores it, or removes the one stored."""
    lab, status = labs_of(request.user).filter(pk=pk).first(), 200
    if lab is None:
        raise NotYours(_("There is no such lab, or it is not yours."))
    require(request.user, lab, Right.MANAGE)
    if platform not in ADAPTERS or not ADAPTERS[platform].has_lab_accounts:
        raise NotYours(_("Labs have no accounts of their own at a platform of that name."))
    stored = LabAccount.objects.filter(lab=lab, platform=platform).first()
    form = AccountForm(initial={"workspace": stored.workspace_id if stored else ""})
    if request.method == "POST":
        if request.POST.get("remove") == "yes":
            if lab_account_remove(lab=lab, platform=platform):
                messages.success(request, _("The token has been deleted."))
            return see_other("platforms:lab_account", pk, platform)
        form, status = AccountForm(request.POST), 400
        if form.is_valid():
            try:
                facts = lab_account_store(
                    lab=lab,
                    platform=platform,
                    token=form.cleaned_data["token"],
                    workspace_id=form.cleaned_data["workspace"],
                    by=request.user,
                    at=timezone.now(),
                )
            except Refused as error:
                status = refuse_in(form, error)
            else:
                text = _("The token has been stored. The workspace “%(name)s” has %(balance)s.")
                messages.success(
                    request, text % {"name": facts.workspace, "balance": in_currency(facts.balance, facts.currency)}
                )
                return see_other("platforms:lab_account", pk, platform)
    context = {
        "lab": lab,
        "platform": PUBLISHED_TO[platform],
        "stored": stored,
        "notifications": said_of(getattr(stored, "hook", None)) if ADAPTERS[platform].notifies_accounts else "",
        "currency": CURRENCIES[stored.currency] if stored else "",
        "fee": f"{stored.fee_share * 100:.2f}".rstrip("0").rstrip(".") if stored else "",
        "form": form,
    }
    return render(request, "platforms/lab_account.html", context, status=status)
