"""What the researcher's pages show of one query, one assignment, and of the outcome as it stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic, perf_counter, sleep, time
from typing import NamedTuple

from django.core.cache import cache
from django.utils import timezone

from core.locks import alone
from core.snapshot import one_moment
from judgments import selectors as judgment_selectors
from judgments.models import Judgment
from pools.models import Campaign
from tasks.models import Assignment, Item

SLOW_SECONDS = 0.5
REST_FACTOR = 30
KEPT_SECONDS = 86_400  # to be shown while somebody counts anew
MOST_WAIT = 2.0  # seconds for which a page waits for another's counting


# --- one query


# --- one assignment


@dataclass(frozen=True)
class ItemDetail:
    """One item of an assignment: what was asked, what stood on each side, and what was preferred.

    `passed` says whether the relevant passage of a test pair was preferred; None for pairs, and where nothing was.
    `changes` is how often the worker changed their mind.
    """

    position: int
    question: str
    left: str
    right: str
    left_name: str
    right_name: str
    pool_id: int | None
    is_test: bool
    judgment: Judgment | None
    seconds: float | None
    changes: int
    passed: bool | None
    accepted: bool


def item_details(assignment: Assignment) -> list[ItemDetail]:
    """Every item of an assignment in the order in which it was shown."""
    items = (
        Item.objects.filter(hit_id=assignment.hit_id)
        .select_related("pair__a", "pair__b", "pair__pool__query", "test__relevant", "test__off_topic")
        .order_by("position")
    )
    judgments: dict[int, list[Judgment]] = {}
    for judgment in Judgment.objects.filter(assignment=assignment).select_related("item").order_by("id"):
        judgments.setdefault(judgment.item_id, []).append(judgment)
    accepted = set(assignment.acceptances.values_list("judgment_id", flat=True))
    return [_item(item, judgments.get(item.pk, []), accepted) for item in items]


def _item(item: Item, judgments: Sequence[Judgment], accepted: set[int]) -> ItemDetail:
    if item.pair is not None:
        pair = item.pair
        question, texts, names = pair.pool.query.text, (pair.a.text, pair.b.text), (pair.a.pid, pair.b.pid)
    else:
        assert item.test is not None  # the database holds that an item is a pair or a test pair
        test = item.test
        question, texts = test.question, (test.relevant_text, test.off_topic_text)
        names = (test.relevant.pid if test.relevant else "", test.off_topic.pid if test.off_topic else "")
    left, right = texts if item.a_left else texts[::-1]
    left_name, right_name = names if item.a_left else names[::-1]
    last = judgments[-1] if judgments else None
    return ItemDetail(
        position=item.position,
        question=question,
        left=left,
        right=right,
        left_name=left_name,
        right_name=right_name,
        pool_id=item.pair.pool_id if item.pair else None,
        is_test=item.pair is None,
        judgment=last,
        seconds=judgment_selectors.duration_of(last) if last else None,
        changes=max(0, len(judgments) - 1),
        passed=last.prefers_a if last and item.pair is None else None,
        accepted=last is not None and last.pk in accepted,
    )


# --- the outcome


class Outcome(NamedTuple):
    """The preference qrels in numbers, as they stood at a time. `deadlocks` are sizes, each with how many there are."""

    at: datetime
    pools: int
    single: int
    deadlocks: list[tuple[int, int]]
    incomplete: int


def outcome(campaign: Campaign) -> Outcome | None:
    """The outcome as it stands, or, where counting it takes long, as it stood a little while ago.

    One process counts it at a time. The others show what was counted before; None if they waited for that in vain.
    """
    key = f"outcome 2 {campaign.link}"  # the number is that of what is kept: another version's is left alone
    ends = monotonic() + MOST_WAIT
    while True:
        known = cache.get(key)
        if known is not None and known["fresh until"] > time():
            return Outcome(**known["outcome"])
        with alone(f"outcome of campaign {campaign.pk}") as ours:
            if ours:
                return _count_outcome(campaign, key)
        if known is not None:
            return Outcome(**known["outcome"])
        if monotonic() > ends:
            return None
        sleep(0.05)


def _count_outcome(campaign: Campaign, key: str) -> Outcome:
    begun, at = perf_counter(), timezone.now()
    with one_moment():
        derived = judgment_selectors.derived(campaign)
    counted = Outcome(
        at=at,
        pools=derived.single + sum(derived.deadlocks.values()) + len(derived.incomplete),
        single=derived.single,
        deadlocks=sorted(derived.deadlocks.items()),
        incomplete=len(derived.incomplete),
    )
    seconds = perf_counter() - begun
    if seconds > SLOW_SECONDS:
        known = {"outcome": counted._asdict(), "fresh until": time() + seconds * REST_FACTOR}
        cache.set(key, known, timeout=KEPT_SECONDS)
    return counted
