"""Rows as the service model's structures. Empty values are left out, as Mechanical Turk leaves them out."""

from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.models import (
    Assignment,
    BonusPayment,
    Hit,
    Qualification,
    QualificationRequest,
    QualificationType,
    WorkerBlock,
)
from marketplace.requirements import SYSTEM


def hit(row: Hit) -> dict[str, Any]:
    """A HIT. Its HIT type must be loaded."""
    hit_type = row.hit_type
    expired = row.status == Hit.Status.DISPOSED or row.expired
    return _filled(
        {
            "HITId": row.hit_id,
            "HITTypeId": hit_type.type_id,
            "HITGroupId": hit_type.group_id,
            "CreationTime": row.created_at,
            "Title": hit_type.title,
            "Description": hit_type.description,
            "Question": row.question,
            "Keywords": hit_type.keywords or None,
            "HITStatus": row.status,
            "MaxAssignments": row.max_assignments,
            "Reward": f"{hit_type.reward:.2f}",
            "AutoApprovalDelayInSeconds": hit_type.auto_approval_seconds,
            "Expiration": row.expires_at,
            "AssignmentDurationInSeconds": hit_type.assignment_seconds,
            "RequesterAnnotation": row.annotation or None,
            "QualificationRequirements": requirements(hit_type.requirements),
            "HITReviewStatus": "NotReviewed",
            "NumberOfAssignmentsPending": row.n_accepted,
            "NumberOfAssignmentsAvailable": 0 if expired else row.n_available,
            "NumberOfAssignmentsCompleted": row.n_approved + row.n_rejected,
        }
    )


def requirements(stored: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Requirements as answers carry them: with the older RequiredToPreview beside ActionsGuarded."""
    return [
        dict(requirement) | {"RequiredToPreview": requirement["ActionsGuarded"] != "Accept"} for requirement in stored
    ]


def assignment(row: Assignment) -> dict[str, Any]:
    """A submitted assignment. Its HIT and worker must be loaded."""
    return _filled(
        {
            "AssignmentId": row.assignment_id,
            "WorkerId": row.worker.worker_id,
            "HITId": row.hit.hit_id,
            "AssignmentStatus": row.state,
            "AutoApprovalTime": row.auto_approval_at,
            "AcceptTime": row.accepted_at,
            "SubmitTime": row.submitted_at,
            "ApprovalTime": row.approved_at,
            "RejectionTime": row.rejected_at,
            "Deadline": row.deadline,
            "Answer": row.answer,
            "RequesterFeedback": row.feedback or None,
        }
    )


def bonus(row: BonusPayment) -> dict[str, Any]:
    """A bonus payment. Its assignment and worker must be loaded."""
    return {
        "WorkerId": row.assignment.worker.worker_id,
        "BonusAmount": f"{row.amount:.2f}",
        "AssignmentId": row.assignment.assignment_id,
        "Reason": row.reason,
        "GrantTime": row.granted_at,
    }


def block(row: WorkerBlock) -> dict[str, Any]:
    """A block. Its worker must be loaded."""
    return {"WorkerId": row.worker.worker_id, "Reason": row.reason}


def qualification_type(row: QualificationType) -> dict[str, Any]:
    return _filled(
        {
            "QualificationTypeId": row.type_id,
            "CreationTime": row.created_at,
            "Name": row.name,
            "Description": row.description,
            "Keywords": row.keywords or None,
            "QualificationTypeStatus": row.status,
            "RetryDelayInSeconds": row.retry_seconds,
            "IsRequestable": row.status == QualificationType.Status.ACTIVE,
            "AutoGranted": row.auto_granted,
            "AutoGrantedValue": row.auto_value,
        }
    )


def qualification(row: Qualification) -> dict[str, Any]:
    """A qualification of a worker. Its type and worker must be loaded."""
    return _filled(
        {
            "QualificationTypeId": row.qualification_type.type_id,
            "WorkerId": row.worker.worker_id,
            "GrantTime": row.granted_at,
            "IntegerValue": row.value,
            "Status": row.status,
        }
    )


def qualification_request(row: QualificationRequest) -> dict[str, Any]:
    """A worker's request for a qualification. Its type and worker must be loaded."""
    return {
        "QualificationRequestId": row.request_id,
        "QualificationTypeId": row.qualification_type.type_id,
        "WorkerId": row.worker.worker_id,
        "SubmitTime": row.submitted_at,
    }


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def system_qualification_type(type_id: str) -> dict[str, Any]:
    """A qualification type that the marketplace grants itself."""
    return {
        "QualificationTypeId": type_id,
        "Name": SYSTEM[type_id],
        "Description": "Granted by the marketplace.",
        "QualificationTypeStatus": "Active",
        "IsRequestable": False,
        "AutoGranted": False,
    }
