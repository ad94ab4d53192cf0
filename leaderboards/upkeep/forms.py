"""The form of how a board's best known answers are kept current."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy

from core.forms import EditForm
from leaderboards.models import Board, Upkeep
from pools.models import Campaign, CampaignTemplate
from tasks.models import TestPair

FIELDS = (
    *("is_on", "runs_itself", "covers_eval", "template", "tests_from", "fewest", "every_days"),
    *("campaign_dollars", "year_dollars"),
)


class UpkeepForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """Budget, cadence, platform, and whether somebody approves each campaign."""

    class Meta:
        model = Upkeep
        fields = FIELDS
        labels: ClassVar = {
            "is_on": gettext_lazy("Keep the answers current"),
            "runs_itself": gettext_lazy("Start campaigns without approval"),
            "covers_eval": gettext_lazy("Judge eval queries too"),
            "template": gettext_lazy("Template"),
            "tests_from": gettext_lazy("Test pairs of"),
            "fewest": gettext_lazy("Challengers that a campaign waits for"),
            "every_days": gettext_lazy("Days between campaigns"),
            "campaign_dollars": gettext_lazy("Most for one campaign, in dollars"),
            "year_dollars": gettext_lazy("Most for 365 days, in dollars"),
        }
        help_texts: ClassVar = {
            "runs_itself": gettext_lazy("Within the budget. Otherwise each campaign waits for your approval."),
            "covers_eval": gettext_lazy(
                "Workers then see eval queries and what entries rank first for them, so these are no longer secret."
            ),
            "template": gettext_lazy("Its settings, wording, pay and platform are those of the campaigns."),
            "tests_from": gettext_lazy("The campaign's confirmed test pairs are used again."),
        }

    def __init__(self, *args: Any, board: Board, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        template, tests_from = self.fields["template"], self.fields["tests_from"]
        assert isinstance(template, forms.ModelChoiceField)
        assert isinstance(tests_from, forms.ModelChoiceField)
        template.queryset = CampaignTemplate.objects.filter(lab=board.lab_id).order_by("name")
        confirmed = TestPair.objects.filter(state=TestPair.State.CONFIRMED, campaign__lab=board.lab_id)
        tests_from.queryset = Campaign.objects.filter(pk__in=confirmed.values("campaign")).order_by("name")


class DecisionForm(forms.Form):
    """Why a round is approved, goes on, or is ended."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=1000,
        help_text=gettext_lazy("Needed, except to approve the round. It is kept with the round."),
    )
