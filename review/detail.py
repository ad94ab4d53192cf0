"""What the researcher's page shows of one assignment."""

from collections.abc import Sequence
from dataclasses import dataclass

from judgments import selectors as judgment_selectors
from judgments.models import Judgment, PairReport
from tasks.models import Assignment, Item, TestPair


@dataclass(frozen=True)
class ItemDetail:
    """One item of an assignment: what was asked, what stood on each side, and what was preferred.

    `passed` says whether the relevant passage of a test pair was preferred; None for pairs, where nothing was,
    and where the worker reported it. `changes` is how often the worker changed their mind. `report` is what stands.
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
    report: PairReport | None
    is_set_aside: bool


def item_details(assignment: Assignment) -> list[ItemDetail]:
    """Every item of an assignment in the order in which it was shown."""
    items = assignment.items.select_related(
        "pair__a", "pair__b", "pair__pool__query", "test__relevant", "test__off_topic"
    ).order_by("position")
    judgments: dict[int, list[Judgment]] = {}
    for judgment in Judgment.objects.filter(assignment=assignment).select_related("item").order_by("id"):
        judgments.setdefault(judgment.item_id, []).append(judgment)
    accepted = set(assignment.acceptances.values_list("judgment_id", flat=True))
    reports = {report.item_id: report for report in judgment_selectors.standing_reports(assignment)}
    return [_item(item, judgments.get(item.pk, []), accepted, reports.get(item.pk)) for item in items]


def _item(item: Item, judgments: Sequence[Judgment], accepted: set[int], report: PairReport | None) -> ItemDetail:
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
    dropped = item.test is not None and item.test.state == TestPair.State.DROPPED
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
        passed=last.prefers_a if last and item.test is not None and report is None and not dropped else None,
        accepted=last is not None and last.pk in accepted,
        report=report,
        is_set_aside=item.pair is not None and item.pair.is_set_aside,
    )
