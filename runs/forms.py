"""Forms of files that are sent, and of collections and runs."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.forms import EditForm
from core.models import Lab, User
from core.roles import Right, labs_of
from runs import selectors as run_selectors
from runs.models import Collection
from runs.sending import MEGABYTE, too_large

OFFERED = 100  # collections or runs that a form offers; of more, each is found by its name


def _models_used() -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Models that it uses"),
        max_length=300,
        required=False,
        help_text=gettext_lazy(
            "Names of language models, separated by commas, such as gpt-4o. Machine judges are then tested for "
            "favouring runs that use their own model."
        ),
    )


def _without_query() -> forms.BooleanField:
    return forms.BooleanField(
        label=gettext_lazy("Leave the query out of its own results"),
        required=False,
        help_text=gettext_lazy(
            "As BEIR does, where queries are passages too: a passage with the query’s id is no hit."
        ),
    )


class RunUploadForm(forms.Form):
    """A run file and what it is called."""

    collection = forms.ModelChoiceField(Collection.objects.none(), label=gettext_lazy("Collection"))
    file = forms.FileField(
        label=gettext_lazy("Run file"),
        help_text=gettext_lazy(
            "TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst; at most %(megabytes)s MB."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the file's name without its extensions."),
    )
    team = forms.CharField(label=gettext_lazy("Team"), max_length=100, required=False)
    notes = forms.CharField(label=gettext_lazy("Notes"), required=False, widget=forms.Textarea(attrs={"rows": 3}))
    models_used = _models_used()
    without_query = _without_query()

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["collection"]
        assert isinstance(choice, forms.ModelChoiceField)
        collections = run_selectors.collections_of(user, Right.MAINTAIN)
        self.must_choose = False  # whether the collection has to be chosen on a page of its own first
        if collections[OFFERED:].exists():
            chosen = str((self.data if self.is_bound else self.initial).get("collection") or "")
            is_key = chosen.isdecimal() and len(chosen) < 19  # what a key can be
            collections = collections.filter(pk=int(chosen)) if is_key else collections.none()
            self.must_choose = not collections.exists()
        choice.queryset = collections

    def clean_file(self) -> object:
        upload = self.cleaned_data["file"]
        if upload.size > settings.UPLOAD_MEGABYTES * MEGABYTE:
            raise forms.ValidationError(too_large())
        return upload


class RunModelsForm(EditForm, forms.Form):
    models_used = _models_used()


class AnswersForm(forms.Form):
    """A file of what somebody preferred, and a name for it."""

    file = forms.FileField()
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the file's name without its extensions."),
    )

    def clean_file(self) -> object:
        upload = self.cleaned_data["file"]
        if upload.size > settings.UPLOAD_MEGABYTES * MEGABYTE:
            raise forms.ValidationError(too_large())
        return upload


class PreferencesForm(AnswersForm):
    """A file of judgments that were made elsewhere."""

    file = forms.FileField(
        label=gettext_lazy("Preferences"),
        help_text=gettext_lazy(
            "Ids in four columns: query, passage a, passage b, and whichever of the two was preferred, or = for a tie; "
            "plain, gz, bz2 or zst; at most %(megabytes)s MB."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    note = forms.CharField(
        label=gettext_lazy("Where they come from"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=gettext_lazy(
            "Who judged, and what they were asked. Shown by every campaign that reuses the judgments."
        ),
    )


class CollectionForm(forms.Form):
    lab = forms.ModelChoiceField(Lab.objects.none(), label=gettext_lazy("Lab"), empty_label=None)
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    language = forms.CharField(
        label=gettext_lazy("Language"),
        max_length=35,
        required=False,
        initial="en",
        help_text=gettext_lazy("The code of the texts' language, such as en, ar or pt-BR. Empty if they are mixed."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["lab"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = labs_of(user, Right.DESIGN).order_by("name")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        same = Collection.objects.filter(lab=data.get("lab"), name=data.get("name"))
        if same.exists():
            self.add_error("name", _("The lab already has a collection with this name. Add the files on its page."))
        return data


class DatasetForm(forms.Form):
    """A public collection."""

    lab = forms.ModelChoiceField(Lab.objects.none(), label=gettext_lazy("Lab"), empty_label=None)
    dataset = forms.CharField(
        label=gettext_lazy("Id in ir_datasets"),
        max_length=Collection._meta.get_field("dataset").max_length,
        help_text=gettext_lazy("Such as beir/scifact/test or msmarco-passage-v2/trec-dl-2021/judged."),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "none"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, required=False, help_text=gettext_lazy("Leave empty to use the id.")
    )
    passages = forms.BooleanField(
        label=gettext_lazy("Fetch the passages in the qrels"),
        required=False,
        help_text=gettext_lazy(
            "The whole corpus is downloaded once, and only passages that pools can need are kept. You can also fetch "
            "them later, together with those of your runs."
        ),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["lab"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = labs_of(user, Right.DESIGN).order_by("name")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        data["name"] = data.get("name") or data.get("dataset", "")[:100]
        if Collection.objects.filter(lab=data.get("lab"), name=data["name"]).exists():
            self.add_error("name", _("The lab already has a collection with this name. Choose another."))
        return data


class ReadForm(forms.Form):
    """How files that were received are read."""

    keep = forms.ChoiceField(
        label=gettext_lazy("Passages to keep"),
        choices=[
            ("pooled", gettext_lazy("those that pools can need: named by qrels, or at the top of a run")),
            ("all", gettext_lazy("all")),
        ],
        help_text=gettext_lazy("A corpus can be large. What pools need is known from the qrels and the runs."),
    )
    team = forms.CharField(
        label=gettext_lazy("Team of the runs"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Optional, if all runs are of one team."),
    )
    without_query = _without_query()


class OutsideScoresForm(forms.Form):
    """How the runs of a collection score elsewhere."""

    source = forms.CharField(
        label=gettext_lazy("Source and measure"),
        max_length=100,
        help_text=gettext_lazy("Where the scores come from, such as “MS MARCO leaderboard, MRR@10”."),
    )
    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("One line for each run: its name, its score and, if you know it, its rank there."),
    )

    def clean_file(self) -> object:
        """Refuse what is far larger than scores of runs can be."""
        upload = self.cleaned_data["file"]
        if upload.size > MEGABYTE:
            raise forms.ValidationError(
                _("This file is larger than 1 MB. A file of scores is much smaller: it has one line for each run.")
            )
        return upload
