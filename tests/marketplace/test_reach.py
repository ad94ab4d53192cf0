"""How many workers could take a HIT, asked beside the API: signed, counted as the HITs would be, and only counted."""

import json
from typing import Any

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.marketplace.server import Marketplace, Requester, Worker

PATH = "/extensions/count-workers"
TARGET = "BestknownMarketplace.CountWorkers"
GUARDED = {"ActionsGuarded": "DiscoverPreviewAndAccept"}
LOCALE = "00000000000000000071"
NUMBER = "00000000000000000040"
PERCENT = "000000000000000000L0"


def ask(marketplace: Marketplace, requester: Requester, body: Any, **changes: str) -> httpx.Response:
    """Post signed JSON as this requester."""
    address = f"{marketplace.url}{PATH}"
    data = body if isinstance(body, str) else json.dumps(body)
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": changes.get("target", TARGET)}
    request = AWSRequest(method="POST", url=address, headers=headers, data=data)
    secret = changes.get("secret", requester.secret)
    SigV4Auth(Credentials(requester.key_id, secret), "mturk-requester", "us-east-1").add_auth(request)
    return marketplace.http.post(PATH, content=changes.get("sent", data), headers=dict(request.headers))


def counted(marketplace: Marketplace, requester: Requester, *requirements: dict[str, Any]) -> tuple[int, int]:
    """How many qualify, of how many."""
    answer = ask(marketplace, requester, {"QualificationRequirements": list(requirements)})
    assert answer.status_code == 200, answer.text
    content = answer.json()
    assert set(content) == {"QualifiedWorkers", "ActiveWorkers"}
    return content["QualifiedWorkers"], content["ActiveWorkers"]


def among(requester: Requester, *workers: Worker) -> dict[str, Any]:
    """A requirement that these workers alone meet."""
    facts = {"Name": f"here {id(workers)}", "Description": "these", "QualificationTypeStatus": "Active"}
    qualification = requester.client.create_qualification_type(**facts)["QualificationType"]["QualificationTypeId"]
    for worker in workers:
        requester.client.associate_qualification_with_worker(
            QualificationTypeId=qualification, WorkerId=worker.id, IntegerValue=1, SendNotification=False
        )
    return {"QualificationTypeId": qualification, "Comparator": "Exists"} | GUARDED


def can_take(worker: Worker, hit_id: str) -> bool:
    """Whether the marketplace lets the worker accept the HIT."""
    fields = {"worker_id": worker.id, "hit_id": hit_id}
    return bool(worker.marketplace.http.post("/test/accept", json=fields).status_code == 200)


def test_those_are_counted_who_can_take_the_hits(marketplace: Marketplace, rosa: Requester) -> None:
    us_veteran = marketplace.worker(vouched_approved=20_000)
    us_newcomer = marketplace.worker()
    german = marketplace.worker(country="DE", vouched_approved=20_000)
    here = among(rosa, us_veteran, us_newcomer, german)
    in_us = {"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}]} | GUARDED
    many = {"QualificationTypeId": NUMBER, "Comparator": "GreaterThan", "IntegerValues": [10_000]} | GUARDED
    good = {"QualificationTypeId": PERCENT, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [97]} | GUARDED
    not_here = here | {"Comparator": "DoesNotExist"}
    for requirements in ([here], [here, in_us], [here, many], [here, in_us, many, good], [here, not_here]):
        hit = rosa.hit(QualificationRequirements=requirements, MaxAssignments=9)
        takers = [worker for worker in (us_veteran, us_newcomer, german) if can_take(worker, hit["HITId"])]
        assert counted(marketplace, rosa, *requirements)[0] == len(takers)
    assert counted(marketplace, rosa, here)[0] == 3
    assert counted(marketplace, rosa, here, in_us, many, good)[0] == 1


def test_decided_work_counts_with_what_the_operator_vouched_for(marketplace: Marketplace, rosa: Requester) -> None:
    worker = marketplace.worker(vouched_approved=1)
    here = among(rosa, worker)
    two = {"QualificationTypeId": NUMBER, "Comparator": "EqualTo", "IntegerValues": [2]} | GUARDED
    half = {"QualificationTypeId": PERCENT, "Comparator": "EqualTo", "IntegerValues": [66]} | GUARDED
    assert counted(marketplace, rosa, here, two)[0] == 0
    rosa.client.approve_assignment(AssignmentId=worker.do(rosa.hit()["HITId"]))
    assert counted(marketplace, rosa, here, two)[0] == 1
    rosa.client.reject_assignment(AssignmentId=worker.do(rosa.hit()["HITId"]), RequesterFeedback="empty")
    assert counted(marketplace, rosa, here, two, half)[0] == 1


def test_without_requirements_everybody_active_counts_but_those_whom_the_requester_blocks(
    marketplace: Marketplace, rosa: Requester, omar: Requester
) -> None:
    qualified, active = counted(marketplace, rosa)
    assert qualified == active
    worker = marketplace.worker()
    assert counted(marketplace, rosa) == (active + 1, active + 1)
    rosa.client.create_worker_block(WorkerId=worker.id, Reason="careless")
    assert counted(marketplace, rosa) == (active, active + 1)
    assert counted(marketplace, rosa, among(rosa, worker)) == (0, active + 1)
    assert counted(marketplace, omar) == (active + 1, active + 1)


def test_who_has_not_been_here_for_a_month_is_not_active(marketplace: Marketplace, rosa: Requester) -> None:
    idle, busy = marketplace.worker(), marketplace.worker()
    here = among(rosa, idle, busy)
    marketplace.advance(days=29)
    busy.accept(rosa.hit()["HITId"])
    assert counted(marketplace, rosa, here)[0] == 2
    marketplace.advance(days=2)
    assert counted(marketplace, rosa, here)[0] == 1
    marketplace.advance(days=30)
    assert counted(marketplace, rosa, here) == (0, 0)


@pytest.mark.parametrize(
    ("body", "changes", "status", "kind"),
    [
        ({}, {"secret": "wrong"}, 400, "InvalidSignatureException"),
        ({}, {"sent": '{"QualificationRequirements": []}'}, 400, "InvalidSignatureException"),
        ({}, {"target": "MTurkRequesterServiceV20170117.GetAccountBalance"}, 400, "UnknownOperationException"),
        ("[", {}, 400, "SerializationException"),
        ([], {}, 400, "SerializationException"),
        ({"QualificationRequirements": "all"}, {}, 400, "SerializationException"),
        ({"Who": []}, {}, 400, "ValidationException"),
        ({"QualificationRequirements": [{"Comparator": "Exists"}]}, {}, 400, "ValidationException"),
        (
            {"QualificationRequirements": [{"QualificationTypeId": "3X", "Comparator": "Exists"}] * 11},
            {},
            400,
            "RequestError",
        ),
    ],
)
def test_what_is_not_signed_or_cannot_be_read_is_refused(
    marketplace: Marketplace, rosa: Requester, body: Any, changes: dict[str, str], status: int, kind: str
) -> None:
    answer = ask(marketplace, rosa, body, **changes)
    assert (answer.status_code, answer.json()["__type"]) == (status, kind)


def test_unsigned_or_by_get_nothing_is_told(marketplace: Marketplace) -> None:
    unsigned = marketplace.http.post(PATH, json={}, headers={"X-Amz-Target": TARGET})
    assert unsigned.json()["__type"] == "MissingAuthenticationTokenException"
    assert marketplace.http.get(PATH).status_code == 405


def test_counting_is_limited_for_each_requester(marketplace: Marketplace, rosa: Requester, omar: Requester) -> None:
    answers = [ask(marketplace, rosa, {}) for _time in range(250)]  # two spans of a minute at most
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.json()["__type"] for answer in refused} == {"ThrottlingException"}
    assert ask(marketplace, omar, {}).status_code == 200
    assert rosa.client.get_account_balance()["AvailableBalance"] == "1000.00"
