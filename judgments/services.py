"""Writing judgments, and finishing assignments."""

import logging
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import BadRequest, NotNow, NotYours
from judgments import selectors as judgment_selectors
from judgments.filling import campaigns_mark_changed
from judgments.models import Judgment
from judgments.quality import assignment_check, assignment_lock
from platforms.arriving import leaves_alarm
from platforms.models import Publication
from pools.models import Campaign
from tasks import services as task_services
from tasks.models import Assignment
from tasks.practice import must_have_practised

log = logging.getLogger(__name__)
ENDED_AT_ONCE = 500  # assignments that one job takes as left


class Saved(NamedTuple):
    """How far the worker is once a choice is saved. `terms` are those of the platform that the work came through."""

    answered: int
    total: int
    reward: Decimal
    currency: str
    terms: judgment_selectors.Terms | None
    language: str


# Sent as one message, which PostgreSQL carries out as one transaction. The second statement begins once the lock is
# held, so it sees what was saved by a click at the same time.
_SAVE = """
SELECT FROM tasks_assignment WHERE id = %(assignment)s FOR NO KEY UPDATE;
WITH chosen AS (
  SELECT assignment.id AS assignment_id, item.id AS item_id, assignment.hit_id, assignment.campaign_id,
    assignment.layout, assignment.platform_assignment_id,
    (SELECT preferred FROM judgments_judgment
     WHERE assignment_id = assignment.id AND item_id = item.id ORDER BY id DESC LIMIT 1) AS before,
    EXISTS (SELECT 1 FROM judgments_pairreport
     WHERE assignment_id = assignment.id AND item_id = item.id AND withdrawn_at IS NULL) AS reported
  FROM tasks_assignment assignment
    JOIN tasks_item item
      ON item.hit_id = assignment.hit_id AND item.layout = assignment.layout AND item.position = %(position)s
  WHERE assignment.id = %(assignment)s AND assignment.state = 'active'),
saved AS (
  INSERT INTO judgments_judgment (assignment_id, item_id, preferred, shown_at, made_at, is_translated)
  SELECT assignment_id, item_id, %(preferred)s, least(%(shown_at)s, %(at)s), %(at)s, %(translated)s
  FROM chosen WHERE before IS DISTINCT FROM %(preferred)s),
withdrawn AS (
  UPDATE judgments_pairreport report SET withdrawn_at = %(at)s
  FROM chosen WHERE report.assignment_id = chosen.assignment_id AND report.item_id = chosen.item_id
    AND report.withdrawn_at IS NULL)
SELECT
  (SELECT count(*) FROM (
     SELECT item_id FROM judgments_judgment WHERE assignment_id = chosen.assignment_id
     UNION SELECT item_id FROM judgments_pairreport
     WHERE assignment_id = chosen.assignment_id AND withdrawn_at IS NULL) done)
    + (before IS NULL AND NOT reported)::int,
  (SELECT count(*) FROM tasks_item WHERE hit_id = chosen.hit_id AND layout = chosen.layout),
  campaign.reward, campaign.currency, campaign.language, publication.platform, publication.pay, publication.base
FROM chosen
  JOIN pools_campaign campaign ON campaign.id = chosen.campaign_id
  LEFT JOIN platforms_publication publication
    ON publication.campaign_id = campaign.id AND chosen.platform_assignment_id <> ''
"""


def judgment_save(
    *, assignment_id: int, position: int, preferred: str, shown_at: datetime, at: datetime, is_translated: bool = False
) -> Saved:
    """Store what the worker prefers on one item. Saying the same again (a double click, a reload) adds nothing.
    A report of the item is withdrawn. `is_translated`: the page said that a browser had translated it.

    Work that comes after the lease is stored like any other; after the end of the assignment nothing is.
    """
    if preferred not in Judgment.Side.values:
        raise BadRequest(_("The answer must be “left” or “right”, not “%(value)s”.") % {"value": preferred[:20]})
    choice: dict[str, int | str | datetime] = {"assignment": assignment_id, "position": position}
    choice |= {"preferred": preferred, "shown_at": shown_at, "at": at, "translated": is_translated}
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, choice)
        row = cursor.fetchone()
    if row is None:
        if Assignment.objects.filter(pk=assignment_id).exclude(state=Assignment.State.ACTIVE).exists():
            raise NotNow(_("You have already finished this task, so its answers can no longer be changed."))
        raise NotYours(_("This task has no question %(position)d.") % {"position": position})
    answered, total, reward, currency, language, platform, pay, base = row
    terms = judgment_selectors.terms_of(platform, pay, base, reward)
    return Saved(answered, total, reward, currency, terms, language)


@transaction.atomic
def assignment_finish(*, assignment: Assignment, at: datetime) -> Assignment:
    """Take the whole work as final and check its test pairs. Finishing again returns the same assignment."""
    assignment = assignment_lock(assignment)
    if assignment.state != Assignment.State.ACTIVE:
        return assignment
    must_have_practised(assignment)
    missing = judgment_selectors.unanswered_positions(assignment)
    if missing:
        raise NotNow(
            ngettext("One question has no answer yet.", "%(count)d questions have no answer yet.", len(missing))
            % {"count": len(missing)}
        )
    assignment = _end(assignment, left=False, at=at)
    campaigns_mark_changed(assignment)
    return assignment


@transaction.atomic
def assignment_leave(*, assignment: Assignment, at: datetime) -> Assignment:
    """End an assignment early; what was judged is owed. Leaving again returns the same assignment."""
    assignment = assignment_lock(assignment)
    if assignment.state != Assignment.State.ACTIVE:
        return assignment
    ended = _end(assignment, left=True, at=at)
    publication = Publication.objects.filter(campaign=ended.campaign_id).first()
    if publication is not None and ended.platform_assignment_id:
        leaves_alarm(publication=publication, worker=ended.worker, came_from=ended.came_from, at=at)
    campaigns_mark_changed(ended)
    return ended


@transaction.atomic
def assignment_abandon(*, assignment: Assignment, at: datetime) -> bool:
    """End an assignment whose worker went away without a word, as left then; what was judged is owed. Whether it was.

    The data of a closed campaign stay as they are.
    """
    assignment = assignment_lock(assignment)
    if not judgment_selectors.abandoned(at).filter(pk=assignment.pk).exists():
        return False
    last = Judgment.objects.filter(assignment=assignment).aggregate(at=Max("made_at"))["at"]
    ended_at = max(filter(None, (assignment.leased_until, last)))
    is_closed = assignment.campaign.state == Campaign.State.CLOSED
    _end(assignment, left=True, at=at, finished_at=ended_at, checks=not is_closed)
    campaigns_mark_changed(assignment)
    return True


def abandoned_end_all(*, at: datetime) -> int:
    """End what workers went away from without a word. How much it was. One that fails stops no other."""
    ended = 0
    for assignment in judgment_selectors.abandoned(at).order_by("leased_until", "id")[:ENDED_AT_ONCE]:
        try:
            ended += assignment_abandon(assignment=assignment, at=at)
        except Exception:
            log.exception("Assignment %s could not be ended", assignment.pk)
    return ended


def _end(
    assignment: Assignment, *, left: bool, at: datetime, finished_at: datetime | None = None, checks: bool = True
) -> Assignment:
    judged = judgment_selectors.answered_count(assignment)
    task_services.assignment_end(assignment=assignment, judged=judged, left=left, at=finished_at or at)
    if not assignment.platform_assignment_id and checks:
        assignment_check(assignment, at=at)
    return assignment
