"""What is beside the API: requests signed as the API's are, each at an address and with a target of its own.

They change nothing that a requester has.
"""

import logging
import uuid
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt

from marketplace import clock
from marketplace.api.errors import ApiError, refusal, service_fault, throttled
from marketplace.api.signature import signer
from marketplace.api.views import json_of, received_of, reply
from marketplace.errors import Refused
from marketplace.models import AccessKey
from marketplace.sealing import SealedOtherwise
from marketplace.services.api_calls import api_call_note
from marketplace.services.limits import Limit, api_rate_exceeded, limit_exceeded

TARGET_PREFIX = "BestknownMarketplace."
Answer = Callable[[AccessKey, Any], dict[str, Any]]
log = logging.getLogger(__name__)


def extension(name: str, limit: Limit) -> Callable[[Answer], Callable[[HttpRequest], HttpResponse]]:
    """Make a page of what answers a requester's JSON with JSON, so many times in so long."""

    def wrap(answer: Answer) -> Callable[[HttpRequest], HttpResponse]:
        @csrf_exempt
        def page(request: HttpRequest) -> HttpResponse:
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            request_id, target = str(uuid.uuid4()), TARGET_PREFIX + name
            try:
                received = received_of(request)
                if received.headers.get("x-amz-target") != target:
                    raise ApiError("UnknownOperationException", f"X-Amz-Target must be {target} here.")
                key = signer(received)
                if api_rate_exceeded(key.key_id) or limit_exceeded(limit, key.requester.account_id):
                    raise throttled()
                try:
                    content = answer(key, json_of(received.body))
                except Refused as refused:
                    raise refusal(refused, milliseconds=int(clock.now().timestamp() * 1000)) from refused
            except ApiError as error:
                return reply(error.body(), request_id, status=error.status)
            except (DatabaseError, SealedOtherwise):
                log.exception("Request %s (%s) failed", request_id, target)
                fault = service_fault()
                return reply(fault.body(), request_id, status=fault.status)
            api_call_note(key=key, operation=name, request_id=request_id, subject="", outcome="")
            return reply(content, request_id)

        return page

    return wrap
