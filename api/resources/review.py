"""The review bench: decisions on many, reports, notes, alarms; and what a pilot taught."""

import logging
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import review_shapes, shapes
from api.frame import Endpoint, Pages, checked, may_spend_too, operation, user_of
from api.resources.campaigns import soon
from core.errors import NotYours
from core.roles import Right
from judgments import adjudicating, deciding, reported, reports
from judgments import jobs as judgment_jobs
from judgments import selectors as judgment_selectors
from judgments.models import Adjudication, BulkDecision, Disagreement, PairDecision
from judgments.piloting import pilot_lessons
from platforms.repaying import BelowFloor, rest_copy
from pools.models import Campaign, Pair
from tasks import pilots
from tasks import selectors as task_selectors
from tasks.campaign_alarms import alarms_raised
from tasks.models import Assignment
from tasks.names import pseudonym

TAGS = ["Review"]
log = logging.getLogger(__name__)


class _Bulk(Endpoint):
    def asked(self, request: Request, campaign: Campaign) -> dict[str, Any]:
        """What was sent, with the assignments that it chooses. Decisions about money need the right to spend too."""
        sent = dict(checked(review_shapes.NewBulk, request))
        if sent["action"] in deciding.OF_MONEY:
            may_spend_too(request, campaign.lab)
        return {
            "campaign": campaign,
            "action": sent["action"],
            "amount": sent.get("amount"),
            "why": sent.get("why", ""),
            "chosen": _chosen(campaign, sent),
        }


def _chosen(campaign: Campaign, sent: dict[str, Any]) -> QuerySet[Assignment]:
    assignments = judgment_selectors.assignments_of(campaign)
    if "assignments" in sent:
        wanted = set(sent["assignments"])
        found = assignments.filter(pk__in=wanted)
        if missing := wanted - set(found.values_list("pk", flat=True)):
            text = _("This campaign has no such assignment: %(key)s.") % {"key": min(missing)}
            raise ValidationError({"assignments": [text]})
        return found
    keys = task_selectors.workers_of(campaign).order_by().values_list("pk", flat=True).distinct()
    known = {pseudonym(campaign, key): key for key in keys}
    if unknown := sorted(set(sent["workers"]) - set(known)):
        raise ValidationError({"workers": [_("This campaign has no such worker: %(name)s.") % {"name": unknown[0]}]})
    return assignments.filter(worker__in=[known[name] for name in sent["workers"]])


class BulkPreviews(_Bulk):
    """What a decision on many would do."""

    @operation(
        "bulk_preview",
        takes=review_shapes.NewBulk,
        answer=review_shapes.BulkPreview,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Count what a decision on many would do. Nothing is decided."""
        asked = self.asked(request, self.campaign(pk))
        asked.pop("why")
        return Response(review_shapes.BulkPreview(deciding.bulk_preview(**asked)._asdict()).data)


class Bulks(_Bulk):
    """Decisions on many."""

    pagination_class = Pages

    @operation("bulks", answer=review_shapes.BulkShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The decisions on many in a campaign, newest first."""
        return self.page_of(self.campaign(pk).bulk_decisions.select_related("by"), review_shapes.BulkShape)

    @operation(
        "bulk_create",
        takes=review_shapes.NewBulk,
        answer=review_shapes.BulkShape,
        status=202,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Decide about many assignments or workers at once. A job carries it out, row by row. What moves money needs
        the scope `spend` too."""
        asked = self.asked(request, self.campaign(pk))
        bulk = deciding.bulk_create(by=user_of(request), at=timezone.now(), **asked)
        transaction.on_commit(soon(judgment_jobs.decide, bulk.pk))
        return Response(review_shapes.BulkShape(bulk).data, status=202)


class _OneBulk(Endpoint):
    def bulk(self, pk: int, bulk_pk: int) -> BulkDecision:
        """The decision, for what needs this operation's right."""
        bulk = self.campaign(pk).bulk_decisions.select_related("by").filter(pk=bulk_pk).first()
        if bulk is None:
            raise NotYours(_("This campaign has no such decision."))
        return bulk


class BulkOne(_OneBulk):
    """One decision on many."""

    @operation("bulk", answer=review_shapes.BulkShape, tags=TAGS)
    def get(self, request: Request, pk: int, bulk_pk: int) -> Response:
        """One decision on many, and how far it is."""
        return Response(review_shapes.BulkShape(self.bulk(pk, bulk_pk)).data)


class BulkUndo(_OneBulk):
    """Undoing."""

    @operation("bulk_undo", answer=review_shapes.BulkShape, status=202, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, bulk_pk: int) -> Response:
        """Take a decision on many back, as far as it moved no money. Again is not an error."""
        bulk = deciding.bulk_undo(bulk=self.bulk(pk, bulk_pk), by=user_of(request), at=timezone.now())
        transaction.on_commit(soon(judgment_jobs.decide, bulk.pk))
        return Response(review_shapes.BulkShape(bulk).data, status=202)


# --- pairs whose judgments disagree


class DisagreementFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By whether a decision stands."""

    is_decided = BooleanFilter(method="by_decision")

    def by_decision(self, rows: QuerySet[Any], _name: str, wanted: bool) -> QuerySet[Any]:
        """Those with a decision, or without."""
        return rows.filter(decided__isnull=not wanted)


class Disagreements(Endpoint):
    """Pairs whose judgments disagree."""

    pagination_class = Pages
    filterset_class = DisagreementFilter

    @operation("disagreements", answer=review_shapes.DisagreementShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The pairs whose judgments disagreed when they were counted last, each with the decision that stands."""
        found = adjudicating.disagreements(self.campaign(pk))
        return self.page_of(found, review_shapes.DisagreementShape, _disagreements)


def _disagreements(page: list[Any]) -> list[dict[str, Any]]:
    return [_settled(row.pair, row, decision) for row, decision in adjudicating.disagreement_rows(page)]


def _settled(
    pair: Pair, counted: Disagreement | adjudicating.PairCase, decision: Adjudication | None
) -> dict[str, Any]:
    return {
        "pair": pair.pk,
        "query": pair.pool.query.qid,
        "a": pair.a.pid,
        "b": pair.b.pid,
        "for_a": counted.for_a,
        "for_b": counted.for_b,
        "decision": decision,
    }


class _OneDisagreement(Endpoint):
    def answer(self, campaign: Campaign, pair: Pair) -> Response:
        """The pair as it is now."""
        case = adjudicating.pair_case(campaign, pair)
        return Response(review_shapes.DisagreementShape(_settled(pair, case, case.standing)).data)


class DisagreementOne(_OneDisagreement):
    """One pair."""

    @operation("disagreement", answer=review_shapes.DisagreementShape, tags=TAGS)
    def get(self, request: Request, pk: int, pair_pk: int) -> Response:
        """One pair: how many judgments are for each passage now, and the decision that stands."""
        campaign = self.campaign(pk)
        return self.answer(campaign, adjudicating.pair_of(campaign, pair_pk))


class Adjudicate(_OneDisagreement):
    """Settling a disagreement."""

    @operation(
        "disagreement_decide",
        takes=review_shapes.NewAdjudication,
        answer=review_shapes.DisagreementShape,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, pair_pk: int) -> Response:
        """Decide on a pair whose judgments disagree. The judgments stay; what was decided before is taken back."""
        campaign, sent = self.campaign(pk), checked(review_shapes.NewAdjudication, request)
        pair = adjudicating.pair_of(campaign, pair_pk)
        decided = {"choice": sent["choice"], "note": sent["note"], "seen": sent["seen"] or 0}
        adjudicating.pair_adjudicate(campaign=campaign, pair=pair, by=user_of(request), at=timezone.now(), **decided)
        return self.answer(campaign, pair)


class AdjudicationUndo(_OneDisagreement):
    """Taking a decision back."""

    @operation(
        "disagreement_undo",
        takes=review_shapes.AdjudicationUndo,
        answer=review_shapes.DisagreementShape,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, pair_pk: int) -> Response:
        """Take the decision on a pair back: its judgments count again. Again is not an error."""
        campaign, sent = self.campaign(pk), checked(review_shapes.AdjudicationUndo, request)
        pair, at = adjudicating.pair_of(campaign, pair_pk), timezone.now()
        adjudicating.adjudication_undo(campaign=campaign, pair=pair, seen=sent["seen"], by=user_of(request), at=at)
        return self.answer(campaign, pair)


class Adjudications(Endpoint):
    """What was decided on disagreements."""

    pagination_class = Pages

    @operation("adjudications", answer=review_shapes.AdjudicationShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """Every decision on a pair whose judgments disagree, newest first; those taken back too."""
        found = self.campaign(pk).adjudications.select_related("by", "undone_by")
        return self.page_of(found, review_shapes.AdjudicationShape)


# --- what workers told


class Reports(Endpoint):
    """Reported pairs."""

    pagination_class = Pages

    @operation("reports", answer=review_shapes.ReportedShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The pairs with which workers say that something is wrong."""
        campaign = self.campaign(pk)
        return self.page_of(
            reported.reported_pairs(campaign), review_shapes.ReportedShape, lambda page: _rows(campaign, page)
        )


def _rows(campaign: Campaign, pairs: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "pair": row.pair.pk,
            "query": row.pair.pool.query.qid,
            "a": row.pair.a.pid,
            "b": row.pair.b.pid,
            "is_open": row.pair.is_open,
            "is_set_aside": row.pair.is_set_aside,
            "workers": row.workers,
            "reports": [{"reason": report.reason, "note": report.note, "at": report.made_at} for report in row.reports],
        }
        for row in reported.reported_rows(campaign, pairs)
    ]


class ReportDecide(Endpoint):
    """Decisions about reported pairs."""

    @operation(
        "report_decide",
        takes=review_shapes.PairRuling,
        answer=review_shapes.ReportedShape,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, pair_pk: int) -> Response:
        """Set a reported pair aside, so that nobody is asked about it, or have it asked about again."""
        campaign, sent = self.campaign(pk), checked(review_shapes.PairRuling, request)
        pair = Pair.objects.filter(pk=pair_pk, pool__campaign=campaign).first()
        if pair is None:
            raise NotYours(_("This campaign has no such pair."))
        kind = PairDecision.Kind(sent["decision"])
        about: dict[str, Any] = {"campaign": campaign, "pair": pair, "by": user_of(request), "at": timezone.now()}
        reports.pair_decide(kind=kind, why=sent["why"], **about)
        found = list(reported.reported_pairs(campaign).filter(pk=pair_pk))
        return Response(review_shapes.ReportedShape(_rows(campaign, found)[0]).data)


class NoteFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By whether somebody has read it."""

    is_read = BooleanFilter(field_name="read_at", lookup_expr="isnull", exclude=True)


class Notes(Endpoint):
    """What workers wrote."""

    pagination_class = Pages
    filterset_class = NoteFilter

    @operation("notes", answer=review_shapes.NoteShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What workers wrote to the research group from their receipts, newest first."""
        return self.page_of(reported.notes_of(self.campaign(pk)), review_shapes.NoteShape)


class NoteRead(Endpoint):
    """Reading a note."""

    @operation("note_read", status=204, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, note_pk: int) -> Response:
        """Mark a note as read."""
        campaign = self.campaign(pk)
        reports.note_mark_read(campaign=campaign, note_id=note_pk, by=user_of(request), at=timezone.now())
        return Response(status=204)


class Alarms(Endpoint):
    """What a person must look at."""

    pagination_class = Pages

    @operation("alarms", answer=review_shapes.AlarmShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What is wrong with a campaign, as long as it is. Problems at its platform are listed with its publication."""
        return self.page_of(alarms_raised(self.campaign(pk)), review_shapes.AlarmShape)


# --- a pilot


class Pilot(Endpoint):
    """A campaign's pilot."""

    @operation("pilot", answer=review_shapes.PilotShape, tags=["Campaigns"])
    def get(self, request: Request, pk: int) -> Response:
        """What the newest work of a campaign taught: time, agreement, failed tests, pay an hour."""
        lessons = pilot_lessons(self.campaign(pk))
        content = lessons._asdict() | {"agreement": lessons.agreement._asdict()}
        return Response(review_shapes.PilotShape(content).data)


class RestLaunch(Endpoint):
    """The rest, after a pilot."""

    @operation("rest_launch", answer=review_shapes.Launched, right=Right.SPEND, tags=["Campaigns"])
    def post(self, request: Request, pk: int) -> Response:
        """Launch the HITs that were held back after a pilot. Again is not an error."""
        return Response({"launched": pilots.rest_launch(campaign=self.campaign(pk))})


class RestRepay(Endpoint):
    """The rest at another pay."""

    @operation(
        "rest_repay",
        takes=review_shapes.NewPay,
        answer=shapes.CampaignDetail,
        status=201,
        right=Right.DESIGN,
        tags=["Campaigns"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """End a pilot, and get a draft like it at another pay, which asks only about what the pilot did not finish.
        Refused where that is below the lab's pay floor. Start the draft to go on."""
        campaign, sent = self.campaign(pk), checked(review_shapes.NewPay, request)
        try:
            draft = rest_copy(campaign=campaign, reward=sent["reward"], by=user_of(request), at=timezone.now())
        except BelowFloor as error:
            raise ValidationError({"reward": [str(error)]}) from error
        return Response(shapes.CampaignDetail(draft).data, status=201)
