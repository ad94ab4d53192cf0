"""The API from the command line."""

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from kombu.exceptions import OperationalError

from core.audit.selectors import lines
from core.models import AuditEntry, User
from pools.models import Campaign
from protection import jobs as protection_jobs
from runs import background
from runs.models import Collection, Job
from tests.api.conftest import Program

pytestmark = pytest.mark.django_db


def call(*words: str) -> Any:
    """What the command prints."""
    out = io.StringIO()
    call_command("call_api", *words, "--as", "rita", stdout=out)
    return json.loads(out.getvalue() or "null")


def test_the_command_line_does_what_the_api_does(campaign: Campaign) -> None:
    assert call("post", f"campaigns/{campaign.pk}/pause/", "--json", '{"why": "Enough"}')["state"] == "paused"
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.PAUSED
    entry = AuditEntry.objects.filter(subject="pools_campaign").latest("pk")
    assert (entry.actor_kind, entry.why) == (AuditEntry.ActorKind.COMMAND, "Enough")
    assert re.fullmatch(r"the command .+ \(.+\), as rita", lines([entry])[0].who)
    assert [row["name"] for row in call("get", "campaigns/?state=paused")["results"]] == ["pilot"]


def test_lists_are_read_on_by_the_address_of_the_next_page(campaign: Campaign, settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.SITE_URL = ["example.org"], "https://example.org"
    first = call("get", "runs/?limit=1")
    assert first["next"].startswith("https://example.org/api/v1/runs/")
    assert call("get", first["next"])["results"][0]["id"] < first["results"][0]["id"]


def test_a_dry_run_shows_the_answer_and_changes_nothing(campaign: Campaign) -> None:
    address = f"campaigns/{campaign.pk}/"
    assert call("patch", address, "--json", '{"name": "renamed"}', "--dry-run")["name"] == "renamed"
    assert call("get", address)["name"] == "pilot"


def test_waiting_does_the_job(collection: Collection) -> None:
    sent = json.dumps({"collection": collection.pk, "name": "typed", "runs": "all"})
    done = call("post", "campaigns/", "--json", sent, "--wait")
    assert done["state"] == Job.State.DONE
    assert Campaign.objects.get(pk=done["campaign"]).name == "typed"


def test_waiting_waits_for_a_worker_that_was_faster(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = background.job_do
    calls: list[int] = []

    def do(*, job_id: int) -> bool:
        calls.append(job_id)
        return len(calls) > 1 and mine(job_id=job_id)  # at first, another process is at it

    monkeypatch.setattr(background, "job_do", do)
    sent = json.dumps({"collection": collection.pk, "name": "typed", "runs": "all"})
    assert call("post", "campaigns/", "--json", sent, "--wait")["state"] == Job.State.DONE
    assert len(calls) == 2


def test_files_are_sent(collection: Collection, tmp_path: Any) -> None:
    file = tmp_path / "yellow.txt"
    file.write_text("q1 Q0 p1 1 9 yellow\n")
    fields = ("--set", f"collection={collection.pk}", "--set", "team=ours")
    done = call("post", "runs/", *fields, "--file", f"file={file}", "--wait")
    run = collection.runs.get(pk=done["run"])
    assert (run.name, run.team) == ("yellow", "ours")
    with pytest.raises(CommandError, match="would be stored"):
        call("post", "runs/", "--set", f"collection={collection.pk}", "--file", f"file={file}", "--dry-run")


def test_what_is_refused_is_an_error_in_words(campaign: Campaign, viewer: Program) -> None:
    with pytest.raises(CommandError, match="Close it instead"):
        call("delete", f"campaigns/{campaign.pk}/")
    with pytest.raises(CommandError, match="viewer"):
        call_command("call_api", "post", f"campaigns/{campaign.pk}/pause/", "--as", viewer.token.user.username)
    with pytest.raises(CommandError, match="no active user"):
        call_command("call_api", "get", "labs/", "--as", "nobody")
    with pytest.raises(CommandError, match="no such address"):
        call("get", "nothing/")
    with pytest.raises(CommandError, match=r"^names\.1: .*no more than"):
        call("post", f"campaigns/{campaign.pk}/panel/", "--json", json.dumps({"names": ["Ann", "x" * 300]}))
    with pytest.raises(CommandError, match="in the address"):
        call("get", "runs/", "--json", '{"name": "bm25"}')
    with pytest.raises(CommandError, match=r"^multipart/form-data was sent, and this address takes application/json.$"):
        call("post", f"campaigns/{campaign.pk}/pause/", "--set", "why=enough")
    with pytest.raises(CommandError, match=r"^application/json was sent, and this address takes multipart/form-data.$"):
        call("post", "runs/", "--json", "{}")


def test_a_token_from_the_command_line_opens_the_api(rita: User) -> None:
    out = io.StringIO()
    call_command("create_token", "rita", "--scopes", "read", "write", "--json", stdout=out)
    created = json.loads(out.getvalue())
    answer = Client().get("/api/v1/token/", headers={"Authorization": f"Bearer {created['token']}"})
    assert answer.json()["scopes"] == ["read", "write"] == created["scopes"]


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_asks_for_no_job_and_a_job_that_cannot_be_asked_for_is_an_error(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_arguments: object) -> None:
        raise OperationalError("Redis is away")

    monkeypatch.setattr(protection_jobs.make_bundle, "delay", away)
    assert call("post", f"campaigns/{campaign.pk}/bundle/", "--dry-run") == {"asked_for": True}
    with pytest.raises(CommandError, match="cannot be asked for now"):
        call("post", f"campaigns/{campaign.pk}/bundle/")
