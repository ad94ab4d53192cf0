"""Pairs with which something is wrong: what workers report, and what people decide about it."""

from datetime import datetime

from django.db import connection, transaction
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, NotYours
from core.models import User
from judgments import services as judgment_services
from judgments.models import PairDecision, PairReport
from pools import services as pool_services
from pools.models import Campaign, Pair
from tasks.models import Assignment

LONGEST_NOTE = 2_000  # characters


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
def pair_decide(*, campaign: Campaign, pair: Pair, kind: str, why: str, by: User, at: datetime) -> PairDecision:
    """A person sets a pair aside, so that nobody else is asked about it, or has it asked about again."""
    if kind not in PairDecision.Kind.values:
        raise BadRequest(_("A pair is set aside, or asked about again."))
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    if not Pair.objects.filter(pk=pair.pk, pool__campaign=campaign).exists():
        raise NotYours(_("This campaign has no such pair."))
    decision = PairDecision.objects.create(campaign=campaign, pair=pair, kind=kind, why=why.strip(), by=by, at=at)
    judgment_services.pairs_fill([pair.pk])
    pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    return decision
