"""What workers tell the research group: that something is wrong with a pair, and notes from their receipts."""

from datetime import datetime

from django.db import connection, transaction
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, NotYours
from judgments.models import PairReport, WorkerNote
from tasks.models import Assignment
from tasks.practice import must_have_practised

LONGEST_NOTE = 2_000  # characters
MOST_NOTES = 5  # from one receipt


@transaction.atomic
def pair_report(*, assignment_id: int, position: int, reason: str, note: str, at: datetime) -> PairReport:
    """Store that something is wrong with one item. It then counts as answered, and no judgment on it counts.

    Reporting again with other words replaces the report; with the same, it changes nothing.
    """
    if reason not in PairReport.Reason.values:
        raise BadRequest(_("Please choose what is wrong."))
    note = note.strip().replace("\0", "")
    if len(note) > LONGEST_NOTE:
        raise BadRequest(_("The note is too long: at most %(most)d characters fit.") % {"most": LONGEST_NOTE})
    with connection.cursor() as cursor:  # the lock that saving a choice takes
        cursor.execute("SELECT FROM tasks_assignment WHERE id = %s FOR NO KEY UPDATE", [assignment_id])
    assignment = Assignment.objects.get(pk=assignment_id)
    if assignment.state != Assignment.State.ACTIVE:
        raise NotNow(_("You have already finished this task, so its answers can no longer be changed."))
    must_have_practised(assignment)
    item = assignment.items.filter(position=position).first()
    if item is None:
        raise NotYours(_("This task has no question %(position)d.") % {"position": position})
    standing = PairReport.objects.filter(assignment=assignment, item=item, withdrawn_at=None)
    report = standing.filter(reason=reason, note=note).first()
    if report is None:
        standing.update(withdrawn_at=at)
        report = PairReport.objects.create(assignment=assignment, item=item, reason=reason, note=note, made_at=at)
    return report


@transaction.atomic
def note_write(*, assignment_id: int, text: str, at: datetime, about_pay: bool = False) -> WorkerNote:
    """Store what a worker writes about an assignment that has ended. The same again is stored once."""
    text = text.strip().replace("\0", "")
    if not text:
        raise BadRequest(_("Please write something first."))
    if len(text) > LONGEST_NOTE:
        raise BadRequest(_("The note is too long: at most %(most)d characters fit.") % {"most": LONGEST_NOTE})
    assignment = Assignment.objects.select_for_update(no_key=True).get(pk=assignment_id)
    if assignment.state == Assignment.State.ACTIVE:
        raise NotNow(_("You can write from the receipt, once you have finished the task."))
    notes = WorkerNote.objects.filter(assignment=assignment)
    same = notes.filter(text=text).first()
    if same is not None:
        return same
    if notes.count() >= MOST_NOTES:
        raise NotNow(_("You have written about this task as often as you can. The group has your notes."))
    return WorkerNote.objects.create(assignment=assignment, text=text, made_at=at, about_pay=about_pay)
