"""Machine judges beside people: what a campaign's judgments and a machine's answers say of the same pairs.

People's results never depend on it: here they are read, and what is computed is stored apart.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from core.locks import alone
from core.snapshot import one_moment
from core.version import VERSION
from evaluation.files.answers import Answer
from evaluation.files.artifact import Order
from evaluation.files.qrels import Policy
from evaluation.judging.equal_texts import StandsFor, merge_equal
from evaluation.judging.pooling import pool_queries
from evaluation.judging.tournament import Method
from evaluation.statistics.agreement import Agreement, agreement
from evaluation.statistics.alternative_annotator import leave_each_out
from evaluation.statistics.machine_scores import favour, score
from evaluation.statistics.machines import (
    Settled,
    compare_orders,
    count_beside,
    first_preferred,
    longer_preferred,
    settle,
    winners_of,
)
from evaluation.statistics.ranks import Board
from machines.answers import answers_of
from machines.models import MachineJudge
from pools.models import Campaign, Candidate
from results.inputs import Inputs, K, People, inputs_of
from results.models import MachineComparison
from runs.models import Run
from runs.selectors import text_keys

# Of what is stored. Comparisons of another version of the software are computed again.
FORMAT = 3
SOFTWARE = f"{VERSION}/{FORMAT}"


class Compared(NamedTuple):
    """A comparison as `MachineComparison` stores it."""

    data: dict[str, Any]
    runs: dict[str, dict[str, float]]
    scores: dict[str, Any]
    qrels: str


class Further(NamedTuple):
    """Queries that a campaign's are a sample of, which people were not asked about: what their pools would be."""

    pools: dict[str, tuple[str, ...]]
    stands_for: StandsFor


NOTHING = Further({}, {})


def campaigns_to_compare() -> QuerySet[Campaign]:
    """Campaigns with results and a machine judge that has not been compared with the judgments that they are of."""
    stands = _standing().filter(campaign=OuterRef(OuterRef("pk")), revision__gte=OuterRef(OuterRef("result__revision")))
    waiting = MachineJudge.objects.filter(~Exists(stands), collection=OuterRef("collection"))
    return Campaign.objects.filter(Exists(waiting), result__isnull=False).order_by("id")


def _standing() -> QuerySet[MachineComparison]:
    """What this software compared of a judge, unless it has been said since which models runs use."""
    described = Run.objects.filter(
        collection=OuterRef("campaign__collection"), described_at__gte=OuterRef("computed_at")
    )
    return MachineComparison.objects.filter(~Exists(described), judge=OuterRef("pk"), software=SOFTWARE)


def comparisons_refresh(*, campaign: Campaign) -> int:
    """Compare the machine judges of a campaign's collection that have not been compared with its present judgments.

    How many were compared. One at a time, and what is stored stays: after a kill, the next job goes on from there.
    0 where another process does it now.
    """
    with alone(f"machine judges of campaign {campaign.pk}") as ours:
        if not ours:
            return 0
        with one_moment():
            campaign.refresh_from_db(fields=["revision", "fixed_runs"])
            inputs = inputs_of(campaign)
            lengths = _lengths(campaign)
            further = further_of(inputs)
            described = [run for run in campaign.collection.runs.exclude(models_used="") if run.name in inputs.runs]
            at = timezone.now()
        people = inputs.people()
        board = board_of(inputs, further)
        agreed = agreement(inputs.votes)
        standing = _standing().filter(campaign=campaign, revision=campaign.revision)
        judges = list(campaign.collection.machine_judges.filter(~Exists(standing)).order_by("id"))
        for judge in judges:
            theirs = [run.name for run in described if run.uses(judge.model)]
            compared = compare(
                inputs, people, board, agreed, lengths, answers_of(judge), inputs.withheld, further, theirs
            )
            _store(campaign, judge, compared, at)
        return len(judges)


def _lengths(campaign: Campaign) -> dict[str, int]:
    """The characters of the texts of a campaign's candidates, by id, where there is a text."""
    rows = Candidate.objects.filter(~Q(passage__text=""), pool__campaign=campaign).order_by()
    return dict(rows.annotate(length=Length("passage__text")).values_list("passage__pid", "length").distinct())


def further_of(inputs: Inputs) -> Further:
    """None but where the campaign's queries are a sample: there, a machine may have answered about the others."""
    campaign = inputs.campaign
    if not has_winners(campaign) or campaign.selection != Campaign.Selection.SAMPLE:
        return NOTHING
    tops = [inputs.runs[name].top(cast(Order, campaign.order), campaign.depth) for name in sorted(inputs.pooled)]
    pools = pool_queries(tops, inputs.qrels, cast(Policy, campaign.qrel_policy), min_grade=campaign.min_grade)
    others = {query: pool for query, pool in pools.items() if query not in inputs.evidence.pools and len(pool) > 1}
    merged = merge_equal(others, text_keys(campaign.collection, others.values()))
    named = {
        query: twins
        for query, of_query in merged.stands_for.items()
        if (twins := {twin: passage for twin, passage in of_query.items() if twin != passage})
    }
    return Further({query: pool for query, pool in merged.pools.items() if len(pool) > 1}, named)


def has_winners(campaign: Campaign) -> bool:
    """Whether a machine's answers make winners as people's judgments do, that runs are scored with."""
    return campaign.pairing.scores_runs and campaign.pairing.is_whole


def board_of(inputs: Inputs, further: Further) -> Board | None:
    """The runs, where the design makes winners that runs are scored with."""
    if not has_winners(inputs.campaign) or not inputs.runs:
        return None
    board = Board(inputs.runs, K, cast(Order, inputs.campaign.order))
    return board.with_twins({**inputs.evidence.stands_for, **further.stands_for})


@transaction.atomic
def _store(campaign: Campaign, judge: MachineJudge, compared: Compared, at: datetime) -> None:
    """Store a comparison of that moment instead of the last, unless its judge has been deleted meanwhile."""
    if MachineJudge.objects.select_for_update(no_key=True).filter(pk=judge.pk).exists():
        values = {"revision": campaign.revision, "software": SOFTWARE, "computed_at": at}
        MachineComparison.objects.update_or_create(
            campaign=campaign, judge=judge, defaults={**values, **compared._asdict()}
        )


def compare(
    inputs: Inputs,
    people: People,
    board: Board | None,
    agreed: Agreement,
    lengths: Mapping[str, int],
    answers: Iterable[Answer],
    withheld: Collection[tuple[str, str]] = (),
    further: Further = NOTHING,
    theirs: Collection[str] = (),
) -> Compared:
    """A machine's answers about the campaign's pools beside its judgments. The same inputs give the same.

    `withheld`: `(query id, passage id)` of what may not leave, and so is in no qrels. `further`: what else it was asked
    about. `theirs`: runs that use its model.
    """
    pools = {**inputs.evidence.pools, **further.pools}
    everything = list(_in_pools(pools, {**inputs.evidence.stands_for, **further.stands_for}, answers))
    about = [answer for answer in everything if answer.query in inputs.evidence.pools]
    machine = settle(about)
    beside, side = count_beside(inputs.evidence.preferences, machine), first_preferred(about)
    data: dict[str, Any] = {
        "answers": len(about),
        "answered": len(machine),
        **beside._asdict(),
        "share": beside.share,
        "interval": beside.interval(),
        "people": agreed._asdict(),
        "first": side._asdict(),
        "longer": longer_preferred(inputs.evidence.preferences, machine, lengths).as_dict(),
        "stand_in": leave_each_out(inputs.votes, machine).as_dict(),
        "theirs": sorted(theirs),
        "favour": None,
        "orders": None,
    }
    if board is None:
        return Compared(data, {}, {}, "")
    method = cast(Method, inputs.campaign.method)
    orders = compare_orders(board, people.qrels, winners_of(people.pools, machine, method))
    runs: dict[str, dict[str, float]] = {}
    if orders is not None:
        data["orders"] = orders.as_dict()
        runs = data["orders"].pop("runs")
    judged = [(query, passage) for query, passage in people.qrels if len(pools[query]) > 1]
    scored = score(board, judged, winners_of(pools, settle(everything), method))
    scores: dict[str, Any] = {}
    if scored is not None:
        scores = scored.as_dict(scored.neighbours())
        bias = favour(scored, theirs)
        data["favour"] = bias and bias._asdict()
    return Compared(data, runs, scores, "".join(_qrels_lines(inputs, machine, method, withheld)))


def _in_pools(
    pools: Mapping[str, Collection[str]], stands_for: StandsFor, answers: Iterable[Answer]
) -> Iterator[Answer]:
    """The answers about two passages of a pool, by the ids that stand for their texts."""
    for query, a, b, preferred in answers:
        pool, named = pools.get(query, ()), stands_for.get(query, {})
        answer = Answer(query, *(named.get(pid, pid) for pid in (a, b, preferred)))
        if answer.a != answer.b and answer.a in pool and answer.b in pool:
            yield answer


def _qrels_lines(
    inputs: Inputs, machine: Settled, method: Method, withheld: Collection[tuple[str, str]]
) -> Iterator[str]:
    """The winners by the machine alone, with every id of their texts that may leave, as TREC qrels: without the queries
    of which a winner may not leave.
    """
    ids = _ids_of(inputs.evidence.stands_for)
    winners = winners_of(inputs.evidence.pools, machine, method)
    held_back = {query for query, passage in winners if (query, passage) in withheld}
    keys = [key for key in winners if key[0] not in held_back]
    lines = {(query, pid) for query, passage in keys for pid in (passage, *ids.get((query, passage), ()))}
    return (f"{query} 0 {pid} 1\n" for query, pid in sorted(lines.difference(withheld)))


def _ids_of(stands_for: StandsFor) -> dict[tuple[str, str], list[str]]:
    """The other ids of the text of a candidate, by query and candidate."""
    ids: dict[tuple[str, str], list[str]] = {}
    for query, named in stands_for.items():
        for twin, passage in named.items():
            ids.setdefault((query, passage), []).append(twin)
    return ids
