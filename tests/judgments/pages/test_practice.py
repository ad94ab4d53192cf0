"""Practice before the first task, and the check with a second try."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.forms import CampaignForm
from core.errors import Refused
from core.models import AuditEntry, Lab, User
from judgments.models import Judgment, PairReport
from judgments.practising import practice_answer
from pools.models import Campaign
from pools.practice import read_practice_pairs
from protection.erasing import personal_data
from protection.ethics import ethics_summary
from runs.models import Collection
from tasks import links, trials
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Practice, TestPair
from tasks.practice import standing_of
from tests import factories
from tests.judgments.pages.test_languages import english_on
from tests.races import beside

PAIRS = (
    "where is it\tIt is here.\tIt is a thing.\tOnly one says where.\nwhen was it\tIn 1987.\tLong ago.\tOne is exact."
)


def practised(of: Collection, practice: str, **settings: object) -> Campaign:
    """An open campaign with two practice pairs."""
    settings = {"practice_pairs": PAIRS, "pairs_per_hit": 3, "tests_per_hit": 2} | settings
    return factories.campaign(of, practice, practice=practice, **settings)


def begin(campaign: Campaign, name: str = "alice") -> tuple[Assignment, str]:
    """A worker's first assignment, and its token."""
    assignment = factories.take(factories.worker(campaign, name), campaign)
    return assignment, links.assignment_token(assignment)


def answer(browser: Client, token: str, position: int, right: bool) -> str:
    """Answer a practice pair; the page of feedback that follows."""
    address = reverse("judging:practice_pair", args=[token, position])
    page = browser.get(address).content.decode()
    stamp = re.search(r'name="shown" value="([^"]+)"', page)[1]
    left = re.search(r'aria-label="[^"]*A"[^>]*><p[^>]*>([^<]+)<', page)[1]
    better = "left" if left in ("It is here.", "In 1987.") else "right"
    side = better if right else {"left": "right", "right": "left"}[better]
    return browser.post(address, {"preferred": side, "shown": stamp}, follow=True).content.decode()


def onward_of(page: str) -> str:
    return re.search(r'class="button primary" href="([^"]+)"', page)[1]


def test_practice_comes_before_the_first_task_explains_and_is_no_judgment(collection: Collection) -> None:
    campaign = practised(collection, "required")
    assignment, token = begin(campaign)
    item, browser = reverse("judging:item", args=[token, 1]), Client()
    preview = browser.get(reverse("judging:preview", args=[campaign.link])).content.decode()
    assert "Before your first task, and not paid separately." in preview
    first = reverse("judging:practice_pair", args=[token, 1])
    assert browser.get(item, follow=True).redirect_chain[-1][0] == first
    instructions = browser.get(reverse("judging:instructions", args=[token])).content.decode()
    assert "You compare 2 practice pairs." in instructions
    assert "Skip practice" not in instructions
    assert browser.post(reverse("judging:practice", args=[token])).status_code == 409
    feedback = answer(browser, token, 1, right=False)
    assert "is better here." in feedback
    assert "Only one says where." in feedback
    phone = Client()  # no cookie: it goes on where the other device was
    assert phone.get(item, follow=True).redirect_chain[-1][0] == reverse("judging:practice_pair", args=[token, 2])
    again = phone.post(
        first,
        {
            "preferred": "left",
            "shown": re.search(
                r'value="([^"]+:[^"]+)"', phone.get(reverse("judging:practice_pair", args=[token, 2])).content.decode()
            )[1],
        },
    )
    assert again.status_code == 400  # that page belongs to another pair
    feedback = answer(phone, token, 2, right=True)
    assert "That is right." in feedback
    summary = phone.get(onward_of(feedback)).content.decode()
    assert "You chose the better passage in 1 of 2." in summary
    assert onward_of(summary) == item
    assert browser.get(item).status_code == 200
    assert browser.post(reverse("judging:practice", args=[token]), follow=True).redirect_chain[-1][0] == first
    assert browser.get(item).status_code == 200  # practising again takes nothing away
    assert not Judgment.objects.exists()
    factories.judge(assignment)
    browser.post(reverse("judging:finish", args=[token]))
    assignment.refresh_from_db()
    assert (assignment.verdict, str(assignment.owed)) == ("accepted", "2.00")
    assert len(factories.exported(campaign)["judgments.jsonl"].splitlines()) == 5
    second = links.assignment_token(factories.take(assignment.worker, campaign))
    assert browser.get(reverse("judging:item", args=[second, 1])).status_code == 200  # once for each worker
    goes = personal_data(assignment.worker)["practice"]
    assert [(go["state"], go["right"]) for go in goes] == [("done", 1), ("active", 0)]


def test_practice_is_skipped_only_where_the_campaign_lets_workers(collection: Collection) -> None:
    _assignment, token = begin(practised(collection, "optional"))
    browser = Client()
    assert "Skip practice" in browser.get(reverse("judging:instructions", args=[token])).content.decode()
    skipped = browser.post(reverse("judging:practice", args=[token]))
    assert skipped["Location"] == reverse("judging:item", args=[token, 1])
    assert browser.get(skipped["Location"]).status_code == 200
    assert Practice.objects.get().state == "skipped"


def test_a_check_has_a_second_try_and_who_fails_it_leaves_free_of_harm(collection: Collection) -> None:
    campaign = practised(collection, "check", leaves_per_worker=1)
    assignment, token = begin(campaign)
    browser, summary = Client(), reverse("judging:practice", args=[token])
    sides = [standing_of(assignment.worker, campaign).shown(n).better for n in (1, 2)]
    answer(browser, token, 1, right=True)
    failed = answer(browser, token, 2, right=False)
    page = browser.get(onward_of(failed)).content.decode()
    assert "Please try once more" in page
    assert "You chose the better passage in 1 of 2, and 2 are needed." in page
    assert browser.get(reverse("judging:item", args=[token, 1]))["Location"] == summary
    turned = [standing_of(assignment.worker, campaign).shown(n).better for n in (1, 2)]
    assert all(before != after for before, after in zip(sides, turned, strict=True))
    answer(browser, token, 1, right=False)
    answer(browser, token, 2, right=True)
    page = browser.get(summary).content.decode()
    assert "Thank you for trying" in page
    assert "does not count against you" in page
    assignment.refresh_from_db()
    assert (assignment.state, assignment.owed) == ("left", 0)
    assert task_selectors.left_count(assignment.worker, campaign).left == 0
    assert assignment.worker.barred_at is None
    home = browser.get(reverse("judging:home", args=[links.home_token(assignment.worker, campaign)])).content.decode()
    assert "Thank you for trying." in home
    with pytest.raises(task_services.NoWork, match="Thank you for trying"):
        factories.take(assignment.worker, campaign)
    bob, other = begin(campaign, "bob")  # the HIT waits for somebody else at once
    assert bob.hit_id == assignment.hit_id
    answer(browser, other, 1, right=True)
    answer(browser, other, 2, right=True)
    assert browser.get(reverse("judging:item", args=[other, 1])).status_code == 200


def test_the_researcher_sees_how_workers_did(client: Client, rita: User, collection: Collection) -> None:
    campaign = practised(collection, "check", practice_right=1)
    for name, rights in (("alice", (True, True)), ("bob", (False, False)), ("carol", (False, False, False, False))):
        _assignment, token = begin(campaign, name)
        for number, right in enumerate(rights):
            answer(Client(), token, number % 2 + 1, right)
    client.force_login(rita)
    page = client.get(reverse("tasks:practice", args=[campaign.pk])).content.decode()
    counts = dict(re.findall(r"<dt>([^<]+)</dt><dd>(\d+)</dd>", page))
    assert {name: counts[name] for name in ("Passed", "Failed once, can try again", "Failed twice, get no HIT")} == {
        "Passed": "1", "Failed once, can try again": "1", "Failed twice, get no HIT": "1",
    }  # fmt: skip
    assert "can no longer be changed" in page
    assert client.post(reverse("tasks:practice", args=[campaign.pk]), {"remove": "1"}).status_code == 409


def test_a_test_pair_that_is_practised_is_in_no_hit(page: Client, rita: User, collection: Collection) -> None:
    draft = factories.campaign(collection, "draft", start=False, practice="required", tests_per_hit=2, pairs_per_hit=3)
    address = reverse("tasks:practice", args=[draft.pk])
    with pytest.raises(Refused, match="no practice pairs"):
        task_services.campaign_launch(campaign=draft)
    test = draft.test_pairs.order_by("id").first()
    assert page.post(address, {"test": test.pk, "explanation": ""}).status_code == 400
    assert page.post(address, {"test": test.pk, "explanation": "Only one is about it."}).status_code == 303
    pair = {"question": "q", "better": "good\nand long", "worse": "bad", "explanation": "because"}
    assert page.post(address, pair).status_code == 303
    assert not AuditEntry.objects.filter(why__in=["Only one is about it.", "because"]).exists()
    assert page.post(address, pair | {"worse": "good and long"}).status_code == 409
    draft.refresh_from_db()
    assert [pair.better for pair in read_practice_pairs(draft.practice_pairs)] == [test.relevant_text, "good and long"]
    test.refresh_from_db()
    assert test.state == TestPair.State.DECLINED
    task_services.test_pair_decide(test_pair=test, confirm=True, by=rita, at=timezone.now())
    with pytest.raises(Refused, match="is a practice pair and a test pair"):
        task_services.campaign_launch(campaign=draft)
    page.post(address, {"remove": "1"})
    copy = CampaignForm.copying(Campaign.objects.get(pk=draft.pk), collection)
    assert (copy["practice"].value(), copy["practice_pairs"].value()) == ("required", "q\tgood and long\tbad\tbecause")
    factories.begin(draft)
    assert draft.state == Campaign.State.OPEN


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\tb\tc", "line 1: 3 columns"), ("\na\tb\tb\tc", "line 2: the two passages are the same"),
     ("\n".join(f"q{n}\tb\tc\td" for n in range(21)), "at most 20")],
)  # fmt: skip
def test_lines_that_are_no_practice_pairs_are_named(text: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        read_practice_pairs(text)


def test_time_and_pay_count_practice_and_measured_times_leave_it_out(collection: Collection) -> None:
    campaign = practised(collection, "required")
    pace = task_selectors.expected_pace(campaign)
    assert pace.practice == 1
    assert pace.first_hourly == (pace.reward * 60 / (pace.minutes + 1)).quantize(pace.reward)
    summary = ethics_summary(campaign, timezone.now())
    text = " ".join(text for part in summary.parts for text in part.paragraphs)
    assert "2 practice pairs" in text
    assert f"With practice, the first task takes about {pace.minutes + 1} minutes" in text
    at = timezone.now()
    assignment, _token = begin(campaign)
    for position in (1, 2):
        practice_answer(
            assignment=assignment, position=position, preferred="left", shown_at=at, at=at + timedelta(minutes=5)
        )
    Assignment.objects.update(state="submitted", verdict="accepted", taken_at=at, finished_at=at + timedelta(minutes=8))
    assert task_selectors._seconds_taken(campaign) == [3 * 60]


@pytest.mark.django_db(transaction=True)
def test_answers_given_in_two_tasks_at_once_are_both_kept_in_one_go(collection: Collection) -> None:
    campaign = practised(collection, "required")
    first, _token = begin(campaign)
    other = campaign.hits.exclude(pk=first.hit_id).first()
    at = timezone.now()
    ids = {"campaign": campaign, "hit": other, "worker": first.worker, "platform_assignment_id": "3ABC"}
    second = Assignment.objects.create(**ids, taken_at=at, leased_until=first.leased_until)

    def give(assignment: Assignment, position: int) -> int:
        return practice_answer(assignment=assignment, position=position, preferred="left", shown_at=at, at=at)

    with beside(lambda: give(second, 2)) as meanwhile:
        give(first, 1)
    assert meanwhile[0].result() == 1
    (go,) = Practice.objects.all()
    assert (go.answers, go.state) == ({"1": "left", "2": "left"}, Practice.State.DONE)


def test_who_has_not_practised_can_hand_in_nothing(collection: Collection) -> None:
    campaign = practised(collection, "check")
    assignment, token = begin(campaign)
    browser = Client()
    for item in assignment.items:
        address = reverse("judging:report", args=[token, item.position])
        assert browser.post(address, {"reason": "broken"}).status_code == 409
    assert browser.post(reverse("judging:finish", args=[token])).status_code == 409
    assignment.refresh_from_db()
    assert (assignment.state, assignment.owed) == ("active", 0)
    assert not PairReport.objects.exists()
    for position in (1, 2):
        answer(browser, token, position, right=True)
    assert browser.post(reverse("judging:report", args=[token, 1]), {"reason": "broken"}).status_code == 303


def test_practice_never_tells_the_answer_of_what_is_asked(collection: Collection) -> None:
    query = collection.queries.get(qid="q1")
    lines = f"{query.text}\tIt is here.\tIt is a thing.\tOnly one says where."
    with pytest.raises(Refused, match="asks about the same query"):
        practised(collection, "required", practice_pairs=lines)

    first = practised(collection, "optional")
    test = first.test_pairs.filter(state=TestPair.State.CONFIRMED).earliest("pk")
    line = f"{test.question}\t{test.relevant_text}\tanother\tIt is so."
    with pytest.raises(Refused, match="is a practice pair and a test pair"):
        practised(collection, "check", practice_pairs=line)


def test_the_labs_floor_counts_practice(collection: Collection) -> None:
    draft = factories.campaign(collection, "draft", start=False, practice="required", practice_pairs=PAIRS)
    pace = task_selectors.expected_pace(draft)
    Lab.objects.filter(pk=draft.lab_id).update(pay_floor=pace.hourly)  # what a HIT without practice pays
    draft.lab.refresh_from_db()
    assert ["With practice" in text for text in task_selectors.lacking_pay(draft)] == [True]


def test_a_trial_shows_practice_and_stores_nothing(collection: Collection) -> None:
    campaign = practised(collection, "check")
    browser = Client()
    begun = browser.post(reverse("judging:join", args=[trials.trial_link(campaign).token]))
    token = begun["Location"].split("/")[2]
    assert "Practice first" in browser.get(begun["Location"]).content.decode()
    item = reverse("judging:item", args=[token, 1])
    assert browser.get(item)["Location"] == reverse("judging:practice", args=[token])
    for right in (False, True):
        for position in (1, 2):
            assert "Trial: nothing is stored." in answer(browser, token, position, right)
    assert browser.get(item).status_code == 200
    assert not Practice.objects.exists()


def test_practice_in_arabic_has_no_english(collection: Collection) -> None:
    pairs = "\n".join(f"{n}سؤال\tأفضل {n}\tأسوأ {n}\tسبب {n}" for n in (1, 2))
    campaign = practised(collection, "check", language="ar", practice_pairs=pairs)
    _assignment, token = begin(campaign)
    browser, first = Client(), reverse("judging:practice_pair", args=[token, 1])
    pages = [browser.get(reverse("judging:instructions", args=[token])), browser.get(first)]
    for _try in (1, 2):
        for position in (1, 2):
            address = reverse("judging:practice_pair", args=[token, position])
            page = browser.get(address).content.decode()
            worse = "right" if page.index("أفضل ") < page.index("أسوأ ") else "left"
            stamp = re.search(r'name="shown" value="([^"]+)"', page)[1]
            pages.append(browser.post(address, {"preferred": worse, "shown": stamp}, follow=True))
        pages.append(browser.get(reverse("judging:practice", args=[token])))
    assert [english_on(page.content.decode()) for page in pages] == [set()] * len(pages)
