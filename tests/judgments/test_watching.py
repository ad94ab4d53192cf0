"""The page of a running campaign: when it is done at this pace, what it costs, and one count for all who look."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from core.models import User
from core.templatetags.workplace import day_and_time, explain, when
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from judgments import watching
from pools.models import Campaign
from runs.models import Collection
from tasks import selectors as task_selectors
from tasks.models import Assignment, Hit
from tasks.names import pseudonym
from tests import factories


@pytest.fixture
def halfway(collection: Collection) -> Campaign:
    """Six of seven HITs were accepted, one every hour; the last three hours ago."""
    campaign = factories.campaign(collection, "halfway", pairs_per_hit=1, tests_per_hit=1)
    now = timezone.now()
    for number in range(6):
        done = factories.do(factories.worker(campaign, f"worker {number}"), campaign)
        Assignment.objects.filter(pk=done.pk).update(finished_at=now - timedelta(hours=8 - number))
    campaign.refresh_from_db()
    return campaign


def test_a_campaign_is_done_when_its_pace_says_and_a_standstill_slows_it(halfway: Campaign) -> None:
    now = timezone.now()
    forecast = watching.forecast(halfway, now)
    assert (forecast.remaining, forecast.accepted) == (1, 6)
    assert forecast.done_at is not None
    assert forecast.done_at - now == pytest.approx(timedelta(hours=8) / 5, abs=timedelta(minutes=1))
    later = watching.forecast(halfway, now + timedelta(hours=5))
    assert later.done_at is not None
    assert later.done_at - now - timedelta(hours=5) > forecast.done_at - now


def test_nothing_is_forecast_from_too_little_or_while_nobody_gets_a_hit(halfway: Campaign) -> None:
    assert "Too little" in watching.forecast(halfway, timezone.now() + timedelta(hours=23)).why
    halfway.state = Campaign.State.PAUSED
    assert "not open" in watching.forecast(halfway, timezone.now()).why
    Hit.objects.filter(campaign=halfway).update(needed=0)
    assert watching.forecast(halfway, timezone.now()).why == "All the judging is done."


def test_the_page_says_pace_quality_cost_and_what_needs_a_person(client: Client, halfway: Campaign, rita: User) -> None:
    client.force_login(rita)
    judgment_jobs.summarize()
    halfway.alarms.create(kind="exports", text="The disk is full.", raised_at=timezone.now())
    page = client.get(reverse("campaigns:campaign", args=[halfway.pk])).content.decode()
    assert "Done " in page
    assert "1 more assignment is needed; 6 were accepted in the last 8 h 0 min." in page
    assert "The disk is full." in page
    assert "of 6" in page  # test pairs
    owed = sum(Assignment.objects.filter(campaign=halfway).values_list("owed", flat=True), Decimal(0))
    assert f"${owed:.2f}" in page
    cost = watching.campaign_watch(halfway, timezone.now()).cost
    assert cost.at_end > cost.owed == owed
    html = LexborHTMLParser(page)
    *parts, total = [Decimal(dd.text().strip().lstrip("$")) for dd in html.css("section[aria-labelledby=cost] dd")]
    assert len(parts) == 4 and sum(parts) == total == cost.at_end


def test_who_is_at_work_now_is_counted_on_the_page_and_listed_under_work(
    client: Client, halfway: Campaign, rita: User
) -> None:
    client.force_login(rita)
    page, work = (reverse(name, args=[halfway.pk]) for name in ("campaigns:campaign", "review:work"))

    def at_work() -> list[Assignment]:
        return list(client.get(work, {"state": "active"}).context["listing"].page)

    assert at_work() == []
    late = factories.take(factories.worker(halfway, "late one"), halfway)
    assert at_work() == [late]
    assert pseudonym(halfway, late.worker_id) in client.get(work, {"state": "active"}).text
    html = LexborHTMLParser(client.get(page).text)
    counts = {dt.text(): dt.next.text() for dt in html.css("dt") if dt.next is not None}
    assert counts["Being judged"].split() == ["1", "assignment"]
    Hit.objects.filter(campaign=halfway).update(needed=0)
    cache.clear()
    text = client.get(page).text
    assert "1 assignment is still being judged." in text and "All the judging is done." not in text
    factories.judge(late)
    judgment_services.assignment_finish(assignment=late, at=timezone.now())
    assert at_work() == []


def test_when_the_judging_is_done_the_page_leads_to_what_is_left_to_check_and_to_pay(
    page: Client, halfway: Campaign
) -> None:
    assert watching.needs_of(halfway) == []  # others are still to come
    left = halfway.assignments.earliest("pk")
    Assignment.objects.filter(pk=left.pk).update(state="left", verdict="pending")
    halfway.state = Campaign.State.CLOSED
    halfway.save(update_fields=["state"])
    check, pay = watching.needs_of(halfway)
    assert check.text.startswith("Use or exclude 1 assignment that has ended and is not checked yet")
    owed = sum(Assignment.objects.filter(campaign=halfway).values_list("owed", flat=True), Decimal(0))
    assert pay.text == f"Pay people ${owed:.2f}."
    listed = page.get(check.address).context["listing"].page
    assert [assignment.pk for assignment in listed] == [left.pk]
    assert page.get(pay.address).status_code == 200
    Assignment.objects.filter(pk=left.pk).update(platform_assignment_id="3LEFT")
    texts = [need.text for need in watching.needs_of(halfway)]
    assert f"See why ${left.owed:.2f} is not paid at the platform yet." in texts


def test_what_is_counted_moves_with_every_accepted_assignment(
    client: Client, collection: Collection, rita: User
) -> None:
    client.force_login(rita)
    campaign = factories.campaign(collection, overlap=2)
    factories.do(factories.worker(campaign, "first"), campaign)
    page = client.get(reverse("campaigns:campaign", args=[campaign.pk])).text
    assert "0 of 1 (0%)" in page and "Assignments: 1 accepted, 1 more needed." in page


def test_the_cost_at_the_end_has_what_a_pilot_holds_back(halfway: Campaign) -> None:
    Hit.objects.filter(campaign=halfway).update(needed=0)
    before = watching.campaign_watch(halfway, timezone.now()).cost.at_end
    Hit.objects.filter(pk__in=Hit.objects.filter(campaign=halfway).order_by("-number")[:1]).update(is_held=True)
    cache.clear()
    rest = watching.campaign_watch(halfway, timezone.now()).cost.at_end - before
    assert rest >= halfway.reward * halfway.overlap


def test_six_who_look_share_one_count_and_see_at_once_what_ends(
    client: Client, halfway: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    client.force_login(rita)
    counts: list[int] = []
    count = task_selectors.progress

    def counting(campaign: Campaign) -> task_selectors.Progress:
        counts.append(campaign.pk)
        return count(campaign)

    monkeypatch.setattr(task_selectors, "progress", counting)
    for _viewer in range(6):
        client.get(reverse("campaigns:campaign", args=[halfway.pk]))
    assert len(counts) == 1
    factories.do(factories.worker(halfway, "another"), halfway)
    page = client.get(reverse("campaigns:campaign", args=[halfway.pk])).content.decode()
    assert "All the judging is done." in page
    assert len(counts) == 2


def test_a_day_is_said_as_people_say_it() -> None:
    now = timezone.now().replace(hour=14, minute=5)
    assert day_and_time(now) == "today at 14:05 UTC"
    assert day_and_time(now + timedelta(days=1)) == "tomorrow at 14:05 UTC"
    assert day_and_time(now + timedelta(days=9)).startswith("on ")


def test_a_time_is_shown_once_and_otherwise_in_its_title() -> None:
    now = timezone.now()
    for at, shown, title in (
        (now, "just now", f"{now:%-d %b %Y, %H:%M} UTC"),
        (now - timedelta(hours=3, minutes=14), "3\xa0hours ago", None),
        (now - timedelta(hours=25), f"{now - timedelta(hours=25):%-d %b %Y, %H:%M} UTC", "1\xa0day ago"),
        (now + timedelta(hours=3), f"{now + timedelta(hours=3):%-d %b %Y, %H:%M} UTC", ""),
    ):
        time = LexborHTMLParser(when(at)).css_first("time")
        assert time is not None and time.text() == shown
        assert time.attributes["title"] == (title if title is not None else f"{at:%-d %b %Y, %H:%M} UTC")


def test_a_term_is_explained_once_and_what_people_typed_stays_text() -> None:
    text = explain("<b>2 HITs</b> & a hit", "HIT")
    page = LexborHTMLParser(text)
    term = page.css_first("abbr")
    assert page.css_first("b") is None and len(page.css("abbr")) == 1
    assert term is not None and term.text() == "HITs"
    assert str(term.attributes["title"]).startswith("A human intelligence task")
