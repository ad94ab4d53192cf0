"""People of a lab in browsers of their own: what any page of theirs must hold is checked wherever they look."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests import browser
from tests.looking import DESK, overflow, violations

PASSWORD = "four quiet cellos"


class Colleague:
    """Somebody at the researcher's pages. Whoever passes pages that axe sees in tests of their own needs no axe."""

    def __init__(self, chromium: Browser, url: str, *, with_axe: bool = True, **options: Any) -> None:
        self.touch = bool(options.get("has_touch"))
        self.with_axe = with_axe and bool(options.get("java_script_enabled", True))  # a script
        self.and_look: Callable[[], None] = lambda: None
        self.context = chromium.new_context(
            **{"base_url": url, "viewport": DESK, "reduced_motion": "reduce", **options}
        )
        self.context.set_default_timeout(15_000)
        self.page: Page = self.context.new_page()
        self.complaints = browser.listen(self.page)

    def log_in(self, name: str, password: str = PASSWORD) -> None:
        self.go("/login/")
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", password)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda url: "/login/" not in url)

    def go(self, path: str) -> Page:
        """Open a page, which must be well."""
        answer = self.page.goto(path)
        assert answer is None or answer.ok, (path, answer and answer.status)
        self.look()
        return self.page

    def look(self) -> None:
        """The page that is open has nothing beyond its edge, and nothing that axe finds for who has it; and what
        `and_look` says.
        """
        self.page.wait_for_load_state()  # a followed link may have only begun to arrive
        assert overflow(self.page) == 0, self.page.url
        if self.with_axe:
            assert violations(self.page) == [], self.page.url
        self.and_look()

    def press(self, name: str, then: str | re.Pattern[str] = "") -> None:
        """Press a button, or follow a link; wait for some words, and look at the page."""
        self.page.locator("main").get_by_role("button", name=name, exact=True).or_(
            self.page.locator("main").get_by_role("link", name=name, exact=True)
        ).first.click()
        if then:
            self.page.get_by_text(then).first.wait_for()
        self.look()

    def download(self, name: str) -> bytes:
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name=name, exact=True).click()
        return Path(download.value.path()).read_bytes()
