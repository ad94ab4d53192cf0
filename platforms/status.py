"""The status of a publication: the numbers, calls and alarms that its pages show."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.money import counted
from platforms.alarms import raised_about
from platforms.demands import Demands
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit, Submission, TermsVersion
from platforms.registry import adapter_of, phrase
from pools.counting import Total, count_of, counts_of
from tasks.models import Assignment

Kind = Operation.Kind
Status, Decision = Submission.Status, Submission.Decision


class PublicationStatus(NamedTuple):
    """HITs: all of the campaign's, those planned for the platform, those it has, those of them that are closed there.

    Assignments: submitted, and of these approved, rejected, undecided at the platform, and needing review.
    `redone` are assignments asked for beyond the first plan.
    """

    hits: int
    planned: int
    published: int
    ended: int
    submitted: int
    approved: int
    rejected: int
    waiting: int
    for_a_person: int
    redone: int


def open_hits(publication: Publication, at: datetime) -> QuerySet[PublishedHit]:
    """The campaign's HITs that workers can accept at the platform now."""
    mine = Submission.objects.filter(published_hit=OuterRef("pk")).order_by().values("published_hit")
    submitted = Coalesce(Subquery(mine.annotate(count=Count("pk")).values("count")), 0)  # looked up HIT by HIT
    shown = publication.published_hits.filter(hit__isnull=False, expires_at__gt=at).exclude(platform_hit_id="")
    return shown.filter(next_poll_at__isnull=False, max_assignments__gt=submitted)


def count_status(publication: Publication, at: datetime) -> PublicationStatus:
    """Count a publication's HITs and assignments."""
    totals = counts_of(publication.campaign, "published")  # whatever is published again was published before
    planned = sum(totals.get(("1", is_posted), Total()).rows for is_posted in "01")
    published = totals.get(("1", "1"), Total()).rows
    work = submissions_of(publication)
    submissions = counts_of(publication.campaign, "submissions")
    approved, rejected, waiting = (
        submissions.get((status,), Total()).rows for status in (Status.APPROVED, Status.REJECTED, Status.SUBMITTED)
    )
    return PublicationStatus(
        hits=count_of(publication.campaign, "hits"),
        planned=planned,
        published=published,
        ended=published - open_hits(publication, at).values("hit").distinct().count(),
        for_a_person=for_a_person(work).count(),
        redone=int(sum(row.amount for row in totals.values())),
        submitted=sum(total.rows for total in submissions.values()),
        approved=approved,
        rejected=rejected,
        waiting=waiting,
    )


class Calls(NamedTuple):
    """Calls to the platform by what became of them. `waiting` are planned, `sent` are being made."""

    waiting: int
    sent: int
    unknown: int
    refused: int
    done: int


def calls(publication: Publication) -> Calls:
    states = Operation.State
    counts = counts_of(publication.campaign, "calls")
    order = (states.PLANNED, states.SENT, states.UNKNOWN, states.REFUSED, states.DONE)
    return Calls(*[counts.get((state,), Total()).rows for state in order])


def calls_in_trouble(publication: Publication) -> QuerySet[Operation]:
    """Calls that were refused, whose outcome is unknown, or that failed and are tried again: the next to be tried
    first, refused ones last.
    """
    states = Operation.State
    again = Q(state__in=[states.PLANNED, states.SENT]) & ~Q(error="")
    troubled = publication.operations.filter(again | Q(state__in=[states.UNKNOWN, states.REFUSED]))
    troubled = troubled.select_related("published_hit__hit", "submission", "terms")
    return troubled.order_by(F("ended_at").asc(nulls_first=True), "next_try", "id")


def submissions_of(publication: Publication) -> QuerySet[Submission]:
    """Work that was submitted on the campaign's HITs (compensations are none), newest first."""
    chosen = publication.submissions.filter(published_hit__hit__isnull=False)
    return chosen.select_related("published_hit__hit", "assignment").order_by("-submitted_at", "-id")


def for_a_person(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Those that no rule decides: no work stored here matches, it holds no answer, it was judged faster than anybody
    reads, or it was compensated before.
    """
    alarmed = raised_about(OuterRef("pk"), PlatformAlarm.UNMATCHED, PlatformAlarm.FAST, PlatformAlarm.TWICE)
    undecided = submissions.filter(decision=Decision.NONE, status=Status.SUBMITTED)
    return undecided.filter(Q(assignment=None) | Q(assignment__judged=0) | Exists(alarmed))


def stored_work(submission: Submission) -> Assignment | None:
    """The work here that a submission belongs to, or that it should: that worker's on that HIT."""
    if submission.assignment is not None:
        return submission.assignment
    publication = submission.publication
    in_their_name = Assignment.objects.filter(
        hit__published_hits=submission.published_hit,
        worker__lab_id=publication.campaign.lab_id,
        worker__platform=publication.platform,
        worker__external_id=submission.platform_worker_id,
    )
    same_id = in_their_name.filter(platform_assignment_id=submission.platform_assignment_id)
    return same_id.first() or in_their_name.order_by("id").first()


class CompensationRow(NamedTuple):
    """A compensation, the call that offers it, and what became of it in a word or two.

    `submission` is unmatched work of that worker on that HIT, which may be the same work.
    """

    payment: Payment
    operation: Operation | None
    state: str
    submission: Submission | None

    @property
    def is_open(self) -> bool:
        return self.payment.state == Payment.State.OWED and (
            self.operation is None or self.operation.ended_at is not None
        )


def compensations_of(publication: Publication) -> QuerySet[Payment]:
    """A publication's compensations: those that wait for an offer first, then the newest."""
    compensations = publication.payments.filter(purpose=Payment.Purpose.COMPENSATION).annotate(
        offers=Count("operations")
    )
    return compensations.select_related("assignment__worker", "publication").order_by("offers", "-id")


def compensation_rows(payments: list[Payment]) -> list[CompensationRow]:
    """Compensations with the state of their offers, in the order given."""
    offers = {
        row.payment_id: row
        for row in Operation.objects.filter(kind=Kind.COMPENSATE, payment__in=payments)
        .select_related("published_hit")
        .order_by("id")
    }
    used = set(
        Submission.objects.filter(published_hit__operations__in=offers.values()).values_list("published_hit", flat=True)
    )
    ids = [payment.assignment.platform_assignment_id for payment in payments if payment.assignment]
    unmatched = {
        (row.platform_assignment_id, row.platform_worker_id): row
        for row in Submission.objects.filter(
            assignment=None, published_hit__hit__isnull=False, platform_assignment_id__in=ids
        )
    }
    rows = []
    for payment in payments:
        offer, work = offers.get(payment.pk), payment.assignment
        same = unmatched.get((work.platform_assignment_id, work.worker.external_id)) if work else None
        rows.append(CompensationRow(payment, offer, _offer_state(payment, offer, used), same))
    return rows


def _offer_state(payment: Payment, offer: Operation | None, used: set[int]) -> str:
    if payment.state == Payment.State.PAID:
        return _("paid")
    if offer is None:
        return _("not offered")
    if offer.state == Operation.State.REFUSED:
        return phrase(payment.publication, _("the platform refused the offer"))
    if offer.published_hit_id in used:
        return _("taken, and being paid")
    return _("offered") if offer.state == Operation.State.DONE else _("the offer is on its way")


class Sums(NamedTuple):
    """What payments of one purpose and state add up to."""

    purpose: str
    state: str
    payments: int
    amount: Decimal
    fees: Decimal


def ledger_sums(publication: Publication) -> list[Sums]:
    """A publication's payments by purpose and state, in the order in which those are listed in the model."""
    purposes, states = dict(Payment.Purpose.choices), dict(Payment.State.choices)
    totals = counts_of(publication.campaign, "payments")
    order = sorted(totals, key=lambda kind: (list(purposes).index(kind[0]), list(states).index(kind[1])))
    return [Sums(str(purposes[kind[0]]), str(states[kind[1]]), *totals[kind]) for kind in order if totals[kind].rows]


class Change(NamedTuple):
    """One term before and after, in words."""

    name: str
    before: str
    after: str


class VersionRow(NamedTuple):
    """One version of the terms, and what it changed of the one before it."""

    version: TermsVersion
    changes: list[Change]


def terms_compared(publication: Publication, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """What differs between terms, each as platforms.terms.terms_as_json gives them."""
    return [
        Change(
            phrase(publication, str(TERM_NAMES[name])),
            _kept(name, before.get(name), publication),
            _kept(name, value, publication),
        )
        for name, value in after.items()
        if value != before.get(name)
    ]


def terms_history(publication: Publication, versions: Sequence[TermsVersion]) -> list[VersionRow]:
    """What some versions of the terms, one after another and the newest first, changed."""
    if not versions:
        return []
    first = publication.terms.filter(version=versions[-1].version - 1).first()
    return [
        VersionRow(version, terms_compared(publication, before.values, version.values) if before else [])
        for version, before in zip(versions, [*versions[1:], first], strict=True)
    ]


TERM_NAMES = {
    "platform": gettext_lazy("Platform"),
    "pay": gettext_lazy("Pay for leaving early"),
    "base": gettext_lazy("Base"),
    "requirements": gettext_lazy("Requirements on workers"),
    "title": gettext_lazy("Title"),
    "description": gettext_lazy("Description"),
    "keywords": gettext_lazy("Keywords"),
    "lifetime": gettext_lazy("Lifetime"),
    "assignment_duration": gettext_lazy("Time for a HIT"),
    "auto_approval": gettext_lazy("Automatic approval after"),
    "approve_after": gettext_lazy("Wait before approving"),
    "rate": gettext_lazy("Calls per second"),
}


def _kept(name: str, value: Any, publication: Publication) -> str:
    """A term as it is kept, in words."""
    if name == "requirements":
        return _demanded(adapter_of(publication).demands_of(value or []))
    if name in ("lifetime", "assignment_duration", "auto_approval", "approve_after"):
        return _length(timedelta(seconds=float(value or 0)))
    return f"{value:g}" if isinstance(value, float) else str(value) or "–"


def _length(time: timedelta) -> str:
    """`14 days`, `2.5 hours` or `45 minutes`."""
    day, hour, minute = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
    if time >= day:
        return _("1 day") if time == day else _("%(number)s days") % {"number": f"{time / day:g}"}
    if time >= hour:
        return _("1 hour") if time == hour else _("%(number)s hours") % {"number": f"{time / hour:g}"}
    return _("1 minute") if time == minute else _("%(number)s minutes") % {"number": f"{time / minute:g}"}


def _demanded(demands: Demands) -> str:
    """Demands on workers in words."""
    parts = []
    if demands.countries:
        parts.append(_("in %(countries)s") % {"countries": ", ".join(demands.countries)})
    if demands.approved is not None:
        parts.append(_("more than %(number)s tasks approved") % {"number": counted(demands.approved)})
    if demands.percent is not None:
        parts.append(_("at least %(percent)d%% approved") % {"percent": demands.percent})
    parts += [json.dumps(other, ensure_ascii=False) for other in demands.others]
    return "; ".join(parts) or _("none")
