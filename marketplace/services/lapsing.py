"""The end of workers' time, before it comes. What follows from it is done by services.due, as with any other end."""

from collections.abc import Sequence

from marketplace import clock
from marketplace.models import Assignment, Requester


def assignments_lapse(*, assignment_ids: Sequence[str] = (), requester: Requester | None = None) -> int:
    """Let the time of accepted assignments, by id or of all a requester's HITs, be over now. How many there were."""
    assignments = Assignment.objects.filter(state=Assignment.State.ACCEPTED, deadline__gt=clock.now())
    chosen = (
        assignments.filter(hit__requester=requester)
        if requester
        else assignments.filter(assignment_id__in=assignment_ids)
    )
    return chosen.update(deadline=clock.now())
