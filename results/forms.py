"""The form of how results are read."""

from typing import Any, ClassVar

from django import forms

from core.forms import EditForm
from pools.forms import HELP, LABELS, OFFERED, ErrorRateField, check_reading
from pools.models import Campaign
from pools.services import READING


class SettingsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """The settings that change only what is computed from the judgments."""

    error_rate = ErrorRateField()

    class Meta:
        model = Campaign
        fields = READING
        labels: ClassVar = {name: LABELS[name] for name in READING}
        help_texts: ClassVar = {name: HELP[name] for name in READING}
        widgets: ClassVar = {
            "baseline": forms.TextInput(attrs={"list": "run-names", "autocomplete": "off"}),
            "compared_pairs": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, campaign: Campaign, **kwargs: Any) -> None:
        kwargs["initial"] = {name: getattr(campaign, name) for name in READING}
        super().__init__(*args, **kwargs)
        self.collection = campaign.collection

    def run_names(self) -> list[str]:
        """The first names that are offered for the baseline."""
        return list(self.collection.runs.order_by("name").values_list("name", flat=True)[:OFFERED])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        check_reading(self, self.collection)
        return data
