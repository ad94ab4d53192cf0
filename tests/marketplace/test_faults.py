"""What tests rely on: faults where and when they are ordered, a storm that can be repeated, a clock that moves."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from tests.marketplace.conftest import refusing
from tests.marketplace.server import HTML_QUESTION, Marketplace, Requester, Worker, hit_type_facts


def test_before_the_commit_nothing_was_done(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.test("faults", script=[{"kind": "before_commit", "operation": "CreateHIT"}])
    assert rosa.money() == ("1000.00", "0.00")  # other operations do not meet it

    with refusing("ServiceFault") as refusal:
        rosa.hit(UniqueRequestToken="one")

    assert (refusal.status, refusal.turk_code) == (500, "AWS.ServiceUnavailable")
    assert rosa.client.list_hits()["NumResults"] == 0
    rosa.hit(UniqueRequestToken="one")


def test_after_the_commit_it_was_done(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.test("faults", script=[{"kind": "after_commit", "operation": "CreateHIT"}])

    with refusing("ServiceFault"):
        rosa.hit(UniqueRequestToken="one")

    (hit,) = rosa.client.list_hits()["HITs"]
    with refusing("HitAlreadyExists", hit["HITId"]):
        rosa.hit(UniqueRequestToken="one")
    assert marketplace.test("faults")["met"] == {"after_commit": 1}


def test_a_dropped_reply_closes_the_connection_after_the_commit(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.test("faults", script=[{"kind": "reply_dropped", "operation": "CreateHIT"}])

    with pytest.raises(ConnectionClosedError):
        rosa.hit(UniqueRequestToken="one")

    assert rosa.client.list_hits()["NumResults"] == 1


def test_throttling_is_plain(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.test("faults", script=[{"kind": "throttled", "times": 2}])

    for _ in range(2):
        with refusing("ThrottlingException", "Rate exceeded") as refusal:
            rosa.money()
        assert "TurkErrorCode" not in refusal.response

    assert rosa.money() == ("1000.00", "0.00")


def test_slow_answers_come_late_and_are_done(marketplace: Marketplace, rosa: Requester) -> None:
    marketplace.test("faults", script=[{"kind": "slow", "operation": "CreateHIT", "seconds": 1.5}])
    hurried = marketplace.client(rosa.key_id, rosa.secret, read_timeout=0.5)

    with pytest.raises(ReadTimeoutError):
        hurried.create_hit(LifetimeInSeconds=60, Question=HTML_QUESTION, **hit_type_facts())

    deadline = time.monotonic() + 60
    while rosa.client.list_hits()["NumResults"] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_approval_can_be_not_ready_yet(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit()["HITId"])
    marketplace.test("faults", script=[{"kind": "not_ready"}])
    rosa.money()

    with refusing("InvalidAssignmentState", "status of: null"):
        rosa.client.approve_assignment(AssignmentId=assignment_id)
    rosa.client.approve_assignment(AssignmentId=assignment_id)


def test_a_storm_is_the_same_for_the_same_seed(marketplace: Marketplace, rosa: Requester) -> None:
    chances = {"before_commit": 0.2, "after_commit": 0.2, "throttled": 0.2}

    def outcomes(seed: str) -> list[str]:
        marketplace.test("faults", clear=True, storm={"seed": seed, "chances": chances})
        statuses = []
        for _ in range(30):
            try:
                rosa.client.get_account_balance()
                statuses.append("")
            except rosa.client.exceptions.ClientError as error:
                statuses.append(error.response["Error"]["Code"])
        return statuses

    first = outcomes("seven")

    assert outcomes("seven") == first
    assert outcomes("eight") != first
    assert set(first) == {"", "ServiceFault", "ThrottlingException"}
    assert sum(marketplace.test("faults")["met"].values()) > 5
    assert "probabilities" in marketplace.refused("faults", storm={"seed": "1", "chances": {"slow": 1.5}})
    assert "There is no fault 'rain'" in marketplace.refused("faults", script=[{"kind": "rain"}])


def test_the_clock_can_be_set_and_moved(marketplace: Marketplace) -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)
    for change, expected in (({"set": start.isoformat()}, start), ({"advance": 3600}, start + timedelta(hours=1))):
        now = datetime.fromisoformat(marketplace.test("clock", **change)["now"])
        assert abs(now - expected) < timedelta(minutes=5)  # on a slow machine, too
    assert marketplace.test("clock", reset=True)["ahead"] == 0
