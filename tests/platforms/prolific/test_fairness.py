"""What an hour of a study pays, by the times that were true, and raising it once."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone

from core.errors import BadRequest
from core.models import Alarm, User
from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Payment, PayRate, PlatformAlarm, Publication, Submission
from platforms.reviewing.fairness import adjustment_of, pay_rate_check
from tasks.models import Assignment
from tests.platforms.platforms import Clock, drain, settle
from tests.platforms.prolific.test_work import begin, finish
from tests.simulation.prolific import Double

MINUTES = (10, 20, 40)


@pytest.fixture
def slow(published: Publication, prolific: Double, settings: Any) -> Publication:
    """A study of three participants, who took 10, 20 and 40 minutes there and half as long here; all approved."""
    for minutes in MINUTES:
        _place, work = begin(published, prolific, f"Pat {minutes}")
        prolific.advance(minutes * 60)
        finish(published, prolific, work)
        began = work.finished_at - timedelta(minutes=minutes / 2)  # type: ignore[operator]
        Assignment.objects.filter(pk=work.pk).update(taken_at=began)
    clock = Clock()
    clock.sleep(sum(MINUTES) * 60)  # as the double's
    settle(published, clock)
    return published


def unfair(publication: Publication) -> list[str]:
    """The alarm, if it is raised."""
    return list(publication.alarms.filter(kind=PlatformAlarm.UNFAIR, settled_at=None).values_list("text", flat=True))


def test_pay_below_the_minimum_raises_an_alarm_and_is_raised_once_by_one_confirmation(
    slow: Publication, prolific: Double, rita: User, client: Browser
) -> None:
    at, reward = timezone.now(), slow.listed
    rate = pay_rate_check(publication=slow, at=at)
    assert rate.submissions == 3
    assert rate.seconds_there == pytest.approx(1200, abs=5) and rate.seconds_here == pytest.approx(600, abs=1)
    assert rate.lowest == rate.hourly_there == pytest.approx(reward * 3, abs=Decimal("0.05"))
    assert rate.hourly_here == pytest.approx(reward * 6, abs=Decimal("0.05"))
    assert reward * 3 < 8 and "Prolific's minimum is $8.00." in unfair(slow)[0]
    client.force_login(rita)
    alarm = Alarm.objects.get(kind="unfair")
    client.post(reverse("platforms:set_aside", args=[slow.campaign_id, alarm.pk]))
    pay_rate_check(publication=slow, at=at)
    assert unfair(slow) == []  # dismissed as long as the median is the same, so that the publication can end
    Submission.objects.filter(seconds_there__range=(1100, 1300)).update(seconds_there=1210)
    rate = pay_rate_check(publication=slow, at=at + timedelta(minutes=6))
    assert len(unfair(slow)) == 1
    state = client.get(reverse("platforms:publication", args=[slow.campaign_id])).content.decode()
    address = reverse("platforms:adjustment", args=[slow.campaign_id])
    assert f'href="{address}"' in state and "$8.00" in state and f"${rate.hourly_there}" in state
    page = client.get(address)
    raised = page.context["adjustment"]
    assert raised == adjustment_of(slow, Decimal("12.00"))  # what Prolific recommends
    each = raised.to - reward
    assert (raised.people, raised.amount, raised.fees) == (3, 3 * each, 3 * round(each * Decimal("0.4"), 2))
    assert raised.after >= 12 and f"Pay ${raised.total:,.2f}" in page.content.decode()
    assert prolific.ledger("bonus") == [] and not Payment.objects.filter(purpose="adjustment").exists()

    fields = {"hourly": raised.hourly, "seen": raised.digest}
    assert client.post(address, fields | {"seen": "something else"}).status_code == 409
    prolific.fault("lost after", path="/pay/$")
    pages = [client.post(address, fields, follow=True).content.decode() for _click in range(3)]
    assert "3 submissions get a bonus" in pages[0] and all("Nothing was paid" in page for page in pages[1:])
    clock = Clock()
    drain(slow, clock, rounds=12)
    prolific.advance(3600)
    drain(slow, clock)
    prolific.advance(3600)
    assert [bonus["amount"] for bonus in prolific.ledger("bonus")] == [int(each * 100)] * 3
    assert len(prolific.requests("/pay/")) == 3
    assert set(Payment.objects.filter(purpose="adjustment").values_list("state", "by")) == {("paid", rita.pk)}
    assert comparison_make(publication=slow, at=clock()).agree
    assert pay_rate_check(publication=slow, at=clock()).lowest == raised.after and unfair(slow) == []


def test_who_was_raised_is_not_raised_again_and_who_came_later_is(slow: Publication, page: Browser) -> None:
    address = reverse("platforms:adjustment", args=[slow.campaign_id])
    late = Submission.objects.filter(publication=slow).latest("pk")
    Submission.objects.filter(pk=late.pk).update(decision="")
    first = page.get(address).context["adjustment"]
    page.post(address, {"hourly": first.hourly, "seen": first.digest})
    assert (first.people, Operation.objects.filter(kind="adjust").count()) == (2, 2)
    Submission.objects.filter(pk=late.pk).update(decision="approve")
    again = page.get(f"{address}?hourly=15").context["adjustment"]
    assert (again.people, again.before) == (1, 2) and again.after < 15  # two keep what they were raised to
    page.post(address, {"hourly": again.hourly, "seen": again.digest})
    assert Payment.objects.filter(purpose="adjustment").count() == Operation.objects.filter(kind="adjust").count() == 3
    assert "No submission needs a raise" in page.get(f"{address}?hourly=20").content.decode()


def test_the_labs_floor_counts_where_it_is_higher_and_few_or_wrong_numbers_do_nothing(
    slow: Publication, page: Browser
) -> None:
    at, lab = timezone.now(), slow.campaign.lab
    Submission.objects.filter(publication=slow).update(seconds_there=60)
    Assignment.objects.filter(campaign=slow.campaign).update(taken_at=at)
    Assignment.objects.filter(campaign=slow.campaign).update(finished_at=at + timedelta(minutes=1))
    assert pay_rate_check(publication=slow, at=at).lowest == slow.listed * 60 and unfair(slow) == []
    lab.pay_floor = slow.listed * 60 + 1
    lab.save()
    Submission.objects.filter(pk=Submission.objects.latest("pk").pk).update(decision="reject")
    later = at + timedelta(hours=1)
    assert pay_rate_check(publication=slow, at=later).submissions == 2 and unfair(slow) == []  # too few to say
    Submission.objects.filter(publication=slow).update(decision="approve")
    pay_rate_check(publication=slow, at=later + timedelta(hours=1))
    assert "The lab's pay floor is" in unfair(slow)[0]
    address = reverse("platforms:adjustment", args=[slow.campaign_id])
    for hourly in ("0", "-1", "lots", "201", "1e9"):
        assert page.get(address, {"hourly": hourly}).status_code == 400
        assert page.post(address, {"hourly": hourly, "seen": ""}).status_code == 400
    Submission.objects.filter(publication=slow).update(seconds_there=86_400)
    with pytest.raises(BadRequest, match="is the most"):
        adjustment_of(slow, Decimal(12))
    assert not Payment.objects.filter(purpose="adjustment").exists()
    PayRate.objects.all().delete()
    Submission.objects.filter(publication=slow).update(seconds_there=None)
    Assignment.objects.filter(campaign=slow.campaign).update(finished_at=at, taken_at=at)
    assert pay_rate_check(publication=slow, at=at).lowest is None
    assert page.get(address).status_code == 409
