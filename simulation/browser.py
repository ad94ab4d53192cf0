"""The browser of a simulated person, without scripts: pages, forms and links, and patience with a site that is down."""

import ssl
import time
from collections.abc import Callable, Collection, Mapping
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import NamedTuple, Self
from urllib.parse import urljoin

import httpx
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tasks.models import Item

GIVE_UP_SECONDS = 120.0
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0  # seconds before a request is sent again
ANSWERED = "main form:not(.languages)"  # what a page asks for, beside the choice of its language


class WrongPage(Exception):
    """A page does not show what it should: a fault of the site, which the crowd does not pass over."""


class Form(NamedTuple):
    """A form: where it goes, its hidden fields, and where the page's script saves instead."""

    action: str
    fields: dict[str, str]
    save: str


class Page:
    """A page as it came, with what a person would find on it."""

    def __init__(self, response: httpx.Response) -> None:
        self.path = response.url.path
        self.html = LexborHTMLParser(response.text)

    def form(self, selector: str = ANSWERED) -> Form:
        form = self.maybe_form(selector)
        if form is None:
            raise WrongPage(f"{self.path} has no form {selector}")
        return form

    def maybe_form(self, selector: str, within: LexborNode | None = None) -> Form | None:
        """A form, on the page or in a part of it, if it is there."""
        form = self.html.css_first(selector) if within is None else within.css_first(selector)
        if form is None:
            return None
        fields = {
            str(field.attributes["name"]): field.attributes.get("value") or ""
            for field in form.css("input[type=hidden][name]")
        }
        return Form(form.attributes.get("action") or self.path, fields, form.attributes.get("data-save") or "")

    def link(self, selector: str) -> str | None:
        link = self.html.css_first(selector)
        return None if link is None else link.attributes.get("href")

    def onward(self) -> str:
        """Where *Begin* or *Continue* leads."""
        target = self.link("a#continue") or self.link("main a.primary[href^='/j/']")
        if target is None:
            raise WrongPage(f"{self.path} leads nowhere")
        return target

    @property
    def home(self) -> str | None:
        """The person's own place, where the page links to it."""
        return self.link("a[href^='/w/']")

    def chosen(self) -> str | None:
        """The side that is marked as chosen."""
        card = self.html.css_first(".passage.chosen")
        return None if card is None else card.attributes.get("data-side")

    def shows(self, item: Item) -> None:
        """Raises WrongPage unless the page shows the stored texts of this item on their stored sides."""
        if item.pair is not None:
            query, a, b = item.pair.pool.query.text, item.pair.a.text, item.pair.b.text
        else:
            assert item.test is not None
            query, a, b = item.test.question, item.test.relevant_text, item.test.off_topic_text
        expected = (query, a, b) if item.a_left else (query, b, a)
        selectors = ("form#item h1", "[data-side=left] .text", "[data-side=right] .text")
        for selector, text in zip(selectors, expected, strict=True):
            node = self.html.css_first(selector)
            if node is None or node.text().split() != text.split():
                raise WrongPage(f"{self.path} does not show what is stored: {selector}")


@cache
def _certificates() -> ssl.SSLContext:
    """Whom a connection trusts. Reading it takes longer than a page, so all people of a process share it."""
    return httpx.create_ssl_context()


class Browser:
    """One person's browser at a site. `again` is called before a request is sent again, with how often that was.

    Inside another site's frame there are no cookies.
    """

    def __init__(self, url: str, again: Callable[[int], None], *, cookies: bool = True) -> None:
        self.url = url
        self._again = again
        jar = CookieJar() if cookies else CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._client = httpx.Client(
            base_url=url,
            follow_redirects=True,
            timeout=30,
            cookies=jar,
            verify=_certificates(),
            event_hooks={"request": [_name_origin]},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def get(self, path: str, *, good: Collection[int] = (200,)) -> Page:
        """A page, by its path at the site or its full address."""
        return Page(self.request("GET", path, good=good))

    def post(self, form: Form, values: Mapping[str, str], *, good: Collection[int] = (200,)) -> Page:
        return Page(self.request("POST", form.action, good=good, data={**form.fields, **values}))

    def request(self, method: str, path: str, *, good: Collection[int] = (200,), **body: object) -> httpx.Response:
        """Ask until there is an answer: a server that is down or busy, or a lost reply, is asked again.

        Raises WrongPage for an answer whose status is not one of the good, or if there is none for two minutes.
        """
        times, pause, started = 0, FIRST_WAIT, time.monotonic()
        while True:
            try:
                response = self._client.request(method, urljoin(self.url, path), **body)  # type: ignore[arg-type]
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code < 500 and response.status_code != 429:
                break
            times += 1
            self._again(times)
            if time.monotonic() - started > GIVE_UP_SECONDS:
                raise WrongPage(f"{method} {path}: no answer in {GIVE_UP_SECONDS:.0f} seconds")
            time.sleep(pause)
            pause = min(LONGEST_WAIT, pause * 2)
        if response.status_code not in good:
            raise WrongPage(f"{method} {path} answered {response.status_code}: {response.text[:300]}")
        return response


def _name_origin(request: httpx.Request) -> None:
    """Say where a post comes from, as browsers do: over https, sites take it from their own pages alone."""
    if request.method == "POST":
        origin = f"{request.url.scheme}://{request.url.netloc.decode()}"
        request.headers.setdefault("Origin", origin)
        request.headers.setdefault("Referer", f"{origin}/")
