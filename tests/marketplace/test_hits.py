"""HIT types and HITs through the API: made, listed, extended, expired, deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.marketplace.conftest import refusing
from tests.marketplace.server import EXTERNAL_QUESTION, HTML_QUESTION, Marketplace, Requester, Worker

UNKNOWN = "3" + "A" * 29


def test_identical_hit_types_have_one_id_for_each_requester(rosa: Requester, omar: Requester) -> None:
    first = rosa.hit_type()

    assert rosa.hit_type() == first
    assert rosa.hit_type(Reward="1") == first
    assert rosa.hit_type(Reward="1.01") != first
    assert rosa.hit_type(Title="Another") != first
    assert omar.hit_type() != first


def test_a_hit_comes_back_as_it_was_made(rosa: Requester) -> None:
    requirement = {
        "QualificationTypeId": "000000000000000000L0",
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [97],
    }
    batch = rosa.hit(
        Question=EXTERNAL_QUESTION,
        MaxAssignments=3,
        RequesterAnnotation="batch 7, row 12",
        QualificationRequirements=[requirement],
    )

    hit = rosa.client.get_hit(HITId=batch["HITId"])["HIT"]

    assert hit == batch
    assert len(hit["HITId"]) == 30
    assert hit["HITStatus"] == "Assignable"
    assert hit["HITReviewStatus"] == "NotReviewed"
    assert hit["Question"] == EXTERNAL_QUESTION
    assert hit["RequesterAnnotation"] == "batch 7, row 12"
    assert hit["Reward"] == "1.00"
    assert hit["MaxAssignments"] == hit["NumberOfAssignmentsAvailable"] == 3
    assert hit["NumberOfAssignmentsPending"] == hit["NumberOfAssignmentsCompleted"] == 0
    assert hit["QualificationRequirements"] == [requirement | {"ActionsGuarded": "Accept", "RequiredToPreview": False}]
    assert hit["Expiration"] - hit["CreationTime"] == timedelta(hours=1)
    assert abs(datetime.now(UTC) - hit["CreationTime"]) < timedelta(minutes=1)


def test_a_hit_of_a_type_takes_its_values(rosa: Requester) -> None:
    type_id = rosa.hit_type(Reward="0.25")

    hit = rosa.client.create_hit_with_hit_type(HITTypeId=type_id, LifetimeInSeconds=60, Question=HTML_QUESTION)["HIT"]

    assert (hit["HITTypeId"], hit["Reward"], hit["MaxAssignments"]) == (type_id, "0.25", 1)


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"Title": "t" * 129}, "InvalidParameterValue", "128"),
        ({"Title": " "}, "InvalidParameterValue", "empty"),
        ({"Description": "d" * 2001}, "InvalidParameterValue", "2,000"),
        ({"Keywords": "k" * 1001}, "InvalidParameterValue", "1,000"),
        ({"AssignmentDurationInSeconds": 29}, "InvalidParameterValue", "AssignmentDurationInSeconds"),
        ({"AssignmentDurationInSeconds": 31_536_001}, "InvalidParameterValue", "AssignmentDurationInSeconds"),
        ({"AutoApprovalDelayInSeconds": -1}, "InvalidParameterValue", "AutoApprovalDelayInSeconds"),
        ({"AutoApprovalDelayInSeconds": 2_592_001}, "InvalidParameterValue", "AutoApprovalDelayInSeconds"),
        ({"LifetimeInSeconds": 29}, "InvalidParameterValue", "LifetimeInSeconds"),
        ({"LifetimeInSeconds": 31_536_001}, "InvalidParameterValue", "LifetimeInSeconds"),
        ({"MaxAssignments": 0}, "InvalidParameterValue", "MaxAssignments"),
        ({"RequesterAnnotation": "a" * 256}, "InvalidParameterValue", "255"),
        ({"Reward": "100000.00"}, "InvalidParameterValue", "more than this marketplace takes"),
        ({"Reward": "9" * 60}, "InvalidParameterValue", "more than this marketplace takes"),
        ({"Reward": "$2"}, "ValidationException", "'reward' failed to satisfy constraint: Member must satisfy regular"),
        ({"Reward": "-1"}, "ValidationException", "reward"),
        ({"Reward": "1.005"}, "ValidationException", "reward"),
        ({"UniqueRequestToken": "t" * 65}, "ValidationException", "less than or equal to 64"),
        ({"Question": ""}, "InvalidParameterValue", "Question is missing"),
        ({"Question": "<HTMLQuestion"}, "XMLParseError", "not XML"),
        ({"Question": HTML_QUESTION.replace("2011-11-11", "2011-11-12")}, "XMLParseError", "namespace"),
        ({"Question": HTML_QUESTION.replace("450", "tall")}, "XMLParseError", "FrameHeight"),
        ({"Question": HTML_QUESTION.replace("doctype", "x" * 65_535)}, "XMLParseError", "65,535 bytes"),
        ({"Question": "<!DOCTYPE a [<!ENTITY b 'c'>]>" + HTML_QUESTION}, "XMLParseError", "DOCTYPE"),
        ({"Question": '<!DOCTYPE a SYSTEM "https://example.org/a.dtd">' + HTML_QUESTION}, "XMLParseError", "DOCTYPE"),
        ({"Question": HTML_QUESTION.replace("450", "<b/>")}, "XMLParseError", "element b inside"),
        (
            {"Question": HTML_QUESTION.replace("<FrameHeight>", "<FrameHeight>1</FrameHeight><FrameHeight>")},
            "XMLParseError",
            "several elements FrameHeight",
        ),
        (
            {"Question": HTML_QUESTION.replace("450", "<b>" * 9_000 + "</b>" * 9_000)},
            "XMLParseError",
            "element b inside",
        ),
        (
            {"Question": EXTERNAL_QUESTION.replace("https://example.org", "javascript:1//")},
            "XMLParseError",
            "ExternalURL",
        ),
        ({"Question": HTML_QUESTION.replace("HTMLQuestion", "QuestionForm")}, "UnsupportedOperation", "QuestionForm"),
        ({"HITLayoutId": UNKNOWN}, "UnsupportedOperation", "HITLayoutId"),
        ({"HITReviewPolicy": {"PolicyName": "SimplePlurality/2011-09-01"}}, "UnsupportedOperation", "HITReviewPolicy"),
        ({"AssignmentReviewPolicy": {"PolicyName": "x"}}, "UnsupportedOperation", "AssignmentReviewPolicy"),
    ],
)
def test_what_breaks_a_limit_is_refused_and_costs_nothing(
    rosa: Requester, changes: dict, code: str, words: str
) -> None:
    with refusing(code, words):
        rosa.hit(**changes)

    assert rosa.money() == ("1000.00", "0.00")
    assert rosa.client.list_hits()["NumResults"] == 0


def test_a_repeated_token_is_an_error_that_names_the_hit(rosa: Requester, omar: Requester) -> None:
    token = "campaign-7-hit-12"
    hit = rosa.hit(UniqueRequestToken=token)

    with refusing("HitAlreadyExists") as refusal:
        rosa.hit(UniqueRequestToken=token)

    assert hit["HITId"] in refusal.message
    assert rosa.client.list_hits()["NumResults"] == 1
    assert rosa.money() == ("998.80", "1.20")
    omar.hit(UniqueRequestToken=token)  # another requester's tokens are its own


def test_a_token_is_forgotten_after_a_day(marketplace: Marketplace, rosa: Requester) -> None:
    rosa.hit(UniqueRequestToken="again")
    marketplace.advance(hours=23, minutes=59)
    with refusing("HitAlreadyExists"):
        rosa.hit(UniqueRequestToken="again")

    marketplace.advance(minutes=2)
    rosa.hit(UniqueRequestToken="again")

    assert rosa.client.list_hits()["NumResults"] == 2


def test_a_token_of_a_refused_request_can_be_used_again(marketplace: Marketplace) -> None:
    poor = marketplace.requester(deposit="1.00")
    with refusing("InsufficientFunds"):
        poor.hit(UniqueRequestToken="first")

    marketplace.test("deposit", account_id=poor.account_id, amount="1.00")

    assert poor.hit(UniqueRequestToken="first")["HITStatus"] == "Assignable"


def test_lists_come_in_pages_without_gaps_or_repeats(rosa: Requester) -> None:
    hit_ids = [rosa.hit()["HITId"] for _ in range(12)]

    first = rosa.client.list_hits()
    second = rosa.client.list_hits(NextToken=first["NextToken"])
    rosa.hit()  # comes while somebody pages
    pages = list(rosa.client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 5}))

    assert (first["NumResults"], second["NumResults"]) == (10, 2)
    assert [hit["HITId"] for page in (first, second) for hit in page["HITs"]] == hit_ids[::-1]
    assert [page["NumResults"] for page in pages] == [5, 5, 3, 0]


def test_each_page_that_is_not_empty_has_a_next_token_and_the_empty_one_has_none(rosa: Requester) -> None:
    rosa.hit()

    only = rosa.client.list_hits()
    after = rosa.client.list_hits(NextToken=only["NextToken"])

    assert (only["NumResults"], after["NumResults"]) == (1, 0)
    assert "NextToken" not in after
    assert "NextToken" not in rosa.client.list_worker_blocks()


def test_all_nine_paginators_of_boto3_end_and_give_each_row_once(
    marketplace: Marketplace, rosa: Requester, wanda: Worker, will: Worker
) -> None:
    kind = rosa.client.create_qualification_type(
        Name="Did the pilot", Description="Took part", QualificationTypeStatus="Active"
    )["QualificationType"]["QualificationTypeId"]
    rosa.client.create_qualification_type(Name="Did more", Description="Took part", QualificationTypeStatus="Active")
    needs = [{"QualificationTypeId": kind, "Comparator": "DoesNotExist"}]
    hits = [rosa.hit(MaxAssignments=2, QualificationRequirements=needs)["HITId"] for _ in range(2)]
    for worker in (wanda, will):
        assignment_id = worker.do(hits[0])
        rosa.client.send_bonus(AssignmentId=assignment_id, WorkerId=worker.id, BonusAmount="0.10", Reason="Thanks")
        rosa.client.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=worker.id)
        rosa.client.create_worker_block(WorkerId=worker.id, Reason="Enough")
        asking = marketplace.worker()
        marketplace.test("request-qualification", worker_id=asking.id, qualification_type_id=kind)
    marketplace.test("tick")
    rosa.client.update_expiration_for_hit(HITId=hits[1], ExpireAt=0)
    lists: dict[str, dict[str, Any]] = {
        "list_assignments_for_hit": {"HITId": hits[0]},
        "list_bonus_payments": {"HITId": hits[0]},
        "list_hits": {},
        "list_hits_for_qualification_type": {"QualificationTypeId": kind},
        "list_qualification_requests": {"QualificationTypeId": kind},
        "list_qualification_types": {"MustBeRequestable": False, "MustBeOwnedByCaller": True},
        "list_reviewable_hits": {},
        "list_worker_blocks": {},
        "list_workers_with_qualification_type": {"QualificationTypeId": kind},
    }
    paginated = [name for name in dir(rosa.client) if name.startswith("list_") and rosa.client.can_paginate(name)]
    assert sorted(paginated) == sorted(lists)
    for name, ids in lists.items():
        pages = list(rosa.client.get_paginator(name).paginate(**ids, PaginationConfig={"PageSize": 1}))
        assert [page["NumResults"] for page in pages] == [1, 1, 0], name
        assert ["NextToken" in page for page in pages] == [True, True, False], name


def test_a_next_token_is_good_for_its_own_list_only(rosa: Requester, omar: Requester) -> None:
    for _ in range(2):
        rosa.hit()
        omar.hit()
    token = rosa.client.list_hits(MaxResults=1)["NextToken"]

    with refusing("InvalidNextToken"):
        omar.client.list_hits(MaxResults=1, NextToken=token)
    with refusing("InvalidNextToken"):
        rosa.client.list_reviewable_hits(NextToken=token)
    with refusing("InvalidNextToken"):
        rosa.client.list_hits(NextToken=token[:-1] + ("A" if token[-1] != "A" else "B"))
    with refusing("ValidationException", "less than or equal to 100"):
        rosa.client.list_hits(MaxResults=101)


def test_others_hits_do_not_exist(rosa: Requester, omar: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    assignment_id = wanda.do(hit_id)

    for refused in (
        lambda: omar.client.get_hit(HITId=hit_id),
        lambda: omar.client.delete_hit(HITId=hit_id),
        lambda: omar.client.list_assignments_for_hit(HITId=hit_id),
        lambda: omar.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=0),
        lambda: rosa.client.get_hit(HITId=UNKNOWN),
    ):
        with refusing("HITDoesNotExist"):
            refused()
    with refusing("AssignmentDoesNotExist"):
        omar.client.approve_assignment(AssignmentId=assignment_id)
    with refusing("HITTypeDoesNotExist"):
        omar.client.create_hit_with_hit_type(HITTypeId=rosa.hit_type(), LifetimeInSeconds=60, Question=HTML_QUESTION)


def test_a_hit_goes_from_assignable_to_disposed(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    statuses = [rosa.status(hit_id)]
    assignment_id = wanda.accept(hit_id)
    statuses.append(rosa.status(hit_id))
    with refusing("InvalidHITState"):
        rosa.client.delete_hit(HITId=hit_id)
    wanda.submit(assignment_id)
    statuses.append(rosa.status(hit_id))
    rosa.client.update_hit_review_status(HITId=hit_id)
    statuses.append(rosa.status(hit_id))
    assert [hit["HITId"] for hit in rosa.client.list_reviewable_hits(Status="Reviewing")["HITs"]] == [hit_id]
    with refusing("InvalidHITState"):
        rosa.client.delete_hit(HITId=hit_id)
    rosa.client.update_hit_review_status(HITId=hit_id, Revert=True)
    assert [hit["HITId"] for hit in rosa.client.list_reviewable_hits()["HITs"]] == [hit_id]
    with refusing("InvalidHITState", "Assignments without a decision: 1"):
        rosa.client.delete_hit(HITId=hit_id)
    rosa.client.approve_assignment(AssignmentId=assignment_id)
    rosa.client.delete_hit(HITId=hit_id)
    statuses.append(rosa.status(hit_id))

    assert statuses == ["Assignable", "Unassignable", "Reviewable", "Reviewing", "Disposed"]
    assert rosa.client.list_hits()["NumResults"] == 0
    with refusing("InvalidHITState"):
        rosa.client.delete_hit(HITId=hit_id)


def test_fewer_than_ten_assignments_cannot_become_ten(rosa: Requester) -> None:
    small, large = rosa.hit(MaxAssignments=8)["HITId"], rosa.hit(MaxAssignments=10)["HITId"]

    rosa.client.create_additional_assignments_for_hit(HITId=small, NumberOfAdditionalAssignments=1)
    with refusing("InvalidMaximumAssignmentsIncrease"):
        rosa.client.create_additional_assignments_for_hit(HITId=small, NumberOfAdditionalAssignments=1)
    rosa.client.create_additional_assignments_for_hit(HITId=large, NumberOfAdditionalAssignments=5)
    with refusing("InvalidParameterValue"):
        rosa.client.create_additional_assignments_for_hit(HITId=large, NumberOfAdditionalAssignments=0)

    assert rosa.client.get_hit(HITId=small)["HIT"]["MaxAssignments"] == 9
    assert rosa.client.get_hit(HITId=large)["HIT"]["MaxAssignments"] == 15
    assert rosa.money()[1] == f"{9 * 1.20 + 15 * 1.40:.2f}"


def test_an_extension_is_done_once_for_each_token(rosa: Requester) -> None:
    hit_id = rosa.hit()["HITId"]
    more = {"HITId": hit_id, "NumberOfAdditionalAssignments": 1, "UniqueRequestToken": "more"}
    first = rosa.client.create_additional_assignments_for_hit(**more)

    with refusing("DuplicateRequest", first["ResponseMetadata"]["RequestId"]):
        rosa.client.create_additional_assignments_for_hit(**more)

    assert rosa.client.get_hit(HITId=hit_id)["HIT"]["MaxAssignments"] == 2


def test_a_hit_expires_when_told_and_opens_again(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]

    rosa.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=datetime(2015, 1, 1, tzinfo=UTC))

    hit = rosa.client.get_hit(HITId=hit_id)["HIT"]
    assert (hit["HITStatus"], hit["NumberOfAssignmentsAvailable"]) == ("Reviewable", 0)
    assert rosa.money() == ("1000.00", "0.00")
    assert hit_id not in wanda.finds()
    assert "no longer available" in wanda.cannot_accept(hit_id)

    rosa.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=datetime.now(UTC) + timedelta(days=1))

    assert rosa.status(hit_id) == "Assignable"
    assert rosa.money() == ("998.80", "1.20")
    assert hit_id in wanda.finds()
    with refusing("InvalidParameterValue", "365 days"):
        rosa.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=datetime.now(UTC) + timedelta(days=366))


def test_an_expired_hit_without_work_is_reviewable_when_its_time_is_over(
    marketplace: Marketplace, rosa: Requester
) -> None:
    hit_id = rosa.hit(LifetimeInSeconds=3600)["HITId"]

    marketplace.advance(minutes=59)
    assert rosa.status(hit_id) == "Assignable"
    marketplace.advance(minutes=1, seconds=1)

    assert rosa.status(hit_id) == "Reviewable"
    assert rosa.client.list_reviewable_hits()["NumResults"] == 1
    assert rosa.money() == ("1000.00", "0.00")


def test_accepted_work_may_arrive_after_the_expiry(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit(LifetimeInSeconds=60)["HITId"]
    assignment_id = wanda.accept(hit_id)

    marketplace.advance(minutes=5)
    assert rosa.status(hit_id) == "Unassignable"
    wanda.submit(assignment_id)

    assert rosa.status(hit_id) == "Reviewable"
    assert rosa.client.list_assignments_for_hit(HITId=hit_id)["NumResults"] == 1


def test_a_hit_is_disposed_of_after_120_days(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    wanda.do(hit_id)

    marketplace.advance(days=119)
    assert rosa.status(hit_id) == "Reviewable"
    marketplace.advance(days=2)

    assert rosa.status(hit_id) == "Disposed"
    assert rosa.client.list_hits()["NumResults"] == 0


def test_a_hit_can_get_another_type(rosa: Requester) -> None:
    hit_id = rosa.hit()["HITId"]

    rosa.client.update_hit_type_of_hit(HITId=hit_id, HITTypeId=rosa.hit_type(Reward="2.00", Title="Better paid"))

    hit = rosa.client.get_hit(HITId=hit_id)["HIT"]
    assert (hit["Title"], hit["Reward"]) == ("Better paid", "2.00")
    assert rosa.money() == ("997.60", "2.40")


def test_review_policies_and_uploads_are_refused_clearly(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    assignment_id = wanda.do(hit_id)

    with refusing("UnsupportedOperation", "Review policies"):
        rosa.client.list_review_policy_results_for_hit(HITId=hit_id)
    with refusing("UnsupportedOperation", "uploads"):
        rosa.client.get_file_upload_url(AssignmentId=assignment_id, QuestionIdentifier="q")


def test_all_that_makes_a_hit_type_comes_back_and_makes_another(rosa: Requester) -> None:
    facts = {
        "Title": "Which passage?",
        "Description": "Compare two passages",
        "Keywords": "search, reading",
        "Reward": "1.25",
        "AssignmentDurationInSeconds": 601,
        "AutoApprovalDelayInSeconds": 7201,
    }
    hit = rosa.hit(**facts)
    others: dict[str, Any] = {
        "Title": "Which one?",
        "Description": "Compare them",
        "Keywords": "search",
        "Reward": "1.26",
        "AssignmentDurationInSeconds": 602,
        "AutoApprovalDelayInSeconds": 7202,
    }

    assert {name: hit[name] for name in facts} == facts
    assert rosa.hit_type(**facts) == hit["HITTypeId"]
    types = [rosa.hit_type(**facts | {name: value}) for name, value in others.items()]
    assert len({hit["HITTypeId"], *types}) == 7


@pytest.mark.parametrize(
    "body",
    [
        "<crowd-form><p>Which one?</p></crowd-form>",
        "<form><CROWD-Text-Area name='a'></CROWD-Text-Area></form>",
        "<!-- plain --><script src='https://assets.crowd.aws/crowd-html-elements.js'></script><form></form>",
    ],
)
def test_a_page_with_crowd_elements_is_refused_before_any_money_is_held(rosa: Requester, body: str) -> None:
    question = HTML_QUESTION.replace("<!doctype html><form><input name='answer'></form>", body)

    with refusing("UnsupportedOperation", "Crowd HTML Elements"):
        rosa.hit(Question=question)
    with refusing("UnsupportedOperation", "Write the form with plain HTML"):
        rosa.client.create_hit_with_hit_type(HITTypeId=rosa.hit_type(), LifetimeInSeconds=60, Question=question)

    assert rosa.money() == ("1000.00", "0.00")
    assert rosa.client.list_hits()["NumResults"] == 0


def test_a_page_that_only_speaks_of_crowd_elements_is_taken(rosa: Requester) -> None:
    body = "<!-- once a <crowd-form> --><!-- <!-- <crowd-input> --><form>The crowd-form of old <input name='a'></form>"

    rosa.hit(Question=HTML_QUESTION.replace("<!doctype html><form><input name='answer'></form>", body))
