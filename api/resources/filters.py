"""The filters of a platform, by its own names."""

from collections.abc import Mapping

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import platform_shapes
from api.frame import Endpoint, checked, operation
from api.resources.campaigns import by_field
from api.resources.publications import publication_of
from core.errors import NotYours
from core.roles import Right
from platforms import publishing
from platforms.demands import FilterKind
from platforms.filter_views import SHOWN, FilterForm, chosen_filters
from platforms.models import Publication
from platforms.registry import adapter_of

TAGS = ["Publication"]
SEARCH = [OpenApiParameter("q", OpenApiTypes.STR, description="Only those whose title or question contains this.")]


def offered_by(publication: Publication) -> dict[str, FilterKind]:
    """The filters that the publication's platform offers. Raises NotYours where it has none of its own."""
    offered = {kind.key: kind for kind in adapter_of(publication).filters_offered()}
    if not offered:
        raise NotYours(_("This platform has no filters of its own: the requirements are in the terms."))
    return offered


def shown(publication: Publication, offered: Mapping[str, FilterKind], words: str = "") -> Response:
    """The filters that are set, and those that are offered."""
    found = [kind for kind in offered.values() if words.casefold() in f"{kind.title} {kind.question}".casefold()]
    content = {
        "chosen": chosen_filters(publication, dict(offered)),
        "offered": found[:SHOWN],
        "more": max(0, len(found) - SHOWN),
    }
    return Response(platform_shapes.FiltersShape(content).data)


class Filters(Endpoint):
    """The filters of a campaign's terms."""

    @operation("filters", answer=platform_shapes.FiltersShape, parameters=SEARCH, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The platform's own filters that a campaign's terms have, and those that it offers. Prolific has some."""
        publication = publication_of(self.campaign(pk))
        return shown(publication, offered_by(publication), request.query_params.get("q", "").strip()[:100])


class FilterOne(Endpoint):
    """One filter."""

    def change(self, pk: int, key: str, requirement: Mapping[str, object] | None) -> Response:
        """Set a filter in a draft's terms, or remove it."""
        publication = publication_of(self.campaign(pk))
        kept = [one for one in publication.requirements if one.get("filter_id") != key]
        wanted = [*kept, requirement] if requirement else kept
        changed = publishing.publication_write(campaign=publication.campaign, requirements=wanted)
        return shown(changed, offered_by(changed))

    @operation(
        "filter_set",
        takes=platform_shapes.FilterWish,
        answer=platform_shapes.FiltersShape,
        right=Right.SPEND,
        tags=TAGS,
    )
    def put(self, request: Request, pk: int, key: str) -> Response:
        """Set one of the platform's filters in a draft's terms, in place of what was set of it. Nothing is sent."""
        kind = offered_by(publication_of(self.campaign(pk))).get(key)
        if kind is None:
            raise NotYours(_("The platform does not offer this filter."))
        form = FilterForm(dict(checked(platform_shapes.FilterWish, request)), kind=kind)
        if not form.is_valid():
            raise ValidationError(by_field(form.errors))
        return self.change(pk, key, form.requirement())

    @operation("filter_remove", answer=platform_shapes.FiltersShape, right=Right.SPEND, tags=TAGS)
    def delete(self, request: Request, pk: int, key: str) -> Response:
        """Remove one of the platform's filters from a draft's terms."""
        return self.change(pk, key, None)
