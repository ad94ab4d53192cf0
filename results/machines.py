"""Machine judges beside people: what a campaign's judgments and a machine's answers say of the same pairs.

People's results never depend on it: here they are read, and what is computed is stored apart.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
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
from evaluation.judging.equal_texts import StandsFor
from evaluation.judging.tournament import Method
from evaluation.statistics.agreement import Agreement, agreement
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
from judgments.machines import answers_of
from judgments.models import MachineJudge
from pools.models import Campaign, Candidate
from pools.selectors import withheld_passages
from results.computing import People, derive_answers
from results.inputs import Inputs, inputs_of
from results.models import MachineComparison

# Of what is stored. Comparisons of another version of the software are computed again.
FORMAT = 2
SOFTWARE = f"{VERSION}/{FORMAT}"


class Compared(NamedTuple):
    """A comparison as `MachineComparison` stores it."""

    data: dict[str, Any]
    runs: dict[str, dict[str, float]]
    qrels: str


def campaigns_to_compare() -> QuerySet[Campaign]:
    """Campaigns with results and a machine judge that has not been compared with the judgments that they are of."""
    stands = MachineComparison.objects.filter(
        judge=OuterRef("pk"),
        campaign=OuterRef(OuterRef("pk")),
        revision__gte=OuterRef(OuterRef("result__revision")),
        software=SOFTWARE,
    )
    waiting = MachineJudge.objects.filter(~Exists(stands), collection=OuterRef("collection"))
    return Campaign.objects.filter(Exists(waiting), result__isnull=False).order_by("id")


def comparisons_refresh(*, campaign: Campaign) -> int:
    """Compare the machine judges of a campaign's collection that have not been compared with its present judgments.

    How many were compared. One at a time, and what is stored stays: after a kill, the next job goes on from there.
    0 where another process does it now.
    """
    with alone(f"machine judges of campaign {campaign.pk}") as ours:
        if not ours:
            return 0
        with one_moment():
            campaign.refresh_from_db(fields=["revision"])
            inputs = inputs_of(campaign)
            lengths = _lengths(campaign)
            withheld = withheld_passages(campaign)
        people = derive_answers(inputs)
        board = _board(inputs)
        own = agreement(inputs.votes)
        standing = MachineComparison.objects.filter(
            campaign=campaign, judge=OuterRef("pk"), revision=campaign.revision, software=SOFTWARE
        )
        judges = list(campaign.collection.machine_judges.filter(~Exists(standing)).order_by("id"))
        for judge in judges:
            compared = compare(inputs, people, board, own, lengths, answers_of(judge), withheld)
            _store(campaign, judge, compared)
        return len(judges)


def _lengths(campaign: Campaign) -> dict[str, int]:
    """The characters of the texts of a campaign's candidates, by id, where there is a text."""
    rows = Candidate.objects.filter(~Q(passage__text=""), pool__campaign=campaign).order_by()
    return dict(rows.annotate(length=Length("passage__text")).values_list("passage__pid", "length").distinct())


def _board(inputs: Inputs) -> Board | None:
    """The runs, where the design makes winners that runs are scored with."""
    if inputs.campaign.design != Campaign.Design.ALL_PAIRS or not inputs.runs:
        return None
    return Board(inputs.runs, inputs.k, cast(Order, inputs.campaign.order)).with_twins(inputs.stands_for)


@transaction.atomic
def _store(campaign: Campaign, judge: MachineJudge, compared: Compared) -> None:
    """Store a comparison instead of the last, unless its judge has been deleted meanwhile."""
    if MachineJudge.objects.select_for_update(no_key=True).filter(pk=judge.pk).exists():
        values = {"revision": campaign.revision, "software": SOFTWARE, "computed_at": timezone.now()}
        MachineComparison.objects.update_or_create(
            campaign=campaign, judge=judge, defaults={**values, **compared._asdict()}
        )


def compare(
    inputs: Inputs,
    people: People,
    board: Board | None,
    own: Agreement,
    lengths: Mapping[str, int],
    answers: Iterable[Answer],
    withheld: Collection[tuple[str, str]] = (),
) -> Compared:
    """A machine's answers about the campaign's pools beside its judgments. The same inputs give the same.

    `withheld`: `(query id, passage id)` of what may not leave, and so is in no qrels.
    """
    about = list(_in_pools(inputs, answers))
    machine = settle(about)
    beside, side = count_beside(inputs.preferences, machine), first_preferred(about)
    data: dict[str, Any] = {
        "answers": len(about),
        "answered": len(machine),
        **beside._asdict(),
        "share": beside.share,
        "interval": beside.interval(),
        "people": own._asdict(),
        "first": side._asdict(),
        "longer": longer_preferred(inputs.preferences, machine, lengths).as_dict(),
        "orders": None,
    }
    if board is None:
        return Compared(data, {}, "")
    method = cast(Method, inputs.campaign.method)
    orders = compare_orders(board, people.derived.qrels, winners_of(people.pools, machine, method))
    runs: dict[str, dict[str, float]] = {}
    if orders is not None:
        data["orders"] = orders.as_dict()
        runs = data["orders"].pop("runs")
    return Compared(data, runs, "".join(_qrels_lines(inputs, machine, method, withheld)))


def _in_pools(inputs: Inputs, answers: Iterable[Answer]) -> Iterator[Answer]:
    """The answers about two passages of a pool, by the ids that stand for their texts."""
    for query, a, b, said in answers:
        pool, named = inputs.pools.get(query, ()), inputs.stands_for.get(query, {})
        answer = Answer(query, *(named.get(one, one) for one in (a, b, said)))
        if answer.a != answer.b and answer.a in pool and answer.b in pool:
            yield answer


def _qrels_lines(
    inputs: Inputs, machine: Settled, method: Method, withheld: Collection[tuple[str, str]]
) -> Iterator[str]:
    """The winners by the machine alone, with every id of their texts that may leave, as TREC qrels."""
    ids = _ids_of(inputs.stands_for)
    winners = winners_of(inputs.pools, machine, method)
    lines = {(query, pid) for query, passage in winners for pid in (passage, *ids.get((query, passage), ()))}
    return (f"{query} 0 {pid} 1\n" for query, pid in sorted(lines.difference(withheld)))


def _ids_of(stands_for: StandsFor) -> dict[tuple[str, str], list[str]]:
    """The other ids of the text of a candidate, by query and candidate."""
    ids: dict[tuple[str, str], list[str]] = {}
    for query, named in stands_for.items():
        for twin, passage in named.items():
            ids.setdefault((query, passage), []).append(twin)
    return ids
