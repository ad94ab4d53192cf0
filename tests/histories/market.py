"""A double of the marketplace for histories: its assignments move by the marketplace's own table, in this process.

It answers what the adapter asks of the Mechanical Turk API, as a client of boto3 does, with amounts in cents.
"""

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from marketplace.steps import MOVES

ANSWER = (
    '<QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/'
    'QuestionFormAnswers.xsd"><Answer><QuestionIdentifier>receipt</QuestionIdentifier><FreeText>{receipt}</FreeText>'
    "</Answer></QuestionFormAnswers>"
)
SLOTS = ("Accepted", "Submitted", "Approved", "Rejected")


def refused(code: str, message: str = "") -> ClientError:
    response = {
        "Error": {"Code": "RequestError", "Message": message or code},
        "TurkErrorCode": f"AWS.MechanicalTurk.{code}",
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return ClientError(response, "Call")


class Market:
    """HITs, assignments, bonuses and the account."""

    def __init__(self, clock: Callable[[], datetime], url: str) -> None:
        self.clock, self.meta = clock, SimpleNamespace(endpoint_url=url)
        self.types: dict[str, dict[str, Any]] = {}
        self.hits: dict[str, dict[str, Any]] = {}
        self.assignments: dict[str, dict[str, Any]] = {}
        self.bonuses: list[dict[str, Any]] = []
        self.tokens: dict[str, str] = {}
        self.grants: set[tuple[str, str]] = set()
        self.paid: list[tuple[str, str, int]] = []  # what moved: kind, assignment, cents
        self.number = 0

    def copy(self, clock: Callable[[], datetime]) -> "Market":
        other = Market(clock, self.meta.endpoint_url)
        for name in ("types", "hits", "assignments", "bonuses", "tokens", "grants", "paid", "number"):
            setattr(other, name, copy.deepcopy(getattr(self, name)))
        return other

    def _id(self) -> str:
        self.number += 1
        return f"3{self.number:029d}"

    # --- requesters: the API

    def create_qualification_type(self, **given: Any) -> dict[str, Any]:
        return {"QualificationType": {"QualificationTypeId": f"Q {given['Name']}"}}

    def associate_qualification_with_worker(self, **given: Any) -> dict[str, Any]:
        self.grants.add((given["QualificationTypeId"], given["WorkerId"]))
        return {}

    def disassociate_qualification_from_worker(self, **given: Any) -> dict[str, Any]:
        self.grants.discard((given["QualificationTypeId"], given["WorkerId"]))
        return {}

    def create_hit_type(self, **given: Any) -> dict[str, Any]:
        type_id = f"T{len(self.types)}"
        known = next((key for key, value in self.types.items() if value == given), type_id)
        self.types[known] = given
        return {"HITTypeId": known}

    def create_hit_with_hit_type(self, **given: Any) -> dict[str, Any]:
        token = given.pop("UniqueRequestToken")
        if token in self.tokens:
            raise refused("HitAlreadyExists", f'The HIT with ID "{self.tokens[token]}" already exists.')
        hit_id = self.tokens[token] = self._id()
        hit_type = self.types[given["HITTypeId"]]
        expires = self.clock() + timedelta(seconds=given["LifetimeInSeconds"])
        self.hits[hit_id] = given | {"HITId": hit_id, "Reward": hit_type["Reward"], "Expiration": expires}
        return {"HIT": self._hit(hit_id)}

    def _hit(self, hit_id: str) -> dict[str, Any]:
        hit = self.hits[hit_id]
        return {name: hit[name] for name in ("HITId", "HITTypeId", "Reward", "MaxAssignments", "RequesterAnnotation")}

    def get_hit(self, *, HITId: str) -> dict[str, Any]:  # noqa: N803 - the API's name
        return {"HIT": self._hit(HITId)}

    def list_hits(self, **_given: Any) -> dict[str, Any]:
        return {"HITs": [self._hit(key) for key in self.hits]}

    def list_reviewable_hits(self, **given: Any) -> dict[str, Any]:
        own = [hit for hit in self.hits.values() if hit["HITTypeId"] == given["HITTypeId"]]
        return {"HITs": [{"HITId": hit["HITId"]} for hit in own if not self.is_open(hit["HITId"])]}

    def update_hit_review_status(self, **_given: Any) -> dict[str, Any]:
        return {}

    def create_additional_assignments_for_hit(self, **given: Any) -> dict[str, Any]:
        if given["UniqueRequestToken"] in self.tokens:
            raise refused("DuplicateRequest")
        self.tokens[given["UniqueRequestToken"]] = ""
        self.hits[given["HITId"]]["MaxAssignments"] += given["NumberOfAdditionalAssignments"]
        return {}

    def update_expiration_for_hit(self, **given: Any) -> dict[str, Any]:
        self.hits[given["HITId"]]["Expiration"] = given["ExpireAt"].astimezone(UTC)
        return {}

    def list_assignments_for_hit(self, **given: Any) -> dict[str, Any]:
        rows = [row for row in self.assignments.values() if row["HITId"] == given["HITId"]]
        shown = ("Submitted", "Approved", "Rejected")
        return {"Assignments": [dict(row) for row in rows if row["AssignmentStatus"] in shown]}

    def get_assignment(self, *, AssignmentId: str) -> dict[str, Any]:  # noqa: N803
        return {"Assignment": dict(self.assignments[AssignmentId])}

    def approve_assignment(self, **given: Any) -> dict[str, Any]:
        self.decide(given["AssignmentId"], "Approved", only="Submitted")
        return {}

    def reject_assignment(self, **given: Any) -> dict[str, Any]:
        self.decide(given["AssignmentId"], "Rejected", only="Submitted")
        return {}

    def send_bonus(self, **given: Any) -> dict[str, Any]:
        token = given.pop("UniqueRequestToken")
        if token in self.tokens:
            raise refused("DuplicateRequest")
        row = self.assignments[given["AssignmentId"]]
        if row["AssignmentStatus"] not in ("Submitted", "Approved", "Rejected"):
            raise refused("InvalidAssignmentState")
        self.tokens[token] = ""
        self.bonuses.append(given | {"HITId": row["HITId"]})
        self.paid.append(("bonus", given["AssignmentId"], int(Decimal(given["BonusAmount"]) * 100)))
        return {}

    def list_bonus_payments(self, **given: Any) -> dict[str, Any]:
        name, key = next((name, given[name]) for name in ("HITId", "AssignmentId") if name in given)
        return {"BonusPayments": [dict(row) for row in self.bonuses if row[name] == key]}

    def get_account_balance(self) -> dict[str, Any]:
        return {"AvailableBalance": "100000.00"}

    # --- steps of assignments

    def _move(self, assignment_id: str, state: str) -> dict[str, Any]:
        row = self.assignments[assignment_id]
        if (row["AssignmentStatus"], state) not in MOVES:
            raise refused("InvalidAssignmentState")
        row["AssignmentStatus"] = state
        return row

    def decide(self, assignment_id: str, state: str, *, only: str = "") -> None:
        """Approve or reject; by hand also what was rejected."""
        if only and self.assignments[assignment_id]["AssignmentStatus"] != only:
            raise refused("InvalidAssignmentState")
        row = self._move(assignment_id, state)
        if state == "Approved":
            row["ApprovalTime"] = self.clock()
            self.paid.append(("reward", assignment_id, int(Decimal(self.hits[row["HITId"]]["Reward"]) * 100)))

    def is_open(self, hit_id: str) -> bool:
        hit = self.hits[hit_id]
        taken = [row for row in self.assignments.values() if row["HITId"] == hit_id]
        slots = sum(row["AssignmentStatus"] in SLOTS for row in taken)
        return bool(hit["Expiration"] > self.clock() and slots < hit["MaxAssignments"])

    def may_accept(self, hit_id: str, worker_id: str) -> bool:
        """Whether a worker may take a place: one that they returned, again."""
        for requirement in self.types[self.hits[hit_id]["HITTypeId"]]["QualificationRequirements"]:
            has = (requirement["QualificationTypeId"], worker_id) in self.grants
            if has != (requirement["Comparator"] == "Exists"):
                return False
        mine = [row for row in self.assignments.values() if (row["HITId"], row["WorkerId"]) == (hit_id, worker_id)]
        return self.is_open(hit_id) and not any(row["AssignmentStatus"] in SLOTS for row in mine)

    def accept(self, hit_id: str, worker_id: str) -> str:
        """Take a place: the assignment's id, which may have been somebody else's before."""
        assignment_id, given = self._id(), self.types[self.hits[hit_id]["HITTypeId"]]
        self.assignments[assignment_id] = {
            "AssignmentId": assignment_id,
            "HITId": hit_id,
            "WorkerId": worker_id,
            "AssignmentStatus": "Accepted",
            "AcceptTime": self.clock(),
            "deadline": self.clock() + timedelta(seconds=given["AssignmentDurationInSeconds"]),
            "delay": timedelta(seconds=given["AutoApprovalDelayInSeconds"]),
        }
        return assignment_id

    def submit(self, assignment_id: str, receipt: str) -> None:
        row = self._move(assignment_id, "Submitted")
        at = self.clock()
        row |= {"SubmitTime": at, "AutoApprovalTime": at + row["delay"], "Answer": ANSWER.format(receipt=receipt)}

    def give_back(self, assignment_id: str) -> None:
        self._move(assignment_id, "Returned")

    def tick(self) -> list[str]:
        """Do what the time has brought. Which assignments were approved."""
        at, approved = self.clock(), []
        for key, row in self.assignments.items():
            if row["AssignmentStatus"] == "Accepted" and row["deadline"] <= at:
                self._move(key, "Abandoned")
            elif row["AssignmentStatus"] == "Submitted" and row["AutoApprovalTime"] <= at:
                self.decide(key, "Approved")
                approved.append(key)
        return approved


class Through:
    """A client whose calls meet what is to befall them."""

    def __init__(self, market: Market, trouble_of_call: Callable[[], Any]) -> None:
        self._market, self._trouble, self.meta = market, trouble_of_call, market.meta

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._market, name)

        def answer(**given: Any) -> Any:
            trouble = self._trouble()
            if trouble is not None and not trouble.after:
                raise trouble.error()
            said = call(**given)
            if trouble is not None:
                raise trouble.error()
            return said

        return answer
