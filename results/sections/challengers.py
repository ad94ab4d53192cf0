"""Challengers against the best known answers of a version."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.judging.challengers import OUTCOMES
from results.inputs import Inputs
from results.tables import Column, Table, row_of


@dataclass(frozen=True)
class Outcomes:
    """How many challengers came to what."""

    won: int
    tied: int
    lost: int
    open: int
    waiting: int


@dataclass(frozen=True)
class Brought(Outcomes):
    """How many challengers a run brought, and what they came to."""

    run: str
    brought: int


@dataclass(frozen=True)
class Row:
    """A challenger, the best known answers `before` and now, and the runs that brought it."""

    qid: str
    passage: str
    before: list[str]
    outcome: str
    best: list[str]
    runs: list[str]


@dataclass(frozen=True)
class Challengers:
    """`changed` and `unchanged` count queries, `missing` pairs."""

    version: int
    answered: int
    queries: int
    challengers: int
    changed: int
    unchanged: int
    missing: int
    outcomes: Outcomes
    rows: list[Row]
    runs: list[Brought]


def compute(inputs: Inputs) -> Challengers:
    """What became of each challenger, by query and, of those that they brought, by run.

    While pairs of its query lack judgments it is `waiting`; where it is `open` after that, it takes another round.
    """
    version, outcomes = inputs.campaign.base_version, (*OUTCOMES, "waiting")
    assert version is not None
    firsts = {name: inputs.top(name) for name in inputs.runs}
    challenges = {challenge.query: challenge for challenge in inputs.evidence.outcome.challenges}
    rows, runs = [], {name: Counter[str]() for name in inputs.runs}
    for query, pool in inputs.evidence.pools.items():
        before = inputs.evidence.challenged[query]
        challenge = challenges.get(query)
        for passage in sorted({*pool} - {*before}):
            outcome = "waiting" if challenge is None else challenge.outcome(passage)
            brought = [name for name, top in firsts.items() if passage in top.get(query, ())]
            for name in brought:
                runs[name][outcome] += 1
            best = challenge.best if challenge is not None and not challenge.missing else ()
            rows.append(Row(query, passage, list(before), outcome, list(best), brought))
    counts = Counter(row.outcome for row in rows)
    return Challengers(
        version=version.number,
        answered=version.queries,
        queries=len(inputs.evidence.pools),
        challengers=len(rows),
        changed=sum(challenge.changed for challenge in challenges.values()),
        unchanged=sum(not challenge.changed and not challenge.missing for challenge in challenges.values()),
        missing=sum(len(challenge.missing) for challenge in challenges.values()),
        outcomes=Outcomes(**{outcome: counts[outcome] for outcome in outcomes}),
        rows=rows,
        runs=[
            Brought(run=name, brought=sum(tally.values()), **{outcome: tally[outcome] for outcome in outcomes})
            for name, tally in sorted(runs.items())
        ],
    )


def outcome_names() -> dict[str, str]:
    """What became of a challenger, in words."""
    return {
        "won": _("replaced an answer"),
        "tied": _("tied"),
        "lost": _("lost"),
        "open": _("needs another round"),
        "waiting": _("lacks judgments"),
    }


def challengers_table(part: Challengers) -> Table:
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
        [*(row.qid, row.passage, names[row.outcome], " ".join(row.before), " ".join(row.best)), ", ".join(row.runs)]
        for row in part.rows
    ]
    about = _(
        "Each passage that a run ranks first and that nobody had considered for its query, against the best known "
        "answers of version %(version)d."
    ) % {"version": part.version}
    return Table("challengers", _("Challengers"), about, columns, rows)


def runs_table(part: Challengers) -> Table:
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


def sentences(part: Challengers) -> Iterator[str]:
    outcomes = part.outcomes
    yield _(
        "The runs bring %(challengers)s new passages to %(queries)s of the %(answered)s queries of version "
        "%(version)d; for the others, every passage that they rank first had been considered before."
    ) % {
        "challengers": f"{part.challengers:,}",
        "queries": f"{part.queries:,}",
        "answered": f"{part.answered:,}",
        "version": part.version,
    }
    if outcomes.won or outcomes.tied or outcomes.lost:
        yield _(
            "Of the challengers, %(won)s replaced a best known answer, %(tied)s tied with the best known answers, and "
            "%(lost)s lost."
        ) % {"won": f"{outcomes.won:,}", "tied": f"{outcomes.tied:,}", "lost": f"{outcomes.lost:,}"}
        yield ngettext(
            "The best known answers changed for %(changed)s query, and were confirmed for %(unchanged)s.",
            "The best known answers changed for %(changed)s queries, and were confirmed for %(unchanged)s.",
            part.changed,
        ) % {"changed": f"{part.changed:,}", "unchanged": f"{part.unchanged:,}"}
    if outcomes.open:
        yield ngettext(
            "%(count)s challenger needs another round: another campaign of challengers, to judge %(pairs)s more pairs.",
            "%(count)s challengers need another round: another campaign of challengers, to judge %(pairs)s more pairs.",
            outcomes.open,
        ) % {"count": f"{outcomes.open:,}", "pairs": f"{part.missing:,}"}


def limits(part: Challengers) -> Iterator[str]:
    waiting = part.outcomes.waiting
    if waiting:
        yield ngettext(
            "%(count)s challenger still needs judgments.", "%(count)s challengers still need judgments.", waiting
        ) % {"count": f"{waiting:,}"}
    yield _(
        "Challengers are compared with the best known answers, not with the passages that these have beaten. The runs "
        "are scored on the new best known answers once these are added as a version."
    )
