"""One campaign's HITs by a link, on a panel and at Prolific together: a place there is offered only while whoever takes
it gets a HIT, and every HIT is done once.
"""

from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.test import Client as Browser

from judgments import quality
from judgments import services as judgment_services
from platforms import jobs
from platforms.models import Publication
from platforms.publishing.publications import publication_expire, publication_publish
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Ending
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from tasks.models import Assignment, Hit, Worker
from tests import factories
from tests.platforms.platforms import Clock, drain
from tests.platforms.prolific.test_work import begin, finish, visit
from tests.platforms.test_one_stream import ByLink
from tests.simulation.prolific import Double, Place


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Each test begins with nothing asked for."""
    cache.clear()


def status(published: Publication, prolific: Double) -> str:
    """The study's, at Prolific, once the offer has followed."""
    jobs.offer(published.campaign_id)
    return str(prolific.rows("study")[0]["status"])


def back(published: Publication, ending: Ending) -> str:
    way_back = adapter_of(published).exit_of(published, ending)
    assert way_back is not None
    return way_back.code


def test_a_study_rests_while_every_hit_left_is_with_somebody_and_goes_on_when_one_is_free(
    published: Publication, prolific: Double, alice: Worker, bob: Worker
) -> None:
    factories.do(alice, published.campaign)
    works = [factories.take(alice, published.campaign), factories.take(bob, published.campaign)]
    assert status(published, prolific) == "PAUSED"
    jobs.requeue()
    assert prolific.rows("study")[0]["status"] == "PAUSED" and not published.alarms.filter(settled_at=None).exists()
    judgment_services.assignment_leave(assignment=works[0], at=Clock()())
    assert status(published, prolific) == "ACTIVE"
    _place, begun = begin(published, prolific)
    assert begun.hit_id == works[0].hit_id
    assert status(published, prolific) == "PAUSED"
    jobs.requeue()
    assert not published.alarms.filter(settled_at=None).exists()


def test_a_study_that_rests_is_stopped_when_the_last_hit_is_done_by_a_link(
    published: Publication, prolific: Double, alice: Worker
) -> None:
    for _hit in range(2):
        factories.do(alice, published.campaign)
    last = factories.take(alice, published.campaign)
    assert status(published, prolific) == "PAUSED"
    factories.judge(last)
    judgment_services.assignment_finish(assignment=last, at=Clock()())
    for _again in range(2):
        jobs.offer(published.campaign_id)
    assert prolific.rows("study")[0]["status"] == "COMPLETED"
    assert len(prolific.requests("transition/")) == 3  # published, paused, stopped


def test_a_study_that_a_person_ended_while_it_rested_stays_so(
    published: Publication, prolific: Double, alice: Worker
) -> None:
    for _hit in range(2):
        factories.do(alice, published.campaign)
    last = factories.take(alice, published.campaign)
    jobs.offer(published.campaign_id)
    publication_expire(publication=published, at=Clock()())
    judgment_services.assignment_leave(assignment=last, at=Clock()())
    assert status(published, prolific) == "PAUSED"
    assert list(published.alarms.filter(settled_at=None).values_list("kind", flat=True)) == ["expired"]


def test_the_last_hits_are_left_for_those_who_took_a_place_and_read_the_consent(
    published: Publication, prolific: Double, alice: Worker
) -> None:
    for _hit in range(2):
        factories.do(alice, published.campaign)
    place = prolific.take(published.hit_type_id, prolific.participant("Reads"))
    publication_sync(publication=published, at=Clock()())
    assert status(published, prolific) == "PAUSED"
    assert visit(place).startswith("/j/")
    assert status(published, prolific) == "PAUSED"
    prolific.give_back(place.submission)
    publication_sync(publication=published, at=Clock()())
    assert status(published, prolific) == "ACTIVE"


def test_who_holds_a_place_and_finds_nothing_is_told_before_they_consent_and_gets_the_next_hit_that_is_free(
    published: Publication, prolific: Double, alice: Worker
) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Late"))
    works = [factories.take(alice, published.campaign)]
    works += [factories.take(factories.worker(published.campaign, f"{n}"), published.campaign) for n in range(2)]
    parts = urlsplit(place.url)
    page = Browser().get(f"{parts.path}?{parts.query}")
    text = page.content.decode()
    assert page.status_code == 409 and "Other people are working on every task" in text
    assert f"cc={back(published, Ending.NOTHING)}" in text and "version" not in text
    judgment_services.assignment_leave(assignment=works[1], at=Clock()())
    assert Browser().get(f"{parts.path}?{parts.query}").status_code == 200
    assert visit(place).startswith("/j/")
    assert Assignment.objects.get(platform_assignment_id=place.submission).hit_id == works[1].hit_id


# --- whatever happens


class Streams(ByLink):
    """People by a link and on a panel, and at Prolific."""

    finishing, leaving = 0.2, 0.2

    def __init__(self, published: Publication, prolific: Double, seed: int) -> None:
        super().__init__(published.campaign, seed)
        self.published, self.prolific = published, prolific
        self.looks = prolific.participant("Looks")  # and takes nothing
        self.held: list[Assignment] = []
        self.reading: list[Place] = []  # they took a place, and have not agreed yet

    def step(self, *, to_the_end: bool = False) -> bool:
        """One person begins or ends something, and the jobs follow. Whether anybody could."""
        acts = [self.at_the_link, self.at_prolific]
        self.random.shuffle(acts)
        moved = any(act(to_the_end) for act in acts)
        publication_sync(publication=self.published, at=Clock()())
        quality.confirmed_check_all(at=Clock()())
        publication_settle(publication=self.published, at=Clock()())
        jobs.offer(self.campaign.pk)
        return moved

    def at_prolific(self, to_the_end: bool) -> bool:
        """Somebody finishes or returns what they hold, agrees, or takes a place where the study offers one."""
        if self.held and (to_the_end or self.random.random() < 0.5):
            begun = self.held.pop(self.random.randrange(len(self.held)))
            if to_the_end or self.random.random() < 0.7:
                finish(self.published, self.prolific, begun)
            else:
                self.prolific.give_back(begun.platform_assignment_id)
            return True
        if self.reading and (to_the_end or self.random.random() < 0.5):
            self.agree(self.reading.pop(), may_be_late=True)
            return True
        if self.published.hit_type_id not in self.prolific.open_studies(self.looks):
            return False
        place = self.prolific.take(self.published.hit_type_id, self.prolific.participant("Pat"))
        if not to_the_end and self.random.random() < 0.3:
            self.reading.append(place)
        else:
            self.agree(place, may_be_late=False)
        return True

    def agree(self, place: Place, *, may_be_late: bool) -> None:
        """They get a HIT; only who took their time may have to return the place, for which they are asked."""
        address = visit(place, self.version)
        if may_be_late and not address.startswith("/j/"):
            code = back(self.published, Ending.NOTHING)
            assert f"cc={code}" in address
            self.prolific.complete(place.submission, code)
            self.prolific.give_back(place.submission)
            return
        assert address.startswith("/j/"), address
        self.held.append(Assignment.objects.get(platform_assignment_id=place.submission))


@pytest.mark.parametrize("seed", [2, 4])
def test_nobody_who_takes_a_place_finds_nothing_and_every_hit_is_done_once(
    many: Campaign, account: object, prolific: Double, seed: int
) -> None:
    published, clock = publication_write(campaign=many, platform="prolific", rate=1000), Clock()
    publication_publish(publication=published, at=clock(), typed_name=many.name)
    drain(published, clock)
    streams = Streams(published, prolific, seed)
    for _step in range(14):
        streams.step()
    for _step in range(60):
        if not streams.step(to_the_end=True):
            break
    assert not Hit.objects.filter(campaign=many, needed__gt=0).exists()
    accepted = many.assignments.filter(verdict=Assignment.Verdict.ACCEPTED).values_list("hit__number", flat=True)
    assert sorted(accepted) == list(range(1, 7))
    assert published.hit_type_id not in prolific.open_studies(streams.looks)
    assert not published.alarms.filter(settled_at=None).exists()
    assert (
        len(prolific.ledger("reward"))
        == many.assignments.exclude(platform_assignment_id="").filter(verdict=Assignment.Verdict.ACCEPTED).count()
    )
