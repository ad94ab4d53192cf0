"""Raising the pay of an hour at a platform without a minimum of its own."""

from decimal import Decimal

from django.utils import timezone

from core.models import Alarm, User
from platforms.ledger_comparison import comparison_make
from platforms.models import Payment, Publication, Submission
from platforms.reviewing.fairness import (
    adjustment_of,
    adjustment_pay,
    hourly_at_first,
    least_hourly,
    pay_rate_check,
    pay_rate_compute,
)
from runs.models import Passage
from tests.marketplace.server import Worker
from tests.platforms.platforms import drain, settle, work


def test_an_adjustment_at_the_marketplace_is_a_bonus_that_its_worker_gets_once(
    published: Publication, wanda: Worker, will: Worker, rita: User
) -> None:
    at = timezone.now()
    assert pay_rate_check(publication=published, at=at).submissions == 0
    for worker, number in ((wanda, 1), (will, 2), (wanda, 3)):
        work(published, worker, number)
    settle(published)
    assert None not in Submission.objects.values_list("seconds_there", flat=True)
    assert (least_hourly(published), hourly_at_first(published)) == (None, None)
    Submission.objects.update(seconds_there=1800)
    earned = published.campaign.reward * 2  # a base and a bonus are counted together
    assert pay_rate_check(publication=published, at=at).lowest == earned and not Alarm.objects.exists()
    raised = adjustment_of(published, earned + 2)
    each = {"publication": published, "hourly": earned + 2, "seen": raised.digest, "by": rita, "at": at}
    assert (raised.people, raised.amount) == (3, Decimal("3.00"))
    assert [adjustment_pay(**each) for _click in range(2)] == [3, 0]  # type: ignore[arg-type]
    drain(published)
    assert list(Payment.objects.filter(purpose="adjustment").values_list("state", "amount")) == [("paid", 1)] * 3
    assert comparison_make(publication=published, at=timezone.now()).agree
    assert pay_rate_check(publication=published, at=at).lowest == earned + 2

    # a time in which nobody can have read that much says nothing of the pay
    Passage.objects.update(text="word " * 230)
    Submission.objects.filter(pk=Submission.objects.earliest("pk").pk).update(seconds_there=20)
    rate = pay_rate_compute(publication=published, at=at)
    assert (rate.seconds_there, rate.submissions) == (1800, 2)
    Submission.objects.update(seconds_there=20)
    rate = pay_rate_compute(publication=published, at=at)
    assert (rate.lowest, rate.submissions) == (None, 0)
