"""Scoring a board's entries on the versions of its preference qrels, and looking for challengers of the newest one."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from io import BytesIO
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from core.errors import FileAway
from core.locks import alone
from core.sealing import SealedOtherwise
from core.version import VERSION
from evaluation.errors import BadInput
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.files.texts import read_queries
from evaluation.files.tops import RunTop
from evaluation.judging.challengers import find_challengers
from evaluation.measures.means import exact_mean
from evaluation.measures.named import Measure, Scorer, read_measure
from evaluation.statistics.rescoring import Rescoring, mean_reciprocal
from leaderboards import artifacts
from leaderboards.models import (
    Artifact,
    Board,
    Challenger,
    Opening,
    Part,
    Score,
    Season,
    SeasonFile,
    Submission,
    VersionEntry,
)
from pools import selectors as pool_selectors
from pools.models import QrelsVersion
from runs.models import Query

REST = timedelta(minutes=10)  # after which an entry whose file could not be read is tried again
JOB = "leaderboards.upkeep.jobs.keep_up"
QUERIES_OF = {Part.DEV: SeasonFile.Part.DEV_QUERIES, Part.EVAL: SeasonFile.Part.EVAL_QUERIES}
UNREADABLE = (OSError, BotoCoreError, ClientError, BadInput, SealedOtherwise, ValueError)
log = logging.getLogger(__name__)


class Found(NamedTuple):
    """A passage that an entry ranks first for a query, and that nobody has considered."""

    part: Part
    qid: str
    pid: str


def measures_of(board: Board) -> dict[str, Measure]:
    """The board's measures, by name, without those that want higher grades than preference qrels have: all are 1."""
    measures = {name: read_measure(name) for name in board.measures}
    return {name: measure for name, measure in measures.items() if measure.rel == 1}


def entries_of(board: Board) -> QuerySet[Submission]:
    """What is, or was, published on a board and has runs, in order of arrival."""
    has_runs = Exists(Artifact.objects.filter(submission=OuterRef("pk")))
    published = board.submissions.filter(published_at__isnull=False)
    states = (Submission.State.PUBLISHED, Submission.State.WITHDRAWN)
    return published.filter(has_runs, state__in=states).order_by("arrived_at", "id")


def examined_entries(at: datetime) -> QuerySet[VersionEntry]:
    """What needs no look now: done, or not possible a little while ago."""
    return VersionEntry.objects.filter(Q(error="") | Q(at__gt=at - REST))


def boards_to_examine(*, at: datetime) -> QuerySet[Board]:
    """Boards with an entry that is to be scored on a version of their collection's preference qrels now."""
    done = examined_entries(at).filter(version=OuterRef("pk"), submission=OuterRef(OuterRef("pk")))
    lacking = QrelsVersion.objects.filter(~Exists(done), collection=OuterRef("board__collection"))
    has_runs = Exists(Artifact.objects.filter(submission=OuterRef("pk")))
    entries = Submission.objects.filter(
        Exists(lacking),
        has_runs,
        board=OuterRef("pk"),
        published_at__isnull=False,
        state__in=(Submission.State.PUBLISHED, Submission.State.WITHDRAWN),
    )
    return Board.objects.filter(Exists(entries)).order_by("id")


def entries_examine(*, board: Board, at: datetime) -> int:
    """Score the entries that lack it on each version, and look for their challengers of the newest. How many entries.

    What is stored stays: after a kill, the next job goes on from there. An entry whose file cannot be read keeps no
    other from being scored. 0 where another process does it now.
    """
    with alone(f"entries of board {board.pk}") as ours:
        if not ours:
            return 0
        versions = list(board.collection.versions.order_by("-number"))
        done = set(examined_entries(at).filter(submission__board=board).values_list("submission_id", "version_id"))
        layouts = _Layouts(board, versions[:1])
        count = 0
        for submission in entries_of(board).select_related("season"):
            lacking = [version for version in versions if (submission.pk, version.pk) not in done]
            if lacking:
                count += _examine(submission, lacking, layouts, at)
        return count


def _examine(submission: Submission, versions: Sequence[QrelsVersion], layouts: "_Layouts", at: datetime) -> bool:
    """Whether it could be read."""
    try:
        runs = {Part(row.part): _Run(row, layouts.order) for row in submission.artifacts.select_related("submission")}
        scores, challengers = [], []
        for version in versions:
            for part, run in sorted(runs.items()):
                scores += list(_scores(submission, version, part, run, layouts, at))
                if version in layouts.newest:
                    challengers += layouts.challengers(submission.season, part, run.first())
    except (*UNREADABLE, FileAway) as error:
        reason = str(error) or _("Its file was sealed with another key, or is damaged.")
        log.warning("Submission %s is not scored on versions: %s", submission.pk, reason)
        _note(submission, versions, reason, at)
        return False
    _store(submission, versions, scores, challengers, at)
    return True


class _Run:
    """What is kept of a run. The whole of it is read only where its top does not do."""

    def __init__(self, row: Artifact, order: Order) -> None:
        self._row, self._order = row, order

    @cached_property
    def whole(self) -> RunArtifact:
        return RunArtifact.load(BytesIO(artifacts.content(self._row)))

    @cached_property
    def _top(self) -> RunTop | None:
        top = artifacts.load_top(self._row)
        return top if top is not None and top.order == self._order else None

    def places(self, rescoring: Rescoring) -> NDArray[np.int64]:
        """Where the first best known answer of each query stands: as `Rescoring.places`."""
        if self._top is not None and self._top.depth >= rescoring.k:
            return rescoring.places_in(self._top)
        return rescoring.places(self.whole, self._order)

    def first(self) -> dict[str, tuple[str, ...]]:
        """The first passage of each query that has one."""
        return self._top.first() if self._top is not None else self.whole.top(self._order)


def _scores(
    submission: Submission, version: QrelsVersion, part: Part, run: _Run, layouts: "_Layouts", at: datetime
) -> Iterable[Score]:
    for name, measure in measures_of(submission.board).items():
        if measure.is_reciprocal:
            assert measure.cutoff is not None
            rescoring = layouts.of(version, submission.season, part, measure.cutoff)
            queries, mean = len(rescoring.queries), mean_reciprocal(run.places(rescoring))
        else:
            scorer = layouts.scorer(version, submission.season, part)
            queries = len(scorer.queries)
            mean = exact_mean(scorer.score(run.whole, [measure], layouts.order)[0]) if queries else Fraction()
        if queries:
            yield Score(
                submission=submission,
                part=part,
                measure=name,
                version=version,
                fraction=f"{mean.numerator}/{mean.denominator}",
                value=float(mean),
                query_count=queries,
                software=VERSION,
                scored_at=at,
            )


@transaction.atomic
def _store(
    submission: Submission,
    versions: Sequence[QrelsVersion],
    scores: Sequence[Score],
    challengers: Sequence[Found],
    at: datetime,
) -> None:
    numbers = ", ".join(str(version.number) for version in sorted(versions, key=lambda version: version.number))
    Opening.objects.create(
        submission=submission,
        what=Opening.What.ARTIFACT,
        job=JOB,
        why=_("Scored on these versions of the preference qrels, and searched for challengers: %(numbers)s.")
        % {"numbers": numbers},
        at=at,
    )
    Score.objects.bulk_create(scores, ignore_conflicts=True)
    _store_challengers(submission, challengers, at)
    _note(submission, versions, "", at)


def _note(submission: Submission, versions: Sequence[QrelsVersion], error: str, at: datetime) -> None:
    VersionEntry.objects.bulk_create(
        [VersionEntry(submission=submission, version=version, error=error, at=at) for version in versions],
        update_conflicts=True,
        unique_fields=["submission", "version"],
        update_fields=["error", "at"],
    )


def _store_challengers(submission: Submission, challengers: Sequence[Found], at: datetime) -> None:
    if not challengers:
        return
    board = submission.board
    qids = {row.qid for row in challengers}
    keys = dict(Query.objects.filter(collection=board.collection_id, qid__in=qids).values_list("qid", "id"))
    Challenger.objects.bulk_create(
        [
            Challenger(board=board, query_id=keys[row.qid], part=row.part, pid=row.pid, first=submission, found_at=at)
            for row in challengers
        ],
        ignore_conflicts=True,
    )
    waiting = Challenger.objects.filter(board=board, query__in=keys.values(), outcome=Challenger.Outcome.OPEN)
    stored = {(qid, pid): pk for pk, qid, pid in waiting.values_list("id", "query__qid", "pid")}
    Challenger.submissions.through.objects.bulk_create(
        [
            Challenger.submissions.through(challenger_id=stored[row.qid, row.pid], submission_id=submission.pk)
            for row in challengers
            if (row.qid, row.pid) in stored
        ],
        ignore_conflicts=True,
    )


class _Layouts:
    """What many entries of a board are scored with, made once each. `newest`: the newest version, alone, if any."""

    def __init__(self, board: Board, newest: Sequence[QrelsVersion]) -> None:
        self.board = board
        self.newest = newest
        self.order = cast(Order, board.order)
        self._queries: dict[tuple[int, Part], frozenset[str]] = {}
        self._answers: dict[int, dict[str, tuple[str, ...]]] = {}
        self._made: dict[tuple[int, int, Part, int], Rescoring] = {}
        self._scorers: dict[tuple[int, int, Part], Scorer] = {}

    def of(self, version: QrelsVersion, season: Season, part: Part, k: int) -> Rescoring:
        key = version.pk, season.pk, part, k
        if key not in self._made:
            answers = self._of_version(version)
            queries = self.queries(season, part)
            self._made[key] = Rescoring({qid: pids for qid, pids in answers.items() if qid in queries}, k)
        return self._made[key]

    def scorer(self, version: QrelsVersion, season: Season, part: Part) -> Scorer:
        """For measures other than RR@k: the answers as qrels of grade 1."""
        key = version.pk, season.pk, part
        if key not in self._scorers:
            answers, queries = self._of_version(version), self.queries(season, part)
            self._scorers[key] = Scorer(
                Qrels({qid: dict.fromkeys(pids, 1) for qid, pids in answers.items() if qid in queries})
            )
        return self._scorers[key]

    def queries(self, season: Season, part: Part) -> frozenset[str]:
        """Ids of the season's dev or eval queries; none where it has no such file."""
        key = season.pk, part
        if key not in self._queries:
            self._queries[key] = season_queries(season, part)
        return self._queries[key]

    def challengers(self, season: Season, part: Part, first: dict[str, tuple[str, ...]]) -> list[Found]:
        """What a run puts first and nobody has considered, for queries that have a best known answer."""
        queries = self.queries(season, part)
        pools: Mapping[str, set[str]] = {qid: pids for qid, pids in self._considered.items() if qid in queries}
        by_query = find_challengers([first], pools)
        return [Found(part, qid, pid) for qid, pids in by_query.items() for pid in pids]

    @cached_property
    def _considered(self) -> dict[str, set[str]]:
        return considered(self.board, self.newest[0]) if self.newest else {}

    def _of_version(self, version: QrelsVersion) -> dict[str, tuple[str, ...]]:
        if version.pk not in self._answers:
            self._answers[version.pk] = pool_selectors.version_answers(version)
        return self._answers[version.pk]


def considered(board: Board, version: QrelsVersion) -> dict[str, set[str]]:
    """By query of a version, its answers, what its campaigns considered, and what upkeep of the board has settled."""
    passages = {qid: {*pids} for qid, pids in pool_selectors.version_answers(version).items()}
    for qid, pids in pool_selectors.considered_passages(version).items():
        if qid in passages:
            passages[qid] |= pids
    settled = board.challengers.exclude(outcome__in=[Challenger.Outcome.OPEN, Challenger.Outcome.DROPPED])
    for qid, pid in settled.values_list("query__qid", "pid").iterator(chunk_size=20_000):
        if qid in passages:
            passages[qid].add(pid)
    return passages


def season_queries(season: Season, part: Part) -> frozenset[str]:
    """Ids of a season's dev or eval queries; none where it has no such file."""
    row = season.files.filter(part=QUERIES_OF[part]).first()
    if row is None:
        return frozenset()
    with row.file.open("rb") as file:
        return frozenset(query.id for query in read_queries(cast(BinaryIO, file), name=row.name))
