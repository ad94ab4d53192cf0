"""One decision on many assignments or workers: what it would do, doing it row by row, undoing it.

The rows are the queue. Each is decided on in a transaction of its own, so that one that fails stops no other.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from core.alarms import in_words
from core.errors import BadRequest, NotNow, Refused
from core.models import User
from judgments import quality
from judgments import selectors as judgment_selectors
from judgments.models import Acceptance
from platforms.messages import conversations
from platforms.models import Publication, Submission
from platforms.registry import adapter_of
from platforms.reviewing import deciding
from pools.models import Campaign
from review.models import BulkDecision, BulkRow
from tasks.models import Assignment, Worker

Action, State = BulkDecision.Action, BulkRow.State
Verdict = Assignment.Verdict
OF_WORKERS = (Action.BAR, Action.UNBAR, Action.MESSAGE)
OF_MONEY = (Action.PAY, Action.BONUS, Action.REJECT)
OF_DATA = (Action.EXCLUDE, Action.EXCLUDE_ALL, Action.RESTORE)
AT_A_PLATFORM = (*OF_MONEY, Action.MESSAGE)
# Work that is not paid, whatever becomes of its data.
REJECTED = Q(submission__status=Submission.Status.REJECTED) | Q(submission__decision=Submission.Decision.REJECT)
BATCH = 2_000
AT_ONCE = 20  # rows that a page decides on itself; more are a job's
ZERO = Decimal("0.00")
log = logging.getLogger(__name__)


class Preview(NamedTuple):
    """What a decision would do: how many rows are `chosen`, how many it would `change`, and of what size that is.

    `judgments` that count now would not any more. `pays` and `fees` leave the account; `again` is what doing the work
    again is expected to cost. `unpaid` is the pay that a rejection withholds. `rejected` is how much of the work whose
    data would be used was rejected, and so is not paid.
    """

    chosen: int
    change: int
    judgments: int = 0
    pays: Decimal = ZERO
    fees: Decimal = ZERO
    again: Decimal = ZERO
    unpaid: Decimal = ZERO
    rejected: int = 0


def actions_of(campaign: Campaign) -> list[tuple[str, str]]:
    """The decisions that can be made in a campaign: about pay, and messages, only where it is at a platform."""
    published = Publication.objects.filter(campaign=campaign).exclude(state=Publication.State.DRAFT).exists()
    return [(value, str(label)) for value, label in Action.choices if published or value not in AT_A_PLATFORM]


def assignments_meant(campaign: Campaign, action: str, chosen: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """The assignments that a decision is about: those chosen, or all of their workers."""
    if action != Action.EXCLUDE_ALL:
        return chosen
    workers = chosen.order_by().values("worker")
    return Assignment.objects.filter(campaign=campaign, worker__in=workers)


def assignments_changed(action: str, meant: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Those of them that a decision on work would change."""
    ended = meant.exclude(state=Assignment.State.ACTIVE)
    undecided = {"submission__decision": Submission.Decision.NONE, "submission__status": Submission.Status.SUBMITTED}
    if action in (Action.EXCLUDE, Action.EXCLUDE_ALL):
        return ended.exclude(verdict=Verdict.EXCLUDED)
    if action == Action.RESTORE:
        return ended.exclude(verdict=Verdict.ACCEPTED)
    if action == Action.BONUS:
        approved = ended.filter(submission__decision=Submission.Decision.APPROVE)
        return approved.exclude(payments__purpose="extra")
    return ended.filter(**undecided)


def workers_meant(campaign: Campaign, action: str, chosen: QuerySet[Assignment]) -> QuerySet[Worker]:
    """The workers whom a bar, the end of one, or a message would reach."""
    workers = Worker.objects.filter(pk__in=chosen.order_by().values("worker"))
    if action == Action.MESSAGE:
        return workers.filter(pk__in=conversations.may_be_written_to(campaign.publication).values("pk"))
    return workers.filter(barred_at__isnull=action == Action.BAR)


def bulk_preview(
    *, campaign: Campaign, action: str, chosen: QuerySet[Assignment], amount: Decimal | None = None
) -> Preview:
    """Count what a decision on the chosen assignments would do. Nothing is written."""
    _assert_possible(campaign, action, amount)
    if action in OF_WORKERS:
        count = chosen.order_by().values("worker").distinct().count()
        return Preview(count, workers_meant(campaign, action, chosen).count())
    meant = assignments_meant(campaign, action, chosen)
    changed = assignments_changed(action, meant)
    preview = Preview(meant.count(), changed.count())
    if action in (Action.EXCLUDE, Action.EXCLUDE_ALL):
        accepted = Acceptance.objects.filter(assignment__in=changed.order_by().values("pk"))
        each = campaign.reward + _fees(campaign, campaign.reward)
        again = accepted.values("assignment").distinct().count() * each
        return preview._replace(judgments=accepted.count(), again=again)
    if action == Action.BONUS:
        assert amount is not None
        fee = adapter_of(campaign.publication).bonus_fee(amount)
        return preview._replace(pays=amount * preview.change, fees=fee * preview.change)
    if action == Action.RESTORE:
        return preview._replace(rejected=changed.filter(REJECTED).count())
    if action in OF_MONEY:
        owed = _owed(campaign.publication, changed)
        fees = _fees(campaign, owed) if action == Action.PAY else ZERO
        return preview._replace(pays=owed, fees=fees) if action == Action.PAY else preview._replace(unpaid=owed)
    return preview


def is_rejected(assignment: Assignment) -> bool:
    """Whether an assignment was rejected, so that its worker is not paid for it."""
    return Assignment.objects.filter(REJECTED, pk=assignment.pk).exists()


def about_reversing(campaign: Campaign) -> str:
    """How rejected work is paid after all at the campaign's platform."""
    return adapter_of(campaign.publication).about_reversing()


def _owed(publication: Publication, assignments: QuerySet[Assignment]) -> Decimal:
    """What approving work pays: the listed reward each, and what is owed beyond it where a bonus is paid."""
    reward = publication.listed
    if publication.pay != Publication.Pay.BASE_AND_BONUS:
        return reward * assignments.count()
    beyond = assignments.filter(owed__gt=reward).aggregate(sum=Sum("owed", default=ZERO), count=Count("pk"))
    total: Decimal = reward * (assignments.count() - beyond["count"]) + beyond["sum"]
    return total


def _fees(campaign: Campaign, amount: Decimal) -> Decimal:
    publication = Publication.objects.filter(campaign=campaign).first()
    return ZERO if publication is None else adapter_of(publication).bonus_fee(amount)


def _assert_possible(campaign: Campaign, action: str, amount: Decimal | None) -> None:
    if action not in dict(actions_of(campaign)):
        raise BadRequest(_("Choose what to do."))
    if action == Action.BONUS and not (amount and ZERO < amount <= deciding.MOST_BONUS):
        raise BadRequest(_("Enter the amount of the bonus, up to $%(most)s.") % {"most": deciding.MOST_BONUS})


@transaction.atomic
def bulk_create(
    *,
    campaign: Campaign,
    action: str,
    chosen: QuerySet[Assignment],
    why: str,
    by: User | None,
    at: datetime,
    amount: Decimal | None = None,
    by_rule: bool = False,
) -> BulkDecision:
    """Write a decision down, with a row for each assignment or worker that it changes. `bulk_run` carries it out.

    Work that it restores is used, or with `by_rule` becomes what the campaign's rule makes of it then.
    """
    _assert_possible(campaign, action, amount)
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    bulk = BulkDecision(campaign=campaign, action=action, amount=amount, why=why.strip(), by=by, at=at, by_rule=by_rule)
    if action in OF_WORKERS:
        rows = [BulkRow(bulk=bulk, worker=worker) for worker in workers_meant(campaign, action, chosen).order_by("pk")]
    else:
        changed = assignments_changed(action, assignments_meant(campaign, action, chosen)).order_by("pk")
        rows = [
            BulkRow(bulk=bulk, assignment_id=pk, worker_id=worker, before=verdict)
            for pk, worker, verdict in changed.values_list("pk", "worker", "verdict")
        ]
    if not rows:
        raise NotNow(_("This would change nothing: everything chosen is so already, or cannot be changed."))
    bulk.save()
    BulkRow.objects.bulk_create(rows, batch_size=BATCH)
    return bulk


@transaction.atomic
def bulk_undo(*, bulk: BulkDecision, by: User, at: datetime) -> BulkDecision:
    """Take a decision on many back, as far as it moved no money. Again is not an error. `bulk_run` carries it out."""
    bulk = BulkDecision.objects.select_for_update(no_key=True, of=("self",)).select_related("campaign").get(pk=bulk.pk)
    if bulk.undone_at is not None:
        return bulk
    if not bulk.may_be_undone:
        raise NotNow(_("A decision about money cannot be undone."))
    bulk.undone_by, bulk.undone_at = by, at
    bulk.save(update_fields=["undone_by", "undone_at"])
    # In this order: a row that is being decided holds up the first update, and is done when the second looks.
    bulk.rows.filter(state=State.WAITING).update(state=State.UNDONE)
    bulk.rows.filter(state=State.DONE).update(state=State.UNDOING)
    return bulk


def bulks_to_run() -> QuerySet[BulkDecision]:
    """Decisions with rows that wait, the oldest first."""
    waiting = BulkRow.objects.filter(state__in=[State.WAITING, State.UNDOING]).values("bulk")
    return BulkDecision.objects.filter(pk__in=waiting).order_by("pk")


def bulk_run(*, bulk: BulkDecision, at: datetime, seconds: float) -> int:
    """Carry out what waits of a decision, for at most so many seconds. How many rows. Safe to run many at once."""
    done, ends = 0, time.monotonic() + seconds
    while time.monotonic() < ends:
        if not _run_next(bulk.pk, at):
            break
        done += 1
    return done


def _run_next(bulk_id: int, at: datetime) -> bool:
    with transaction.atomic():
        row = (
            BulkRow.objects.filter(bulk=bulk_id, state__in=[State.WAITING, State.UNDOING])
            .select_for_update(of=("self",), skip_locked=True, no_key=True)
            .select_related("bulk__by", "bulk__undone_by", "bulk__campaign", "assignment", "worker")
            .order_by("pk")
            .first()
        )
        if row is None:
            return False
        undoing = row.state == State.UNDOING
        try:
            with transaction.atomic():
                row.state = _undo(row, at) if undoing else _decide(row, at)
        except Refused as error:
            row.state, row.error = State.KEPT if undoing else State.FAILED, str(error)
        except Exception as error:
            log.exception("Row %s of a decision on many", row.pk)
            row.state, row.error = State.KEPT if undoing else State.FAILED, in_words(error)
        row.save(update_fields=["state", "error"])
    return True


def _decide(row: BulkRow, at: datetime) -> str:
    """Decide on one row. Returns its state."""
    bulk = row.bulk
    signed: dict[str, Any] = {"why": bulk.why, "by": bulk.by, "at": at}
    if bulk.action == Action.MESSAGE:
        assert bulk.by is not None  # the rule writes to nobody
        publication = bulk.campaign.publication
        conversations.message_write(
            publication=publication, worker=row.worker, subject=publication.title, text=bulk.why, by=bulk.by, at=at
        )
        return State.DONE
    if bulk.action in OF_WORKERS:
        decide = quality.worker_bar if bulk.action == Action.BAR else quality.worker_unbar
        changed = decide(worker=row.worker, campaign=bulk.campaign, **signed)
        return State.DONE if changed else State.UNCHANGED  # somebody else decided the same: undoing must not undo that
    assert row.assignment is not None
    if bulk.action == Action.RESTORE and bulk.by_rule:
        return _restore_by_rule(row.assignment, signed)
    if bulk.action in OF_DATA:
        excludes = bulk.action != Action.RESTORE
        now = Assignment.objects.values_list("verdict", flat=True).get(pk=row.assignment.pk)
        if now == (Verdict.EXCLUDED if excludes else Verdict.ACCEPTED):
            return State.UNCHANGED
        change: Callable[..., object] = quality.assignment_exclude if excludes else quality.assignment_restore
        change(assignment=row.assignment, **signed)
        return State.DONE
    submission = Submission.objects.filter(assignment=row.assignment).first()
    if submission is None:
        raise NotNow(_("The platform has not said that this work was submitted."))
    if bulk.action == Action.BONUS:
        assert bulk.amount is not None
        deciding.bonus_grant(submission=submission, amount=bulk.amount, **signed)
    elif bulk.action == Action.PAY:
        deciding.submission_approve(submission=submission, **signed)
    else:
        deciding.submission_reject(submission=submission, **signed)
    return State.DONE


def _restore_by_rule(assignment: Assignment, signed: dict[str, Any]) -> str:
    if Assignment.objects.values_list("verdict", flat=True).get(pk=assignment.pk) != Verdict.EXCLUDED:
        return State.UNCHANGED
    verdict = judgment_selectors.verdict_without_failure(assignment)
    quality.assignment_restore(assignment=assignment, verdict=verdict, **signed)
    return State.DONE


def _undo(row: BulkRow, at: datetime) -> str:
    """Take back what was decided on one row. Returns its state."""
    bulk = row.bulk
    assert bulk.undone_by is not None
    signed: dict[str, Any] = {"why": _("Undone: %(why)s") % {"why": bulk.why}, "by": bulk.undone_by, "at": at}
    if bulk.action == Action.BAR:
        quality.worker_unbar(worker=row.worker, campaign=bulk.campaign, **signed)
    elif bulk.action == Action.UNBAR:
        quality.worker_bar(worker=row.worker, campaign=bulk.campaign, **signed)
    elif row.assignment is not None and bulk.action == Action.RESTORE and row.before == Verdict.EXCLUDED:
        quality.assignment_exclude(assignment=row.assignment, **signed)
    elif row.assignment is not None:
        _assert_not_failed_since(row.assignment, row.before, bulk)
        quality.assignment_restore(assignment=row.assignment, verdict=Verdict(row.before), **signed)
    return State.UNDONE


def _assert_not_failed_since(assignment: Assignment, before: str, bulk: BulkDecision) -> None:
    """What the campaign's rule would have excluded meanwhile stays so. What waits for its check is checked anyway."""
    if bulk.campaign.exclusion != Campaign.Exclusion.WORKER or before in (Verdict.PENDING, Verdict.EXCLUDED):
        return
    failure = judgment_selectors.failed_meanwhile(assignment, since=bulk.at)
    if failure is not None:
        text = _("The worker has failed a test pair in assignment %(other)s since, so the rule excludes these data.")
        raise NotNow(text % {"other": failure.assignment_id})


def row_counts(bulks: Sequence[BulkDecision]) -> dict[int, dict[str, int]]:
    """How many rows of each state some decisions have, by decision."""
    counts: dict[int, dict[str, int]] = {bulk.pk: {} for bulk in bulks}
    rows = BulkRow.objects.filter(bulk__in=bulks).order_by().values_list("bulk", "state").annotate(count=Count("pk"))
    for bulk, state, count in rows:
        counts[bulk][state] = count
    return counts
