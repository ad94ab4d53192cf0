"""Qualification types, qualifications, and requests for them."""

from typing import Any

from marketplace.api import answers
from marketplace.api.calls import Call, handles, listed
from marketplace.api.paging import page
from marketplace.errors import Unsupported
from marketplace.models import Qualification
from marketplace.qualifying import SYSTEM
from marketplace.selectors import qualifications as select
from marketplace.selectors.lookups import qualification_type_known
from marketplace.services import qualifications


@handles("CreateQualificationType")
def create_type(call: Call) -> dict[str, Any]:
    """A new qualification type."""
    given = call.given
    _no_tests(call)
    made = qualifications.qualification_type_create(
        requester=call.requester,
        name=given["Name"],
        description=given["Description"],
        status=given["QualificationTypeStatus"],
        keywords=given.get("Keywords", ""),
        retry_seconds=given.get("RetryDelayInSeconds"),
        auto_granted=given.get("AutoGranted", False),
        auto_value=given.get("AutoGrantedValue"),
    )
    return {"QualificationType": answers.qualification_type(made)}


@handles("GetQualificationType")
def get_type(call: Call) -> dict[str, Any]:
    """One qualification type, anybody's, or one of the system's."""
    type_id = call.given["QualificationTypeId"]
    if type_id in SYSTEM:
        return {"QualificationType": answers.system_qualification_type(type_id)}
    return {"QualificationType": answers.qualification_type(qualification_type_known(type_id))}


@handles("UpdateQualificationType")
def update_type(call: Call) -> dict[str, Any]:
    """Change a qualification type."""
    given = call.given
    _no_tests(call)
    changed = qualifications.qualification_type_update(
        requester=call.requester,
        type_id=given["QualificationTypeId"],
        changes=qualifications.Changes(
            description=given.get("Description"),
            status=given.get("QualificationTypeStatus"),
            retry_seconds=given.get("RetryDelayInSeconds"),
            auto_granted=given.get("AutoGranted"),
            auto_value=given.get("AutoGrantedValue"),
        ),
    )
    return {"QualificationType": answers.qualification_type(changed)}


@handles("DeleteQualificationType")
def delete_type(call: Call) -> dict[str, Any]:
    """Retire a qualification type, and the HIT types that need it."""
    qualifications.qualification_type_delete(requester=call.requester, type_id=call.given["QualificationTypeId"])
    return {}


@handles("ListQualificationTypes")
def list_types(call: Call) -> dict[str, Any]:
    """Qualification types whose texts have the words of a query."""
    given = call.given
    rows = select.types(
        owner=call.requester if given.get("MustBeOwnedByCaller") else None,
        requestable=given["MustBeRequestable"],
        query=given.get("Query", ""),
    )
    found = page(rows, given, of=call.scope)
    return listed(found, "QualificationTypes", [answers.qualification_type(row) for row in found.rows])


@handles("AssociateQualificationWithWorker")
def associate(call: Call) -> dict[str, Any]:
    """Give a worker a qualification, with a message unless told otherwise."""
    qualifications.qualification_grant(
        requester=call.requester,
        type_id=call.given["QualificationTypeId"],
        worker_id=call.given["WorkerId"],
        value=call.given.get("IntegerValue", 1),
        notify=call.given.get("SendNotification", True),
    )
    return {}


@handles("DisassociateQualificationFromWorker")
def disassociate(call: Call) -> dict[str, Any]:
    """Take a qualification back."""
    qualifications.qualification_revoke(
        requester=call.requester,
        type_id=call.given["QualificationTypeId"],
        worker_id=call.given["WorkerId"],
        reason=call.given.get("Reason", ""),
    )
    return {}


@handles("GetQualificationScore")
def get_score(call: Call) -> dict[str, Any]:
    """A worker's score in one of the caller's types."""
    row = select.qualification_granted(call.requester, call.given["QualificationTypeId"], call.given["WorkerId"])
    return {"Qualification": answers.qualification(row)}


@handles("ListWorkersWithQualificationType")
def list_workers(call: Call) -> dict[str, Any]:
    """Who has one of the caller's qualifications, or had it."""
    status = call.given.get("Status", Qualification.Status.GRANTED)
    rows = select.qualifications(call.requester, call.given["QualificationTypeId"], status)
    found = page(rows, call.given, of=call.scope)
    return listed(found, "Qualifications", [answers.qualification(row) for row in found.rows])


@handles("ListQualificationRequests")
def list_requests(call: Call) -> dict[str, Any]:
    """Requests that wait for the caller's decision."""
    rows = select.requests_pending(call.requester, call.given.get("QualificationTypeId"))
    found = page(rows, call.given, of=call.scope)
    return listed(found, "QualificationRequests", [answers.qualification_request(row) for row in found.rows])


@handles("AcceptQualificationRequest")
def accept_request(call: Call) -> dict[str, Any]:
    """Grant what a worker asked for."""
    qualifications.qualification_request_accept(
        requester=call.requester,
        request_id=call.given["QualificationRequestId"],
        value=call.given.get("IntegerValue"),
    )
    return {}


@handles("RejectQualificationRequest")
def reject_request(call: Call) -> dict[str, Any]:
    """Do not grant what a worker asked for."""
    qualifications.qualification_request_reject(
        requester=call.requester,
        request_id=call.given["QualificationRequestId"],
        reason=call.given.get("Reason", ""),
    )
    return {}


def _no_tests(call: Call) -> None:
    for name in ("Test", "AnswerKey", "TestDurationInSeconds"):
        if call.given.get(name) is not None:
            raise Unsupported(f"{name} is not supported: this marketplace has no qualification tests.")
