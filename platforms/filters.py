"""The filters of a platform: what a publication has chosen, and the form of one."""

from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.forms import EditForm
from platforms.demands import FilterKind
from platforms.models import Publication
from platforms.publishing.protocol import Filters
from platforms.registry import adapter_of

SHOWN = 50  # filters of a search


LINES = 12  # of a list of choices that are seen at once


class Chosen(NamedTuple):
    """A filter of a publication in words. One that the platform does not offer (any more) goes by its id."""

    key: str
    title: str
    words: str
    is_gone: bool


class FilterForm(EditForm, forms.Form):
    """What one filter lets in: some of its choices, or a range."""

    values = forms.MultipleChoiceField(label=gettext_lazy("Any of these"), required=False)
    lower = forms.IntegerField(label=gettext_lazy("From"), required=False)
    upper = forms.IntegerField(label=gettext_lazy("To"), required=False)

    def __init__(self, *args: Any, kind: FilterKind, **named: Any) -> None:
        super().__init__(*args, **named)
        self.kind = kind
        if kind.choices:
            del self.fields["lower"], self.fields["upper"]
            values = self.fields["values"]
            assert isinstance(values, forms.MultipleChoiceField)
            values.choices = list(kind.choices.items())
            values.label = _("None of these") if kind.keeps_out else _("Any of these")
            values.widget.attrs["size"] = min(LINES, len(kind.choices))
            return
        del self.fields["values"]
        for name in ("lower", "upper"):
            field = self.fields[name]
            assert isinstance(field, forms.IntegerField)
            bounds = {"min": kind.least, "max": kind.most}
            field.widget.attrs |= {key: str(value) for key, value in bounds.items() if value is not None}

    def clean(self) -> dict[str, Any]:
        """Something is chosen, and a range lies within the filter's own."""
        data = super().clean() or self.cleaned_data
        if self.errors:
            return data
        if self.kind.choices:
            if not data["values"]:
                self.add_error("values", _("Choose at least one."))
            return data
        limits = [value for value in (data["lower"], data["upper"]) if value is not None]
        least, most = self.kind.least, self.kind.most
        if not limits or limits != sorted(limits):
            self.add_error(None, _("Enter where the range begins or ends, or both, the lower number first."))
        elif (least is not None and limits[0] < least) or (most is not None and limits[-1] > most):
            text = _("This filter goes from %(least)s to %(most)s.")
            self.add_error(None, text % {"least": least, "most": most})
        return data

    def requirement(self) -> dict[str, Any]:
        """The filter as the platform takes it."""
        if self.kind.choices:
            return {"filter_id": self.kind.key, "selected_values": self.cleaned_data["values"]}
        bounds = {name: self.cleaned_data[name] for name in ("lower", "upper")}
        return {
            "filter_id": self.kind.key,
            "selected_range": {name: value for name, value in bounds.items() if value is not None},
        }


def filters_of(publication: Publication) -> dict[str, FilterKind]:
    """The filters that a publication's platform offers by its own names; none where it has none."""
    adapter = adapter_of(publication)
    return {kind.key: kind for kind in adapter.filters_offered()} if isinstance(adapter, Filters) else {}


def chosen_filters(publication: Publication, offered: dict[str, FilterKind]) -> list[Chosen]:
    """The platform's own filters that a publication has, in words."""
    chosen = []
    for row in adapter_of(publication).demands_of(publication.requirements).others:
        key = str(row.get("filter_id"))
        kind = offered.get(key) or FilterKind(key, key, "", {})
        chosen.append(Chosen(key, kind.title, kind.in_words(row), key not in offered))
    return chosen
