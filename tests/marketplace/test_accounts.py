"""Blocks and messages to workers, through the API."""

import pytest

from tests.marketplace.conftest import refusing
from tests.marketplace.server import Requester, Worker


def test_a_blocked_worker_gets_none_of_the_requesters_hits(rosa: Requester, omar: Requester, wanda: Worker) -> None:
    hit_id, others = rosa.hit()["HITId"], omar.hit()["HITId"]

    rosa.client.create_worker_block(WorkerId=wanda.id, Reason="Careless")
    rosa.client.create_worker_block(WorkerId=wanda.id, Reason="Careless twice")

    assert hit_id not in wanda.finds()
    assert others in wanda.finds()
    assert "does not accept work from you" in wanda.cannot_accept(hit_id)
    blocks = rosa.client.list_worker_blocks()
    assert blocks["WorkerBlocks"] == [{"WorkerId": wanda.id, "Reason": "Careless twice"}]
    assert omar.client.list_worker_blocks()["WorkerBlocks"] == []

    rosa.client.delete_worker_block(WorkerId=wanda.id, Reason="Forgiven")
    rosa.client.delete_worker_block(WorkerId=wanda.id)  # not blocked is no error

    wanda.accept(hit_id)
    with refusing("WorkerDoesNotExist"):
        rosa.client.create_worker_block(WorkerId="AUNKNOWN", Reason="Who?")


def test_only_workers_that_are_known_are_told(rosa: Requester, wanda: Worker, will: Worker) -> None:
    rosa.client.approve_assignment(AssignmentId=wanda.do(rosa.hit()["HITId"]))
    will.do(rosa.hit()["HITId"])  # submitted, not decided on

    failures = rosa.client.notify_workers(
        Subject="More work", MessageText="There are more pairs.", WorkerIds=[wanda.id, will.id, "AUNKNOWN", wanda.id]
    )["NotifyWorkersFailureStatuses"]

    assert [(failure["WorkerId"], failure["NotifyWorkersFailureCode"]) for failure in failures] == [
        (will.id, "HardFailure"),
        ("AUNKNOWN", "HardFailure"),
    ]
    assert "who has not done any work for you" in failures[0]["NotifyWorkersFailureMessage"]
    assert wanda.look()["messages"] == [{"subject": "More work", "text": "There are more pairs."}]
    assert will.look()["messages"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"WorkerIds": []},
        {"WorkerIds": ["A1"] * 101},
        {"Subject": "s" * 201},
        {"MessageText": "m" * 4097},
        {"Subject": " "},
    ],
)
def test_messages_have_limits(rosa: Requester, wanda: Worker, wrong: dict) -> None:
    with refusing("InvalidParameterValue"):
        rosa.client.notify_workers(**{"Subject": "s", "MessageText": "m", "WorkerIds": [wanda.id]} | wrong)
