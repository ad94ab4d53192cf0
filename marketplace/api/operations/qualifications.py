"""Qualification types, qualifications, and requests for them."""

from typing import Any

from marketplace.api import answers
from marketplace.api.calls import Call, handles, listed
from marketplace.api.paging import page
from marketplace.errors import Unsupported
from marketplace.models import Qualification
from marketplace.requirements import SYSTEM
from marketplace.selectors import qualifications as select
from marketplace.selectors.lookups import qualification_type_known
from marketplace.services import qualifications


@handles("CreateQualificationType")
def create_type(call: Call) -> dict[str, Any]:
    """A new qualification type."""
    parameters = call.parameters
    _no_tests(call)
    qualification_type = qualifications.qualification_type_create(
        requester=call.requester,
        name=parameters["Name"],
        description=parameters["Description"],
        status=parameters["QualificationTypeStatus"],
        keywords=parameters.get("Keywords", ""),
        retry_seconds=parameters.get("RetryDelayInSeconds"),
        auto_granted=parameters.get("AutoGranted", False),
        auto_value=parameters.get("AutoGrantedValue"),
    )
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
    parameters = call.parameters
    _no_tests(call)
    changed = qualifications.qualification_type_update(
        requester=call.requester,
        type_id=parameters["QualificationTypeId"],
        changes=qualifications.Changes(
            description=parameters.get("Description"),
            status=parameters.get("QualificationTypeStatus"),
            retry_seconds=parameters.get("RetryDelayInSeconds"),
            auto_granted=parameters.get("AutoGranted"),
            auto_value=parameters.get("AutoGrantedValue"),
        ),
    )
    return {"QualificationType": answers.qualification_type(changed)}


@handles("DeleteQualificationType")
def delete_type(call: Call) -> dict[str, Any]:
    """Retire a qualification type, and the HIT types that need it."""
    qualifications.qualification_type_delete(requester=call.requester, type_id=call.parameters["QualificationTypeId"])
    return {}


@handles("ListQualificationTypes")
def list_types(call: Call) -> dict[str, Any]:
    """Qualification types whose texts have the words of a query."""
    parameters = call.parameters
    rows = select.types(
        owner=call.requester if parameters.get("MustBeOwnedByCaller") else None,
        requestable=parameters["MustBeRequestable"],
        query=parameters.get("Query", ""),
    )
    page_of_types = page(rows, parameters, of=call.scope)
    return listed(page_of_types, "QualificationTypes", [answers.qualification_type(row) for row in page_of_types.rows])


@handles("AssociateQualificationWithWorker")
def associate(call: Call) -> dict[str, Any]:
    """Give a worker a qualification, with a message unless told otherwise."""
    qualifications.qualification_grant(
        requester=call.requester,
        type_id=call.parameters["QualificationTypeId"],
        worker_id=call.parameters["WorkerId"],
        value=call.parameters.get("IntegerValue", 1),
        notify=call.parameters.get("SendNotification", True),
    )
    return {}


@handles("DisassociateQualificationFromWorker")
def disassociate(call: Call) -> dict[str, Any]:
    """Take a qualification back."""
    qualifications.qualification_revoke(
        requester=call.requester,
        type_id=call.parameters["QualificationTypeId"],
        worker_id=call.parameters["WorkerId"],
        reason=call.parameters.get("Reason", ""),
    )
    return {}


@handles("GetQualificationScore")
def get_score(call: Call) -> dict[str, Any]:
    """A worker's score in one of the caller's types."""
    row = select.qualification_granted(
        call.requester, call.parameters["QualificationTypeId"], call.parameters["WorkerId"]
    )
    return {"Qualification": answers.qualification(row)}


@handles("ListWorkersWithQualificationType")
def list_workers(call: Call) -> dict[str, Any]:
    """Who has one of the caller's qualifications, or had it."""
    status = call.parameters.get("Status", Qualification.Status.GRANTED)
    rows = select.qualifications(call.requester, call.parameters["QualificationTypeId"], status)
    page_of_qualifications = page(rows, call.parameters, of=call.scope)
    return listed(
        page_of_qualifications, "Qualifications", [answers.qualification(row) for row in page_of_qualifications.rows]
    )


@handles("ListQualificationRequests")
def list_requests(call: Call) -> dict[str, Any]:
    """Requests that wait for the caller's decision."""
    rows = select.requests_pending(call.requester, call.parameters.get("QualificationTypeId"))
    page_of_requests = page(rows, call.parameters, of=call.scope)
    return listed(
        page_of_requests, "QualificationRequests", [answers.qualification_request(row) for row in page_of_requests.rows]
    )


@handles("AcceptQualificationRequest")
def accept_request(call: Call) -> dict[str, Any]:
    """Grant what a worker asked for."""
    qualifications.qualification_request_accept(
        requester=call.requester,
        request_id=call.parameters["QualificationRequestId"],
        value=call.parameters.get("IntegerValue"),
    )
    return {}


@handles("RejectQualificationRequest")
def reject_request(call: Call) -> dict[str, Any]:
    """Do not grant what a worker asked for."""
    qualifications.qualification_request_reject(
        requester=call.requester,
        request_id=call.parameters["QualificationRequestId"],
        reason=call.parameters.get("Reason", ""),
    )
    return {}


def _no_tests(call: Call) -> None:
    for name in ("Test", "AnswerKey", "TestDurationInSeconds"):
        if call.parameters.get(name) is not None:
            raise Unsupported(f"{name} is not supported: this marketplace has no qualification tests.")
