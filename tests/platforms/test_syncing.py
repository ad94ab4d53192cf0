"""What is asked of a platform, and what it is told, so that asking stays cheap."""

from datetime import timedelta

from django.utils import timezone

from core.models import User
from judgments import quality
from platforms.models import Publication
from platforms.reviewing.requeuing import publication_requeue
from platforms.syncing import publication_sync
from tests.marketplace.server import Requester, Worker
from tests.platforms.platforms import Clock, drain, work


def listed(requester: Requester, status: str = "Reviewable") -> list[str]:
    return [hit["HITId"] for hit in requester.client.list_reviewable_hits(Status=status)["HITs"]]


def test_a_hit_whose_work_is_stored_leaves_the_platforms_list_and_further_work_on_it_is_found(
    published: Publication, requester: Requester, wanda: Worker, will: Worker, rita: User
) -> None:
    first = work(published, wanda, 1)
    (hit_id,) = listed(requester)
    at = timezone.now()
    assert publication_sync(publication=published, at=at).new == 1
    assert listed(requester) == []
    assert listed(requester, "Reviewing") == [hit_id]
    assert publication_sync(publication=published, at=at + timedelta(minutes=1)).new == 0

    first.refresh_from_db()
    quality.confirmed_check_all(at=timezone.now())
    quality.assignment_exclude(assignment=first, why="To be done again.", by=rita, at=timezone.now())
    clock = Clock()
    assert publication_requeue(publication=published, at=clock()) == 1
    drain(published, clock)
    assert listed(requester, "Reviewing") == [], "more work is asked for"
    work(published, will, 1)
    assert publication_sync(publication=published, at=at + timedelta(minutes=5)).new == 1
    assert published.submissions.filter(published_hit__hit=first.hit).count() == 2
    assert listed(requester) == []


def test_a_hit_that_nobody_took_is_asked_about_until_a_day_after_the_last_could_submit_it(
    published: Publication, requester: Requester
) -> None:
    hit = published.published_hits.exclude(platform_hit_id="").earliest("pk")
    ended = timezone.now() - timedelta(minutes=1)
    published.published_hits.update(expires_at=ended)
    last = ended + published.longest_time + timedelta(days=1)
    for at in (ended - timedelta(seconds=1), ended + timedelta(seconds=1), last - timedelta(seconds=1)):
        publication_sync(publication=published, at=at, everything=True)
        hit.refresh_from_db()
        assert hit.next_poll_at is not None
    publication_sync(publication=published, at=last, everything=True)
    assert not published.published_hits.filter(next_poll_at__isnull=False).exclude(platform_hit_id="").exists()
