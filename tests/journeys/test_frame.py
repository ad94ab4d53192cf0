"""The site's pages in the marketplace's frame: what reloading, going back and pressing twice do, on a phone too.

The tasks here are short: four pairs and three test pairs.
"""

from collections.abc import Callable

from playwright.sync_api import expect

from judgments.models import Acceptance, Judgment
from tasks.models import Assignment, Worker
from tests.journeys.conftest import Published
from tests.journeys.people import ON_A_PHONE, Member, Visitor, careful
from tests.marketplace.server import Marketplace

Come = Callable[..., Visitor]
Join = Callable[..., Member]
Publish = Callable[..., Published]


def test_two_tabs_reloads_going_back_and_pressing_twice_are_one_submission(member: Join, publish: Publish) -> None:
    published = publish(pairs=4)
    nora = member()
    nora.look_at(published.title)
    first, second = nora.page, nora.context.new_page()
    second.goto(first.url)
    for tab in (first, second):
        tab.get_by_role("button", name="Accept this task").click()
        tab.wait_for_url("**/work/*")
    assert first.url == second.url
    inside = second.frame_locator("iframe")
    expect(inside.get_by_role("button", name="Agree and begin")).to_be_visible()
    nora.press("Agree and begin")
    inside.get_by_role("button", name="Agree and begin").click()
    expect(inside.get_by_role("heading", name="How to judge")).to_be_visible()
    inside.get_by_role("link", name="Begin").click()
    expect(inside.get_by_text("1 of 7", exact=True)).to_be_visible()
    first.bring_to_front()
    nora.press("Begin")
    nora.judge(range(1, 4), 7)

    expect(nora.frame.get_by_text("4 of 7", exact=True)).to_be_visible()
    nora.reload_frame()
    nora.choose(4, 7)
    nora.go_back()
    expect(nora.frame.get_by_text("3 of 7", exact=True)).to_be_visible()
    expect(nora.frame.locator("button[aria-pressed=true]")).to_have_count(1)
    nora.page.reload()  # the frame begins anew
    nora.press("Continue with question 4")
    nora.judge(range(4, 8), 7)
    nora.press("Send my answers")
    expect(nora.frame.get_by_role("button", name="Submit")).to_be_visible()
    nora.reload_frame()
    nora.frame.get_by_role("button", name="Submit").dblclick()
    expect(nora.page.locator(".notice.good")).to_be_focused()
    nora.page.go_back()
    expect(nora.page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    second.bring_to_front()
    inside.locator("button[aria-pressed=false]").first.click()
    expect(inside.get_by_role("alert")).to_contain_text("You have already finished this task")
    inside.get_by_role("link", name="See your receipt").click()  # the page around it sees that all is submitted
    expect(second.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    published.jobs()

    published.agree("2.00")
    work = Assignment.objects.get()
    assert (Worker.objects.count(), work.submission.status, Acceptance.objects.count()) == (1, "Approved", 4)
    assert Judgment.objects.filter(assignment=work).count() == 7


def test_all_of_it_works_without_javascript(member: Join, publish: Publish) -> None:
    published = publish(pairs=4)
    nora = member(java_script_enabled=False)
    nora.accept(published.title)
    nora.begin()
    for position in range(1, 8):
        side = nora.choose(position, 7)
        nora.frame.locator(f"button[value={side}]").click()
        expect(nora.frame.locator(f"button[value={side}]")).to_have_attribute("aria-pressed", "true")
        nora.frame.get_by_role("link", name="Finish" if position == 7 else "Continue").click()
    nora.finish()
    nora.page.get_by_role("link", name="I have submitted it: continue").click()
    expect(nora.page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()

    published.jobs()

    published.agree("2.00")
    assert Acceptance.objects.count() == 4
    assert nora.earnings()["Owed to you"] == "$2.00"
    assert (nora.platforms_cookies(), nora.refusals()) == ([], [])


def test_an_invited_worker_does_it_on_a_phone(come: Come, publish: Publish, marketplace: Marketplace) -> None:
    published = publish(pairs=4)
    nora = come(**ON_A_PHONE)
    invitation = marketplace.invite(vouched_approved=20_000)
    nora.register(invitation, "nora@phone.example.org")
    nora.look_at(published.title)
    nora.frame_is_well()
    nora.page.get_by_role("button", name="Accept this task").tap()
    for words in ("Agree and begin", "Begin"):
        expect(nora.frame.get_by_text(words, exact=True)).to_be_visible()
        nora.frame_is_well()
        nora.press(words)
    nora.judge(range(1, 6), 7)
    nora.choose(6, 7)
    nora.frame_is_well()
    expect(nora.frame.locator("#left").or_(nora.frame.get_by_text("My page"))).to_have_count(0)
    nora.frame.locator("a.leave").tap()
    expect(nora.frame.get_by_role("heading", name="Leave now?")).to_be_visible()
    nora.frame_is_well()
    nora.press("Continue judging")
    nora.press("Continue with question 6")
    nora.judge([6], 7)
    side = nora.choose(7, 7, careful)
    nora.frame.locator(f"button[value={side}]").tap()
    expect(nora.frame.locator("#state")).to_have_text("Saved")
    nora.frame_is_well()
    nora.frame.locator("#continue").tap()
    expect(nora.frame.get_by_role("button", name="Send my answers")).to_be_visible()
    nora.frame_is_well()
    nora.press("Send my answers")
    expect(nora.frame.get_by_role("button", name="Submit")).to_be_visible()
    nora.frame_is_well()
    nora.hand_in()

    published.jobs()

    published.agree("2.00")
    assert Acceptance.objects.count() == 4
    assert nora.earnings()["Owed to you"] == "$2.00"
    assert (nora.platforms_cookies(), nora.refusals()) == ([], [])
