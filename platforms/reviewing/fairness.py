"""What an hour of a publication's work pays, by the time that it truly took, and raising it where that is too little.

Times are from accepting to submitting by the platform's clock, which platforms go by, and from beginning to finishing
by ours. Of the two medians the lower counts. A time in which nobody can have read what was judged is none.
"""

import hashlib
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from core.errors import BadRequest, NotNow
from core.models import User
from core.money import CENT
from platforms.models import Payment, PayRate, PlatformAlarm, Publication, PublishedHit, Submission
from platforms.planning import adjustments_plan, publication_lock
from platforms.registry import adapter_of, phrase
from platforms.reviewing.deciding import MOST_BONUS
from tasks.selectors import lab_floor_of, least_seconds

FEWEST = 3  # submissions before their median raises an alarm
EVERY = timedelta(minutes=5)  # how often the median is computed
MOST_HOURLY = Decimal(200)  # dollars or pounds an hour that pay can be raised to: more is likely a slip of the finger
ZERO = Decimal("0.00")

# A row for each submission that was not rejected: how long it took by both clocks, in seconds; what it is paid in
# the campaign's currency, or will be once it is approved; whether a person can still raise that.
_WORK = """
WITH work AS (
  SELECT s.id, s.assignment_id,
    CASE WHEN s.seconds_there > 0 AND s.seconds_there >= %(least)s * coalesce(a.judged, 0) THEN s.seconds_there END
      AS there,
    CASE WHEN taken.seconds > 0 AND taken.seconds >= %(least)s * a.judged THEN taken.seconds END AS here,
    CASE WHEN paid.submission_id IS NOT NULL THEN paid.amount
      WHEN %(on_top)s THEN greatest(%(listed)s, coalesce(a.owed, 0)) ELSE %(listed)s END AS pay,
    s.decision = 'approve' AND s.platform_worker_id <> '' AND paid.is_adjusted IS NOT TRUE AS may_rise
  FROM platforms_submission s
  JOIN platforms_publishedhit h ON h.id = s.published_hit_id AND h.hit_id IS NOT NULL
  LEFT JOIN tasks_assignment a ON a.id = s.assignment_id
  CROSS JOIN LATERAL (SELECT extract(epoch FROM a.finished_at - a.taken_at) AS seconds) taken
  LEFT JOIN (
    SELECT submission_id, sum(CASE WHEN state = 'refused' THEN 0 ELSE amount END) AS amount,
      bool_or(purpose = 'adjustment') AS is_adjusted
    FROM platforms_payment WHERE publication_id = %(publication)s GROUP BY submission_id
  ) paid ON paid.submission_id = s.id
  WHERE s.publication_id = %(publication)s AND s.decision <> 'reject' AND s.status <> 'Rejected'
)
"""
_RATES = """
SELECT count(*) FILTER (WHERE there IS NOT NULL OR here IS NOT NULL),
  percentile_cont(0.5) WITHIN GROUP (ORDER BY pay * 3600 / there) FILTER (WHERE there IS NOT NULL),
  percentile_cont(0.5) WITHIN GROUP (ORDER BY pay * 3600 / here) FILTER (WHERE here IS NOT NULL),
  percentile_cont(0.5) WITHIN GROUP (ORDER BY there), percentile_cont(0.5) WITHIN GROUP (ORDER BY here)
FROM (
  SELECT there, here, CASE WHEN may_rise THEN greatest(pay, %(to)s) ELSE pay END AS pay FROM work
) AS raised
"""
_RAISES = "SELECT %(to)s - pay, count(*) FROM work WHERE may_rise AND pay < %(to)s GROUP BY pay ORDER BY pay"
_RAISED = "SELECT id, assignment_id, %(to)s - pay FROM work WHERE may_rise AND pay < %(to)s ORDER BY id"
_ADJUSTED = Payment.Purpose.ADJUSTMENT


class Adjustment(NamedTuple):
    """What raising the pay would do: everyone who was approved, and was not raised before, gets what is missing to `to`
    for the work, which is `hourly` in the median time.

    `people` would be raised, for `amount` and `fees` together. `after` is the lower of the two medians then, and
    `before` how many were raised earlier.
    """

    hourly: Decimal
    to: Decimal
    people: int
    amount: Decimal
    fees: Decimal
    after: Decimal | None
    before: int

    @property
    def total(self) -> Decimal:
        return self.amount + self.fees

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(map(str, self)).encode()).hexdigest()


def least_hourly(publication: Publication) -> Decimal | None:
    """What an hour is to pay at least: the platform's minimum or the lab's pay floor, the higher one."""
    return _higher(adapter_of(publication).least_hourly, lab_floor_of(publication.campaign))


def hourly_at_first(publication: Publication) -> Decimal | None:
    """What an adjustment raises pay to unless somebody chooses: what the platform recommends, or the lab's pay floor
    where that is higher.
    """
    adapter = adapter_of(publication)
    return _higher(adapter.advised_hourly, adapter.least_hourly, lab_floor_of(publication.campaign))


def _higher(*hourly: Decimal | None) -> Decimal | None:
    return max((amount for amount in hourly if amount is not None), default=None)


def pay_rate_check(*, publication: Publication, at: datetime) -> PayRate:
    """Compute the medians, where that was not done in the last minutes or was of too little, and raise or settle the
    alarm that an hour pays less than the platform's minimum or the lab's pay floor.
    """
    rate = PayRate.objects.filter(publication=publication).first()
    if rate is None or rate.at + EVERY <= at or rate.submissions < FEWEST:
        rate = pay_rate_compute(publication=publication, at=at)
    minimum, floor = adapter_of(publication).least_hourly, lab_floor_of(publication.campaign)
    least, lowest, kind = _higher(minimum, floor), rate.lowest, PlatformAlarm.UNFAIR
    if least is None or lowest is None or lowest >= least:
        alarm_settle(of=publication, kind=kind, at=at)
    elif rate.submissions >= FEWEST:
        figures = {"rate": publication.campaign.money(lowest), "least": publication.campaign.money(least)}
        text = _("The median pay of this work is %(rate)s an hour. The lab's pay floor is %(least)s.")
        if minimum is not None and (floor is None or minimum >= floor):
            text = _("The median pay of this work is %(rate)s an hour. The platform's minimum is %(least)s.")
        text = phrase(publication, text)
        # Once while it lasts; one that a person has dismissed is raised again when the median is another.
        same = Q(settled_at=None) | Q(text=text % figures)
        if not publication.alarms.filter(same, kind=kind).exists():
            alarm_raise(of=publication, kind=kind, text=text % figures, at=at)
    return rate


def pay_rate_compute(*, publication: Publication, at: datetime) -> PayRate:
    count, hourly_there, hourly_here, seconds_there, seconds_here = _rows(publication, _RATES, ZERO)[0]
    hourly = {"hourly_there": _rounded(hourly_there), "hourly_here": _rounded(hourly_here)}
    values = {"submissions": count, "seconds_there": seconds_there, "seconds_here": seconds_here, **hourly, "at": at}
    return PayRate.objects.update_or_create(publication=publication, defaults=values)[0]


def adjustment_of(publication: Publication, hourly: Decimal) -> Adjustment:
    """What raising the pay an hour to so much would do. Raises BadRequest for an amount that cannot be meant,
    and NotNow where no time is known yet.
    """
    money = publication.campaign.money
    if not ZERO < hourly <= MOST_HOURLY:
        text = _("The pay per hour can be between %(least)s and %(most)s.")
        raise BadRequest(text % {"least": money(CENT), "most": money(MOST_HOURLY)})
    times = [seconds for seconds in _rows(publication, _RATES, ZERO)[0][3:] if seconds]
    if not times:
        raise NotNow(_("No submission's time is known yet."))
    to = (hourly * Decimal(max(times)) / 3600).quantize(CENT, rounding=ROUND_CEILING)
    raises = _rows(publication, _RAISES, to)
    if raises and raises[0][0] > MOST_BONUS:
        text = _("That would be a bonus of %(amount)s for one submission, and %(most)s is the most.")
        raise BadRequest(text % {"amount": money(raises[0][0]), "most": money(MOST_BONUS)})
    adapter = adapter_of(publication)
    after = [_rounded(rate) for rate in _rows(publication, _RATES, to)[0][1:3]]
    return Adjustment(
        hourly=hourly,
        to=to,
        people=sum(count for _amount, count in raises),
        amount=sum((amount * count for amount, count in raises), ZERO),
        fees=sum((adapter.bonus_fee(amount) * count for amount, count in raises), ZERO),
        after=min((rate for rate in after if rate is not None), default=None),
        before=publication.payments.filter(purpose=_ADJUSTED).count(),
    )


@transaction.atomic
def adjustment_pay(*, publication: Publication, hourly: Decimal, seen: str, by: User, at: datetime) -> int:
    """Raise the pay as a person saw and confirmed it (`seen` is the digest): one bonus each, once for each submission.
    How many are raised now; none where all were before.

    Raises NotNow if it would be another adjustment by now.
    """
    publication = publication_lock(publication)
    adjustment = adjustment_of(publication, hourly)
    if not adjustment.people:
        return 0
    if adjustment.digest != seen:
        raise NotNow(_("More work was submitted or paid since you opened this page. Check the amounts, then confirm."))
    adapter = adapter_of(publication)
    text = _("Your pay was raised, so that somebody who takes the median time earns %(hourly)s an hour.")
    why = text % {"hourly": publication.campaign.money(hourly)}
    raised = _rows(publication, _RAISED, adjustment.to)
    payments = Payment.objects.bulk_create(
        [
            Payment(
                publication=publication,
                submission_id=submission,
                assignment_id=assignment,
                purpose=_ADJUSTED,
                amount=amount,
                fee=adapter.bonus_fee(amount),
                by=by,
                why=why,
                owed_at=at,
            )
            for submission, assignment, amount in raised
        ],
        batch_size=1000,
    )
    submissions = Submission.objects.in_bulk([payment.submission_id for payment in payments])
    for payment in payments:
        payment.submission = submissions[payment.submission_id]
    adjustments_plan(publication=publication, payments=payments, at=at)
    hits = Submission.objects.filter(pk__in=submissions).values("published_hit")
    PublishedHit.objects.filter(pk__in=hits).update(settled_at=None)  # the ledgers are to be compared
    pay_rate_compute(publication=publication, at=at)
    pay_rate_check(publication=publication, at=at)
    return len(payments)


def _rows(publication: Publication, query: str, to: Decimal) -> list[tuple[Any, ...]]:
    """What a query says of the publication's work, where pay that can rise is raised to so much."""
    values: dict[str, bool | int | float | Decimal] = {
        "publication": publication.pk,
        "listed": publication.listed,
        "on_top": publication.pay == Publication.Pay.BASE_AND_BONUS,
        "to": to,
        "least": least_seconds(publication.campaign),
    }
    with connection.cursor() as cursor:
        cursor.execute(_WORK + query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _rounded(rate: float | None) -> Decimal | None:
    return None if rate is None else Decimal(rate).quantize(CENT)
