"""Forms for runs and campaigns."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.db.models import Model, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.errors import Refused
from core.forms import EditForm, Group
from core.models import Lab, User
from core.roles import Right, labs_of
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign, CampaignTemplate, Collection, QrelsVersion, Run
from pools.practice import read_practice_pairs
from pools.settings import MaterialSettings, Part, kept_in_templates, names_in, sections_of, settings_of
from pools.templating import EXAMPLE, INSTEAD, KEPT, template_settings

if TYPE_CHECKING:  # the classes take parameters in their stubs alone
    _RunChoice = forms.ModelMultipleChoiceField[Run]
    _VersionChoice = forms.ModelChoiceField[QrelsVersion]
    _CampaignChoice = forms.ModelChoiceField[Campaign]
    _CampaignForm = forms.ModelForm[Campaign]
else:
    _RunChoice = forms.ModelMultipleChoiceField
    _VersionChoice = forms.ModelChoiceField
    _CampaignChoice = forms.ModelChoiceField
    _CampaignForm = forms.ModelForm


MEGABYTE = 1_000_000
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
        collections = pool_selectors.collections_of(user, Right.MAINTAIN)
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
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the id."),
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


def too_large() -> str:
    """Why an upload is not taken, and what to do instead."""
    return _(
        "What you sent is larger than %(megabytes)s MB. Compress the files, or import them on the server with "
        "manage.py import_run and import_collection."
    ) % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"}


class RunChoiceField(_RunChoice):
    """Runs by name, with their team."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, Run)
        return f"{obj.name} ({obj.team})" if obj.team else obj.name


def check_reading(form: forms.BaseForm, collection: Collection) -> None:
    """Add an error to a form where the comparisons that it chooses cannot be made."""
    data = form.cleaned_data
    if "comparisons" in data and not {"baseline", "compared_pairs"} & set(form.errors):
        try:
            pool_services.check_comparisons(
                collection=collection,
                comparisons=data["comparisons"],
                baseline=data["baseline"],
                compared_pairs=data["compared_pairs"],
            )
        except Refused as error:
            is_baseline = data["comparisons"] == Campaign.Comparisons.BASELINE
            form.add_error("baseline" if is_baseline else "compared_pairs", str(error))


class VersionChoiceField(_VersionChoice):
    """Versions of the preference qrels by number."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, QrelsVersion)
        return _("version %(number)d") % {"number": obj.number}


class RenameForm(EditForm, forms.Form):
    """A campaign's name."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=Campaign._meta.get_field("name").max_length)


def runs_chosen(campaign: Campaign) -> dict[str, Any]:
    """The runs of a campaign as its form asks for them."""
    runs = list(campaign.runs.order_by("name").values_list("pk", "name"))
    more = "\n".join(name for _key, name in runs[OFFERED:])
    return {"runs": [key for key, _name in runs[:OFFERED]], "more_runs": more}


class SettingsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """The settings of a campaign, of a template too. `first` are fields before those of the first part."""

    first: ClassVar[tuple[str, ...]] = ("name",)

    class Meta:
        model = Campaign
        fields: ClassVar = kept_in_templates(Campaign)
        widgets = {
            "query_list": forms.Textarea(attrs={"rows": 3}),
            "compared_pairs": forms.Textarea(attrs={"rows": 3}),
            "practice_pairs": forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
            "instructions": forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
            "title": forms.TextInput(attrs={"dir": "auto"}),
            "question": forms.TextInput(attrs={"dir": "auto"}),
            "reward": forms.NumberInput(attrs={"min": "0", "step": "0.01"}),
        }

    def names_in(self, part: Part) -> list[str]:
        """The fields of a part of the form, in the order in which a researcher decides."""
        return [*(self.first if part is MaterialSettings else ()), *names_in(part)]

    def fieldsets(self) -> Iterator[Group]:
        """The parts of the form, with those fields that it has."""
        for part in sections_of(Campaign):
            fields = [self[name] for name in self.names_in(part) if name in self.fields]
            yield Group(part.section.title, fields, part.section.folded)


class CampaignForm(SettingsForm):
    """Every setting of a new campaign over one collection."""

    first = ("name", "all_runs", "runs", "more_runs")

    all_runs = forms.BooleanField(required=False)
    runs = RunChoiceField(
        queryset=Run.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Runs"),
        required=False,
    )
    more_runs = forms.CharField(
        label=gettext_lazy("More runs"),
        required=False,
        help_text=gettext_lazy("The names of runs that are not listed above, one per line."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    base_version = VersionChoiceField(
        queryset=QrelsVersion.objects.none(),
        required=False,
        empty_label=gettext_lazy("the newest"),
        label=Campaign._meta.get_field("base_version").verbose_name,
        help_text=Campaign._meta.get_field("base_version").help_text,
    )

    class Meta(SettingsForm.Meta):
        fields: ClassVar = ["name", "runs", *(field.name for field in settings_of(Campaign))]

    def __init__(self, *args: Any, collection: Collection, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {"language": collection.language})
        super().__init__(*args, **kwargs)
        self.collection = collection
        versions = self.fields["base_version"]
        assert isinstance(versions, VersionChoiceField)
        newest = QrelsVersion.objects.filter(collection=collection).order_by("-number")
        versions.queryset = newest.filter(pk__in=list(newest.values_list("pk", flat=True)[:OFFERED]))
        choice = self.fields["runs"]
        assert isinstance(choice, RunChoiceField)
        runs = choice.queryset = Run.objects.filter(collection=collection).order_by("name")
        count = runs.count()
        self.fields["all_runs"].label = ngettext("The collection’s only run", "All %(count)d runs", count) % {
            "count": count
        }
        if count > OFFERED:
            posted = choice.widget.value_from_datadict(self.data, self.files, "runs") or self.initial.get("runs") or []
            ticked = [key for key in posted[:OFFERED] if str(key).isdecimal()]
            offered = [*runs.filter(pk__in=ticked), *runs.exclude(pk__in=ticked)[:OFFERED]]
            choice.widget.choices = [(run.pk, choice.label_from_instance(run)) for run in offered[:OFFERED]]
        else:
            del self.fields["more_runs"]

    @classmethod
    def copying(cls, campaign: Campaign, collection: Collection) -> "CampaignForm":
        """A form filled in with the settings of a campaign, and with its runs if it is over the collection. Challengers
        challenge the newest version.
        """
        settings = {field.name: getattr(campaign, field.name) for field in settings_of(Campaign)}
        del settings["base_version"]
        name = _("%(name)s, copy") % {"name": campaign.name}
        number = Campaign.objects.filter(lab=collection.lab_id, name__startswith=name).count()
        draft = Campaign(collection=collection, name=f"{name} {number + 1}" if number else name, **settings)
        initial = runs_chosen(campaign) if campaign.collection_id == collection.pk else {}
        return cls(collection=collection, instance=draft, initial=initial)

    @classmethod
    def changing(cls, campaign: Campaign, data: Any = None) -> "CampaignForm":
        """A form filled in with a draft's settings and runs, which changes them."""
        return cls(data, collection=campaign.collection, instance=campaign, initial=runs_chosen(campaign))

    @classmethod
    def beginning(cls, template: CampaignTemplate, collection: Collection) -> "CampaignForm":
        """A form filled in with what a template has. A template of texts in no language takes the collection's."""
        draft = Campaign(collection=collection, **template_settings(template))
        draft.language = draft.language or collection.language
        return cls(collection=collection, instance=draft, initial={})

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Campaign.objects.filter(lab=self.collection.lab, name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("The lab already has a campaign with this name."))
        return name

    def clean_more_runs(self) -> list[str]:
        names = [line.strip() for line in self.cleaned_data["more_runs"].splitlines() if line.strip()]
        stored = set(Run.objects.filter(collection=self.collection, name__in=names).values_list("name", flat=True))
        if unknown := [name for name in names if name not in stored]:
            text = _("The collection has no run with this name: %(names)s.")
            raise forms.ValidationError(text % {"names": ", ".join(unknown[:10])})
        return names

    def clean(self) -> dict[str, Any]:
        """One run at least; a list needs its queries, a sample its size."""
        data = super().clean() or self.cleaned_data
        if data.get("all_runs"):
            self.errors.pop("runs", None)
            data["runs"] = Run.objects.filter(collection=self.collection).order_by("name")
        elif "runs" in data and data.get("more_runs"):
            either = Q(pk__in=[run.pk for run in data["runs"]]) | Q(name__in=data["more_runs"])
            data["runs"] = Run.objects.filter(either, collection=self.collection).order_by("name")
        if "runs" in data and not data["runs"] and "more_runs" not in self.errors:
            self.add_error("runs", _("Choose at least one run."))
        if data.get("selection") == Campaign.Selection.LIST and not data.get("query_list"):
            self.add_error("query_list", _("Enter at least one query."))
        if data.get("selection") == Campaign.Selection.SAMPLE and not data.get("sample_size"):
            self.add_error("sample_size", _("Enter how many queries to draw."))
        check_reading(self, self.collection)
        self._clean_challengers(data)
        self._clean_practice(data)
        return data

    def _clean_challengers(self, data: dict[str, Any]) -> None:
        if data.get("design") != Campaign.Design.CHALLENGERS:
            data["base_version"] = None
            return
        data["base_version"] = data.get("base_version") or pool_selectors.newest_version(self.collection)
        if data["base_version"] is None:
            text = _("The collection has no version of its preference qrels. Make one from a campaign's results first.")
            self.add_error("design", text)
        if data.get("depth", 1) != 1:
            self.add_error("depth", _("A challenger is a passage that a run ranks first: enter 1."))
        if data.get("method", Campaign.Method.TOURNAMENT) != Campaign.Method.TOURNAMENT:
            self.add_error("method", _("Challengers need a tournament: choose “tournament”."))

    def _clean_practice(self, data: dict[str, Any]) -> None:
        try:
            pairs = read_practice_pairs(data.get("practice_pairs") or "")
        except Refused as error:
            self.add_error("practice_pairs", str(error))
            return
        needed = data.get("practice_right") if data.get("practice") == Campaign.Practice.CHECK else None
        if needed and pairs and needed > len(pairs):
            text = _("There are only %(count)d practice pairs.") % {"count": len(pairs)}
            self.add_error("practice_right", text)

    def settings(self) -> dict[str, Any]:
        """The settings as pools.services.campaign_create takes them."""
        left = ("name", "all_runs", "runs", "more_runs", "base_version")
        settings = {name: value for name, value in self.cleaned_data.items() if name not in left}
        base = self.cleaned_data["base_version"]
        return settings | {"base_version_id": base.pk} if base else settings


class TemplateForm(SettingsForm):
    """What a template has, but for its terms."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=CampaignTemplate._meta.get_field("name").max_length)
    consent = forms.CharField(
        label=gettext_lazy("Consent text"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=gettext_lazy("Leave empty for the usual text, which is made from the settings."),
    )

    class Meta(SettingsForm.Meta):
        fields: ClassVar = [*KEPT]
        widgets = SettingsForm.Meta.widgets | {
            name: forms.Textarea(attrs={"rows": 3, "dir": "auto"}) for name in EXAMPLE
        }

    def __init__(self, data: Any = None, *, template: CampaignTemplate) -> None:
        super().__init__(
            data,
            instance=Campaign(lab=template.lab, **template_settings(template)),
            initial={"name": template.name, "consent": template.consent},
        )
        for name, left_out in INSTEAD:  # what names things of a collection
            field: Any = self.fields[name]
            field.choices = [choice for choice in field.choices if choice[0] != left_out]

    def fieldsets(self) -> Iterator[Group]:
        yield from super().fieldsets()
        fields = [self[name] for name in (*EXAMPLE, "consent")]
        yield Group(gettext_lazy("Worked example and consent"), fields, folded=True)

    def clean(self) -> dict[str, Any]:
        """All of an example or nothing; a sample needs its size."""
        data = super().clean() or self.cleaned_data
        texts = [data.get(name) for name in EXAMPLE]
        if any(texts) and not all(texts):
            self.add_error(
                "example_query", _("An example needs all four texts. Leave all of them empty for the general example.")
            )
        if data.get("selection") == Campaign.Selection.SAMPLE and not data.get("sample_size"):
            self.add_error("sample_size", _("Enter how many queries to draw."))
        return data

    def changes(self) -> dict[str, Any]:
        """What pools.templating.template_change takes."""
        data = self.cleaned_data
        return {
            "name": data["name"],
            "values": {name: data[name] for name in KEPT},
            "consent": data["consent"],
        }
