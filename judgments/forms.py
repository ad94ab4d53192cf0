"""The form of imported judgments."""

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy

from pools.models import Campaign
from runs.forms import PreferencesForm


class JudgmentsForm(PreferencesForm):
    """A file of judgments that were made elsewhere, for a campaign of their own."""

    file = forms.FileField(
        label=gettext_lazy("Judgments"),
        help_text=gettext_lazy(
            "Lines “query a b preferred worker time” (the last two may be missing), prefj's log, Mechanical Turk's "
            "results (CSV), Label Studio's pairwise export (JSON or CSV) or Potato's output; plain, gz, bz2 or zst; "
            "at most %(megabytes)s MB. The format is recognized."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    name = forms.CharField(
        label=gettext_lazy("Name of the campaign"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the file's name without its extensions."),
    )
    question = forms.CharField(
        label=gettext_lazy("Question"),
        max_length=300,
        initial=Campaign._meta.get_field("question").default,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        help_text=gettext_lazy("What the workers were asked. Campaigns that ask the same may reuse the judgments."),
    )
    note = forms.CharField(
        label=gettext_lazy("Where they come from"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=gettext_lazy("Who judged, when, and how they were paid. The campaign shows it."),
    )
    field_order = ("file", "name", "question", "note")
