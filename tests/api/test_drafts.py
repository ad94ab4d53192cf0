"""Through the API: trials, test pairs of other campaigns, passages that lack texts, and jobs that are cancelled."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from core.models import User
from pools.models import Campaign
from runs import background
from runs.models import Collection, Job, Passage
from tasks.models import TestPair
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def path(link: str) -> str:
    """Where a link leads, without the site."""
    return "/" + link.split("/", 3)[3]


def test_a_link_to_a_trial_needs_no_account_and_is_revoked(
    campaign: Campaign, program: Program, viewer: Program
) -> None:
    base = f"campaigns/{campaign.pk}/trial/"
    trial = viewer.get(base).json()
    assert trial["obstacle"] == ""
    anybody = Client()
    assert campaign.title in anybody.get(path(trial["address"]), follow=True).text

    words = {"title": "Choose the more useful one"}
    assert_problem(program.post(base, {"title": "x" * 129}), 400, field="title")
    tried = program.post(base, words).json()
    assert words["title"] in anybody.get(path(tried["address"]), follow=True).text
    campaign.refresh_from_db()
    assert campaign.title != words["title"]

    assert program.post(f"{base}revoke/").status_code == 204
    assert [anybody.get(path(link["address"])).status_code for link in (trial, tried)] == [410, 410]
    assert anybody.get(path(program.get(base).json()["address"])).status_code == 200


def test_confirmed_test_pairs_of_another_campaign_are_copied_to_a_draft(
    campaign: Campaign, collection: Collection, program: Program
) -> None:
    draft = factories.campaign(collection, "draft", tests=0, start=False)
    address = f"campaigns/{draft.pk}/test-pairs/copy/"
    assert_problem(program.post(address, {"source": draft.pk}), 400, field="source")
    assert_problem(program.post(address, {"source": 10**9}), 400, field="source")
    assert_problem(program.post(address, {}), 400, field="source")
    confirmed = campaign.test_pairs.filter(state=TestPair.State.CONFIRMED).count()
    copied = program.post(address, {"source": campaign.pk}).json()
    assert len(copied) == confirmed > 0 and {test["state"] for test in copied} == {"confirmed"}
    assert program.post(address, {"source": campaign.pk}).json() == []
    assert draft.test_pairs.count() == confirmed
    assert_problem(program.post(f"campaigns/{campaign.pk}/test-pairs/copy/", {"source": draft.pk}), 409)


def test_passages_that_lack_texts_are_named_one_a_line(collection: Collection, program: Program) -> None:
    lacking = sorted(collection.passages.order_by("pid").values_list("pid", flat=True)[:3])
    Passage.objects.filter(collection=collection, pid__in=lacking).update(text="")
    address = f"collections/{collection.pk}/missing-passages.txt"
    answer = program.get(address)
    assert b"".join(answer.streaming_content).decode().split() == lacking


def test_a_job_that_waits_is_cancelled_and_what_has_ended_stays(
    collection: Collection, rita: User, program: Program
) -> None:
    at = timezone.now()
    about: dict[str, Any] = {"lab": collection.lab, "collection": collection, "kind": "run", "asked_at": at}
    job = Job.objects.create(name="red", asked_by=rita, **about)
    address = f"jobs/{job.pk}/cancel/"
    cancelled = program.post(address).json()
    assert cancelled["state"] == "refused" and "rita cancelled it" in cancelled["error"]
    assert program.post(address).json() == cancelled
    done = Job.objects.create(state="done", **about)
    assert program.post(f"jobs/{done.pk}/cancel/").json()["state"] == "done"
    assert not background.jobs_waiting(at=at).exists()
