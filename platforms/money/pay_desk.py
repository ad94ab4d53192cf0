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
from pools.models import Campaign
from tasks.models import Assignment

ZERO = Decimal("0.00")
LONGEST_NOTE = 200  # characters
BY_HAND = Q(platform_assignment_id="")  # no platform pays it
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
            When(Exists(_PAYMENTS), then=_of(_PAYMENTS.exclude(state=Payment.State.REFUSED), Sum("amount"))),
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
    """Of all work at platforms by the workers of some assignments, that beside which other work on the same HIT in the
    same name was submitted or compensated: anyone can type an id. One set, found in one pass, however much there is.
    """
    compensated = Payment.objects.filter(assignment=OuterRef("pk"), purpose=Payment.Purpose.COMPENSATION)
    is_settled = Case(When(Q(submission__isnull=False) | Exists(compensated), then=1), default=0)
    works = Assignment.objects.filter(worker__in=assignments.order_by().values("worker")).exclude(BY_HAND)
    settled = works.annotate(is_settled=is_settled)
    on_it = Window(Sum("is_settled"), partition_by=[F("hit"), F("worker")])
    return settled.annotate(others=on_it - F("is_settled")).filter(others__gt=0).values("pk")


def assignments_owed(campaign: Campaign) -> QuerySet[Any]:
    """Everybody's work in a campaign for which something is due, was paid or was written off, the oldest first."""
    rows = with_pay(Assignment.objects.filter(campaign=campaign))
    return rows.exclude(due=0, paid=0, written_off=0).order_by("finished_at", "pk")


def sums_of_work(assignments: QuerySet[Assignment]) -> Sums:
    """What is owed for some work of one campaign, and paid of that."""
    sums = with_pay(assignments).aggregate(all_due=Sum("due", default=ZERO), all_paid=Sum("paid", default=ZERO))
    return Sums(sums["all_due"], sums["all_paid"])


# --- campaigns


def desk_of(campaign: Campaign) -> Desk:
    by_hand, by_platform = sums_by_payer([campaign.pk])[campaign.pk]
    waiting = assignments_owed(campaign).filter(BY_HAND, to_pay__gt=0).count()
    return Desk(by_hand, by_platform, waiting)


def sums_of(campaign: Campaign) -> Sums:
    """What is owed in a campaign, and paid of that, whoever pays."""
    by_hand, by_platform = sums_by_payer([campaign.pk])[campaign.pk]
    return by_hand.plus(by_platform)


def sums_by_payer(campaigns: Collection[int]) -> defaultdict[int, tuple[Sums, Sums]]:
    """What is owed and paid, by campaign: what labs pay themselves, and what platforms pay."""
    sums_of: defaultdict[int, tuple[Sums, Sums]] = defaultdict(lambda: (Sums(), Sums()))
    ended = Assignment.objects.filter(campaign__in=campaigns, finished_at__isnull=False).order_by()
    marked = HandPayment.objects.filter(campaign__in=campaigns).order_by()
    booked = Payment.objects.filter(publication__campaign__in=campaigns).exclude(state=Payment.State.REFUSED).order_by()
    unbooked = ended.exclude(BY_HAND).exclude(Exists(_PAYMENTS)).exclude(_REJECTED).exclude(pk__in=_replaced(ended))
    nothing = Value(ZERO, output_field=_MONEY)
    is_paid = Q(state=Payment.State.PAID)
    # campaign, who pays, what is owed, what is paid of that, and fees; in one statement
    rows = (
        ended.filter(BY_HAND)
        .exclude(_WRITTEN_OFF)
        .values_list("campaign", Value(0))
        .annotate(a=Sum("owed"), b=nothing, c=nothing),
        marked.values_list("campaign", Value(0)).annotate(
            a=Sum("amount", filter=Q(assignment__worker__erased_at__isnull=False), default=ZERO),
            b=Sum("amount"),
            c=nothing,
        ),
        booked.values_list("publication__campaign", Value(1)).annotate(
            a=Sum("amount"), b=Sum("amount", filter=is_paid, default=ZERO), c=Sum("fee")
        ),
        unbooked.values_list("campaign", Value(1)).annotate(a=Sum("owed"), b=nothing, c=nothing),
    )
    for campaign, payer, *amounts in rows[0].union(*rows[1:], all=True):
        sums = list(sums_of[campaign])
        sums[payer] = sums[payer].plus(Sums(*amounts))
        sums_of[campaign] = sums[0], sums[1]
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
    if chosen is not None:
        keys = keys.filter(pk__in=chosen)
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
