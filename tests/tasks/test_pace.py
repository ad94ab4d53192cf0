"""What workers are told about time and pay: from finished work, else from the words to read, the same everywhere."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from platforms.models import Publication
from platforms.mturk.operations import hit_type_request
from platforms.terms import publication_write
from pools.models import Campaign
from runs.models import Collection, Passage
from tasks import links
from tasks import selectors as task_selectors
from tasks.models import Assignment
from tests import factories


@pytest.fixture
def long_reads(collection: Collection) -> Campaign:
    """A campaign whose passages have 115 words each: two are a minute's reading."""
    Passage.objects.filter(collection=collection).update(text="word " * 115)
    return factories.campaign(
        collection, pairs_per_hit=3, tests_per_hit=2, reward=Decimal("2.00"), hits_per_worker=None
    )


def finish(campaign: Campaign, count: int, seconds: int, **fields: Any) -> None:
    """Accepted work that took so long each."""
    hit = campaign.hits.order_by("number").first()
    assert hit is not None
    at = timezone.now()
    start = Assignment.objects.count()
    for number in range(start, start + count):
        Assignment.objects.create(
            **{
                "campaign": campaign,
                "hit": hit,
                "worker": factories.worker(campaign, f"W{number}"),
                "state": Assignment.State.SUBMITTED,
                "verdict": Assignment.Verdict.ACCEPTED,
                "taken_at": at - timedelta(seconds=seconds),
                "leased_until": at,
                "finished_at": at,
                "judged": hit.items.count(),
            }
            | fields
        )


def test_before_any_work_the_time_follows_from_the_words_of_the_hits(long_reads: Campaign) -> None:
    pace = task_selectors.expected_pace(long_reads)
    assert pace is not None
    # Three pairs of a minute each, short test pairs, and five choices.
    assert (pace.minutes, pace.measured, pace.limit) == (4, 0, 60)
    assert pace.hourly == Decimal("30.00")


def test_enough_finished_work_says_how_long_it_takes(long_reads: Campaign) -> None:
    finish(long_reads, 9, 560)
    before = task_selectors.expected_pace(long_reads)
    assert before is not None
    assert before.measured == 0
    finish(long_reads, 2, 3000)
    pace = task_selectors.expected_pace(long_reads)
    assert pace is not None
    assert (pace.minutes, pace.measured) == (10, 11)  # the median, in whole minutes from there up
    assert pace.hourly == Decimal("12.00")


def test_work_that_was_faster_than_anybody_reads_promises_no_time_and_no_pay(
    client: Client, long_reads: Campaign
) -> None:
    # Three pairs of 230 words and their questions, and two short test pairs: 750 words at most, in 75 seconds.
    finish(long_reads, 12, 50)
    pace = task_selectors.expected_pace(long_reads)
    assert pace is not None
    assert (pace.minutes, pace.measured, pace.hourly) == (4, 0, Decimal("30.00"))
    start = client.get(reverse("judging:join", args=[long_reads.link])).content.decode()
    assert "$30.00 an hour" in start and "$120.00" not in start
    finish(long_reads, 13, 100)
    pace = task_selectors.expected_pace(long_reads)
    assert pace is not None
    assert (pace.minutes, pace.measured) == (2, 25)


def test_excluded_and_abandoned_work_says_nothing_about_time(long_reads: Campaign) -> None:
    finish(long_reads, 12, 20, verdict=Assignment.Verdict.EXCLUDED)
    finish(long_reads, 12, 20, state=Assignment.State.LEFT, judged=2)
    pace = task_selectors.expected_pace(long_reads)
    assert pace is not None
    assert (pace.minutes, pace.measured) == (4, 0)


def test_a_campaign_without_texts_says_nothing(collection: Collection) -> None:
    Passage.objects.filter(collection=collection).update(text="")
    draft = factories.campaign(collection, tests=0, start=False)
    assert task_selectors.expected_pace(draft) is None


def test_the_platforms_own_limit_is_the_limit_there(long_reads: Campaign) -> None:
    publication = Publication(campaign=long_reads, assignment_duration=timedelta(minutes=45))
    pace = task_selectors.expected_pace(long_reads, publication.assignment_duration)
    assert pace is not None
    assert pace.limit == 45


def test_preview_home_and_consent_say_the_same(client: Client, long_reads: Campaign) -> None:
    sentences = ("about 4 min", "You have up to 60 min.", "$30.00 an hour at that pace")
    preview = client.get(reverse("judging:preview", args=[long_reads.link])).content.decode()
    consent = client.get(reverse("judging:join", args=[long_reads.link])).content.decode()
    worker = factories.worker(long_reads, "Alice")
    home = client.get(reverse("judging:home", args=[links.home_token(worker, long_reads)])).content.decode()
    for page in (preview, consent, home):
        for words in sentences:
            assert words in page, (words, page)
        assert "about 60 min" not in page


def test_the_researcher_sees_the_pay_per_hour_and_a_warning_below_the_floor(
    client: Client, rita: User, long_reads: Campaign, settings: Any
) -> None:
    client.force_login(rita)
    address = reverse("campaigns:plan", args=[long_reads.pk])
    text = client.get(address).content.decode()
    assert "$30.00 an hour" in text
    assert "less than" not in text
    settings.HOURLY_FLOOR = Decimal("31.00")
    assert "less than $31.00 an hour" in client.get(address).content.decode()


# --- what the marketplace lists


def test_the_whole_reward_is_listed_at_our_own_marketplace_and_a_bonus_is_announced_by_keyword(
    long_reads: Campaign,
) -> None:
    publication = publication_write(campaign=long_reads)
    request = hit_type_request(publication, "X")
    terms = (publication.pay, request["Reward"], request["Keywords"])
    assert terms == ("return-and-compensate", "2.00", f"{publication.keywords}, takes-4-minutes")
    publication = publication_write(campaign=long_reads, pay="base-and-bonus", keywords="")
    request = hit_type_request(publication, "X")
    assert (request["Reward"], request["Keywords"]) == ("0.10", "bonus-up-to-1.90, takes-4-minutes")
    assert request["Description"].startswith("Pays $0.10 and a bonus of up to $1.90")
    publication = publication_write(campaign=long_reads, keywords="reading, " * 111)
    request = hit_type_request(publication, "X")
    assert len(request["Keywords"]) <= 1000
    assert request["Keywords"].endswith("reading, bonus-up-to-1.90, takes-4-minutes")


def test_at_mechanical_turk_a_base_and_a_bonus_stay_the_usual_and_no_keyword_is_added(long_reads: Campaign) -> None:
    other = publication_write(campaign=long_reads, platform="mturk-sandbox")
    assert other.pay == "base-and-bonus"
    keywords = hit_type_request(other, "X")["Keywords"]
    assert "bonus" not in keywords and "takes" not in keywords


def test_a_passage_that_nobody_can_read_in_the_time_of_a_hit_keeps_a_campaign_from_starting(
    collection: Collection,
) -> None:
    draft = factories.campaign(collection, start=False, minutes_per_hit=5)
    assert task_selectors.lacking_time(draft) == []
    pooled = Passage.objects.filter(candidacies__pool__campaign=draft).first()
    assert pooled is not None
    Passage.objects.filter(pk=pooled.pk).update(text="word " * 3_000)
    assert task_selectors.lacking_time(draft) == []  # 600 words a minute

    Passage.objects.filter(pk=pooled.pk).update(text="word " * 3_600)

    (obstacle,) = task_selectors.lacking_time(draft)
    assert obstacle.startswith(f"A passage of “{pooled.pid}” cannot be read in the 5 min that a HIT allows")
    assert "even skimming it takes 6 min. Allow more time, or shorten the passage." in obstacle
    assert obstacle in task_selectors.launch_obstacles(draft)
    assert task_selectors.lacking_time(draft, timedelta(minutes=7)) == []
