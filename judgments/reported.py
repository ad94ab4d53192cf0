"""Reading what workers told the research group: reported pairs with what was decided about them, and notes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber

from judgments import selectors as judgment_selectors
from judgments.models import PairDecision, PairReport, WorkerNote
from pools.models import Campaign, Pair
from tasks.models import Assignment, TestPair

MOST_REPORTS = 10  # of one test pair, that are shown


class ReportedPair(NamedTuple):
    """A pair, the reports of it that stand in work that has ended, and the decisions about it; newest first."""

    pair: Any  # with `is_open`
    reports: list[PairReport]
    decisions: list[PairDecision]

    @property
    def workers(self) -> int:
        """How many workers reported it."""
        return len({report.assignment.worker_id for report in self.reports})

    @property
    def may_be_asked(self) -> bool:
        """Whether dismissing the reports would change anything."""
        return bool(self.pair.is_open or self.pair.is_set_aside)

    @property
    def may_be_set_aside(self) -> bool:
        """Whether a decision to set it aside would change anything."""
        return not self.decisions or self.decisions[0].kind != PairDecision.Kind.SET_ASIDE


def reported_pairs(campaign: Campaign) -> QuerySet[Any]:  # of pairs, with what is annotated
    """The pairs that workers reported in work that has ended; those that are set aside first.

    One `is_open` while a person should look: nobody has decided about it since the newest report of work that is not
    excluded, or somebody has set it aside, which holds whatever is reported later.
    """
    pairs = _ended(judgment_selectors.pair_reports(campaign)).order_by().values("item__pair")
    newest = PairDecision.objects.filter(pair=OuterRef("pk")).order_by("-id")
    of_pair = _ended(PairReport.objects.filter(item__pair=OuterRef("pk")))
    counting = of_pair.exclude(assignment__verdict=Assignment.Verdict.EXCLUDED)
    since = counting.filter(made_at__gt=OuterRef("decided_at"))
    is_open = Q(Exists(counting), decided=None) | Q(Exists(since), decided=PairDecision.Kind.ASKED_AGAIN)
    rows = Pair.objects.filter(pk__in=pairs).annotate(
        decided=Subquery(newest.values("kind")[:1]), decided_at=Subquery(newest.values("at")[:1])
    )
    rows = rows.annotate(is_open=ExpressionWrapper(is_open, output_field=BooleanField()))
    # Of the rows of a page alone: the database expects too few to join thousands well.
    return rows.prefetch_related("pool__query", "a", "b").order_by("-is_set_aside", "-pk")


def _ended(reports: QuerySet[PairReport]) -> QuerySet[PairReport]:
    return reports.filter(item__pair__isnull=False, withdrawn_at=None, assignment__finished_at__isnull=False)


def reported_rows(campaign: Campaign, pairs: Sequence[Any]) -> list[ReportedPair]:
    """Some reported pairs with their reports and decisions."""
    rows = {pair.pk: ReportedPair(pair, [], []) for pair in pairs}
    for report in _ended(judgment_selectors.pair_reports(campaign)).filter(item__pair__in=rows):
        assert report.item.pair_id is not None
        rows[report.item.pair_id].reports.append(report)
    for decision in PairDecision.objects.filter(pair__in=rows).select_related("by").order_by("-id"):
        rows[decision.pair_id].decisions.append(decision)
    return list(rows.values())


def reported_tests(campaign: Campaign) -> QuerySet[TestPair]:
    """The test pairs that workers reported in work that has ended, those that are still used first."""
    standing = PairReport.objects.filter(item__test=OuterRef("pk"), withdrawn_at=None)
    rows = TestPair.objects.filter(Exists(standing.filter(assignment__finished_at__isnull=False)), campaign=campaign)
    return rows.select_related("decided_by").order_by("state", "-pk")  # confirmed before dropped


class ReportedTest(NamedTuple):
    """A test pair: how many `workers` reported it, how many reports give each of the `reasons`, and the newest."""

    test: TestPair
    workers: int
    reasons: dict[str, int]
    reports: list[PairReport]

    @property
    def earlier(self) -> int:
        """How many reports there are before those at hand."""
        return sum(self.reasons.values()) - len(self.reports)


def reported_test_rows(campaign: Campaign, tests: Sequence[TestPair], *, most: int = 0) -> list[ReportedTest]:
    """Some reported test pairs with all of their reports counted, and the newest `most` of each."""
    rows = {test.pk: ReportedTest(test, 0, {}, []) for test in tests}
    reports = judgment_selectors.pair_reports(campaign).filter(
        item__test__in=rows, withdrawn_at=None, assignment__finished_at__isnull=False
    )
    by_test = reports.order_by().values("item__test")
    counts = by_test.annotate(workers=Count("assignment__worker", distinct=True))
    for test, workers in counts.values_list("item__test", "workers"):
        rows[test] = rows[test]._replace(workers=workers)
    for test, reason, count in by_test.values_list("item__test", "reason").annotate(count=Count("pk")):
        rows[test].reasons[reason] = count
    if most:
        newest = Window(RowNumber(), partition_by="item__test", order_by="-id")
        for report in reports.annotate(place=newest).filter(place__lte=most):
            assert report.item.test_id is not None
            rows[report.item.test_id].reports.append(report)
    return list(rows.values())


def pairs_to_decide(campaign: Campaign) -> QuerySet[Any]:
    """The reported pairs that wait for a person."""
    return reported_pairs(campaign).filter(is_open=True)


def notes_of(campaign: Campaign) -> QuerySet[WorkerNote]:
    """What workers wrote from their receipts, newest first."""
    notes = WorkerNote.objects.filter(assignment__campaign=campaign)
    return notes.select_related("assignment__campaign", "read_by", "answered_by").order_by("-id")
