"""Erasing who a worker is, once their money is settled, and telling a worker what is stored.

What a worker judged stays, under the same pseudonyms, which are keyed with the worker's row and not with who it was: so
exports stay as they are, to the byte. All of a worker's erasure is one transaction.
"""

import logging
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.audit.notes import entry_note
from core.audit.origin import because
from core.audit.retention import worker_forget
from core.comparing import compared
from core.errors import NotNow
from core.models import Alarm, Lab
from judgments.models import Decision, Judgment, PairReport, WorkerNote
from platforms.models import HandPayment, Message, Operation, Payment, Publication, Submission
from platforms.money.pay_desk import OWED_BY_HAND, ZERO, with_pay
from platforms.reviewing.compensations import GRACE
from pools.models import Campaign
from protection.models import Retention, RetentionResult
from review.models import BulkRow
from tasks.models import Assignment, Consent, Invitation, PanelVisit, Platform, Practice, Worker
from tasks.names import erased_name, pseudonym, with_name
from tasks.paying import pay_detail_opened

PSEUDONYM_LENGTH = 16
KEPT_NAMED = 200  # workers whom a period could not erase, of whom it is stored why
LOST = timedelta(days=1)  # a message that is still being sent: its process has died
log = logging.getLogger(__name__)

_ERASED = "erased-"  # begins what stands in for the id of a session


class Plan(NamedTuple):
    """What an erasure would do: `goes` as (key, what, how many), `stays` as (what, how many, why), `obstacles` as
    sentences. `owed` is what the lab has still to pay itself, by campaign: somebody must write it off.
    """

    worker: Worker
    pseudonyms: list[tuple[str, str]]
    goes: list[tuple[str, str, int]]
    stays: list[tuple[str, int, str]]
    obstacles: list[str]
    owed: list[tuple[Campaign, Decimal]]

    @property
    def debt(self) -> str:
        """What is owed, in words; empty if nothing is."""
        return ", ".join(f"{campaign.money(amount)} ({campaign.name})" for campaign, amount in self.owed)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left that says who it is."""
        return not any(count for _key, _what, count in self.goes)

    def as_json(self) -> dict[str, Any]:
        """The same for a script."""
        return {
            "worker": self.worker.pk,
            "lab": self.worker.lab.name,
            "platform": self.worker.platform,
            "pseudonyms": dict(self.pseudonyms),
            "erased_at": self.worker.erased_at.isoformat() if self.worker.erased_at else None,
            "goes": {key: count for key, _what, count in self.goes if count},
            "stays": [{"what": what, "count": count, "why": why} for what, count, why in self.stays if count],
            "obstacles": self.obstacles,
            "owed": {campaign.name: str(amount) for campaign, amount in self.owed},
        }


# --- whom


def workers_called(labs: QuerySet[Lab], words: str) -> QuerySet[Worker]:
    """Workers of these labs with a platform's id, a panel's name, the number of their row, or one of our pseudonyms."""
    words = words.strip()
    if not words:
        return Worker.objects.none()
    submitted = Submission.objects.filter(platform_worker_id=words, assignment__isnull=False)
    at_a_panel = Q(platform=Platform.PANEL, external_id__endswith=f": {words}")  # after the panel's name
    named = Q(label_key=compared(words)) & ~Q(label_key="")
    by_words = Q(external_id=words) | at_a_panel | named | Q(pk__in=submitted.values("assignment__worker"))
    if words.isdecimal() and len(words) < PSEUDONYM_LENGTH:
        by_words |= Q(pk=int(words))
    if len(words) == PSEUDONYM_LENGTH:
        by_words |= Q(pk__in=_behind(labs, words.lower()))
    return with_name(Worker.objects.filter(by_words, lab__in=labs)).select_related("lab").order_by("pk")


def _behind(labs: QuerySet[Lab], name: str) -> list[int]:
    """The worker with a pseudonym, which says in no other way whose it is than by being made again."""
    for campaign in Campaign.objects.filter(lab__in=labs).exclude(state=Campaign.State.DRAFT):
        workers = Assignment.objects.filter(campaign=campaign).order_by().values_list("worker", flat=True).distinct()
        for worker_id in workers.iterator():
            if pseudonym(campaign, worker_id) == name:
                return [worker_id]
    return []


# --- what


class _Rows(NamedTuple):
    assignments: QuerySet[Assignment]
    submissions: QuerySet[Submission]
    payments: QuerySet[Payment]
    operations: QuerySet[Operation]
    alarms: QuerySet[Alarm]


def _rows_of(worker: Worker) -> _Rows:
    assignments = Assignment.objects.filter(worker=worker)
    whose = Q(assignment__worker=worker)
    if worker.external_id:  # submitted work that matches none of ours, too
        whose |= Q(
            platform_worker_id=worker.external_id,
            publication__platform=worker.platform,
            publication__campaign__lab=worker.lab_id,
        )
    submissions = Submission.objects.filter(pk__in=list(Submission.objects.filter(whose).values_list("pk", flat=True)))
    payments = Payment.objects.filter(Q(assignment__worker=worker) | Q(submission__in=submissions))
    operations = Operation.objects.filter(
        Q(worker=worker) | Q(submission__in=submissions) | Q(payment__in=payments.values("pk"))
    )
    about = Q(about="worker", about_id=worker.pk)
    for rows in (assignments, submissions, operations):
        about |= Q(about=rows.model._meta.model_name, about_id__in=rows.values("pk"))
    alarms = Alarm.objects.filter(about)
    return _Rows(assignments, submissions, payments, operations, alarms)


def erasure_plan(worker: Worker, *, at: datetime) -> Plan:
    """What erasing a worker would do now, and what stands in the way."""
    rows = _rows_of(worker)
    named = sum(map(bool, (worker.label, worker.external_id, worker.joined_with)))
    reasons = Decision.objects.filter(worker=worker, by__isnull=False).exclude(why="")
    ids = rows.assignments.filter(_has_id() | ~Q(came_from="") | ~Q(receipt=""))
    calls = rows.operations.exclude(request={}, result={}, error="")
    evidence = rows.payments.exclude(evidence={}, why="")
    goes = [
        ("identity", _("the worker's name, platform id and what they entered when joining"), named),
        ("pay_details", _("what the worker left so that they could be paid"), worker.pay_details.count()),
        ("invitations", _("invitations and personal links"), Invitation.objects.filter(worker=worker).count()),
        ("sessions", _("ids of sessions at a panel"), _named_visits(worker).count()),
        ("assignment_ids", _("assignments with a platform's id, a receipt or a digest of an address"), ids.count()),
        (
            "submissions",
            _("submissions with ids of the platform, or a text"),
            rows.submissions.filter(_names_somebody()).count(),
        ),
        ("calls", _("calls to the platform: what they said"), calls.count()),
        (
            "payment_evidence",
            _("evidence of payments, as the platform gave it, and reasons of bonuses"),
            evidence.count(),
        ),
        (
            "payment_notes",
            _("notes of payments that the lab made itself"),
            _hand_payments(worker).exclude(note="").count(),
        ),
        ("alarms", _("alarms about the worker or the work"), rows.alarms.count()),
        ("decision_reasons", _("reasons that people gave for decisions"), reasons.count()),
        ("message_texts", _("texts of messages"), Message.objects.filter(worker=worker).exclude(text="").count()),
        (
            "notes",
            _("notes from the worker, and on reported pairs"),
            PairReport.objects.filter(assignment__worker=worker).exclude(note="").count()
            + WorkerNote.objects.filter(assignment__worker=worker).count(),
        ),
    ]
    pseudonymous = _("They name nobody: exports have them under a pseudonym, and qrels rest on them.")
    judgments = Judgment.objects.filter(assignment__worker=worker)
    stays = [
        (_("judgments, with their times"), judgments.count(), pseudonymous),
        (_("assignments, without the platform's ids"), rows.assignments.count(), pseudonymous),
        (
            _("reports of pairs, without notes"),
            PairReport.objects.filter(assignment__worker=worker).count(),
            pseudonymous,
        ),
        (
            _("consents: version of the text, and when"),
            Consent.objects.filter(worker=worker).count(),
            _("They show that the judgments were given with consent."),
        ),
        (
            _("answers in practice, with their times"),
            Practice.objects.filter(worker=worker).count(),
            _("They name nobody, and are in no export."),
        ),
        (
            _("decisions: what, when and by whom"),
            Decision.objects.filter(worker=worker).count(),
            _("They say which judgments count."),
        ),
        (
            _("payments: amount, token and time"),
            rows.payments.count() + _hand_payments(worker).count(),
            _("The ledger has to agree with the platform's, and may be needed for taxes."),
        ),
    ]
    campaigns = list(Campaign.objects.filter(assignments__worker=worker).distinct().order_by("pk"))
    return Plan(
        worker,
        [(campaign.name, pseudonym(campaign, worker.pk)) for campaign in campaigns],
        goes,
        stays,
        [] if worker.erased_at and not any(count for _key, _what, count in goes) else _obstacles(worker, rows, at),
        _owed_by_hand(worker, campaigns),
    )


def _owed_by_hand(worker: Worker, campaigns: list[Campaign]) -> list[tuple[Campaign, Decimal]]:
    """What no platform pays, by campaign. Once the worker is erased, nobody can tell whom to pay."""
    work = Assignment.objects.filter(OWED_BY_HAND, worker=worker)
    owed = dict[int, Decimal]()
    for campaign, amount in with_pay(work).filter(to_pay__gt=0).values_list("campaign", "to_pay"):
        owed[campaign] = owed.get(campaign, ZERO) + amount
    return [(campaign, owed[campaign.pk]) for campaign in campaigns if campaign.pk in owed]


def _hand_payments(worker: Worker) -> QuerySet[HandPayment]:
    return HandPayment.objects.filter(assignment__worker=worker)


def _has_id() -> Q:
    return ~Q(platform_assignment_id="") & ~Q(platform_assignment_id__startswith="erased-")


def _names_somebody() -> Q:
    return ~Q(platform_worker_id="") | _has_id() | ~Q(receipt="") | ~Q(why_unmatched="") | ~Q(reason="")


def _obstacles(worker: Worker, rows: _Rows, at: datetime) -> list[str]:
    """Why a worker cannot be erased yet. Without their ids nothing more could be paid to them."""
    reasons = []
    if rows.assignments.filter(state=Assignment.State.ACTIVE, leased_until__gt=at).exists():
        reasons.append(_("The worker is judging now. Wait until the task is finished, left, or out of time."))
    unpaid = rows.payments.filter(state__in=[Payment.State.OWED, Payment.State.SENT]).count()
    if unpaid:
        reasons.append(
            ngettext(
                "%(count)d payment is owed or on its way. Without the platform's id it could not be made.",
                "%(count)d payments are owed or on their way. Without the platform's id they could not be made.",
                unpaid,
            )
            % {"count": unpaid}
        )
    undecided = rows.submissions.filter(
        Q(decision=Submission.Decision.NONE) | Q(status=Submission.Status.SUBMITTED)
    ).count()
    if undecided:
        reasons.append(
            ngettext(
                "%(count)d submission is not decided on, or the platform has not confirmed the decision.",
                "%(count)d submissions are not decided on, or the platform has not confirmed the decisions.",
                undecided,
            )
            % {"count": undecided}
        )
    if rows.operations.filter(ended_at=None).exists():
        reasons.append(_("Calls to the platform about the worker are planned or on their way."))
    reasons += _of_messages(worker, at)
    awaited = rows.assignments.filter(_has_id(), submission=None, finished_at__isnull=False)
    for publication in Publication.objects.filter(campaign__assignments__in=awaited).distinct():
        of_it = awaited.filter(campaign=publication.campaign_id, payments=None)
        if of_it.filter(finished_at__gt=at - publication.longest_time - GRACE).exists():
            reasons.append(_("Work that was finished here may still be submitted at the platform."))
            break
    return reasons


def _of_messages(worker: Worker, at: datetime) -> list[str]:
    reasons, exchanged, states = [], Message.objects.filter(worker=worker), Message.State
    unanswered = exchanged.filter(state=states.RECEIVED).count()
    if unanswered:
        reasons.append(
            ngettext(
                "%(count)d message of the worker has no answer. Answer it, or decide that it needs none.",
                "%(count)d messages of the worker have no answer. Answer them, or decide that they need none.",
                unanswered,
            )
            % {"count": unanswered}
        )
    unsent = exchanged.filter(Q(state=states.PLANNED) | Q(state=states.SENDING, at__gt=at - LOST)).count()
    if unsent:
        reasons.append(
            ngettext(
                "%(count)d message to the worker is not sent yet.",
                "%(count)d messages to the worker are not sent yet.",
                unsent,
            )
            % {"count": unsent}
        )
    return reasons


# --- doing it


@transaction.atomic
def worker_erase(*, worker: Worker, at: datetime, why: str = "", write_off: bool = False) -> Plan:
    """Remove who a worker is. Raises NotNow while money is unsettled, or where the lab owes the worker something that
    nobody writes off. Doing it again changes nothing.
    """
    worker = Worker.objects.select_for_update(of=("self",)).select_related("lab").get(pk=worker.pk)
    plan = erasure_plan(worker, at=at)
    if plan.obstacles:
        raise NotNow(_("The worker cannot be erased yet. %(why)s") % {"why": " ".join(plan.obstacles)})
    if worker.erased_at and plan.is_done:
        return plan
    if plan.owed and not write_off:
        text = _(
            "The lab still owes this worker %(debt)s. Pay it and mark it as paid, or say that the debt is written off."
        )
        raise NotNow(text % {"debt": plan.debt})
    rows = _rows_of(worker)
    with because(_without_names(why, worker, rows)):
        rows.alarms.delete()
        for submission in rows.submissions.filter(_names_somebody()).select_related("publication__campaign"):
            _erase_submission(submission)
        rows.payments.exclude(evidence={}, why="").update(evidence={}, why="")
        _hand_payments(worker).exclude(note="").update(note="")
        rows.operations.exclude(request={}, result={}, error="").update(request={}, result={}, error="")
        _erase_assignments(rows.assignments)
        PairReport.objects.filter(assignment__worker=worker).exclude(note="").update(note="")
        WorkerNote.objects.filter(assignment__worker=worker).delete()
        Message.objects.filter(worker=worker).exclude(text="").update(subject="", text="", error="")
        BulkRow.objects.filter(worker=worker).exclude(error="").update(error="")
        Invitation.objects.filter(worker=worker).delete()
        worker.pay_details.all().delete()
        for visit in _named_visits(worker):
            PanelVisit.objects.filter(pk=visit.pk).update(session=f"{_ERASED}{visit.pk}")
        with connection.cursor() as cursor:
            cursor.execute("SELECT judgments_forget_reasons(%s)", [worker.pk])
        worker.label = worker.external_id = ""
        worker.joined_with, worker.erased_at = None, worker.erased_at or at
        worker.save(update_fields=["label", "label_key", "external_id", "joined_with", "erased_at"])
        worker_forget(worker_id=worker.pk)
        debt: dict[str, Any] = {"written_off": plan.debt} if plan.owed else {}
        entry_note(subject="erasure", action="worker", key=worker.pk, lab_id=worker.lab_id, **debt)
    return plan


def _without_names(why: str, worker: Worker, rows: _Rows) -> str:
    """The reason of an erasure, which the audit keeps, without what says who it was."""
    names = {worker.external_id, worker.external_id.rpartition(": ")[2], worker.label}
    names |= {name for pair in rows.assignments.values_list("platform_assignment_id", "receipt") for name in pair}
    names |= set(rows.submissions.values_list("platform_worker_id", flat=True))
    for name in sorted(filter(None, names), key=len, reverse=True):
        why = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", why, flags=re.IGNORECASE)
    return why


def _named_visits(worker: Worker) -> QuerySet[PanelVisit]:
    return PanelVisit.objects.filter(worker=worker).exclude(session__startswith=_ERASED)


def _erase_submission(submission: Submission) -> None:
    name = submission.platform_assignment_id
    if not name.startswith("erased-"):
        name = erased_name(submission.publication.campaign, name)
    Submission.objects.filter(pk=submission.pk).update(
        platform_assignment_id=name, platform_worker_id="", receipt="", why_unmatched="", reason=""
    )


def _erase_assignments(assignments: QuerySet[Assignment]) -> None:
    """Replace their ids at the platform, and do not empty them: what came through one stays recognizable as that."""
    named = assignments.filter(_has_id() | ~Q(came_from="") | ~Q(receipt=""))
    for assignment in named.select_related("campaign"):
        name = assignment.platform_assignment_id
        if name and not name.startswith("erased-"):
            assignment.platform_assignment_id = erased_name(assignment.campaign, name)
        assignment.came_from = assignment.receipt = ""
        assignment.save(update_fields=["platform_assignment_id", "came_from", "receipt"])


# --- a whole campaign, and what has been kept long enough


class Erased(NamedTuple):
    """How many workers were erased, and why others were not, by their keys."""

    erased: int
    refusals: dict[int, str]


def campaign_workers(campaign: Campaign) -> QuerySet[Worker]:
    """Workers of a campaign who are not erased."""
    came = Q(assignments__campaign=campaign) | Q(invitations__campaign=campaign)
    return Worker.objects.filter(came, erased_at=None).distinct().select_related("lab").order_by("pk")


def campaign_erase(*, campaign: Campaign, at: datetime, why: str = "") -> Erased:
    """Erase the workers of a closed campaign, each on their own; those with unsettled work, or work elsewhere, stay."""
    if campaign.state != Campaign.State.CLOSED:
        raise NotNow(_("The campaign is not closed: its workers are still needed."))
    return _erase_each(campaign_workers(campaign), at=at, why=why)


def retention_set(*, lab: Lab, worker_days: int | None, audit_days: int | None) -> Retention:
    """Set a lab's periods; None keeps what it is for."""
    retention, _new = Retention.objects.update_or_create(
        lab=lab, defaults={"worker_days": worker_days, "audit_days": audit_days}
    )
    if not worker_days:
        RetentionResult.objects.filter(lab=lab).delete()
    return retention


def retention_due(*, lab: Lab, days: int, at: datetime) -> QuerySet[Worker]:
    """The lab's workers whose last work, or invitation, was so many days ago."""
    before = at - timedelta(days=days)
    workers = Worker.objects.filter(lab=lab, erased_at=None, came_at__lt=before).select_related("lab")
    last = workers.annotate(last=Max("assignments__taken_at"), invited=Max("invitations__created_at"))
    return last.filter(Q(last=None) | Q(last__lt=before), Q(invited=None) | Q(invited__lt=before)).order_by("pk")


def retention_keep(*, lab: Lab, days: int, at: datetime) -> Erased:
    """Erase a lab's workers whose last work, or invitation, was so many days ago. Who cannot be erased yet is kept, and
    the result says why.
    """
    done = _erase_each(
        retention_due(lab=lab, days=days, at=at),
        at=at,
        why=ngettext("The lab keeps such data for %(days)d day.", "The lab keeps such data for %(days)d days.", days)
        % {"days": days},
    )
    rows = [{"worker": worker, "why": why} for worker, why in sorted(done.refusals.items())[:KEPT_NAMED]]
    values = {"at": at, "erased": done.erased, "kept_count": len(done.refusals), "kept": rows}
    RetentionResult.objects.update_or_create(lab=lab, defaults=values)
    return done


def _erase_each(workers: Iterable[Worker], *, at: datetime, why: str) -> Erased:
    erased, refusals = 0, {}
    for worker in list(workers):
        try:
            if Campaign.objects.filter(_takes_part(worker)).exclude(state=Campaign.State.CLOSED).exists():
                raise NotNow(_("The worker takes part in a campaign that is not closed."))
            worker_erase(worker=worker, at=at, why=why)
        except NotNow as error:
            refusals[worker.pk] = str(error)
        except Exception as error:
            log.exception("Erasing worker %s", worker.pk)
            refusals[worker.pk] = _("It failed (%(error)s). The log says more.") % {"error": type(error).__name__}
        else:
            erased += 1
    return Erased(erased, refusals)


def _takes_part(worker: Worker) -> Q:
    return Q(assignments__worker=worker) | Q(invitations__worker=worker)


# --- what a worker is told


def personal_data(worker: Worker) -> dict[str, Any]:
    """All that is stored of one worker, for the worker."""
    rows = _rows_of(worker)
    campaigns = {campaign.pk: campaign for campaign in Campaign.objects.filter(_takes_part(worker)).distinct()}
    consents = Consent.objects.filter(worker=worker).select_related("text").order_by("pk")
    judgments = Judgment.objects.filter(assignment__worker=worker).select_related(
        "item__pair__a", "item__pair__b", "item__pair__pool__query", "item__test"
    )
    return {
        "worker": _values(worker, "platform", "label", "external_id", "came_at", "barred_at", "erased_at"),
        "lab": worker.lab.name,
        "campaigns": [
            {"campaign": campaign.name, "pseudonym_in_exports": pseudonym(campaign, worker.pk)}
            for campaign in campaigns.values()
        ],
        "invitations": [
            {"campaign": campaigns[row.campaign_id].name} | _values(row, "created_at")
            for row in Invitation.objects.filter(worker=worker).order_by("pk")
        ],
        "panel_sessions": [
            _values(row, "session", "came_at", "assignment_id")
            for row in PanelVisit.objects.filter(worker=worker).order_by("pk")
        ],
        "consents": [
            {"campaign": row.text.campaign_id, "version": row.text.version, "text": row.text.text}
            | _values(row, "given_at")
            for row in consents
        ],
        "practice": [
            {"campaign": campaigns[row.campaign_id].name}
            | _values(row, "assignment_id", "number", "state", "answers", "right", "began_at", "ended_at")
            for row in Practice.objects.filter(worker=worker).order_by("pk")
        ],
        "assignments": [
            {"assignment": row.pk, "campaign": campaigns[row.campaign_id].name}
            | _values(
                row,
                *("state", "verdict", "taken_at", "leased_until", "finished_at", "judged", "owed", "receipt"),
                *("platform_assignment_id", "came_from"),
            )
            for row in rows.assignments.order_by("pk")
        ],
        "judgments": [
            {"assignment": row.assignment_id, "position": row.item.position, "compared": _compared(row)}
            | _values(row, "preferred", "shown_at", "made_at")
            for row in judgments.order_by("pk").iterator(chunk_size=2_000)
        ],
        "reported_pairs": [
            _values(row, "assignment_id", "reason", "note", "made_at", "withdrawn_at")
            for row in PairReport.objects.filter(assignment__worker=worker).order_by("pk")
        ],
        "notes": [
            _values(row, "assignment_id", "about_pay", "text", "made_at", "answer", "answered_at")
            for row in WorkerNote.objects.filter(assignment__worker=worker).order_by("pk")
        ],
        "messages": [
            _values(row, "state", "subject", "text", "at")
            for row in Message.objects.filter(worker=worker).order_by("pk")
        ],
        "submissions": [
            _values(
                row,
                *("platform_assignment_id", "platform_worker_id", "status", "submitted_at", "receipt", "decision"),
                *("decided_at", "reason", "why_unmatched"),
            )
            for row in rows.submissions.order_by("pk")
        ],
        "payments": [
            _values(row, "assignment_id", "purpose", "amount", "state", "owed_at", "paid_at", "evidence", "why")
            for row in rows.payments.order_by("pk")
        ],
        "left_for_being_paid": [
            {"campaign": row.campaign.name, "text": pay_detail_opened(row.sealed), "at": row.at}
            for row in worker.pay_details.select_related("campaign").order_by("pk")
        ],
        "payments_by_the_lab": [
            _values(row, "assignment_id", "amount", "paid_on", "note", "at")
            for row in _hand_payments(worker).order_by("pk")
        ],
        "decisions": [
            {"campaign": row.campaign.name} | _values(row, "assignment_id", "kind", "why", "at")
            for row in Decision.objects.filter(worker=worker).select_related("campaign").order_by("pk")
        ],
    }


def _values(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _compared(judgment: Judgment) -> dict[str, str]:
    item = judgment.item
    if item.pair is None:
        return {"kind": "test", "question": item.test.question if item.test else ""}
    pair = item.pair
    left, right = (pair.a.pid, pair.b.pid) if item.a_left else (pair.b.pid, pair.a.pid)
    return {"kind": "pair", "question": pair.pool.query.text, "left": left, "right": right}
