"""An extension beside the API, at `POST /extensions/count-workers`: how many workers could take a HIT.

Signed as requests of the API are, with a target of its own. It changes nothing, and answers with two numbers.
"""

import logging
import uuid
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt

from marketplace import clock
from marketplace.api.errors import ApiError, refusal, service_fault, throttled
from marketplace.api.shapes import member_read, operation
from marketplace.api.signature import signer
from marketplace.api.views import json_of, received_of, reply
from marketplace.errors import InvalidValue, Refused
from marketplace.models import AccessKey
from marketplace.requirements import MOST_REQUIREMENTS, requirement_read
from marketplace.sealing import SealedOtherwise
from marketplace.selectors.reach import Reach, reach_of
from marketplace.services.api_calls import api_call_note
from marketplace.services.limits import COUNT_OF_WORKERS, api_rate_exceeded, limit_exceeded

TARGET = "BestknownMarketplace.CountWorkers"
MEMBER = "QualificationRequirements"
log = logging.getLogger(__name__)


@csrf_exempt
def count_workers(request: HttpRequest) -> HttpResponse:
    """Answer `{"QualifiedWorkers": …, "ActiveWorkers": …}` for the QualificationRequirements in the body."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    request_id = str(uuid.uuid4())
    try:
        received = received_of(request)
        if received.headers.get("x-amz-target") != TARGET:
            raise ApiError("UnknownOperationException", f"X-Amz-Target must be {TARGET} here.")
        key = signer(received)
        if api_rate_exceeded(key.key_id) or limit_exceeded(COUNT_OF_WORKERS, key.requester.account_id):
            raise throttled()
        reach = _counted(key, json_of(received.body))
    except ApiError as error:
        return reply(error.body(), request_id, status=error.status)
    except (DatabaseError, SealedOtherwise):
        log.exception("Request %s (%s) failed", request_id, TARGET)
        fault = service_fault()
        return reply(fault.body(), request_id, status=fault.status)
    api_call_note(key=key, operation="CountWorkers", request_id=request_id, subject="", outcome="")
    return reply({"QualifiedWorkers": reach.qualified, "ActiveWorkers": reach.active}, request_id)


def _counted(key: AccessKey, body: Any) -> Reach:
    model = operation("CreateHITType")
    assert model is not None
    requirements = member_read(model, MEMBER, body)
    try:
        if len(requirements) > MOST_REQUIREMENTS:
            raise InvalidValue(f"At most {MOST_REQUIREMENTS} {MEMBER}, not {len(requirements)}.")
        return reach_of(key.requester, [requirement_read(requirement) for requirement in requirements])
    except Refused as refused:
        raise refusal(refused, milliseconds=int(clock.now().timestamp() * 1000)) from refused
