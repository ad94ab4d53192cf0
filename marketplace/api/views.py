"""The requester API, at `POST /`."""

import json
import logging
import uuid
from typing import Any

from botocore.model import OperationModel
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.request import RawPostDataException
from django.views.decorators.csrf import csrf_exempt

from marketplace import clock
from marketplace.api import operations  # noqa: F401 - fills HANDLERS
from marketplace.api.calls import HANDLERS, Call
from marketplace.api.errors import ApiError, refusal, serialization_error, service_fault, throttled
from marketplace.api.shapes import TARGET_PREFIX, BadAnswer, answer_write, operation, request_read
from marketplace.api.signature import Received, signer
from marketplace.errors import Refused
from marketplace.models import AccessKey
from marketplace.sealing import SealedOtherwise
from marketplace.services.api_calls import api_call_note
from marketplace.services.due import catch_up
from marketplace.services.limits import api_rate_exceeded

CONTENT_TYPE = "application/x-amz-json-1.1"
# Scripts of any origin may call and read: what proves a caller is the signature, and no cookie is looked at.
CROSS_ORIGIN = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "x-amzn-RequestId, Date"}
PREFLIGHT = CROSS_ORIGIN | {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, X-Amz-Date, X-Amz-Target, X-Amz-Content-Sha256, X-Amz-Security-Token, "
        "X-Amz-User-Agent, amz-sdk-invocation-id, amz-sdk-request"
    ),
    "Access-Control-Max-Age": "7200",
}
MOST_BYTES = 1024 * 1024
log = logging.getLogger(__name__)


@csrf_exempt
def requests(request: HttpRequest) -> HttpResponse:
    """Answer one request of the API, or a browser that asks whether a page's script may make one."""
    if request.method == "OPTIONS":
        return HttpResponse(status=204, headers=PREFLIGHT)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST", "OPTIONS"])
    request_id = str(uuid.uuid4())
    name, parameters = "", None
    caller: AccessKey | None = None  # whose call is recorded, once it is known to be theirs and not too many
    status, outcome = 200, ""
    try:
        received = received_of(request)
        key, model = _identify(received)
        name = model.name
        if api_rate_exceeded(key.key_id):
            raise throttled()
        caller = key
        parameters = json_of(received.body)
        body = _answer(key, model, parameters, request_id)
    except ApiError as error:
        body, status, outcome = error.body(), error.status, error.code
    except (DatabaseError, BadAnswer, SealedOtherwise):
        log.exception("Request %s (%s) failed", request_id, name)
        fault = service_fault()
        body, status, outcome = fault.body(), fault.status, fault.code
    if caller is not None:
        subject = _subject(body) or _subject(parameters)
        api_call_note(key=caller, operation=name, request_id=request_id, subject=subject, outcome=outcome)
    return reply(body, request_id, status=status)


_SUBJECTS = ("HITId", "AssignmentId", "QualificationRequestId", "QualificationTypeId", "HITTypeId", "WorkerId")


def _subject(values: Any) -> str:
    """The id of what a request or an answer is about; empty if it names none, or many."""
    if not isinstance(values, dict):
        return ""
    values = values.get("HIT") or values.get("QualificationType") or values
    ids = (values.get(name) for name in _SUBJECTS if isinstance(values, dict))
    return next((value for value in ids if isinstance(value, str)), "")


def received_of(request: HttpRequest) -> Received:
    """A posted request as its signature is checked. Raises ApiError where its body cannot be read."""
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
            raise RequestDataTooBig
        body = request.body
    except RequestDataTooBig:
        raise ApiError(
            "RequestEntityTooLargeException", f"The body has more than {MOST_BYTES:,} bytes.", status=413
        ) from None
    except (ValueError, OSError, RawPostDataException):
        raise serialization_error("The body could not be read.") from None
    headers = {name.lower(): value for name, value in request.headers.items()}
    scheme = "https" if request.is_secure() else "http"
    url = f"{scheme}://{headers.get('host', '')}{request.get_full_path()}"
    return Received(method="POST", url=url, headers=headers, body=body)


def _identify(received: Received) -> tuple[AccessKey, OperationModel]:
    prefix, _, name = received.headers.get("x-amz-target", "").partition(".")
    model = operation(name) if prefix == TARGET_PREFIX else None
    if model is None:
        raise ApiError("UnknownOperationException", "X-Amz-Target does not name an operation of this service.")
    return signer(received), model


def json_of(body: bytes) -> Any:
    """The JSON of a body, `{}` for none. Raises ApiError."""
    try:
        return json.loads(body or b"{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise serialization_error("The body is not JSON.") from None


def _no_constant(_name: str) -> None:
    raise ValueError


def _answer(key: AccessKey, model: OperationModel, parameters: Any, request_id: str) -> dict[str, Any]:
    """Do what is asked, in one transaction with the check of the answer."""
    call = Call(operation=model.name, request_id=request_id, key=key, parameters=request_read(model, parameters))
    milliseconds = int(clock.now().timestamp() * 1000)
    try:
        catch_up()
        with transaction.atomic():
            return answer_write(model, HANDLERS[model.name](call))
    except Refused as refused:
        raise refusal(refused, milliseconds=milliseconds) from refused


def reply(body: dict[str, Any], request_id: str, *, status: int = 200) -> HttpResponse:
    """An answer of the API."""
    response = HttpResponse(json.dumps(body), content_type=CONTENT_TYPE, status=status, headers=CROSS_ORIGIN)
    response["x-amzn-RequestId"] = request_id
    response["Cache-Control"] = "no-store"
    return response
