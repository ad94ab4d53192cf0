"""The wire: signatures, targets, JSON, the service model, and errors as Amazon's clients know them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from marketplace.api.shapes import BadAnswer, answer_write, operation, service
from tests.marketplace.conftest import refusing
from tests.marketplace.server import Marketplace, Requester

TARGET = "MTurkRequesterServiceV20170117"


def send(
    requester: Requester,
    *,
    name: str = "GetAccountBalance",
    body: bytes = b"{}",
    at: datetime | None = None,
    key_id: str = "",
    secret: str = "",
    target: str = "",
    service_name: str = "mturk-requester",
    region: str = "us-east-1",
    changed: dict[str, str | None] | None = None,
    sent_body: bytes | None = None,
) -> httpx.Response:
    """A request signed by hand, and perhaps changed after that."""
    url = requester.client.meta.endpoint_url + "/"
    request = AWSRequest(
        method="POST",
        url=url,
        data=body,
        headers={"X-Amz-Target": target or f"{TARGET}.{name}", "Content-Type": "application/x-amz-json-1.1"},
    )
    signer = SigV4Auth(Credentials(key_id or requester.key_id, secret or requester.secret), service_name, region)
    stamp = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    request.context["timestamp"] = stamp
    request.headers["X-Amz-Date"] = stamp
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signer._inject_signature_to_request(request, signer.signature(text, request))
    headers = dict(request.headers.items()) | {name: value for name, value in (changed or {}).items() if value}
    for header in [name for name, value in (changed or {}).items() if value is None]:
        headers.pop(header)
    return httpx.post(url, content=body if sent_body is None else sent_body, headers=headers, trust_env=False)


def kind(response: httpx.Response) -> str:
    """The type of an error answer."""
    assert response.headers["content-type"] == "application/x-amz-json-1.1"
    assert response.headers["x-amzn-requestid"]
    return str(response.json()["__type"])


# A value for each shape of a required member.
MINIMAL: dict[str, Any] = {
    "EntityId": "3" + "A" * 29,
    "CustomerId": "A1",
    "CurrencyAmount": "1.00",
    "Comparator": "Exists",
    "QualificationTypeStatus": "Active",
    "Timestamp": 1,
    "Integer": 1,
    "Long": 60,
    "Boolean": False,
    "CustomerIdList": ["A1"],
    "EventType": "Ping",
    "NotificationSpecification": {
        "Destination": "https://example.invalid/",
        "Transport": "SNS",
        "Version": "2006-05-05",
        "EventTypes": ["HITCreated"],
    },
}


def test_the_model_has_39_operations() -> None:
    assert len(service().operation_names) == 39


# What each operation says to the least that it needs, about things that do not exist; empty: it answers.
NONE_SUCH = {
    "AssignmentDoesNotExist": "ApproveAssignment GetAssignment GetFileUploadURL RejectAssignment SendBonus",
    "HITDoesNotExist": (
        "CreateAdditionalAssignmentsForHIT DeleteHIT GetHIT ListAssignmentsForHIT ListReviewPolicyResultsForHIT "
        "UpdateExpirationForHIT UpdateHITReviewStatus UpdateHITTypeOfHIT"
    ),
    "HITTypeDoesNotExist": "CreateHITWithHITType",
    "InvalidParameterValue": "CreateHIT ListBonusPayments UpdateNotificationSettings",
    "QualificationRequestDoesNotExist": "AcceptQualificationRequest RejectQualificationRequest",
    "QualificationTypeDoesNotExist": (
        "AssociateQualificationWithWorker DeleteQualificationType DisassociateQualificationFromWorker "
        "GetQualificationScore GetQualificationType ListHITsForQualificationType ListWorkersWithQualificationType "
        "UpdateQualificationType"
    ),
    "WorkerDoesNotExist": "CreateWorkerBlock DeleteWorkerBlock",
    "": (
        "CreateHITType CreateQualificationType GetAccountBalance ListHITs ListQualificationRequests "
        "ListQualificationTypes ListReviewableHITs ListWorkerBlocks NotifyWorkers SendTestEventNotification"
    ),
}
OUTCOMES = {name: code for code, names in NONE_SUCH.items() for name in names.split()}


@pytest.mark.parametrize("name", service().operation_names)
def test_every_operation_of_the_model_is_answered(rosa: Requester, name: str) -> None:
    model = service().operation_model(name)
    shape = model.input_shape
    fields = {member: MINIMAL.get(shape.members[member].name, "text of a kind") for member in shape.required_members}

    response = send(rosa, name=name, body=json.dumps(fields).encode())

    body = response.json()
    if code := OUTCOMES[name]:
        assert (response.status_code, kind(response)) == (400, "RequestError"), response.text
        assert body["TurkErrorCode"] == f"AWS.MechanicalTurk.{code}", response.text
    else:
        assert response.status_code == 200, response.text
        lists = {member for member, of in model.output_shape.members.items() if of.type_name == "list"}
        assert lists <= set(body), "a list that is empty is there"
        assert set(body) <= set(model.output_shape.members)
        assert body or name == "SendTestEventNotification"


def test_a_signed_request_is_answered(rosa: Requester) -> None:
    response = send(rosa)

    assert response.status_code == 200
    assert response.json() == {"AvailableBalance": "1000.00", "OnHoldBalance": "0.00"}


def test_a_wrong_secret_is_an_invalid_signature(marketplace: Marketplace, rosa: Requester, omar: Requester) -> None:
    with refusing("InvalidSignatureException", "does not match"):
        marketplace.client(rosa.key_id, omar.secret).get_account_balance()


def test_an_unknown_key_and_one_with_a_session_are_unrecognized(marketplace: Marketplace, rosa: Requester) -> None:
    with refusing("UnrecognizedClientException"):
        marketplace.client("AKIAIOSFODNN7EXAMPLE", rosa.secret).get_account_balance()
    assert kind(send(rosa, changed={"X-Amz-Security-Token": "t"})) == "InvalidSignatureException"  # unsigned


REVOKE = "from marketplace.services.keys import key_revoke; key_revoke(key_id='{key_id}')"


def test_a_revoked_key_ends_at_once(marketplace: Marketplace, rosa: Requester) -> None:
    rosa.client.get_account_balance()

    marketplace.run("shell", "--no-imports", "-c", REVOKE.format(key_id=rosa.key_id))

    with refusing("UnrecognizedClientException"):
        rosa.client.get_account_balance()


def test_what_was_changed_on_the_way_is_refused(rosa: Requester) -> None:
    assert kind(send(rosa, body=b"{}", sent_body=b"{ }")) == "InvalidSignatureException"
    assert kind(send(rosa, changed={"X-Amz-Target": f"{TARGET}.ListHITs"})) == "InvalidSignatureException"
    assert kind(send(rosa, changed={"Host": "localhost"})) == "InvalidSignatureException"
    assert send(rosa, changed={"Host": "example.org"}).status_code == 400


def test_old_and_future_signatures_are_refused(rosa: Requester) -> None:
    now = datetime.now(UTC)

    assert send(rosa, at=now - timedelta(minutes=4)).status_code == 200
    for minutes, words in ((-6, "Signature expired"), (6, "not yet current")):
        response = send(rosa, at=now + timedelta(minutes=minutes))
        assert kind(response) == "InvalidSignatureException"
        assert words in response.json()["message"]


def test_a_clock_that_tests_have_moved_does_not_void_signatures(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.advance(days=30)

    assert rosa.money() == ("1000.00", "0.00")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"changed": {"Authorization": None}}, "MissingAuthenticationTokenException"),
        ({"changed": {"Authorization": "AWS4-HMAC-SHA256 Credential=x"}}, "IncompleteSignatureException"),
        ({"changed": {"X-Amz-Date": "yesterday"}}, "IncompleteSignatureException"),
        ({"region": "eu-west-1"}, "InvalidSignatureException"),
        ({"service_name": "s3"}, "InvalidSignatureException"),
        ({"changed": {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}}, "InvalidSignatureException"),
        ({"name": "DropEverything"}, "UnknownOperationException"),
        ({"target": "MTurkRequesterServiceV20991231.ListHITs"}, "UnknownOperationException"),
        ({"body": b"{"}, "SerializationException"),
        ({"body": b"[]"}, "SerializationException"),
        ({"body": b'{"MaxResults": NaN}', "name": "ListHITs"}, "SerializationException"),
        ({"body": b'{"MaxResults": "5"}', "name": "ListHITs"}, "SerializationException"),
        ({"body": b'{"MaxResults": true}', "name": "ListHITs"}, "SerializationException"),
        ({"body": b'{"HITId": 5}', "name": "GetHIT"}, "SerializationException"),
        ({"body": b'{"HITId": "A\\u0000"}', "name": "GetHIT"}, "SerializationException"),
        ({"body": b'{"HITId": "A\\ud800"}', "name": "GetHIT"}, "SerializationException"),
        ({"body": b"[" * 100_000, "name": "GetHIT"}, "SerializationException"),
        ({"body": b'{"HITId": "A", "ExpireAt": "soon"}', "name": "UpdateExpirationForHIT"}, "SerializationException"),
        ({"body": b"{}", "name": "GetHIT"}, "ValidationException"),
        ({"body": b'{"HITId": "lower case"}', "name": "GetHIT"}, "ValidationException"),
        ({"body": b'{"HITId": "A", "Hit": "B"}', "name": "GetHIT"}, "ValidationException"),
        ({"body": b'{"MaxResults": 0}', "name": "ListHITs"}, "ValidationException"),
        ({"body": b'{"Status": "Lost"}', "name": "ListReviewableHITs"}, "ValidationException"),
        ({"body": b'{"a": "' + b"x" * 1_100_000 + b'"}'}, "RequestEntityTooLargeException"),
    ],
)
def test_bad_requests_are_refused_as_amazon_does(rosa: Requester, changes: dict[str, Any], expected: str) -> None:
    response = send(rosa, **changes)

    assert 400 <= response.status_code < 500
    assert kind(response) == expected


def test_all_broken_constraints_are_named_at_once(rosa: Requester) -> None:
    body = json.dumps({"Title": "t", "Reward": "$2", "UniqueRequestToken": "t" * 65}).encode()

    message = send(rosa, name="CreateHIT", body=body).json()["message"]

    assert message.startswith("5 validation errors detected: ")
    for words in (
        "Value '$2' at 'reward' failed to satisfy constraint: Member must satisfy regular expression pattern: "
        "^[0-9]+(\\.)?[0-9]{0,2}$",
        "Value null at 'description' failed to satisfy constraint: Member must not be null",
        "at 'uniqueRequestToken' failed to satisfy constraint: Member must have length less than or equal to 64",
    ):
        assert words in message


def test_a_request_error_carries_its_code_and_the_time(rosa: Requester) -> None:
    with refusing("HITDoesNotExist") as refusal:
        rosa.client.get_hit(HITId="3ABC")

    assert refusal.response["TurkErrorCode"] == "AWS.MechanicalTurk.HITDoesNotExist"
    assert refusal.message.startswith("HIT 3ABC does not exist. (1")
    assert refusal.response["Message"] == refusal.message
    assert isinstance(rosa.client.exceptions.RequestError, type)


def test_times_can_be_sent_as_numbers_and_as_texts(rosa: Requester) -> None:
    for moment in (b"1", b'"2015-01-01T00:00:00Z"', b"1.5"):
        hit_id = rosa.hit()["HITId"]
        body = b'{"HITId": "%s", "ExpireAt": %s}' % (hit_id.encode(), moment)
        assert send(rosa, name="UpdateExpirationForHIT", body=body).json() == {}
        assert rosa.status(hit_id) == "Reviewable"


def test_an_answer_outside_the_model_never_leaves() -> None:
    model = operation("GetAccountBalance")
    assert model is not None

    assert answer_write(model, {"AvailableBalance": "1.00"}) == {"AvailableBalance": "1.00"}
    for wrong in ({"AvailableBalance": "1.005"}, {"AvailableBalance": 1}, {"Balance": "1.00"}):
        with pytest.raises(BadAnswer):
            answer_write(model, wrong)


def test_other_methods_are_refused(marketplace: Marketplace) -> None:
    assert marketplace.http.put("/").status_code == 405
