"""The filters of a platform, chosen by its own names."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.errors import NotYours, Refused
from core.http import Request, edit_in_turn, refuse_in, see_other
from core.roles import Right, needs
from platforms import terms
from platforms.demands import FilterKind
from platforms.filters import SHOWN, FilterForm, chosen_filters, filters_of
from platforms.models import Publication
from pools.http import campaign_of
from pools.models import Campaign


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def filters(request: Request, pk: int) -> HttpResponse:
    """The filters of a publication, with a search for more. POST sets or removes one, and sends nothing."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None:
        raise NotYours(_("Save the terms first: the filters are those of their platform."))
    publication.campaign = campaign
    offered = filters_of(publication)
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
