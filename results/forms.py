"""The form of how results are read."""

from django import forms

from pools.forms import HELP, LABELS, ErrorRateField


class SettingsForm(forms.Form):
    """The settings that change only what is computed from the judgments."""

    error_rate = ErrorRateField()
    compare_depth = forms.IntegerField(
        label=LABELS["compare_depth"], help_text=HELP["compare_depth"], min_value=1, max_value=100
    )
