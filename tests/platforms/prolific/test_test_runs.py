"""Test runs: a study that only test participants see, through which a campaign is tried before anybody is paid."""

from urllib.parse import urlsplit

import pytest
from django.test import Client as Browser
from django.urls import reverse

from core.errors import NotNow
from core.models import User
from judgments.models import Judgment
from platforms.models import Publication
from platforms.publishing.publications import publication_publish
from platforms.publishing.testing import test_run_begin as begin_test_run
from platforms.publishing.testing import test_run_end as end_test_run
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Ending
from tasks.models import Assignment, Worker
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.platforms.platforms import Clock, drain
from tests.rows import fresh
from tests.simulation.prolific import Double


def walk(browser: Browser, address: str) -> tuple[str, str]:
    """Follow where an address leads; the last address and page."""
    page = browser.get(address, follow=True)
    last = page.redirect_chain[-1][0] if page.redirect_chain else address
    return last, page.content.decode()


def test_a_test_participant_sees_the_campaign_and_goes_back_with_a_code_and_nothing_is_stored(
    publication: Publication, prolific: Double, rita: User, client: Browser
) -> None:
    client.force_login(rita)
    keys = [publication.campaign_id]
    assert reverse("platforms:test_run", args=keys) in client.get(reverse("platforms:publish", args=keys)).text
    address = reverse("platforms:test_run", args=keys)
    refused = client.post(address)
    assert refused.status_code == 502 and "no test participant" in refused.text
    assert [row["status"] for row in prolific.rows("study")] == []  # the draft is deleted whatever happens
    page = client.post(address, {"email": "tester@example.org"}, follow=True)
    publication.refresh_from_db()
    assert page.status_code == 200 and publication.test_study_address in page.text
    (study,) = prolific.rows("study")
    assert (study["id"], study["is_test"], study["status"]) == (publication.test_study_id, 1, "ACTIVE")
    (person,) = [row["id"] for row in prolific.rows("participant")]
    place = prolific.take(publication.test_study_id, person)
    parts = urlsplit(place.url)
    at, preview = walk(Browser(), f"{parts.path}?{parts.query}")
    assert "/try." in at and "$2.00" in preview
    browser = Browser()
    begun = browser.post(reverse("judging:join", args=[at.split("/")[2]]), follow=True)
    token = begun.redirect_chain[-1][0].split("/")[2]
    done = browser.post(reverse("judging:leave", args=[token]), follow=True).content.decode()
    way_back = adapter_of(publication).exit_of(publication, Ending.LEFT)
    assert way_back is not None and way_back.code in done and way_back.address in done
    assert not Assignment.objects.exists() and not Judgment.objects.exists() and not Worker.objects.exists()
    prolific.complete(place.submission, way_back.code)
    client.post(address, {"end": "yes"})
    assert fresh(publication).test_study_id == "" and prolific.rows("study")[0]["status"] == "COMPLETED"
    assert prolific.ledger("reward") == [] and "goes back with a code" in client.get(address).text


def test_only_the_test_study_opens_a_trial_and_only_for_who_is_there(
    publication: Publication, prolific: Double, rita: User
) -> None:
    begin_test_run(publication=publication, email="tester@example.org")
    (person,) = [row["id"] for row in prolific.rows("participant")]
    place = prolific.take(publication.test_study_id, person)
    parts = urlsplit(place.url)
    for wrong in (place.submission, publication.test_study_id):
        answer = Browser().get(f"{parts.path}?{parts.query.replace(wrong, 'f' * 24)}")
        assert answer.status_code in (400, 404), answer.content.decode()
    with pytest.raises(NotNow, match="already"):
        begin_test_run(publication=publication, email="")
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    real = [row for row in prolific.rows("study") if not row["is_test"]]
    assert [row["id"] for row in real] == [publication.hit_type_id]  # the test study is not taken for it
    with pytest.raises(NotNow, match="is published"):
        begin_test_run(publication=publication, email="")
    assert end_test_run(publication=publication) and not end_test_run(publication=publication)


def test_a_program_begins_and_ends_one_and_a_workspace_without_is_refused_in_prolifics_words(
    publication: Publication, prolific: Double, rita: User
) -> None:
    program, viewer = Program(rita), Program(factories.member(publication.campaign.lab, "viewer"))
    address = f"campaigns/{publication.campaign_id}/publication/test-run/"
    assert_problem(viewer.post(address, {}), 403)
    body = program.post(address, {"email": "tester@example.org"}).json()
    assert body["study"] and body["study"] in body["address"]
    assert program.delete(address).status_code == 204 == program.delete(address).status_code
    prolific.settings(features=["secure url"])
    assert_problem(program.post(address, {}), 409, says="not enabled")
