"""The researcher's page about everybody who judges for their labs, across campaigns."""

from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from core.http import Request
from core.lists import Listing, render_lists
from core.roles import Right, needs
from judgments import selectors as judgment_selectors
from review import lists as review_lists


@needs(Right.SIGNED_IN)
@require_GET
def workers(request: Request) -> HttpResponseBase:
    """Every worker of the user's labs, those who came last first."""
    rows = judgment_selectors.workers_across_campaigns(request.user)
    listing = Listing(
        request,
        rows,
        sorts=review_lists.PERSON_SORTS,
        narrow=review_lists.PersonFilter,
        columns=review_lists.PERSON_COLUMNS,
    )
    context = {"listing": listing}
    return render_lists(request, "review/workers.html", context)
