"""Erasing who a worker is, once nothing is owed, and telling a worker what is stored.

The worker id stays: it is the pseudonym under which the ledger, and each requester's work, is kept.
"""

from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marketplace import clock
from marketplace.errors import NotAllowed
from marketplace.models import (
    Account,
    Assignment,
    AuditEvent,
    Dispute,
    Entry,
    Invitation,
    Message,
    Qualification,
    QualificationRequest,
    Worker,
    WorkerBlock,
)
from marketplace.selectors.earnings import earnings_of
from marketplace.services.accounts import audit_note, worker_set_status

NOWHERE = "ZZ"  # no country's code
State = Assignment.State


class Plan(NamedTuple):
    """What an erasure would do: `goes` as (what, how many), `stays` as (what, how many, why), and why not yet."""

    worker: Worker
    goes: list[tuple[str, int]]
    stays: list[tuple[str, int, str]]
    obstacles: list[str]


def erasure_plan(worker: Worker) -> Plan:
    """What erasing a worker would do now, and what stands in the way."""
    accounts = 0 if worker.erased_at else 1
    texts = [
        WorkerBlock.objects.filter(worker=worker).exclude(reason=""),
        Qualification.objects.filter(worker=worker).exclude(reason=""),
        QualificationRequest.objects.filter(worker=worker).exclude(reason=""),
    ]
    goes = [
        (_("email address, password, country and state"), accounts),
        (_("messages, both ways"), Message.objects.filter(worker=worker).count()),
        (_("texts of disputes"), _disputes(worker).exclude(text="", answer="").count()),
        (_("reasons of blocks and qualifications"), sum(rows.count() for rows in texts)),
        (_("address and note of the invitation"), _invitations(worker).exclude(email="", note="").count()),
    ]
    stays = [
        (_("the worker id"), 1, _("It is the pseudonym that requesters and the ledger know. It names nobody here.")),
        (
            _("assignments, with their answers"),
            Assignment.objects.filter(worker=worker).count(),
            _("They are the requesters' work, which was paid for."),
        ),
        (
            _("entries of the ledger"),
            Entry.objects.filter(worker=worker).count(),
            _("They cannot be changed, and say who was paid what."),
        ),
        (
            _("entries of the audit"),
            AuditEvent.objects.filter(subject=worker.worker_id).count(),
            _("They cannot be changed, and name the worker id alone."),
        ),
    ]
    return Plan(worker, goes, stays, [] if worker.erased_at else _obstacles(worker))


def _obstacles(worker: Worker) -> list[str]:
    obstacles = []
    if worker.account.is_operator:
        obstacles.append(_("The account is an operator's, too."))
    working = Assignment.objects.filter(worker=worker, state__in=[State.ACCEPTED, State.SUBMITTED]).count()
    if working:
        text = ngettext(
            "%(count)d task is accepted or not decided on.", "%(count)d tasks are accepted or not decided on.", working
        )
        obstacles.append(text % {"count": working})
    if _disputes(worker).filter(state=Dispute.State.OPEN).exists():
        obstacles.append(_("A dispute is open."))
    owed = earnings_of(worker).owed
    if owed:
        obstacles.append(
            _("$%(owed)s is owed. Pay it out first: without the address, it could not be paid.") % {"owed": owed}
        )
    return obstacles


def _disputes(worker: Worker) -> Any:
    return Dispute.objects.filter(assignment__worker=worker)


def _invitations(worker: Worker) -> Any:
    return Invitation.objects.filter(used_by=worker)


@transaction.atomic
def worker_erase(*, worker: Worker, actor: Account | str, reason: str) -> Plan:
    """Close the account and remove who the worker is. Raises NotAllowed while something is open.

    Doing it again changes nothing.
    """
    worker = Worker.objects.select_for_update(no_key=True, of=("self",)).select_related("account").get(pk=worker.pk)
    plan = erasure_plan(worker)
    if worker.erased_at:
        return plan
    if plan.obstacles:
        raise NotAllowed(_("The worker cannot be erased yet. %(why)s") % {"why": " ".join(plan.obstacles)})
    worker_set_status(worker=worker, status=Worker.Status.CLOSED)
    account = worker.account
    account.email, account.is_active = f"erased-{account.pk}@erased.invalid", False
    account.set_unusable_password()
    account.save(update_fields=["email", "is_active", "password"])
    worker.country, worker.subdivision, worker.adult_content = NOWHERE, "", False
    worker.erased_at = clock.now()
    worker.save(update_fields=["country", "subdivision", "adult_content", "erased_at"])
    Message.objects.filter(worker=worker).delete()
    _disputes(worker).update(text="", answer="")
    _invitations(worker).update(email="", note="")
    for model in (WorkerBlock, Qualification, QualificationRequest):
        model._default_manager.filter(worker=worker).update(reason="")
    audit_note(actor=actor, action=AuditEvent.Action.ERASE_WORKER, subject=worker.worker_id, reason=reason)
    return plan


def workers_erase_idle(*, days: int) -> tuple[int, list[str]]:
    """Erase workers who have neither logged in nor taken a task for so many days. How many were erased, and the ids of
    those who wait, as they have open work or money.
    """
    before, erased, unerased = clock.now() - timedelta(days=days), 0, list[str]()
    idle = Worker.objects.filter(erased_at=None, registered_at__lt=before, account__is_operator=False)
    idle = idle.annotate(last=Max("assignments__accepted_at")).filter(Q(last=None) | Q(last__lt=before))
    for worker in idle.exclude(account__last_login__gte=before).order_by("pk"):
        try:
            worker_erase(worker=worker, actor="retention", reason=f"Not seen for {days} days")
        except NotAllowed:
            unerased.append(worker.worker_id)
        else:
            erased += 1
    return erased, unerased


@transaction.atomic
def account_close(*, worker: Worker) -> None:
    """A worker closes their own account. What is owed stays owed. Raises NotAllowed while a task is accepted."""
    if Assignment.objects.filter(worker=worker, state=State.ACCEPTED).exists():
        raise NotAllowed(_("You have accepted a task. Submit or return it first."))
    worker_set_status(worker=worker, status=Worker.Status.CLOSED)


def personal_data(worker: Worker) -> dict[str, Any]:
    """All that is stored of a worker, for the worker. Of blocks, the reasons are between requesters and operators."""
    assignments = Assignment.objects.filter(worker=worker).select_related("hit__hit_type", "hit__requester")
    return {
        "account": _values(worker.account, "email", "created_at", "last_login", "is_active"),
        "worker": _values(
            worker,
            *("worker_id", "status", "country", "subdivision", "adult_content", "is_master", "vouched_approved"),
            *("vouched_rejected", "registered_at", "erased_at"),
        ),
        "assignments": [
            {"hit": row.hit.hit_id, "title": row.hit.hit_type.title, "requester": row.hit.requester.name}
            | _values(
                row,
                *("assignment_id", "state", "reward", "accepted_at", "deadline", "left_at", "submitted_at"),
                *("approved_at", "rejected_at", "answer", "feedback"),
            )
            for row in assignments.order_by("pk").iterator(chunk_size=1_000)
        ],
        "money": [
            _values(row, "at", "kind", "earned", "note")
            for row in Entry.objects.filter(worker=worker).exclude(earned=0).order_by("pk").iterator(chunk_size=1_000)
        ],
        "messages": [
            {"requester": row.requester.name} | _values(row, "direction", "subject", "text", "sent_at", "read_at")
            for row in Message.objects.filter(worker=worker).select_related("requester").order_by("pk")
        ],
        "disputes": [
            {"assignment": row.assignment.assignment_id}
            | _values(row, "text", "state", "opened_at", "closed_at", "answer")
            for row in _disputes(worker).select_related("assignment").order_by("pk")
        ],
        "qualifications": [
            {"name": row.qualification_type.name} | _values(row, "value", "status", "granted_at", "reason")
            for row in Qualification.objects.filter(worker=worker).select_related("qualification_type").order_by("pk")
        ],
        "qualification_requests": [
            {"name": row.qualification_type.name} | _values(row, "state", "submitted_at", "decided_at", "reason")
            for row in QualificationRequest.objects.filter(worker=worker)
            .select_related("qualification_type")
            .order_by("pk")
        ],
    }


def _values(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
