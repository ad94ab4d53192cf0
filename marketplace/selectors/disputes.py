"""What workers asked the operator about rejections."""

from django.db.models import QuerySet

from marketplace.models import Assignment, Dispute
from marketplace.selectors.lookups import get_or_refuse


def dispute_of(assignment: Assignment) -> Dispute | None:
    """What the worker asked the operator about this assignment, if anything."""
    return Dispute.objects.filter(assignment=assignment).first()


def disputes_all() -> QuerySet[Dispute]:
    """Every dispute: open ones first, the longest waiting of them first; then closed ones, newest first."""
    rows = Dispute.objects.select_related(
        "assignment__hit__hit_type", "assignment__hit__requester", "assignment__worker"
    )
    return rows.order_by("-closed_at", "opened_at")  # PostgreSQL puts what has no closed_at first


def dispute_by_pk(dispute_pk: int) -> Dispute:
    """One dispute, with what it is about. Raises DoesNotExist."""
    return get_or_refuse(disputes_all().filter(pk=dispute_pk), "Dispute", dispute_pk)


def disputes_open() -> int:
    """How many disputes wait for a decision."""
    return Dispute.objects.filter(state=Dispute.State.OPEN).count()
