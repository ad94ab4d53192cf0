"""The account's balance, blocks, and messages to workers."""

from typing import Any

from django.db.models import QuerySet

from marketplace.api import answers
from marketplace.api.calls import Call, handles, lists, performs
from marketplace.models import WorkerBlock
from marketplace.selectors import requesters as select
from marketplace.selectors.ledger import balance
from marketplace.services import accounts, messages

performs("CreateWorkerBlock", accounts.block_create, worker_id="WorkerId", reason="Reason")
performs("DeleteWorkerBlock", accounts.block_delete, worker_id="WorkerId")


@handles("GetAccountBalance")
def get_account_balance(call: Call) -> dict[str, Any]:
    """What can be spent, and what is held for HITs."""
    now = balance(call.requester.pk)
    return {"AvailableBalance": f"{now.available:.2f}", "OnHoldBalance": f"{now.on_hold:.2f}"}


@lists("ListWorkerBlocks", "WorkerBlocks", answers.block)
def list_worker_blocks(call: Call) -> QuerySet[WorkerBlock]:
    return select.blocks_of(call.requester)


@handles("NotifyWorkers")
def notify_workers(call: Call) -> dict[str, Any]:
    """Send a message to workers that the caller knows. Who was not told comes back."""
    failures = messages.workers_notify(
        requester=call.requester, **call.arguments(subject="Subject", text="MessageText", worker_ids="WorkerIds")
    )
    statuses = [
        {
            "NotifyWorkersFailureCode": "HardFailure",
            "NotifyWorkersFailureMessage": failure.message,
            "WorkerId": failure.worker_id,
        }
        for failure in failures
    ]
    return {"NotifyWorkersFailureStatuses": statuses}
