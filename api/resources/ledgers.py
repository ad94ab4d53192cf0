"""Money: a campaign's ledger beside its platform's, the pay of an hour, and what all campaigns cost."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, ChoiceFilter, FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import platform_shapes, shapes
from api.filters import KeyFilter
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import soon
from api.resources.publications import published_of
from core.roles import Right
from platforms import costs, fairness
from platforms import jobs as platform_jobs
from platforms import status as platform_status
from platforms.ledger import totals
from platforms.ledger_comparison import Compared, comparison_last, left_to_compare
from platforms.models import PUBLISHED_TO
from pools import selectors as pool_selectors
from pools.models import Campaign

TAGS = ["Publication"]
HOURLY = [OpenApiParameter("hourly", OpenApiTypes.DECIMAL, description="What is recommended if not given.")]
SUMS = ("ours_rewards", "ours_bonuses", "platform_rewards", "platform_bonuses", "fees", "balance")


class Ledger(Endpoint):
    """A campaign's ledger."""

    @operation("ledger", answer=platform_shapes.LedgerShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The sums of a campaign's ledger, and how they compare with the platform's own. Its lines are the payments."""
        publication = published_of(self.campaign(pk))
        last = comparison_last(publication)
        content = totals(publication)._asdict() | {
            "sums": platform_status.ledger_sums(publication),
            "compared": last and _compared(last),
            "left": left_to_compare(publication),
        }
        return Response(platform_shapes.LedgerShape(content).data)


def _compared(last: Compared) -> dict[str, Any]:
    comparison = last.comparison
    return {name: getattr(comparison, name) for name in SUMS} | {
        "made_at": last.at,
        "agree": comparison.agree,
        "differing": last.differences,
        "differences": comparison.differences,
    }


class LedgerCompare(Endpoint):
    """Comparing the ledgers."""

    @operation("ledger_compare", answer=shapes.AskedFor, status=202, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Have the ledger compared with the platform's now, which takes some calls a HIT. They are also compared by
        themselves, every six hours."""
        transaction.on_commit(soon(platform_jobs.compare, published_of(self.campaign(pk)).pk))
        return Response({"asked_for": True}, status=202)


class Adjustment(Endpoint):
    """Raising the pay of work that was approved."""

    @operation("adjustment", answer=platform_shapes.AdjustmentShape, parameters=HOURLY, refuses=True, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What it would cost to raise the pay of approved work so that an hour pays so much in the median. Refused
        (409) while no submission's time is known."""
        publication = published_of(self.campaign(pk))
        hourly: Decimal | None = fairness.hourly_at_first(publication)
        if "hourly" in request.query_params:
            wish = platform_shapes.Hourly(data=request.query_params)
            wish.is_valid(raise_exception=True)
            hourly = wish.validated_data["hourly"]
        if hourly is None:
            raise ValidationError({"hourly": [_("Nothing is recommended at this platform: say how much.")]})
        return Response(platform_shapes.AdjustmentShape(fairness.adjustment_of(publication, hourly)).data)

    @operation(
        "adjustment_pay",
        takes=platform_shapes.AdjustmentConfirmed,
        answer=platform_shapes.Raised,
        right=Right.SPEND,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Raise the pay as it was seen: one bonus for each submission, once ever. Confirmed again, nobody is paid
        twice."""
        publication, sent = published_of(self.campaign(pk)), checked(platform_shapes.AdjustmentConfirmed, request)
        given: dict[str, Any] = {"hourly": sent["hourly"], "seen": sent["seen"]}
        raised = fairness.adjustment_pay(publication=publication, by=user_of(request), at=timezone.now(), **given)
        return Response({"raised": raised})


class CostFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By lab, collection, state, platform and name."""

    lab = KeyFilter(field_name="lab_id")
    collection = KeyFilter(field_name="collection_id")
    state = ChoiceFilter(choices=Campaign.State.choices)
    platform = ChoiceFilter(field_name="publication__platform", choices=list(PUBLISHED_TO.items()))
    name = CharFilter(lookup_expr="icontains")


class Costs(Endpoint):
    """What campaigns cost."""

    pagination_class = Pages
    filterset_class = CostFilter

    @operation("costs", answer=platform_shapes.CostShape(many=True), tags=TAGS)
    def get(self, request: Request) -> Response:
        """What each campaign of your labs that has started costs, newest first."""
        started: QuerySet[Campaign] = costs.started_campaigns(pool_selectors.campaigns_of(user_of(request)))
        return self.page_of(started, platform_shapes.CostShape, _cost_rows)


def _cost_rows(campaigns: list[Campaign]) -> list[dict[str, Any]]:
    return [
        {
            "campaign": campaign.pk,
            "lab": campaign.lab_id,
            "name": campaign.name,
            "state": campaign.state,
            "platform": platform,
            "currency": campaign.currency,
            **amounts._asdict(),
        }
        for campaign, platform, amounts in costs.campaign_costs(campaigns)
    ]
