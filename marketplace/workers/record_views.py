"""What a worker has earned, is qualified for, and may ask for."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from marketplace.errors import NotAllowed
from marketplace.models import Qualification, QualificationRequest, Worker
from marketplace.pages import paginate, see_other, show_page
from marketplace.requirements import SYSTEM
from marketplace.selectors import earnings as earnings_selectors
from marketplace.selectors import qualifications as qualification_selectors
from marketplace.selectors.records import values_of
from marketplace.sentences import explain_refusal, name_system_qualification, write_value
from marketplace.services.qualifications import qualification_request
from marketplace.workers.pages import for_worker


@for_worker("GET")
def earnings(request: HttpRequest, worker: Worker) -> HttpResponse:
    """What was earned and paid."""
    context = {
        "earnings": earnings_selectors.earnings_of(worker),
        "page": paginate(request, earnings_selectors.entries_of(worker)),
    }
    return show_page(request, "workers/earnings.html", context)


@for_worker("GET")
def qualifications(request: HttpRequest, worker: Worker) -> HttpResponse:
    """The qualifications that the worker has, is waiting for, and may request."""
    states = QualificationRequest.State
    rows = qualification_selectors.qualifications_of(worker)
    requests = qualification_selectors.qualification_requests_of(worker)
    granted = rows.filter(status=Qualification.Status.GRANTED).order_by()
    waiting = requests.filter(state=states.PENDING).order_by()
    requestable = qualification_selectors.qualification_types_requestable()
    requestable = requestable.exclude(pk__in=granted.values("qualification_type"))
    requestable = requestable.exclude(pk__in=waiting.values("qualification_type"))
    values = values_of(worker, SYSTEM)
    context = {
        "record": [
            (name_system_qualification(type_id), write_value(type_id, values[type_id]))
            for type_id in SYSTEM
            if values[type_id] is not None
        ],
        "held": paginate(request, rows, 20, "held"),
        "requests": paginate(request, requests.filter(state__in=[states.PENDING, states.REJECTED]), 20, "requests"),
        "page": paginate(request, requestable),
    }
    return show_page(request, "workers/qualifications.html", context)


@for_worker("POST")
def qualification_request_new(request: HttpRequest, worker: Worker, type_id: str) -> HttpResponse:
    try:
        outcome = qualification_request(worker=worker, type_id=type_id)
    except NotAllowed as refused:
        messages.error(request, explain_refusal(refused).text)
    else:
        is_granted = outcome.state == QualificationRequest.State.GRANTED
        messages.success(
            request, _("You have this qualification now.") if is_granted else _("Requested. The requester will decide.")
        )
    return see_other("workers:qualifications")
