"""How certain ranks and best known answers are."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from evaluation.judging.batch_tournaments import by_size
from evaluation.statistics.agreement import Evidence, error_evidence
from evaluation.statistics.asking import Prospect, settling_prospects
from evaluation.statistics.certainty import certainty
from evaluation.statistics.confidence_sets import SURE, confidence_set
from evaluation.statistics.fragility import final_fragilities, fragilities
from evaluation.statistics.resampling import DRAWS, Interval
from evaluation.statistics.reversals import SHARE, SURVIVES, Reversals, reverse_judgments
from pools.models import Campaign
from results.sections.leaderboard import Board
from results.sections.scored import Scored
from results.sections.stored import SPARSE

Kind = Literal["first", "order", "changed"]


@dataclass(frozen=True)
class Rank:
    """The 95% interval of a run's rank and its median, and how probable it is that it is `first`."""

    run: str
    low: int
    median: float
    high: int
    first: float
    interval: Interval | None
    corrected: float | None


@dataclass(frozen=True)
class Chance:
    """P(best) of a passage."""

    passage: str
    p: float


@dataclass(frozen=True)
class Answer:
    """A query: its best known answers, P(right) and fragility, its confidence `set`, and `also` the other ids of that
    set's texts. `further`: what more judgments of each pair need and give. `final`: who reached it, in rounds.
    `partial`: a passage of its set may not leave.
    """

    qid: str
    best: list[str]
    share: float
    fragility: int | None
    exact: bool
    set: list[str]
    also: list[str]
    survives: float
    further: dict[int, Prospect] | None = field(default=None, metadata=SPARSE)
    passages: list[Chance] | None = field(default=None, metadata=SPARSE)
    final: list[str] | None = field(default=None, metadata=SPARSE)
    partial: bool | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True)
class Resampled:
    """How many answers there are, and how many of these are unsure, settled, and fragile."""

    answers: int
    unsure: int
    settled: int
    fragile: int


@dataclass(frozen=True)
class Conclusion:
    """The share of draws in which it holds."""

    kind: Kind
    upper: str
    lower: str | None
    share: float


@dataclass(frozen=True)
class Reversed:
    """Which conclusions hold if a `share` of the judgments is reversed; those that do in `survives` of the draws
    survive.
    """

    share: float
    draws: int
    survives: float
    conclusions: list[Conclusion]
    answers: int
    answers_survive: int
    answers_share: float | None


@dataclass(frozen=True, kw_only=True)
class Certainty(Board):
    """None where it is not known."""

    error_rate: float | None = None
    error_source: Evidence | None = None
    error_compared: int | None = None
    ranks: list[Rank] | None = None
    stability: list[Answer] | None = None
    resampled: Resampled | None = None
    reversed: Reversed | None = None


def compute(board: Board, scored: Scored) -> Certainty:
    """How certain ranks and best known answers are; only known for the tournament of all pairs, and for rounds. What
    varies is what workers judged, on adjudicated pairs too: one person's decision says nothing of how sure people are.

    People err at the campaign's error rate, or else as the judgments say.
    """
    inputs, campaign, pools = scored.inputs, scored.inputs.campaign, scored.people.pools
    is_in_rounds = campaign.pairing.is_staged
    if campaign.method != Campaign.Method.TOURNAMENT and not is_in_rounds:
        return Certainty(**vars(board))
    entered = campaign.error_rate
    judgments = inputs.judged()
    source, compared = error_evidence(judgments, is_given=entered is not None)
    is_imported = campaign.is_imported
    done = {query: inputs.evidence.outcome.rounds[query] for query in pools} if is_in_rounds else {}
    result = certainty(
        pools, judgments, board=scored.board, error_rate=None if entered is None else float(entered), seed=scored.seed,
        counted=scored.people.judgments, allow_incomplete=is_imported,
        best={query: status.winners for query, status in done.items()} if is_in_rounds else None,
    )  # fmt: skip
    # Of rounds, the final is played with reversed judgments: who reached it is taken as it was.
    played = {query: done[query].playing if is_in_rounds else pools[query] for query in result.answers}
    rows = [row for row in scored.people.judgments if {row.a, row.b}.issubset(played.get(row.query, ()))]
    if is_in_rounds:
        fragile = final_fragilities(done, rows)
    else:
        fragile = {query: value for group in by_size(played, rows) for query, value in fragilities(group).items()}
    turned = reverse_judgments(
        played, rows, board=scored.board, queries=scored.queries, seed=scored.seed, again=not is_in_rounds
    )
    sets = {query: confidence_set(chances) for query, chances in result.chances.items()}
    finals = {query: set(played[query]) for query in played} if is_in_rounds else None
    prospects = {} if is_imported else settling_prospects(
        pools, judgments, sets, judging=result.judging, seed=scored.seed, finals=finals
    )  # fmt: skip
    judged, stands_for = {row.query for row in judgments}, inputs.evidence.stands_for
    stability: list[Answer] = []
    for query, shares in result.answers.items():
        if query not in judged:
            continue
        chances, likely = result.chances[query], sets[query]
        stability.append(
            Answer(
                qid=query,
                best=sorted(shares),
                share=sum(shares.values()),
                fragility=fragile[query].judgments,
                exact=fragile[query].exact,
                set=likely,
                also=sorted(twin for twin, passage in stands_for.get(query, {}).items() if passage in likely),
                survives=turned.answers[query],
                further=prospects.get(query, {}),
                passages=[Chance(passage, p) for passage, p in chances.items()],
                final=list(played[query]) if is_in_rounds else None,
            )
        )
    ranks = [
        Rank(row.run, row.first_place, row.middle_place, row.last_place, row.first, row.interval, row.corrected)
        for row in sorted(result.runs, key=lambda row: scored.runs.index(row.run))
    ]
    of_run = {row.run: row for row in ranks}
    entries = [
        replace(entry, corrected=row.corrected, with_judges=row.interval) if (row := of_run.get(entry.run)) else entry
        for entry in board.leaderboard
    ]
    return Certainty(
        **vars(board) | {"leaderboard": entries},
        error_rate=result.error_rate,
        error_source=source,
        error_compared=compared,
        ranks=ranks,
        stability=stability,
        resampled=Resampled(
            answers=len(stability),
            unsure=sum(answer.share < SURE for answer in stability),
            settled=sum(len(answer.set) == 1 for answer in stability),
            fragile=sum(answer.fragility == 1 for answer in stability),
        ),
        reversed=_reversed(turned, scored),
    )


def _reversed(turned: Reversals, scored: Scored) -> Reversed:
    """Which conclusions survive if some judgments are reversed: the first run, each two neighbours on the preference
    qrels, those that changed order against the original ones, and the best known answers.
    """
    runs, scores = scored.runs, scored.scores
    at = {run: number for number, run in enumerate(scored.board.runs)}
    means = {run: score.mean for run, score in scores.preference.items()}
    rows: list[Conclusion] = []
    if turned.means is not None and len(runs) > 1:
        rows.append(Conclusion("first", runs[0], None, turned.first(at[runs[0]])))
        pairs: list[tuple[Kind, str, str]] = [("order", *pair) for pair in pairwise(runs)]
        pairs += [("changed", two.lower, two.upper) for two in scores.neighbours if two.changed]
        rows += [
            Conclusion(kind, upper, lower, turned.above(at[upper], at[lower]))
            for kind, upper, lower in pairs
            if means[upper] > means[lower]
        ]
    answers = turned.answers.values()
    return Reversed(
        share=SHARE,
        draws=DRAWS,
        survives=SURVIVES,
        conclusions=rows,
        answers=len(answers),
        answers_survive=sum(share >= SURVIVES for share in answers),
        answers_share=sum(answers) / len(answers) if answers else None,
    )
