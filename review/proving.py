"""Test pairs prove themselves before they decide about anybody's work, and are set aside where careful workers fail
them. What waited for that is decided then, and what was decided by a test pair that is set aside is taken back.
"""

from datetime import datetime

from django.db import connection
from django.utils.translation import gettext as _

from evaluation.judging.proving import Record, is_proven, is_unfair
from judgments import quality
from pools.models import Campaign
from review import reports
from tasks import services as task_services
from tasks.models import Assignment, TestPair

# Of each worker whose work was checked and no person excluded, the test pairs that were not dropped, and whether they
# always passed it; then for each test pair the workers who passed all others. Only work that is used proves anything.
_RECORDS = """
WITH newest AS (
  SELECT DISTINCT ON (judgment.assignment_id, judgment.item_id)
    judgment.assignment_id, judgment.item_id, item.test_id, assignment.worker_id, assignment.verdict,
    (judgment.preferred = 'left') = item.a_left AS is_passed
  FROM tasks_testpair test
    JOIN tasks_item item ON item.test_id = test.id
    JOIN judgments_judgment judgment ON judgment.item_id = item.id
    JOIN tasks_assignment assignment ON assignment.id = judgment.assignment_id
  WHERE test.campaign_id = %(campaign)s AND test.state = 'confirmed' AND assignment.verdict <> 'pending'
    AND NOT EXISTS (
      SELECT FROM judgments_decision decision WHERE decision.assignment_id = assignment.id
        AND assignment.verdict = 'excluded' AND decision.kind = 'excluded' AND decision.by_id IS NOT NULL)
    AND NOT EXISTS (
      SELECT FROM judgments_pairreport report WHERE report.assignment_id = assignment.id
        AND report.item_id = item.id AND report.withdrawn_at IS NULL)
  ORDER BY judgment.assignment_id, judgment.item_id, judgment.id DESC),
met AS (
  SELECT test_id, worker_id, bool_and(is_passed) AS is_passed, bool_or(verdict = 'accepted') AS is_used
  FROM newest GROUP BY test_id, worker_id),
counted AS (
  SELECT *, count(*) OVER of_worker AS all_met, count(*) FILTER (WHERE NOT is_passed) OVER of_worker AS all_failed
  FROM met WINDOW of_worker AS (PARTITION BY worker_id))
SELECT test_id, count(*) FILTER (WHERE is_passed AND is_used), count(*) FILTER (WHERE NOT is_passed)
FROM counted WHERE all_met > 1 AND all_failed = (NOT is_passed)::int
GROUP BY test_id
"""


def records_of(campaign: Campaign) -> dict[int, Record]:
    """What careful workers made of the confirmed test pairs of a campaign that they met, by key."""
    with connection.cursor() as cursor:
        cursor.execute(_RECORDS, {"campaign": campaign.pk})
        return {test: Record(passed, failed) for test, passed, failed in cursor.fetchall()}


def tests_settle(*, campaign: Campaign, at: datetime) -> None:
    """Set test pairs aside that careful workers fail, let those that they pass decide, and decide by the rule on what
    waited for that. Safe to run many at once, and to be killed.
    """
    records = records_of(campaign)
    while unfair := _most_unfair(records):
        _set_aside(campaign, unfair, records[unfair], at)
        records = records_of(campaign)  # who failed it alone is careful now
    proven = [test for test, record in records.items() if is_proven(record)]
    task_services.test_pairs_prove(campaign=campaign, test_pairs=proven, by=None, at=at)
    for assignment in campaign.assignments.filter(verdict=Assignment.Verdict.HELD).order_by("finished_at", "id"):
        quality.held_check(assignment_id=assignment.pk, at=at)


def _most_unfair(records: dict[int, Record]) -> int | None:
    """The key of the test pair that careful workers fail most often, of those to be set aside; None without any."""
    unfair = [
        test
        for test, record in records.items()
        if is_unfair(record, [other for key, other in records.items() if key != test])
    ]
    return max(unfair, key=lambda test: (records[test].failed / records[test].met, test), default=None)


def _set_aside(campaign: Campaign, test: int, record: Record, at: datetime) -> None:
    why = _("%(failed)d of %(met)d workers who passed all their other test pairs failed it.")
    reason = why % {"failed": record.failed, "met": record.met}
    reports.test_drop(campaign=campaign, test=TestPair.objects.get(pk=test), why=reason, by=None, at=at)
