"""The form of how results are read."""

from typing import Any, ClassVar

from django import forms

from core.forms import EditForm
from pools.forms import check_reading
from pools.models import Campaign
from pools.settings import ReadingSettings, names_in
from runs.forms import OFFERED


class SettingsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """The settings that change only what is computed from the judgments."""

    class Meta:
        model = Campaign
        fields: ClassVar = names_in(ReadingSettings)
        widgets: ClassVar = {
            "baseline": forms.TextInput(attrs={"list": "run-names", "autocomplete": "off"}),
            "compared_pairs": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, campaign: Campaign, **kwargs: Any) -> None:
        kwargs["initial"] = {name: getattr(campaign, name) for name in names_in(ReadingSettings)}
        super().__init__(*args, **kwargs)
        self.collection = campaign.collection

    def run_names(self) -> list[str]:
        """The first names that are offered for the baseline."""
        return list(self.collection.runs.order_by("name").values_list("name", flat=True)[:OFFERED])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        check_reading(self, self.collection)
        return data
