"""Every page of the researcher, found by walking the router, in one browser: at every width, in light and dark, by
keyboard, on paper; to axe, to the console, and on the scales. And where their links lead, for each role. The
marketplace's pages are looked at by its own tests.
"""

import gzip
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser
from selectolax.lexbor import LexborHTMLParser

from core.models import Lab, User
from core.roles import ROLES, Right, right_needed
from tests import browser, factories, walk
from tests.looking import faults
from tests.worlds import lay_out, rows_and_files

MOST_BYTES = 100_000  # of a page with its styles and scripts, packed as a proxy sends them
LEAST_PAGES = 35
SAMPLES = 2  # pages of one kind whose links are followed; more of them look the same
LEAST_KINDS = {"viewer": 40, "organizer": 45, "researcher": 60, "admin": 70}
# Draws with one thread, which takes a quarter less. Where somebody clicks, it now and then waits for a frame for ever.
QUICK = "--disable-threaded-compositing"
LINKED = re.compile(rb'(?:href|src)="/static/([^"?]+)"')


@pytest.fixture
def researcher(transactional_db: None, tmp_path: Path, settings: Any) -> User:
    """The demo's researcher."""
    settings.VAR = tmp_path
    lay_out("something on every page of the researcher", walk.make)
    return User.objects.get(username="researcher")


def weight(content: bytes) -> int:
    """Bytes of a page and of the files of ours that it loads, packed."""
    return len(gzip.compress(content)) + sum(weight_of_file(name.decode()) for name in set(LINKED.findall(content)))


@cache
def weight_of_file(name: str) -> int:
    """Bytes of a static file, packed."""
    path = finders.find(name)
    assert path
    return len(gzip.compress(Path(str(path)).read_bytes()))


def is_page(answer: Any) -> bool:
    """Whether it is a whole page, and not a file or a part."""
    is_text = answer.headers.get("Content-Type", "").startswith("text/html")
    return is_text and not answer.streaming and b"<html" in answer.content


@pytest.mark.timeout(900)  # some ninety pages, each at many sizes
def test_every_page_of_the_researcher_is_well(
    researcher: User, chromium: Browser, live_server: Any, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(researcher)
    found, pages, refused = [], [], 0
    for address in walk.addresses(researcher):
        answer = client.get(address)
        is_first = answer.status_code == 405 and not refused  # all addresses that only take forms have the same page
        refused += is_first
        if (answer.status_code == 200 or is_first) and is_page(answer):
            pages.append(address)
            if (heavy := weight(answer.content)) > MOST_BYTES:
                found.append((address, f"{heavy:,} bytes"))
        else:
            assert answer.status_code < 500, address
    assert len(pages) >= LEAST_PAGES
    options = browser.launch_options()
    with chromium.browser_type.launch(**options | {"args": [*options["args"], QUICK]}) as quick:
        page = browser.sign_in(quick.new_context(), live_server.url, researcher)
        complaints = browser.listen(page)
        for address in pages:
            page.goto(live_server.url + address)
            found += [(address, fault) for fault in [*faults(page), *complaints]]
            complaints.clear()
    assert found == []


def saving(page: LexborHTMLParser) -> list[str]:
    """The buttons of a page that send a form which changes something."""
    forms = {form.attributes.get("id"): form for form in page.css("form")}
    sending = []
    for button in page.css("main button, main input[type=submit]"):
        form = forms[button.attributes["form"]] if "form" in button.attributes else button.parent
        while form is not None and form.tag != "form":
            form = form.parent
        if form is not None and (button.attributes.get("type") or "submit") == "submit":
            sending += [str(button.html)[:200]] * ((form.attributes.get("method") or "get").lower() == "post")
    return sending


def test_a_viewer_opens_every_page_and_can_change_nothing(researcher: User) -> None:
    client = Client()
    client.force_login(factories.member(Lab.objects.get(members=researcher), "viewer", "vera"))
    opened, buttons, forged = 0, [], set()
    for address in walk.addresses(User.objects.get(username="vera")):
        match = resolve(address.partition("?")[0])
        answer = client.get(address)
        if right_needed(match, "GET") == Right.SEE and answer.status_code == 200 and is_page(answer):
            buttons += [f"{address}: {button}" for button in saving(LexborHTMLParser(answer.content))]
            opened += 1
        if right_needed(match, "POST") not in (Right.PUBLIC, Right.SIGNED_IN, Right.SEE):
            forged.add(address.partition("?")[0])
    assert opened >= LEAST_PAGES // 2 and len(forged) > 30
    before = kept()
    assert {client.post(path).status_code for path in sorted(forged)} == {403, 405}
    assert "\n".join(buttons) == ""
    assert kept() == before


def kept() -> dict[str, frozenset[bytes]]:
    """Every row, but for what being logged in and looking write."""
    passing = ("django_session", "core_auditentry", "core_user", "usersessions_usersession")
    return {table: rows for table, rows in rows_and_files().rows.items() if table not in passing}


# --- where links and forms lead


def led_to(page: LexborHTMLParser, address: str) -> tuple[set[str], set[str]]:
    """The paths of our own that a page's links lead to, and those that its forms send to."""
    links = {
        urlsplit(urljoin(address, node.attributes["href"] or ""))
        for node in page.css("a[href]")
        if "disabled" not in node.attributes
    }
    forms = {
        urljoin(address, node.attributes.get("action") or "")
        for node in page.css("form")
        if (node.attributes.get("method") or "get").lower() == "post"
    }
    ours = {
        link.path + (f"?{link.query}" if link.query else "") for link in links if not link.netloc and not link.scheme
    }
    return ours, forms


def kind(path: str) -> str:
    """What all pages of one sort have in common: the name of their address."""
    return resolve(urlsplit(path).path).view_name


@pytest.mark.parametrize("role", ROLES)
def test_no_link_and_no_form_leads_anybody_to_a_refusal(researcher: User, role: str) -> None:
    client = Client()
    client.force_login(factories.member(Lab.objects.get(members=researcher), role, f"another-{role}"))
    opened: dict[str, int] = {}
    waiting, seen, faults = ["/"], {"/"}, []
    while waiting:
        address = waiting.pop(0)
        name = kind(address)
        if opened.get(name, 0) >= SAMPLES:
            continue
        opened[name] = opened.get(name, 0) + 1
        answer = client.get(address)
        if answer.status_code in (301, 302, 303, 307):
            links, forms = {answer.headers["Location"]}, set()
        elif answer.status_code != 200:
            faults.append(f"{address}: {answer.status_code}")
            continue
        elif is_page(answer):
            links, forms = led_to(LexborHTMLParser(answer.content), address)
        else:
            continue
        for form in sorted(forms):
            needed = right_needed(resolve(urlsplit(form).path), "POST")
            if needed not in (Right.PUBLIC, Right.SIGNED_IN) and needed not in ROLES[role]:
                faults.append(f"{address} has a form to {form}, which needs the right to {needed}")
        for link in sorted(links - seen):
            seen.add(link)
            try:
                resolve(urlsplit(link).path)
            except Resolver404:
                if not link.startswith(("/static/", "/docs/")):
                    faults.append(f"{address} links {link}, which is nothing")
                continue
            if "logout" not in link:
                waiting.append(link)
    assert "\n".join(faults) == ""
    assert len(opened) >= LEAST_KINDS[role], sorted(opened)
