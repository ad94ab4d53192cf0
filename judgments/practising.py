"""Writing what workers answer in practice. None of it is a judgment."""

from datetime import datetime

from django.db import connection, transaction
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, NotYours
from judgments import services as judgment_services
from judgments.models import Judgment
from tasks.models import Assignment, Practice
from tasks.practice import Go, Standing, rows_of, standing_of


def standing_at(assignment: Assignment) -> Standing:
    """Where the worker of an assignment is in its campaign's practice."""
    return standing_of(assignment.worker, assignment.campaign, assignment.came_from)


@transaction.atomic
def practice_answer(*, assignment: Assignment, position: int, preferred: str, shown_at: datetime, at: datetime) -> int:
    """Store the first answer to a practice pair; a further one changes nothing. Returns the number of the go.

    Whoever fails a check for good has left the assignment with that, and its HIT waits for somebody else.
    """
    if preferred not in Judgment.Side.values:
        raise BadRequest(_("The answer must be “left” or “right”, not “%(value)s”.") % {"value": preferred[:20]})
    standing = _lock(assignment)
    if standing.shown(position) is None:
        raise NotYours(_("This task has no question %(position)d.") % {"position": position})
    go = standing.answered(position, preferred)
    _store(assignment, standing, go, shown_at, at)
    if standing_at(assignment).is_refused:
        judgment_services.assignment_leave(assignment=assignment, at=at)
    return go.number


@transaction.atomic
def practice_skip(*, assignment: Assignment, at: datetime) -> None:
    """Go on without practice, where the campaign lets its workers. Skipping again is not an error."""
    standing = _lock(assignment)
    if standing.may_skip:
        _store(assignment, standing, standing.skipped(), at, at)
    elif not standing.is_open:
        raise NotNow(_("This practice cannot be skipped."))


@transaction.atomic
def practice_again(*, assignment: Assignment, at: datetime) -> None:
    """Begin practice once more, which changes nothing for whoever may judge already."""
    standing = _lock(assignment)
    if standing.is_open and standing.pairs:
        _store(assignment, standing, standing.again(), at, at)


def _lock(assignment: Assignment) -> Standing:
    """Where the worker is, while no other request of theirs changes it: a go is shared by all of their assignments in
    the campaign. Not by a lock on the worker's row, which others take before or after that on the assignment.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
            [f"practice {assignment.campaign_id} {assignment.worker_id}"],
        )
    state = Assignment.objects.select_for_update().values_list("state", flat=True).get(pk=assignment.pk)
    if state != Assignment.State.ACTIVE:
        raise NotNow(_("You have already finished this task, so its answers can no longer be changed."))
    return standing_at(assignment)


def _store(assignment: Assignment, standing: Standing, go: Go, began_at: datetime, at: datetime) -> None:
    if go is standing.last:
        return
    row = rows_of(assignment.worker, assignment.campaign, assignment.came_from).filter(number=go.number).last()
    if row is None:
        row = Practice(
            campaign=assignment.campaign,
            worker=assignment.worker,
            assignment=assignment,
            number=go.number,
            began_at=began_at,
        )
    row.answers = {str(position): side for position, side in go.answers.items()}
    row.state, row.right = go.state, go.right
    row.ended_at = None if go.state == Practice.State.ACTIVE else at
    row.save()
