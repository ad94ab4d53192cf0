"""The tables of the results: columns with a meaning, rows of plain values. Pages, CSV and LaTeX show the same."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from django.utils.translation import gettext as _

from evaluation.statistics.consistency import TOP
from pools.models import Campaign
from results.sections.challengers import Challengers
from results.sections.champion import Champion
from results.sections.compared import Chosen, Comparison, Pair
from results.sections.measures import Measures
from results.sections.whole import Results
from results.sections.wins import PERFECT, Wins

# What a column's values are: words, whole numbers, RR, a difference of RR, a search length, a share of 1, such a share
# with whether it is significant and of how many (`[share, True, 18]`), a p-value, `[low, high]` of RR or of a share,
# seconds, or True and False. None wherever there is no value.
Kind = Literal[
    "name", "text", "query", "count", "score", "change", "length", "share", "tested", "p", "interval", "shares",
    "seconds", "yes",
]  # fmt: skip

Value = Any
WORDS: tuple[Kind, ...] = ("name", "text", "query")


class Column(NamedTuple):
    """`key` names it in addresses and files, `label` on the page, which shows what is `folded` when asked for it.

    One that is `filed` is in the files alone.
    """

    key: str
    label: str
    kind: Kind
    folded: bool = False
    filed: bool = False


@dataclass(frozen=True)
class Table:
    """`title` is its heading, `about` how to read it. `per_run`: columns with names of runs, to narrow it to one.

    `foot` are rows that stay last in every order. In a column of tested shares they have counts.
    """

    name: str
    title: str
    about: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    per_run: Sequence[str] = ()
    foot: Sequence[Sequence[Value]] = ()

    def at(self, key: str) -> int:
        """The number of a column. Raises StopIteration if there is none of this name."""
        return next(number for number, column in enumerate(self.columns) if column.key == key)

    def sorted_by(self, order: str) -> "Table":
        """By a column, `-` before its key for the greatest first; rows without a value last. As it is if unknown."""
        key, down = order.removeprefix("-"), order.startswith("-")
        if key not in [column.key for column in self.columns]:
            return self
        at = self.at(key)
        present = [row for row in self.rows if row[at] is not None]
        rest = [row for row in self.rows if row[at] is None]
        present.sort(key=lambda row: _sort_key(row[at]), reverse=down)
        return replace(self, rows=present + rest)

    def only(self, words: str) -> "Table":
        """The rows about a run of this name; where there is none, those with these words in a column of words."""
        if words in self.runs():
            at = [self.at(key) for key in self.per_run]
            return replace(self, rows=[row for row in self.rows if words in [row[number] for number in at]])
        words, at = words.casefold(), [number for number, column in enumerate(self.columns) if column.kind in WORDS]
        return replace(
            self, rows=[row for row in self.rows if any(words in (row[number] or "").casefold() for number in at)]
        )

    @property
    def is_folded(self) -> bool:
        """Whether it has columns that are shown when asked for."""
        return any(column.folded for column in self.columns)

    def for_pages(self, *, unfolded: bool = True) -> "Table":
        """Without the columns that are in files alone, and unless `unfolded`, without those shown when asked for."""
        places = [
            number for number, column in enumerate(self.columns) if not column.filed and (unfolded or not column.folded)
        ]

        def narrow(rows: Sequence[Sequence[Value]]) -> list[list[Value]]:
            return [[row[number] for number in places] for row in rows]

        columns = [self.columns[number] for number in places]
        return replace(self, columns=columns, rows=narrow(self.rows), foot=narrow(self.foot))

    def runs(self) -> set[str]:
        """The runs that it can be narrowed to."""
        return {row[self.at(key)] for key in self.per_run for row in self.rows}


def _sort_key(value: Value) -> Any:
    if isinstance(value, list | tuple):
        return value[0]
    return value.casefold() if isinstance(value, str) else value


def row_of(entry: object, columns: Sequence[Column]) -> list[Value]:
    """A row of the values that an entry has under the columns' keys."""
    return [getattr(entry, column.key) for column in columns]


def perfect_name() -> str:
    """What the ranking that returns the original qrel first is called on pages."""
    return _("perfect ranking")


def tables(data: Results) -> dict[str, Table]:
    """All tables that these results have by name, in the order in which they are shown."""
    return {name: each for name, make in _TABLES.items() if (each := make(data)) is not None}


def table(data: Results, name: str) -> Table | None:
    """One of them; None where there is none of this name."""
    return _TABLES[name](data) if name in _TABLES else None


def _rr(cutoff: int) -> str:
    """The measure as ir_measures names it: RR alone would be of whole lists."""
    return f"RR@{cutoff}"


# --- the leaderboard


def _leaderboard(data: Results) -> Table:
    rr = _rr(data.k)
    columns = [
        Column("place_preference", _("Rank"), "count"),
        Column("run", _("Run"), "name"),
        Column("change", _("Change"), "change"),
        Column("preference", rr, "score"),
        Column("original", _("%(rr)s before") % {"rr": rr}, "score"),
        Column("place_original", _("Rank before"), "count"),
        Column("original_all", _("%(rr)s before, all queries") % {"rr": rr}, "score"),
        Column("pooled", _("Pooled"), "yes"),
        Column("preference_t", _("95%, by t"), "interval", folded=True),
        Column("original_t", _("95% before, by t"), "interval", folded=True),
        Column("preference_bootstrap", _("95%, bootstrap"), "interval", folded=True),
        Column("original_bootstrap", _("95% before, bootstrap"), "interval", folded=True),
        Column("corrected", _("%(rr)s corrected") % {"rr": rr}, "score"),
        Column("with_judges", _("95%, corrected"), "interval", folded=True),
    ]
    outside = data.outside
    at = next(number for number, column in enumerate(columns) if column.key == "preference_t")
    if outside:
        columns[at:at] = [
            Column("outside", _("Outside score"), "score"),
            Column("outside_rank", _("Outside rank"), "count"),
        ]
    rows = []
    for entry in data.leaderboard:
        after, before = entry.preference, entry.original
        row = [
            *(entry.place_preference, entry.run, after.mean - before.mean, after.mean, before.mean),
            *(entry.place_original, entry.original_all, entry.pooled),
            *(after.t, before.t, after.bootstrap, before.bootstrap),
            *(entry.corrected, entry.with_judges),
        ]
        row[at:at] = [entry.outside, entry.outside_rank] if outside else []
        rows.append(row)
    assert data.perfect and data.compare
    perfect, certain = data.perfect.preference, [1.0, 1.0]
    foot = [
        None, perfect_name(), perfect.mean - 1, perfect.mean, 1.0, None, 1.0, None,
        perfect.t, certain, perfect.bootstrap, certain, None, None,
    ]  # fmt: skip
    foot[at:at] = [None, None] if outside else []
    about = _(
        "Mean RR@%(k)d over the %(answered)s queries that have preference qrels: on these, and before, on the "
        "original qrels; beside it, on all %(all)s queries with original qrels. Intervals are over queries: Student's "
        "t, and bootstrap percentiles. Wrong judgments pull all means together; corrected means would be right without "
        "them, and their intervals are over queries and judges. The pools were made of the "
        "runs marked as pooled; the others are only scored. The perfect ranking returns the original qrel first."
    ) % {"k": data.k, "answered": f"{data.compare.queries:,}", "all": f"{data.queries_all:,}"}
    if outside:
        about += " " + _("The source of the outside scores is: %(source)s.") % {"source": outside.source}
    return Table("leaderboard", _("The leaderboard, before and after"), about, columns, rows, foot=[foot])


def _neighbours(data: Results) -> Table:
    rr = _rr(data.k)
    columns = [
        Column("upper", _("Above before"), "name"),
        Column("lower", _("Below before"), "name"),
        Column("changed", _("Changed ranks"), "yes"),
        Column("original_delta", _("%(rr)s apart before") % {"rr": rr}, "change"),
        Column("preference_delta", _("%(rr)s apart") % {"rr": rr}, "change"),
        Column("preference_interval", _("95%"), "interval"),
        Column("preference_p", _("p (signed rank)"), "p"),
        Column("significant", _("Significant"), "yes"),
    ]
    rows = [row_of(pair, columns) for pair in data.neighbours]
    assert data.significance
    family = data.significance
    about = _(
        "Runs that follow each other on the original qrels, and how far they are apart there and on the preference "
        "qrels. p-values are raw, from the signed-rank test on %(rr)s on the preference qrels; "
        "significant is below %(threshold)s: %(alpha)s over %(family)d pairs of neighbours (%(correction)s)."
    ) % {
        "rr": rr,
        "threshold": f"{family.threshold:.3g}",
        "alpha": f"{family.alpha:g}",
        "family": family.family,
        "correction": correction_name(family.correction),
    }
    return Table("neighbours", _("Neighbours"), about, columns, rows)


def _measures(data: Results) -> Table:
    part = data.measures
    assert part and data.compare
    columns = [Column("run", _("Run"), "name")]
    rows = [[row.run] for row in part.runs]
    for number, name in enumerate(part.names, 1):
        by_run = [row.scores[number - 1] for row in part.runs]
        for side, key, named in (
            (attrgetter("preference"), "", name),
            (attrgetter("original"), "_before", _("%(measure)s before") % {"measure": name}),
        ):
            columns.append(Column(f"measure{number}{key}", named, "score"))
            interval = _("%(measure)s, 95%% by t") % {"measure": named}
            columns.append(Column(f"measure{number}{key}_t", interval, "interval", folded=True))
            for row, scores in zip(rows, by_run, strict=True):
                row += [side(scores).mean, side(scores).t]
            if name.startswith("Compat"):
                head = _("%(measure)s, queries") % {"measure": named}
                columns.append(Column(f"measure{number}{key}_queries", head, "count"))
                for row, scores in zip(rows, by_run, strict=True):
                    row.append(side(scores).queries)
    about = _(
        "Means over the %(answered)s queries that have preference qrels: on these, and before, on the original qrels. "
        "Passages that the qrels do not name count as not relevant; Judged is the share of a run's first passages that "
        "they name. Where it is small, as with preference qrels, nDCG, P and R say little about the rest of the list. "
        "To choose others, see “Other measures” in the settings of the results."
    ) % {"answered": f"{data.compare.queries:,}"}
    if any(name.startswith("Compat") for name in part.names):
        about += " " + _("By Compat, the queries are those with a relevant passage that the run has; others count 0.")
    return Table("measures", _("By other measures"), about, columns, rows)


def _measure_tests(part: Measures) -> Table:
    columns = [
        Column("measure", _("Measure"), "text"),
        Column("upper", _("Above before"), "name"),
        Column("lower", _("Below before"), "name"),
        Column("changed", _("Changed ranks"), "yes"),
        Column("original_delta", _("Apart before"), "change"),
        Column("preference_delta", _("Apart"), "change"),
        Column("preference_interval", _("95%"), "interval"),
        Column("higher", _("Queries higher"), "count"),
        Column("lower_on", _("Queries lower"), "count"),
        Column("wsr", _("p (signed rank)"), "p"),
        Column("t", _("p (t)"), "p"),
        Column("significant", _("Significant"), "yes"),
    ]
    rows = [row_of(row, columns) for row in part.tests]
    about = _(
        "Runs that follow each other on the original qrels by each measure, compared query by query on the preference "
        "qrels. p-values are raw; significant is a signed-rank test below %(alpha)s over the number of neighbours by "
        "that measure (%(correction)s)."
    ) % {
        "alpha": f"{part.alpha:g}",
        "correction": correction_name(part.correction),
    }
    return Table("measure-tests", _("Neighbours by other measures"), about, columns, rows, per_run=("upper", "lower"))


def _ranks(data: Results) -> Table:
    columns = [
        Column("run", _("Run"), "name"),
        Column("low", _("Best rank"), "count"),
        Column("median", _("Median rank"), "count"),
        Column("high", _("Worst rank"), "count"),
        Column("first", _("Probability of being first"), "share"),
    ]
    rows = [row_of(entry, columns) for entry in data.ranks or ()]
    about = _(
        "How certain the ranks are, given that judgments may be wrong and queries could be others. Best "
        "and worst are the ends of the rank's 95% interval."
    ) + _by_rate(data)
    return Table("ranks", _("How certain the ranks are"), about, columns, rows)


def _reversed(data: Results) -> Table:
    part = data.reversed
    assert part
    columns = [
        Column("conclusion", _("Conclusion"), "text"),
        Column("upper", _("Run"), "name"),
        Column("lower", _("Other run"), "name"),
        Column("share", _("Holds"), "share"),
        Column("survives", _("Survives"), "yes"),
    ]
    kinds = {
        "first": _("first on the leaderboard"),
        "order": _("above the next run"),
        "changed": _("now above the run that was next above it"),
    }
    rows = [[kinds[row.kind], row.upper, row.lower, row.share, row.share >= part.survives] for row in part.conclusions]
    about = _(
        "Which conclusions would survive if %(share)s of the judgments were reversed: each judgment is reversed with "
        "this chance, %(draws)s times, and every tournament is played again. A conclusion survives that holds in "
        "%(survives)s of the draws or more. Queries are not resampled here."
    ) % {
        "share": f"{100 * part.share:g}\N{NO-BREAK SPACE}%",
        "draws": f"{part.draws:,}",
        "survives": f"{100 * part.survives:g}\N{NO-BREAK SPACE}%",
    }
    return Table("reversed", _("If some judgments were reversed"), about, columns, rows, per_run=("upper", "lower"))


def _by_rate(data: Results) -> str:
    """How often a judgment is wrong, and how that is known."""
    assert data.error_rate is not None and data.error_source
    rate, compared = f"{100 * data.error_rate:.3g}", f"{data.error_compared:,}"
    by_source = {
        "given": _("Each judgment is wrong in %(share)s %% of the cases, as the settings say."),
        "repeated": _(
            "A judgment is wrong in about %(share)s %% of the cases, by all judgments together, among them pairs that "
            "were judged several times (%(compared)s comparisons)."
        ),
        "assumed": _(
            "A judgment is wrong in about %(share)s %% of the cases, if people err as is assumed: too few pairs were "
            "judged several times to know."
        ),
    }
    return " " + by_source[data.error_source] % {"share": rate, "compared": compared}


# --- runs against each other


def _pairs(data: Results) -> Table:
    compared, original = data.compare, data.compare_original
    assert compared and original
    rr = _rr(compared.k)
    columns = [
        Column("a", _("Run a"), "name"),
        Column("b", _("Run b"), "name"),
        Column("verdict", _("Better"), "text"),
        Column("before", _("Better on the original qrels"), "text"),
        Column("rr_a", _("%(rr)s of a") % {"rr": rr}, "score"),
        Column("rr_b", _("%(rr)s of b") % {"rr": rr}, "score"),
        Column("delta", _("b minus a"), "change"),
        Column("delta_interval", _("95%, b minus a"), "interval"),
        Column("wsr", _("p, signed rank"), "p"),
        Column("wrs", _("p, rank sum"), "p"),
        Column("wrs_tie_corrected", _("p, rank sum, ties corrected"), "p"),
        Column("t", _("p, t-test"), "p"),
        Column("outcomes", _("p, only a or only b"), "p"),
        Column("ranking", _("p, ranking"), "p"),
        Column("disagreement", _("ESL and %(rr)s disagree") % {"rr": rr}, "text"),
    ]
    ranking = compared.rank_by.replace("-", "_")
    before = {frozenset((pair.a, pair.b)): pair for pair in original.pairs}
    rows, words = [], _verdict_words()
    for pair in compared.pairs:
        p, means = pair.p, compared.means
        rows.append(
            [
                *(pair.a, pair.b),
                *(_verdict(row, words) for row in (pair, before.get(frozenset((pair.a, pair.b))))),
                *(means[pair.a], means[pair.b], pair.delta, pair.delta_interval),
                *(p.wsr, p.wrs, p.wrs_tie_corrected, p.t),
                *(pair.outcomes.p, getattr(pair.both.p, ranking), _disagreement(pair)),
            ]
        )
    about = _(
        "%(which)s on the preference qrels, over %(queries)d queries, by RR@%(k)d. p-values are raw. A verdict takes "
        "p < %(threshold)s as significant: %(alpha)s over %(family)d pairs of runs, those compared here "
        "(%(correction)s). A run is strictly better if it finds significantly more, and ranks significantly better "
        "where both find (%(ranking)s); it is better by doing no harm if it does one of these, at half that level, "
        "and is not significantly worse in the other. If one run finds significantly more and the other ranks "
        "significantly better, that is a trade-off. “Not significantly” means that it finds more, and ranks better on "
        "average. To find more is to find a relevant passage for more queries."
    ) % {
        "which": _which(data.comparisons),
        "correction": correction_name(compared.correction),
        "ranking": rank_by_name(compared),
        "k": compared.k,
        "queries": compared.queries,
        "threshold": f"{compared.threshold:.3g}",
        "alpha": f"{compared.alpha:g}",
        "family": compared.family,
    }
    if compared.thresholds["esl"] != compared.threshold:
        about += " " + _("For the test of ranking, it takes p < %(threshold)s.") % {
            "threshold": f"{compared.thresholds['esl']:.3g}"
        }
    if compared.margin:
        about += " " + _(
            "To do no harm is also shown here: by a one-sided t-test, the run is worse in the other by less than "
            "%(percent)s\u00a0%% of the queries, or %(margin)s of %(rr)s."
        ) % {"percent": f"{100 * compared.margin:g}", "margin": f"{compared.margin:g}", "rr": rr}
    if short := {run: longest for run, longest in sorted(compared.lists.items()) if longest < compared.k}:
        named = ", ".join(f"{run} ({longest})" for run, longest in short.items())
        about += " " + _("Some runs have lists shorter than %(k)d, and what is below counts as missed: %(named)s.") % {
            "k": compared.k,
            "named": named,
        }
    return Table("pairs", _("Pairwise comparison of runs"), about, columns, rows, per_run=("a", "b"))


def correction_name(correction: str) -> str:
    """How many tests share a level, to go in brackets after "0.05 over 120 pairs"."""
    if correction == Campaign.Correction.NONE:
        return _("not corrected for their number")
    return str(Campaign.Correction(correction).label)


def _which(choice: Chosen | None) -> str:
    """The runs that are compared, to begin a sentence."""
    assert choice
    match choice.comparisons:
        case "baseline":
            which = _("Each run with the baseline %(run)s") % {"run": choice.baseline}
        case "chain":
            which = _("Each run with the best of those imported before it")
        case "pairs":
            which = _("The chosen pairs of runs")
        case _other:
            which = _("Every two runs")
    return _("%(which)s, except runs of the same team,") % {"which": which} if choice.teams_apart else which


def rank_by_name(compared: Comparison) -> str:
    """By what a verdict says that a run ranks better, in words."""
    rr = _rr(compared.k)
    return {
        "esl-wsr": _("by mean search length and the signed-rank test"),
        "esl-t": _("by mean search length and the t-test"),
        "rr-wsr": _("by mean %(rr)s and the signed-rank test") % {"rr": rr},
        "rr-t": _("by mean %(rr)s and the t-test") % {"rr": rr},
    }[compared.rank_by]


def _disagreement(pair: Pair) -> str | None:
    """How ESL and RR differ about who ranks better, where they do."""
    match pair.disagreement:
        case "means":
            return _("each favours the other run")
        case "significance":
            return _("only one is significant")
        case _other:
            return None


def _verdict_order(compared: Comparison) -> Table:
    rr = _rr(compared.k)
    columns = [
        Column("rank", _("Rank by verdicts"), "count"),
        Column("run", _("Run"), "name"),
        Column("rank_by_mean", _("Rank by mean"), "count"),
        Column("mean", rr, "score"),
    ]
    by_mean = {run: rank for rank, run in enumerate(compared.order_by_means, 1)}
    rows = [[rank, run, by_mean[run], compared.means[run]] for rank, run in enumerate(compared.order_by_verdicts, 1)]
    about = _(
        "The runs in the order of the verdicts on the preference qrels, which differs from that of mean RR@%(k)d. Next "
        "comes, each time, the run with the highest mean of those that no remaining run beats."
    ) % {"k": compared.k}
    return Table("verdict-order", _("The order by verdicts"), about, columns, rows)


def _outcomes(data: Results) -> Table:
    return _outcomes_on(data, data.compare, "outcomes", _("Who finds it, and how soon"), _("preference qrels"))


def _outcomes_before(data: Results) -> Table:
    title = _("Who finds it, and how soon, on the original qrels")
    return _outcomes_on(data, data.compare_original, "outcomes-original", title, _("original qrels"))


def _outcomes_on(data: Results, compared: Comparison | None, name: str, title: str, qrels: str) -> Table:
    assert compared
    rr = _rr(compared.k)
    columns = [
        Column("a", _("Run a"), "name"),
        Column("b", _("Run b"), "name"),
        Column("neither", _("Neither finds"), "count"),
        Column("neither_share", _("Neither, share"), "share"),
        Column("a_only", _("Only a"), "count"),
        Column("a_only_share", _("Only a, share"), "share"),
        Column("b_only", _("Only b"), "count"),
        Column("b_only_share", _("Only b, share"), "share"),
        Column("outcomes", _("p, only a or only b"), "p"),
        Column("both", _("Both"), "count"),
        Column("both_share", _("Both, share"), "share"),
        Column("esl_a", _("ESL of a"), "length"),
        Column("esl_b", _("ESL of b"), "length"),
        Column("esl_wsr", _("ESL: p, signed rank"), "p"),
        Column("esl_t", _("ESL: p, t-test"), "p"),
        Column("rr_a", _("%(rr)s of a") % {"rr": rr}, "score"),
        Column("rr_b", _("%(rr)s of b") % {"rr": rr}, "score"),
        Column("rr_wsr", _("%(rr)s: p, signed rank") % {"rr": rr}, "p"),
        Column("rr_t", _("%(rr)s: p, t-test") % {"rr": rr}, "p"),
        Column("disagreement", _("ESL and %(rr)s disagree") % {"rr": rr}, "text"),
    ]
    rows = []
    for pair in compared.pairs:
        outcomes, both = pair.outcomes, pair.both
        row: list[Value] = [pair.a, pair.b]
        for outcome in ("neither", "a_only", "b_only", "both"):
            row += [outcomes.p] if outcome == "both" else []
            row += [getattr(outcomes, outcome), getattr(outcomes, outcome) / compared.queries]
        for measure in ("esl", "rr"):
            row += [getattr(both, f"{measure}_a"), getattr(both, f"{measure}_b")]
            row += [getattr(both.p, f"{measure}_wsr"), getattr(both.p, f"{measure}_t")]
        rows.append([*row, _disagreement(pair)])
    about = _(
        "%(which)s on the %(qrels)s, over %(queries)s queries: which of them finds a relevant passage in its top "
        "%(k)d; and where both do, how far down (ESL, the mean rank), and with what %(rr)s. p-values are raw: the "
        "exact binomial test of only a against only b, the signed-rank test and the paired t-test."
    ) % {
        "which": _which(data.comparisons),
        "qrels": qrels,
        "queries": f"{compared.queries:,}",
        "k": compared.k,
        "rr": rr,
    }
    return Table(name, title, about, columns, rows, per_run=("a", "b"))


def _verdict_words() -> dict[str, str]:
    """How verdicts are said: looked up once for a table, which has thousands of them."""
    return {
        "strict": _("%(run)s, strictly"),
        "do_no_harm": _("%(run)s, by doing no harm"),
        "trade_off": _("trade-off"),
        "better": _("%(run)s, not significantly"),
        "identical": _("identical"),
        "neither": _("neither"),
    }


def _verdict(pair: Pair | None, words: Mapping[str, str]) -> str | None:
    """What a comparison of two runs comes to, in words; None where they are not compared."""
    if pair is None:
        return None
    verdict = pair.verdict
    for name in ("strict", "do_no_harm", "trade_off", "better"):
        if winner := getattr(verdict, name):
            return words[name] if name == "trade_off" else words[name] % {"run": getattr(pair, winner)}
    return words["identical" if pair.identical else "neither"]


def _win_totals(wins: Wins) -> Table:
    columns = [
        Column("run", _("Run"), "name"),
        Column("beats", _("Runs beaten"), "count"),
        Column("beats_significantly", _("Significantly"), "count"),
        Column("won", _("Pairings won"), "count"),
        Column("of", _("Of"), "count"),
        Column("share", _("Share"), "share"),
    ]
    rows = []
    for number, total in enumerate(wins.row):
        name = _wins_name(wins, number)
        rows.append([name, total.beats, total.beats_significantly, total.won, total.of, total.share])
    about = _(
        "By top passages only: where those of two pooled runs differ and people compared them, whose was "
        "preferred? The perfect ranking returns the original qrel first."
    )
    return Table("wins", _("Whose top passages people preferred"), about, columns, rows)


def _win_matrix(wins: Wins) -> Table:
    names = [_wins_name(wins, number) for number in range(len(wins.names))]
    columns = [Column("run", _("Run"), "name")]
    columns += [Column(f"preferred_{number}", name, "tested") for number, name in enumerate(names, start=1)]
    every = range(len(names))
    rows = [[name, *(_preferred(wins, column, row) for column in every)] for row, name in enumerate(names)]
    foot = [_("Runs beaten"), *(total.beats for total in wins.row)]
    about = _(
        "How often the top passage of the run in the column was preferred to that of the run in the row, and in "
        "brackets, of how many decided queries. A star, and bold type, mark what is significant (p < %(threshold)s, "
        "see below). The last row counts the runs that the run in the column beats: that were preferred to it less "
        "than half of the time."
    ) % {"threshold": f"{wins.threshold:.3g}"}
    return Table("win-matrix", _("Who was preferred to whom"), about, columns, rows, foot=[foot])


def _preferred(wins: Wins, a: int, b: int) -> list[Value] | None:
    """How often people preferred one run's top passage to that of the other, and whether that is significant."""
    of = wins.of[a][b]
    return [wins.won[a][b] / of, wins.is_significant(a, b), of] if of else None


def _win_pairs(wins: Wins) -> Table:
    columns = [
        Column("a", _("Run a"), "name"),
        Column("b", _("Run b"), "name"),
        Column("a_won", _("a preferred"), "count"),
        Column("b_won", _("b preferred"), "count"),
        Column("share", _("Share of a"), "share"),
        Column("p", _("p (binomial)"), "p"),
        Column("significant", _("Significant"), "yes"),
    ]
    names = [_wins_name(wins, number) for number in range(len(wins.names))]
    rows = []
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            won, lost, p = wins.won[a][b], wins.won[b][a], wins.p[a][b]
            share = won / (won + lost) if won + lost else None
            rows.append([names[a], names[b], won, lost, share, p, wins.is_significant(a, b)])
    about = _(
        "The same, pair by pair, with the exact two-sided binomial test. p-values are raw; significant is below "
        "%(threshold)s: %(alpha)s over %(family)d pairs, the perfect ranking among them (%(correction)s)."
    ) % {
        "threshold": f"{wins.threshold:.3g}",
        "alpha": f"{wins.alpha:g}",
        "family": wins.family,
        "correction": correction_name(wins.correction),
    }
    return Table("win-pairs", _("Preferred top passages, pair by pair"), about, columns, rows, per_run=("a", "b"))


def _wins_apart(wins: Wins) -> Table:
    columns = [
        Column("run", _("Run"), "name"),
        Column("differ", _("Top passages differ"), "count"),
        Column("judged", _("Judged"), "count"),
        Column("won", _("Won"), "count"),
        Column("lost", _("Lost"), "count"),
        Column("share", _("Share won"), "share"),
        Column("low", _("If all others lost"), "share"),
        Column("high", _("If all others won"), "share"),
    ]
    rows = [row_of(row, columns) for row in wins.apart]
    about = _(
        "Runs that are only scored, against the pooled ones and the perfect ranking. Nobody was asked about their top "
        "passages: these were judged only where others brought them, which is no fair sample. The last two columns say "
        "what the share would be if they had lost, or won, all comparisons that were not judged."
    )
    return Table("wins-apart", _("Top passages of runs that were not pooled"), about, columns, rows, per_run=("run",))


def _wins_name(wins: Wins, number: int) -> str:
    names = wins.names
    return perfect_name() if number == len(names) - 1 and names[number] == PERFECT else names[number]


def _order_agreement(data: Results) -> Table:
    columns = [
        Column("run", _("Run"), "name"),
        Column("both", _("Judged pairs in its top %(top)d") % {"top": TOP}, "count"),
        Column("alike", _("Ordered as people did"), "count"),
        Column("share", _("Share"), "share"),
        Column("interval", _("95%"), "shares"),
        Column("pooled", _("Pooled"), "yes"),
    ]
    agreed = sorted(data.order_agreement, key=lambda row: not row.pooled)
    rows = [row_of(row, columns) for row in agreed]
    about = _(
        "How often runs order passages as people do: of the %(judged)s decided pairs, how many have both passages in "
        "the run's top %(top)d, and how many of these the run orders as people did. If a pair was judged several "
        "times, the majority counts. Of a run that was not pooled, these are only pairs of passages that others "
        "brought: no fair sample, so it is last here. Intervals are exact."
    ) % {"judged": f"{agreed[0].judged:,}", "top": TOP}
    return Table("order-agreement", _("Who orders passages as people do"), about, columns, rows)


def _contributions(data: Results) -> Table:
    rr = _rr(data.k)
    columns = [
        Column("run", _("Run"), "name"),
        Column("own", _("Passages that only it brought"), "count"),
        Column("won", _("Best known answers among them"), "count"),
        Column("preference", rr, "score"),
        Column("without_own", _("%(rr)s without them") % {"rr": rr}, "score"),
        Column("change", _("Change"), "change"),
        Column("place", _("Rank"), "count"),
        Column("place_without", _("Rank without them"), "count"),
    ]
    rows = [row_of(entry, columns) for entry in data.contributions]
    about = _(
        "Does a run owe its rank to what it brought into the pools? The preference qrels are derived "
        "again without the passages that only this run ranked first."
    )
    return Table("contributions", _("What each run brought"), about, columns, rows)


def _champion_split(champion: Champion) -> Table:
    columns = [
        Column("category", _("Category"), "text"),
        Column("comparisons", _("Comparisons"), "count"),
        Column("share", _("Share"), "share"),
    ]
    split = champion.split
    total = sum(split.values())
    rows = [[label, split[name], split[name] / total if total else None] for name, label in _categories()]
    about = _(
        "The comparisons to judge. In category A, the run returns the qrel first, and the qrel is compared with the "
        "run's second passage; in category B, the run returns another passage first, which is compared with the qrel."
    )
    if champion.qrel == Campaign.ChampionQrel.EACH:
        about += " " + _(
            "A query with several qrels has a comparison for each. These are not independent, so intervals are too "
            "narrow and p-values too small."
        )
    elif champion.qrel == Campaign.ChampionQrel.HIGHEST:
        about += " " + _("If a query has several qrels, the one that the run ranks highest is compared.")
    else:
        about += " " + _("If a query has several qrels, the first in the file is compared.")
    return Table(
        "champion-split",
        _("Categories of the champion check"),
        about,
        columns,
        rows,
        foot=[[_("All"), total, 1.0 if total else None]],
    )


def _categories() -> tuple[tuple[str, str], ...]:
    return (
        ("a", _("A: the qrel is first")),
        ("b", _("B: another is first")),
    )


def _champion(champion: Champion) -> Table:
    shares = (
        ("for_qrel", _("Qrel preferred"), _("Qrel preferred, share")),
        ("against", _("Other preferred"), _("Other preferred, share")),
        ("undecided", _("Undecided"), _("Undecided, share")),
    )
    columns = [
        Column("case", _("Category"), "text"),
        Column("queries", _("Judged"), "count"),
        *(
            column
            for key, count, share in shares
            for column in (Column(key, count, "count"), Column(f"{key}_share", share, "share"))
        ),
        Column("share", _("Other preferred, of the decided"), "share"),
        Column("interval", _("95%"), "shares"),
        Column("p", _("p (binomial)"), "p"),
    ]
    categories = (champion.a, champion.b)
    total = {
        key: sum(getattr(category, key) for category in categories) for key in ("queries", *(key for key, *_ in shares))
    }
    rows = [
        [
            label,
            *_counts_and_shares({key: getattr(category, key) for key in total}, total),
            *(category.share, category.interval, category.p),
        ]
        for category, (_name, label) in zip(categories, _categories(), strict=True)
    ]
    about = _(
        "Does the top passage of %(run)s beat the qrel? The other passage is the run's second in category A, and its "
        "first in category B. The last shares are of the decided comparisons, with the exact 95%% interval. p-values "
        "are raw, from the exact two-sided binomial test."
    ) % {"run": champion.run}
    foot = [_("All"), *_counts_and_shares(total, total), None, None, None]
    return Table("champion", _("Champion check"), about, columns, rows, foot=[foot])


def _counts_and_shares(counts: Mapping[str, int], keys: Iterable[str]) -> Iterator[int | float | None]:
    """How many were judged, and then each other count with its share of these."""
    judged = counts["queries"]
    for key in keys:
        yield counts[key]
        if key != "queries":
            yield counts[key] / judged if judged else None


def _champion_slices(champion: Champion) -> Table:
    columns = [
        Column("outcome", _("Outcome"), "text"),
        Column("queries", _("Comparisons"), "count"),
        Column("share", _("Share"), "share"),
    ]
    a, b = champion.a, champion.b
    decided = sum(case.for_qrel + case.against for case in (a, b))
    outcomes = (
        (_("B: they differ, and the run's passage is preferred"), b.against),
        (_("B: they differ, and the qrel is preferred"), b.for_qrel),
        (_("A: they agree, and the second passage is preferred"), a.against),
        (_("A: they agree, and the top passage is preferred"), a.for_qrel),
    )
    rows = [[outcome, queries, queries / decided if decided else None] for outcome, queries in outcomes]
    about = _("The decided comparisons, by whether run and qrels agree, and by what people preferred.")
    foot = [_("All"), decided, 1.0 if decided else None]
    return Table("champion-slices", _("Run and qrels, query by query"), about, columns, rows, foot=[foot])


# --- challengers


def outcome_names() -> dict[str, str]:
    """What became of a challenger, in words."""
    return {
        "won": _("replaced an answer"),
        "tied": _("tied"),
        "lost": _("lost"),
        "open": _("needs another round"),
        "waiting": _("lacks judgments"),
    }


def _challengers(part: Challengers) -> Table:
    columns = [
        Column("qid", _("Query"), "query"),
        Column("passage", _("Challenger"), "text"),
        Column("outcome", _("Outcome"), "text"),
        Column("before", _("Best known answers before"), "text"),
        Column("best", _("Now"), "text"),
        Column("runs", _("First in"), "text"),
    ]
    names = outcome_names()
    rows = [
        [
            *(row.qid, row.passage, names[row.outcome], " ".join(row.before), " ".join(row.best)),
            ", ".join(row.runs),
        ]
        for row in part.rows
    ]
    about = _(
        "Each passage that a run ranks first and that nobody had considered for its query, against the best known "
        "answers of version %(version)d."
    ) % {"version": part.version}
    return Table("challengers", _("Challengers"), about, columns, rows)


def _challenging_runs(part: Challengers) -> Table:
    names = outcome_names()
    columns = [
        Column("run", _("Run"), "name"),
        Column("brought", _("Challengers"), "count"),
        *(Column(outcome, _capital(name), "count") for outcome, name in names.items()),
    ]
    rows = [row_of(row, columns) for row in part.runs]
    about = _("How many challengers each run brought, and how they fared. Several runs may bring the same one.")
    return Table("challenging-runs", _("Who brought the challengers"), about, columns, rows, per_run=("run",))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- the crowd, the queries


def _positions(data: Results) -> Table:
    columns = [
        Column("position", _("Position in the HIT"), "count"),
        Column("passed", _("Test pairs passed"), "share"),
        Column("seconds", _("Median time"), "seconds"),
    ]
    about = _(
        "Does the position of a comparison matter? Over all checked work, including excluded work. "
        "The time is for one comparison."
    )
    return Table("positions", _("Along a HIT"), about, columns, data.quality.positions)


def _stability(data: Results) -> Table:
    columns = [
        Column("query", _("Query"), "query"),
        Column("best", _("Best known answers"), "text"),
        Column("share", _("P(right)"), "share"),
        Column("fragility", _("Fragility"), "count"),
        Column("survives", _("Survives reversals"), "share"),
        Column("size", _("Size of the set"), "count"),
        Column("set", _("Confidence set"), "text"),
        Column("exact", _("Fragility is exact"), "yes", folded=True),
        Column("chances", _("P(best)"), "text", filed=True),
    ]
    least = sorted(data.stability or (), key=lambda entry: (entry.share, entry.qid))
    rows = [
        [
            entry.qid, ", ".join(entry.best), entry.share, entry.fragility, entry.survives,
            len(entry.set),
            ", ".join(entry.set), entry.exact,
            ", ".join(f"{row.passage} {row.p:.3f}" for row in entry.passages or ()),
        ]
        for entry in least
    ]  # fmt: skip
    about = _(
        "P(right) is how probable it is that the best passage is one of the best known answers. Fragility is the "
        "fewest judgments whose reversal changes the best known answers; it is empty where no reversal does. They "
        "survive reversals in this share of the draws in which 5% of the judgments are reversed. P(best) is how "
        "probable it is that a passage is the best of its pool (in the files, of every passage), and the confidence "
        "set has the fewest passages whose P(best) adds up to 90%. The least certain come first: if you judge any "
        "again, start with these."
    ) + _by_rate(data)
    return Table("stability", _("How certain the best known answers are"), about, columns, rows)


def _pool_sizes(data: Results) -> Table:
    columns = [
        Column("size", _("Passages in the pool"), "count"),
        Column("queries", _("Queries"), "count"),
        Column("share", _("Share"), "share"),
    ]
    rows = [[size, queries, queries / data.queries] for size, queries in data.pool_sizes]
    about = _("A pool of one passage needs no judgment.")
    return Table("pool-sizes", _("Pool sizes"), about, columns, rows)


# By name, each where these results have it.
_TABLES: dict[str, Callable[[Results], Table | None]] = {
    "leaderboard": lambda data: _leaderboard(data) if data.leaderboard else None,
    "neighbours": lambda data: _neighbours(data) if data.neighbours else None,
    "measures": lambda data: _measures(data) if data.measures else None,
    "measure-tests": lambda data: _measure_tests(data.measures) if data.measures and data.measures.tests else None,
    "ranks": lambda data: _ranks(data) if data.ranks else None,
    "reversed": lambda data: _reversed(data) if data.reversed and data.reversed.conclusions else None,
    "champion-split": lambda data: _champion_split(data.champion) if data.champion and data.champion.split else None,
    "challenging-runs": lambda data: _challenging_runs(data.challengers) if data.challengers else None,
    "challengers": lambda data: _challengers(data.challengers) if data.challengers else None,
    "champion": lambda data: _champion(data.champion) if data.champion else None,
    "champion-slices": lambda data: _champion_slices(data.champion) if data.champion else None,
    "pairs": lambda data: _pairs(data) if data.compare and data.compare.pairs else None,
    "outcomes": lambda data: _outcomes(data) if data.compare and data.compare.pairs else None,
    "outcomes-original": (
        lambda data: _outcomes_before(data) if data.compare_original and data.compare_original.pairs else None
    ),
    "verdict-order": lambda data: _verdict_order(data.compare) if data.compare and data.compare.is_reordered else None,
    "wins": lambda data: _win_totals(data.wins) if data.wins else None,
    "win-matrix": lambda data: _win_matrix(data.wins) if data.wins else None,
    "wins-apart": lambda data: _wins_apart(data.wins) if data.wins and data.wins.apart else None,
    "win-pairs": lambda data: _win_pairs(data.wins) if data.wins else None,
    "order-agreement": lambda data: _order_agreement(data) if data.order_agreement else None,
    "contributions": lambda data: _contributions(data) if data.contributions else None,
    "stability": lambda data: _stability(data) if data.stability else None,
    "positions": lambda data: _positions(data) if data.quality.positions else None,
    "pool-sizes": lambda data: _pool_sizes(data) if data.pool_sizes else None,
}
