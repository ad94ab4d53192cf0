"""Workers' addresses end some time, and whoever opens an old one is told how to go on."""

from datetime import timedelta
from time import time
from unittest.mock import patch

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from judgments import services as judgment_services
from pools.models import Campaign
from tasks import links
from tasks.models import Assignment, Worker
from tests import factories
from tests.judgments.pages.test_frame_entry import PLATFORM, agree, publication  # noqa: F401
from tests.rows import fresh


def made(days: float, make: object, *arguments: object) -> str:
    """A token as it was made so many days ago."""
    with patch("django.core.signing.time.time", return_value=time() - days * 86_400):
        return make(*arguments)  # type: ignore[operator, no-any-return]


def test_an_assignments_pages_last_for_its_lease_and_a_month(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    young = made(29.9, links.assignment_token, assignment)
    old = made(30.1, links.assignment_token, assignment)

    assert Client().get(f"/j/{young}/1/").status_code == 200
    for method, path in (("get", ""), ("get", "1/"), ("post", "1/"), ("post", "finish/"), ("post", "leave/")):
        answer = getattr(Client(), method)(f"/j/{old}/{path}")
        assert answer.status_code == 410, path
        assert "This link has expired" in answer.content.decode()
        assert f"/c/{campaign.link}/" in answer.content.decode()
    save = Client().post(f"/j/{old}/1/save/", {"preferred": "left", "shown": "x"}, content_type="application/json")
    assert (save.status_code, "expired" in save.json()["error"]) == (410, True)
    assert fresh(assignment).state == Assignment.State.ACTIVE


def test_a_long_lease_lengthens_the_life_of_its_pages(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign, at=timezone.now() - timedelta(days=40))
    Assignment.objects.update(leased_until=timezone.now() - timedelta(days=10))
    assert Client().get(f"/j/{made(45, links.assignment_token, assignment)}/1/").status_code == 200


def test_the_own_page_leads_on_with_a_fresh_address(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    page = Client().get(f"/w/{made(300, links.home_token, alice, campaign)}/").content.decode()
    token = page.partition('href="/j/')[2].partition("/")[0]
    assert links.assignment_of(token) == assignment
    assert links.home_of(page.partition("/w/")[2].partition("/")[0]).worker == alice  # what they are told to bookmark


def test_a_personal_address_ends_after_a_year(campaign: Campaign, alice: Worker) -> None:
    old = made(366, links.home_token, alice, campaign)
    for path in ("", "consent/"):
        answer = Client().get(f"/w/{old}/{path}")
        assert answer.status_code == 410
        assert "Ask the person who sent it for a new one" in answer.content.decode()
    client = Client()
    client.cookies[f"home-{campaign.lab_id}-{settings.COOKIE_MARK}"] = old
    assert client.get(f"/c/{campaign.link}/").status_code == 200  # a stranger again, not an error


def test_an_old_page_in_a_frame_says_to_open_the_task_again(publication: object) -> None:  # noqa: F811
    assignment = agree(publication)  # type: ignore[arg-type]
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    answer = Client().get(f"/j/{made(31, links.assignment_token, assignment)}/done/")
    assert answer.status_code == 410
    assert "Open the task again where you accepted it" in answer.content.decode()
    assert f"frame-ancestors {PLATFORM}" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("wrong", ["nothing", "a:b:c"])
def test_a_wrong_address_is_still_none(db: None, wrong: str) -> None:
    assert Client().get(f"/j/{wrong}/").status_code == 404
