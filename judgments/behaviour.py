"""How the crowd judged: test pairs, sides, times, agreement, and what the place within a HIT does to them.

The page of a campaign and its results both take their figures from here.
"""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from evaluation.statistics.agreement import Vote
from judgments.models import Acceptance, is_for_a
from judgments.selectors import MEDIAN_SECONDS, NEWEST, preferred_of, reused_judgments
from pools.models import Campaign


class Position(NamedTuple):
    """One position of the HITs: `passed` of `tests` test pairs, and the median `seconds` of one comparison."""

    position: int
    tests: int
    passed: int
    seconds: float


class Behaviour(NamedTuple):
    """Over the work that was checked: accepted and excluded for `tests`, `passed` and `positions`, else accepted alone.

    `left` and `right` count the sides preferred in pairs; `seconds` is the median of one comparison of a pair.
    """

    tests: int
    passed: int
    left: int
    right: int
    seconds: float | None
    positions: Sequence[Position]


def behaviour(campaign: Campaign) -> Behaviour:
    """Count over the newest judgment of each item."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH newest AS (
              SELECT *, NOT is_test AND verdict = 'accepted' AS counts FROM ({NEWEST}) done
              WHERE verdict IN ('accepted', 'excluded'))
            SELECT position,
              count(*) FILTER (WHERE is_test), count(*) FILTER (WHERE is_test AND prefers_a),
              count(*) FILTER (WHERE counts AND is_left), count(*) FILTER (WHERE counts AND NOT is_left),
              {MEDIAN_SECONDS}, {MEDIAN_SECONDS} FILTER (WHERE counts)
            FROM newest GROUP BY GROUPING SETS ((position), ()) ORDER BY position NULLS LAST
            """,  # noqa: S608
            {"campaign": campaign.pk, "workers": None},
        )
        *positions, (_all, tests, passed, left, right, _seconds, seconds) = cursor.fetchall()
    return Behaviour(
        tests, passed, left, right, seconds, [Position(row[0], row[1], row[2], float(row[5])) for row in positions]
    )


def votes_of(campaign: Campaign) -> list[Vote]:
    """The judgments that count and whose worker is known, sorted; none where no pair is judged twice."""
    if campaign.overlap == 1 and not campaign.further_judgments:
        return []
    rows = Acceptance.objects.filter(assignment__campaign=campaign).values_list(
        "pair__pool__query__qid", "pair__a__pid", "pair__b__pid", "worker_id",
        "judgment__preferred", "judgment__item__a_left",
    )  # fmt: skip
    votes = [Vote(qid, a, b, str(by), preferred_of(a, b, is_for_a(side, left))) for qid, a, b, by, side, left in rows]
    reused = [
        Vote(row.query, row.a, row.b, str(row.worker_id), row.preference.preferred)
        for row in reused_judgments(campaign)
        if row.worker_id is not None  # of imported judgments, nobody knows whether they are one person's
    ]
    return sorted(votes + reused, key=lambda vote: (*vote[:4], vote.preferred or ""))
