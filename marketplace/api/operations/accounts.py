"""The account's balance, blocks, and messages to workers."""

from typing import Any

from marketplace.api.calls import Call, handles, listed
from marketplace.api.paging import page
from marketplace.selectors import requesters as select
from marketplace.selectors.ledger import balance
from marketplace.services import accounts, messages


@handles("GetAccountBalance")
def get_account_balance(call: Call) -> dict[str, Any]:
    """What can be spent, and what is held for HITs."""
    now = balance(call.requester.pk)
    return {"AvailableBalance": f"{now.available:.2f}", "OnHoldBalance": f"{now.on_hold:.2f}"}


@handles("CreateWorkerBlock")
def create_worker_block(call: Call) -> dict[str, Any]:
    """Keep a worker from the caller's HITs."""
    accounts.block_create(
        requester=call.requester, worker_id=call.parameters["WorkerId"], reason=call.parameters["Reason"]
    )
    return {}


@handles("DeleteWorkerBlock")
def delete_worker_block(call: Call) -> dict[str, Any]:
    """Take a block back; there need not be one."""
    accounts.block_delete(requester=call.requester, worker_id=call.parameters["WorkerId"])
    return {}


@handles("ListWorkerBlocks")
def list_worker_blocks(call: Call) -> dict[str, Any]:
    """Whom the caller blocks, and why."""
    page_of_blocks = page(select.blocks_of(call.requester), call.parameters, of=call.scope)
    blocks = [{"WorkerId": row.worker.worker_id, "Reason": row.reason} for row in page_of_blocks.rows]
    return listed(page_of_blocks, "WorkerBlocks", blocks)


@handles("NotifyWorkers")
def notify_workers(call: Call) -> dict[str, Any]:
    """Send a message to workers that the caller knows. Who was not told comes back."""
    failures = messages.workers_notify(
        requester=call.requester,
        subject=call.parameters["Subject"],
        text=call.parameters["MessageText"],
        worker_ids=call.parameters["WorkerIds"],
    )
    statuses = [
        {
            "NotifyWorkersFailureCode": "HardFailure" if failure.hard else "SoftFailure",
            "NotifyWorkersFailureMessage": failure.message,
            "WorkerId": failure.worker_id,
        }
        for failure in failures
    ]
    return {"NotifyWorkersFailureStatuses": statuses}
