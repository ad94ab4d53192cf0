"""Qualification types, who has them, and whom they keep from what."""

from typing import Any

import pytest

from marketplace.errors import InvalidValue
from marketplace.requirements import LOCALE, Action, Place, met, requirement_read, unmet
from tests.marketplace.conftest import refusing
from tests.marketplace.server import Marketplace, Requester, Worker

UNKNOWN = "3" + "A" * 29


def qualification_type(requester: Requester, **changes: Any) -> str:
    facts = {"Name": "Careful reader", "Description": "Reads with care", "QualificationTypeStatus": "Active"}
    qualification = requester.client.create_qualification_type(**facts | changes)["QualificationType"]
    return str(qualification["QualificationTypeId"])


@pytest.mark.parametrize(
    ("comparator", "expected", "value", "outcome"),
    [
        ("LessThan", [5], 4, True),
        ("LessThan", [5], 5, False),
        ("LessThanOrEqualTo", [5], 5, True),
        ("LessThanOrEqualTo", [5], 6, False),
        ("GreaterThan", [10_000], 10_000, False),
        ("GreaterThan", [10_000], 10_001, True),
        ("GreaterThanOrEqualTo", [97], 97, True),
        ("EqualTo", [1], 1, True),
        ("EqualTo", [1], 0, False),
        ("NotEqualTo", [1], 0, True),
        ("NotEqualTo", [1], None, False),
        ("In", [1, 2], 2, True),
        ("In", [1, 2], 3, False),
        ("NotIn", [1, 2], 3, True),
        ("NotIn", [1, 2], 1, False),
        ("NotIn", [1, 2], None, False),
        ("GreaterThan", [5], None, False),
    ],
)
def test_numbers_are_compared(comparator: str, expected: list[int], value: int | None, outcome: bool) -> None:
    requirement = requirement_read(
        {"QualificationTypeId": UNKNOWN, "Comparator": comparator, "IntegerValues": expected}
    )

    assert met(requirement, value) is outcome


@pytest.mark.parametrize(
    ("comparator", "expected", "place", "outcome"),
    [
        ("EqualTo", [{"Country": "US"}], Place("US", "WA"), True),
        ("EqualTo", [{"Country": "US", "Subdivision": "WA"}], Place("US", "WA"), True),
        ("EqualTo", [{"Country": "US", "Subdivision": "WA"}], Place("US", ""), False),
        ("EqualTo", [{"Country": "us"}], Place("US", ""), True),
        ("NotEqualTo", [{"Country": "US"}], Place("CA", ""), True),
        ("In", [{"Country": "US"}, {"Country": "CA"}], Place("CA", "ON"), True),
        ("NotIn", [{"Country": "US"}, {"Country": "CA"}], Place("CA", "ON"), False),
    ],
)
def test_places_are_compared(comparator: str, expected: list[dict], place: Place, outcome: bool) -> None:
    requirement = requirement_read({"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": expected})

    assert met(requirement, place) is outcome


def test_having_is_not_a_matter_of_the_score() -> None:
    has, lacks = [
        requirement_read({"QualificationTypeId": UNKNOWN, "Comparator": name}) for name in ("Exists", "DoesNotExist")
    ]

    assert [met(has, value) for value in (0, 1, None)] == [True, True, False]
    assert [met(lacks, value) for value in (0, 1, None)] == [False, False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"Comparator": "Exists", "IntegerValues": [1]},
        {"Comparator": "EqualTo"},
        {"Comparator": "EqualTo", "IntegerValues": [1, 2]},
        {"Comparator": "In", "IntegerValues": list(range(16))},
        {"Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}]},
        {"Comparator": "GreaterThan", "LocaleValues": [{"Country": "US"}], "QualificationTypeId": LOCALE},
        {"Comparator": "EqualTo", "IntegerValues": [1], "QualificationTypeId": LOCALE},
        {"Comparator": "EqualTo", "LocaleValues": [{"Country": "U1"}], "QualificationTypeId": LOCALE},
        {"Comparator": "In", "LocaleValues": [{"Country": "US"}] * 31, "QualificationTypeId": LOCALE},
        {"Comparator": "Exists", "ActionsGuarded": "Accept", "RequiredToPreview": True},
    ],
)
def test_requirements_outside_the_documentation_are_refused(wrong: dict) -> None:
    with pytest.raises(InvalidValue):
        requirement_read({"QualificationTypeId": UNKNOWN} | wrong)


@pytest.mark.parametrize(
    ("demand", "kept_from"),
    [
        ({}, {Action.ACCEPT}),
        ({"ActionsGuarded": "PreviewAndAccept"}, {Action.PREVIEW, Action.ACCEPT}),
        ({"RequiredToPreview": True}, {Action.PREVIEW, Action.ACCEPT}),
        ({"ActionsGuarded": "DiscoverPreviewAndAccept"}, set(Action)),
    ],
)
def test_a_requirement_guards_an_action_and_those_after_it(demand: dict, kept_from: set[Action]) -> None:
    requirement = requirement_read({"QualificationTypeId": UNKNOWN, "Comparator": "Exists"} | demand)

    assert {action for action in Action if unmet([requirement], {}, action)} == kept_from


def test_the_papers_requirements_keep_out_who_does_not_meet_them(marketplace: Marketplace, rosa: Requester) -> None:
    hit_id = rosa.hit(
        MaxAssignments=9,
        QualificationRequirements=[
            {
                "QualificationTypeId": "00000000000000000071",
                "Comparator": "EqualTo",
                "LocaleValues": [{"Country": "US"}],
            },
            {"QualificationTypeId": "00000000000000000040", "Comparator": "GreaterThan", "IntegerValues": [10_000]},
            {
                "QualificationTypeId": "000000000000000000L0",
                "Comparator": "GreaterThanOrEqualTo",
                "IntegerValues": [97],
            },
        ],
    )["HITId"]
    good = {"vouched_approved": 10_001, "vouched_rejected": 309}  # 97.005%

    marketplace.worker(**good).accept(hit_id)
    for bad in (good | {"country": "CA"}, good | {"vouched_approved": 10_000}, good | {"vouched_rejected": 320}, {}):
        assert "qualifications" in marketplace.worker(**bad).cannot_accept(hit_id)


def test_a_workers_record_counts_what_was_decided(rosa: Requester, wanda: Worker) -> None:
    wants = [{"QualificationTypeId": "000000000000000000L0", "Comparator": "EqualTo", "IntegerValues": [66]}]
    done = [wanda.do(rosa.hit()["HITId"]) for _ in range(3)]
    hit_id = rosa.hit(QualificationRequirements=wants)["HITId"]
    assert "qualifications" in wanda.cannot_accept(hit_id)

    rosa.client.reject_assignment(AssignmentId=done[0], RequesterFeedback="No")
    for assignment_id in done[1:]:
        rosa.client.approve_assignment(AssignmentId=assignment_id)

    wanda.accept(hit_id)


def test_excluded_workers_do_not_see_the_hit(rosa: Requester, wanda: Worker, will: Worker) -> None:
    excluded = qualification_type(rosa, Name="Failed a test pair")
    wants = {"Comparator": "DoesNotExist", "ActionsGuarded": "DiscoverPreviewAndAccept"}
    hit_id = rosa.hit(QualificationRequirements=[wants | {"QualificationTypeId": excluded}])["HITId"]

    rosa.client.associate_qualification_with_worker(
        QualificationTypeId=excluded, WorkerId=wanda.id, IntegerValue=1, SendNotification=False
    )

    assert "qualifications" in wanda.cannot_accept(hit_id)
    assert wanda.look()["messages"] == []
    rosa.client.disassociate_qualification_from_worker(
        QualificationTypeId=excluded, WorkerId=wanda.id, Reason="By mistake"
    )
    wanda.accept(hit_id)
    assert [
        hit["HITId"] for hit in rosa.client.list_hits_for_qualification_type(QualificationTypeId=excluded)["HITs"]
    ] == [hit_id]


def test_a_grant_is_told_to_the_worker_unless_said_otherwise(rosa: Requester, wanda: Worker) -> None:
    type_id = qualification_type(rosa)

    rosa.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=wanda.id)

    (message,) = wanda.look()["messages"]
    assert "Careful reader" in message["text"]
    score = rosa.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=wanda.id)["Qualification"]
    assert (score["IntegerValue"], score["Status"], score["WorkerId"]) == (1, "Granted", wanda.id)


def test_scores_change_and_end(rosa: Requester, omar: Requester, wanda: Worker) -> None:
    type_id = qualification_type(rosa)
    both = {"QualificationTypeId": type_id, "WorkerId": wanda.id}
    with refusing("QualificationDoesNotExist"):
        rosa.client.get_qualification_score(**both)
    rosa.client.associate_qualification_with_worker(**both, IntegerValue=50)
    rosa.client.associate_qualification_with_worker(**both, IntegerValue=80)
    assert rosa.client.get_qualification_score(**both)["Qualification"]["IntegerValue"] == 80
    assert rosa.client.list_workers_with_qualification_type(QualificationTypeId=type_id)["NumResults"] == 1

    rosa.client.disassociate_qualification_from_worker(**both)

    with refusing("InvalidQualificationState", "Granted"):
        rosa.client.get_qualification_score(**both)
    with refusing("InvalidQualificationState"):
        rosa.client.disassociate_qualification_from_worker(**both)
    list_workers = rosa.client.list_workers_with_qualification_type
    assert list_workers(QualificationTypeId=type_id)["NumResults"] == 0
    assert list_workers(QualificationTypeId=type_id, Status="Revoked")["Qualifications"][0]["WorkerId"] == wanda.id
    with refusing("QualificationTypeDoesNotExist"):
        omar.client.associate_qualification_with_worker(**both)
    with refusing("WorkerDoesNotExist"):
        rosa.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId="AUNKNOWN")


def test_names_are_unique_for_each_requester(rosa: Requester, omar: Requester) -> None:
    type_id = qualification_type(rosa)
    qualification_type(omar)

    with refusing("QualificationTypeAlreadyExists", "You have already created a QualificationType with this name."):
        qualification_type(rosa)

    rosa.client.delete_qualification_type(QualificationTypeId=type_id)
    assert qualification_type(rosa) != type_id


def test_a_type_can_be_changed_and_found(rosa: Requester, omar: Requester) -> None:
    type_id = qualification_type(rosa, Name="Peculiar needlework", Keywords="thread, yarn")
    rosa.client.update_qualification_type(
        QualificationTypeId=type_id, Description="Sews", QualificationTypeStatus="Inactive", RetryDelayInSeconds=60
    )

    qualification = rosa.client.get_qualification_type(QualificationTypeId=type_id)["QualificationType"]

    assert (
        qualification["Description"],
        qualification["QualificationTypeStatus"],
        qualification["RetryDelayInSeconds"],
    ) == ("Sews", "Inactive", 60)
    assert qualification["IsRequestable"] is False
    with refusing("QualificationTypeDoesNotExist"):
        omar.client.update_qualification_type(QualificationTypeId=type_id, Description="Mine")

    def names(client: Any, **facts: Any) -> list[str]:
        answer = client.list_qualification_types(**{"MustBeRequestable": False, "Query": "peculiar yarn"} | facts)
        return [row["Name"] for row in answer["QualificationTypes"]]

    assert names(rosa.client) == names(omar.client) == ["Peculiar needlework"]
    assert names(rosa.client, MustBeRequestable=True) == []
    assert names(omar.client, MustBeOwnedByCaller=True) == []
    assert names(rosa.client, MustBeOwnedByCaller=True) == ["Peculiar needlework"]


def test_system_types_can_be_looked_up(rosa: Requester) -> None:
    qualification = rosa.client.get_qualification_type(QualificationTypeId="00000000000000000071")["QualificationType"]

    assert (qualification["Name"], qualification["IsRequestable"]) == ("Worker_Locale", False)


def test_tests_are_not_supported_and_values_are_checked(rosa: Requester) -> None:
    with refusing("UnsupportedOperation", "Test"):
        qualification_type(rosa, Test="<QuestionForm/>", TestDurationInSeconds=60)
    with refusing("InvalidParameterValue", "AutoGrantedValue"):
        qualification_type(rosa, AutoGrantedValue=5)
    with refusing("InvalidParameterValue", "Name"):
        qualification_type(rosa, Name="n" * 201)
    with refusing("InvalidParameterValue", "RetryDelayInSeconds"):
        qualification_type(rosa, RetryDelayInSeconds=-1)
    with refusing("ValidationException", "enum"):
        qualification_type(rosa, QualificationTypeStatus="Sometimes")
    with refusing("QualificationTypeDoesNotExist"):
        rosa.hit(QualificationRequirements=[{"QualificationTypeId": UNKNOWN, "Comparator": "Exists"}])
    with refusing("InvalidParameterValue", "At most 10"):
        many = [{"QualificationTypeId": LOCALE, "Comparator": "Exists"}] * 11
        rosa.hit(QualificationRequirements=many)


def test_requests_wait_for_a_decision(marketplace: Marketplace, rosa: Requester, wanda: Worker, will: Worker) -> None:
    type_id = qualification_type(rosa, RetryDelayInSeconds=3600)

    def request(worker: Worker) -> str:
        request = marketplace.test("request-qualification", worker_id=worker.id, qualification_type_id=type_id)
        return str(request["request_id"])

    first, second = request(wanda), request(will)
    assert request(wanda) == first
    requests = rosa.client.list_qualification_requests(QualificationTypeId=type_id)["QualificationRequests"]
    assert [(row["QualificationRequestId"], row["WorkerId"]) for row in requests] == [
        (first, wanda.id),
        (second, will.id),
    ]

    rosa.client.accept_qualification_request(QualificationRequestId=first, IntegerValue=90)
    rosa.client.reject_qualification_request(QualificationRequestId=second, Reason="Not yet")

    assert rosa.client.list_qualification_requests()["NumResults"] == 0
    score = rosa.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=wanda.id)["Qualification"]
    assert score["IntegerValue"] == 90
    with refusing("InvalidQualificationRequestState"):
        rosa.client.accept_qualification_request(QualificationRequestId=second)
    with refusing("QualificationRequestDoesNotExist"):
        rosa.client.accept_qualification_request(QualificationRequestId=UNKNOWN)
    fields = {"worker_id": will.id, "qualification_type_id": type_id}
    assert "too early" in marketplace.refused("request-qualification", **fields)
    marketplace.advance(hours=2)
    assert request(will) != second


def test_automatic_types_grant_at_once_and_once(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    type_id = qualification_type(rosa, AutoGranted=True, AutoGrantedValue=7)
    fields = {"worker_id": wanda.id, "qualification_type_id": type_id}

    assert marketplace.test("request-qualification", **fields)["state"] == "granted"

    score = rosa.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=wanda.id)["Qualification"]
    assert score["IntegerValue"] == 7
    assert "only once" in marketplace.refused("request-qualification", **fields)


def test_deleting_a_type_retires_what_needs_it(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    type_id = qualification_type(rosa)
    hit = rosa.hit(QualificationRequirements=[{"QualificationTypeId": type_id, "Comparator": "Exists"}])
    rosa.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=wanda.id)

    rosa.client.delete_qualification_type(QualificationTypeId=type_id)

    with refusing("QualificationTypeDoesNotExist"):
        rosa.client.get_qualification_type(QualificationTypeId=type_id)
    with refusing("HITTypeDoesNotExist"):
        rosa.client.create_hit_with_hit_type(HITTypeId=hit["HITTypeId"], LifetimeInSeconds=60, Question=hit["Question"])
    wanda.accept(hit["HITId"])  # who has it keeps it, for the HITs that are still out


def test_only_its_own_requester_decides_on_a_request(
    marketplace: Marketplace, rosa: Requester, omar: Requester, wanda: Worker
) -> None:
    type_id = qualification_type(rosa)
    request = marketplace.test("request-qualification", worker_id=wanda.id, qualification_type_id=type_id)
    fields = {"QualificationRequestId": request["request_id"]}

    with refusing("QualificationRequestDoesNotExist"):
        omar.client.accept_qualification_request(**fields, IntegerValue=5)
    with refusing("QualificationRequestDoesNotExist"):
        omar.client.reject_qualification_request(**fields, Reason="No")

    (waiting,) = rosa.client.list_qualification_requests(QualificationTypeId=type_id)["QualificationRequests"]
    assert waiting["QualificationRequestId"] == request["request_id"]
    assert rosa.client.list_workers_with_qualification_type(QualificationTypeId=type_id)["Qualifications"] == []
