"""Ids typed at a campaign's entry link: what somebody can do who knows another worker's id, and what they cannot."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from judgments.models import Acceptance, Decision
from platforms.models import Publication
from platforms.reviewing.compensations import compensations_find
from platforms.syncing import finished_end
from tasks.models import Assignment, Consent, Hit
from tasks.models import Worker as OurWorker
from tests import factories
from tests.marketplace.server import Requester, Worker
from tests.platforms.platforms import published_hit_of, settle

VICTIMS_ADDRESS, ATTACKERS_ADDRESS = "192.0.2.7", "198.51.100.9"


class Frame:
    """A worker's frame in a browser: agrees, judges and finishes through the pages alone."""

    def __init__(self, publication: Publication, worker_id: str, assignment_id: str, address: str) -> None:
        self.client = Client(REMOTE_ADDR=address)
        self.entry = f"/m/{publication.campaign.link}/%d/?assignmentId={assignment_id}&workerId={worker_id}"
        self.place = ""

    def begin(self, number: int = 1, *, status: int = 303) -> "Frame":
        """Agree on the first page."""
        page = LexborHTMLParser(self.client.get(self.entry % number).content.decode())
        version = page.css_first("input[name=version]")
        fields = {"version": version.attributes["value"]} if version else {}
        answer = self.client.post(self.entry % number, fields)
        assert answer.status_code == status, answer.content
        self.place = answer.headers.get("Location", "")
        return self

    @property
    def assignment(self) -> Assignment:
        from tasks import links

        return links.assignment_of(self.place.removeprefix("/j/").rstrip("/"))

    def judge(self, *, careless: bool = False) -> "Frame":
        """Answer everything and send it."""
        factories.judge(self.assignment, fail_tests=careless)
        assert self.client.post(f"{self.place}finish/").status_code == 303
        return self

    def leave(self) -> "Frame":
        self.client.post(f"{self.place}leave/")
        return self

    def hand_in_form(self) -> dict[str, str]:
        """What the last page would send to the platform."""
        page = LexborHTMLParser(self.client.get(f"{self.place}done/").content.decode())
        return {field.attributes["name"] or "": field.attributes["value"] or "" for field in page.css("#submit input")}


@pytest.fixture(autouse=True)
def no_limits_left_over() -> None:
    """Each test begins with an empty count of requests."""
    cache.clear()


def test_who_types_another_workers_id_gets_a_task_of_their_own_and_the_worker_is_paid(
    published: Publication, requester: Requester, wanda: Worker
) -> None:
    real = wanda.accept(published_hit_of(published, 1).platform_hit_id)
    victim = Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin()

    attacker = Frame(published, wanda.id, "FAKE1", ATTACKERS_ADDRESS).begin()
    assert attacker.place != victim.place
    assert attacker.assignment != victim.assignment
    attacker.judge(careless=True)

    assert victim.assignment.platform_assignment_id == real
    assert victim.assignment.judgments.count() == 0
    assert victim.client.get(f"{victim.place}1/").status_code == 200
    victim.judge()
    form = victim.hand_in_form()
    assert form["assignmentId"] == real
    assert wanda.submit(form.pop("assignmentId"), **form).status_code == 200
    settle(published, requeue=True)

    submission = published.submissions.get()
    assert (submission.assignment, submission.decision) == (victim.assignment, "approve")
    assert victim.assignment.verdict == Assignment.Verdict.ACCEPTED
    assert {row.assignment for row in Acceptance.objects.all()} == {victim.assignment}
    assert not Decision.objects.exists()
    assert not OurWorker.objects.filter(barred_at__isnull=False).exists()
    assert Hit.objects.get(number=1).needed == 0
    assert wanda.look()["earnings"]["owed"] == "2.00"


def test_the_forged_task_ends_quietly_once_the_platform_has_confirmed_the_real_one(
    published: Publication, wanda: Worker
) -> None:
    forged = Frame(published, wanda.id, "FAKE1", ATTACKERS_ADDRESS).begin().judge(careless=True)
    forged_active = Frame(published, wanda.id, "FAKE2", ATTACKERS_ADDRESS).begin()
    real = wanda.accept(published_hit_of(published, 1).platform_hit_id)
    form = Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin().judge().hand_in_form()
    wanda.submit(form.pop("assignmentId"), **form)
    settle(published, requeue=True)

    assert forged_active.assignment.leased_until <= timezone.now()
    later = timezone.now() + timedelta(days=2)
    published.published_hits.update(next_poll_at=None)
    assert compensations_find(publication=published, at=later) == 0
    assert forged.assignment.verdict == Assignment.Verdict.PENDING
    assert not published.alarms.filter(settled_at=None).exists()
    assert published.payments.exclude(submission__assignment__platform_assignment_id=real).count() == 0


def test_a_real_assignment_id_typed_at_another_hit_stops_nobody(published: Publication, wanda: Worker) -> None:
    real = wanda.accept(published_hit_of(published, 2).platform_hit_id)
    Frame(published, wanda.id, real, ATTACKERS_ADDRESS).begin(1)
    assert Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(2).assignment.hit.number == 2


def test_the_exact_ids_lead_back_to_the_same_task(published: Publication, wanda: Worker) -> None:
    real = wanda.accept(published_hit_of(published, 1).platform_hit_id)
    frame = Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin()
    factories.judge(frame.assignment, only=[1, 2])
    again = frame.client.get(frame.entry % 1)
    assert again.status_code == 303
    frame.place = again.headers["Location"]
    assert frame.assignment.judgments.count() == 2
    assert Assignment.objects.count() == Consent.objects.count() == 1


def test_a_flood_of_forged_tasks_keeps_the_worker_from_nothing(published: Publication, wanda: Worker) -> None:
    published.campaign.hits_per_worker = 2
    published.campaign.save(update_fields=["hits_per_worker"])
    for number in (1, 2, 3):
        for forged in range(8):
            frame = Frame(published, wanda.id, f"FAKE{number}{forged}", f"{ATTACKERS_ADDRESS}")
            first = frame.client.get(frame.entry % number)
            version = LexborHTMLParser(first.content.decode()).css_first("input[name=version]")
            answer = frame.client.post(
                frame.entry % number, {"version": version.attributes["value"] or ""} if version else {}
            )
            if answer.status_code == 303:
                frame.place = answer.headers["Location"]
                frame.leave() if forged % 2 else None
    running = Assignment.objects.filter(hit__number=1, state="active", leased_until__gt=timezone.now())
    assert running.count() <= 3

    for number in (1, 2):
        real = wanda.accept(published_hit_of(published, number).platform_hit_id)
        form = Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(number).judge().hand_in_form()
        assert wanda.submit(form.pop("assignmentId"), **form).status_code == 200
    settle(published, requeue=True)
    assert published.submissions.filter(decision="approve").count() == 2
    assert Hit.objects.filter(number__in=(1, 2), needed=0).count() == 2
    assert not published.operations.filter(kind__in=["exclude", "extend"]).exists()

    assert finished_end(publication=published, at=timezone.now() + timedelta(hours=2)) == 0


def test_arrivals_from_one_address_are_limited_in_words(published: Publication, wanda: Worker, limits: None) -> None:
    client = Client(REMOTE_ADDR=ATTACKERS_ADDRESS)
    address = f"/m/{published.campaign.link}/1/?assignmentId=FAKE&workerId={wanda.id}"
    for _try in range(119):  # at an address that costs the site less to answer
        assert client.post("/m/nothing/1/").status_code == 404
    assert client.post(address).status_code == 200
    answer = client.post(address)
    assert answer.status_code == 429
    assert "wait a minute" in answer.content.decode()
    assert Client(REMOTE_ADDR=VICTIMS_ADDRESS).post(address).status_code == 200


# --- leaving again and again


def test_who_leaves_again_and_again_gets_no_more_and_somebody_is_told(published: Publication, wanda: Worker) -> None:
    published.campaign.leaves_per_worker = 2
    published.campaign.save(update_fields=["leaves_per_worker"])
    for number in (1, 2):
        real = wanda.accept(published_hit_of(published, number).platform_hit_id)
        Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(number).leave()
        wanda.give_back(real)
    real = wanda.accept(published_hit_of(published, 3).platform_hit_id)
    refused = Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(3, status=409)

    assert not refused.place
    assert Assignment.objects.count() == 2
    alarm = published.alarms.get(kind="leaves", settled_at=None)
    assert "2 tasks" in alarm.text
    settle(published, requeue=True)
    assert not published.payments.exists()
    assert not published.operations.filter(kind="extend").exists()


def test_who_looks_and_goes_without_a_word_is_counted_too(published: Publication, wanda: Worker) -> None:
    published.campaign.leaves_per_worker = 2
    published.campaign.save(update_fields=["leaves_per_worker"])
    for number in (1, 2):
        real = wanda.accept(published_hit_of(published, number).platform_hit_id)
        Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(number)
        wanda.give_back(real)
    real = wanda.accept(published_hit_of(published, 3).platform_hit_id)
    Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(3, status=409)
    assert published.alarms.filter(kind="leaves", settled_at=None).count() == 1


def test_who_finishes_more_than_they_leave_may_go_on(published: Publication, wanda: Worker) -> None:
    published.campaign.leaves_per_worker = 1
    published.campaign.save(update_fields=["leaves_per_worker"])
    real = wanda.accept(published_hit_of(published, 1).platform_hit_id)
    form = Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(1).judge().hand_in_form()
    wanda.submit(form.pop("assignmentId"), **form)
    settle(published, requeue=True)
    real = wanda.accept(published_hit_of(published, 2).platform_hit_id)
    Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(2).leave()
    wanda.give_back(real)
    real = wanda.accept(published_hit_of(published, 3).platform_hit_id)
    Frame(published, wanda.id, real, VICTIMS_ADDRESS).begin(3)


def test_who_accepts_the_same_hit_again_begins_it_anew(published: Publication, wanda: Worker) -> None:
    first = wanda.accept(published_hit_of(published, 1).platform_hit_id)
    frame = Frame(published, wanda.id, first, VICTIMS_ADDRESS).begin()
    factories.judge(frame.assignment, only=[1])
    wanda.give_back(first)
    second = wanda.accept(published_hit_of(published, 1).platform_hit_id)
    form = Frame(published, wanda.id, f"{second}", VICTIMS_ADDRESS).begin().judge().hand_in_form()
    assert wanda.submit(form.pop("assignmentId"), **form).status_code == 200
    settle(published, requeue=True)
    assert published.submissions.get().decision == "approve"


def test_the_address_itself_is_not_kept(published: Publication, wanda: Worker) -> None:
    assignment = Frame(published, wanda.id, "FAKE1", VICTIMS_ADDRESS).begin().assignment
    assert len(assignment.came_from) == 16
    assert VICTIMS_ADDRESS not in assignment.came_from
