"""What was owed and paid, by our rows."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import QuerySet

from core.lists import Lines, no_formula
from platforms.models import Operation, Payment, Publication
from pools.counting import counts_of

ZERO = Decimal("0.00")
State, Purpose = Payment.State, Payment.Purpose


class LedgerRow(NamedTuple):
    """One paid effect, as the page and the export show it. The token is the call's own.

    `worker` is our own number of them. In `evidence`, what the platform said has been reduced to single facts, without
    its id of the worker.
    """

    payment: int
    assignment: int | None
    worker: int | None
    platform_assignment: str
    purpose: str
    state: str
    amount: Decimal
    fee: Decimal
    owed_at: datetime
    paid_at: datetime | None
    token: str
    evidence: dict[str, str]


class Totals(NamedTuple):
    """Sums of a ledger. `owed` is all that is not paid and not refused; fees are of what is paid."""

    owed: Decimal
    paid: Decimal
    fees: Decimal
    refused: Decimal


def ledger_payments(publication: Publication) -> QuerySet[Payment]:
    """A publication's payments, oldest first."""
    return publication.payments.order_by("id")


def ledger_rows(publication: Publication, payments: QuerySet[Payment] | None = None) -> Iterator[LedgerRow]:
    """The ledger, oldest first; for a page, of some payments only. Worker ids are not in it."""
    rows = ledger_payments(publication) if payments is None else payments
    chosen = rows.select_related("assignment__worker", "submission").prefetch_related("operations")
    for payment in chosen.iterator(chunk_size=500):
        offer = Operation.Kind.COMPENSATE
        operations = [
            operation for operation in payment.operations.all() if operation.kind != offer
        ] or payment.operations.all()
        platform_id = payment.submission.platform_assignment_id if payment.submission else ""
        yield LedgerRow(
            payment=payment.pk,
            assignment=payment.assignment_id,
            worker=payment.assignment.worker_id if payment.assignment else None,
            platform_assignment=platform_id
            or (payment.assignment.platform_assignment_id if payment.assignment else ""),
            purpose=payment.purpose,
            state=payment.state,
            amount=payment.amount,
            fee=payment.fee,
            owed_at=payment.owed_at,
            paid_at=payment.paid_at,
            token=operations[0].token if operations else payment.token,
            evidence=_without_worker(payment),
        )


def _without_worker(payment: Payment) -> dict[str, str]:
    ids = {payment.submission.platform_worker_id} if payment.submission else set()
    ids |= {payment.assignment.worker.external_id} if payment.assignment else set()
    evidence = {name: str(value) for name, value in payment.evidence.items() if not isinstance(value, dict | list)}
    for worker_id in ids - {""}:
        evidence = {name: value.replace(worker_id, "…") for name, value in evidence.items()}
    return evidence


def totals(publication: Publication) -> Totals:
    by_state: defaultdict[str, tuple[Decimal, Decimal]] = defaultdict(lambda: (ZERO, ZERO))
    for (_purpose, state), total in counts_of(publication.campaign, "payments").items():
        amount, fees = by_state[state]
        by_state[state] = amount + total.amount, fees + total.fee
    amounts = {state: by_state[state][0] for state in State.values}
    paid_fees = by_state[State.PAID][1]
    return Totals(amounts[State.OWED] + amounts[State.SENT], amounts[State.PAID], paid_fees, amounts[State.REFUSED])


def ledger_lines(publication: Publication) -> Iterator[str]:
    """The ledger as lines of CSV: the head, then a payment each; times in UTC.

    A text of the platform's that a spreadsheet would take for a formula is preceded by an apostrophe.
    """
    writer = csv.writer(Lines(), lineterminator="\n")
    yield writer.writerow(LedgerRow._fields)
    for row in ledger_rows(publication):
        evidence = "; ".join(f"{name}={value}" for name, value in sorted(row.evidence.items()))
        times = [time.isoformat() if time else "" for time in (row.owed_at, row.paid_at)]
        who = [row.payment, row.assignment or "", row.worker or "", no_formula(row.platform_assignment)]
        values = [row.purpose, row.state, row.amount, row.fee, *times, row.token, no_formula(evidence)]
        yield writer.writerow([*who, *values])
