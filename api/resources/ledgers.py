"""Money: a campaign's ledger beside its platform's, the pay of an hour, and what all campaigns cost."""

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, CharFilter, ChoiceFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from api import platform_shapes, shapes
from api.asking import soon
from api.filters import KeyFilter, filterset
from api.frame import Resource, get, operation, post
from api.resources.publications import published_of
from core.roles import Right
from platforms import jobs as platform_jobs
from platforms import status as platform_status
from platforms.ledger_comparison import Compared, comparison_last, left_to_compare
from platforms.models import PUBLISHED_TO
from platforms.money import pay_desk
from platforms.money.ledger import totals
from platforms.publishing import costs
from platforms.reviewing import fairness
from pools import selectors as pool_selectors
from pools.models import Campaign
from tasks.paying import pay_details

SUMS = ("ours_rewards", "ours_bonuses", "platform_rewards", "platform_bonuses", "fees", "balance")


def _compared(last: Compared) -> dict[str, Any]:
    comparison = last.comparison
    return {name: getattr(comparison, name) for name in SUMS} | {
        "made_at": last.at,
        "agree": comparison.agree,
        "differing": last.differences,
        "differences": comparison.differences,
    }


class PayFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By what is still to be paid, who pays, and the receipt."""

    waiting = BooleanFilter(method="by_state")
    by_hand = BooleanFilter(method="by_payer")
    receipt = CharFilter(lookup_expr="iexact")

    def by_state(self, rows: QuerySet[Any], _name: str, waiting: bool) -> QuerySet[Any]:
        return rows.filter(to_pay__gt=0) if waiting else rows.filter(to_pay=0)

    def by_payer(self, rows: QuerySet[Any], _name: str, by_hand: bool) -> QuerySet[Any]:
        return rows.filter(pay_desk.BY_HAND) if by_hand else rows.exclude(pay_desk.BY_HAND)


class Ledgers(Resource):
    """The ledger of a campaign, and its pay."""

    tags = ["Publication"]

    @get("publication/ledger", platform_shapes.LedgerShape)
    def ledger(self, request: Request, pk: int) -> Any:
        """The sums of a campaign's ledger, and how they compare with the platform's own. Its lines are the payments."""
        publication = published_of(self.campaign)
        last = comparison_last(publication)
        return totals(publication)._asdict() | {
            "sums": platform_status.ledger_sums(publication),
            "compared": last and _compared(last),
            "left": left_to_compare(publication),
        }

    @post("publication/ledger/compare", shapes.AskedFor, Right.SPEND, status=202)
    def ledger_compare(self, request: Request, pk: int) -> Any:
        """Have the ledger compared with the platform's now, which takes some calls a HIT. They are also compared by
        themselves, every six hours."""
        return soon(platform_jobs.compare, published_of(self.campaign).pk)

    @post("publication/sync", shapes.AskedFor, Right.SPEND, status=202)
    def publication_sync(self, request: Request, pk: int) -> Any:
        """Have the platform asked about every HIT now, as after restoring a backup. Whatever may have changed is asked
        about by itself, every minute."""
        return soon(platform_jobs.sync_whole, published_of(self.campaign).pk)

    @get("publication/adjustment", platform_shapes.AdjustmentShape, asks=platform_shapes.AskedHourly, refuses=True)
    def adjustment(self, request: Request, pk: int) -> Any:
        """What it would cost to raise the pay of approved work so that an hour pays so much in the median. Refused
        (409) while no submission's time is known."""
        publication = published_of(self.campaign)
        hourly: Decimal | None = self.query.get("hourly", fairness.hourly_at_first(publication))
        if hourly is None:
            raise ValidationError({"hourly": [_("Nothing is recommended at this platform: say how much.")]})
        return fairness.adjustment_of(publication, hourly)

    @post(adjustment, platform_shapes.Raised, Right.SPEND, takes=platform_shapes.AdjustmentConfirmed)
    def adjustment_pay(self, request: Request, pk: int) -> Any:
        """Raise the pay as it was seen: one bonus for each submission, once ever. Confirmed again, nobody is paid
        twice."""
        publication, sent = published_of(self.campaign), self.sent
        fields: dict[str, Any] = {"hourly": sent["hourly"], "seen": sent["seen"]}
        return {"raised": fairness.adjustment_pay(publication=publication, **self.signed, **fields)}

    @get("pay", platform_shapes.PayShape(many=True), Right.SPEND, tags=["Pay"], filterset_class=PayFilter)
    def pay(self, request: Request, pk: int) -> Any:
        """Everybody who is or was owed something in a campaign, whatever they came by, with what they left so that they
        can be paid. The newest work first."""
        campaign = self.campaign
        left: dict[int, str] = {}

        def with_details(rows: list[Any]) -> list[Any]:
            left.update(pay_details(campaign, [row.worker_id for row in rows]))
            return rows

        owed = pay_desk.assignments_owed(campaign).select_related("worker")
        return self.page_of(owed, with_details, left=left)

    @post(pay, platform_shapes.Marked, Right.SPEND, takes=platform_shapes.NewPayments, tags=["Pay"])
    def pay_mark(self, request: Request, pk: int) -> Any:
        """Mark what is still to be paid for some assignments as paid, where the lab pays itself. Again marks nothing
        twice."""
        campaign, sent = self.campaign, self.sent
        about = {"chosen": sent["assignments"], "expected": pay_desk.ZERO, "note": sent["note"]}
        paid_on = sent.get("paid_on", timezone.now().date())
        return pay_desk.payments_mark(campaign=campaign, paid_on=paid_on, **about, **self.signed)

    @post("pay/take-back", platform_shapes.Marked, Right.SPEND, takes=platform_shapes.PaymentsTakenBack, tags=["Pay"])
    def pay_take_back(self, request: Request, pk: int) -> Any:
        """Say that the lab has not paid these after all: an entry of the opposite amount is added. Again adds none."""
        campaign, sent = self.campaign, self.sent
        return pay_desk.payments_take_back(
            campaign=campaign, chosen=sent["assignments"], **self.signed, note=sent["note"]
        )


class Costs(Resource):
    """What campaigns cost."""

    tags = ["Publication"]
    filterset_class = filterset(
        lab=KeyFilter(field_name="lab_id"),
        collection=KeyFilter(field_name="collection_id"),
        state=ChoiceFilter(choices=Campaign.State.choices),
        platform=ChoiceFilter(field_name="publication__platform", choices=list(PUBLISHED_TO.items())),
        name=CharFilter(lookup_expr="icontains"),
    )

    @operation(platform_shapes.CostShape(many=True), name="costs")
    def list(self, request: Request) -> Any:
        """What each campaign of your labs that has started costs, newest first."""
        started: QuerySet[Campaign] = costs.started_campaigns(pool_selectors.campaigns_of(self.user))
        return self.page_of(started, _cost_rows)


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
