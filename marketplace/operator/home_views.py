"""The operator's overview, the check of the books, and the audit."""

from django.http import HttpRequest, HttpResponse

from marketplace.models import Account, DailyRun, Worker
from marketplace.money import ZERO
from marketplace.operator.pages import for_operator, show_operator_page
from marketplace.pages import paginate, read_query
from marketplace.selectors.audit import audit_all
from marketplace.selectors.books import fee_months, totals
from marketplace.selectors.payouts import owed_all
from marketplace.selectors.requesters import deposit_requests_open, requester_rows, requesters_matching
from marketplace.selectors.upkeep import daily_run, due_failures
from marketplace.selectors.workers import workers_matching

MOST_ASKED = 50  # requests for money that are shown at a time


@for_operator("GET")
def home(request: HttpRequest, _operator: Account) -> HttpResponse:
    """What is waiting for the operator, and the money in sums."""
    requests = deposit_requests_open()
    rows, owed = requester_rows(requesters_matching()), owed_all()
    context = {
        "requesters": len(rows),
        "available": sum((row.balance.available for row in rows), ZERO),
        "on_hold": sum((row.balance.on_hold for row in rows), ZERO),
        "open_hits": sum(row.open_hits for row in rows),
        "workers": workers_matching().filter(status=Worker.Status.ACTIVE).count(),
        "owed": sum((row.amount for row in owed), ZERO),
        "owed_workers": len(owed),
        "asked": requests[:MOST_ASKED],
        "asked_more": max(0, requests.count() - MOST_ASKED),
        "failures": due_failures()[:20],
        "failed": due_failures().count(),
        "fees": totals().fees,
        "books": daily_run(DailyRun.Name.BOOKS),
        "events": audit_all()[:8],
    }
    return show_operator_page(request, "home.html", context)


@for_operator("GET")
def books(request: HttpRequest, _operator: Account) -> HttpResponse:
    """The sums of the ledger and the income from fees as they are now, and what the last check of the books found."""
    context = {"sums": totals(), "fees": fee_months(), "books": daily_run(DailyRun.Name.BOOKS)}
    return show_operator_page(request, "books.html", context)


@for_operator("GET")
def audit(request: HttpRequest, _operator: Account) -> HttpResponse:
    words = read_query(request)
    page = paginate(request, audit_all(words), 100)
    return show_operator_page(request, "audit.html", {"page": page, "events": page.object_list, "words": words})
