"""How the lists of a publication's submissions, payments, calls and problems can be narrowed and sorted."""

import json
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy

from core.lists import Columns, ListFilter, Sort, choice_filter, search_filter
from platforms import status as platform_status
from platforms.models import PUBLISHED_TO, Message, Operation, Payment, Submission
from platforms.money.pay_desk import BY_HAND, unpaid_keys
from pools.models import Campaign
from tasks.models import Assignment


class SubmissionFilter(ListFilter):
    """Submissions that need a review, all, or those that were rejected."""

    defaults = {"show": "waiting"}
    show = choice_filter(
        gettext_lazy("Show"),
        [
            ("waiting", gettext_lazy("needing review")),
            ("all", gettext_lazy("all")),
            ("rejected", gettext_lazy("rejected")),
        ],
        empty_label=None,
        method="by_decision",
    )

    def by_decision(self, submissions: QuerySet[Submission], _name: str, choice: str) -> QuerySet[Submission]:
        """Those that wait for a person (the oldest first), or that somebody rejected, here or there."""
        if choice == "waiting":
            return platform_status.for_a_person(submissions).order_by("submitted_at", "id")
        if choice == "rejected":
            rejected = Q(status=Submission.Status.REJECTED) | Q(decision=Submission.Decision.REJECT)
            return submissions.filter(rejected)
        return submissions


SUBMISSION_SORTS: dict[str, Sort] = {
    "submission": "pk",
    "hit": "published_hit__hit__number",
    "status": "status",
    "decision": "decision",
    "submitted": "submitted_at",
    "approval": "auto_approval_at",
}


class CompensationFilter(ListFilter):
    """Compensations by what became of the payment."""

    state = choice_filter(gettext_lazy("State"), Payment.State.choices)


class CostFilter(ListFilter):
    """Campaigns that have started, by name, lab and platform."""

    name = search_filter(gettext_lazy("Name"))
    lab = search_filter(gettext_lazy("Lab"), field_name="lab__name")
    platform = choice_filter(
        gettext_lazy("Platform"),
        list(PUBLISHED_TO.items()),
        field_name="publication__platform",
        null_label=gettext_lazy("Link or panel"),
    )


COST_SORTS: dict[str, Sort] = {
    "name": "name",
    "lab": "lab__name",
    "platform": "publication__platform",
    "created": "created_at",
}


class PayFilter(ListFilter):
    """Who is owed what: still to be paid, paid, or all; or what has this receipt, whichever it is."""

    defaults = {"show": "waiting"}
    receipt = search_filter(gettext_lazy("Receipt code"))
    show = choice_filter(
        gettext_lazy("Show"),
        [("waiting", gettext_lazy("to be paid")), ("paid", gettext_lazy("paid")), ("all", gettext_lazy("all"))],
        empty_label=None,
        method="by_state",
    )
    payer = choice_filter(
        gettext_lazy("Paid by"),
        [("lab", gettext_lazy("your lab")), ("platform", gettext_lazy("the platform"))],
        method="by_payer",
    )

    def __init__(self, *arguments: Any, campaign: Campaign, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.campaign = campaign

    def by_state(self, assignments: QuerySet[Any], _name: str, choice: str) -> QuerySet[Any]:
        """Those of a receipt are found whether they are paid or not."""
        if choice == "all" or self.form.cleaned_data.get("receipt"):
            return assignments
        if choice == "waiting":
            return assignments.filter(pk__in=unpaid_keys(self.campaign), to_pay__gt=0)
        return assignments.filter(to_pay=0)

    def by_payer(self, assignments: QuerySet[Assignment], _name: str, choice: str) -> QuerySet[Assignment]:
        return assignments.filter(BY_HAND) if choice == "lab" else assignments.exclude(BY_HAND)


PAY_SORTS: dict[str, Sort] = {
    "receipt": "receipt",
    "owed": "due",
    "paid": "paid",
    "to_pay": "to_pay",
    "since": "finished_at",
    "came": "worker__platform",
}
# For a payment service, or for one's own books.
PAY_COLUMNS: Columns = {
    "receipt": "receipt",
    "worker": "worker_id",
    "came_by": "worker.platform",
    "owed": "due",
    "paid": "paid",
    "to_be_paid": "to_pay",
    "currency": "campaign.currency",
    "since": "finished_at",
    "left_for_being_paid": "pay_detail",
}


class PaymentFilter(ListFilter):
    """Payments by purpose and state."""

    purpose = choice_filter(gettext_lazy("Purpose"), Payment.Purpose.choices)
    state = choice_filter(gettext_lazy("State"), Payment.State.choices)


PAYMENT_SORTS: dict[str, Sort] = {
    "payment": "pk",
    "purpose": "purpose",
    "amount": "amount",
    "fee": "fee",
    "state": "state",
    "assignment": "assignment",
    "owed": "owed_at",
    "paid": "paid_at",
}
COMPENSATION_SORTS: dict[str, Sort] = {
    "assignment": "assignment",
    "amount": "amount",
    "fee": "fee",
    "judged": "assignment__judged",
    "ended": "assignment__finished_at",
}


class CallFilter(ListFilter):
    """Calls that failed, by kind and state."""

    kind = choice_filter(gettext_lazy("Call"), Operation.Kind.choices)
    state = choice_filter(gettext_lazy("State"), Operation.State.choices)


CALL_SORTS: dict[str, Sort] = {"call": "kind", "state": "state", "tries": "attempts", "next": "next_try"}


class MessageFilter(ListFilter):
    state = choice_filter(gettext_lazy("State"), Message.State.choices)


MESSAGE_SORTS: dict[str, Sort] = {"when": "at", "state": "state"}

# What the lists' files hold. Workers are our own numbers of them, as in the ledger; the platform's ids leave in no
# file, and what a message says does not either, as it may name somebody.
SUBMISSION_COLUMNS: Columns = {
    "submission": "pk",
    "hit": "published_hit.hit.number",
    "platform_assignment": "platform_assignment_id",
    "assignment": "assignment_id",
    "status": "status",
    "why_unmatched": "why_unmatched",
    "decision": "decision",
    "decided_by": "decided_by",
    "decided_at": "decided_at",
    "reason": "reason",
    "submitted": "submitted_at",
    "automatic_approval": "auto_approval_at",
}
# Of platforms.status.CompensationRow.
COMPENSATION_COLUMNS: Columns = {
    "payment": "payment.pk",
    "assignment": "payment.assignment_id",
    "worker": lambda row: row.payment.assignment and row.payment.assignment.worker_id,
    "judged": lambda row: row.payment.assignment and row.payment.assignment.judged,
    "ended": lambda row: row.payment.assignment and row.payment.assignment.finished_at,
    "amount": "payment.amount",
    "fee": "payment.fee",
    "state": "payment.state",
    "offer": "state",
    "owed": "payment.owed_at",
    "paid": "payment.paid_at",
}
CALL_COLUMNS: Columns = {
    "call": "pk",
    "kind": "kind",
    "state": "state",
    "tries": "attempts",
    "error": "error",
    "next_try": "next_try",
    "ended": "ended_at",
}
MESSAGE_COLUMNS: Columns = {
    "message": "pk",
    "when": "at",
    "state": "state",
    "worker": "worker_id",
    "hit": lambda message: message.hit and message.hit.number,
    "sent_by": "by",
    "error": "error",
}
TERMS_COLUMNS: Columns = {
    "version": "version",
    "saved": "at",
    "saved_by": "by",
    "values": lambda version: json.dumps(version.values, ensure_ascii=False, sort_keys=True),
}
