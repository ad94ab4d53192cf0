"""Scoring the runs of a collection on the versions of its preference qrels, as `python -m evaluation` does."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from core.errors import FileAway
from core.locks import alone
from core.version import VERSION
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Entry, Qrels
from evaluation.measures.named import read_measures
from evaluation.statistics.leaderboards import common_queries
from evaluation.statistics.measured import measured_on_both
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import t_intervals
from pools import selectors as pool_selectors
from pools.models import QrelsVersion
from results.inputs import K
from results.models import VersionScore
from runs import selectors as run_selectors
from runs.models import Collection, Run

# Of what is stored. Scores of another version of the software are computed again.
FORMAT = 1
SOFTWARE = f"{VERSION}/{FORMAT}"
RUNS = 20  # whose lists are in memory at once
REST = timedelta(minutes=10)  # after which a run whose file could not be read is tried again
KEY = ("version", "run")
VALUES = (
    *("software", "scored_at", "error", "rr", "low", "high", "found", "original", "original_low", "original_high"),
    *("measures", "others"),
)
log = logging.getLogger(__name__)


class Score(NamedTuple):
    """A run's `mean` by a measure on a version with its interval `t`, over so many `queries`; `original` is the mean on
    the original qrels. VersionScore stores it by its fields.
    """

    mean: float
    t: Sequence[float] | None
    queries: int
    original: float


def collections_to_score(*, at: datetime) -> QuerySet[Collection]:
    """Collections with a run that is to be scored on one of its versions now."""
    return Collection.objects.filter(Exists(_runs_to_score(at).filter(collection=OuterRef("pk")))).order_by("id")


def _valid(at: datetime) -> QuerySet[VersionScore]:
    """Scores that stand: of this software, by the measures that are asked for, and of files that could be read, or
    could not just now.
    """
    current = Q(software=SOFTWARE, measures=F("version__campaign__measures"))
    return VersionScore.objects.filter(current, Q(error="") | Q(scored_at__gt=at - REST))


def _runs_to_score(at: datetime) -> QuerySet[Run]:
    """Runs that lack a score on a version, or have one of other software, or could not be read a while ago."""
    scored = _valid(at).filter(version=OuterRef("pk"), run=OuterRef(OuterRef("pk")))
    unscored = QrelsVersion.objects.filter(~Exists(scored), collection=OuterRef("collection"))
    return Run.objects.filter(Exists(unscored))


def scores_refresh(*, collection: Collection) -> int:
    """Score the runs that lack a score on a version, on the versions that they lack. How many runs were scored.

    Some runs at a time, and what is stored stays: after a kill, the next job goes on from there. A run whose file
    cannot be read keeps no other from being scored. 0 where another process does it now.
    """
    count = 0
    with alone(f"scores of collection {collection.pk}") as ours:
        if not ours:
            return 0
        at = timezone.now()
        runs = list(_runs_to_score(at).filter(collection=collection).order_by("id"))
        if not runs:
            return 0
        versions = list(collection.versions.select_related("campaign").order_by("number"))
        scored: dict[int, set[int]] = {}
        for version_id, run_id in _valid(at).filter(version__in=versions).values_list("version", "run"):
            scored.setdefault(run_id, set()).add(version_id)
        lacking: dict[tuple[QrelsVersion, ...], list[Run]] = {}  # the runs by the versions that they lack
        for run in runs:
            lacked = tuple(version for version in versions if version.pk not in scored.get(run.pk, ()))
            lacking.setdefault(lacked, []).append(run)
        original = Qrels.of(Entry(*row) for row in run_selectors.collection_qrels(collection))
        for lacked, alike in lacking.items():
            qrels = {version: qrels_of(version) for version in lacked}
            for start in range(0, len(alike), RUNS):
                count += _store(list(_score(alike[start : start + RUNS], qrels, original)))
    return count


def qrels_of(version: QrelsVersion) -> Qrels:
    """A version's preference qrels."""
    answers = pool_selectors.version_answers(version)
    return Qrels.of(Entry(query, passage, 1) for query, passages in answers.items() for passage in passages)


def _score(runs: Sequence[Run], versions: Mapping[QrelsVersion, Qrels], original: Qrels) -> Iterator[VersionScore]:
    """Scores of some runs on some versions: on the queries that both qrels name, in the order of the original ones."""
    common = {"software": SOFTWARE, "scored_at": timezone.now()}
    artifacts: dict[int, RunArtifact] = {}
    for run in runs:
        try:
            artifacts[run.pk] = run_selectors.load_artifact(run)
        except FileAway as error:
            log.warning("Run %s is not scored on versions: %s", run.pk, error)
            for version in versions:
                measures = version.campaign.measures
                yield VersionScore(version=version, run=run, error=str(error), measures=measures, **common)
    readable = [run for run in runs if run.pk in artifacts]
    boards: dict[str, Board] = {}
    for version, qrels in versions.items() if readable else ():
        order = cast(Order, version.campaign.order)
        board = boards.get(order)
        if board is None:
            board = boards[order] = Board({str(run.pk): artifacts[run.pk] for run in readable}, K, order)
        queries = common_queries(original, qrels)
        after = board.ranks(qrels).only(queries)
        before = board.ranks(original, version.campaign.min_grade).only(queries)
        rr, original_rr = after.means(), before.means()
        intervals, original_intervals = t_intervals(after), t_intervals(before)
        others = _others({str(run.pk): artifacts[run.pk] for run in readable}, qrels, original, queries, version)
        for number, run in enumerate(readable):
            low, high = intervals[number] or (None, None)
            original_low, original_high = original_intervals[number] or (None, None)
            yield VersionScore(
                version=version,
                run=run,
                rr=rr[str(run.pk)],
                low=low,
                high=high,
                found=int((after.places[number] > 0).sum()),
                original=original_rr[str(run.pk)],
                original_low=original_low,
                original_high=original_high,
                measures=version.campaign.measures,
                others=others[str(run.pk)],
                **common,
            )


def _others(
    runs: Mapping[str, RunArtifact], qrels: Qrels, original: Qrels, queries: Sequence[str], version: QrelsVersion
) -> dict[str, dict[str, dict[str, object]]]:
    """What runs score by the other measures of a version's campaign, by run and by the measure's name.

    Means over the queries that both qrels name, as for RR@10.
    """
    campaign, order = version.campaign, cast(Order, version.campaign.order)
    measures = read_measures(campaign.measures)
    scores: dict[str, dict[str, dict[str, object]]] = {run: {} for run in runs}
    if not measures:
        return scores
    both_by_measure = measured_on_both(
        runs, original, qrels, measures, order, queries=queries, min_grade=campaign.min_grade
    )
    for measure, (earlier, best) in zip(measures, both_by_measure, strict=True):
        means, counts, original_means = best.means(), best.counted(), earlier.means()
        for run, interval in zip(best.runs, best.t_intervals(), strict=True):
            score = Score(means[run], interval, counts[run], original_means[run])
            scores[run][str(measure)] = score._asdict()
    return scores


@transaction.atomic
def _store(scores: Sequence[VersionScore]) -> int:
    """Store the scores of the runs that are still there, instead of earlier ones. Of how many runs."""
    keys = {score.run_id for score in scores}
    stored = set(Run.objects.select_for_update(no_key=True).filter(pk__in=keys).values_list("pk", flat=True))
    rows = [score for score in scores if score.run_id in stored]
    VersionScore.objects.bulk_create(rows, update_conflicts=True, unique_fields=KEY, update_fields=VALUES)
    return len(stored)
