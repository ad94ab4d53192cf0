"""Reading stored results, and whether they are in step."""

import json
from collections.abc import Collection
from typing import NamedTuple

from django.db import connection
from django.db.models import QuerySet

from pools.counting import count_of
from pools.models import Campaign, Pool
from results import apart
from results.inputs import FORMAT, SOFTWARE
from results.models import Result, ResultList
from results.sections.certainty import Answer
from results.sections.stored import Json, from_json
from results.sections.whole import Results, read


class ResultStatus(NamedTuple):
    """The results as stored (None before the first time), and what came since.

    `judgments` is how many count now. `stale`: something has changed since, or there are none.
    """

    result: Result | None
    data: Results | None
    judgments: int
    stale: bool


def result_status(campaign: Campaign) -> ResultStatus:
    result = _readable(campaign).defer("tops").first()
    data = None if result is None else read(result.data)
    if result is not None and data is not None and is_in_step(result, campaign):
        return ResultStatus(result, data, data.judgments, stale=False)
    accepted = count_of(campaign, "accepted")
    return ResultStatus(result, data, accepted + campaign.reused_pair_count * campaign.overlap, stale=True)


def is_in_step(result: Result, campaign: Campaign) -> bool:
    """Whether results are those of the campaign's present judgments."""
    return (result.revision, result.software) == (campaign.revision, SOFTWARE)


def stored_data(campaign: Campaign) -> Results | None:
    """The stored results, long lists cut short; None before the first time."""
    data = _stored(campaign)
    return None if data is None else read(data)


def table_data(campaign: Campaign, name: str) -> Results | None:
    """The stored results with all rows of one of `apart.LISTS_OF`; None before the first time."""
    data = _stored(campaign)
    parts = [] if data is None else [part for part in apart.LISTS_OF.get(name, ()) if part in data["apart"]]
    return None if data is None else read(apart.put_together(data, _lists(campaign, parts) if parts else {}))


def whole_data(campaign: Campaign) -> Json | None:
    """The stored results with every list whole, as JSON; None before the first time."""
    data = _stored(campaign)
    if data is None:
        return None
    whole = apart.put_together(data, _lists(campaign, data["apart"]))
    del whole["apart"]
    return whole


def _lists(campaign: Campaign, names: Collection[str]) -> dict[str, list[Json]]:
    lists = ResultList.objects.filter(result__campaign=campaign, name__in=names)
    return dict(lists.values_list("name", "rows"))


def _stored(campaign: Campaign) -> Json | None:
    return _readable(campaign).values_list("data", flat=True).first()


def _readable(campaign: Campaign) -> QuerySet[Result]:
    """Results that another version of the software stored in another format are as good as none."""
    return Result.objects.filter(campaign=campaign, data__version=FORMAT)


def tops_of(pool: Pool) -> dict[str, list[str]]:
    """The runs that put each passage of a pool first, by passage id, as of the stored results; empty before."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tops -> %s::text FROM results_result WHERE campaign_id = %s", [pool.query.qid, pool.campaign_id]
        )
        row = cursor.fetchone()
    if row is None or row[0] is None:
        return {}
    tops: dict[str, list[str]] = row[0] if isinstance(row[0], dict) else json.loads(row[0])
    return tops


def certainty_of(pool: Pool, best: Collection[str]) -> Answer | None:
    """How sure these best known answers of a pool are.

    None where that is not known: without results, or where those stored have other answers.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT answer || COALESCE(
              jsonb_path_query_first(passages.rows, '$[*] ? (@.qid == $qid)', own.qid), '{}')
            FROM results_result result
              CROSS JOIN LATERAL (SELECT jsonb_build_object('qid', %s::text)) own (qid)
              LEFT JOIN results_resultlist list ON list.result_id = result.id AND list.name = 'stability'
              LEFT JOIN results_resultlist passages
                ON passages.result_id = result.id AND passages.name = 'stability-passages'
              CROSS JOIN LATERAL jsonb_path_query(
                COALESCE(list.rows, data->'stability'), '$[*] ? (@.qid == $qid)', own.qid) answer
            WHERE campaign_id = %s AND data @> %s::jsonb AND answer->'best' = %s::jsonb
            """,
            [pool.query.qid, pool.campaign_id, json.dumps({"version": FORMAT}), json.dumps(sorted(best))],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    return from_json(Answer, row[0] if isinstance(row[0], dict) else json.loads(row[0]))


def pool_keys(campaign: Campaign, qids: list[str]) -> dict[str, int]:
    """The keys of the pools of some queries, by query id."""
    return dict(Pool.objects.filter(campaign=campaign, query__qid__in=qids).values_list("query__qid", "id"))
