"""The page of a test run at a campaign's platform."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core.errors import NotYours, Refused
from core.http import Request, refuse_in, see_other
from core.roles import Right, needs
from platforms.models import Publication
from platforms.publishing import testing
from platforms.registry import adapter_of
from pools.http import campaign_of


class TestRunForm(forms.Form):
    """Whether a test participant is made, too."""

    email = forms.EmailField(
        label=gettext_lazy("E-mail address of a new test participant"),
        required=False,
        help_text=gettext_lazy(
            "One that has no account at the platform yet. Leave it empty if the workspace has a test participant."
        ),
    )


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def test_run(request: Request, pk: int) -> HttpResponse:
    """How the campaign can be tried through its platform. POST begins a test run, or ends the one there is."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None or not adapter_of(publication).has_test_runs:
        raise NotYours(_("This campaign's platform has no test runs."))
    publication.campaign = campaign
    form, status = TestRunForm(), 200
    if request.method == "POST":
        form, status = TestRunForm(request.POST), 400
        if form.is_valid():
            try:
                if request.POST.get("end") == "yes":
                    if testing.test_run_end(publication=publication):
                        messages.success(request, _("The test run has ended."))
                else:
                    testing.test_run_begin(publication=publication, email=form.cleaned_data["email"])
                    messages.success(request, _("The test run has begun."))
            except Refused as error:
                status = refuse_in(form, error)
            else:
                return see_other("platforms:test_run", pk)
    context = {
        "campaign": campaign,
        "publication": publication,
        "form": form,
        "obstacle": testing.test_run_obstacle(publication),
    }
    return render(request, "platforms/test_run.html", context, status=status)
