"""HIT types and HITs."""

from typing import Any

from django.db.models import QuerySet

from marketplace import ids
from marketplace.api import answers
from marketplace.api.calls import Call, handles, lists, performs
from marketplace.errors import InvalidValue, Unsupported
from marketplace.models import Hit, HitType
from marketplace.money import amount_read
from marketplace.requirements import SYSTEM
from marketplace.selectors import hits as select
from marketplace.selectors.lookups import hit_type_of, qualification_type_known
from marketplace.services import hits
from marketplace.services.tokens import token_claim


@handles("CreateHITType")
def create_hit_type(call: Call) -> dict[str, Any]:
    """Register what HITs have in common."""
    return {"HITTypeId": _hit_type(call).type_id}


@handles("CreateHIT")
def create_hit(call: Call) -> dict[str, Any]:
    """Offer a HIT, registering its type on the way."""
    hit_id = _claimed(call, ids.entity_id())
    return {"HIT": answers.hit(_hit(call, hit_id, _hit_type(call)))}


@handles("CreateHITWithHITType")
def create_hit_with_hit_type(call: Call) -> dict[str, Any]:
    """Offer a HIT of a known type."""
    hit_id = _claimed(call, ids.entity_id())
    return {"HIT": answers.hit(_hit(call, hit_id, hit_type_of(call.requester, call.parameters["HITTypeId"])))}


@handles("GetHIT")
def get_hit(call: Call) -> dict[str, Any]:
    """One HIT."""
    return {"HIT": answers.hit(select.hit_of(call.requester, call.parameters["HITId"]))}


@lists("ListHITs", "HITs", answers.hit, newest_first=True)
def list_hits(call: Call) -> QuerySet[Hit]:
    """All that are not deleted."""
    return select.hits_of(call.requester)


@lists("ListReviewableHITs", "HITs", answers.hit)
def list_reviewable_hits(call: Call) -> QuerySet[Hit]:
    """Those that are Reviewable, or Reviewing if asked for."""
    rows = select.hits_of(call.requester).filter(status=call.parameters.get("Status", Hit.Status.REVIEWABLE))
    type_id = call.parameters.get("HITTypeId")
    return rows.filter(hit_type__type_id=type_id) if type_id else rows


@lists("ListHITsForQualificationType", "HITs", answers.hit, newest_first=True)
def list_hits_for_qualification_type(call: Call) -> QuerySet[Hit]:
    """Those that have a requirement on a qualification type."""
    type_id = call.parameters["QualificationTypeId"]
    if type_id not in SYSTEM:
        qualification_type_known(type_id)
    return select.hits_requiring(call.requester, type_id)


@handles("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(call: Call) -> dict[str, Any]:
    """Ask for more assignments."""
    _claimed(call, call.request_id)
    hits.hit_extend(requester=call.requester, **call.arguments(hit_id="HITId", more="NumberOfAdditionalAssignments"))
    return {}


performs("UpdateExpirationForHIT", hits.hit_expire_at, hit_id="HITId", expires_at="ExpireAt")
performs("UpdateHITReviewStatus", hits.hit_mark_reviewing, hit_id="HITId", revert="Revert")
performs("UpdateHITTypeOfHIT", hits.hit_change_type, hit_id="HITId", type_id="HITTypeId")
performs("DeleteHIT", hits.hit_delete, hit_id="HITId")


@handles("ListReviewPolicyResultsForHIT")
def list_review_policy_results(call: Call) -> dict[str, Any]:
    """There are no review policies here."""
    select.hit_of(call.requester, call.parameters["HITId"])
    raise Unsupported("Review policies are not supported by this marketplace, so this HIT has none.")


def _claimed(call: Call, subject: str) -> str:
    """The subject, with the request's token taken for it."""
    token = call.parameters.get("UniqueRequestToken")
    token_claim(requester=call.requester, operation=call.operation, token=token, subject=subject)
    return subject


def _hit_type(call: Call) -> HitType:
    arguments = call.arguments(
        title="Title",
        description="Description",
        keywords="Keywords",
        assignment_seconds="AssignmentDurationInSeconds",
        auto_approval_seconds="AutoApprovalDelayInSeconds",
        requirements="QualificationRequirements",
    )
    facts = hits.HitTypeFacts(reward=amount_read(call.parameters["Reward"]), **arguments)
    return hits.hit_type_register(requester=call.requester, facts=facts)


def _hit(call: Call, hit_id: str, hit_type: HitType) -> Hit:
    for name in ("AssignmentReviewPolicy", "HITReviewPolicy", "HITLayoutId", "HITLayoutParameters"):
        if call.parameters.get(name):
            raise Unsupported(f"{name} is not supported by this marketplace.")
    if not call.parameters.get("Question"):
        raise InvalidValue("Question is missing. Give an HTMLQuestion or an ExternalQuestion.")
    arguments = call.arguments(
        question="Question",
        lifetime_seconds="LifetimeInSeconds",
        max_assignments="MaxAssignments",
        annotation="RequesterAnnotation",
    )
    return hits.hit_create(hit_id=hit_id, requester=call.requester, hit_type=hit_type, **arguments)
