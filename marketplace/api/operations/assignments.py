"""Assignments and bonuses."""

from typing import Any

from marketplace.api import answers
from marketplace.api.calls import Call, handles, listed
from marketplace.api.paging import page
from marketplace.errors import InvalidValue, Unsupported
from marketplace.money import amount_read
from marketplace.selectors import hits as select
from marketplace.services import assignments
from marketplace.services.tokens import token_claim


@handles("ListAssignmentsForHIT")
def list_assignments(call: Call) -> dict[str, Any]:
    """What was submitted for a HIT, in the order that it came."""
    hit = select.hit_of(call.requester, call.parameters["HITId"])
    rows = select.assignments_submitted(hit, call.parameters.get("AssignmentStatuses"))
    page_of_assignments = page(rows, call.parameters, of=call.scope, by="submitted_at")
    return listed(page_of_assignments, "Assignments", [answers.assignment(row) for row in page_of_assignments.rows])


@handles("GetAssignment")
def get_assignment(call: Call) -> dict[str, Any]:
    """One submitted assignment, and its HIT."""
    row = select.assignment_submitted(call.requester, call.parameters["AssignmentId"])
    return {"Assignment": answers.assignment(row), "HIT": answers.hit(row.hit)}


@handles("ApproveAssignment")
def approve(call: Call) -> dict[str, Any]:
    """Pay for submitted work."""
    assignments.assignment_approve(
        requester=call.requester,
        assignment_id=call.parameters["AssignmentId"],
        feedback=_feedback(call),
        override=call.parameters.get("OverrideRejection", False),
    )
    return {}


@handles("RejectAssignment")
def reject(call: Call) -> dict[str, Any]:
    """Do not pay for submitted work, and say why. An empty reason is taken: the worker reads that there is none."""
    assignments.assignment_reject(
        requester=call.requester, assignment_id=call.parameters["AssignmentId"], feedback=_feedback(call)
    )
    return {}


@handles("SendBonus")
def send_bonus(call: Call) -> dict[str, Any]:
    """Pay a worker something on top."""
    token = call.parameters.get("UniqueRequestToken")
    token_claim(requester=call.requester, operation=call.operation, token=token, subject=call.request_id)
    assignments.bonus_send(
        requester=call.requester,
        assignment_id=call.parameters["AssignmentId"],
        worker_id=call.parameters["WorkerId"],
        amount=amount_read(call.parameters["BonusAmount"]),
        reason=call.parameters["Reason"],
    )
    return {}


@handles("ListBonusPayments")
def list_bonus_payments(call: Call) -> dict[str, Any]:
    """Bonuses paid for a HIT, or for an assignment."""
    hit_id, assignment_id = call.parameters.get("HITId"), call.parameters.get("AssignmentId")
    if not hit_id and not assignment_id:
        raise InvalidValue("Either the HITId parameter or the AssignmentId parameter must be specified.")
    rows = select.bonuses_of(call.requester, hit_id=hit_id, assignment_id=assignment_id)
    page_of_bonuses = page(rows, call.parameters, of=call.scope)
    return listed(page_of_bonuses, "BonusPayments", [answers.bonus(row) for row in page_of_bonuses.rows])


@handles("GetFileUploadURL")
def get_file_upload_url(call: Call) -> dict[str, Any]:
    """There are no uploads: they belong to QuestionForm, which is not supported."""
    select.assignment_submitted(call.requester, call.parameters["AssignmentId"])
    raise Unsupported("File uploads are not supported by this marketplace, so there are no files of this assignment.")


def _feedback(call: Call) -> str:
    feedback = str(call.parameters.get("RequesterFeedback", ""))
    if not feedback.strip():
        return ""
    if len(feedback) > assignments.MOST_FEEDBACK:
        raise InvalidValue(f"RequesterFeedback has more than {assignments.MOST_FEEDBACK:,} characters.")
    return feedback
