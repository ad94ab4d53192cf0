"""The leaderboard before and after."""

from dataclasses import dataclass, field

from evaluation.statistics.correlation import kendall_tau
from evaluation.statistics.leaderboards import Agreement, Neighbours, RunScore, agree_outside, pairings
from evaluation.statistics.resampling import Interval
from evaluation.statistics.significance import Correction
from results.sections.compared import Comparisons
from results.sections.scored import Scored


@dataclass(frozen=True)
class Score:
    """A mean with its 95% intervals over queries."""

    mean: float
    t: Interval | None
    bootstrap: Interval


@dataclass(frozen=True)
class Entry:
    """A run. `original_all`: over all queries with original qrels; `outside`: its score elsewhere. `corrected`: its
    mean if no judgment were wrong, and `with_judges` that mean's interval.
    """

    run: str
    pooled: bool
    outside: float | None
    outside_rank: int | None
    original_all: float
    original: Score
    preference: Score
    place_original: int
    place_preference: int
    corrected: float | None = None
    with_judges: Interval | None = None

    @property
    def rise(self) -> int:
        """By how many ranks it is higher on the preference qrels."""
        return self.place_original - self.place_preference


@dataclass(frozen=True)
class Outside:
    """Where the outside scores come from, and how far they order the runs as the two qrels do."""

    source: str
    tau: Agreement


@dataclass(frozen=True)
class Perfect:
    """The ranking that returns the original qrel first, on the preference qrels."""

    preference: Score


@dataclass(frozen=True)
class Family:
    """The tests that share a level: how many, and the p below which one is significant."""

    alpha: float
    correction: Correction
    family: int
    threshold: float


@dataclass(frozen=True)
class Pairing:
    """How many of its judgments one kind of qrels won; a tie is half a win."""

    won: float
    of: int
    share: float | None


@dataclass(frozen=True)
class Pairings:
    """The judgments of which one passage is a qrel and the other none."""

    preference: Pairing
    original: Pairing


@dataclass(frozen=True, kw_only=True)
class Board(Comparisons):
    """The runs by their mean on the preference qrels, the highest first; nothing for designs without scores."""

    leaderboard: list[Entry] = field(default_factory=list)
    outside: Outside | None = None
    unreadable: list[str] = field(default_factory=list)
    perfect: Perfect | None = None
    queries_all: int | None = None
    tau_all: float | None = None
    tau: float | None = None
    tau_ap: float | None = None
    neighbours: list[Neighbours] = field(default_factory=list)
    significance: Family | None = None
    pairings: Pairings | None = None


def compute(compared: Comparisons, scored: Scored) -> Board:
    inputs, scores, campaign = scored.inputs, scored.scores, scored.inputs.campaign
    on_all, original_qrels = scored.everywhere.means(), scored.qrels_once.relevant("all", campaign.min_grade)
    entries = []
    for run in scored.runs:
        outside = inputs.outside.get(run)
        was, now = scores.original[run], scores.preference[run]
        entries.append(
            Entry(
                run=run,
                pooled=run in inputs.pooled,
                outside=outside.score if outside else None,
                outside_rank=outside.rank if outside else None,
                original_all=on_all[run],
                original=_score(was),
                preference=_score(now),
                place_original=was.place,
                place_preference=now.place,
            )
        )
    outside_tau = agree_outside(scores, on_all, inputs.outside)
    return Board(
        **vars(compared),
        leaderboard=entries,
        outside=Outside(inputs.outside_source, outside_tau) if inputs.outside else None,
        unreadable=list(inputs.unreadable),
        perfect=Perfect(_score(scores.perfect_score)),
        queries_all=len(scored.everywhere.queries),
        tau_all=kendall_tau([on_all[run] for run in scored.runs], [scores.original[run].mean for run in scored.runs]),
        tau=scores.tau,
        tau_ap=scores.tau_ap,
        neighbours=list(scores.neighbours),
        significance=Family(scores.alpha, scores.correction, len(scores.neighbours), scores.threshold),
        pairings=Pairings(
            *(
                Pairing(judged.wins, judged.pairings, judged.share)
                for qrels in (scored.preference.relevant(), original_qrels)
                for judged in [pairings(qrels, scored.leaving)]
            )
        ),
    )


def _score(score: RunScore) -> Score:
    return Score(score.mean, score.t, score.bootstrap)
