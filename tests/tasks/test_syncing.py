"""What is asked of a venue, and what it is told, so that asking stays cheap."""

from datetime import timedelta

from django.utils import timezone

from judgments import services as judgments
from pools.models import User
from tasks.models import Publication
from tasks.venue.reviewing import publication_requeue
from tasks.venue.syncing import publication_sync
from tests.marketplace.server import Requester, Worker
from tests.tasks.venues import Clock, drain, work


def listed(requester: Requester, status: str = "Reviewable") -> list[str]:
    return [hit["HITId"] for hit in requester.client.list_reviewable_hits(Status=status)["HITs"]]


def test_a_hit_whose_work_is_stored_leaves_the_venues_list_and_further_work_on_it_is_found(
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
    judgments.confirmed_check_all(at=timezone.now())
    judgments.assignment_exclude(assignment=first, why="To be done again.", by=rita, at=timezone.now())
    clock = Clock()
    assert publication_requeue(publication=published, at=clock()) == 1
    drain(published, clock)
    assert listed(requester, "Reviewing") == [], "more work is asked for"
    work(published, will, 1)
    assert publication_sync(publication=published, at=at + timedelta(minutes=5)).new == 1
    assert published.submissions.filter(posting__hit=first.hit).count() == 2
    assert listed(requester) == []
