"""Work that begins in a platform's frame: preview, consent, the same pages, and handing in."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from judgments import services as judgment_services
from platforms.models import Publication, PublishedHit
from pools.models import Campaign
from tasks.models import Assignment, Consent, Hit, Worker
from tests import factories

PLATFORM = "https://market.example.org"
IDS = "assignmentId=3ABC&hitId=3HIT&workerId=A1WORKER&turkSubmitTo=https://elsewhere.example.com"


@pytest.fixture
def publication(campaign: Campaign, settings: object) -> Publication:
    """The campaign at our marketplace, with every HIT posted."""
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = PLATFORM  # type: ignore[attr-defined]
    stored = Publication.objects.create(
        campaign=campaign, state=Publication.State.OPEN, title="Compare", description="Compare passages"
    )
    for hit in Hit.objects.filter(campaign=campaign):
        PublishedHit.objects.create(
            publication=stored,
            hit=hit,
            max_assignments=1,
            platform_hit_id=f"3HIT{hit.number}",
            posted_at=timezone.now(),
            expires_at=timezone.now() + timedelta(days=1),
        )
    return stored


def address(publication: Publication, number: int = 1, query: str = IDS) -> str:
    return f"/m/{publication.campaign.link}/{number}/?{query}"


def agree(publication: Publication, number: int = 1, query: str = IDS) -> Assignment:
    """Consent in the frame, as the page's own form does."""
    client = Client()
    html = LexborHTMLParser(client.get(address(publication, number, query)).content.decode())
    fields = {field.attributes["name"]: field.attributes["value"] for field in html.css("main form input[type=hidden]")}
    answer = client.post(html.css_first("main form").attributes["action"], fields)
    assert answer.status_code == 303, answer.content
    return Assignment.objects.get(platform_assignment_id="3ABC", worker__external_id="A1WORKER")


@pytest.mark.parametrize("query", ["", "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3HIT"])
def test_a_preview_stores_nothing_and_says_to_accept(publication: Publication, query: str) -> None:
    page = Client().get(address(publication, query=query))
    assert page.status_code == 200
    assert "Accept the task to begin" in page.content.decode()
    assert not Worker.objects.exists()
    assert not Assignment.objects.exists()


def test_opening_an_accepted_task_stores_nothing_before_consent(publication: Publication) -> None:
    assert "What you agree to" in Client().get(address(publication)).content.decode()
    assert not Worker.objects.exists()


def test_agreeing_makes_the_assignment_of_that_hit_once(publication: Publication) -> None:
    first = agree(publication)
    again = Client().get(address(publication))
    assert again.status_code == 303
    assert Assignment.objects.count() == Worker.objects.count() == Consent.objects.count() == 1
    assert first.hit.number == 1
    assert again.headers["Location"].startswith("/j/")


def test_only_the_platform_may_frame_the_pages_and_take_their_form(publication: Publication) -> None:
    assignment = agree(publication)
    location = Client().get(address(publication)).headers["Location"]
    for path in (address(publication), address(publication, query=""), location, f"{location}1/", f"{location}leave/"):
        answer = Client().get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert f"frame-ancestors {PLATFORM}" in policy, path
        assert f"form-action 'self' {PLATFORM}" in policy, path
        assert "X-Frame-Options" not in answer.headers, path
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert f"frame-ancestors {PLATFORM}" in Client().get(f"{location}done/").headers["Content-Security-Policy"]


def test_pages_of_workers_with_a_link_stay_out_of_every_frame(publication: Publication, campaign: Campaign) -> None:
    policy = Client().get(f"/c/{campaign.link}/").headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy


def test_the_receipt_hands_the_work_in_where_the_settings_say(publication: Publication) -> None:
    assignment = agree(publication)
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    location = Client().get(address(publication)).headers["Location"]
    for _reload in range(2):  # it is shown again on reload: the platform takes it once
        page = LexborHTMLParser(Client().get(f"{location}done/").content.decode())
        form = page.css_first("form#submit")
        assert form.attributes["action"] == f"{PLATFORM}/mturk/externalSubmit"
        fields = {field.attributes["name"]: field.attributes["value"] for field in form.css("input")}
        assignment.refresh_from_db()
        assert fields == {"assignmentId": "3ABC", "receipt": assignment.receipt, "judged": "5"}
        assert "at the latest 7 days after you submit it" in page.text()


def test_a_refusal_is_said_inside_the_frame(publication: Publication) -> None:
    Worker.objects.create(
        lab=publication.campaign.lab, platform="marketplace", external_id="A1WORKER", barred_at=timezone.now()
    )
    client = Client()
    html = LexborHTMLParser(client.get(address(publication)).content.decode())
    fields = {field.attributes["name"]: field.attributes["value"] for field in html.css("main form input[type=hidden]")}
    answer = client.post(address(publication), fields)
    assert answer.status_code == 409
    assert "no more tasks for you" in answer.content.decode()
    assert f"frame-ancestors {PLATFORM}" in answer.headers["Content-Security-Policy"]
    assert not Assignment.objects.exists()


def test_a_worker_of_the_platform_takes_no_tasks_by_the_link(publication: Publication) -> None:
    from tasks import links

    worker = agree(publication).worker
    token = links.home_token(worker, publication.campaign)
    answer = Client().post(f"/w/{token}/next/")
    assert answer.status_code == 409
    assert Assignment.objects.count() == 1


def test_the_same_assignment_id_with_another_worker_is_other_work(publication: Publication) -> None:
    first = agree(publication)
    judgment_services.assignment_leave(assignment=first, at=timezone.now())
    client = Client()
    query = IDS.replace("A1WORKER", "A2OTHER")
    html = LexborHTMLParser(client.get(address(publication, query=query)).content.decode())
    fields = {field.attributes["name"]: field.attributes["value"] for field in html.css("main form input[type=hidden]")}
    assert client.post(address(publication, query=query), fields).status_code == 303
    second = Assignment.objects.get(worker__external_id="A2OTHER")
    assert second.platform_assignment_id == first.platform_assignment_id
    assert second.judgments.count() == 0


def test_who_leaves_is_asked_to_return_the_task_where_a_compensation_pays(publication: Publication) -> None:
    Publication.objects.update(pay=Publication.Pay.RETURN_AND_COMPENSATE)
    assignment = agree(publication)
    factories.judge(assignment, only=[1, 2])
    judgment_services.assignment_leave(assignment=assignment, at=timezone.now())
    location = Client().get(address(publication)).headers["Location"]
    page = LexborHTMLParser(Client().get(f"{location}done/").content.decode())
    assert page.body is not None
    assert page.css_first("form#submit") is None
    assert "Please return this task now" in page.body.text()
