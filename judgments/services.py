"""Writing judgments, finishing assignments, and deciding which work counts.

Work that came through a platform is checked once the platform has confirmed whose it is: anyone can type ids into a
frame's address, and nobody's word alone puts judgments into a campaign or has a worker barred.
"""

import logging
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import alarms
from core.errors import BadRequest, NotNow, NotYours
from core.models import Alarm, User
from evaluation.judging.designs import designs_that
from judgments import selectors as judgment_selectors
from judgments.models import Acceptance, Decision, Judgment, Reuse
from platforms.arriving import leaves_alarm
from platforms.finishing import worker_publications_reopen
from platforms.models import PlatformAlarm, Publication, Submission
from pools import services as pool_services
from pools.models import Campaign, Pair
from tasks import services as task_services
from tasks.models import Assignment, Hit, Item, Worker
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
    *,
    assignment_id: int,
    position: int,
    preferred: str,
    shown_at: datetime,
    at: datetime,
    is_translated: bool = False,
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
    assignment = _lock(assignment)
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
    _mark_changed(assignment)
    return assignment


@transaction.atomic
def assignment_leave(*, assignment: Assignment, at: datetime) -> Assignment:
    """End an assignment early; what was judged is owed. Leaving again returns the same assignment."""
    assignment = _lock(assignment)
    if assignment.state != Assignment.State.ACTIVE:
        return assignment
    ended = _end(assignment, left=True, at=at)
    publication = Publication.objects.filter(campaign=ended.campaign_id).first()
    if publication is not None and ended.platform_assignment_id:
        leaves_alarm(publication=publication, worker=ended.worker, came_from=ended.came_from, at=at)
    _mark_changed(ended)
    return ended


def _lock(assignment: Assignment) -> Assignment:
    return Assignment.objects.select_for_update(of=("self",)).select_related("campaign", "worker").get(pk=assignment.pk)


@transaction.atomic
def assignment_abandon(*, assignment: Assignment, at: datetime) -> bool:
    """End an assignment whose worker went away without a word, as left then; what was judged is owed. Whether it was.

    The data of a closed campaign stay as they are.
    """
    assignment = _lock(assignment)
    if not judgment_selectors.abandoned(at).filter(pk=assignment.pk).exists():
        return False
    last = Judgment.objects.filter(assignment=assignment).aggregate(at=Max("made_at"))["at"]
    ended_at = max(filter(None, (assignment.leased_until, last)))
    is_closed = assignment.campaign.state == Campaign.State.CLOSED
    _end(assignment, left=True, at=at, finished_at=ended_at, checks=not is_closed)
    _mark_changed(assignment)
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
        _check(assignment, at=at)
    return assignment


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
    _check(assignment, at=at)
    _mark_changed(assignment)
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
    _check(assignment, at=at)
    _hold_if_too_fast(assignment, at=at)
    _mark_changed(assignment)
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


def _check(assignment: Assignment, *, at: datetime) -> None:
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
            pairs_fill(_pairs_of([assignment]))


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
    assignment = _lock(assignment)
    if assignment.state == Assignment.State.ACTIVE:
        raise NotNow(_("The worker has not finished this assignment yet."))
    if assignment.verdict != Assignment.Verdict.EXCLUDED:
        _exclude(assignment, why=_reason(why), by=by, at=at)
        _mark_changed(assignment)
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
    assignment = _lock(assignment)
    if assignment.state == Assignment.State.ACTIVE:
        raise NotNow(_("The worker has not finished this assignment yet."))
    if assignment.verdict != verdict:
        _rule(assignment.campaign, assignment.worker, assignment, Decision.Kind.RESTORED, _reason(why), by, at)
        if assignment.verdict == Assignment.Verdict.ACCEPTED:
            _release(assignment)
        task_services.assignment_set_verdict(assignment=assignment, verdict=verdict)
        pairs_fill(_pairs_of([assignment]))
        _mark_changed(assignment, was_excluded=True)
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
    pair_ids = _pairs_of([assignment])
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


# --- which judgments count


def _mark_changed(assignment: Assignment, *, was_excluded: bool = False) -> None:
    """Mark that a campaign has changed; where work was excluded or restored, those that reuse its judgments too.

    Challenges are decided also by what was judged before they were created, which work of that time changes whenever it
    is taken as final. In the order of their keys, as everywhere, so that no two wait for each other.
    """
    campaigns = {assignment.campaign_id}
    challenges = Campaign.objects.filter(
        collection__campaigns=assignment.campaign_id, design__in=designs_that("challenges")
    ).exclude(state=Campaign.State.DRAFT)
    if was_excluded or assignment.verdict == Assignment.Verdict.EXCLUDED:
        # Slots that this empties, or takes, may be filled with older judgments.
        campaigns.update(Reuse.objects.filter(source=assignment.campaign_id).values_list("campaign_id", flat=True))
    else:
        challenges = challenges.filter(created_at__gt=assignment.taken_at)
    campaigns.update(challenges.values_list("id", flat=True))
    for campaign_id in sorted(campaigns):
        pool_services.campaign_mark_changed(campaign_id=campaign_id)


def _pairs_of(assignments: Iterable[Assignment]) -> list[int]:
    hits = [assignment.hit_id for assignment in assignments]
    return list(Pair.objects.filter(items__hit__in=hits).order_by("id").values_list("id", flat=True).distinct())


def hits_lock(pair_ids: Iterable[int]) -> list[int]:
    """Lock every HIT that holds one of these pairs, always in the same order, and return their keys."""
    hits = Hit.objects.filter(id__in=Item.objects.filter(pair__in=list(pair_ids)).values("hit"))
    return list(hits.select_for_update().order_by("id").values_list("id", flat=True))


# What a person decided last holds. Without a decision, or since it, so many workers as the campaign says, whose work is
# used, must have reported the pair.
_SET_ASIDE = """
UPDATE pools_pair pair SET is_set_aside = counted.is_set_aside
FROM (
  SELECT pair.id, coalesce(decision.kind = 'set_aside', false) OR campaign.reports_per_pair <= (
    SELECT count(DISTINCT assignment.worker_id)
    FROM judgments_pairreport report
      JOIN tasks_item item ON item.id = report.item_id
      JOIN tasks_assignment assignment ON assignment.id = report.assignment_id
    WHERE item.pair_id = pair.id AND report.withdrawn_at IS NULL AND assignment.verdict = 'accepted'
      AND report.made_at > coalesce(decision.at, '-infinity')) AS is_set_aside
  FROM pools_pair pair
    JOIN pools_pool pool ON pool.id = pair.pool_id
    JOIN pools_campaign campaign ON campaign.id = pool.campaign_id
    LEFT JOIN LATERAL (
      SELECT kind, at FROM judgments_pairdecision WHERE pair_id = pair.id ORDER BY id DESC LIMIT 1) decision ON true
  WHERE pair.id = ANY(%s)) counted
WHERE pair.id = counted.id AND pair.is_set_aside <> counted.is_set_aside
"""


def pairs_fill(pair_ids: list[int]) -> None:
    """Fill free slots of these pairs with judgments that wait for one, first finished first; set aside those that have
    enough reports; and recount the HITs.

    A pair takes at most as many judgments as one of its HITs wants, and one of each worker; what finds no slot stays
    stored, unused.
    """
    hit_ids = hits_lock(pair_ids)
    used: dict[int, set[int]] = {pk: set() for pk in pair_ids}
    by_worker: set[tuple[int, int]] = set()
    for pair_id, slot, worker_id in Acceptance.objects.filter(pair__in=pair_ids).values_list("pair", "slot", "worker"):
        used[pair_id].add(slot)
        by_worker.add((pair_id, worker_id))
    slots = judgment_selectors.slots_of(pair_ids)
    filled = []
    for waiting in judgment_selectors.waiting_for(pair_ids):
        free = next(
            (slot for slot in range(1, slots.get(waiting.pair_id, 0) + 1) if slot not in used[waiting.pair_id]), None
        )
        if free is None or (waiting.pair_id, waiting.worker_id) in by_worker:
            continue
        used[waiting.pair_id].add(free)
        by_worker.add((waiting.pair_id, waiting.worker_id))
        filled.append(
            Acceptance(
                pair_id=waiting.pair_id,
                slot=free,
                judgment_id=waiting.judgment_id,
                worker_id=waiting.worker_id,
                assignment_id=waiting.assignment_id,
            )
        )
    Acceptance.objects.bulk_create(filled)
    with connection.cursor() as cursor:
        cursor.execute(_SET_ASIDE, [list(pair_ids)])
    task_services.hits_recount(hit_ids=hit_ids, counted_in=Acceptance._meta.db_table)
