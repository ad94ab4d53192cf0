"""The filters of a platform, chosen by its own names."""

from typing import Any, NamedTuple

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core.errors import NotYours, Refused
from core.forms import EditForm
from core.http import Request, edit_in_turn, refuse_in, see_other
from core.roles import Right, needs
from platforms import terms
from platforms.demands import FilterKind
from platforms.models import Publication
from platforms.registry import adapter_of
from pools.http import campaign_of
from pools.models import Campaign

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


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def filters(request: Request, pk: int) -> HttpResponse:
    """The filters of a publication, with a search for more. POST sets or removes one, and sends nothing."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None:
        raise NotYours(_("Save the terms first: the filters are those of their platform."))
    publication.campaign = campaign
    offered = {kind.key: kind for kind in adapter_of(publication).filters_offered()}
    if not offered:
        raise NotYours(_("This platform has no filters of its own: the requirements are in the terms."))
    key, status, form = request.GET.get("filter", "")[:100], 200, None
    if key in offered:
        form = FilterForm(kind=offered[key], initial=_initial(publication, key))
    if request.method == "POST":
        key = request.POST.get("filter", "")[:100]
        with edit_in_turn(request):
            publication.refresh_from_db()
            publication.campaign = campaign
            form, status = _save(request, campaign, publication, offered, key)
        if form is None:
            return see_other("platforms:filters", pk)
    words = request.GET.get("q", "").strip()[:100]
    kinds = [kind for kind in offered.values() if words.casefold() in f"{kind.title} {kind.question}".casefold()]
    context = {
        "campaign": campaign,
        "publication": publication,
        "draft": publication.state == Publication.State.DRAFT,
        "chosen": chosen_filters(publication, offered),
        "form": form,
        "words": words,
        "found": kinds[:SHOWN],
        "more": max(0, len(kinds) - SHOWN),
    }
    return render(request, "platforms/filters.html", context, status=status)


def _save(
    request: Request, campaign: Campaign, publication: Publication, offered: dict[str, FilterKind], key: str
) -> tuple[FilterForm | None, int]:
    """Set one filter, or remove it. The form with its errors, if there are any."""
    others = [row for row in publication.requirements if row.get("filter_id") != key]
    if "remove" in request.POST:
        terms.publication_write(campaign=campaign, requirements=others)
        return None, 303
    if key not in offered:
        raise NotYours(_("The platform does not offer this filter."))
    form = FilterForm(request.POST, kind=offered[key], initial=_initial(publication, key))
    if not form.is_valid():
        return form, 400
    try:
        terms.publication_write(campaign=campaign, requirements=[*others, form.requirement()])
    except Refused as error:
        return form, refuse_in(form, error)
    return None, 303


def _initial(publication: Publication, key: str) -> dict[str, Any]:
    set_before: dict[str, Any] = next((row for row in publication.requirements if row.get("filter_id") == key), {})
    return {"values": set_before.get("selected_values", [])} | dict(set_before.get("selected_range") or {})


def chosen_filters(publication: Publication, offered: dict[str, FilterKind]) -> list[Chosen]:
    """The platform's own filters that a publication has, in words."""
    chosen = []
    for row in adapter_of(publication).demands_of(publication.requirements).others:
        key = str(row.get("filter_id"))
        kind = offered.get(key) or FilterKind(key, key, "", {})
        chosen.append(Chosen(key, kind.title, kind.in_words(row), key not in offered))
    return chosen
