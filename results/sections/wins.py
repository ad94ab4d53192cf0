"""Whose top passages people preferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.statistics.significance import Correction
from evaluation.statistics.win_ratios import Apart, perfect_top, win_ratios
from results.inputs import ALPHA
from results.sections.scored import Scored
from results.tables import Column, Table, Value, row_of
from results.writing import correction_name, named_first, perfect_name

if TYPE_CHECKING:
    pass

# What the ranking that returns the original qrel first is called, last of the names.
PERFECT = "perfect"
_NOBODY = ""  # in its place while it is computed: no run has this name


@dataclass(frozen=True)
class Total:
    """A run against all others: `beats` counts the runs that it beats."""

    name: str
    won: int
    of: int
    share: float | None
    beats: int
    beats_significantly: int


@dataclass(frozen=True)
class Wins:
    """As square tables, rows against columns. `of` leaves out what was undecided; the diagonal of `p` is None. The
    perfect ranking comes last.
    """

    names: list[str]
    won: list[list[int]]
    of: list[list[int]]
    p: list[list[float | None]]
    alpha: float
    correction: Correction
    family: int
    threshold: float
    row: list[Total]
    apart: list[Apart]

    def ratio(self, a: int, b: int) -> float | None:
        """How often the top passage of one run, by number, was preferred to another's; None where they never met."""
        of = self.of[a][b]
        return self.won[a][b] / of if of else None

    def is_significant(self, a: int, b: int) -> bool:
        """Whether two runs, by number, differ significantly; a run does not from itself."""
        p = self.p[a][b]
        return p is not None and p < self.threshold


def compute(scored: Scored) -> Wins:
    campaign, pooled = scored.inputs.campaign, scored.inputs.pooled
    top = perfect_top(scored.qrels_once, campaign.min_grade)
    tops = {run: scored.inputs.top(run) for run in scored.present}
    wins = win_ratios(
        tops | {_NOBODY: top}, list(scored.preference.queries), scored.leaving,
        alpha=ALPHA, correction=scored.correction, pooled={_NOBODY, *pooled},
    )  # fmt: skip
    size = len(wins.runs)
    at = {run: number for number, run in enumerate(wins.runs)}
    won, of = ([[0] * size for _ in range(size)] for _ in range(2))
    p: list[list[float | None]] = [[None] * size for _ in range(size)]
    for meeting in wins.meetings:
        a, b = at[meeting.a], at[meeting.b]
        won[a][b], won[b][a] = meeting.a_wins, meeting.b_wins
        of[a][b] = of[b][a] = meeting.a_wins + meeting.b_wins
        p[a][b] = p[b][a] = meeting.p
    names = [name or PERFECT for name in wins.runs]
    beats, clearly = wins.wins(), wins.significant_wins()
    return Wins(
        names=names,
        won=won,
        of=of,
        p=p,
        alpha=wins.alpha,
        correction=wins.correction,
        family=len(wins.meetings),
        threshold=wins.threshold,
        row=[
            Total(
                *(names[row], sum(won[row]), sum(of[row]), sum(won[row]) / sum(of[row]) if sum(of[row]) else None),
                *(beats[run], clearly[run]),
            )
            for run, row in at.items()
        ],
        apart=list(wins.apart),
    )


def totals_table(wins: Wins) -> Table:
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
        name = _name_of(wins, number)
        rows.append([name, total.beats, total.beats_significantly, total.won, total.of, total.share])
    about = _(
        "By top passages only: where those of two pooled runs differ and people compared them, whose was "
        "preferred? The perfect ranking returns the original qrel first."
    )
    return Table("wins", _("Whose top passages people preferred"), about, columns, rows)


def matrix_table(wins: Wins) -> Table:
    names = [_name_of(wins, number) for number in range(len(wins.names))]
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
    ratio = wins.ratio(a, b)
    return None if ratio is None else [ratio, wins.is_significant(a, b), wins.of[a][b]]


def pairs_table(wins: Wins) -> Table:
    columns = [
        Column("a", _("Run a"), "name"),
        Column("b", _("Run b"), "name"),
        Column("a_won", _("a preferred"), "count"),
        Column("b_won", _("b preferred"), "count"),
        Column("share", _("Share of a"), "share"),
        Column("p", _("p (binomial)"), "p"),
        Column("significant", _("Significant"), "yes"),
    ]
    names = [_name_of(wins, number) for number in range(len(wins.names))]
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


def apart_table(wins: Wins) -> Table | None:
    if not wins.apart:
        return None
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
        "passages: these were judged only where others brought them, which is no fair sample. If all "
        "others lost, or won: the share if the run had lost, or won, all comparisons that were not judged."
    )
    return Table("wins-apart", _("Top passages of runs that were not pooled"), about, columns, rows, per_run=("run",))


def _name_of(wins: Wins, number: int) -> str:
    names = wins.names
    return perfect_name() if number == len(names) - 1 and names[number] == PERFECT else names[number]


def beating_perfect(wins: Wins) -> str:
    """How many runs significantly beat the ranking that returns the original qrel first, by their top passages."""
    perfect = len(wins.names) - 1
    beating = [
        name
        for number, name in enumerate(wins.names[:perfect])
        if wins.won[number][perfect] > wins.won[perfect][number] and wins.is_significant(number, perfect)
    ]
    if not beating:
        return _("By their top passages, no run significantly beats the perfect ranking.")
    return ngettext(
        "By its top passages, %(count)d run significantly beats the perfect ranking: %(named)s.",
        "By their top passages, %(count)d runs significantly beat the perfect ranking: %(named)s.",
        len(beating),
    ) % {"count": len(beating), "named": named_first(beating)}
