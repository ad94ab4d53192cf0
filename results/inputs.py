"""What results are computed from, as of one moment, and the digest that tells whether it has changed since."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db import connection

from core.version import VERSION
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Entry, Qrels
from evaluation.statistics.agreement import Vote
from judgments import exports
from judgments import selectors as judgment_selectors
from judgments.models import Acceptance
from pools import selectors as pool_selectors
from pools.models import Campaign
from results.quality import Behaviour, behaviour

FORMAT = 1
"""Of the stored data. A new one makes every stored result stale."""
K = 10
"""How far down a run is read."""


class Inputs(NamedTuple):
    """Everything that the results of a campaign depend on.

    `pools` are all pools by query. `waiting` are the queries that lack an accepted judgment. `preferences` is every
    accepted judgment, on waiting queries too; `votes` are the same with who judged, sorted, where a pair is judged more
    than once. `runs` are by name. `pairs` are those that the design asks about.
    """

    campaign: Campaign
    k: int
    runs: Mapping[str, RunArtifact]
    qrels: Qrels
    pools: Mapping[str, tuple[str, ...]]
    waiting: frozenset[str]
    pairs: int
    preferences: Sequence[Preference]
    votes: Sequence[Vote]
    behaviour: Behaviour


def inputs_of(campaign: Campaign) -> Inputs:
    """Read them. Called within one moment, so that they belong together."""
    return Inputs(
        campaign=campaign,
        k=K,
        runs={run.name: pool_selectors.load_artifact(run) for run in campaign.runs.order_by("name")},
        qrels=Qrels.of(Entry(*row) for row in pool_selectors.collection_qrels(campaign.collection)),
        pools=judgment_selectors.pools_of(campaign),
        waiting=frozenset(judgment_selectors.waiting_queries(campaign)),
        pairs=pool_selectors.pair_count(campaign),
        preferences=judgment_selectors.accepted_preferences(campaign),
        votes=_votes(campaign) if campaign.overlap > 1 else [],
        behaviour=behaviour(campaign),
    )


def _votes(campaign: Campaign) -> list[Vote]:
    rows = Acceptance.objects.filter(assignment__campaign=campaign).values_list(
        "pair__pool__query__qid", "pair__a__pid", "pair__b__pid", "worker_id",
        "judgment__preferred", "judgment__item__a_left",
    )  # fmt: skip
    return sorted(Vote(qid, a, b, str(by), a if (side == "left") == left else b) for qid, a, b, by, side, left in rows)


def digest_of(campaign: Campaign) -> str:
    """Of the accepted judgments, the verdicts on assignments, the runs, the settings, k and the software: SHA-256.

    Collections and pools do not change once a campaign has started, and no judgment does, so this covers all.
    """
    known = {
        "format": FORMAT,
        "software": VERSION,
        "k": K,
        "settings": {name: str(getattr(campaign, name)) for name in exports.SETTINGS},
        "runs": list(campaign.runs.order_by("name").values_list("name", "sha256")),
        "accepted": _accepted(campaign),
        "verdicts": _verdicts(campaign),
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _accepted(campaign: Campaign) -> tuple[int, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*), coalesce(sum(hashint8extended(acceptance.judgment_id, acceptance.pair_id)), 0)
            FROM judgments_acceptance acceptance
            JOIN tasks_assignment assignment ON assignment.id = acceptance.assignment_id
            WHERE assignment.campaign_id = %s
            """,
            [campaign.pk],
        )
        count, total = cursor.fetchone()
    return count, str(total)


def _verdicts(campaign: Campaign) -> list[tuple[str, int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT verdict, count(*), sum(hashint8extended(id, 0)) FROM tasks_assignment
            WHERE campaign_id = %s AND verdict IN ('accepted', 'excluded') GROUP BY verdict ORDER BY verdict
            """,
            [campaign.pk],
        )
        return [(verdict, count, str(total)) for verdict, count, total in cursor.fetchall()]
