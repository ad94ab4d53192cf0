"""How the crowd judged: test pairs, sides, times, and what the place within a HIT does to them."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from pools.models import Campaign


class Place(NamedTuple):
    """One position of the HITs: `passed` of `tests` test pairs, and the median `seconds` of one comparison."""

    position: int
    tests: int
    passed: int
    seconds: float


class Behaviour(NamedTuple):
    """Over the work that was checked: accepted and excluded for `tests`, `passed` and `places`, else accepted alone.

    `left` and `right` count the sides preferred in pairs; `seconds` is the median of one comparison of a pair.
    """

    tests: int
    passed: int
    left: int
    right: int
    seconds: float | None
    places: Sequence[Place]


def behaviour(campaign: Campaign) -> Behaviour:
    """Count over the newest judgment of each item."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH newest AS (
              SELECT DISTINCT ON (judgment.assignment_id, judgment.item_id) item.position,
                item.test_id IS NOT NULL AS is_test,
                item.pair_id IS NOT NULL AND assignment.verdict = 'accepted' AS counts,
                judgment.preferred = 'left' AS is_left,
                (judgment.preferred = 'left') = item.a_left AS prefers_a,
                extract(epoch FROM judgment.made_at - judgment.shown_at) AS seconds
              FROM judgments_judgment judgment
              JOIN tasks_assignment assignment ON assignment.id = judgment.assignment_id
              JOIN tasks_item item ON item.id = judgment.item_id
              WHERE assignment.campaign_id = %s AND assignment.verdict IN ('accepted', 'excluded')
              ORDER BY judgment.assignment_id, judgment.item_id, judgment.id DESC)
            SELECT position,
              count(*) FILTER (WHERE is_test), count(*) FILTER (WHERE is_test AND prefers_a),
              count(*) FILTER (WHERE counts AND is_left), count(*) FILTER (WHERE counts AND NOT is_left),
              percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds),
              percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE counts)
            FROM newest GROUP BY GROUPING SETS ((position), ()) ORDER BY position NULLS LAST
            """,
            [campaign.pk],
        )
        *places, (_all, tests, passed, left, right, _seconds, seconds) = cursor.fetchall()
    return Behaviour(
        tests, passed, left, right, seconds, [Place(row[0], row[1], row[2], float(row[5])) for row in places]
    )
