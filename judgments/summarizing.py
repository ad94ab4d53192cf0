"""Counting what pages show of work: how fast, which side, test pairs passed, agreement with others, disagreements.

A job counts a campaign's whole work at once, and stores it by assignment, by worker, by pair and for the campaign.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from core.locks import alone
from core.snapshot import one_moment
from evaluation.statistics.agreement import compared_votes
from evaluation.statistics.reliability import reliabilities
from judgments import selectors as judgment_selectors
from judgments.behaviour import behaviour, votes_of
from judgments.models import AssignmentSummary, CampaignSummary, Disagreement, Judgment, Summarized, WorkerSummary
from judgments.weighing import cast_of
from pools.models import Campaign
from tasks.models import Assignment

# While judgments come in, a campaign is counted again once this many times the time that it took has passed.
REST_FACTOR = 10
BATCH = 2_000
FIELDS = ("pairs", "median_seconds", "left_share", "tests", "passed", "compared", "agreed", "translated")
SHARES = ("pass_share", "agreement")
MODELLED = ("correct_share", "unguessed_share")
# What others said on a pair is what was accepted on it, less the worker's own: nobody judges a pair twice. Imported
# ties are compared with nothing: their `prefers_a` is null, as `is_left` is.
_COUNTED = f"""
WITH newest AS MATERIALIZED ({judgment_selectors.NEWEST}), said AS (
  SELECT pair_id, count(*) FILTER (WHERE prefers_a) AS a, count(*) FILTER (WHERE NOT prefers_a) AS b
  FROM newest WHERE verdict = 'accepted' AND pair_id IS NOT NULL GROUP BY pair_id),
judged AS (
  SELECT newest.*, coalesce(said.a + said.b, 0) - own AS others,
    coalesce(CASE WHEN prefers_a THEN said.a ELSE said.b END, 0) - own AS same
  FROM newest
    CROSS JOIN LATERAL (SELECT (verdict = 'accepted' AND NOT is_test AND prefers_a IS NOT NULL)::int AS own) counted
    LEFT JOIN said ON said.pair_id = newest.pair_id AND prefers_a IS NOT NULL)
SELECT assignment_id, worker_id, count(*) FILTER (WHERE NOT is_test),
  {judgment_selectors.MEDIAN_SECONDS} FILTER (WHERE NOT is_test),
  avg(is_left::int) FILTER (WHERE NOT is_test)::float,
  count(*) FILTER (WHERE is_test), count(*) FILTER (WHERE is_test AND prefers_a),
  coalesce(sum(others) FILTER (WHERE NOT is_test), 0)::int, coalesce(sum(same) FILTER (WHERE NOT is_test), 0)::int,
  count(*) FILTER (WHERE is_translated)
FROM judged GROUP BY GROUPING SETS ((assignment_id, worker_id), (worker_id))
"""  # noqa: S608


# The newest judgments of pairs that several workers judged, excluded work too: a model tells what it is worth.
_SHARED = f"""
SELECT pair_id, worker_id, prefers_a, is_left FROM (
  SELECT newest.*, count(*) OVER (PARTITION BY pair_id) AS judged FROM ({judgment_selectors.NEWEST}) newest
  WHERE verdict IN ('accepted', 'excluded') AND NOT is_test AND prefers_a IS NOT NULL) shared
WHERE judged > 1 ORDER BY pair_id, worker_id
"""  # noqa: S608


# The pairs on which accepted judgments, made here or reused, do not all prefer the same passage. Ties, which are
# imported, prefer neither: their `prefers_a` is null, which these aggregates pass over.
_DISAGREEING = """
WITH said AS (
  SELECT acceptance.pair_id, (judgment.preferred = 'left') = item.a_left AS prefers_a
  FROM judgments_acceptance acceptance
    JOIN judgments_judgment judgment ON judgment.id = acceptance.judgment_id
    JOIN tasks_item item ON item.id = judgment.item_id
    JOIN tasks_assignment assignment ON assignment.id = acceptance.assignment_id
  WHERE assignment.campaign_id = %(campaign)s
  UNION ALL
  SELECT reused.pair_id, reused.prefers_a
  FROM judgments_reusedjudgment reused JOIN judgments_reuse reuse ON reuse.id = reused.reuse_id
  WHERE reuse.campaign_id = %(campaign)s)
SELECT pair_id, count(*) FILTER (WHERE prefers_a), count(*) FILTER (WHERE NOT prefers_a)
FROM said GROUP BY pair_id HAVING bool_or(prefers_a) AND NOT bool_and(prefers_a)
"""


def campaigns_to_summarize(*, at: datetime) -> QuerySet[Campaign]:
    """Campaigns whose work has changed since it was counted, and that have rested; those that wait longest first."""
    saved = Judgment.objects.filter(
        assignment__campaign=OuterRef("pk"),
        assignment__state=Assignment.State.ACTIVE,
        id__gt=OuterRef("summary__newest_judgment"),
    )
    changed = Q(summary=None) | ~Q(summary__revision=F("revision")) | Q(Exists(saved))
    rested = Q(summary=None) | Q(summary__rests_until__lte=at)
    started = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING])
    return started.filter(changed, rested).order_by(F("summary__made_at").asc(nulls_first=True), "id")


def campaign_summarize(*, campaign: Campaign) -> bool:
    """Count a campaign's work and store what is new. False where another does it now."""
    with alone(f"summary of campaign {campaign.pk}") as ours:
        if not ours:
            return False
        started = perf_counter()
        with one_moment():
            at, moment = timezone.now(), judgment_selectors.moment_of(campaign)
            with connection.cursor() as cursor:
                cursor.execute(_COUNTED, {"campaign": campaign.pk, "workers": None})
                rows = cursor.fetchall()
                cursor.execute(_SHARED, {"campaign": campaign.pk, "workers": None})
                shared = cursor.fetchall()
                cursor.execute(_DISAGREEING, {"campaign": campaign.pk})
                disagreeing = {pair: (for_a, for_b) for pair, for_a, for_b in cursor.fetchall()}
            whole = _whole(campaign)
        with transaction.atomic():
            _store(AssignmentSummary, "assignment_id", {}, {row[0]: _values(row) for row in rows if row[0] is not None})
            modelled = _modelled(shared)
            workers = {
                row[1]: _values(row) | modelled.get(row[1], dict.fromkeys(MODELLED)) for row in rows if row[0] is None
            }
            _store(WorkerSummary, "worker_id", {"campaign_id": campaign.pk}, workers, MODELLED)
            _store_disagreements(campaign, disagreeing)
            CampaignSummary.objects.update_or_create(
                campaign=campaign,
                defaults={
                    **whole,
                    "revision": moment.revision,
                    "newest_judgment": moment.newest_judgment,
                    "made_at": at,
                    "rests_until": timezone.now() + timedelta(seconds=REST_FACTOR * (perf_counter() - started)),
                },
            )
        return True


def _values(row: Iterable[Any]) -> dict[str, Any]:
    _assignment, _worker, *counts = row
    return _with_shares(dict(zip(FIELDS, counts, strict=True)))


def _whole(campaign: Campaign) -> dict[str, Any]:
    """The campaign's figures, as its results define them: of work that counts, each two workers on a pair once."""
    totals, (compared, agreed) = behaviour(campaign), compared_votes(votes_of(campaign))
    pairs = totals.left + totals.right
    return _with_shares(
        {
            "pairs": pairs,
            "median_seconds": totals.seconds,
            "left_share": totals.left / pairs if pairs else None,
            "tests": totals.tests,
            "passed": totals.passed,
            "compared": compared,
            "agreed": agreed,
        }
    )


def _with_shares(values: dict[str, Any]) -> dict[str, Any]:
    values["pass_share"] = values["passed"] / values["tests"] if values["tests"] else None
    values["agreement"] = values["agreed"] / values["compared"] if values["compared"] else None
    return values


def _modelled(shared: Iterable[tuple[int, int, bool, bool]]) -> dict[int, dict[str, Any]]:
    """By worker, what the models say of those who judged a pair that others judged, too."""
    return {
        int(worker): {"correct_share": rates.correct, "unguessed_share": rates.unguessed}
        for worker, rates in reliabilities(cast_of(shared)).items()
    }


def _store_disagreements(campaign: Campaign, splits: dict[int, tuple[int, int]]) -> None:
    """Write down what differs from what is stored."""
    rows = Disagreement.objects.filter(campaign=campaign).values_list("pair", "for_a", "for_b")
    before = {pair: (for_a, for_b) for pair, for_a, for_b in rows}
    Disagreement.objects.filter(pair__in=before.keys() - splits.keys()).delete()
    changed = [
        Disagreement(pair_id=pair, campaign=campaign, for_a=counts[0], for_b=counts[1])
        for pair, counts in splits.items()
        if before.get(pair) != counts
    ]
    Disagreement.objects.bulk_create(
        changed, batch_size=BATCH, update_conflicts=True, unique_fields=["pair"], update_fields=["for_a", "for_b"]
    )


def _store(
    model: type[Summarized], key: str, common: dict[str, Any], rows: dict[int, dict[str, Any]], more: Sequence[str] = ()
) -> None:
    """Write down what differs from what is stored. `more`: which fields this model has beside those of all."""
    fields = [*FIELDS, *SHARES, *more]
    stored = model._default_manager.filter(**{f"{key}__in": list(rows)}, **common)
    before = {row.pop(key): row for row in stored.values(key, *fields)}
    changed = [model(**{key: pk}, **common, **values) for pk, values in rows.items() if before.get(pk) != values]
    unique = [key.removesuffix("_id"), *(name.removesuffix("_id") for name in common)]
    model._default_manager.bulk_create(
        changed, batch_size=BATCH, update_conflicts=True, unique_fields=unique, update_fields=fields
    )
