"""The record of API calls: what is in it, what is not, how long it is kept, and that it stops nothing."""

from tests.marketplace.conftest import refusing
from tests.marketplace.server import Marketplace, Requester, Worker


def calls(marketplace: Marketplace, key_id: str) -> list[tuple[str, str, str]]:
    """The recorded calls of a key, oldest first: operation, what it was about, outcome."""
    return [
        (str(operation), str(subject), str(outcome))
        for operation, subject, outcome in marketplace.sql(
            "SELECT operation, subject, outcome FROM marketplace_apicall c"
            " JOIN marketplace_accesskey k ON k.id = c.key_id WHERE k.key_id = %s ORDER BY c.id",
            key_id,
        )
    ]


def test_what_a_key_did_is_recorded(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    hit_id = rosa.hit()["HITId"]
    assignment_id = wanda.do(hit_id)
    rosa.client.approve_assignment(AssignmentId=assignment_id)
    answer = rosa.client.get_account_balance()

    assert calls(marketplace, rosa.key_id) == [
        ("CreateHIT", hit_id, ""),
        ("ApproveAssignment", assignment_id, ""),
        ("GetAccountBalance", "", ""),
    ]
    request_id = answer["ResponseMetadata"]["RequestId"]
    assert marketplace.sql("SELECT operation FROM marketplace_apicall WHERE request_id = %s", request_id) == [
        ("GetAccountBalance",)
    ]


def test_what_was_refused_is_recorded_with_its_code(marketplace: Marketplace, rosa: Requester) -> None:
    with refusing("HITDoesNotExist"):
        rosa.client.get_hit(HITId="3NONE")
    with refusing("InsufficientFunds"):
        rosa.hit(Reward="9000.00")
    marketplace.sql("ALTER TABLE marketplace_hit ADD CONSTRAINT full_up CHECK (annotation <> 'no room') NOT VALID")
    try:
        with refusing("ServiceFault"):
            rosa.hit(RequesterAnnotation="no room")
    finally:
        marketplace.sql("ALTER TABLE marketplace_hit DROP CONSTRAINT full_up")

    assert calls(marketplace, rosa.key_id) == [
        ("GetHIT", "3NONE", "HITDoesNotExist"),
        ("CreateHIT", "", "InsufficientFunds"),
        ("CreateHIT", "", "ServiceFault"),
    ]


def test_what_is_not_signed_by_the_key_is_not_recorded(marketplace: Marketplace, rosa: Requester) -> None:
    forged = marketplace.client(rosa.key_id, "another secret")

    with refusing("InvalidSignatureException"):
        forged.get_account_balance()

    assert calls(marketplace, rosa.key_id) == []


def test_a_call_is_done_though_it_cannot_be_recorded(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.sql("ALTER TABLE marketplace_apicall ADD CONSTRAINT full_up CHECK (operation <> 'CreateHIT') NOT VALID")
    try:
        hit_id = rosa.hit()["HITId"]
    finally:
        marketplace.sql("ALTER TABLE marketplace_apicall DROP CONSTRAINT full_up")

    assert rosa.status(hit_id) == "Assignable"
    assert calls(marketplace, rosa.key_id) == [("GetHIT", hit_id, "")]
    assert "could not be recorded" in marketplace.log()


def test_what_is_old_is_forgotten_once_a_day(marketplace: Marketplace, rosa: Requester) -> None:
    rosa.money()
    old = "UPDATE marketplace_apicall SET at = at - interval '91 days' WHERE operation = 'GetAccountBalance'"
    marketplace.sql(
        "INSERT INTO django_session VALUES ('over', '', now() - interval '1 hour'),"
        " ('still', '', now() + interval '1 day')"
    )
    marketplace.sql(
        "INSERT INTO marketplace_notification (key_id, destination, body, made_at, tries, next_try_at)"
        " SELECT id, name, '{}', now() + made, 1, due FROM marketplace_accesskey,"
        " (VALUES ('old', interval '-31 days', NULL::timestamptz), ('young', interval '-29 days', NULL),"
        "         ('waiting', interval '-31 days', now() + interval '99 days')) AS rows (name, made, due)"
        " WHERE key_id = %s",
        rosa.key_id,
    )
    marketplace.sql(old)
    rosa.hit()
    marketplace.sql("DELETE FROM marketplace_dailyrun")

    marketplace.test("tick")

    assert [operation for operation, _, _ in calls(marketplace, rosa.key_id)] == ["CreateHIT"]
    assert marketplace.sql("SELECT session_key FROM django_session WHERE session_key IN ('over', 'still')") == [
        ("still",)
    ]
    destinations = marketplace.sql("SELECT destination FROM marketplace_notification ORDER BY 1")
    assert [row for row in destinations if row[0] in ("old", "young", "waiting")] == [("waiting",), ("young",)]
    marketplace.sql("DELETE FROM marketplace_notification WHERE destination IN ('waiting', 'young')")
