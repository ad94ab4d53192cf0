"""Assignments: taken, returned, let lapse, submitted; approved, rejected, overridden, paid by the clock."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from xml.etree import ElementTree

from tests.marketplace.conftest import refusing
from tests.marketplace.server import Marketplace, Requester, Worker

UNKNOWN = "3" + "A" * 29
ANSWERS = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd}"


def test_submitted_work_is_listed_with_its_answer_and_times(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    assignment_id = wanda.do(hit_id, preferred="left", why="5 < 6 & <b>clear</b>\x07", empty="")

    (rows,) = rosa.client.list_assignments_for_hit(HITId=hit_id)["Assignments"]

    assert rows["AssignmentId"] == assignment_id
    assert (rows["WorkerId"], rows["HITId"], rows["AssignmentStatus"]) == (wanda.id, hit_id, "Submitted")
    assert rows["Deadline"] - rows["AcceptTime"] == timedelta(minutes=10)
    assert rows["AutoApprovalTime"] - rows["SubmitTime"] == timedelta(days=3)
    assert not {"ApprovalTime", "RejectionTime", "RequesterFeedback"} & rows.keys()
    answers = {
        answer.findtext(f"{ANSWERS}QuestionIdentifier"): answer.findtext(f"{ANSWERS}FreeText")
        for answer in ElementTree.fromstring(rows["Answer"].encode())
    }
    assert answers == {"preferred": "left", "why": "5 < 6 & <b>clear</b>\ufffd", "empty": ""}
    both = rosa.client.get_assignment(AssignmentId=assignment_id)
    assert both["Assignment"] == rows
    assert both["HIT"]["HITId"] == hit_id


def test_a_submission_needs_another_field_than_the_assignment(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.accept(rosa.hit()["HITId"])

    response = wanda.marketplace.http.post("/mturk/externalSubmit", data={"assignmentId": assignment_id})

    assert response.status_code == 400
    assert "at least one field" in response.text
    with refusing("InvalidAssignmentState", "Reviewable,Approved,Rejected"):
        rosa.assignment(assignment_id)


def test_a_returned_hit_goes_to_another_worker_with_the_same_assignment_id(
    rosa: Requester, wanda: Worker, will: Worker
) -> None:
    hit_id = rosa.hit()["HITId"]
    first = wanda.accept(hit_id)
    wanda.give_back(first)
    wanda.give_back(first)  # again is no error
    assert rosa.status(hit_id) == "Assignable"

    second = will.do(hit_id, answer="right")

    assert second == first
    assert rosa.assignment(first)["WorkerId"] == will.id
    assert "no longer available" in wanda.cannot_accept(hit_id)


def test_the_worker_who_returned_may_come_back_with_a_new_id(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    first = wanda.accept(hit_id)
    wanda.give_back(first)

    assert wanda.do(hit_id) != first


def test_the_next_hit_after_a_return_is_another_one_while_there_is_another(rosa: Requester, wanda: Worker) -> None:
    hits, group = [rosa.hit() for _hit in range(3)], []
    for _turn in range(7):
        assignment_id, hit_id = wanda.accept_next(hits[0]["HITGroupId"])
        group.append(hit_id)
        wanda.give_back(assignment_id)
    in_order = [hit["HITId"] for hit in hits]
    assert group == [*in_order, *in_order, in_order[0]]


def test_accepting_again_gives_the_same_assignment(rosa: Requester, wanda: Worker) -> None:
    hit = rosa.hit(MaxAssignments=3)

    assert wanda.accept(hit["HITId"]) == wanda.accept(hit["HITId"])

    assert rosa.client.get_hit(HITId=hit["HITId"])["HIT"]["NumberOfAssignmentsPending"] == 1


def test_a_worker_does_a_hit_once(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit(MaxAssignments=3)["HITId"]
    wanda.do(hit_id)

    assert "already done this HIT" in wanda.cannot_accept(hit_id)
    assert hit_id not in wanda.finds()


def test_of_many_workers_at_once_only_as_many_as_wanted_get_the_hit(marketplace: Marketplace, rosa: Requester) -> None:
    hit_id = rosa.hit(MaxAssignments=2)["HITId"]
    crowd = [marketplace.worker() for _ in range(6)]

    def take(worker: Worker) -> int:
        fields = {"worker_id": worker.id, "hit_id": hit_id}
        return marketplace.http.post("/test/accept", json=fields).status_code

    with ThreadPoolExecutor(6) as pool:
        outcomes = sorted(pool.map(take, crowd))

    assert outcomes == [200, 200, 400, 400, 400, 400]
    hit = rosa.client.get_hit(HITId=hit_id)["HIT"]
    assert (hit["HITStatus"], hit["NumberOfAssignmentsPending"]) == ("Unassignable", 2)


def test_work_that_is_not_submitted_in_time_is_abandoned(
    marketplace: Marketplace, rosa: Requester, wanda: Worker, will: Worker
) -> None:
    hit_id = rosa.hit(AssignmentDurationInSeconds=600)["HITId"]
    assignment_id = wanda.accept(hit_id)

    marketplace.advance(minutes=10, seconds=1)
    late = wanda.submit(assignment_id)

    assert 400 <= late.status_code < 500
    assert rosa.status(hit_id) == "Assignable"
    assert will.do(hit_id) == assignment_id
    assert rosa.money() == ("998.80", "1.20")


def test_approval_pays_and_comes_once(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit()["HITId"])

    rosa.client.approve_assignment(AssignmentId=assignment_id, RequesterFeedback="Thank you")
    with refusing("InvalidAssignmentState", "This operation can be called with a status of: Submitted"):
        rosa.client.approve_assignment(AssignmentId=assignment_id)
    with refusing("InvalidAssignmentState"):
        rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")

    assignment = rosa.assignment(assignment_id)
    assert (assignment["AssignmentStatus"], assignment["RequesterFeedback"]) == ("Approved", "Thank you")
    assert assignment["ApprovalTime"] >= assignment["SubmitTime"]
    assert rosa.money() == ("998.80", "0.00")
    assert wanda.look()["earnings"]["owed"] == "1.00"


def test_a_rejection_without_a_reason_is_taken_as_one(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit()["HITId"])

    rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=" ")

    assignment = rosa.assignment(assignment_id)
    assert assignment["AssignmentStatus"] == "Rejected"
    assert "RequesterFeedback" not in assignment


def test_a_rejection_gives_its_reason_and_the_money_back(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit()["HITId"])

    rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Every test pair was wrong")

    assignment = rosa.assignment(assignment_id)
    assert (assignment["AssignmentStatus"], assignment["RequesterFeedback"]) == (
        "Rejected",
        "Every test pair was wrong",
    )
    assert rosa.money() == ("1000.00", "0.00")
    assert wanda.look()["earnings"]["owed"] == "0.00"


def test_a_rejection_can_be_overridden_within_30_days(marketplace: Marketplace, rosa: Requester) -> None:
    early, late = [
        marketplace.worker().do(hit["HITId"]) for hit in (rosa.hit(), rosa.hit(AutoApprovalDelayInSeconds=2_592_000))
    ]
    for assignment_id in (early, late):
        rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")

    with refusing("InvalidAssignmentState"):
        rosa.client.approve_assignment(AssignmentId=early)
    marketplace.advance(days=29)
    rosa.client.approve_assignment(AssignmentId=early, OverrideRejection=True)
    marketplace.advance(days=2)
    with refusing("InvalidAssignmentState", "30 days"):
        rosa.client.approve_assignment(AssignmentId=late, OverrideRejection=True)

    assignment = rosa.assignment(early)
    assert assignment["AssignmentStatus"] == "Approved"
    assert rosa.money() == ("998.80", "0.00")


def test_a_rejection_on_a_deleted_hit_stays(rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    assignment_id = wanda.do(hit_id)
    rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")
    rosa.client.delete_hit(HITId=hit_id)

    with refusing("InvalidHITState", "deleted"):
        rosa.client.approve_assignment(AssignmentId=assignment_id, OverrideRejection=True)


def test_undecided_work_is_approved_by_the_clock(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit(AutoApprovalDelayInSeconds=86_400)["HITId"]
    assignment_id = wanda.do(hit_id)

    marketplace.advance(hours=23, minutes=59)
    assert rosa.assignment(assignment_id)["AssignmentStatus"] == "Submitted"
    marketplace.advance(minutes=2)

    assert rosa.assignment(assignment_id)["AssignmentStatus"] == "Approved"
    with refusing("InvalidAssignmentState"):
        rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Too late")
    assert wanda.look()["earnings"]["owed"] == "1.00"
    assert rosa.money() == ("998.80", "0.00")


def test_a_delay_of_nothing_approves_at_once(rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit(AutoApprovalDelayInSeconds=0)["HITId"])

    assert rosa.assignment(assignment_id)["AssignmentStatus"] == "Approved"


def test_assignments_are_listed_by_state_and_in_pages(marketplace: Marketplace, rosa: Requester) -> None:
    hit_id = rosa.hit(MaxAssignments=9)["HITId"]
    done = [marketplace.worker().do(hit_id) for _ in range(5)]
    rosa.client.approve_assignment(AssignmentId=done[0])
    rosa.client.reject_assignment(AssignmentId=done[1], RequesterFeedback="No")
    marketplace.worker().accept(hit_id)

    def listed(**filters: object) -> list[str]:
        pages = rosa.client.get_paginator("list_assignments_for_hit").paginate(
            HITId=hit_id, PaginationConfig={"PageSize": 2}, **filters
        )
        return [row["AssignmentId"] for page in pages for row in page["Assignments"]]

    assert listed() == done
    assert listed(AssignmentStatuses=["Submitted"]) == done[2:]
    assert listed(AssignmentStatuses=["Approved", "Rejected"]) == done[:2]
    hit = rosa.client.get_hit(HITId=hit_id)["HIT"]
    counts = [hit[f"NumberOfAssignments{name}"] for name in ("Pending", "Available", "Completed")]
    assert counts == [1, 3, 2]
    with refusing("ValidationException", "enum"):
        rosa.client.list_assignments_for_hit(HITId=hit_id, AssignmentStatuses=["Accepted"])


def test_what_does_not_exist_cannot_be_decided_on(rosa: Requester, wanda: Worker) -> None:
    accepted = wanda.accept(rosa.hit()["HITId"])

    for assignment_id, code in ((UNKNOWN, "AssignmentDoesNotExist"), (accepted, "InvalidAssignmentState")):
        with refusing(code):
            rosa.client.approve_assignment(AssignmentId=assignment_id)
        with refusing(code):
            rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")
        with refusing(code):
            rosa.client.get_assignment(AssignmentId=assignment_id)
        with refusing(code):
            rosa.client.send_bonus(AssignmentId=assignment_id, WorkerId=wanda.id, BonusAmount="1", Reason="Good")


def test_a_worker_holds_25_at_once_and_not_one_more(rosa: Requester, wanda: Worker, will: Worker) -> None:
    hit_ids = [rosa.hit(Reward="0")["HITId"] for _ in range(26)]
    assignments = [wanda.accept(hit_id) for hit_id in hit_ids[:25]]

    assert wanda.cannot_accept(hit_ids[25]) == "You have 25 HITs in progress. Submit or return one first."
    will.accept(hit_ids[25])
    wanda.submit(assignments[0])
    wanda.accept(rosa.hit(Reward="0")["HITId"])
    assert wanda.cannot_accept(rosa.hit(Reward="0")["HITId"]).startswith("You have 25 HITs in progress.")


def test_work_of_one_moment_is_on_exactly_one_page(marketplace: Marketplace, rosa: Requester) -> None:
    hit_id = rosa.hit(MaxAssignments=5)["HITId"]
    done = [marketplace.worker().do(hit_id) for _ in range(5)]
    marketplace.sql(
        "UPDATE marketplace_assignment SET submitted_at = '2026-01-01T12:00:00Z' WHERE assignment_id = ANY(%s)", done
    )

    pages, token = [], {}
    for _ in range(4):
        answer = rosa.client.list_assignments_for_hit(HITId=hit_id, MaxResults=2, **token)
        pages.append([row["AssignmentId"] for row in answer["Assignments"]])
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}

    assert [len(page) for page in pages if page] == [2, 2, 1]
    assert [assignment_id for page in pages for assignment_id in page] == done
