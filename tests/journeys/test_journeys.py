"""A worker's way from the marketplace's door through the site's frame to the money, in a real browser."""

import re
from collections.abc import Callable
from decimal import Decimal
from urllib.parse import quote

from playwright.sync_api import expect

from judgments.evidence import Evidence
from judgments.models import Acceptance, Judgment
from platforms.reviewing.compensations import compensation_offer
from tasks.models import Assignment, Consent, Hit, Worker
from tests.journeys.conftest import Published
from tests.journeys.people import Member, Visitor, careless
from tests.marketplace.server import Marketplace

Come = Callable[..., Visitor]
Join = Callable[..., Member]
Publish = Callable[..., Published]


def reach(visitor: Visitor, words: str) -> None:
    """Go with the Tab key to a link or button of the marketplace's page, or in its frame."""
    for _press in range(60):
        visitor.page.keyboard.press("Tab")
        inside = visitor.page.evaluate("document.activeElement.tagName") == "IFRAME"
        document = visitor.document if inside else visitor.page.main_frame
        if words in document.evaluate("document.activeElement.innerText"):
            return
    raise AssertionError(f"no Tab leads to “{words}”")


def test_a_worker_registers_judges_with_the_keyboard_alone_and_is_paid(come: Come, publish: Publish) -> None:
    published = publish(pairs=4)
    nora = come()
    nora.register("/register", "nora@example.org")
    nora.look_at(published.title)
    expect(nora.frame.locator("dl")).to_contain_text("$2.00")
    expect(nora.frame.get_by_text("reward is $0.10. The rest, up to $1.90, is added as a bonus")).to_be_visible()
    assert (Worker.objects.count(), Assignment.objects.count(), Consent.objects.count()) == (0, 0, 0)

    reach(nora, "Accept this task")
    nora.page.keyboard.press("Enter")
    for words in ("Agree and begin", "Begin"):
        expect(nora.frame.get_by_text(words, exact=True)).to_be_visible()
        reach(nora, words)
        nora.page.keyboard.press("Enter")
    for position in range(1, 8):
        nora.page.keyboard.press("a" if nora.choose(position, 7) == "left" else "b")
        expect(nora.frame.locator("#state")).to_have_text("Saved")
        assert nora.page.evaluate("document.documentElement.scrollHeight <= innerHeight")  # what scrolls is the frame
        nora.page.keyboard.press("Enter")
    for words in ("Send my answers", "Submit"):
        expect(nora.frame.get_by_role("button", name=words)).to_be_visible()
        reach(nora, words)
        nora.page.keyboard.press("Enter")
    expect(nora.page.locator(".notice.good")).to_be_focused()
    expect(nora.page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    assert not Acceptance.objects.exists()

    published.jobs()

    assert published.paid() == [("reward", "0.10"), ("bonus", "1.90")]
    published.agree("2.00")
    work = Assignment.objects.get()
    assert (work.state, work.verdict, work.judged) == ("submitted", "accepted", 7)
    assert set(Acceptance.objects.values_list("assignment", flat=True)) == {work.pk}
    assert Acceptance.objects.count() == 4
    earned = nora.earnings()
    assert (earned["Owed to you"], earned["Rewards"], earned["Bonuses"]) == ("$2.00", "$0.10", "$1.90")
    assert nora.platforms_cookies() == []
    assert nora.refusals() == []


def test_who_leaves_after_6_of_13_is_paid_for_6_and_the_task_is_asked_for_again(member: Join, publish: Publish) -> None:
    published = publish()
    leo, nora = member(), member()
    leo.accept(published.title)
    leo.begin()
    leo.frame.locator("a.leave").click()
    expect(leo.frame.get_by_text("so there is nothing to pay.")).to_be_visible()
    leo.press("Continue judging")
    leo.press("Begin")
    leo.judge(range(1, 7))
    leo.frame.locator("a.leave").click()
    expect(leo.frame.get_by_text("You are paid $0.92 for them.")).to_be_visible()
    leo.press("Leave now")
    expect(leo.frame.get_by_text("reward is $0.10, and $0.82 is added as a bonus")).to_be_visible()
    leo.hand_in()

    published.jobs()

    assert published.paid() == [("reward", "0.10"), ("bonus", "0.82")]
    published.agree("0.92")
    left = Assignment.objects.get()
    assert (left.state, left.judged, left.verdict) == ("left", 6, "unchecked")
    assert not Acceptance.objects.exists()
    assert leo.earnings()["Owed to you"] == "$0.92"

    nora.do(published.title)
    published.jobs()

    published.agree("2.92")
    assert Acceptance.objects.exclude(assignment=left).count() == Acceptance.objects.count() == 10
    assert Hit.objects.get().needed == 0


def test_what_is_given_back_after_3_is_not_paid_and_open_to_another_worker(member: Join, publish: Publish) -> None:
    published = publish()
    leo, nora = member(), member()
    leo.accept(published.title)
    leo.begin()
    leo.judge(range(1, 4))
    leo.give_back()
    published.jobs()
    assert published.paid() == []
    published.agree("0.00")

    nora.do(published.title)
    published.jobs()

    published.agree("2.00")
    assert nora.earnings()["Owed to you"] == "$2.00"
    assert leo.earnings()["Owed to you"] == "$0.00"
    assert Judgment.objects.filter(assignment__worker__external_id=leo.id).count() == 3
    assert set(Acceptance.objects.values_list("worker__external_id", flat=True)) == {nora.id}


def test_when_the_time_runs_out_others_go_on_and_finished_work_is_compensated(
    member: Join, publish: Publish, marketplace: Marketplace
) -> None:
    published = publish()
    leo, nora, will = member(), member(), member()
    leo.accept(published.title)
    leo.begin()
    leo.judge(range(1, 3))
    marketplace.advance(minutes=61)
    leo.judge(range(3, 4))
    expect(leo.page.get_by_role("alert")).to_contain_text("can no longer be submitted")

    nora.accept(published.title)
    nora.begin()
    nora.judge_quickly()
    nora.press("Send my answers")
    marketplace.advance(minutes=61)
    nora.press("Submit")
    expect(nora.frame.get_by_role("heading", name="Time is up")).to_be_visible()
    expect(nora.page.get_by_role("alert")).to_contain_text("can no longer be submitted")
    will.do(published.title)
    published.clock.sleep(3 * 3600)
    published.jobs()
    assert published.paid() == [("reward", "0.10"), ("bonus", "1.90")]
    assert set(Acceptance.objects.values_list("worker__external_id", flat=True)) == {will.id}

    owed = published.publication.payments.get(purpose="compensation")
    assert owed.assignment is not None
    assert (owed.amount, owed.state, owed.assignment.worker.external_id) == (Decimal("2.00"), "owed", nora.id)
    compensation_offer(payment=owed, at=published.now)
    published.jobs()
    for other in (leo, will):
        assert offers(other, published) == 0
    assert offers(nora, published) == 1
    nora.page.get_by_role("button", name=re.compile("^Accept")).click()
    nora.frame.get_by_role("button", name="Accept the payment").click()
    expect(nora.page.get_by_text("Your work has been submitted. Thank you.")).to_be_visible()
    for _round in range(2):
        published.jobs()

    assert [purpose for purpose, _amount in published.paid()] == ["reward", "bonus", "compensation"]
    published.agree("4.00")
    assert nora.earnings()["Owed to you"] == "$2.00"
    assert leo.earnings()["Owed to you"] == "$0.00"
    assert set(Acceptance.objects.values_list("worker__external_id", flat=True)) == {will.id}


def offers(visitor: Visitor, published: Published) -> int:
    """How many tasks of the requester the worker can accept now."""
    visitor.page.goto(f"/tasks?mine=1&words={quote(published.requester.name)}")
    return visitor.page.get_by_role("button", name=re.compile("^Accept")).count()


def test_careless_work_is_paid_and_does_not_count_and_its_worker_gets_no_more(member: Join, publish: Publish) -> None:
    published = publish(hits=2)
    leo, nora = member(), member()
    leo.do(published.title, opinion=careless)
    assert offers(leo, published) == 1

    published.jobs()

    published.agree("2.00")
    bad = Assignment.objects.get()
    assert bad.verdict == "excluded"
    assert leo.earnings()["Owed to you"] == "$2.00"
    assert offers(leo, published) == 0
    for _hit in range(2):
        nora.do(published.title)
        published.jobs()

    published.agree("6.00")
    assert set(Acceptance.objects.values_list("worker__external_id", flat=True)) == {nora.id}
    answers = Evidence(published.campaign).derived.qrels
    assert answers == tuple((f"q{number:02}", f"q{number:02}-new") for number in range(20))
