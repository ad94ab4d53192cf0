"""Faults of the requester API, around the product's view of it."""

import socket
import time
import uuid
from collections.abc import Callable

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from marketplace import clock
from marketplace.api.errors import ApiError, request_error, service_fault, throttled
from marketplace.api.shapes import TARGET_PREFIX, operation
from marketplace.api.views import reply
from tests.marketplace.testing.faults import DrawnFault, Kind, take

Answer = Callable[[HttpRequest], HttpResponse]


class Faults:
    """Lets each request of the API meet the fault that was ordered for it, before or after it is answered."""

    def __init__(self, get_response: Answer) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The product's answer, or an error in its place."""
        fault = _fault_of(request)
        if fault is None:
            return self._answer(request)
        if fault.kind == Kind.BEFORE_COMMIT:
            return _error(service_fault())
        if fault.kind == Kind.THROTTLED:
            return _error(throttled())
        if fault.kind == Kind.NOT_READY:
            text = "This operation can be called with a status of: null"
            milliseconds = int(clock.now().timestamp() * 1000)
            return _error(request_error(text, "InvalidAssignmentState", milliseconds=milliseconds))
        if fault.kind == Kind.SLOW:
            time.sleep(fault.seconds)
        response = self._answer(request)
        if fault.kind == Kind.AFTER_COMMIT and response.status_code == 200:
            return _error(service_fault())
        if fault.kind == Kind.REPLY_DROPPED:
            request.META["gunicorn.socket"].shutdown(socket.SHUT_RDWR)  # so that no answer reaches the client
        return response


def _fault_of(request: HttpRequest) -> DrawnFault | None:
    prefix, _, name = request.headers.get("X-Amz-Target", "").partition(".")
    if request.method != "POST" or request.path != "/" or prefix != TARGET_PREFIX or operation(name) is None:
        return None
    try:
        return take(name)
    except DatabaseError:  # the product says itself that its database is away
        return None


def _error(error: ApiError) -> HttpResponse:
    return reply(error.body(), str(uuid.uuid4()), status=error.status)
