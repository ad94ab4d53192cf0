"""Through the API: who is owed what, and what the lab has paid itself."""

from typing import Any

import pytest

from platforms.models import HandPayment
from pools.models import Campaign
from tasks.models import Assignment, Worker
from tasks.paying import pay_detail_write
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(campaign: Campaign, alice: Worker, bob: Worker) -> list[Assignment]:
    """Alice and Bob have finished a task each, by the link."""
    return [factories.do(worker, campaign) for worker in (alice, bob)]


def test_a_program_reads_who_is_owed_marks_them_as_paid_once_and_takes_it_back(
    campaign: Campaign, work: list[Assignment], program: Program
) -> None:
    address, first = f"campaigns/{campaign.pk}/pay/", work[0]
    pay_detail_write(worker=first.worker, campaign=campaign, text="alice@example.org", at=first.taken_at)

    def owed(**filters: str) -> dict[int, dict[str, Any]]:
        query = "&".join(f"{name}={value}" for name, value in filters.items())
        return {row["assignment"]: row for row in program.get(f"{address}?{query}").json()["results"]}

    assert set(owed()) == {row.pk for row in work}
    row = owed(receipt=first.receipt)[first.pk]
    assert (row["owed"], row["paid"], row["to_be_paid"], row["by_hand"]) == ("2.00", "0.00", "2.00", True)
    assert (row["receipt"], row["left_for_being_paid"]) == (first.receipt, "alice@example.org")

    sent = {"assignments": [first.pk], "paid_on": "2026-11-02", "note": "Transfer 17"}
    done = program.post(address, sent, Idempotency_Key="once").json()
    assert done == {"assignments": 1, "amount": "2.00"}
    assert program.post(address, sent, Idempotency_Key="once").json() == done
    assert program.post(address, sent).json() == {"assignments": 0, "amount": "0.00"}
    assert [(row.amount, row.by) for row in HandPayment.objects.all()] == [(first.owed, program.user)]
    assert set(owed(waiting="true")) == {work[1].pk} and set(owed(waiting="false")) == {first.pk}
    assert owed(by_hand="false") == {}

    back = program.post(f"{address}take-back/", {"assignments": [first.pk]}).json()
    assert back == {"assignments": 1, "amount": "2.00"}
    assert set(owed(waiting="true")) == {row.pk for row in work}
    assert HandPayment.objects.count() == 2


def test_payments_that_cannot_be_are_refused(campaign: Campaign, work: list[Assignment], program: Program) -> None:
    address, sent = f"campaigns/{campaign.pk}/pay/", {"assignments": [work[0].pk]}
    for wrong, field in (({"assignments": []}, "assignments"), (sent | {"note": "x" * 201}, "note")):
        assert_problem(program.post(address, wrong), 400, field=field)
    assert_problem(program.post(address, sent | {"paid_on": "2999-01-01"}), 400)
    assert not HandPayment.objects.exists()
