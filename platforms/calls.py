"""How each kind of operation is made, and how to see at the platform whether it was.

A call may be made again with the same token within `TOKEN_LIFE` of the first time; after that, what it was to do is
looked for at the platform first.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from platforms.models import Operation
from platforms.mturk.client import Answer, as_json, code_of, existing_hit, listed, read

TOKEN_LIFE = timedelta(hours=23)
"""Platforms forget a token after 24 hours."""
Kind = Operation.Kind


def token_of(operation: Operation) -> dict[str, str]:
    """The parameter by which the platform knows a repeated call."""
    return {"UniqueRequestToken": operation.token}


def make(client: Any, operation: Operation) -> Answer:
    """Make the call once (a compensation: its steps, each of which may be repeated). The answer, as it is stored."""
    answer: Answer = as_json(_MAKE[operation.kind](client, operation))
    return answer


def found(client: Any, operation: Operation) -> Answer | None:
    """What the operation was to do, where the platform says that it has been done; None if it says that it has not."""
    look = _FIND.get(operation.kind)
    answer = look(client, operation) if look else None
    return None if answer is None else as_json(answer) | {"found": True}


def repeated(client: Any, error: Exception, operation: Operation) -> Answer:
    """The answer of a call whose token the platform has seen: what was done the first time.

    Raises the error again where it is about a HIT that it does not name, and that is not found.
    """
    again: Answer = {"repeated": code_of(error)}
    if operation.kind not in (Kind.CREATE, Kind.COMPENSATE):
        return again
    if hit_id := existing_hit(error):
        return again | {"HIT": {"HITId": hit_id}}
    there = found(client, operation)
    if there is None:
        raise error
    return again | there


# --- making


def _exclusion_type(client: Any, operation: Operation) -> Answer:
    return _own_qualification(client, operation.request)


def _own_qualification(client: Any, request: Answer) -> Answer:
    """Make a qualification type, or find ours of that name."""
    try:
        return dict(client.create_qualification_type(**request))
    except ClientError as error:
        if code_of(error) != "QualificationTypeAlreadyExists":
            raise
        mine = listed(
            client.list_qualification_types,
            "QualificationTypes",
            Query=request["Name"],
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        ours = next((one for one in mine if one["Name"] == request["Name"]), None)
        if ours is None:  # of that name, and not among those that are ours
            raise
        return {"QualificationType": ours}


def _compensate(client: Any, operation: Operation) -> Answer:
    """A HIT that only one worker can take: a qualification of its own, granted silently, then type and HIT."""
    given = operation.request
    made = _own_qualification(client, given["qualification"])["QualificationType"]["QualificationTypeId"]
    client.associate_qualification_with_worker(
        QualificationTypeId=made, WorkerId=given["worker"], IntegerValue=1, SendNotification=False
    )
    only = {"QualificationTypeId": made, "Comparator": "Exists", "ActionsGuarded": "DiscoverPreviewAndAccept"}
    hit_type = client.create_hit_type(**given["hit_type"], QualificationRequirements=[only])["HITTypeId"]
    return dict(client.create_hit_with_hit_type(HITTypeId=hit_type, **given["hit"], **token_of(operation)))


def _end(client: Any, operation: Operation) -> Answer:
    moved = {"ExpireAt": datetime.fromtimestamp(operation.request["ExpireAt"], UTC)}
    return dict(client.update_expiration_for_hit(**{**operation.request, **moved}))


_MAKE: dict[str, Callable[[Any, Operation], Answer]] = {
    Kind.EXCLUSION_TYPE: _exclusion_type,
    Kind.HIT_TYPE: lambda client, op: dict(client.create_hit_type(**op.request)),
    Kind.CREATE: lambda client, op: dict(client.create_hit_with_hit_type(**op.request, **token_of(op))),
    Kind.RETYPE: lambda client, op: dict(client.update_hit_type_of_hit(**op.request)),
    Kind.EXTEND: lambda client, op: dict(
        client.create_additional_assignments_for_hit(**op.request["call"], **token_of(op))
    ),
    Kind.EXPIRE: _end,
    Kind.REOPEN: _end,
    Kind.APPROVE: lambda client, op: dict(client.approve_assignment(**op.request)),
    Kind.REJECT: lambda client, op: dict(client.reject_assignment(**op.request)),
    Kind.BONUS: lambda client, op: dict(client.send_bonus(**op.request, **token_of(op))),
    Kind.COMPENSATE: _compensate,
    Kind.EXCLUDE: lambda client, op: dict(client.associate_qualification_with_worker(**op.request)),
    Kind.READMIT: lambda client, op: dict(client.disassociate_qualification_from_worker(**op.request)),
}


# --- looking


def _hit_by_annotation(client: Any, operation: Operation) -> Answer | None:
    given = operation.request.get("hit", operation.request)
    hits = listed(client.list_hits, "HITs")
    hit = next((hit for hit in hits if hit.get("RequesterAnnotation") == given["RequesterAnnotation"]), None)
    return None if hit is None else {"HIT": hit}


def _places(client: Any, operation: Operation) -> Answer | None:
    hit = read(client.get_hit, HITId=operation.request["call"]["HITId"])["HIT"]
    return {"HIT": hit} if hit["MaxAssignments"] >= operation.request["max_assignments"] else None


def _under_type(client: Any, operation: Operation) -> Answer | None:
    hit = read(client.get_hit, HITId=operation.request["HITId"])["HIT"]
    return {"HIT": hit} if hit["HITTypeId"] == operation.request["HITTypeId"] else None


def _status(wanted: str) -> Callable[[Any, Operation], Answer | None]:
    def look(client: Any, operation: Operation) -> Answer | None:
        answer = read(client.get_assignment, AssignmentId=operation.request["AssignmentId"])["Assignment"]
        return {"Assignment": answer} if answer["AssignmentStatus"] == wanted else None

    return look


def _bonus(client: Any, operation: Operation) -> Answer | None:
    """We pay one bonus for an assignment at most, so one of this amount to this worker is it."""
    given = operation.request
    for bonus in listed(client.list_bonus_payments, "BonusPayments", AssignmentId=given["AssignmentId"]):
        same = Decimal(bonus["BonusAmount"]) == Decimal(given["BonusAmount"])
        if same and bonus["WorkerId"] == given["WorkerId"]:
            return {"BonusPayment": bonus}
    return None


_FIND: dict[str, Callable[[Any, Operation], Answer | None]] = {
    Kind.CREATE: _hit_by_annotation,
    Kind.COMPENSATE: _hit_by_annotation,
    Kind.RETYPE: _under_type,
    Kind.EXTEND: _places,
    Kind.APPROVE: _status("Approved"),
    Kind.REJECT: _status("Rejected"),
    Kind.BONUS: _bonus,
}
