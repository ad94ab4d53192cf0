"""What was owed and paid, by our rows and by the platform's word."""

import csv
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, TextIO

from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _

from core.money import dollars
from platforms.adapter import Adapter, MarkedHit
from platforms.alarms import alarm_raise, alarm_settle
from platforms.models import Operation, Payment, Publication, Submission
from platforms.payments import payment_settle
from platforms.registry import adapter_of

ZERO = Decimal("0.00")
State, Purpose = Payment.State, Payment.Purpose
COLUMNS = (
    "payment assignment worker platform_assignment purpose state amount fee owed_at paid_at token evidence".split()
)


class LedgerRow(NamedTuple):
    """One paid effect, as the page and the export show it. Amounts in dollars; the token is the call's own.

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
    """Sums of a ledger in dollars. `owed` is all that is not paid and not refused; fees are of what is paid."""

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
        operations = [one for one in payment.operations.all() if one.kind != offer] or payment.operations.all()
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
    kept = {name: str(value) for name, value in payment.evidence.items() if not isinstance(value, dict | list)}
    for worker_id in ids - {""}:
        kept = {name: value.replace(worker_id, "…") for name, value in kept.items()}
    return kept


def totals(publication: Publication) -> Totals:
    """A publication's sums."""
    by_state: dict[str, tuple[Decimal, Decimal]] = {
        state: (amount, fee)
        for state, amount, fee in publication.payments.order_by()
        .values_list("state")
        .annotate(amount=Sum("amount"), fees=Sum("fee"))
    }
    amounts = {state: by_state.get(state, (ZERO, ZERO))[0] for state in State.values}
    paid_fees = by_state.get(State.PAID, (ZERO, ZERO))[1]
    return Totals(amounts[State.OWED] + amounts[State.SENT], amounts[State.PAID], paid_fees, amounts[State.REFUSED])


class _Lines:
    """Gives back what is written, so that a csv.writer makes lines."""

    def write(self, line: str) -> str:
        """The line."""
        return line


def ledger_lines(publication: Publication) -> Iterator[str]:
    """The ledger as lines of CSV: the head, then a payment each; times in UTC.

    A text of the platform's that a spreadsheet would take for a formula is preceded by an apostrophe.
    """
    writer = csv.writer(_Lines(), lineterminator="\n")
    yield writer.writerow(COLUMNS)
    for row in ledger_rows(publication):
        evidence = "; ".join(f"{name}={value}" for name, value in sorted(row.evidence.items()))
        times = [time.isoformat() if time else "" for time in (row.owed_at, row.paid_at)]
        who = [row.payment, row.assignment or "", row.worker or "", _no_formula(row.platform_assignment)]
        values = [row.purpose, row.state, row.amount, row.fee, *times, row.token, _no_formula(evidence)]
        yield writer.writerow([*who, *values])


def _no_formula(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def ledger_export(publication: Publication, to: TextIO) -> int:
    """Write the ledger as CSV. How many payments."""
    count = -1
    for line in ledger_lines(publication):
        to.write(line)
        count += 1
    return count


class Comparison(NamedTuple):
    """Our ledger beside the platform's: rewards of approved assignments, and bonuses, in dollars.

    `differences` are sentences, one for each HIT that the two do not agree on; `balance` is what the account has.
    """

    ours_rewards: Decimal
    ours_bonuses: Decimal
    platform_rewards: Decimal
    platform_bonuses: Decimal
    fees: Decimal
    balance: Decimal
    differences: list[str]

    @property
    def agree(self) -> bool:
        """Whether both say the same, HIT by HIT, to the cent."""
        return not self.differences


def _strays(publication: Publication, adapter: Adapter, there: dict[str, MarkedHit]) -> list[str]:
    """HITs that bear the publication's mark and that we do not know: published twice, whatever the reason."""
    known = set(publication.published_hits.exclude(platform_hit_id="").values_list("platform_hit_id", flat=True))
    unknown = {hit_id: hit.mark for hit_id, hit in there.items() if hit_id not in known}
    if not unknown:
        return []
    publishing = [Operation.Kind.CREATE, Operation.Kind.COMPENSATE]
    on_their_way = publication.operations.filter(ended_at=None, kind__in=publishing)
    awaited = {adapter.mark_of(operation) for operation in on_their_way}
    arrived = set(
        publication.published_hits.filter(platform_hit_id__in=list(unknown)).values_list("platform_hit_id", flat=True)
    )
    return [hit_id for hit_id, mark in unknown.items() if mark not in awaited and hit_id not in arrived]


def ledger_compare(*, publication: Publication, at: datetime) -> Comparison:
    """Ask the platform what it has paid on each HIT and compare; a difference raises an alarm.

    Rewards that the platform has paid and whose answer was lost are marked paid on the way.
    """
    adapter = adapter_of(publication)
    client = adapter.client()
    sums = {"ours_rewards": ZERO, "ours_bonuses": ZERO, "platform_rewards": ZERO, "platform_bonuses": ZERO}
    differences: list[str] = []
    there = adapter.marked_hits(client, publication)
    for hit_id in _strays(publication, adapter, there):
        differences.append(_("HIT %(hit)s is at the platform but unknown here.") % {"hit": hit_id})
    worked_on = publication.published_hits.exclude(platform_hit_id="").filter(submissions__isnull=False)
    for published_hit in worked_on.distinct().order_by("id").iterator(chunk_size=500):
        hit_id = published_hit.platform_hit_id
        works = (adapter.work_of(said) for said in adapter.submitted(client, hit_id))
        approved = {work.assignment_id: work.approval for work in works if work.status == Submission.Status.APPROVED}
        bonuses = adapter.bonuses_of(client, hit_id)
        # Of a HIT that is listed no more, the platform is asked.
        reward = (there[hit_id].reward if hit_id in there else adapter.reward_of(client, hit_id)) if approved else ZERO
        platform = (reward * len(approved), bonuses)
        for payment in publication.payments.filter(
            submission__published_hit=published_hit,
            purpose=Purpose.REWARD,
            submission__platform_assignment_id__in=list(approved),
        ).exclude(state=State.PAID):
            when = approved[payment.submission.platform_assignment_id] if payment.submission else ""
            payment_settle(payment_id=payment.pk, evidence={"found": "Approved", "ApprovalTime": when}, at=at)
        # Two questions, as one with an “or” would look through all payments for each HIT.
        offered = Payment.objects.filter(
            operations__published_hit=published_hit, purpose=Purpose.COMPENSATION, state=State.PAID
        )
        paid = Payment.objects.filter(submission__published_hit=published_hit, state=State.PAID)
        rows = {row.pk: row for row in [*paid, *offered]}.values()
        ours = (
            sum((row.amount for row in rows if row.purpose != Purpose.BONUS), ZERO),
            sum((row.amount for row in rows if row.purpose == Purpose.BONUS), ZERO),
        )
        for name, value in zip(
            ("ours_rewards", "ours_bonuses", "platform_rewards", "platform_bonuses"), ours + platform, strict=True
        ):
            sums[name] += value
        if ours != platform:
            text = _("HIT %(hit)s: we have rewards of %(r)s and bonuses of %(b)s, the platform %(vr)s and %(vb)s.")
            amounts = dict(zip(("r", "b", "vr", "vb"), map(dollars, ours + platform), strict=True))
            differences.append(text % {"hit": hit_id, **amounts})
    if differences:
        text = _("The platform's ledger differs on %(count)d HITs. %(first)s")
        text = text % {"count": len(differences), "first": differences[0]}
        alarm_raise(publication=publication, kind="ledger", text=text, at=at)
    else:
        alarm_settle(publication=publication, kind="ledger", at=at)
    return Comparison(**sums, fees=totals(publication).fees, balance=adapter.balance(client), differences=differences)
