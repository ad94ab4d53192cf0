"""Forms about test pairs, what workers read, and the panel."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.forms import EditForm
from pools.models import Campaign
from tasks.models import OutsidePanel, PayWords

_PASSAGE = forms.Textarea(attrs={"rows": 5, "dir": "auto"})


class TestPairForm(forms.Form):
    """A test pair in the researcher's own words."""

    __test__ = False

    question = forms.CharField(label=_("Question"), widget=forms.TextInput(attrs={"dir": "auto"}))
    relevant_text = forms.CharField(
        label=_("Passage that answers the question"),
        help_text=_("Anyone who reads both passages must see that this one answers it."),
        widget=_PASSAGE,
    )
    off_topic_text = forms.CharField(
        label=_("Passage about something else"),
        help_text=_("It must be obviously off topic, yet written like a real passage."),
        widget=_PASSAGE,
    )


class SuggestForm(forms.Form):
    """How many test pairs to suggest."""

    count = forms.IntegerField(label=_("How many"), min_value=1, max_value=200, initial=10)


class CopyTestsForm(forms.Form):
    """Whose confirmed test pairs to copy: those of one of the lab's newest campaigns that have any."""

    source = forms.ChoiceField(label=_("Campaign"))

    def __init__(self, *args: Any, sources: Iterable[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["source"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(sources)


class ConsentForm(EditForm, forms.Form):
    """What workers agree to."""

    text = forms.CharField(label=_("Consent text"), widget=forms.Textarea(attrs={"rows": 14, "dir": "auto"}))


class WordsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """Title, question and instructions of a draft."""

    class Meta:
        model = Campaign
        fields = ["title", "question", "instructions"]
        widgets = {
            "title": forms.TextInput(attrs={"dir": "auto"}),
            "question": forms.TextInput(attrs={"dir": "auto"}),
            "instructions": forms.Textarea(attrs={"rows": 10, "dir": "auto"}),
        }


class PayWordsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """What people who come by a link or from a panel read about their pay, and what they are asked for."""

    class Meta:
        model = PayWords
        fields = ["how", "asked"]
        labels = {"how": _("How and when they are paid"), "asked": _("What you need from them to pay them")}
        help_texts = {
            "how": _("Such as “By PayPal, within two weeks after the study ends on 1 May.”"),
            "asked": _("Such as “Your PayPal address”. They see a field of this name. Leave it empty to ask nothing."),
        }
        widgets = {
            "how": forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
            "asked": forms.TextInput(attrs={"dir": "auto"}),
        }


class ExampleForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A worked example in the researcher's own words."""

    class Meta:
        model = Campaign
        fields = ["example_query", "example_better", "example_worse", "example_why"]
        widgets = {
            "example_query": forms.TextInput(attrs={"dir": "auto"}),
            "example_better": _PASSAGE,
            "example_worse": _PASSAGE,
            "example_why": forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        }


class PracticePairForm(forms.Form):
    """A practice pair in the researcher's own words."""

    question = forms.CharField(label=_("Question"), widget=forms.TextInput(attrs={"dir": "auto"}))
    better = forms.CharField(label=_("Better passage"), widget=_PASSAGE)
    worse = forms.CharField(label=_("Worse passage"), widget=_PASSAGE)
    explanation = forms.CharField(
        label=_("Why it is better"),
        help_text=_("One or two sentences, shown to the worker after they have chosen. Do not say A or B."),
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )


class OutsidePanelForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """How people of an outside panel come and go."""

    class Meta:
        model = OutsidePanel
        fields = [
            *("name", "person_parameter", "session_parameter"),
            *("finished_exit", "failed_exit", "no_consent_exit", "nothing_left_exit"),
        ]
        labels = {
            "name": _("Name of the panel"),
            "person_parameter": _("Parameter with the person's id"),
            "session_parameter": _("Parameter with the session's id"),
            "finished_exit": _("Who has finished"),
            "failed_exit": _("Who has failed a test pair"),
            "no_consent_exit": _("Who does not agree"),
            "nothing_left_exit": _("Who comes when nothing is left"),
        }
        help_texts = {
            "name": _("Workers read it. It stays once somebody has come."),
            "session_parameter": _("New each time that a person takes the task there."),
            "finished_exit": _("A completion code, or the address to go back to. The same holds for the three below."),
            "failed_exit": _("If it is empty, these people leave in the same way as those who have finished."),
            "nothing_left_exit": _("If it is empty, people are asked to return the task."),
        }


class InviteForm(forms.Form):
    """Panel members, one a line."""

    names = forms.CharField(
        label=_("Names or e-mail addresses, one per line"),
        help_text=_("They are never exported. People who are already on the panel keep their link."),
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
    )
