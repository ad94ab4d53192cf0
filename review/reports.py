"""What people decide about pairs and test pairs that workers reported, and their answers to workers' notes."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, NotYours
from core.models import User
from judgments import filling, reported
from judgments import selectors as judgment_selectors
from judgments.models import Decision, PairDecision, WorkerNote
from judgments.worker_reports import LONGEST_NOTE
from pools import services as pool_services
from pools.models import Campaign, Pair
from review import deciding
from review.models import BulkDecision
from tasks import services as task_services
from tasks.models import Assignment, Item, TestPair, Worker


@transaction.atomic
def pair_decide(*, campaign: Campaign, pair: Pair, kind: str, why: str, by: User, at: datetime) -> PairDecision:
    """A person sets a pair aside, so that nobody else is asked about it, or has it asked about again."""
    if kind not in PairDecision.Kind.values:
        raise BadRequest(_("A pair is set aside, or asked about again."))
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    if not Pair.objects.filter(pk=pair.pk, pool__campaign=campaign).exists():
        raise NotYours(_("This campaign has no such pair."))
    if not reported.reported_pairs(campaign).filter(pk=pair.pk).exists():
        raise NotYours(_("Nobody has reported this pair."))
    decision = PairDecision.objects.create(campaign=campaign, pair=pair, kind=kind, why=why.strip(), by=by, at=at)
    filling.pairs_fill([pair.pk])
    pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    return decision


@transaction.atomic
def test_drop(*, campaign: Campaign, test: TestPair, why: str, by: User | None, at: datetime) -> list[BulkDecision]:
    """A person, or the rule, drops a test pair: whatever workers preferred on it says nothing about them any more.

    Work that the rule excluded for it alone becomes what the rule makes of it now, and workers whom it alone barred are
    welcome again: one decision on each, which `deciding.bulk_run` carries out, and which can be undone. Again is not an
    error.
    """
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    if test.campaign_id != campaign.pk:
        raise NotYours(_("This campaign has no such test pair."))
    if not task_services.test_pair_drop(test_pair=test, why=why.strip(), by=by, at=at):
        return []
    pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    workers = _wronged(campaign, test)
    chosen = campaign.assignments.filter(pk__in=list(_excluded(campaign, test, workers).values_list("pk", flat=True)))
    barred = campaign.assignments.filter(worker__in=_barred_by_the_rule(campaign, workers))
    reason = _("A test pair was dropped: %(why)s") % {"why": why.strip()}
    steps = [(BulkDecision.Action.RESTORE, chosen), (BulkDecision.Action.UNBAR, barred)]
    return [
        deciding.bulk_create(campaign=campaign, action=action, chosen=rows, why=reason, by=by, at=at, by_rule=True)
        for action, rows in steps
        if rows.exists()
    ]


def _wronged(campaign: Campaign, test: TestPair) -> set[int]:
    """Workers of whom the rule ever excluded work with this test pair, whatever people decided since, and who fail no
    other.
    """
    hits = Item.objects.filter(test=test).values("hit")
    decisions = Decision.objects.filter(campaign=campaign, kind=Decision.Kind.EXCLUDED, by=None)
    workers = set(decisions.filter(assignment__hit__in=hits).values_list("worker", flat=True))
    return workers - judgment_selectors.workers_who_fail(campaign, workers)


def _excluded(campaign: Campaign, test: TestPair, workers: set[int]) -> QuerySet[Assignment]:
    """The work of these workers that the rule excluded: that with the test pair, or all where the rule goes so far."""
    decisions = Decision.objects.filter(assignment=OuterRef("pk"), kind=Decision.Kind.EXCLUDED).order_by("-id")
    excluded = campaign.assignments.filter(verdict=Assignment.Verdict.EXCLUDED, worker__in=workers)
    by_the_rule = excluded.annotate(excluded_by=Subquery(decisions.values("by")[:1])).filter(excluded_by=None)
    if campaign.exclusion == Campaign.Exclusion.WORKER:
        return by_the_rule
    return by_the_rule.filter(Exists(Item.objects.filter(hit=OuterRef("hit"), test=test)))


def _barred_by_the_rule(campaign: Campaign, workers: set[int]) -> list[int]:
    """Those of these workers who are barred, by the rule in this campaign and nobody else."""
    barred = Worker.objects.filter(pk__in=workers, barred_at__isnull=False)
    bars = Decision.objects.filter(worker__in=barred, kind=Decision.Kind.BARRED)
    newest = bars.order_by("worker", "-id").distinct("worker")
    return [bar.worker_id for bar in newest if bar.by_id is None and bar.campaign_id == campaign.pk]


@transaction.atomic
def note_answer(*, campaign: Campaign, note_id: int, answer: str, by: User, at: datetime) -> WorkerNote:
    """Answer a worker's note, once: the worker reads it with the receipt. The same again is not an error."""
    answer = answer.strip().replace("\0", "")
    if not answer:
        raise BadRequest(_("Write the answer first."))
    if len(answer) > LONGEST_NOTE:
        raise BadRequest(_("The answer is too long: at most %(most)d characters fit.") % {"most": LONGEST_NOTE})
    note_mark_read(campaign=campaign, note_id=note_id, by=by, at=at)
    notes = WorkerNote.objects.filter(pk=note_id)
    notes.filter(answered_at=None).update(answer=answer, answered_by=by, answered_at=at)
    note = notes.get()
    if note.answer != answer:
        raise NotNow(_("Somebody has answered this note before, and its worker may have read it."))
    return note


@transaction.atomic
def note_mark_read(*, campaign: Campaign, note_id: int, by: User, at: datetime) -> None:
    """Somebody has read a worker's note, and it waits for nobody else. Again is not an error: who was first stays."""
    notes = WorkerNote.objects.filter(pk=note_id, assignment__campaign=campaign)
    if not notes.exists():
        raise NotYours(_("This campaign has no such note."))
    notes.filter(read_at=None).update(read_by=by, read_at=at)
