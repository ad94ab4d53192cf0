"""Files in a bucket, kept by a real server of S3's protocol: large ones go past the web server to who may have them."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from core import direct
from core.models import User
from judgments.models import StoredFile
from judgments.refreshing import export_refresh
from leaderboards.models import Board
from pools.models import Campaign
from runs.models import Collection
from tests import factories
from tests.api.conftest import Program
from tests.buckets import bucket, endpoint
from tests.hosts.servers import BUCKET, SECRET
from tests.leaderboards import taking_part

__all__ = ["bucket", "endpoint"]


def fetch(address: str, **headers: str) -> httpx.Response:
    return httpx.get(address, headers=headers, trust_env=False)


def visit(user: User, campaign: Campaign, name: str) -> Any:
    """Somebody asks for an export."""
    client = Client()
    client.force_login(user)
    return client.get(reverse("judgments:export", args=[campaign.pk, name]))


def test_a_file_of_many_parts_is_stored_and_read_in_ranges(bucket: str) -> None:
    content = os.urandom(20_000_000)  # boto3 sends parts of eight
    name = default_storage.save("large.bin", ContentFile(content))
    assert default_storage.size(name) == len(content)
    with default_storage.open(name) as file:
        assert file.read() == content
    part = fetch(default_storage.url(name), Range="bytes=9000000-9000009")
    assert part.content == content[9_000_000:9_000_010]
    default_storage.delete(name)
    assert not default_storage.exists(name)


def test_a_large_export_is_fetched_from_the_bucket_by_who_may_have_it(
    bucket: str, campaign: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.do(factories.worker(campaign, "Alice"), campaign)
    export_refresh(campaign=campaign)
    stored = StoredFile.objects.get(campaign=campaign, name="judgments.jsonl", state="current")
    through = visit(rita, campaign, stored.name)
    content = b"".join(through.streaming_content)
    assert through.status_code == 200 and len(content) == stored.size, "a small one comes from here"

    monkeypatch.setattr(direct, "LARGE", 1)
    redirect = visit(rita, campaign, stored.name)
    assert redirect.status_code == 302 and redirect["Location"].startswith(f"{bucket}/{BUCKET}/campaigns/")
    assert "no-store" in redirect["Cache-Control"] and redirect["Referrer-Policy"] == "same-origin"
    assert "X-Amz-Expires=60" in redirect["Location"] and SECRET not in redirect["Location"]
    download = fetch(redirect["Location"])
    assert download.content == content
    assert download.headers["Content-Disposition"] == through["Content-Disposition"]
    assert download.headers["Content-Type"] == through["Content-Type"]

    assert fetch(redirect["Location"].replace(stored.file.name, "campaigns/another")).is_error
    assert fetch(urlsplit(redirect["Location"])._replace(query="").geturl()).is_error
    stranger = visit(factories.user("stranger"), campaign, stored.name)
    assert stranger.status_code == 404 and "Location" not in stranger
    default_storage.delete(stored.file.name)
    assert visit(rita, campaign, stored.name).status_code >= 400, "what is not there is not redirected to"


def test_programs_are_sent_to_the_bucket_unless_they_have_the_file(
    bucket: str, campaign: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    factories.do(factories.worker(campaign, "Alice"), campaign)
    export_refresh(campaign=campaign)
    address = f"campaigns/{campaign.pk}/exports/judgments.jsonl"
    through = Program(rita).get(address)
    content = b"".join(through.streaming_content)
    monkeypatch.setattr(direct, "LARGE", 1)
    redirect = Program(rita).get(address)
    assert redirect.status_code == 302 and fetch(redirect["Location"]).content == content
    assert redirect["ETag"] == through["ETag"] and "no-store" in redirect["Cache-Control"]
    assert Program(rita).get(address, If_None_Match=through["ETag"]).status_code == 304
    stranger = Program(factories.user("stranger")).get(address)
    assert stranger.status_code == 404 and "Location" not in stranger
    viewer = Program(factories.member(campaign.collection.lab, "viewer", "vera")).get(address)
    assert viewer.status_code == 403 and "Location" not in viewer
    capfdbinary.readouterr()
    call_command("call_api", "get", address, "--as", "rita")
    assert capfdbinary.readouterr().out == content


def test_a_public_boards_files_come_from_the_bucket_and_hidden_ones_from_nowhere(
    bucket: str, collection: Collection, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    board = taking_part.make(collection, factories.member(collection.lab, "organizer", "olga"))
    dev_qrels, eval_qrels = (reverse("boards:file", args=[board.slug, 1, part]) for part in ("dev_qrels", "eval_qrels"))
    whole = reverse("boards:everything", args=[board.slug])
    content = {address: b"".join(client.get(address).streaming_content) for address in (dev_qrels, whole)}
    etag = client.get(whole)["ETag"]
    monkeypatch.setattr(direct, "LARGE", 1)
    for address, expected in content.items():
        redirect = client.get(address)
        assert redirect.status_code == 302 and "private, no-store" in redirect["Cache-Control"]
        download = fetch(redirect["Location"])
        assert download.content == expected and "attachment" in download.headers["Content-Disposition"]
    assert client.get(whole, headers={"If-None-Match": etag}).status_code == 304
    assert Program(factories.user("zoe")).get(f"boards/{board.slug}/board.zip").status_code == 302
    assert client.get(eval_qrels).status_code == 404
    Board.objects.filter(pk=board.pk).update(is_public=False)
    assert client.get(dev_qrels).status_code == client.get(whole).status_code == 404


def test_a_program_that_asks_about_a_large_file_is_answered_by_the_site(
    bucket: str, campaign: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.do(factories.worker(campaign, "Alice"), campaign)
    export_refresh(campaign=campaign)
    address = f"campaigns/{campaign.pk}/exports/judgments.jsonl"
    through = Program(rita).get(address)
    monkeypatch.setattr(direct, "LARGE", 1)
    answer = Program(rita).head(address)
    assert answer.status_code == 200 and "Location" not in answer and not answer.content
    for header in ("Content-Length", "Content-Type", "Content-Disposition", "ETag"):
        assert answer[header] == through[header]
    download = fetch(Program(rita).get(address)["Location"])
    assert answer["Content-Length"] == str(len(download.content))
    assert Program(factories.user("stranger")).head(address).status_code == 404


def test_files_in_a_folder_come_through_the_web_server(
    campaign: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(direct, "LARGE", 1)
    factories.do(factories.worker(campaign, "Alice"), campaign)
    export_refresh(campaign=campaign)
    assert visit(rita, campaign, "judgments.jsonl").status_code == 200
