"""How sure the order of a season's entries is: checked each month and on demand, and kept."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from core.errors import NotNow
from core.models import User
from core.sealing import SealedOtherwise
from evaluation.boards.bands import bands, mean_intervals, resampled_ranks
from evaluation.statistics.significance import Correction
from leaderboards import artifacts, events, selectors
from leaderboards.models import Opening, OrderCheck, Part, PolicyVersion, Score, Season, Submission

DRAWS = 1000
REST = timedelta(minutes=10)  # between two checks of one season that people ask for
FEWEST = 2  # entries of which an order can be checked
JOB = "leaderboards.jobs.check_orders"
log = logging.getLogger(__name__)


class Line(NamedTuple):
    """An entry in a check: `id` is its public one; `low` and `high` are the ends of the 95% interval of its mean, None
    for one query; `rank_low` and `rank_high` those of its rank on resampled queries; `first` the share of samples
    in which it is the best; `before` its ranks in the check before, empty where it was not in it.
    """

    id: str
    mean: float
    low: float | None
    high: float | None
    band: int
    rank_low: int
    rank_high: int
    first: float
    before: tuple[int, ...] = ()


class Summary(NamedTuple):
    """A check in numbers: `width`, the mean number of ranks that an entry's interval spans; `first`, the highest
    probability of being first.
    """

    check: OrderCheck
    entries: int
    bands: int
    width: float
    first: float


def is_open(season: Season, at: datetime) -> bool:
    """Whether everybody may see the eval queries' side of an order: every score is shown, or the qrels are public."""
    rule = season.board.policy_at(at).release_rule
    return rule == PolicyVersion.Rule.PLAIN or season.eval_qrels_published_at is not None


def scores_to_check(season: Season, part: str, at: datetime) -> list[Score]:
    """The scores of the entries that have a rank in a season and a score for each query, in order of arrival.

    On eval, where everybody may see the check, only of entries whose scores were all shown when they came: what was
    released under a Ladder stays under it, unless the qrels are public.
    """
    rows = Score.objects.filter(
        submission__season=season, submission__state=Submission.State.PUBLISHED, part=part, version=None,
        measure=season.board.ranking_measure, origin=Score.Origin.COMPUTED,
    ).exclude(per_query="")  # fmt: skip
    if season.closes_at is not None:
        rows = rows.filter(submission__arrived_at__lt=season.closes_at)
    if part == Part.EVAL and season.eval_qrels_published_at is None and is_open(season, at):
        rows = rows.filter(submission__release__rule=PolicyVersion.Rule.PLAIN)
    return list(rows.select_related("submission").order_by("submission__arrived_at", "submission"))


def require_enough(season: Season, at: datetime) -> None:
    """Raises NotNow where a season has less than two entries to put in order, or was checked a few minutes ago."""
    if season.order_checks.filter(made_at__gt=at - REST).exists():
        raise NotNow(_("The order was checked within the last ten minutes. Try again later."))
    if len(scores_to_check(season, Part.DEV, at)) < FEWEST:
        raise NotNow(_("An order needs two published entries with runs in the season. There are fewer yet."))


def order_check(*, season: Season, at: datetime, by: User | None = None) -> list[OrderCheck]:
    """Check the order of a season on dev and on eval, and keep what comes out; without `by`, it is the monthly one.

    Scores of each query are opened for it, which the teams see. An entry whose file cannot be read, or that has scores
    for another number of queries than most, is left out, and logged.
    """
    seed = int(f"{at.astimezone(UTC):%Y%m%d}")
    checks = []
    for part in (Part.DEV, Part.EVAL):
        scores = scores_to_check(season, part, at)
        table, submissions = _table(scores, at, by)
        if len(submissions) < FEWEST:
            continue
        checks.append(
            OrderCheck.objects.create(
                season=season,
                part=part,
                is_public=part == Part.DEV or is_open(season, at),
                queries=table.shape[1],
                draws=DRAWS,
                seed=seed,
                correction=season.board.correction,
                entries=_lines(table, submissions, seed, cast(Correction, season.board.correction)),
                made_by=by,
                made_at=at,
            )
        )
    return checks


def _table(scores: Sequence[Score], at: datetime, by: User | None) -> tuple[np.ndarray, list[Submission]]:
    rows, submissions = [], []
    why = _("To see how sure the order of the leaderboard is.")
    for score in scores:
        what, job = Opening.What.PER_QUERY, "" if by else JOB
        events.opening_add(submission=score.submission, what=what, why=why, by=by, job=job, at=at)
        try:
            values = artifacts.per_query(score)
        except (OSError, SealedOtherwise, ValueError):
            log.exception("The scores of submission %s were left out of a check of the order", score.submission_id)
            continue
        if values is not None:
            rows.append(values)
            submissions.append(score.submission)
    if not rows:
        return np.zeros((0, 0)), []
    lengths = [len(values) for values in rows]
    usual = max(lengths, key=lengths.count)
    if usual == 0:
        return np.zeros((0, 0)), []
    for submission, length in zip(submissions, lengths, strict=True):
        if length != usual:
            log.error("Submission %s has scores for %s queries, not %s", submission.pk, length, usual)
    numbers = [number for number, length in enumerate(lengths) if length == usual]
    return np.stack([rows[number] for number in numbers]), [submissions[number] for number in numbers]


def _lines(
    table: np.ndarray, submissions: Sequence[Submission], seed: int, correction: Correction
) -> list[dict[str, object]]:
    """What is kept of each entry, the best mean first, equals in order of arrival."""
    means, intervals, groups = table.mean(axis=1), mean_intervals(table), bands(table, correction=correction)
    ranks = resampled_ranks(table, seed=seed, draws=DRAWS)
    order = np.argsort(-np.round(means, 12), kind="stable").tolist()
    lines = []
    for at in order:
        interval = intervals[at]
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        rank = ranks[at]
        mean = float(means[at])
        lines.append(
            Line(submissions[at].public_id, mean, low, high, groups[at], rank.low, rank.high, rank.first)._asdict()
        )
    for line in lines:
        del line["before"]
    return lines


def shown_checks(season: Season, at: datetime) -> dict[str, list[OrderCheck]]:
    """By part, eval first: the checks that everybody may see now, newest first; nothing of a part without any."""
    parts = [Part.EVAL, Part.DEV] if is_open(season, at) else [Part.DEV]
    checks = {str(part): checks_of(season, part, public=True) for part in parts}
    return {part: rows for part, rows in checks.items() if rows}


def checks_for(organizer: User, season: Season, at: datetime) -> dict[str, list[OrderCheck]]:
    """By part, eval first: the checks that an organizer may see, newest first; who takes part sees what everybody sees.

    That somebody sees scores that nobody was shown is written down.
    """
    if selectors.submissions_of(organizer, season.board).exists():
        return shown_checks(season, at)
    checks = {str(part): checks_of(season, part, public=False) for part in (Part.EVAL, Part.DEV)}
    if checks[Part.EVAL]:
        ids = [row["id"] for row in checks[Part.EVAL][0].entries]
        for row in season.submissions.filter(public_id__in=ids, release__is_shown=False):
            events.scores_seen(submission=row, by=organizer, at=at)
    return {part: rows for part, rows in checks.items() if rows}


def lines_of(check: OrderCheck, before: OrderCheck | None = None) -> list[Line]:
    """The entries of a check in its order, each with its ranks in the one before."""
    ranks = {row["id"]: (row["rank_low"], row["rank_high"]) for row in before.entries} if before else {}
    return [Line(**row, before=ranks.get(row["id"], ())) for row in check.entries]


def summary(check: OrderCheck) -> Summary:
    """A check in numbers, to set beside others."""
    lines = lines_of(check)
    width = sum(line.rank_high - line.rank_low + 1 for line in lines) / len(lines)
    return Summary(check, len(lines), max(line.band for line in lines), width, max(line.first for line in lines))


def seasons_due(*, at: datetime) -> QuerySet[Season]:
    """The seasons whose order has not been checked this month: those that are open, and closed ones once more.

    One query, however many seasons there are. What people asked for is no check of the month.
    """
    begin = at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    monthly = OrderCheck.objects.filter(season=OuterRef("pk"), made_by=None)
    done = Exists(monthly.filter(Q(made_at__gte=begin) | Q(made_at__gte=OuterRef("closes_at"))))
    scored = Score.objects.filter(
        submission=OuterRef("pk"), part=Part.DEV, version=None, origin=Score.Origin.COMPUTED
    ).exclude(per_query="")
    entries = Submission.objects.filter(Exists(scored), season=OuterRef("pk"), state=Submission.State.PUBLISHED)
    enough = Exists(entries.order_by("pk")[FEWEST - 1 : FEWEST])
    return Season.objects.filter(~done, enough, opens_at__lte=at).select_related("board").order_by("pk")


@transaction.atomic
def monthly_check(*, season: Season, at: datetime) -> bool:
    """The check of a month, unless another job does it or has done it."""
    locked = Season.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=season.pk).first()
    if locked is None or not seasons_due(at=at).filter(pk=season.pk).exists():
        return False
    if len(scores_to_check(locked, Part.DEV, at)) < FEWEST:
        return False
    return bool(order_check(season=locked, at=at))


def checks_of(season: Season, part: str, *, public: bool) -> list[OrderCheck]:
    """The last 24 checks of an order, newest first; those that everybody may see, or all."""
    rows = season.order_checks.filter(Q(part=part) & (Q(is_public=True) if public else Q()))
    return list(rows.order_by("-made_at", "-pk")[:24])
