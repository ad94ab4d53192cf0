"""Which HIT a worker gets next, and which of its layouts."""

from datetime import datetime

from django.db import connection

from pools.models import Campaign
from tasks.models import Worker

# HITs among which is chosen, and HITs of a worker, those with the highest numbers, whose test pairs are avoided.
LOOKED_AT = 100
REMEMBERED = 100

# Whether the worker has taken a HIT: a scalar, so that the planner looks it up HIT by HIT, however much they have done.
_TAKEN = """
  coalesce((SELECT true FROM tasks_assignment own
            WHERE own.worker_id = %(worker)s AND own.campaign_id = {campaign} AND own.hit_id = {hit} LIMIT 1), false)
"""
# A HIT of the campaign that needs more work than is out on running leases, and that the worker has not taken.
_WAITING = f"""
  hit.campaign_id = %(campaign)s AND hit.needed > 0
  AND hit.needed > (
    SELECT count(*) FROM tasks_assignment lease
    WHERE lease.hit_id = hit.id AND lease.verdict = 'pending' AND lease.leased_until > %(at)s)
  AND NOT {_TAKEN.format(campaign="hit.campaign_id", hit="hit.id")}
"""  # noqa: S608
# No HIT that the worker has taken, in whatever campaign, asks what this one asks: the same query, the same passages.
# All layouts of a HIT ask the same: naming one would only change the plan, which then takes minutes on new tables.
_NO_PAIR_MET = f"""
  NOT coalesce((
    SELECT true
    FROM tasks_item item
      JOIN pools_pair pair ON pair.id = item.pair_id
      JOIN pools_pool pool ON pool.id = pair.pool_id
      JOIN pools_pool other_pool ON other_pool.query_id = pool.query_id
      JOIN pools_pair other_pair
        ON other_pair.pool_id = other_pool.id AND other_pair.a_id = pair.a_id AND other_pair.b_id = pair.b_id
      JOIN tasks_item other_item ON other_item.pair_id = other_pair.id
    WHERE item.hit_id = hit.id AND {_TAKEN.format(campaign="other_pool.campaign_id", hit="other_item.hit_id")}
    LIMIT 1), false)
"""  # noqa: S608
_AMONG_THE_NEXT = f"""
WITH met_test AS MATERIALIZED (
  SELECT DISTINCT item.test_id AS id
  FROM (SELECT hit_id FROM tasks_assignment own
        WHERE own.worker_id = %(worker)s AND own.campaign_id = %(campaign)s
        ORDER BY own.hit_id DESC LIMIT %(remembered)s) own
    JOIN tasks_item item ON item.hit_id = own.hit_id AND item.layout = 0
  WHERE item.test_id IS NOT NULL),
waiting AS MATERIALIZED (
  SELECT hit.id, hit.number FROM tasks_hit hit WHERE {_WAITING} ORDER BY hit.number LIMIT %(looked_at)s),
counted AS MATERIALIZED (
  SELECT waiting.id, waiting.number, (
    SELECT count(*) FROM tasks_item item
    WHERE item.hit_id = waiting.id AND item.layout = 0 AND item.test_id IN (SELECT id FROM met_test)) AS met
  FROM waiting ORDER BY met, number)
SELECT hit.id FROM counted JOIN tasks_hit hit ON hit.id = counted.id
WHERE {_NO_PAIR_MET}
ORDER BY counted.met, counted.number
LIMIT 1
"""  # noqa: S608
_FIRST_OF_ALL = f"""
SELECT hit.id FROM tasks_hit hit WHERE {_WAITING} AND {_NO_PAIR_MET} ORDER BY hit.number LIMIT 1
"""  # noqa: S608


def next_hit(worker: Worker, campaign: Campaign, at: datetime, *, lock: bool = False) -> int | None:
    """The id of the HIT that this worker should get next, or None if there is none that they may do.

    The worker has met none of its pairs in this collection, in whatever campaign. Among the first LOOKED_AT HITs that
    wait, by number, it is the one with the fewest test pairs that they met in their last REMEMBERED HITs; if none of
    these will do, it is the first that does. With `lock` (inside a transaction) the HIT is locked, and HITs that others
    hold are passed over.

    What this costs depends neither on how many HITs there are nor on how many the worker has done.
    """
    suffix = " FOR UPDATE OF hit SKIP LOCKED" if lock else ""
    arguments: dict[str, int | datetime] = {"worker": worker.pk, "campaign": campaign.pk, "at": at}
    arguments |= {"looked_at": LOOKED_AT, "remembered": REMEMBERED}
    with connection.cursor() as cursor:
        for query in (_AMONG_THE_NEXT, _FIRST_OF_ALL):
            cursor.execute(query + suffix, arguments)
            row = cursor.fetchone()
            if row is not None:
                return int(row[0])
    return None


def next_layout(hit_id: int, at: datetime) -> int:
    """The layout of a HIT that its next assignment shows: of those it has, the first that least work counts on.

    Work that goes on within its lease, or waits for its check, counts too.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT layout FROM (SELECT DISTINCT layout FROM tasks_item WHERE hit_id = %(hit)s) AS stored
            ORDER BY (
              SELECT count(*) FROM tasks_assignment assignment
              WHERE assignment.hit_id = %(hit)s AND assignment.layout = stored.layout
                AND (assignment.verdict = 'accepted' OR assignment.verdict = 'pending'
                     AND (assignment.state <> 'active' OR assignment.leased_until > %(at)s))), layout
            LIMIT 1
            """,
            {"hit": hit_id, "at": at},
        )
        row = cursor.fetchone()
    return 0 if row is None else int(row[0])
