"""HIT types and HITs."""

from typing import Any

from marketplace import ids
from marketplace.api import answers
from marketplace.api.calls import Call, handles, listed
from marketplace.api.paging import page
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


@handles("ListHITs")
def list_hits(call: Call) -> dict[str, Any]:
    """All that are not deleted, newest first."""
    page_of_hits = page(select.hits_of(call.requester), call.parameters, of=call.scope, newest_first=True)
    return listed(page_of_hits, "HITs", [answers.hit(row) for row in page_of_hits.rows])


@handles("ListReviewableHITs")
def list_reviewable_hits(call: Call) -> dict[str, Any]:
    """Those that are Reviewable, or Reviewing if asked for."""
    rows = select.hits_of(call.requester).filter(status=call.parameters.get("Status", Hit.Status.REVIEWABLE))
    if type_id := call.parameters.get("HITTypeId"):
        rows = rows.filter(hit_type__type_id=type_id)
    page_of_hits = page(rows, call.parameters, of=call.scope)
    return listed(page_of_hits, "HITs", [answers.hit(row) for row in page_of_hits.rows])


@handles("ListHITsForQualificationType")
def list_hits_for_qualification_type(call: Call) -> dict[str, Any]:
    """Those that have a requirement on a qualification type."""
    type_id = call.parameters["QualificationTypeId"]
    if type_id not in SYSTEM:
        qualification_type_known(type_id)
    page_of_hits = page(
        select.hits_requiring(call.requester, type_id), call.parameters, of=call.scope, newest_first=True
    )
    return listed(page_of_hits, "HITs", [answers.hit(row) for row in page_of_hits.rows])


@handles("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(call: Call) -> dict[str, Any]:
    """Ask for more assignments."""
    _claimed(call, call.request_id)
    hits.hit_extend(
        requester=call.requester, hit_id=call.parameters["HITId"], more=call.parameters["NumberOfAdditionalAssignments"]
    )
    return {}


@handles("UpdateExpirationForHIT")
def update_expiration(call: Call) -> dict[str, Any]:
    """Move the end of a HIT; a past time ends it now."""
    hits.hit_expire_at(
        requester=call.requester, hit_id=call.parameters["HITId"], expires_at=call.parameters["ExpireAt"]
    )
    return {}


@handles("UpdateHITReviewStatus")
def update_review_status(call: Call) -> dict[str, Any]:
    """Reviewable to Reviewing, or back."""
    hits.hit_mark_reviewing(
        requester=call.requester, hit_id=call.parameters["HITId"], revert=call.parameters.get("Revert", False)
    )
    return {}


@handles("UpdateHITTypeOfHIT")
def update_type(call: Call) -> dict[str, Any]:
    """Give a HIT another type."""
    hits.hit_change_type(
        requester=call.requester, hit_id=call.parameters["HITId"], type_id=call.parameters["HITTypeId"]
    )
    return {}


@handles("DeleteHIT")
def delete_hit(call: Call) -> dict[str, Any]:
    """Dispose of a HIT on which nothing is left to do."""
    hits.hit_delete(requester=call.requester, hit_id=call.parameters["HITId"])
    return {}


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
    parameters = call.parameters
    facts = hits.HitTypeFacts(
        title=parameters["Title"],
        description=parameters["Description"],
        keywords=parameters.get("Keywords", ""),
        reward=amount_read(parameters["Reward"]),
        assignment_seconds=parameters["AssignmentDurationInSeconds"],
        auto_approval_seconds=parameters.get("AutoApprovalDelayInSeconds", hits.MONTH),
        requirements=parameters.get("QualificationRequirements", []),
    )
    return hits.hit_type_register(requester=call.requester, facts=facts)


def _hit(call: Call, hit_id: str, hit_type: HitType) -> Hit:
    parameters = call.parameters
    for name in ("AssignmentReviewPolicy", "HITReviewPolicy", "HITLayoutId", "HITLayoutParameters"):
        if parameters.get(name):
            raise Unsupported(f"{name} is not supported by this marketplace.")
    if not parameters.get("Question"):
        raise InvalidValue("Question is missing. Give an HTMLQuestion or an ExternalQuestion.")
    return hits.hit_create(
        hit_id=hit_id,
        requester=call.requester,
        hit_type=hit_type,
        question=parameters["Question"],
        lifetime_seconds=parameters["LifetimeInSeconds"],
        max_assignments=parameters.get("MaxAssignments", 1),
        annotation=parameters.get("RequesterAnnotation", ""),
    )
