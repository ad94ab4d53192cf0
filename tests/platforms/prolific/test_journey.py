"""People in a browser on a phone, through both sites: from the double of Prolific to ours and back."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from judgments import quality
from judgments import services as judgment_services
from platforms.models import Payment, Publication, Submission
from platforms.publishing.publications import publication_publish
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from tasks.models import Assignment
from tests import factories
from tests.looking import PHONE, overflow, violations
from tests.platforms.platforms import Clock, drain
from tests.simulation.prolific import Double


class Person:
    """A participant with a browser profile of their own."""

    def __init__(self, chromium: Browser, prolific: Double, name: str) -> None:
        self.prolific = prolific
        context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        self.page: Page = context.new_page()
        context.request.post(f"{prolific.url}/login", form={"name": name})
        self.page.goto(prolific.url)
        self.submission = ""

    def press(self, name: str) -> None:
        """Press a link or a button of the page."""
        what = self.page.locator("main a, main button", has_text=re.compile(rf"^\s*{re.escape(name)}\s*$"))
        with self.page.expect_navigation():
            what.first.tap()

    def take(self, title: str) -> None:
        """Take a place, and go to our site."""
        self.page.get_by_role("link", name=title).tap()
        self.press("Take part in this study")
        expect(self.page.get_by_text("RESERVED")).to_be_visible()
        self.submission = self.page.url.rpartition("/")[2]
        self.press("Open study")
        expect(self.page.get_by_role("heading", name="What you agree to")).to_be_visible()

    def begin(self) -> Assignment:
        """Agree, and look at the first comparison."""
        self.press("Agree and begin")
        self.press("Begin")
        expect(self.page.get_by_text("1 of ", exact=False).first).to_be_visible()
        return Assignment.objects.get(platform_assignment_id=self.submission)

    @property
    def way_back(self) -> Locator:
        """The link of our last page."""
        return self.page.get_by_role("link", name="Return to Prolific")

    def is_well(self) -> None:
        """The page fits a phone, and axe finds nothing wrong with it."""
        assert (overflow(self.page), violations(self.page)) == (0, []), self.page.url

    def state(self) -> str:
        """What the submission is at Prolific."""
        return next(str(row["status"]) for row in self.prolific.rows("submission") if row["id"] == self.submission)


@pytest.fixture
def study(publication: Publication, live_server: Any, settings: Any) -> Publication:
    """The campaign, published from a site that browsers reach."""
    settings.ALLOWED_HOSTS, settings.SITE_URL = ["*"], live_server.url
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    return publication


@pytest.mark.timeout(300)
def test_participants_finish_leave_decline_return_and_come_back_without_a_code(
    study: Publication, chromium: Browser, prolific: Double
) -> None:
    finn = Person(chromium, prolific, "Finn")
    finn.take(study.title)
    finn.is_well()
    work = finn.begin()
    finn.page.locator("button[value=left]").tap()
    expect(finn.page.locator("#state")).to_have_text("Saved")
    factories.judge(work)
    finn.page.goto(finn.page.url.replace("/1/", "/finish/"))
    finn.press("Send my answers")
    expect(finn.way_back).to_be_visible()
    finn.is_well()
    finn.press("Return to Prolific")
    assert finn.state() == "AWAITING REVIEW"

    lea = Person(chromium, prolific, "Lea")
    lea.take(study.title)
    left = lea.begin()
    factories.judge(left, only=[1, 2])
    lea.page.goto(lea.page.url.replace("/1/", "/leave/"))
    lea.is_well()
    lea.press("Leave now")
    expect(lea.way_back).to_be_visible()
    lea.is_well()
    lea.press("Return to Prolific")
    lea.press("Return study")
    assert lea.state() == "RETURNED"

    dan = Person(chromium, prolific, "Dan")
    dan.take(study.title)
    dan.press("No, thank you")
    dan.press("Return to Prolific")
    expect(dan.page.get_by_text("asks you to return")).to_be_visible()
    dan.press("Return study")
    assert dan.state() == "RETURNED"
    assert not Assignment.objects.filter(platform_assignment_id=dan.submission).exists()

    nora = Person(chromium, prolific, "Nora")
    nora.take(study.title)
    factories.judge(unsent := nora.begin())
    judgment_services.assignment_finish(assignment=unsent, at=Clock()())
    nora.page.goto(f"{prolific.url}/submissions/{nora.submission}")
    nora.press("I have no code")
    assert nora.state() == "AWAITING REVIEW"

    tim = Person(chromium, prolific, "Tim")
    publication_sync(publication=study, at=Clock()())  # the HIT that Lea left is for others again
    tim.take(study.title)
    assert tim.begin().hit_id == left.hit_id
    prolific.time_out(tim.submission)
    assert tim.state() == "TIMED-OUT"

    clock = Clock()
    publication_sync(publication=study, at=clock())
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=study, at=clock())
    drain(study, clock)
    assert {finn.state(), nora.state()} == {"APPROVED"}
    assert Submission.objects.filter(status="Approved").count() == 2
    assert {row["submission"] for row in prolific.ledger("reward")} == {finn.submission, nora.submission}
    assert set(Payment.objects.values_list("state", flat=True)) == {"paid"}


@pytest.mark.timeout(300)
def test_a_participant_returns_in_the_middle_and_one_who_fails_a_test_pair_is_paid_and_gets_no_more(
    study: Publication, chromium: Browser, prolific: Double
) -> None:
    rob = Person(chromium, prolific, "Rob")
    rob.take(study.title)
    returned = rob.begin()
    rob.page.goto(f"{prolific.url}/submissions/{rob.submission}")
    rob.press("Return study")
    assert rob.state() == "RETURNED"
    publication_sync(publication=study, at=Clock()())

    fay = Person(chromium, prolific, "Fay")
    fay.take(study.title)
    failing = fay.begin()
    assert failing.hit_id == returned.hit_id  # what Rob returned is for others again
    factories.judge(failing, fail_tests=True)
    fay.page.goto(fay.page.url.replace("/1/", "/finish/"))
    fay.press("Send my answers")
    expect(fay.way_back).to_be_visible()
    fay.is_well()
    fay.press("Return to Prolific")
    assert fay.state() == "AWAITING REVIEW"

    clock = Clock()
    publication_sync(publication=study, at=clock())
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=study, at=clock())
    drain(study, clock)
    failing.refresh_from_db()
    assert (failing.verdict, fay.state()) == ("excluded", "APPROVED")  # the data are not used, and the work is paid
    assert [row["submission"] for row in prolific.ledger("reward")] == [fay.submission]
    assert publication_requeue(publication=study, at=clock()) == 1
    drain(study, clock)
    (row,) = prolific.rows("study")
    assert json.loads(row["body"])["total_available_places"] == 4  # three tasks, and the failed one again
    fay.page.goto(prolific.url)
    expect(fay.page.get_by_text("No studies are open to you.")).to_be_visible()  # she is shut out
    pia = Person(chromium, prolific, "Pia")
    pia.take(study.title)
    assert pia.begin().worker_id != failing.worker_id
