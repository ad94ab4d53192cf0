"""Whose work counts: test pairs are checked, work is excluded and restored, workers are barred.

Work that came through a platform is checked once the platform has confirmed whose it is: anyone can type ids into a
frame's address, and nobody's word alone puts judgments into a campaign or has a worker barred.
"""

import logging
from datetime import datetime

from django.db import connection, transaction
from django.utils.translation import gettext as _

from core import alarms
from core.errors import BadRequest, NotNow
from core.models import Alarm, User
from judgments import selectors as judgment_selectors
from judgments.filling import campaigns_mark_changed, hits_lock, pairs_fill, pairs_of
from judgments.models import Acceptance, Decision
from platforms.finishing import worker_publications_reopen
from platforms.models import PlatformAlarm, Publication, Submission
from pools.models import Campaign
from tasks import services as task_services
from tasks.models import Assignment, Worker

log = logging.getLogger(__name__)


def assignment_lock(assignment: Assignment) -> Assignment:
    """The assignment, locked until the transaction ends, with its campaign and worker."""
    return Assignment.objects.select_for_update(of=("self",)).select_related("campaign", "worker").get(pk=assignment.pk)


def confirmed_check_all(*, at: datetime) -> int:
    """Check all work that platforms have confirmed, first finished first. How much it was.

    Work that cannot be checked raises an alarm, is tried again later and less often, and keeps no other waiting.
    """
    failed = alarms.resting(kind=PlatformAlarm.UNCHECKED, at=at)
    waiting = judgment_selectors.confirmed_unchecked().exclude(pk__in=failed.values("about_id"))
    checked = 0
    for pk in list(waiting.order_by("finished_at", "id").values_list("id", flat=True)):
        try:
            checked += confirmed_check(assignment_id=pk, at=at)
        except Exception as error:
            log.exception("Assignment %s could not be checked", pk)
            _raise_unchecked(pk, error, at)
    raised = Alarm.objects.filter(kind=PlatformAlarm.UNCHECKED, settled_at=None)
    pending = Assignment.objects.filter(pk__in=raised.values("about_id"), verdict=Assignment.Verdict.PENDING)
    raised.exclude(about_id__in=list(pending.values_list("pk", flat=True))).update(settled_at=at)
    return checked


def _raise_unchecked(assignment_id: int, error: Exception, at: datetime) -> None:
    assignment = Assignment.objects.get(pk=assignment_id)
    text = _(
        "Assignment %(id)d could not be checked (%(error)s), so its judgments do not count yet. Other work is still "
        "checked. This is tried again automatically; if it persists, show this to the person who runs this site."
    ) % {"id": assignment_id, "error": alarms.in_words(error)}
    alarms.alarm_raise(
        of=Publication.objects.get(campaign=assignment.campaign_id),
        kind=PlatformAlarm.UNCHECKED,
        about=assignment,
        text=text,
        at=at,
        retried=True,
    )


@transaction.atomic
def held_check(*, assignment_id: int, at: datetime) -> bool:
    """Decide by the rule on work that waited for its test pairs to be proven, or to be dropped. Returns False where it
    waits on, or does not wait any more.
    """
    worker = Worker.objects.filter(assignments=assignment_id)  # as in confirmed_check
    worker.select_for_update(of=("self",), no_key=True).first()
    assignments = Assignment.objects.select_for_update(of=("self",)).select_related("campaign", "worker", "hit")
    assignment = assignments.filter(pk=assignment_id, verdict=Assignment.Verdict.HELD).first()
    if assignment is None:
        return False
    failed, verdict = judgment_selectors.failed_tests(assignment), Assignment.Verdict.HELD
    if not failed and judgment_selectors.verdict_without_failure(assignment) == verdict:
        return False
    assignment_check(assignment, at=at)
    campaigns_mark_changed(assignment)
    return True


@transaction.atomic
def confirmed_check(*, assignment_id: int, at: datetime) -> bool:
    """Check the test pairs of work that a platform has confirmed. Returns False where it was checked before."""
    # One worker's work is checked one after the other: what one check decides may exclude the next.
    worker = Worker.objects.filter(assignments=assignment_id)
    if worker.select_for_update(of=("self",), no_key=True).first() is None:
        return False
    assignment = (
        judgment_selectors.confirmed_unchecked()
        .select_for_update(of=("self",), skip_locked=True)
        .select_related("campaign", "worker", "hit")
        .filter(pk=assignment_id)
        .first()
    )
    if assignment is None:
        return False
    assignment_check(assignment, at=at)
    _hold_if_too_fast(assignment, at=at)
    campaigns_mark_changed(assignment)
    return True


def _hold_if_too_fast(assignment: Assignment, *, at: datetime) -> None:
    """Work that nobody can have read is not approved automatically: a person looks at it first."""
    submission = Submission.objects.filter(assignment=assignment, decision=Submission.Decision.NONE).first()
    if submission is None or not judgment_selectors.is_too_fast(assignment):
        return
    text = _(
        "Most pairs of assignment %(id)s were judged faster than anybody can read them, so it is not approved "
        "automatically. Approve or reject it."
    ) % {"id": submission.platform_assignment_id}
    alarms.alarm_raise(of=submission.publication, kind=PlatformAlarm.FAST, about=submission, text=text, at=at)


# What the check reads of the worker's test pairs here holds until its transaction ends: a test pair is dropped either
# before that, or after it and with what it decided in sight.
_KEEP_TESTS = """
SELECT FROM tasks_testpair WHERE id IN (
  SELECT item.test_id FROM tasks_item item JOIN tasks_assignment assignment ON assignment.hit_id = item.hit_id
  WHERE assignment.worker_id = %s AND assignment.campaign_id = %s)
ORDER BY id FOR SHARE
"""


def assignment_check(assignment: Assignment, *, at: datetime) -> None:
    """Decide by the rule whether the data of an assignment that has ended are used."""
    with connection.cursor() as cursor:
        cursor.execute(_KEEP_TESTS, [assignment.worker_id, assignment.campaign_id])
    failed = judgment_selectors.failed_tests(assignment)
    of_worker = assignment.campaign.exclusion == Campaign.Exclusion.WORKER
    if failed:
        tests = assignment.items.filter(test__isnull=False).count()
        why = _("Preferred the off-topic passage in %(failed)d of %(tests)d test pairs.") % {
            "failed": len(failed),
            "tests": tests,
        }
        _fail(assignment, why=why, at=at)
    elif of_worker and (elsewhere := judgment_selectors.failed_meanwhile(assignment)):
        _exclude(assignment, why=_also(elsewhere.assignment_id, elsewhere.why), by=None, at=at)
    else:
        verdict = judgment_selectors.verdict_without_failure(assignment)
        task_services.assignment_set_verdict(assignment=assignment, verdict=verdict)
        if verdict != Assignment.Verdict.UNCHECKED:
            pairs_fill(pairs_of(assignment))


def _fail(assignment: Assignment, *, why: str, at: datetime) -> None:
    """A failed test pair: exclude by the campaign's rule, and bar the worker from further HITs of the lab."""
    _exclude(assignment, why=why, by=None, at=at)
    if assignment.campaign.exclusion == Campaign.Exclusion.WORKER:
        others = Assignment.objects.select_for_update(of=("self",)).filter(
            campaign_id=assignment.campaign_id,
            worker_id=assignment.worker_id,
            verdict__in=[Assignment.Verdict.ACCEPTED, Assignment.Verdict.UNCHECKED, Assignment.Verdict.HELD],
        )
        for other in others.select_related("campaign", "worker").order_by("id"):
            _exclude(other, why=_also(assignment.pk, why), by=None, at=at)
    worker_bar(worker=assignment.worker, campaign=assignment.campaign, why=why, by=None, at=at)


def _also(other: int | None, why: str) -> str:
    return _("The worker failed a test pair in assignment %(other)d: %(why)s") % {"other": other, "why": why}


# --- decisions by people (and by the rule), each with who and why


@transaction.atomic
def assignment_exclude(*, assignment: Assignment, why: str, by: User, at: datetime) -> Assignment:
    """A person excludes an assignment's data: its pairs wait for another worker's judgments."""
    assignment = assignment_lock(assignment)
    if assignment.state == Assignment.State.ACTIVE:
        raise NotNow(_("The worker has not finished this assignment yet."))
    if assignment.verdict != Assignment.Verdict.EXCLUDED:
        _exclude(assignment, why=_reason(why), by=by, at=at)
        campaigns_mark_changed(assignment)
    return assignment


@transaction.atomic
def assignment_restore(
    *,
    assignment: Assignment,
    why: str,
    by: User | None,
    at: datetime,
    verdict: Assignment.Verdict = Assignment.Verdict.ACCEPTED,
) -> Assignment:
    """A person (or the rule, once a test pair is dropped) restores excluded work: the data are used again, for the
    pairs that still need a judgment.

    Or, with another `verdict`, it becomes again what it was before somebody excluded it.
    """
    assignment = assignment_lock(assignment)
    if assignment.state == Assignment.State.ACTIVE:
        raise NotNow(_("The worker has not finished this assignment yet."))
    if assignment.verdict != verdict:
        _rule(assignment.campaign, assignment.worker, assignment, Decision.Kind.RESTORED, _reason(why), by, at)
        if assignment.verdict == Assignment.Verdict.ACCEPTED:
            _release(assignment)
        task_services.assignment_set_verdict(assignment=assignment, verdict=verdict)
        pairs_fill(pairs_of(assignment))
        campaigns_mark_changed(assignment, was_excluded=True)
    return assignment


@transaction.atomic
def worker_bar(*, worker: Worker, campaign: Campaign, why: str, by: User | None, at: datetime) -> bool:
    """Bar a worker from more HITs of the lab. Returns whether they were welcome before."""
    changed = task_services.worker_bar(worker=worker, at=at)
    if changed:
        _rule(campaign, worker, None, Decision.Kind.BARRED, _reason(why), by, at)
    return changed


@transaction.atomic
def worker_unbar(*, worker: Worker, campaign: Campaign, why: str, by: User | None, at: datetime) -> bool:
    """Lift a worker's bar. Excluded work stays excluded until it is restored. Returns whether they were barred."""
    changed = task_services.worker_unbar(worker=worker)
    if changed:
        worker_publications_reopen(worker=worker)
        _rule(campaign, worker, None, Decision.Kind.UNBARRED, _reason(why), by, at)
    return changed


def _exclude(assignment: Assignment, *, why: str, by: User | None, at: datetime) -> None:
    _rule(assignment.campaign, assignment.worker, assignment, Decision.Kind.EXCLUDED, why, by, at)
    task_services.assignment_set_verdict(assignment=assignment, verdict=Assignment.Verdict.EXCLUDED)
    pairs_fill(_release(assignment))


def _release(assignment: Assignment) -> list[int]:
    """Empty the slots that an assignment's judgments fill. Returns the keys of its pairs."""
    pair_ids = pairs_of(assignment)
    hits_lock(pair_ids)
    Acceptance.objects.filter(assignment=assignment).delete()
    return pair_ids


def _rule(
    campaign: Campaign,
    worker: Worker,
    assignment: Assignment | None,
    kind: Decision.Kind,
    why: str,
    by: User | None,
    at: datetime,
) -> None:
    Decision.objects.create(campaign=campaign, worker=worker, assignment=assignment, kind=kind, why=why, by=by, at=at)


def _reason(why: str) -> str:
    if not why.strip():
        raise BadRequest(_("Please give a reason: it is kept with the decision."))
    return why.strip()
