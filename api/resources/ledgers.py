"""Money: a campaign's ledger beside its platform's, the pay of an hour, and what all campaigns cost."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, CharFilter, ChoiceFilter, FilterSet
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
from platforms import costs, fairness, pay_desk
from platforms import jobs as platform_jobs
from platforms import status as platform_status
from platforms.ledger import totals
from platforms.ledger_comparison import Compared, comparison_last, left_to_compare
from platforms.models import PUBLISHED_TO
from pools import selectors as pool_selectors
from pools.models import Campaign
from tasks.paying import pay_details

TAGS, PAY = ["Publication"], ["Pay"]
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


class Sync(Endpoint):
    """Asking about all work."""

    @operation("publication_sync", answer=shapes.AskedFor, status=202, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Have the platform asked about every HIT now, as after restoring a backup. Whatever may have changed is asked
        about by itself, every minute."""
        transaction.on_commit(soon(platform_jobs.sync_whole, published_of(self.campaign(pk)).pk))
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


class PayFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By what is still to be paid, who pays, and the receipt."""

    waiting = BooleanFilter(method="by_state")
    by_hand = BooleanFilter(method="by_payer")
    receipt = CharFilter(lookup_expr="iexact")

    def by_state(self, rows: QuerySet[Any], _name: str, waiting: bool) -> QuerySet[Any]:
        """Those who are still to be paid, or those who are paid."""
        return rows.filter(to_pay__gt=0) if waiting else rows.filter(to_pay=0)

    def by_payer(self, rows: QuerySet[Any], _name: str, by_hand: bool) -> QuerySet[Any]:
        """Those whom the lab pays itself, or those whom a platform pays."""
        return rows.filter(pay_desk.BY_HAND) if by_hand else rows.exclude(pay_desk.BY_HAND)


class Pay(Endpoint):
    """Who is owed what."""

    pagination_class = Pages
    filterset_class = PayFilter

    @operation("pay", answer=platform_shapes.PayShape(many=True), right=Right.SPEND, tags=PAY)
    def get(self, request: Request, pk: int) -> Response:
        """Everybody who is or was owed something in a campaign, whatever they came by, with what they left so that they
        can be paid. The newest work first."""
        campaign = self.campaign(pk)
        left: dict[int, str] = {}

        def with_details(rows: list[Any]) -> list[Any]:
            left.update(pay_details(campaign, [row.worker_id for row in rows]))
            return rows

        owed = pay_desk.assignments_owed(campaign).select_related("worker")
        return self.page_of(owed, platform_shapes.PayShape, with_details, left=left)

    @operation(
        "pay_mark",
        takes=platform_shapes.NewPayments,
        answer=platform_shapes.Marked,
        right=Right.SPEND,
        tags=PAY,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Mark what is still to be paid for some assignments as paid, where the lab pays itself. Again marks nothing
        twice."""
        campaign, sent, at = self.campaign(pk), checked(platform_shapes.NewPayments, request), timezone.now()
        marked = pay_desk.payments_mark(
            campaign=campaign,
            chosen=sent["assignments"],
            expected=pay_desk.ZERO,
            by=user_of(request),
            at=at,
            paid_on=sent.get("paid_on", at.date()),
            note=sent["note"],
        )
        return Response(platform_shapes.Marked(marked).data)


class PayTakeBack(Endpoint):
    """Payments that were not made after all."""

    @operation(
        "pay_take_back",
        takes=platform_shapes.PaymentsTakenBack,
        answer=platform_shapes.Marked,
        right=Right.SPEND,
        tags=PAY,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Say that the lab has not paid these after all: an entry of the opposite amount is added. Again adds none."""
        campaign, sent = self.campaign(pk), checked(platform_shapes.PaymentsTakenBack, request)
        taken = pay_desk.payments_take_back(
            campaign=campaign,
            chosen=sent["assignments"],
            by=user_of(request),
            at=timezone.now(),
            note=sent["note"],
        )
        return Response(platform_shapes.Marked(taken).data)


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
