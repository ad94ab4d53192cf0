"""A requester's HITs, what was submitted for them, and the bonuses paid."""

from collections.abc import Sequence

from django.db.models import QuerySet

from marketplace.errors import DoesNotExist, WrongState
from marketplace.models import LIVE_STATES, Assignment, BonusPayment, Hit, Requester
from marketplace.selectors.lookups import get_or_refuse

State = Assignment.State
SUBMITTED = [State.SUBMITTED, State.APPROVED, State.REJECTED]


def hits_of(requester: Requester) -> QuerySet[Hit]:
    """Those that are not deleted."""
    rows = Hit.objects.select_related("hit_type").filter(requester=requester)
    return rows.exclude(status=Hit.Status.DISPOSED)


def hits_requiring(requester: Requester, type_id: str) -> QuerySet[Hit]:
    """Those that have a requirement on a qualification type, and are not deleted."""
    return hits_of(requester).filter(hit_type__requirements__contains=[{"QualificationTypeId": type_id}])


def hit_of(requester: Requester, hit_id: str) -> Hit:
    """One HIT, deleted or not. Raises DoesNotExist."""
    rows = Hit.objects.select_related("hit_type").filter(requester=requester, hit_id=hit_id)
    return get_or_refuse(rows, "HIT", hit_id)


def assignments_submitted(hit: Hit, states: Sequence[str] | None = None) -> QuerySet[Assignment]:
    """What was submitted for a HIT, of all states or of some."""
    rows = Assignment.objects.select_related("worker", "hit")
    return rows.filter(hit=hit, state__in=states or SUBMITTED)


def assignment_submitted(requester: Requester, assignment_id: str) -> Assignment:
    """One submitted assignment of a requester's HITs. Raises DoesNotExist, or WrongState if it is not submitted."""
    rows = Assignment.objects.select_related("worker", "hit__hit_type")
    rows = rows.filter(hit__requester=requester, assignment_id=assignment_id)
    assignment = rows.filter(state__in=LIVE_STATES).first() or rows.first()
    if assignment is None:
        raise DoesNotExist("Assignment", assignment_id)
    if assignment.state not in SUBMITTED:
        raise WrongState("Assignment", "Reviewable", "Approved", "Rejected")
    return assignment


def bonuses_of(
    requester: Requester, *, hit_id: str | None = None, assignment_id: str | None = None
) -> QuerySet[BonusPayment]:
    """Bonuses that a requester paid, for a HIT, an assignment, or both."""
    rows = BonusPayment.objects.select_related("assignment__worker").filter(requester=requester)
    if hit_id:
        hit_of(requester, hit_id)
        rows = rows.filter(assignment__hit__hit_id=hit_id)
    if assignment_id:
        if not Assignment.objects.filter(hit__requester=requester, assignment_id=assignment_id).exists():
            raise DoesNotExist("Assignment", assignment_id)
        rows = rows.filter(assignment__assignment_id=assignment_id)
    return rows
