"""Using again what was judged before: which judgments a campaign reuses, fixed when it is packed.

A pair that has `overlap` judgments already, by different workers of the collection's other campaigns or of imported
files, gets the oldest of them, and nobody is asked about it. A pair that has fewer gets none, and is asked about in
full. Campaigns give theirs only if they asked the same question in the same language, and were no trials in a sandbox;
imports, if the campaign says so.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import QuerySet

from evaluation.files.preferences import Pair, Preference
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from pools.models import Campaign, QrelsVersion
from runs import selectors as run_selectors
from runs.models import Collection, PreferenceImport, Query

REMEMBERED_SECONDS = 24 * 60 * 60
NO_CHANCE = 30  # judgments from elsewhere that are all the same as a campaign's
ESTIMATE_SECONDS = 60  # that a count is shown for, although the judgments of its sources go on changing

# The pairs of the campaign, and each known judgment, as rows that say which texts of which query they are about:
# passages with the same text are the same, under whatever ids. Rows are brought together by grouping and not by a join,
# which takes time in proportion to them even where PostgreSQL knows nothing about the tables yet. What another campaign
# itself reuses is no row of its acceptances.
_ABOUT = """
  query_id, least(a_key, b_key) AS first, greatest(a_key, b_key) AS second, a_key > b_key AS flipped,
"""
_KEYS = """
  coalesce(a.text_key::text, 'id ' || a.id) COLLATE "C" AS a_key,
  coalesce(b.text_key::text, 'id ' || b.id) COLLATE "C" AS b_key,
"""
_STORED = f"""
  SELECT pool.query_id, {_KEYS} pair.id AS pair_id
  FROM pools_pool pool
    JOIN pools_pair pair ON pair.pool_id = pool.id
    JOIN runs_passage a ON a.id = pair.a_id
    JOIN runs_passage b ON b.id = pair.b_id
  WHERE pool.campaign_id = %(campaign)s
"""  # noqa: S608
# Pairs by id, which need not be stored. A passage that is not there has no text, and was never judged.
_NAMED = f"""
  SELECT query.id AS query_id, {_KEYS} named.number AS pair_id
  FROM unnest(%(queries)s::text[], %(firsts)s::text[], %(seconds)s::text[])
      WITH ORDINALITY AS named (qid, a, b, number)
    JOIN runs_query query ON query.collection_id = %(collection)s AND query.qid = named.qid
    JOIN runs_passage a ON a.collection_id = %(collection)s AND a.pid = named.a
    JOIN runs_passage b ON b.collection_id = %(collection)s AND b.pid = named.b
"""  # noqa: S608
_KNOWN = f"""
  SELECT {_ABOUT} pair_id, NULL::bigint AS judgment_id, NULL::bigint AS line_id, NULL::bigint AS worker_id,
    NULL::bigint AS source_id, NULL::bigint AS import_id
  FROM ({{wanted}}) wanted
  UNION ALL
  SELECT {_ABOUT} NULL, judgment_id, NULL, worker_id, source_id, NULL
  FROM (
    SELECT pool.query_id, {_KEYS} acceptance.judgment_id, acceptance.worker_id, pool.campaign_id AS source_id
    FROM pools_pool pool
      JOIN pools_pair pair ON pair.pool_id = pool.id
      JOIN judgments_acceptance acceptance ON acceptance.pair_id = pair.id
      JOIN runs_passage a ON a.id = pair.a_id
      JOIN runs_passage b ON b.id = pair.b_id
    WHERE pool.campaign_id = ANY(%(sources)s)) made
  UNION ALL
  SELECT {_ABOUT} NULL, NULL, line_id, NULL, NULL, import_id
  FROM (
    SELECT line.query_id, {_KEYS} line.id AS line_id, line.source_id AS import_id
    FROM runs_importedpreference line
      JOIN runs_passage a ON a.id = line.a_id
      JOIN runs_passage b ON b.id = line.b_id
    WHERE line.source_id = ANY(%(imports)s)) imported
"""  # noqa: S608
_ROWS = _KNOWN.format(wanted=_STORED)
# How many pairs have how many judgments.
_COUNT = """
SELECT judgments, count(*) FROM (
  SELECT count(DISTINCT worker_id) + count(line_id) AS judgments
  FROM ({rows}) known GROUP BY query_id, first, second HAVING count(pair_id) > 0) pairs
WHERE judgments > 0 GROUP BY judgments
"""
_COUNT_STORED = _COUNT.format(rows=_ROWS)
_COUNT_NAMED = _COUNT.format(rows=_KNOWN.format(wanted=_NAMED))
_FIX = f"""
WITH known AS (
  SELECT judgment_id, line_id, worker_id, source_id, import_id, flipped,
    max(pair_id) OVER about AS pair_id, bool_or(flipped) FILTER (WHERE pair_id IS NOT NULL) OVER about AS pair_flipped
  FROM ({_ROWS}) known WINDOW about AS (PARTITION BY query_id, first, second)),
dated AS (
  SELECT known.*, coalesce(judgment.made_at, file.imported_at) AS at,
    coalesce((judgment.preferred = 'left') = item.a_left, line.prefers_a) = (flipped = pair_flipped) AS prefers_a
  FROM known
    LEFT JOIN judgments_judgment judgment ON judgment.id = known.judgment_id
    LEFT JOIN tasks_item item ON item.id = judgment.item_id
    LEFT JOIN runs_importedpreference line ON line.id = known.line_id
    LEFT JOIN runs_preferenceimport file ON file.id = known.import_id
  WHERE known.pair_id IS NOT NULL AND (known.judgment_id IS NOT NULL OR known.line_id IS NOT NULL)),
of_workers AS (
  SELECT dated.*, row_number() OVER (PARTITION BY pair_id, worker_id, line_id ORDER BY at, judgment_id) AS turn
  FROM dated),
ranked AS (
  SELECT of_workers.*, count(*) OVER (PARTITION BY pair_id) AS known,
    row_number() OVER (PARTITION BY pair_id ORDER BY at, judgment_id NULLS LAST, line_id) AS slot
  FROM of_workers WHERE turn = 1),
chosen AS MATERIALIZED (
  SELECT * FROM ranked WHERE known >= %(overlap)s AND slot <= %(overlap)s),
reuses AS (
  INSERT INTO judgments_reuse (campaign_id, source_id, imported_id, judgment_count)
  SELECT %(campaign)s, source_id, import_id, count(*) FROM chosen
  GROUP BY source_id, import_id ORDER BY source_id, import_id
  RETURNING id, source_id, imported_id),
stored AS (
  INSERT INTO judgments_reusedjudgment (reuse_id, pair_id, slot, judgment_id, imported_id, worker_id, prefers_a)
  SELECT reuses.id, pair_id, slot, judgment_id, line_id, worker_id, prefers_a
  FROM chosen JOIN reuses
    ON coalesce(reuses.source_id, 0) = coalesce(chosen.source_id, 0)
    AND coalesce(reuses.imported_id, 0) = coalesce(chosen.import_id, 0)
  ORDER BY pair_id, slot)
UPDATE pools_pair SET is_reused = true WHERE id IN (SELECT pair_id FROM chosen)
"""  # noqa: S608


def source_campaigns(campaign: Campaign) -> QuerySet[Campaign]:
    """The campaigns whose judgments this one would reuse: of its collection and lab, that ask the same."""
    asking_the_same = _others(campaign).filter(question=campaign.question, language=campaign.language)
    return asking_the_same.exclude(pk__in=judgment_selectors.trial_campaigns())


def differing_campaigns(campaign: Campaign) -> QuerySet[Campaign]:
    """The campaigns of the collection whose judgments are not reused, although the setting says so: they ask
    something else.
    """
    asking_else = _others(campaign).exclude(question=campaign.question, language=campaign.language)
    return asking_else.exclude(pk__in=judgment_selectors.trial_campaigns())


def trials_left_out(campaign: Campaign) -> QuerySet[Campaign]:
    """The campaigns of the collection whose judgments are not reused, although the setting says so: they were published
    to the sandbox of Mechanical Turk.
    """
    return _others(campaign).filter(pk__in=judgment_selectors.trial_campaigns())


def _others(campaign: Campaign) -> QuerySet[Campaign]:
    if campaign.reuse == Campaign.Reuse.NOTHING:
        return Campaign.objects.none()
    others = Campaign.objects.filter(collection=campaign.collection_id, lab=campaign.lab_id).exclude(pk=campaign.pk)
    return others.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]).order_by("id")


def source_imports(campaign: Campaign) -> QuerySet[PreferenceImport]:
    """The imports whose judgments a campaign would reuse."""
    if campaign.reuse != Campaign.Reuse.ALL:
        return PreferenceImport.objects.none()
    return PreferenceImport.objects.filter(collection=campaign.collection_id).order_by("id")


def reusable_pairs(campaign: Campaign, *, overlap: int, afresh: bool = False) -> int:
    """How many of a campaign's pairs have `overlap` judgments already, by its settings: counted now if `afresh`, else
    possibly a minute ago.
    """
    params = _wanted(campaign)
    if not params["sources"] and not params["imports"]:
        return 0
    # The largest design takes seconds. What was counted holds as long as nothing has changed that it follows from, and
    # a minute longer: sources that are being judged change all the time. The pairs of a draft change with its revision.
    is_draft = campaign.state == Campaign.State.DRAFT
    made_of = [campaign.link, campaign.revision if is_draft else None, campaign.pair_count, params]
    key = "reusable pairs " + hashlib.sha256(repr(made_of).encode()).hexdigest()
    revisions, now = list(source_campaigns(campaign).values_list("revision", flat=True)), time.time()
    if not afresh and (cached := cache.get(key)) is not None:
        counts, of_revisions, counted_at = cached
        if of_revisions == revisions or now - counted_at < ESTIMATE_SECONDS:
            return _enough(counts, overlap)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_STORED, params)
        counts = cursor.fetchall()
    cache.set(key, (counts, revisions, now), REMEMBERED_SECONDS)
    return _enough(counts, overlap)


def reusable_among(campaign: Campaign, pairs: Sequence[Pair]) -> int:
    """How many of some pairs have all their judgments already, by a campaign's settings. Neither need be stored."""
    params = _wanted(campaign)
    if not params["sources"] and not params["imports"]:
        return 0
    queries, firsts, seconds = (list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [], [])
    params |= {"collection": campaign.collection_id, "queries": queries, "firsts": firsts, "seconds": seconds}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_NAMED, params)
        return _enough(cursor.fetchall(), campaign.overlap)


def _enough(counts: Sequence[tuple[int, int]], overlap: int) -> int:
    """How many pairs have so many judgments or more."""
    return sum(pairs for judgments, pairs in counts if judgments >= overlap)


def reuse_fix(*, campaign: Campaign) -> int:
    """Store what a campaign reuses, for good, and mark those pairs. How many pairs. The caller holds the transaction.

    Imports cannot be deleted until it ends.
    """
    list(source_imports(campaign).select_for_update(no_key=True).values_list("id", flat=True))
    params = _wanted(campaign)
    if not params["sources"] and not params["imports"]:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_FIX, params | {"overlap": campaign.overlap})
        return int(cursor.rowcount)


def known_preferences(campaign: Campaign, query: Query | None) -> list[Preference]:
    """What was judged (on one query) before a campaign of challengers was created: where it reuses judgments, and in
    the campaigns that its base version came of. Of what a worker judged twice, under several ids of the same texts, the
    older counts.
    """
    assert campaign.base_version is not None
    line = QrelsVersion.objects.filter(
        collection=campaign.collection_id, number__lte=campaign.base_version.number
    ).values_list("campaign", flat=True)
    campaigns = {*source_campaigns(campaign).values_list("id", flat=True), *line}
    imports = set(source_imports(campaign).values_list("id", flat=True))
    rows = judgment_selectors.collection_preferences(campaign.collection, before=campaign.created_at, query=query)
    rows = [row for row in rows if row.campaign_id in campaigns or row.import_id in imports]
    keys = run_selectors.text_keys(campaign.collection, ((row.a, row.b) for row in rows))
    once: dict[tuple[object, ...], Preference] = {}
    for row in rows:
        texts = frozenset(keys.get(pid, f"id {pid}") for pid in (row.a, row.b))
        by = ("line", row.key) if row.worker_id is None else ("worker", row.worker_id)
        once.setdefault((*by, row.query, texts), row.preference)
    return list(once.values())


def campaign_with(collection: Collection, judged: Counter[Preference]) -> Campaign | None:
    """The campaign of a collection that has these judgments already, with `a` and `b` in canonical order: all of its
    judgments, or so many of them that it is no chance.
    """
    count = judged.total()
    for campaign in collection.campaigns.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]):
        accepted = Counter(Evidence(campaign).preferences)
        if accepted == judged or (count >= NO_CHANCE and judged <= accepted):
            return campaign
    return None


def _wanted(campaign: Campaign) -> dict[str, Any]:
    return {
        "campaign": campaign.pk,
        "sources": list(source_campaigns(campaign).values_list("id", flat=True)),
        "imports": list(source_imports(campaign).values_list("id", flat=True)),
    }
