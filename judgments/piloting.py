"""What a pilot taught: time, failed tests, agreement, pay an hour, and who left."""

from decimal import Decimal
from statistics import median, quantiles
from typing import NamedTuple

from core.money import CENT
from evaluation.statistics.agreement import Agreement, Vote, agreement
from judgments.models import Judgment, PairReport
from pools.models import Campaign
from tasks.models import Assignment, Hit

LOOKED_AT = 500  # assignments, the newest: a pilot is small, and a page's time must not grow


class Lessons(NamedTuple):
    """What the newest ended assignments of a campaign taught; at most LOOKED_AT of them.

    `seconds` are the quartiles of the time for an item, over assignments; empty without any. `failed` of `finished`
    are excluded. `reported`: items that workers say something is wrong with. `hourly` is the median of what an hour
    earned.
    """

    hits: int
    hits_done: int
    held: int
    assignments: int
    finished: int
    left: int
    failed: int
    reported: int
    seconds: tuple[float, ...]
    hourly: Decimal | None
    agreement: Agreement


def pilot_lessons(campaign: Campaign) -> Lessons:
    """What a campaign's work has taught so far."""
    states = Assignment.State
    ended = list(campaign.assignments.exclude(state=states.ACTIVE).order_by("-id")[:LOOKED_AT])
    finished = [work for work in ended if work.state == states.SUBMITTED]
    paces = [seconds / work.judged for work in finished if work.judged and (seconds := _seconds(work)) > 0]
    hourly = [work.owed * 3600 / Decimal(seconds) for work in finished if (seconds := _seconds(work)) > 0]
    hits = Hit.objects.filter(campaign=campaign)
    waiting = hits.filter(is_held=True).count()
    return Lessons(
        hits=hits.count() - waiting,
        hits_done=hits.filter(needed=0, is_held=False).count(),
        held=waiting,
        assignments=len(ended),
        finished=len(finished),
        left=sum(work.state == states.LEFT for work in ended),
        failed=sum(work.verdict == Assignment.Verdict.EXCLUDED for work in finished),
        reported=PairReport.objects.filter(assignment__in=[work.pk for work in ended], withdrawn_at=None).count(),
        seconds=tuple(quantiles(paces, n=4, method="inclusive")) if len(paces) > 1 else tuple(paces * 3),
        hourly=median(hourly).quantize(CENT) if hourly else None,
        agreement=_agreement(ended),
    )


def _seconds(work: Assignment) -> float:
    assert work.finished_at is not None
    return (work.finished_at - work.taken_at).total_seconds()


def _agreement(ended: list[Assignment]) -> Agreement:
    """How far the workers of accepted assignments agree on pairs that several judged."""
    accepted = [work.pk for work in ended if work.verdict == Assignment.Verdict.ACCEPTED]
    rows = (
        Judgment.objects.filter(assignment__in=accepted, item__pair__isnull=False)
        .order_by("id")
        .values_list("item__pair", "item__a_left", "preferred", "assignment__worker")
    )
    votes = [
        Vote(str(pair), "a", "b", str(worker), "a" if (preferred == "left") == a_left else "b")
        for pair, a_left, preferred, worker in rows
    ]
    return agreement(votes)
