"""Judgments by the weight of those who made them: what counts on the pairs of a campaign whose judgments disagree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from django.core.cache import cache
from django.db import connection

from evaluation.statistics.reliability import UNKNOWN, Cast, Model, Weight, weigh, weights
from pools.models import Campaign, Pair, Pool

KEPT_SECONDS = 3600
# The judgments that count, made here or reused, of pairs that have several. An imported one has no worker; an imported
# tie speaks for neither passage, so it weighs nothing.
_SHARED = """
SELECT pair_id, worker_id, prefers_a, is_left FROM (
  SELECT said.*, count(*) OVER (PARTITION BY pair_id) AS judged FROM (
    SELECT acceptance.pair_id, acceptance.worker_id, (judgment.preferred = 'left') = item.a_left AS prefers_a,
      judgment.preferred = 'left' AS is_left
    FROM judgments_acceptance acceptance
      JOIN judgments_judgment judgment ON judgment.id = acceptance.judgment_id
      JOIN tasks_item item ON item.id = judgment.item_id
      JOIN tasks_assignment assignment ON assignment.id = acceptance.assignment_id
    WHERE assignment.campaign_id = %(campaign)s AND judgment.preferred IS NOT NULL
    UNION ALL
    SELECT reused.pair_id, reused.worker_id, reused.prefers_a, coalesce(judgment.preferred = 'left', reused.prefers_a)
    FROM judgments_reusedjudgment reused JOIN judgments_reuse reuse ON reuse.id = reused.reuse_id
      LEFT JOIN judgments_judgment judgment ON judgment.id = reused.judgment_id
    WHERE reuse.campaign_id = %(campaign)s AND reused.prefers_a IS NOT NULL) said
  WHERE %(pairs)s::bigint[] IS NULL OR pair_id = ANY(%(pairs)s)) shared
WHERE judged > 1 ORDER BY pair_id, worker_id, prefers_a
"""


def weighed_pairs(campaign: Campaign, pool: Pool | None = None) -> dict[tuple[str, str, str], str]:
    """The passage for which judgments weigh more, by `(query, a, b)`: of the pairs (of one pool) whose judgments
    disagree, in a campaign that weighs them. Pairs that weigh the same on both sides are not there.

    Weights follow from all judgments of the campaign that count. For one pool, those found within the hour at the same
    revision are taken.
    """
    if campaign.weighing == Campaign.Weighing.SAME:
        return {}
    if pool is None:
        shared = _shared(campaign)
        heavier = weigh(shared, _weights(campaign, shared))
        pairs = Pair.objects.filter(pool__campaign=campaign)
    else:
        pairs = pool.pairs.all()
        heavier = weigh(_shared(campaign, list(pairs.values_list("pk", flat=True))), _known_weights(campaign))
    sides = {int(pair): side for (pair, _a, _b), side in heavier.items()}
    named = pairs.filter(pk__in=sides).values_list("pk", "pool__query__qid", "a__pid", "b__pid")
    return {(qid, a, b): a if sides[pk] == "a" else b for pk, qid, a, b in named}


def cast_of(rows: Iterable[tuple[int, int | None, bool, bool]]) -> list[Cast]:
    """Judgments as the models read them, from rows of pair, worker, whether a is preferred, and whether it was left."""
    cast = []
    for pair, worker, prefers_a, is_left in rows:
        left, right = "ab" if prefers_a == is_left else "ba"
        cast.append(Cast(str(pair), left, right, UNKNOWN if worker is None else str(worker), "a" if prefers_a else "b"))
    return cast


def _shared(campaign: Campaign, pairs: list[int] | None = None) -> list[Cast]:
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, {"campaign": campaign.pk, "pairs": pairs})
        return cast_of(cursor.fetchall())


def _weights(campaign: Campaign, shared: list[Cast]) -> dict[str, Weight]:
    return weights(shared, cast("Model", campaign.weighing))


def _known_weights(campaign: Campaign) -> dict[str, Weight]:
    revision = Campaign.objects.values_list("revision", flat=True).get(pk=campaign.pk)
    key = f"weights {campaign.link} {campaign.weighing} {revision}"
    weights: dict[str, Weight] | None = cache.get(key)
    if weights is None:
        weights = _weights(campaign, _shared(campaign))
        cache.set(key, weights, KEPT_SECONDS)
    return weights
