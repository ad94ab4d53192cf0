"""What runs in the background: evaluating submissions, scoring dev runs, forgetting."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.background import JOB_SECONDS, job
from core.errors import NotNow
from core.models import User
from leaderboards import boards, evaluating, order_checks, season_checks, spot_checks, submitting, teams, unnamed_files
from leaderboards.models import Season

log = logging.getLogger(__name__)


@job(_("the job that evaluates submissions to leaderboards"))
def evaluate(submission_id: int | None = None) -> str:
    """Evaluate what waits, or one submission. Safe to run many at once, and to be killed."""
    ends, done = time.monotonic() + JOB_SECONDS, 0
    if submission_id is None:
        submitting.choices_end(at=timezone.now())
        evaluating.publish_waiting(at=timezone.now())
    waiting = [submission_id] if submission_id is not None else evaluating.submissions_waiting(at=timezone.now())
    for waiting_id in waiting:
        try:
            done += evaluating.submission_evaluate(submission_id=waiting_id, at=timezone.now())
        except Exception:  # one bad row stops nobody else; it is claimed again, three times at most
            log.exception("Submission %s was not evaluated", waiting_id)
        if time.monotonic() > ends:
            break
    return f"evaluated: {done}"


@job(_("the job that scores runs on dev queries"))
def score_dev(scoring_id: int | None = None) -> str:
    """Score the dev runs that wait, or one. Safe to run many at once, and to be killed."""
    ends, done = time.monotonic() + JOB_SECONDS, 0
    for waiting_id in [scoring_id] if scoring_id is not None else evaluating.dev_scorings_waiting():
        try:
            done += evaluating.dev_scoring_do(scoring_id=waiting_id, at=timezone.now())
        except Exception:
            log.exception("The dev run %s was not scored", waiting_id)
        if time.monotonic() > ends:
            break
    return f"scored: {done}"


@job(_("the job that deletes expired invitations of leaderboards"))
def forget() -> str:
    """Delete invitations that expired a month ago. Safe to run many at once, and to be killed."""
    return f"forgotten: {teams.invitations_forget(at=timezone.now())}"


@job(_("the job that deletes files of leaderboards that no row names"))
def delete_unnamed_files() -> str:
    """Delete files that no row names, from a day after a killed process left them. Safe to run many at once."""
    unnamed = unnamed_files.unnamed_delete(at=timezone.now())
    if unnamed.is_suspect:
        raise RuntimeError(f"{len(unnamed.names)} of {unnamed.all} files are named by no row: is this their database?")
    return f"deleted: {len(unnamed.names)}"


@job(_("the job that publishes the eval qrels of closed seasons"))
def publish_qrels() -> str:
    """Let everybody have the eval qrels of seasons that have closed, where the board says so. Safe to run twice."""
    done = 0
    for season in boards.seasons_to_publish(at=timezone.now()):
        try:
            boards.qrels_publish(season=season, at=timezone.now())
            done += 1
        except NotNow as error:  # the organizers are told when they press the button; it is tried again
            log.warning("The eval qrels of season %s stay hidden: %s", season.pk, error)
        except Exception:  # one stops no other
            log.exception("The eval qrels of season %s were not published", season.pk)
    return f"published: {done}"


@job(_("the job that draws entries of leaderboards for spot checks"))
def draw_spot_checks() -> str:
    """Draw the month's entries for a closer look, of each board that has not. Safe to run many at once, or late."""
    at, done = timezone.now(), 0
    for board in spot_checks.boards_due(at=at):
        try:
            done += len(spot_checks.checks_draw(board=board, at=at))
        except Exception:  # one stops no other
            log.exception("No entries of board %s were drawn", board.pk)
    return f"drawn: {done}"


@job(_("the job that looks at the entries of a season"))
def check_seasons() -> str:
    """See where the gap of dev and eval grows, and which new bests are really better. Safe to run many at once."""
    at, done = timezone.now(), 0
    for season in season_checks.seasons_due(at=at):
        try:
            done += season_checks.season_check(season=season, at=at)
        except Exception:  # one stops no other
            log.exception("The entries of season %s were not looked at", season.pk)
    return f"checked: {done}"


@job(_("the job that checks how sure the orders of leaderboards are"))
def check_orders(season_id: int | None = None, user_id: int | None = None) -> str:
    """See how sure the order of entries is: of the seasons that are due this month, or of one, since somebody asks.

    Safe to run many at once, and to be killed.
    """
    at, ends, done = timezone.now(), time.monotonic() + JOB_SECONDS, 0
    if season_id is not None and user_id is not None:
        season, by = Season.objects.select_related("board").get(pk=season_id), User.objects.get(pk=user_id)
        return f"checked: {len(order_checks.order_check(season=season, at=at, by=by))}"
    for season in order_checks.seasons_due(at=at):
        try:
            done += order_checks.monthly_check(season=season, at=at)
        except Exception:  # one stops no other
            log.exception("The order of season %s was not checked", season.pk)
        if time.monotonic() > ends:
            break
    return f"checked: {done}"
