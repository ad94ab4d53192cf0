"""What the API shows and takes of calls to a platform, its ledger, adjusted pay, accounts, and costs."""

from typing import Any

from rest_framework import serializers

from api.fields import ModelShape, Money, of
from api.shapes import Why
from platforms.demands import FilterKind
from platforms.ledger_comparison import Comparison
from platforms.models import Operation
from platforms.money.pay_desk import LONGEST_NOTE
from platforms.reviewing.fairness import Adjustment
from platforms.status import Sums


@of(Operation, "id kind state hit attempts next_try ended_at error")
class CallShape(ModelShape):
    """A call to the platform that was refused, whose outcome is unknown, or that failed and is tried again."""

    hit = serializers.IntegerField(
        source="published_hit.hit_id", default=None, allow_null=True, help_text="The HIT here, if it is about one."
    )
    may_be_decided = serializers.SerializerMethodField(
        help_text="Whether it is never made again, so that a person must say whether it was done."
    )

    def get_may_be_decided(self, call: Operation) -> bool:
        return call.pk in self.context["decidable"]


class CallDecision(serializers.Serializer[Any]):
    """What came of a call in doubt."""

    was_done = serializers.BooleanField(help_text="If not, the call is made once more.")
    why = serializers.CharField(max_length=2000, help_text="It is stored with your name.")


# --- the ledger


@of(Sums, "purpose state payments amount fees")
class LedgerSum(serializers.Serializer[Any]):
    """What payments of one purpose and state add up to."""


@of(Comparison, "made_at agree ours_rewards ours_bonuses platform_rewards platform_bonuses fees")
class Compared(serializers.Serializer[Any]):
    """The last comparison of the two ledgers."""

    made_at = serializers.DateTimeField()
    agree = serializers.BooleanField(help_text="Whether both say the same, HIT by HIT, to the cent.")
    balance = Money(help_text="What the account had then.")
    differing = serializers.IntegerField(help_text="HITs on which the ledgers differ.")
    differences = serializers.ListField(child=serializers.CharField(), help_text="In sentences, the first hundred.")


class LedgerShape(serializers.Serializer[Any]):
    """A ledger's sums, and how they compare with the platform's own."""

    owed = Money(help_text="All that is not paid and not refused.")
    paid = Money()
    fees = Money(help_text="Of the platform, on what is paid.")
    refused = Money()
    sums = LedgerSum(many=True)
    compared = Compared(allow_null=True, help_text="Null if they were not compared yet.")
    left = serializers.IntegerField(
        allow_null=True, help_text="HITs that a comparison going on is yet to ask about; null if none is going on."
    )


# --- the pay of an hour


class Hourly(serializers.Serializer[Any]):
    """What an hour is to pay, in the median."""

    hourly = Money()


class AskedHourly(serializers.Serializer[Any]):
    """What an hour may be to pay."""

    hourly = Money(required=False, help_text="What is recommended if not given.")


@of(Adjustment, "hourly to people amount fees")
class AdjustmentShape(serializers.Serializer[Any]):
    """What raising the pay of work that was approved would cost."""

    to = Money(help_text="What everybody has for a HIT then.")
    people = serializers.IntegerField(help_text="Submissions that would be raised.")
    total = Money()
    after = Money(allow_null=True, help_text="The lower of the two medians of pay per hour then.")
    before = serializers.IntegerField(help_text="Submissions that were raised earlier, which are not raised again.")
    seen = serializers.CharField(source="digest", help_text="Send it with the confirmation.")


class AdjustmentConfirmed(Hourly, Why):
    """Raising the pay as it was seen. Refused (409) if it would be another adjustment by now."""

    seen = serializers.CharField(max_length=64)


class Raised(serializers.Serializer[Any]):
    """How many submissions were raised by this request."""

    raised = serializers.IntegerField()


# --- the pay desk


class PayShape(serializers.Serializer[Any]):
    """What somebody is owed for one assignment, in the campaign's currency."""

    assignment = serializers.IntegerField(source="pk")
    receipt = serializers.CharField()
    worker = serializers.IntegerField(source="worker_id")
    came_by = serializers.CharField(source="worker.platform")
    by_hand = serializers.SerializerMethodField(help_text="Whether the lab pays it itself, and no platform does.")
    owed = Money(source="due")
    paid = Money()
    to_be_paid = Money(source="to_pay")
    since = serializers.DateTimeField(source="finished_at")
    left_for_being_paid = serializers.SerializerMethodField(
        help_text="What the worker left so that they can be paid; empty if nothing."
    )

    def get_by_hand(self, row: Any) -> bool:
        return not row.platform_assignment_id

    def get_left_for_being_paid(self, row: Any) -> str:
        left: str = self.context["left"].get(row.worker_id, "")
        return left


class PaymentsTakenBack(Why):
    """What was not paid after all: an entry of the opposite amount is added, and all is to be paid again."""

    assignments = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=(1 << 63) - 1), allow_empty=False, max_length=1000
    )
    note = serializers.CharField(
        max_length=LONGEST_NOTE, allow_blank=True, default="", help_text="Such as the number of a transfer."
    )


class NewPayments(PaymentsTakenBack):
    """What the lab has paid itself. What is paid already is not marked again."""

    paid_on = serializers.DateField(required=False, help_text="The day of the payment; today if not given.")


class Marked(serializers.Serializer[Any]):
    """For how many assignments a payment was marked, or taken back, and of how much together."""

    assignments = serializers.IntegerField()
    amount = Money()


# --- what all campaigns cost


class CostAmounts(serializers.Serializer[Any]):
    """Amounts in the campaign's currency."""

    expected = Money(help_text="The total of the bill.")
    owed = Money(help_text="For all work so far, paid or not.")
    paid = Money()
    bonuses = Money(help_text="How much of what is paid.")
    fees = Money(help_text="Of the platform, on what is paid.")
    outstanding = Money(help_text="What is owed and not paid yet, by the platform or the lab itself.")


class CostShape(CostAmounts):
    """What a campaign that has started costs."""

    campaign = serializers.IntegerField()
    lab = serializers.IntegerField()
    name = serializers.CharField()
    state = serializers.CharField()
    platform = serializers.CharField(help_text="Empty where people come by a link or a panel.")
    currency = serializers.CharField(help_text="USD or GBP.")


# --- a lab's account at a platform


class PlatformAccountShape(serializers.Serializer[Any]):
    """A lab's account at a platform where each lab has its own. Its token is stored encrypted, and never shown."""

    workspace = serializers.CharField(help_text="It pays for the lab's campaigns.")
    workspace_id = serializers.CharField()
    currency = serializers.CharField(help_text="USD or GBP: of all that it pays.")
    stored_at = serializers.DateTimeField(source="at")
    by = serializers.CharField(source="by.username", default=None, allow_null=True)


class NewAccount(serializers.Serializer[Any]):
    """A token that the platform made, and the workspace that pays."""

    token = serializers.CharField(max_length=500)
    workspace_id = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text="Needed if the token opens more than one."
    )


# --- a platform's own filters


class ChosenFilter(serializers.Serializer[Any]):
    """A filter that the terms have, in words."""

    key = serializers.CharField()
    title = serializers.CharField()
    words = serializers.CharField(help_text="What it lets in.")
    is_gone = serializers.BooleanField(help_text="Whether the platform does not offer it any more.")


@of(FilterKind, "key title question choices least most")
class OfferedFilter(serializers.Serializer[Any]):
    """A filter that the platform offers: some of its choices can be let in, or a range."""

    question = serializers.CharField(help_text="What the platform asked its people.")
    choices = serializers.DictField(child=serializers.CharField(), help_text="By their ids; empty for a range.")


class FiltersShape(serializers.Serializer[Any]):
    """The filters of a campaign's terms, and those that its platform offers."""

    chosen = ChosenFilter(many=True)
    offered = OfferedFilter(many=True, help_text="The first fifty that the search finds.")
    more = serializers.IntegerField(help_text="How many more it finds.")


class FilterSearch(serializers.Serializer[Any]):
    """Which filters are offered."""

    q = serializers.CharField(
        default="", allow_blank=True, help_text="Only those whose title or question contains this."
    )


class FilterWish(serializers.Serializer[Any]):
    """What a filter lets in: some of its choices, or a range with one end or both."""

    values = serializers.ListField(child=serializers.CharField(max_length=100), max_length=1000, required=False)
    lower = serializers.IntegerField(required=False, allow_null=True)
    upper = serializers.IntegerField(required=False, allow_null=True)
