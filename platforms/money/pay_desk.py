"""Who is owed what, whatever they came by, and what a lab has paid itself, because no platform does.

A platform pays by its ledger. Everybody who came by a link or from a panel is paid by the lab, which marks it here.
Owed = paid + to be paid: for each assignment, and for a campaign. What a worker was still owed when they were erased
was written off, and is owed no more.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import (
    Case,
    Count,
    DecimalField,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
    Window,
)
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow
from core.models import User
from platforms.models import HandPayment, Payment, Submission
from pools.counting import totals_of
from pools.models import Campaign
from tasks.models import Assignment

ZERO = Decimal("0.00")
LONGEST_NOTE = 200  # characters
BY_HAND = Q(platform_assignment_id="")  # no platform pays it
# Nothing of it is in a ledger, or a lab has yet to pay some of it. All else that is to be paid is a payment.
_UNBOOKED = Q(is_booked=False, finished_at__isnull=False, owed__gt=0)
OWED_BY_HAND = BY_HAND & Q(finished_at__isnull=False, owed__gt=0)
_WRITTEN_OFF = BY_HAND & Q(worker__erased_at__isnull=False)  # but for what was paid before
_MONEY = DecimalField(max_digits=12, decimal_places=2)
_PAYMENTS = Payment.objects.filter(assignment=OuterRef("pk"))
_REJECTED = Q(submission__status=Submission.Status.REJECTED) | Q(submission__decision=Submission.Decision.REJECT)


class Marked(NamedTuple):
    """For how many assignments a payment was marked, or taken back, and of how much together."""

    assignments: int
    amount: Decimal


class Sums(NamedTuple):
    """What is owed in a campaign, what is paid of that, and the platform's fees for it."""

    owed: Decimal = ZERO
    paid: Decimal = ZERO
    fees: Decimal = ZERO

    @property
    def to_pay(self) -> Decimal:
        return self.owed - self.paid

    def plus(self, other: "Sums") -> "Sums":
        return Sums(*(mine + more for mine, more in zip(self, other, strict=True)))


class Desk(NamedTuple):
    """The sums of a campaign by who pays, and for how many assignments its lab has still something to pay itself."""

    by_hand: Sums
    by_platform: Sums
    waiting: int


# --- each assignment


def with_pay(assignments: QuerySet[Assignment]) -> QuerySet[Any]:
    """Ended work, each with what is `due` for it, what is `paid` of that, what is `to_pay`, and what is `written_off`.

    At a platform, that is what was booked; before anything is, what the answers have earned, unless the work was
    rejected, or other work of that worker on that HIT was submitted or compensated.
    """
    paid = Sum("amount", filter=Q(state=Payment.State.PAID), default=ZERO)
    ended = assignments.filter(finished_at__isnull=False)
    priced = ended.annotate(
        due=Case(
            When(_WRITTEN_OFF, then=paid_by_hand()),
            When(BY_HAND, then=F("owed")),
            When(is_booked=True, then=_of(_PAYMENTS.exclude(state=Payment.State.REFUSED), Sum("amount"))),
            When(_REJECTED | Q(pk__in=_replaced(assignments)), then=Value(ZERO)),
            default=F("owed"),
            output_field=_MONEY,
        ),
        paid=Case(When(BY_HAND, then=paid_by_hand()), default=_of(_PAYMENTS, paid), output_field=_MONEY),
    )
    written_off = Case(When(BY_HAND, then=F("owed") - F("due")), default=Value(ZERO), output_field=_MONEY)
    whole: QuerySet[Any] = priced.annotate(to_pay=F("due") - F("paid"), written_off=written_off)
    return whole


def _of(rows: QuerySet[Payment] | QuerySet[HandPayment], sum: Sum) -> Coalesce:
    """A sum over rows of an assignment, beside it."""
    summed = rows.order_by().values("assignment").annotate(sum=sum).values("sum")
    return Coalesce(Subquery(summed, output_field=_MONEY), Value(ZERO), output_field=_MONEY)


def paid_by_hand() -> Coalesce:
    """What the lab has marked as paid for an assignment."""
    return _of(HandPayment.objects.filter(assignment=OuterRef("pk")), Sum("amount"))


def _replaced(assignments: QuerySet[Assignment]) -> QuerySet[Any, Any]:
    """Of all work at platforms on the HITs of those assignments that are not booked, that beside which other work on
    the same HIT in the same name was submitted or compensated: anyone can type an id. One set, found in one pass,
    however much there is.
    """
    compensated = Payment.objects.filter(assignment=OuterRef("pk"), purpose=Payment.Purpose.COMPENSATION)
    is_settled = Case(When(Q(submission__isnull=False) | Exists(compensated), then=1), default=0)
    works = Assignment.objects.filter(hit__in=assignments.filter(_UNBOOKED).order_by().values("hit")).exclude(BY_HAND)
    settled = works.annotate(is_settled=is_settled)
    on_it = Window(Sum("is_settled"), partition_by=[F("hit"), F("worker")])
    return settled.annotate(others=on_it - F("is_settled")).filter(others__gt=0).values("pk")


# Other work of the same worker on the same HIT at a platform that was submitted or compensated: as in `_replaced`.
_OTHERS = (
    Assignment.objects.filter(hit=OuterRef("hit"), worker=OuterRef("worker"))
    .exclude(Q(pk=OuterRef("pk")) | BY_HAND)
    .filter(
        Q(submission__isnull=False)
        | Exists(Payment.objects.filter(assignment=OuterRef("pk"), purpose=Payment.Purpose.COMPENSATION))
    )
)


def assignments_owed(campaign: Campaign) -> QuerySet[Any]:
    """Everybody's work in a campaign for which something is due, was paid or was written off, the oldest first."""
    rows = with_pay(Assignment.objects.filter(campaign=campaign))
    return rows.exclude(due=0, paid=0, written_off=0).order_by("finished_at", "pk")


def unpaid_keys(campaign: Campaign) -> QuerySet[Any, Any]:
    """Keys of all work in a campaign that may have something to be paid, of rejected work too."""
    unpaid = Payment.objects.filter(
        publication__campaign=campaign, state__in=[Payment.State.OWED, Payment.State.SENT], assignment__isnull=False
    )
    unbooked = Assignment.objects.filter(_UNBOOKED, campaign=campaign).order_by().values("pk")
    return unbooked.union(unpaid.order_by().values("assignment"))


def sums_of_work(assignments: QuerySet[Assignment]) -> Sums:
    """What is owed for some work of one campaign, and paid of that."""
    sums = with_pay(assignments).aggregate(all_due=Sum("due", default=ZERO), all_paid=Sum("paid", default=ZERO))
    return Sums(sums["all_due"], sums["all_paid"])


# --- campaigns


def desk_of(campaign: Campaign) -> Desk:
    by_hand, by_platform = sums_by_payer([campaign.pk])[campaign.pk]
    waiting = assignments_owed(campaign).filter(_UNBOOKED, BY_HAND, to_pay__gt=0).count()
    return Desk(by_hand, by_platform, waiting)


def sums_of(campaign: Campaign) -> Sums:
    """What is owed in a campaign, and paid of that, whoever pays."""
    by_hand, by_platform = sums_by_payer([campaign.pk])[campaign.pk]
    return by_hand.plus(by_platform)


def sums_by_payer(campaigns: Collection[int]) -> defaultdict[int, tuple[Sums, Sums]]:
    """What is owed and paid, by campaign: what labs pay themselves, and what platforms pay."""
    sums_of: defaultdict[int, tuple[Sums, Sums]] = defaultdict(lambda: (Sums(), Sums()))
    amounts = {campaign: [[ZERO, ZERO, ZERO], [ZERO, ZERO, ZERO]] for campaign in campaigns}
    at_platforms = []
    for campaign, totals in totals_of(amounts, "work", "payments", "marked").items():
        by_hand, by_platform = amounts[campaign]
        for (name, kind), sums in totals.items():
            if name == "marked":
                by_hand[1] += sums.amount
            elif name == "work" and kind.endswith("/0"):
                by_hand[0] += sums.amount
            elif name == "work" and sums.amount:
                at_platforms.append(campaign)
            elif name == "payments" and not kind.endswith(f"/{Payment.State.REFUSED}"):
                by_platform[0] += sums.amount
                by_platform[1] += sums.amount if kind.endswith(f"/{Payment.State.PAID}") else ZERO
                by_platform[2] += sums.fee
    written_off = Assignment.objects.filter(_WRITTEN_OFF, _UNBOOKED, campaign__in=campaigns)
    of_erased = written_off.annotate(left=F("owed") - paid_by_hand()).order_by()
    for campaign, left in of_erased.values_list("campaign").annotate(Sum("left")):
        amounts[campaign][0][0] -= left
    ended = Assignment.objects.filter(_UNBOOKED, campaign__in=set(at_platforms)).order_by()
    unbooked = ended.exclude(BY_HAND).exclude(_REJECTED).exclude(Exists(_OTHERS))
    for campaign, owed in unbooked.values_list("campaign").annotate(Sum("owed")) if at_platforms else ():
        amounts[campaign][1][0] += owed
    sums_of.update({campaign: (Sums(*rows[0]), Sums(*rows[1])) for campaign, rows in amounts.items()})
    return sums_of


# --- what a lab has paid itself


@transaction.atomic
def payments_mark(
    *,
    campaign: Campaign,
    chosen: Sequence[int] | None,
    expected: Decimal,
    by: User,
    at: datetime,
    paid_on: date,
    note: str = "",
) -> Marked:
    """Mark what is still to be paid for these assignments as paid; without any, for all of the campaign.

    Again does nothing: what is paid is not marked twice. Raises NotNow where all would be another amount than
    `expected`, because somebody has finished work since; BadRequest for a day to come, or a long note.
    """
    note = note.strip().replace("\0", "")
    if len(note) > LONGEST_NOTE:
        raise BadRequest(_("The note is too long: at most %(most)d characters fit.") % {"most": LONGEST_NOTE})
    if paid_on > at.date():
        raise BadRequest(_("Payments are marked once they are made: the day cannot be in the future."))
    unpaid = [row for row in _locked(campaign, chosen) if row.to_pay > 0]
    amount = sum((row.to_pay for row in unpaid), ZERO)
    if chosen is None and unpaid and amount != expected:
        text = _("Now %(amount)s is to be paid, and not %(expected)s. Nothing was marked. Check the list again.")
        raise NotNow(text % {"amount": campaign.money(amount), "expected": campaign.money(expected)})
    _write(unpaid, {row.pk: row.to_pay for row in unpaid}, by, at, paid_on, note)
    return Marked(len(unpaid), amount)


@transaction.atomic
def payments_take_back(*, campaign: Campaign, chosen: Sequence[int], by: User, at: datetime, note: str = "") -> Marked:
    """Say that these were not paid after all, by an entry of the opposite amount: all of it is to be paid again. Again
    does nothing.
    """
    paid = [row for row in _locked(campaign, chosen) if row.paid > 0]
    _write(paid, {row.pk: -row.paid for row in paid}, by, at, at.date(), note.strip()[:LONGEST_NOTE])
    return Marked(len(paid), sum((row.paid for row in paid), ZERO))


def _locked(campaign: Campaign, chosen: Sequence[int] | None) -> list[Any]:
    """Assignments that the lab pays itself, as they are once nobody else can mark them."""
    keys = Assignment.objects.filter(BY_HAND, campaign=campaign, owed__gt=0)
    keys = keys.filter(_UNBOOKED) if chosen is None else keys.filter(pk__in=chosen)
    locked = keys.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk", flat=True)
    return list(with_pay(Assignment.objects.filter(pk__in=list(locked))).order_by("pk"))


def _write(
    assignments: Sequence[Assignment], amounts: dict[int, Decimal], by: User, at: datetime, paid_on: date, note: str
) -> None:
    before = HandPayment.objects.filter(assignment__in=assignments).order_by().values_list("assignment")
    numbers = dict(before.annotate(count=Count("pk")))
    HandPayment.objects.bulk_create(
        HandPayment(
            campaign_id=row.campaign_id,
            assignment=row,
            number=numbers.get(row.pk, 0) + 1,
            amount=amounts[row.pk],
            paid_on=paid_on,
            note=note,
            by=by,
            at=at,
        )
        for row in assignments
    )
