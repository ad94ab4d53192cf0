"""People at the marketplace's pages: a browser, who is logged in, and a requester's own site on another origin."""

import itertools
import threading
from collections.abc import Callable, Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.looking import looks_right
from tests.marketplace.server import EXTERNAL, Marketplace, Requester, Worker, cookie_of

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 800}
PASSWORD = "correct horse battery"
OPERATOR = "olga@example.org"
BLOCKED = ("enableThirdPartyCookieRestriction", "disableThirdPartyCookieMetadata", "disableThirdPartyCookieHeuristics")
_numbers = itertools.count(1)


class Guest:
    """Somebody without a browser who is not logged in."""

    def __init__(self, marketplace: Marketplace) -> None:
        self.http = marketplace.visitor()

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def post(self, path: str, **fields: str) -> httpx.Response:
        """A form, sent as a browser sends it."""
        origin = str(self.http.base_url).rstrip("/")
        token = cookie_of(self.http, "csrf")[1]
        headers = {"Origin": origin, "Referer": f"{origin}{path}", "X-CSRFToken": token}
        return self.http.post(path, data=fields, headers=headers)

    def log_in(self, email: str, password: str = PASSWORD) -> httpx.Response:
        """Through the page."""
        self.get("/login")
        return self.post("/login", username=email, password=password)


class Person(Guest):
    """Somebody who is logged in, without a browser."""

    def __init__(self, marketplace: Marketplace, email: str) -> None:
        super().__init__(marketplace)
        answer = self.log_in(email)
        assert answer.status_code == 302, answer.text

    def session(self) -> dict[str, str]:
        """The session's cookie."""
        return dict(zip(("name", "value"), cookie_of(self.http, "session"), strict=True))


class Wanda(Worker):
    """A worker who can also log in."""

    def __init__(self, marketplace: Marketplace, **facts: Any) -> None:
        self.marketplace = marketplace
        self.email = f"wanda{next(_numbers)}@example.org"
        account = marketplace.test("worker", email=self.email, password=PASSWORD, **facts)
        self.id = str(account["worker_id"])
        self.person = Person(marketplace, self.email)


class RequestersSite:
    """A requester's pages on an origin of their own: a form that works without JavaScript, and what was asked for."""

    def __init__(self) -> None:
        site = self
        self.asked: list[dict[str, str]] = []
        self.cookies: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
                if urlsplit(self.path).path == "/task":
                    site.asked.append(query)
                    site.cookies.append(self.headers.get("Cookie", ""))
                page = PAGE.format(
                    target=escape(query.get("turkSubmitTo", "")), assignment=escape(query.get("assignmentId", ""))
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page)))
                self.send_header("Set-Cookie", "seen=1; SameSite=None; Secure")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self._server.server_port}"  # a name that makes it another site
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def question(self, height: int = 0) -> str:
        return (
            f'<ExternalQuestion xmlns="{EXTERNAL}"><ExternalURL>{self.origin}/task?query=7</ExternalURL>'
            f"<FrameHeight>{height}</FrameHeight></ExternalQuestion>"
        )

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


PAGE = """<!doctype html><html lang="en"><title>Compare</title><h1>Compare two passages</h1>
<form method="post" action="{target}/mturk/externalSubmit">
<input type="hidden" name="assignmentId" value="{assignment}">
<label>Which one? <input name="choice" value="left"></label>
<button>Send in</button></form>
<script>document.cookie = "mine=1; SameSite=None; Secure";</script></html>"""


# As people write them: for one marketplace's address, with the id left to a script.
USUAL_HTML = """<!DOCTYPE html><html lang="en"><head><title>Say it</title></head><body>
<form name="mturk_form" method="post" id="mturk_form" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" value="" name="assignmentId" id="assignmentId"/>
<h1>What is up?</h1><label>Say it <textarea name="comment"></textarea></label>
<p id="seen"></p><p><input type="submit" id="submitButton" value="Submit" /></p></form>
<script>
let cookie; try { cookie = "cookie:" + document.cookie; } catch (error) { cookie = "no cookies"; }
let top_ = "top"; try { top_ = parent.document.title; } catch (error) { top_ = "no parent"; }
document.getElementById("seen").textContent = [self.origin, cookie, top_].join(", ");
</script></body></html>"""


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace by invitation, with an operator and without limits on log-ins."""
    running = Marketplace(tmp_path_factory.mktemp("market"), MARKETPLACE_RATE_LIMITS="0")
    running.start("create_operator", OPERATOR, MARKETPLACE_OPERATOR_PASSWORD=PASSWORD)
    yield running
    running.stop()


@pytest.fixture
def people(market: Marketplace) -> Marketplace:
    """The marketplace, with its clock right."""
    market.test("clock", reset=True)
    return market


@pytest.fixture
def olga(people: Marketplace) -> Iterator[Person]:
    """The operator, logged in."""
    person = Person(people, OPERATOR)
    yield person
    person.http.close()


@pytest.fixture
def rosa(people: Marketplace) -> Requester:
    """A requester with $1,000."""
    return people.requester()


@pytest.fixture
def wanda(people: Marketplace) -> Wanda:
    """A worker in the United States."""
    return Wanda(people)


@pytest.fixture(scope="module")
def requesters_site() -> Iterator[RequestersSite]:
    running = RequestersSite()
    yield running
    running.stop()


@pytest.fixture
def visitor(chromium: Browser, people: Marketplace) -> Iterator[Callable[..., Page]]:
    """Opens a page in a browser profile of its own, in which third-party cookies are blocked. What a script or the
    content policy complains of is a failure.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def come(person: Person | None = None, at: str = "", **options: Any) -> Page:
        context = chromium.new_context(base_url=people.url, **{"viewport": DESK, **options})
        contexts.append(context)
        context.set_default_timeout(10_000)
        if person:
            context.add_cookies([person.session() | {"url": people.url}])  # type: ignore[list-item]
        page = context.new_page()
        controls = context.new_cdp_session(page)
        controls.send("Network.enable")
        controls.send("Network.setCookieControls", dict.fromkeys(BLOCKED, True))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None
        )
        if at:
            page.goto(at)
        return page

    yield come
    for context in contexts:
        context.close()
    assert complaints == []


def look_well(page: Page, *paths: str) -> None:
    """Each of the pages fits a phone and a desk, in light and dark, and axe finds nothing wrong with it."""
    for path in paths:
        page.goto(path)
        looks_right(page, "button:not(.sort), a.button:not(.sort)")
