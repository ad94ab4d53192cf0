"""Assignments and bonuses."""

from typing import Any

from django.db.models import QuerySet

from marketplace.api import answers
from marketplace.api.calls import Call, handles, lists
from marketplace.errors import InvalidValue, Unsupported
from marketplace.models import Assignment, BonusPayment
from marketplace.money import amount_read
from marketplace.selectors import hits as select
from marketplace.services import assignments
from marketplace.services.tokens import token_claim


@lists("ListAssignmentsForHIT", "Assignments", answers.assignment, by="submitted_at")
def list_assignments(call: Call) -> QuerySet[Assignment]:
    hit = select.hit_of(call.requester, call.parameters["HITId"])
    return select.assignments_submitted(hit, call.parameters.get("AssignmentStatuses"))


@handles("GetAssignment")
def get_assignment(call: Call) -> dict[str, Any]:
    """One submitted assignment, and its HIT."""
    row = select.assignment_submitted(call.requester, call.parameters["AssignmentId"])
    return {"Assignment": answers.assignment(row), "HIT": answers.hit(row.hit)}


@handles("ApproveAssignment")
def approve(call: Call) -> dict[str, Any]:
    """Pay for submitted work."""
    arguments = call.arguments(assignment_id="AssignmentId", override="OverrideRejection")
    assignments.assignment_approve(requester=call.requester, feedback=_feedback(call), **arguments)
    return {}


@handles("RejectAssignment")
def reject(call: Call) -> dict[str, Any]:
    """Do not pay for submitted work, and say why. An empty reason is taken: the worker reads that there is none."""
    arguments = call.arguments(assignment_id="AssignmentId")
    assignments.assignment_reject(requester=call.requester, feedback=_feedback(call), **arguments)
    return {}


@handles("SendBonus")
def send_bonus(call: Call) -> dict[str, Any]:
    """Pay a worker something on top."""
    token = call.parameters.get("UniqueRequestToken")
    token_claim(requester=call.requester, operation=call.operation, token=token, subject=call.request_id)
    arguments = call.arguments(assignment_id="AssignmentId", worker_id="WorkerId", reason="Reason")
    amount = amount_read(call.parameters["BonusAmount"])
    assignments.bonus_send(requester=call.requester, amount=amount, **arguments)
    return {}


@lists("ListBonusPayments", "BonusPayments", answers.bonus)
def list_bonus_payments(call: Call) -> QuerySet[BonusPayment]:
    """Bonuses paid for a HIT, or for an assignment."""
    chosen = call.arguments(hit_id="HITId", assignment_id="AssignmentId")
    if not any(chosen.values()):
        raise InvalidValue("Either the HITId parameter or the AssignmentId parameter must be specified.")
    return select.bonuses_of(call.requester, **chosen)


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
