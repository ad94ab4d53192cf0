"""Qualification types, qualifications, and requests for them."""

from typing import Any

from django.db.models import QuerySet

from marketplace.api import answers
from marketplace.api.calls import Call, handles, lists, performs
from marketplace.errors import Unsupported
from marketplace.models import Qualification, QualificationRequest, QualificationType
from marketplace.requirements import SYSTEM
from marketplace.selectors import qualifications as select
from marketplace.selectors.lookups import qualification_type_known
from marketplace.services import qualifications

_CHANGEABLE = {
    "description": "Description",
    "status": "QualificationTypeStatus",
    "retry_seconds": "RetryDelayInSeconds",
    "auto_granted": "AutoGranted",
    "auto_value": "AutoGrantedValue",
}


@handles("CreateQualificationType")
def create_type(call: Call) -> dict[str, Any]:
    """A new qualification type."""
    _no_tests(call)
    arguments = call.arguments(name="Name", keywords="Keywords", **_CHANGEABLE)
    qualification_type = qualifications.qualification_type_create(requester=call.requester, **arguments)
    return {"QualificationType": answers.qualification_type(qualification_type)}


@handles("GetQualificationType")
def get_type(call: Call) -> dict[str, Any]:
    """One qualification type, anybody's, or one of the system's."""
    type_id = call.parameters["QualificationTypeId"]
    if type_id in SYSTEM:
        return {"QualificationType": answers.system_qualification_type(type_id)}
    return {"QualificationType": answers.qualification_type(qualification_type_known(type_id))}


@handles("UpdateQualificationType")
def update_type(call: Call) -> dict[str, Any]:
    """Change a qualification type."""
    _no_tests(call)
    type_id, changes = call.parameters["QualificationTypeId"], qualifications.Changes(**call.arguments(**_CHANGEABLE))
    changed = qualifications.qualification_type_update(requester=call.requester, type_id=type_id, changes=changes)
    return {"QualificationType": answers.qualification_type(changed)}


@lists("ListQualificationTypes", "QualificationTypes", answers.qualification_type)
def list_types(call: Call) -> QuerySet[QualificationType]:
    """Qualification types whose texts have the words of a query."""
    return select.types(
        owner=call.requester if call.parameters.get("MustBeOwnedByCaller") else None,
        requestable=call.parameters["MustBeRequestable"],
        query=call.parameters.get("Query", ""),
    )


@handles("GetQualificationScore")
def get_score(call: Call) -> dict[str, Any]:
    """A worker's score in one of the caller's types."""
    arguments = call.arguments(type_id="QualificationTypeId", worker_id="WorkerId")
    return {"Qualification": answers.qualification(select.qualification_granted(call.requester, **arguments))}


@lists("ListWorkersWithQualificationType", "Qualifications", answers.qualification)
def list_workers(call: Call) -> QuerySet[Qualification]:
    """Who has one of the caller's qualifications, or had it."""
    status = call.parameters.get("Status", Qualification.Status.GRANTED)
    return select.qualifications(call.requester, call.parameters["QualificationTypeId"], status)


@lists("ListQualificationRequests", "QualificationRequests", answers.qualification_request)
def list_requests(call: Call) -> QuerySet[QualificationRequest]:
    """Requests that wait for the caller's decision."""
    return select.requests_pending(call.requester, call.parameters.get("QualificationTypeId"))


performs("DeleteQualificationType", qualifications.qualification_type_delete, type_id="QualificationTypeId")
performs(
    "AssociateQualificationWithWorker",
    qualifications.qualification_grant,
    type_id="QualificationTypeId",
    worker_id="WorkerId",
    value="IntegerValue",
    notify="SendNotification",
)
performs(
    "DisassociateQualificationFromWorker",
    qualifications.qualification_revoke,
    type_id="QualificationTypeId",
    worker_id="WorkerId",
    reason="Reason",
)
performs(
    "AcceptQualificationRequest",
    qualifications.qualification_request_accept,
    request_id="QualificationRequestId",
    value="IntegerValue",
)
performs(
    "RejectQualificationRequest",
    qualifications.qualification_request_reject,
    request_id="QualificationRequestId",
    reason="Reason",
)


def _no_tests(call: Call) -> None:
    for name in ("Test", "AnswerKey", "TestDurationInSeconds"):
        if call.parameters.get(name) is not None:
            raise Unsupported(f"{name} is not supported: this marketplace has no qualification tests.")
