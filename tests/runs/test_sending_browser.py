"""A browser sends large files to the bucket, through connections that break, at a site that runs as in production."""

import hashlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from playwright.sync_api import Browser, BrowserContext, Page

from core.models import User
from runs.models import Collection, DirectUpload, Job, Upload
from tests import browser
from tests.buckets import Gate, endpoint, gate
from tests.conftest import RunningSite
from tests.looking import looks_right

__all__ = ["endpoint", "gate"]
BYTES = 200_000_000
PART = 16 << 20
SITE_BYTES = 100_000  # at most, that the web server takes while a file is sent


@pytest.fixture
def front(gate: Gate, site: RunningSite) -> Iterator[Gate]:
    """The site, through a gate that counts. Its pages may send to the bucket."""
    with Gate(site.url.removeprefix("http://")) as opened:
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        gate.origins = {opened.url}
        yield opened
        opened.shutdown()


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A run of 200 MB."""
    lines = b"".join(b"q1 Q0 passage-%07d %07d 1.5 large\n" % (rank, rank) for rank in range(100_000))
    (tmp_path / "large.txt").write_bytes((lines * (BYTES // len(lines) + 1))[:BYTES])
    return tmp_path / "large.txt"


def choose(context: BrowserContext, front: Gate, collection: Collection, file: Path) -> Page:
    """A page on which a run was chosen."""
    page = context.new_page()
    page.goto(f"{front.url}/runs/new/?collection={collection.pk}")
    page.get_by_label("Run file").set_input_files(file)
    return page


@pytest.mark.django_db(transaction=True)
def test_a_large_file_passes_by_the_web_server_and_goes_on_where_it_broke_off(
    rita: User, collection: Collection, front: Gate, gate: Gate, large: Path, chromium: Browser
) -> None:
    context = chromium.new_context(base_url=front.url)
    browser.sign_in(context, front.url, rita).close()
    page = choose(context, front, collection, large)
    complaints = browser.listen(page)
    gate.cut_at = 40_000_000  # it goes on by itself
    page.get_by_role("button", name="Check and store").click()
    page.get_by_text(re.compile(r"Sending the file: [4-8]\d%")).wait_for(timeout=60_000)
    assert gate.cut_at is None
    assert [complaint for complaint in complaints if "Content Security" in complaint] == []
    page.close()  # as when the browser dies
    assert not DirectUpload.objects.get().is_whole and gate.received < BYTES

    page = choose(context, front, collection, large)
    page.route("**/runs/new/", lambda route: route.abort())  # and again, once all has arrived
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/runs/new/"), timeout=60_000):
        page.get_by_role("button", name="Check and store").click()
    page.close()
    received = gate.received
    assert received < BYTES + 3 * PART and not Job.objects.exists() and DirectUpload.objects.get().is_whole

    page = choose(context, front, collection, large)
    page.get_by_role("button", name="Check and store").click()
    page.wait_for_url("**/jobs/*/?then")
    assert gate.received - received < PART / 100, "nothing was sent again"
    upload = Upload.objects.get(job__state=Job.State.WAITING)
    assert (upload.name, upload.size, upload.part) == ("large.txt", BYTES, "run") and not DirectUpload.objects.exists()
    with default_storage.open(upload.file.name) as stored, large.open("rb") as file:
        assert hashlib.file_digest(stored, "sha256").digest() == hashlib.file_digest(file, "sha256").digest()
    print(f"\n{BYTES:,} bytes sent: the web server took {front.received:,}, the bucket {received:,}")
    assert front.received < SITE_BYTES


@pytest.mark.django_db(transaction=True)
def test_of_a_folder_the_large_files_go_to_the_bucket_and_a_bucket_that_refuses_the_page_is_said(
    rita: User, collection: Collection, front: Gate, gate: Gate, tmp_path: Path, chromium: Browser
) -> None:
    sizes = {"small.txt": 1_000, "large.txt": 20_000_000}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes((b"q1 Q0 o1 1 9.5 %s\n" % name.encode() * (size // 18))[:size])
    page = browser.sign_in(chromium.new_context(base_url=front.url), front.url, rita)
    page.goto(f"{front.url}/collections/{collection.pk}/add/")
    page.get_by_label("Files", exact=True).set_input_files([tmp_path / name for name in sizes])
    gate.origins.clear()
    page.get_by_role("button", name="Send and look at the files").click()
    page.get_by_text("Not all files were sent.").wait_for(timeout=60_000)
    assert page.get_by_text("could not be sent.").count() == 1
    looks_right(page)
    gate.origins.add(front.url)
    page.get_by_role("button", name="Send and look at the files").click()
    page.get_by_role("heading", name="Files for small").wait_for(timeout=60_000)
    assert dict(Job.objects.get().uploads.values_list("name", "size")) == sizes
    assert front.received < SITE_BYTES
