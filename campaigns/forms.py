"""Forms of campaigns and of templates."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.db.models import Field, Model, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.starts import Start
from campaigns.templating import INSTEAD, KEPT, template_settings
from campaigns.usual import is_changed
from core.errors import Refused
from core.forms import EditForm, Group
from evaluation.judging.designs import DESIGNS
from pools import selectors as pool_selectors
from pools.forms import VersionChoiceField, check_reading
from pools.models import Campaign, CampaignTemplate, QrelsVersion
from pools.practice import read_practice_pairs
from pools.settings import MaterialSettings, Part, fields_in, kept_in_templates, names_in, sections_of, settings_of
from pools.wording import EXAMPLE
from runs.forms import OFFERED
from runs.models import Collection, Run

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    _RunChoice = forms.ModelMultipleChoiceField[Run]
else:
    _RunChoice = forms.ModelMultipleChoiceField


class RunChoiceField(_RunChoice):
    """Runs by name, with their team."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, Run)
        return f"{obj.name} ({obj.team})" if obj.team else obj.name


class RenameForm(EditForm, forms.Form):
    """A campaign's name."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=Campaign._meta.get_field("name").max_length)


def runs_chosen(campaign: Campaign) -> dict[str, Any]:
    """The runs of a campaign as its form asks for them."""
    runs = list(campaign.runs.order_by("name").values_list("pk", "name"))
    more = "\n".join(name for _key, name in runs[OFFERED:])
    return {"runs": [key for key, _name in runs[:OFFERED]], "more_runs": more}


class SettingsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """The settings of a campaign, of a template too. `open` are the fields that are shown at once; the others are
    folded, those in `first` before those of the first part.
    """

    open: ClassVar[tuple[str, ...]] = ("name",)
    first: ClassVar[tuple[str, ...]] = ()

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
        yield Group("", [self[name] for name in self.open], folded=False)
        for part in sections_of(Campaign):
            fields = [self[name] for name in self.names_in(part) if name in self.fields]
            changed = [field.verbose_name for field in fields_in(Campaign, part) if self._is_changed(field)]
            is_open = part is MaterialSettings and "all_runs" in self.open and not self["all_runs"].value()
            yield Group(part.section.title, fields, folded=True, changed=changed, is_open=is_open)

    def _is_changed(self, field: "Field[Any, Any]") -> bool:
        return field.name in self.fields and is_changed(self.instance, field)


class CampaignForm(SettingsForm):
    """Every setting of a new campaign over one collection."""

    open = ("name", "all_runs")
    first = ("runs", "more_runs")

    all_runs = forms.BooleanField(required=False)
    runs = RunChoiceField(
        queryset=Run.objects.none(), widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Runs"), required=False
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
        kwargs.setdefault("initial", {"language": collection.language, "all_runs": True})
        super().__init__(*args, **kwargs)
        self.collection = self.instance.collection = collection
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

    @property
    def changed(self) -> list[object]:
        """The labels of the settings that differ from what is usual."""
        return [label for group in self.fieldsets() for label in group.changed]

    @property
    def is_open(self) -> bool:
        """Whether runs have to be chosen, or an error to be seen, among the settings that are folded."""
        return any(group.folded and (group.is_open or group.has_errors) for group in self.fieldsets())

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
        if initial and not Run.objects.filter(collection=collection).exclude(campaigns=campaign).exists():
            initial["all_runs"] = True
        return cls(collection=collection, instance=draft, initial=initial)

    @classmethod
    def changing(cls, campaign: Campaign, data: Any = None) -> "CampaignForm":
        """A form filled in with a draft's settings and runs, which changes them."""
        return cls(data, collection=campaign.collection, instance=campaign, initial=runs_chosen(campaign))

    @classmethod
    def starting(cls, start: Start, collection: Collection) -> "CampaignForm":
        """A form filled in with all that a way to begin needs."""
        draft = Campaign(collection=collection, language=collection.language, **start.settings)
        return cls(collection=collection, instance=draft, initial={"all_runs": start.takes_all_runs})

    @classmethod
    def beginning(cls, template: CampaignTemplate, collection: Collection) -> "CampaignForm":
        """A form filled in with what a template has. A template of texts in no language takes the collection's."""
        draft = Campaign(collection=collection, **template_settings(template))
        draft.language = draft.language or collection.language
        return cls(collection=collection, instance=draft, initial={"all_runs": True})

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
        self._clean_design(data)
        self._clean_practice(data)
        return data

    def _clean_design(self, data: dict[str, Any]) -> None:
        design = DESIGNS.get(data.get("design", ""))
        for name, why in design.refuse(depth=data.get("depth", 1), method=data.get("method")).items() if design else ():
            self.add_error(name, _(why))
        if design is None or not design.challenges:
            data["base_version"] = None
            return
        data["base_version"] = data.get("base_version") or pool_selectors.newest_version(self.collection)
        if data["base_version"] is None:
            text = _("The collection has no version of its preference qrels. Make one from a campaign's results first.")
            self.add_error("design", text)

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
        """What campaigns.templating.template_change takes."""
        data = self.cleaned_data
        return {"name": data["name"], "values": {name: data[name] for name in KEPT}, "consent": data["consent"]}
