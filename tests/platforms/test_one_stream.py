"""One campaign's HITs by a link, on a panel and at a marketplace together: what is done anywhere is closed everywhere,
what somebody is at is offered to nobody else, and what is left is offered again.
"""

import random
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from core.models import User
from judgments import quality
from judgments import services as judgment_services
from platforms import jobs as platform_jobs
from platforms.arriving import assignment_arrive, must_be_free
from platforms.attention import returns_check
from platforms.models import Publication
from platforms.publishing.publications import publication_expire, publication_publish
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from tasks import links
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Hit
from tasks.models import Worker as OurWorker
from tests import factories
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.platforms import Clock, arrive, drain, published_hit_of


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Each test begins with nobody turned away, and nothing asked for."""
    cache.clear()


def offer(publication: Publication) -> None:
    """What follows at once when work by a link is taken or ends."""
    platform_jobs.offer(publication.campaign_id)


def offered(publication: Publication, worker: Worker) -> list[int]:
    """The numbers of the HITs that the marketplace offers to a worker."""
    hits = worker.finds()
    numbers = publication.published_hits.filter(platform_hit_id__in=hits).values_list("hit__number", flat=True)
    return sorted(numbers)


# --- done here, closed there


def test_a_hit_that_is_done_by_a_link_is_offered_to_no_worker_of_the_marketplace(
    published: Publication, alice: OurWorker, wanda: Worker
) -> None:
    assert offered(published, wanda) == [1, 2, 3]
    done = factories.do(alice, published.campaign)
    assert done.leased_until > timezone.now()
    offer(published)
    assert offered(published, wanda) == [2, 3]


def test_a_hit_that_somebody_is_at_by_a_link_is_offered_again_once_they_leave(
    published: Publication, alice: OurWorker, wanda: Worker
) -> None:
    until = published_hit_of(published, 1).expires_at
    assert until is not None
    begun = factories.take(alice, published.campaign)
    offer(published)
    assert offered(published, wanda) == [2, 3]
    judgment_services.assignment_leave(assignment=begun, at=timezone.now())
    offer(published)
    assert offered(published, wanda) == [1, 2, 3]
    again = published_hit_of(published, 1).expires_at
    assert again is not None and abs(again - until) < timedelta(seconds=1)
    assert not published.alarms.filter(settled_at=None).exists()


def test_a_hit_whose_time_runs_out_here_is_offered_again(
    published: Publication, alice: OurWorker, wanda: Worker
) -> None:
    begun = factories.take(alice, published.campaign)
    offer(published)
    Assignment.objects.filter(pk=begun.pk).update(leased_until=timezone.now())
    platform_jobs.requeue()
    drain(published)
    assert offered(published, wanda) == [1, 2, 3]


def test_a_hit_whose_work_by_a_link_is_excluded_is_offered_again(
    published: Publication, alice: OurWorker, wanda: Worker, rita: User
) -> None:
    done = factories.do(alice, published.campaign)
    offer(published)
    quality.assignment_exclude(assignment=done, why="Too fast.", by=rita, at=timezone.now())
    offer(published)
    assert offered(published, wanda) == [1, 2, 3]


def test_what_a_person_ended_is_not_offered_again(published: Publication, alice: OurWorker, wanda: Worker) -> None:
    begun = factories.take(alice, published.campaign)
    offer(published)
    publication_expire(publication=published, at=timezone.now())
    drain(published)
    judgment_services.assignment_leave(assignment=begun, at=timezone.now())
    offer(published)
    assert offered(published, wanda) == []
    assert list(published.alarms.filter(settled_at=None).values_list("kind", flat=True)) == ["expired"]


def test_whoever_accepted_a_hit_before_it_was_done_elsewhere_may_submit_it(
    published: Publication, requester: Requester, wanda: Worker
) -> None:
    begun = arrive(published, wanda)
    Hit.objects.filter(number=1).update(needed=0)
    offer(published)
    assert requester.status(published_hit_of(published, 1).platform_hit_id) != "Assignable"
    factories.judge(begun)
    ended = judgment_services.assignment_finish(assignment=begun, at=timezone.now())
    assert wanda.submit(ended.platform_assignment_id, receipt=ended.receipt).status_code == 200


def test_the_pages_of_a_link_have_the_offer_brought_in_line_once_for_many_events(
    published: Publication,
    alice: OurWorker,
    wanda: Worker,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    monkeypatch.setattr(platform_jobs.offer, "delay", platform_jobs.offer)
    client, take = Client(), reverse("judging:take", args=[links.home_token(alice, published.campaign)])
    with django_capture_on_commit_callbacks(execute=True):
        place = client.post(take).headers["Location"]
    assert offered(published, wanda) == [2, 3]
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(f"{place}leave/").status_code == 303
    assert offered(published, wanda) == [1, 2, 3]

    calls: list[int] = []
    monkeypatch.setattr(platform_jobs.offer, "delay", calls.append)
    with django_capture_on_commit_callbacks(execute=True):
        for _event in range(3):
            platform_jobs.offer_soon(published.campaign_id)
    assert calls == [published.campaign_id]


# --- who comes too late is told at once


def test_who_comes_too_late_is_told_before_they_consent(
    published: Publication, alice: OurWorker, bob: OurWorker, wanda: Worker
) -> None:
    factories.do(alice, published.campaign)
    begun = factories.take(bob, published.campaign)
    client, address = Client(), f"/m/{published.campaign.link}/%d/?assignmentId=%s&workerId={wanda.id}"
    done = client.get(address % (1, wanda.accept(published_hit_of(published, 1).platform_hit_id))).content.decode()
    assert "Others have completed this task" in done and "version" not in done
    assert begun.hit.number == 2
    text = client.get(address % (2, wanda.accept(published_hit_of(published, 2).platform_hit_id))).content.decode()
    assert "Somebody else is working on this task" in text and "version" not in text
    assert not Assignment.objects.exclude(platform_assignment_id="").exists()


def test_most_tasks_returned_at_once_raise_an_alarm(
    published: Publication, alice: OurWorker, marketplace: Marketplace, client: Client
) -> None:
    factories.do(alice, published.campaign)
    crowd = [marketplace.worker(vouched_approved=20_000) for _worker in range(4)]
    arrive(published, crowd[0], 2)
    for number in range(3):
        assert not returns_check(publication=published, at=timezone.now())
        address = f"/m/{published.campaign.link}/1/?assignmentId=3A{number}&workerId={crowd[number + 1].id}"
        for _reload in range(2):
            assert client.get(address).status_code == 409
    assert returns_check(publication=published, at=timezone.now())
    alarm = published.alarms.get(settled_at=None)
    assert (alarm.kind, alarm.about) == ("leaves", "")
    assert alarm.text == "Workers returned 3 of the last 4 tasks that they accepted within a minute."

    cache.clear()
    assert not returns_check(publication=published, at=timezone.now())
    assert not published.alarms.filter(settled_at=None).exists()


# --- whatever happens


class ByLink:
    """People by a link and on a panel, who do what they please with the HITs of one campaign."""

    finishing, leaving = 0.5, 0.3  # how probable it is that they finish what they have begun, or else leave it

    def __init__(self, campaign: Campaign, seed: int) -> None:
        self.campaign, self.random = campaign, random.Random(seed)
        text = task_selectors.current_consent(campaign)
        assert text is not None
        self.version = text.version
        by_link = [task_services.worker_join(campaign=campaign, form=f"{number}") for number in range(2)]
        for worker in by_link:
            task_services.consent_give(worker=worker, text=text)
        self.people = [*by_link, factories.worker(campaign, "Alice"), factories.worker(campaign, "Bob")]

    def at_the_link(self, to_the_end: bool) -> bool:
        """Somebody takes a HIT, finishes it or leaves it."""
        for person in self.random.sample(self.people, len(self.people)):
            begun = task_selectors.current_assignment(person, self.campaign)
            try:
                begun = begun or factories.take(person, self.campaign)
            except task_services.NoWork:
                continue
            if to_the_end or self.random.random() < self.finishing:
                factories.judge(begun)
                judgment_services.assignment_finish(assignment=begun, at=timezone.now())
            elif self.random.random() < self.leaving:
                judgment_services.assignment_leave(assignment=begun, at=timezone.now())
            return True
        return False


class Streams(ByLink):
    """They, and workers at a marketplace."""

    def __init__(self, publication: Publication, requester: Requester, marketplace: Marketplace, seed: int) -> None:
        super().__init__(publication.campaign, seed)
        self.publication = publication
        hit = requester.client.get_hit(HITId=published_hit_of(publication, 1).platform_hit_id)
        self.group = hit["HIT"]["HITGroupId"]
        self.crowd = [marketplace.worker(vouched_approved=20_000) for _worker in range(3)]
        self.looks = marketplace.worker(vouched_approved=20_000)  # and takes nothing
        self.held: dict[str, tuple[Worker, Assignment]] = {}

    def step(self, *, to_the_end: bool = False) -> bool:
        """One person begins or ends something, and the jobs follow. Whether anybody could."""
        acts = [self.at_the_link, self.at_the_marketplace]
        self.random.shuffle(acts)
        moved = any(act(to_the_end) for act in acts)
        offer(self.publication)
        for number in offered(self.publication, self.looks):
            must_be_free(publication=self.publication, hit=self.campaign.hits.get(number=number), at=timezone.now())
        return moved

    def at_the_marketplace(self, to_the_end: bool) -> bool:
        """Somebody submits or returns what they hold, or accepts whichever HIT the button gives, and it can be done."""
        if self.held and (to_the_end or self.random.random() < 0.6):
            worker, begun = self.held.pop(self.random.choice(list(self.held)))
            if to_the_end or self.random.random() < 0.7:
                factories.judge(begun)
                ended = judgment_services.assignment_finish(assignment=begun, at=timezone.now())
                assert worker.submit(ended.platform_assignment_id, receipt=ended.receipt).status_code == 200
                publication_sync(publication=self.publication, at=timezone.now(), everything=True)
                quality.confirmed_check_all(at=timezone.now())
            else:
                worker.give_back(begun.platform_assignment_id)
                publication_sync(publication=self.publication, at=timezone.now(), everything=True)
            return True
        worker = self.random.choice(self.crowd)
        if not offered(self.publication, worker):
            return False
        assignment_id, hit_id = worker.accept_next(self.group)
        hit = self.publication.published_hits.get(platform_hit_id=hit_id).hit
        assert hit is not None
        begun = assignment_arrive(
            publication=self.publication, hit=hit, assignment_id=assignment_id, worker_id=worker.id, at=timezone.now()
        )
        self.held[assignment_id] = worker, begun
        return True


@pytest.mark.parametrize("seed", range(2))
def test_no_worker_gets_a_task_that_cannot_be_done_and_every_hit_is_done_once(
    many: Campaign, requester: Requester, marketplace: Marketplace, seed: int
) -> None:
    publication, clock = publication_write(campaign=many, pay="base-and-bonus", rate=1000), Clock()
    publication_publish(publication=publication, at=clock())
    drain(publication, clock)
    streams = Streams(publication, requester, marketplace, seed)
    for _step in range(8):
        streams.step()
    for _step in range(60):
        if not streams.step(to_the_end=True):
            break
    assert not many.hits.filter(needed__gt=0).exists()
    assert offered(publication, streams.looks) == []
    accepted = many.assignments.filter(verdict=Assignment.Verdict.ACCEPTED).values_list("hit__number", flat=True)
    assert sorted(accepted) == list(range(1, 7))
