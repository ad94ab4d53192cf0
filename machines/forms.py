"""Forms of machine judges."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from pools.models import Campaign
from runs.forms import AnswersForm
from runs.models import Collection

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    _CampaignChoice = forms.ModelChoiceField[Campaign]
else:
    _CampaignChoice = forms.ModelChoiceField


class MachineForm(AnswersForm):
    """A machine's answers, and which machine it was."""

    file = forms.FileField(
        label=gettext_lazy("Answers"),
        help_text=gettext_lazy(
            "Ids in four columns: query, passage a, passage b (in the order in which the machine was shown them), and "
            "whichever of the two it preferred, = for a tie, or ! for no answer; plain, gz, bz2 or zst; at most "
            "%(megabytes)s MB. A pair may be there in both orders."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    model = forms.CharField(
        label=gettext_lazy("Model"),
        max_length=200,
        help_text=gettext_lazy("Exactly which one, with its version or date."),
    )
    prompt = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=gettext_lazy("What it was told, word for word, with the settings that it was asked with."),
    )
    field_order = ("file", "name", "model", "prompt")


NEWEST = 50  # campaigns to choose from where a machine is to be asked; others are named


class AskedCampaignField(_CampaignChoice):
    """Campaigns by name, with how many questions a machine would be asked."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, Campaign)
        count = 2 * obj.pair_count
        text = ngettext("%(name)s (%(count)s question)", "%(name)s (%(count)s questions)", count)
        return text % {"name": obj.name, "count": f"{count:,}"}


class MachineAskingForm(forms.Form):
    """Which machine is asked about which campaign's pairs, what it is told, and how often at most."""

    campaign = AskedCampaignField(
        Campaign.objects.none(),
        label=gettext_lazy("Campaign"),
        empty_label=None,
        help_text=gettext_lazy("The machine is asked about the same pairs as its people, each in both orders."),
    )
    other = forms.CharField(
        label=gettext_lazy("Another campaign"),
        max_length=100,
        required=False,
        help_text=gettext_lazy(
            "The name of a campaign that is not in the list, which has the newest %(count)s. It takes "
            "the place of the chosen one."
        )
        % {"count": NEWEST},
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    model = forms.CharField(
        label=gettext_lazy("Model"), max_length=200, help_text=gettext_lazy("As the endpoint calls it.")
    )
    prompt = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=20_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 9, "dir": "auto"}),
        help_text=gettext_lazy(
            "With {query}, {first} and {second} where these texts belong. It has to ask for 1, 2 or = (neither). "
            "Whatever else is answered counts as no answer."
        ),
    )
    budget = forms.IntegerField(
        label=gettext_lazy("Budget, in questions"),
        min_value=1,
        max_value=10_000_000,
        help_text=gettext_lazy("No more are asked. Questions that were answered before are not asked, and cost none."),
    )

    def __init__(self, *args: Any, collection: Collection, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.with_pairs = collection.campaigns.filter(pair_count__gt=0).order_by("-id")
        newest = list(self.with_pairs.values_list("pk", flat=True)[: NEWEST + 1])
        field = self.fields["campaign"]
        assert isinstance(field, AskedCampaignField)
        field.queryset = self.with_pairs.filter(pk__in=newest[:NEWEST])
        if len(newest) <= NEWEST:
            del self.fields["other"]

    def clean(self) -> dict[str, Any]:
        """The campaign that is named takes the place of the one in the list."""
        cleaned: dict[str, Any] = super().clean() or {}
        if name := cleaned.pop("other", "").strip():
            cleaned["campaign"] = self.with_pairs.filter(name=name).first()
            if cleaned["campaign"] is None:
                self.add_error("other", _("The collection has no campaign of this name with pairs."))
        return cleaned
