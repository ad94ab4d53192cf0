"""Where several people judge a pair, each sees another order and, every second time, the other sides; and whatever was
shown, a judgment is for the passage that was chosen.
"""

import json
from collections import Counter
from itertools import count
from random import Random
from typing import Any, NamedTuple

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from evaluation.files.preferences import Preference
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.models import Judgment
from pools.models import Campaign
from results.inputs import inputs_of
from runs.models import Collection
from tasks import links
from tasks import services as task_services
from tasks.models import Assignment
from tasks.packing import MOST_LAYOUTS, PackedItem, lay_out
from tests import factories

_number = count()


class Seen(NamedTuple):
    """What a page showed, and what was chosen on it, as texts."""

    question: str
    left: str
    right: str
    chosen: str


def words(page: LexborHTMLParser, selector: str) -> str:
    node = page.css_first(selector)
    assert node is not None
    return " ".join(node.text().split())


def walk(client: Client, assignment: Assignment, random: Random, *, fails: bool) -> dict[int, Seen]:
    """Judge a whole HIT on its pages, as somebody who reads what is on them, with a second thought now and then."""
    token = links.assignment_token(assignment)
    pairs: dict[int, Seen] = {}
    for position in range(1, assignment.items.count() + 1):
        address = reverse("judging:item", args=[token, position])
        page = LexborHTMLParser(client.get(address).content.decode())
        texts = {side: words(page, f"[data-side={side}] .text") for side in ("left", "right")}
        question = words(page, "form#item h1")
        if question.startswith("test question"):
            start = "Something else" if fails else "The relevant"
            side = next(side for side, text in texts.items() if text.startswith(start))
        else:
            side = random.choice(("left", "right"))
        for chosen in ([{"left": "right", "right": "left"}[side]] if random.random() < 0.3 else []) + [side]:
            stamp = page.css_first("form#item input[name=shown]")
            assert stamp is not None
            assert client.post(address, {"preferred": chosen, "shown": stamp.attributes["value"]}).status_code == 303
        marked = LexborHTMLParser(client.get(address).content.decode()).css_first(".passage.chosen")
        assert marked is not None
        assert marked.attributes["data-side"] == side
        pairs[position] = Seen(question, texts["left"], texts["right"], texts[side])
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    return pairs


def stored(assignment: Assignment) -> dict[int, tuple[str, str]]:
    """By position, the text that was preferred and the other, as the judgments have it."""
    texts_at = {}
    for judgment in judgment_selectors.effective(assignment).values():
        item = judgment.item
        if item.pair is not None:
            texts = (item.pair.a.text, item.pair.b.text)
        else:
            assert item.test is not None
            texts = (item.test.relevant_text, item.test.off_topic_text)
        texts_at[item.position] = texts if judgment.prefers_a else texts[::-1]
    return texts_at


@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(1, 1 << 40), overlap=st.integers(2, MOST_LAYOUTS + 2), careless=st.sets(st.integers(0, 6)))
def test_a_judgment_is_for_the_passage_that_was_on_the_chosen_side(
    collection: Collection, client: Client, seed: int, overlap: int, careless: set[int]
) -> None:
    name = f"campaign {next(_number)}"
    how = {"seed": seed, "overlap": overlap, "pairs_per_hit": 4, "tests_per_hit": 2, "reuse": "nothing"}
    campaign = factories.campaign(collection, name, **how)
    random = Random(seed)
    walked: dict[int, dict[int, Seen]] = {}
    for number in count():
        try:
            assignment = factories.take(factories.worker(campaign, f"{name}, {number}"), campaign)
        except task_services.NoWork:
            break
        walked[assignment.pk] = walk(client, assignment, random, fails=number in careless)
        saved = stored(assignment)
        assert {position: pair.chosen for position, pair in walked[assignment.pk].items()} == {
            position: preferred for position, (preferred, _other) in saved.items()
        }
    pids = {" ".join(text.split()): pid for pid, text in collection.passages.values_list("pid", "text")}
    assert_counted(campaign, walked, pids)
    assert_exported(campaign, walked, pids)
    assert_balanced(campaign)


def assert_counted(campaign: Campaign, walked: dict[int, dict[int, Seen]], pids: dict[str, str]) -> None:
    """What counts is what was chosen in the work that was accepted, and nothing else."""
    accepted = set(campaign.assignments.filter(verdict="accepted").values_list("id", flat=True))
    questions = {text: qid for qid, text in factories.QUERIES.items()}
    expected = sorted(
        Preference(questions[pair.question], *sorted((pids[pair.left], pids[pair.right])), pids[pair.chosen])
        for pk in accepted
        for pair in walked[pk].values()
        if pair.left in pids
    )
    assert Evidence(campaign).preferences == expected
    assert Evidence(campaign).waiting == set()
    votes = inputs_of(campaign).votes
    assert sorted((vote.query, vote.a, vote.b, vote.preferred) for vote in votes) == expected
    assert campaign.hits.filter(needed__gt=0).count() == 0


def assert_exported(campaign: Campaign, walked: dict[int, dict[int, Seen]], pids: dict[str, str]) -> None:
    """Each exported judgment says what was on the left, at which position, and what was chosen."""
    lines = factories.exported(campaign)["judgments.jsonl"].decode().splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    newest = [row for row in records if row["kind"] == "pair" and not row["superseded"]]
    assert len(newest) == sum(pair.left in pids for pages in walked.values() for pair in pages.values())
    for row in newest:
        pair = walked[row["assignment"]][row["position"]]
        assert (row["left"], row["preferred"]) == (pids[pair.left], pids[pair.chosen])
        assert {row["a"], row["b"]} == {pids[pair.left], pids[pair.right]}


def assert_balanced(campaign: Campaign) -> None:
    """Of the accepted judgments of each pair, as many showed the one passage on the left as the other, in each two."""
    for hit in campaign.hits.all():
        used = Counter(hit.assignments.filter(verdict="accepted").values_list("layout", flat=True))
        layouts = min(campaign.overlap, MOST_LAYOUTS)
        least = campaign.overlap // layouts
        assert all(least <= used[layout] <= least + 1 for layout in range(layouts))
        for first in range(0, layouts - 1, 2):
            sides, turned = (dict(hit.items.filter(layout=at).exclude(pair=None).values_list("pair_id", "a_left"))
                             for at in (first, first + 1))  # fmt: skip
            assert sides == {pair: not left for pair, left in turned.items()}


@given(size=st.integers(1, 13), layouts=st.integers(1, 6), seed=st.text(max_size=9))
def test_layouts_hold_the_same_items_begin_as_packed_and_come_from_the_seed(size: int, layouts: int, seed: str) -> None:
    packed = [PackedItem(number, None, number % 3 == 0) for number in range(size)]
    orders = lay_out(packed, layouts, seed=seed)
    assert orders[0] == packed
    assert len(orders) == layouts
    assert all(sorted(item.pair or 0 for item in items) == list(range(size)) for items in orders)
    assert lay_out(packed, layouts, seed=seed) == orders
    for first, second in zip(orders[::2], orders[1::2], strict=False):
        sides = {item.pair: item.a_left for item in first}
        assert sides == {item.pair: not item.a_left for item in second}


def test_layouts_have_orders_of_their_own() -> None:
    packed = [PackedItem(number, None, True) for number in range(13)]
    orders = {tuple(item.pair for item in items) for items in lay_out(packed, 4, seed="1 1")}
    assert len(orders) == 4


def test_a_campaign_that_judges_each_pair_once_has_one_layout(campaign: Campaign) -> None:
    assert set(campaign.hits.values_list("items__layout", flat=True)) == {0}


def test_work_that_is_excluded_gives_its_layout_to_the_next(collection: Collection) -> None:
    campaign = factories.campaign(collection, overlap=2)
    workers = [factories.worker(campaign, f"judge {number}") for number in range(4)]
    first, second = (factories.take(worker, campaign) for worker in workers[:2])
    assert (first.layout, second.layout) == (0, 1)
    factories.judge(second, fail_tests=True)
    judgment_services.assignment_finish(assignment=second, at=timezone.now())
    third = factories.take(workers[2], campaign)
    assert third.layout == 1
    task_services.assignment_lapse(assignment=first, at=timezone.now())
    assert factories.take(workers[3], campaign).layout == 0


def test_hits_that_were_packed_with_one_layout_keep_it(collection: Collection) -> None:
    """As those of campaigns that were open when layouts came."""
    campaign = factories.campaign(collection, overlap=3)
    campaign.hits.get().items.filter(layout__gt=0).delete()
    for number in range(3):
        assert factories.do(factories.worker(campaign, f"judge {number}"), campaign).layout == 0
    assert Evidence(campaign).waiting == set()
    assert Judgment.objects.filter(assignment__campaign=campaign).exclude(item__layout=0).count() == 0


@pytest.mark.parametrize("overlap", [1, 3])
def test_a_hit_is_as_long_as_its_layout_wherever_items_are_counted(
    collection: Collection, client: Client, overlap: int
) -> None:
    campaign = factories.campaign(collection, overlap=overlap)
    hit = campaign.hits.get()
    worker = factories.worker(campaign, "judge")
    done = factories.do(worker, campaign)
    assert (done.judged, done.owed) == (10, campaign.reward)
    hit.refresh_from_db()
    assert hit.needed == overlap - 1
    assert hit.items.count() == 10 * overlap
    receipt = client.get(reverse("judging:done", args=[links.assignment_token(done)])).content.decode()
    home = client.get(links.home_address(worker, campaign)).content.decode()
    assert "10 of 10" in receipt
    assert f"10 of {10 * overlap}" not in home or overlap == 1
