"""People from somebody else's panel: they come with ids, do one HIT in a session, and leave with a code."""

import csv
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow
from core.models import User
from judgments.services import assignment_finish, assignment_leave
from pools.models import Campaign
from protection import erasing
from tasks import outside_panels
from tasks.models import Assignment, OutsidePanel, PanelVisit, Worker
from tests import factories

SESSIONS = 14_189
SETTINGS = {
    "name": "Connect",
    "person_parameter": "participantId",
    "session_parameter": "assignmentId",
    "finished_exit": "DONE71",
    "failed_exit": "FAIL44",
    "no_consent_exit": "NO30",
    "nothing_left_exit": "https://panel.example.org/back?code=NONE",
}


@pytest.fixture
def panel(campaign: Campaign) -> OutsidePanel:
    return outside_panels.outside_panel_set(campaign=campaign, **SETTINGS)


def arrive(campaign: Campaign, person: str, session: str, browser: Client | None = None) -> Any:
    """Open the link, read, and agree: the page after that."""
    browser = browser or Client()
    ids = urlencode({"participantId": person, "assignmentId": session})
    offer = browser.get(f"/c/{campaign.link}/?{ids}")
    if offer.status_code == 303:
        return offer
    consent = browser.get(offer.context["start_url"])
    return browser.post(consent.context["post_url"], {"version": consent.context["consent"]["version"]})


def work_of(session: str) -> Assignment:
    return Assignment.objects.get(visit__session=session)


def sessions(browser: Client, campaign: Campaign) -> dict[str, dict[str, str]]:
    """The lines of the file, by session."""
    address = reverse("tasks:outside_panel", args=[campaign.pk])
    file = browser.get(address + browser.get(address).context["listing"].file)
    lines = csv.DictReader(b"".join(file.streaming_content).decode().splitlines())
    return {line["session"]: line for line in lines}


def test_each_session_gets_one_hit_and_leaves_with_the_code_of_how_it_ended(
    campaign: Campaign, panel: OutsidePanel, client: Client, rita: User
) -> None:
    first = arrive(campaign, "p1", "s1")
    assert first["Location"].startswith("/j/")
    assert arrive(campaign, "p1", "s1")["Location"].startswith("/j/")  # the same session resumes
    work = work_of("s1")
    assert arrive(campaign, "p1", "s2").status_code == 303  # with a HIT under way, a new session takes it over
    assert (work_of("s2"), PanelVisit.objects.get(session="s1").assignment) == (work, None)
    factories.judge(work)
    assignment_finish(assignment=work, at=timezone.now())
    done = Client().get(arrive(campaign, "p1", "s2")["Location"], follow=True)
    assert "DONE71" in done.content.decode() and "FAIL44" not in done.content.decode()

    arrive(campaign, "p2", "s3")
    wrong = work_of("s3")
    factories.judge(wrong, fail_tests=True)
    assignment_finish(assignment=wrong, at=timezone.now())
    failed = Client().get(arrive(campaign, "p2", "s3")["Location"], follow=True)
    assert "FAIL44" in failed.content.decode()

    arrive(campaign, "p3", "s4")
    early = work_of("s4")
    factories.judge(early, only=[1, 2])
    assignment_leave(assignment=early, at=timezone.now())
    left = Client().get(arrive(campaign, "p3", "s4")["Location"], follow=True)
    assert "Please return the task at Connect." in left.content.decode()

    campaign.hits.update(needed=0)
    browser = Client()
    none = browser.get(arrive(campaign, "p4", "s5", browser)["Location"])
    assert SETTINGS["nothing_left_exit"] in none.content.decode()

    client.force_login(rita)
    counts = {
        session: (line["person"], line["outcome"], line["exit"]) for session, line in sessions(client, campaign).items()
    }
    assert counts == {
        "s1": ("p1", "taken over", ""), "s2": ("p1", "finished", "DONE71"),
        "s3": ("p2", "failed", "FAIL44"), "s4": ("p3", "left", ""),
        "s5": ("p4", "nothing left", SETTINGS["nothing_left_exit"]),
    }  # fmt: skip
    owed = {session: Decimal(line["owed"]) for session, line in sessions(client, campaign).items()}
    early.refresh_from_db()
    assert owed["s2"] == owed["s3"] == campaign.reward
    assert 0 < owed["s4"] == early.owed < campaign.reward


def test_without_ids_nobody_comes_in_and_without_consent_nothing_is_stored(
    campaign: Campaign, panel: OutsidePanel, client: Client
) -> None:
    queries = (
        "",
        "?participantId=p1",
        "?participantId=&assignmentId=s",
        f"?participantId={'x' * 43}&assignmentId=s",
        "?participantId={{participantId}}&assignmentId=s",
    )
    for query in queries:
        for page in ("", "consent/"):
            refused = client.get(f"/c/{campaign.link}/{page}{query}")
            assert refused.status_code == 404 and "Connect" in refused.content.decode(), query
    consent = client.get(f"/c/{campaign.link}/consent/?participantId=p1&assignmentId=s1")
    declined = client.get(consent.context["decline_url"])
    assert "NO30" in declined.content.decode()
    assert not Worker.objects.exists() and not PanelVisit.objects.exists()


def test_the_page_checks_what_is_entered_and_keeps_the_name_once_somebody_has_come(
    campaign: Campaign, client: Client, rita: User
) -> None:
    client.force_login(rita)
    address = reverse("tasks:outside_panel", args=[campaign.pk])
    for wrong in (
        {"name": ""}, {"name": "a: b"}, {"person_parameter": "a b"}, {"session_parameter": "participantId"},
        {"finished_exit": ""}, {"failed_exit": "http://panel.example.org/"}, {"failed_exit": "two words"},
    ):  # fmt: skip
        assert client.post(address, SETTINGS | wrong).status_code == 400, wrong
    assert not OutsidePanel.objects.exists()
    assert client.post(address, SETTINGS).status_code == 303
    text = client.get(address).content.decode()
    assert "?participantId={person}&amp;assignmentId={session}" in text
    arrive(campaign, "p1", "s1")
    assert client.post(address, SETTINGS | {"finished_exit": "OTHER"}).status_code == 303
    assert client.post(address, SETTINGS | {"name": "Another"}).status_code == 400
    with pytest.raises(NotNow):
        outside_panels.outside_panel_delete(campaign=campaign)
    assert OutsidePanel.objects.get().finished_exit == "OTHER"


def test_a_person_is_found_by_their_id_and_erased_with_their_sessions(campaign: Campaign, panel: OutsidePanel) -> None:
    arrive(campaign, "p1", "s1")
    work = work_of("s1")
    factories.judge(work)
    assignment_finish(assignment=work, at=timezone.now())
    [worker] = erasing.workers_called(type(campaign.lab).objects.all(), "p1")
    assert erasing.personal_data(worker)["panel_sessions"][0]["session"] == "s1"
    erasing.worker_erase(worker=worker, at=timezone.now(), why="asked", write_off=True)
    visit = PanelVisit.objects.select_related("worker").get()
    assert visit.session.startswith("erased-") and visit.worker.external_id == ""
    assert erasing.worker_erase(worker=worker, at=timezone.now(), why="again").is_done


def test_the_sessions_of_the_largest_campaign_are_paged_and_read_as_a_file_in_bounded_time(
    campaign: Campaign,
    panel: OutsidePanel,
    client: Client,
    rita: User,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    """As many as the HITs of the paper's largest design."""
    at, hit = timezone.now(), campaign.hits.order_by("pk").first()
    assert hit is not None
    people = Worker.objects.bulk_create(
        [
            Worker(lab=campaign.lab, platform="panel", external_id=f"Connect: p{number:05}")
            for number in range(SESSIONS)
        ],
        batch_size=2000,
    )
    states = ("submitted", "left", "active")
    work = Assignment.objects.bulk_create(
        [
            Assignment(
                campaign=campaign,
                hit=hit,
                worker=person,
                state=states[number % 3],
                finished_at=None if number % 3 == 2 else at,
                taken_at=at,
                leased_until=at,
                owed=Decimal("0.10"),
            )
            for number, person in enumerate(people)
        ],
        batch_size=2000,
    )
    PanelVisit.objects.bulk_create(
        [
            PanelVisit(panel=panel, worker=person, session=f"s{number:05}", came_at=at, assignment=work[number])
            for number, person in enumerate(people)
        ],
        batch_size=2000,
    )
    factories.analyze()
    client.force_login(rita)
    address = reverse("tasks:outside_panel", args=[campaign.pk])
    began = time.process_time()
    with django_assert_max_num_queries(45):
        first = client.get(address)
        last = client.get(f"{address}?sessions=999999")
        match = client.get(f"{address}?sessions-person=p00077")
    pages = time.process_time() - began
    lengths = [len(page.context["visits"]) for page in (first, last, match)]
    assert 0 < lengths[0] <= 200 and 0 < lengths[1] <= 200 and lengths[2] == 1
    assert len(first.content) < 200_000
    began = time.process_time()
    lines = sessions(client, campaign)
    file = time.process_time() - began
    print(f"{SESSIONS:,} sessions: three pages in {pages:.2f} s of CPU, the file in {file:.2f} s")
    assert len(lines) == SESSIONS
    assert Counter(line["outcome"] for line in lines.values()) == {
        outcome: len(range(number, SESSIONS, 3)) for number, outcome in enumerate(("finished", "left", "at work"))
    }
    assert (lines["s00001"]["outcome"], lines["s00001"]["owed"]) == ("left", "0.10")
    assert pages < 3 and file < 20
