"""People in browsers on two sites: the marketplace, and in its frame the site, whose cookies are blocked."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Frame,
    FrameLocator,
    Locator,
    Page,
    Response,
    expect,
)

from tasks.links import assignment_of
from tests import factories
from tests.looking import overflow, violations
from tests.marketplace.people import DESK, PASSWORD, PHONE, Person
from tests.marketplace.server import Marketplace

# What is wrong in the test pairs of tests.factories.
OFF_TOPIC = "Something else entirely"
# What stands in the passages of the run; those of the qrels are old.
NEW = "-new:"
Opinion = Callable[[str, str], str]


def careful(a: str, b: str) -> str:
    """Prefer what is new, and never what is off the topic: the side."""
    return "left" if OFF_TOPIC in b or NEW in a else "right"


def careless(a: str, b: str) -> str:
    """Always the opposite."""
    return "right" if careful(a, b) == "left" else "left"


class Visitor:
    """Somebody at the marketplace in a browser profile of their own."""

    def __init__(self, browser: Browser, marketplace: Marketplace, site: str, **options: Any) -> None:
        self.marketplace = marketplace
        self.site = site
        self.touch = bool(options.get("has_touch"))
        self.scripts = bool(options.get("java_script_enabled", True))
        self.complaints: list[str] = []
        self.answers: list[Response] = []
        self.context: BrowserContext = browser.new_context(
            base_url=marketplace.url, **{"viewport": DESK, "reduced_motion": "reduce", **options}
        )
        self.context.set_default_timeout(15_000)
        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.context.on("response", lambda answer: self.answers.append(answer))
        self.page: Page = self.context.new_page()

    def _hear(self, told: ConsoleMessage) -> None:
        # A page that says no has its own status; those who must meet none look at `refusals`.
        if told.type == "error" and not told.text.startswith("Failed to load resource"):
            self.complaints.append(told.text)

    # --- at the marketplace

    def register(self, path: str, email: str) -> None:
        """Fill in the form at this path."""
        self.page.goto(path)
        self.page.get_by_label("Email address").fill(email)
        self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        self.page.get_by_label("Country").select_option("US")
        self.page.get_by_role("button", name="Register").click()
        expect(self.page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()

    def look_at(self, title: str) -> None:
        """Find a task by its title, and open its preview."""
        self.page.goto("/tasks")
        self.page.get_by_label("Search").fill(title)
        self.page.get_by_role("button", name="Show").click()
        self.page.get_by_role("link", name=f"Preview {title}").click()
        expect(self.frame.get_by_text("Accept the task to begin")).to_be_visible()

    def accept(self, title: str) -> str:
        """Find a task, and take it. The assignment's id at the marketplace."""
        self.look_at(title)
        self.page.get_by_role("button", name="Accept this task").click()
        self.page.wait_for_url("**/work/*")
        return self.page.url.rpartition("/")[2]

    def give_back(self) -> None:
        """Return the task that is open."""
        self.page.get_by_role("link", name="Return").click()
        self.page.get_by_role("button", name="Return it").click()
        expect(self.page.get_by_role("status").first).to_contain_text("does not count against you")

    def earnings(self) -> dict[str, str]:
        """What the page of earnings says, by its label."""
        self.page.goto("/earnings")
        facts = self.page.locator(".facts > div")
        return dict(zip(facts.locator("dt").all_inner_texts(), facts.locator("dd").all_inner_texts(), strict=True))

    # --- in the frame

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe")

    @property
    def document(self) -> Frame:
        """The document in the frame, to ask it things."""
        return self.page.frames[1]

    def press(self, name: str) -> None:
        """Press a link or a button in the frame."""
        self._press(self.frame.locator("main a, main button", has_text=re.compile(rf"^\s*{re.escape(name)}\s*$")))

    def _press(self, what: Locator) -> None:
        what.scroll_into_view_if_needed()
        self._painted()
        if self.touch:
            what.tap()
        else:
            what.click()

    def _painted(self) -> None:
        """The browser drops what is pressed before it has painted."""
        if self.scripts:
            self.document.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def reload_frame(self) -> None:
        """What is in the frame, loaded again."""
        frame = self.document
        with self.page.expect_event("framenavigated", predicate=lambda moved: moved == frame):
            frame.evaluate("location.reload()")

    def go_back(self) -> None:
        """The browser's own button, which goes back inside the frame first."""
        self.page.evaluate("history.back()")

    def begin(self) -> None:
        """From what is agreed to, to the first comparison."""
        self.press("Agree and begin")
        self.press("Begin")

    def choose(self, position: int, total: int, opinion: Opinion = careful) -> str:
        """The side that is preferred at this position, once it is shown."""
        expect(self.frame.get_by_text(f"{position} of {total}", exact=True)).to_be_visible()
        a, b = self.frame.locator(".passage .text").all_inner_texts()
        self._painted()
        return opinion(a, b)

    def judge(self, positions: Iterable[int], total: int = 13, opinion: Opinion = careful) -> None:
        """Judge these comparisons with the buttons; the last Continue, or Finish, is pressed, too."""
        for position in positions:
            side = self.choose(position, total, opinion)
            self._press(self.frame.locator(f"button[value={side}]"))
            expect(self.frame.locator("#state")).to_have_text("Saved")
            self._press(self.frame.locator("#continue"))

    def finish(self) -> None:
        """Send the answers, and hand them in."""
        self.press("Send my answers")
        self.hand_in()

    def hand_in(self) -> None:
        """The last press in the frame; with scripts, it leads to what became of the work."""
        self.press("Submit")
        if self.scripts:
            expect(self.page.get_by_text("Your work has been submitted", exact=False)).to_have_count(1)
            expect(self.page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
        else:
            expect(self.frame.get_by_role("heading", name="Your work has been submitted")).to_be_visible()

    def judge_quickly(self, opinion: Opinion = careful) -> None:
        """Judge all 13: the first and the last here, and what is between them in the database."""
        self.judge([1], opinion=opinion)
        expect(self.frame.get_by_text("2 of 13", exact=True)).to_be_visible()
        address = self.document.url
        work = assignment_of(urlsplit(address).path.split("/")[2])
        careful_one = opinion is careful
        factories.judge(work, only=range(2, 13), fail_tests=not careful_one, prefer="a" if careful_one else "b")
        self.document.goto(address.replace("/2/", "/13/"))
        self.judge([13], opinion=opinion)

    def do(self, title: str, opinion: Opinion = careful) -> str:
        """All of a task, to the end. The assignment's id at the marketplace."""
        assignment_id = self.accept(title)
        self.begin()
        self.judge_quickly(opinion)
        self.finish()
        return assignment_id

    # --- what must be true afterwards

    def refusals(self) -> list[str]:
        """Answers of either site that were not a success."""
        return [f"{answer.status} {answer.url}" for answer in self.answers if answer.status >= 400]

    def platforms_cookies(self) -> list[str]:
        """What the site tried to set, and what the browser sent it or keeps of it."""
        ours = [answer for answer in self.answers if answer.url.startswith(self.site)]
        assert ours
        tried = [value for answer in ours if (value := answer.header_value("set-cookie"))]
        sent = [value for answer in ours if (value := answer.request.header_value("cookie"))]
        host = urlsplit(self.site).hostname
        return tried + sent + [str(cookie) for cookie in self.context.cookies() if cookie["domain"] == host]

    def frame_is_well(self) -> None:
        """What stands in the frame is as wide as the frame, and axe finds nothing wrong with it."""
        assert (overflow(self.page), overflow(self.document)) == (0, 0), self.document.url
        assert violations(self.document) == [], self.document.url


class Member(Visitor):
    """A visitor with an account and a good record."""

    def __init__(self, browser: Browser, marketplace: Marketplace, site: str, email: str, **options: Any) -> None:
        super().__init__(browser, marketplace, site, **options)
        made = marketplace.test("worker", email=email, password=PASSWORD, vouched_approved=20_000)
        self.id = str(made["worker_id"])
        person = Person(marketplace, email)
        self.context.add_cookies([person.session() | {"url": marketplace.url}])  # type: ignore[list-item]


ON_A_PHONE = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
