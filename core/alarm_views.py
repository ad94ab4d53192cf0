"""Which mails about alarms somebody wants: their own page."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core import alarms
from core.forms import EditForm
from core.http import Request, edits, see_other
from core.models import AlarmChoice, AlarmTopic
from core.roles import Right, needs


class AlarmChoiceForm(EditForm, forms.Form):
    """About which campaigns, and what."""

    reach = forms.ChoiceField(
        label=gettext_lazy("Mails about"), choices=AlarmChoice.Reach.choices, widget=forms.RadioSelect
    )
    topics = forms.MultipleChoiceField(
        label=gettext_lazy("Kinds of problems"),
        choices=AlarmTopic.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )


@needs(Right.SIGNED_IN)
@require_http_methods(["GET", "POST"])
@edits
def alarm_choice(request: Request) -> HttpResponse:
    """What somebody chose. POST chooses anew."""
    choice = alarms.choice_of(request.user)
    form = AlarmChoiceForm(request.POST or None, initial={"reach": choice.reach, "topics": choice.topics})
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            fields: dict[str, Any] = form.cleaned_data
            alarms.choice_set(user=request.user, **fields)
            messages.success(request, _("Saved."))
            return see_other("core:alarm_choice")
    notice = ""
    if not settings.HAS_MAIL:
        notice = _(
            "This site sends no mail yet: the person who runs it has not set up a mail server. Problems are shown on "
            "each campaign's page."
        )
    elif not request.user.email:
        notice = _("Your account has no confirmed mail address, so nothing can be sent to you.")
    page = {
        "title": _("Mails about problems"),
        "notice": notice,
        "notice_kind": " look",
        "about": [
            _(
                "You get one mail when a problem begins, for each campaign and kind of problem, and none while it "
                "lasts. No mail says anything about a worker."
            )
        ],
        "button": _("Save"),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)
