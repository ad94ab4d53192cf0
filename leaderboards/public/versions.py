"""The versions of a board's preference qrels as anybody may see them: each version's order, what changed, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import BinaryIO, NamedTuple, cast

from django.db.models import Count, Q

from evaluation.boards.entries import Entry, ordered, ranks, rounded
from evaluation.files.texts import read_queries
from leaderboards.models import Board, Challenger, Part, Score, Season, SeasonFile, UpkeepRound
from leaderboards.public.embargo import Shown
from leaderboards.public.published import Published, printed
from pools import selectors as pool_selectors
from pools.models import QrelsVersion, VersionQuery


@dataclass(frozen=True)
class Placed:
    """An entry on one version of the qrels. `dev`, `eval`: exact, None where there is none or none is shown.

    `rank`, `before`: on this version and on the one before, 0 without one.
    """

    entry: Shown
    dev: Fraction | None
    eval: Fraction | None
    rank: int
    before: int

    @property
    def printed_dev(self) -> str:
        """The dev score in three places, or nothing."""
        return printed(self.dev)

    @property
    def printed_eval(self) -> str:
        """The eval score in three places, or nothing."""
        return printed(self.eval)

    @property
    def rose(self) -> int:
        """By how many ranks; below 0 where it fell, 0 where that is not known."""
        return self.before - self.rank if self.rank and self.before else 0


class Order(NamedTuple):
    """The entries of a season on a version, the best first. `by`: the set whose score ranks them, dev or eval."""

    season: Season
    by: str
    placed: list[Placed]


class Summary(NamedTuple):
    """A version in a list: what it changed of the dev queries, and how many challengers it settled, if by upkeep."""

    version: QrelsVersion
    answers: int
    added: int
    changed: int
    challengers: int
    won: int


class Change(NamedTuple):
    """Other best known answers to a dev query: passage ids, sorted."""

    qid: str
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def summaries(board: Board) -> list[Summary]:
    """The versions of a board, the newest first. Only dev queries are counted: the eval qrels are hidden."""
    qids = dev_queries(board)
    versions = list(board.collection.versions.order_by("-number"))
    counts: dict[int, dict[str, int]] = defaultdict(lambda: {"added": 0, "changed": 0})
    settled = VersionQuery.objects.filter(version__in=versions).exclude(kind=VersionQuery.Kind.CONFIRMED)
    for key, kind, qid in settled.values_list("version", "kind", "query__qid").iterator(chunk_size=20_000):
        if qid in qids:
            counts[key][kind] += 1
    judged = Q(challengers__part=Part.DEV)
    became = judged & Q(challengers__outcome__in=[Challenger.Outcome.WON, Challenger.Outcome.TIED])
    rounds = UpkeepRound.objects.filter(board=board, version__in=versions)
    of_rounds = {
        key: (count, won)
        for key, count, won in rounds.values_list("version").annotate(
            count=Count("challengers", filter=judged), won=Count("challengers", filter=became)
        )
    }
    rows, answers = [], 0
    for version in reversed(versions):
        answers += counts[version.pk]["added"]
        challengers, won = of_rounds.get(version.pk, (0, 0))
        rows.append(
            Summary(version, answers, counts[version.pk]["added"], counts[version.pk]["changed"], challengers, won)
        )
    return rows[::-1]


def version_of(board: Board, number: int) -> QrelsVersion | None:
    return QrelsVersion.objects.filter(collection=board.collection_id, number=number).first()


def order_on(board: Published, version: QrelsVersion) -> list[Order]:
    """The order of each season's entries on a version, beside that on the version before it. Seasons without entries
    that were scored on it are left out.

    An eval score is shown where the release rule showed one of the entry.
    """
    now, earlier = _scores(board.board, version), {}
    if (before := version_of(board.board, version.number - 1)) is not None:
        earlier = _scores(board.board, before)
    orders = []
    for season in board.seasons:
        entries = [entry for entry in board.of_season(season.name) if not entry.section and entry.id in now]
        if entries:
            by = Part.EVAL if any(_eval(entry, now) is not None for entry in entries) else Part.DEV
            orders.append(Order(season, by, _placed(entries, now, earlier, by)))
    return orders


class _Own(NamedTuple):
    arrived_at: datetime
    parts: dict[str, Fraction]


def _scores(board: Board, version: QrelsVersion) -> dict[str, _Own]:
    """By public id, exact scores of an entry by the board's ranking measure."""
    rows = Score.objects.filter(submission__board=board, version=version, measure=board.ranking_measure)
    scores: dict[str, _Own] = {}
    for key, at, part, fraction in rows.values_list(
        "submission__public_id", "submission__arrived_at", "part", "fraction"
    ):
        scores.setdefault(key, _Own(at, {})).parts[part] = Fraction(fraction)
    return scores


def _eval(entry: Shown, scores: dict[str, _Own]) -> Fraction | None:
    is_shown = entry.eval is not None and not entry.gains_nothing
    return scores[entry.id].parts.get(Part.EVAL) if is_shown and entry.id in scores else None


def _placed(entries: list[Shown], now: dict[str, _Own], earlier: dict[str, _Own], by: str) -> list[Placed]:
    arrived = sorted(entries, key=lambda entry: now[entry.id].arrived_at)
    rows = list(_entries(arrived, now, by))
    before = ranks(_entries([entry for entry in arrived if entry.id in earlier], earlier, by))
    places, by_id = ranks(rows), {entry.id: entry for entry in entries}
    return [
        Placed(
            by_id[entry.key],
            now[entry.key].parts.get(Part.DEV),
            _eval(by_id[entry.key], now),
            places.get(entry.key, 0),
            before.get(entry.key, 0),
        )
        for entry in ordered(rows)
    ]


def _entries(arrived: list[Shown], scores: dict[str, _Own], by: str) -> Iterator[Entry]:
    for entry in arrived:
        score = _eval(entry, scores) if by == Part.EVAL else scores[entry.id].parts.get(Part.DEV)
        yield Entry(key=entry.id, date=entry.day, eval=None if score is None else rounded(score), repeats=entry.repeats)


def changes_of(board: Board, version: QrelsVersion) -> list[Change]:
    """The dev queries to which a version has other best known answers than the one before, by query id."""
    qids = dev_queries(board)
    rows = version.settled.exclude(kind=VersionQuery.Kind.CONFIRMED).select_related("query").order_by("query__qid")
    return [
        Change(row.query.qid, row.query.text, tuple(row.before), tuple(row.after))
        for row in rows.iterator(chunk_size=2000)
        if row.query.qid in qids
    ]


def dev_qrels(board: Board, version: QrelsVersion) -> Iterator[str]:
    """The lines of a version's preference qrels (TREC) of the dev queries, sorted by query and passage id."""
    qids = dev_queries(board)
    for qid, pids in pool_selectors.version_answers(version).items():
        if qid in qids:
            for pid in pids:
                yield f"{qid} 0 {pid} 1\n"


def dev_queries(board: Board) -> frozenset[str]:
    """Ids of the dev queries of a board's seasons, without what is an eval query of a season with hidden qrels."""
    dev: set[str] = set()
    hidden: set[str] = set()
    files = SeasonFile.objects.filter(season__board=board).select_related("season")
    for row in files.filter(part__in=[SeasonFile.Part.DEV_QUERIES, SeasonFile.Part.EVAL_QUERIES]):
        if row.part == SeasonFile.Part.DEV_QUERIES:
            dev |= _ids(row)
        elif row.season.eval_qrels_published_at is None:
            hidden |= _ids(row)
    return frozenset(dev - hidden)


def _ids(row: SeasonFile) -> set[str]:
    with row.file.open("rb") as file:
        return {query.id for query in read_queries(cast(BinaryIO, file), name=row.name)}
