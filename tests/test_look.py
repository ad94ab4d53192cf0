"""Every page of the researcher, found by walking the router, in one browser: at every width, in light and dark, by
keyboard, on paper; to axe, to the console, and on the scales. The marketplace's pages are looked at by its own tests.
"""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from playwright.sync_api import sync_playwright

from core.models import User
from tests import browser, walk
from tests.looking import faults
from tests.worlds import lay_out

MOST_BYTES = 100_000  # of a page with its styles and scripts, packed as a proxy sends them
LEAST_PAGES = 35
LINKED = re.compile(rb'(?:href|src)="/static/([^"?]+)"')


@pytest.fixture
def researcher(transactional_db: None, tmp_path: Path, settings: Any) -> User:
    """The demo's researcher."""
    settings.VAR = tmp_path
    lay_out("something on every page of the researcher", walk.make)
    return User.objects.get(username="researcher")


def weight(content: bytes) -> int:
    """Bytes of a page and of the files of ours that it loads, packed."""
    files = [finders.find(name.decode()) for name in set(LINKED.findall(content))]
    assert all(files)
    return len(gzip.compress(content)) + sum(len(gzip.compress(Path(str(file)).read_bytes())) for file in files)


def test_every_page_of_the_researcher_is_well(researcher: User, live_server: Any, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(researcher)
    found, pages, refused = [], [], 0
    for address in walk.addresses(researcher):
        answer = client.get(address)
        is_page = answer.headers.get("Content-Type", "").startswith("text/html") and not answer.streaming
        is_first = answer.status_code == 405 and not refused  # all addresses that only take forms have the same page
        refused += is_first
        if (answer.status_code == 200 or is_first) and is_page and b"<html" in answer.content:
            pages.append(address)
            if (heavy := weight(answer.content)) > MOST_BYTES:
                found.append((address, f"{heavy:,} bytes"))
        else:
            assert answer.status_code < 500, address
    assert len(pages) >= LEAST_PAGES
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(**browser.launch_options())
        page = browser.sign_in(chromium.new_context(), live_server.url, researcher)
        complaints = browser.listen(page)
        for address in pages:
            page.goto(live_server.url + address)
            found += [(address, fault) for fault in [*faults(page), *complaints]]
            complaints.clear()
        chromium.close()
    assert found == []
