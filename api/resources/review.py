"""Work in a campaign by pseudonym, decisions about it, reports, notes, alarms; and what a pilot taught."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, FilterSet
from django_filters.filterset import filterset_factory
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from api import review_shapes, shapes
from api.asking import soon
from api.filters import filterset
from api.frame import Resource, get, operation, post, refusals_of
from core.alarms import alarms_raised
from core.errors import NotYours
from core.roles import Right
from judgments import quality, reported
from judgments import selectors as judgment_selectors
from judgments.decisions import decisions_in
from judgments.models import Adjudication, Decision, PairDecision
from judgments.piloting import pilot_lessons
from platforms.publishing.repaying import BelowFloor, rest_copy
from pools.models import Campaign, Pair
from review import adjudicating, deciding, reports
from review import jobs as review_jobs
from review.models import BulkDecision
from tasks import pilots
from tasks import selectors as task_selectors
from tasks.models import Assignment, Worker
from tasks.names import pseudonym

NoteFilter = filterset(is_read=BooleanFilter(field_name="read_at", lookup_expr="isnull", exclude=True))


class Assignments(Resource):
    """The assignments of a campaign."""

    tags = ["Work"]
    lookup_url_kwarg = "assignment_pk"
    filterset_class = filterset_factory(Assignment, fields=["state", "verdict"])

    def get_queryset(self) -> QuerySet[Assignment]:
        return judgment_selectors.assignments_of(self.campaign)

    def decide(self, service: Callable[..., Assignment]) -> Any:
        """Decide on the assignment, with a reason."""
        service(assignment=self.get_object(), **self.signed, **self.sent)
        return self.get_object()

    @operation(shapes.AssignmentShape(many=True), name="assignments")
    def list(self, request: Request, pk: int) -> Any:
        """A campaign's assignments, newest first."""
        return self.get_queryset()

    @operation(shapes.AssignmentShape, name="assignment")
    def retrieve(self, request: Request, pk: int, assignment_pk: int) -> Any:
        """One assignment."""
        return self.get_object()

    @post("exclude", shapes.AssignmentShape, Right.DECIDE, takes=shapes.Reason)
    def assignment_exclude(self, request: Request, pk: int, assignment_pk: int) -> Any:
        """Use an assignment's data no more. Its pairs go to other workers; it is paid all the same."""
        return self.decide(quality.assignment_exclude)

    @post("include", shapes.AssignmentShape, Right.DECIDE, takes=shapes.Reason)
    def assignment_include(self, request: Request, pk: int, assignment_pk: int) -> Any:
        """Use an assignment's data again, for the pairs that still need a judgment."""
        return self.decide(quality.assignment_restore)


def worker_contents(campaign: Campaign, workers: Any) -> list[dict[str, Any]]:
    """Some of judgments.selectors.workers_with_work(), as WorkerShape shows them."""
    return [
        vars(row.summary)
        | row._asdict()
        | {"worker": pseudonym(campaign, row.worker.pk), "judgments": row.summary.pairs + row.summary.tests}
        | {"barred": row.worker.barred_at is not None}
        for row in judgment_selectors.worker_rows(campaign, workers)
    ]


def worker_named(campaign: Campaign, name: str) -> Worker:
    """By pseudonym, which cannot be turned back into a worker: it is looked for among all of the campaign."""
    workers = task_selectors.workers_of(campaign)
    for key in workers.order_by().values_list("pk", flat=True).distinct():
        if pseudonym(campaign, key) == name:
            return workers.get(pk=key)
    raise NotYours(_("This campaign has no such worker."))


class Workers(Resource):
    """The workers of a campaign, by pseudonym."""

    tags = ["Work"]
    lookup_url_kwarg = "name"
    lookup_value_converter = "slug"

    def shown(self, worker: Worker) -> dict[str, Any]:
        """What the worker did. Raises NotYours."""
        worked = judgment_selectors.workers_with_work(self.campaign).filter(pk=worker.pk)
        contents = worker_contents(self.campaign, worked)
        if not contents:
            raise NotYours(_("This worker has done nothing in this campaign."))
        return contents[0]

    def decide(self, service: Callable[..., bool]) -> dict[str, Any]:
        """Decide on the worker, with a reason."""
        campaign, sent = self.campaign, self.sent
        worker = worker_named(campaign, self.kwargs["name"])
        service(worker=worker, campaign=campaign, **self.signed, **sent)
        return self.shown(worker)

    @operation(shapes.WorkerShape(many=True), name="workers")
    def list(self, request: Request, pk: int) -> Any:
        """Who worked in a campaign, by pseudonym: how much, how fast, and what became of it."""
        workers = judgment_selectors.workers_with_work(self.campaign)
        return self.page_of(workers, lambda page: worker_contents(self.campaign, page))

    @operation(shapes.WorkerShape, name="worker")
    def retrieve(self, request: Request, pk: int, name: str) -> Any:
        """What one worker did in a campaign."""
        return self.shown(worker_named(self.campaign, name))

    @post("bar", shapes.WorkerShape, Right.DECIDE, takes=shapes.Reason)
    def worker_bar(self, request: Request, pk: int, name: str) -> Any:
        """Give a worker no more HITs of the lab. What they did is paid, and counts unless it is excluded."""
        return self.decide(quality.worker_bar)

    @post("unbar", shapes.WorkerShape, Right.DECIDE, takes=shapes.Reason)
    def worker_unbar(self, request: Request, pk: int, name: str) -> Any:
        """Let a worker take HITs of the lab again."""
        return self.decide(quality.worker_unbar)


def _chosen(campaign: Campaign, sent: dict[str, Any]) -> QuerySet[Assignment]:
    assignments = judgment_selectors.assignments_of(campaign)
    if "assignments" in sent:
        keys = set(sent["assignments"])
        chosen = assignments.filter(pk__in=keys)
        if missing := keys - set(chosen.values_list("pk", flat=True)):
            text = _("This campaign has no such assignment: %(key)s.") % {"key": min(missing)}
            raise ValidationError({"assignments": [text]})
        return chosen
    workers = task_selectors.workers_of(campaign).order_by().values_list("pk", flat=True).distinct()
    by_name = {pseudonym(campaign, key): key for key in workers}
    if unknown := sorted(set(sent["workers"]) - set(by_name)):
        raise ValidationError({"workers": [_("This campaign has no such worker: %(name)s.") % {"name": unknown[0]}]})
    return assignments.filter(worker__in=[by_name[name] for name in sent["workers"]])


class BulkDecisions(Resource):
    """Decisions on many."""

    tags = ["Review"]
    lookup_url_kwarg = "bulk_pk"

    def choice(self) -> dict[str, Any]:
        """What was sent, with the assignments that it chooses. Decisions about money need the right to spend too."""
        campaign, sent = self.campaign, self.sent
        if sent["action"] in deciding.OF_MONEY:
            self.require_spending(campaign.lab)
        about = {"campaign": campaign, "action": sent["action"], "amount": sent.get("amount")}
        return about | {"chosen": _chosen(campaign, sent)}

    def get_queryset(self) -> QuerySet[BulkDecision]:
        return self.campaign.bulk_decisions.select_related("by")

    @operation(review_shapes.BulkShape(many=True), name="bulks")
    def list(self, request: Request, pk: int) -> Any:
        """The decisions on many in a campaign, newest first."""
        return self.get_queryset()

    @operation(review_shapes.BulkShape, Right.DECIDE, name="bulk_create", takes=review_shapes.NewBulk, status=202)
    def create(self, request: Request, pk: int) -> Any:
        """Decide about many assignments or workers at once. A job carries it out, row by row. What moves money needs
        the scope `spend` too."""
        bulk = deciding.bulk_create(**self.choice(), why=self.sent.get("why", ""), **self.signed)
        soon(review_jobs.decide, bulk.pk)
        return bulk

    @operation(review_shapes.BulkShape, name="bulk")
    def retrieve(self, request: Request, pk: int, bulk_pk: int) -> Any:
        """One decision on many, and how far it is."""
        return self.get_object()

    @post("preview", review_shapes.BulkPreview, Right.DECIDE, takes=review_shapes.NewBulk, detail=False)
    def bulk_preview(self, request: Request, pk: int) -> Any:
        """Count what a decision on many would do. Nothing is decided."""
        return deciding.bulk_preview(**self.choice())

    @post("undo", review_shapes.BulkShape, Right.DECIDE, status=202)
    def bulk_undo(self, request: Request, pk: int, bulk_pk: int) -> Any:
        """Take a decision on many back, as far as it moved no money. Again is not an error."""
        bulk = deciding.bulk_undo(bulk=self.get_object(), **self.signed)
        soon(review_jobs.decide, bulk.pk)
        return bulk


class DisagreementFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By whether a decision stands."""

    is_decided = BooleanFilter(method="by_decision")

    def by_decision(self, rows: QuerySet[Any], _name: str, is_decided: bool) -> QuerySet[Any]:
        return rows.filter(decided__isnull=not is_decided)


def _content(pair: Pair, split: Any, decision: Adjudication | None) -> dict[str, Any]:
    passages = {"a": pair.a.pid, "b": pair.b.pid, "for_a": split.for_a, "for_b": split.for_b}
    return {"pair": pair.pk, "query": pair.pool.query.qid, **passages, "decision": decision}


def _contents(page: list[Any]) -> list[dict[str, Any]]:
    return [_content(row.pair, row, decision) for row, decision in adjudicating.disagreement_rows(page)]


class Disagreements(Resource):
    """Pairs whose judgments disagree."""

    tags = ["Review"]
    lookup_url_kwarg = "pair_pk"
    filterset_class = DisagreementFilter

    @property
    def pair(self) -> Pair:
        """The pair, for what needs this operation's right. Raises NotYours."""
        return adjudicating.pair_of(self.campaign, self.kwargs["pair_pk"])

    def shown(self) -> dict[str, Any]:
        """The pair as it is now."""
        case = adjudicating.pair_case(self.campaign, pair := self.pair)
        return _content(pair, case, case.standing)

    @operation(review_shapes.DisagreementShape(many=True), name="disagreements")
    def list(self, request: Request, pk: int) -> Any:
        """The pairs whose judgments disagreed when they were counted last, each with the decision that stands."""
        return self.page_of(adjudicating.disagreements(self.campaign), _contents)

    @operation(review_shapes.DisagreementShape, name="disagreement")
    def retrieve(self, request: Request, pk: int, pair_pk: int) -> Any:
        """One pair: how many judgments are for each passage now, and the decision that stands."""
        return self.shown()

    @post("decide", review_shapes.DisagreementShape, Right.DECIDE, takes=review_shapes.NewAdjudication)
    def disagreement_decide(self, request: Request, pk: int, pair_pk: int) -> Any:
        """Decide on a pair whose judgments disagree. The judgments stay; what was decided before is taken back."""
        campaign, sent = self.campaign, self.sent
        decided = {"choice": sent["choice"], "note": sent["note"], "expected": sent["seen"] or 0}
        adjudicating.pair_adjudicate(campaign=campaign, pair=self.pair, **self.signed, **decided)
        return self.shown()

    @post("undo", review_shapes.DisagreementShape, Right.DECIDE, takes=review_shapes.AdjudicationUndo)
    def disagreement_undo(self, request: Request, pk: int, pair_pk: int) -> Any:
        """Take the decision on a pair back: its judgments count again. Again is not an error."""
        campaign, sent = self.campaign, self.sent
        adjudicating.adjudication_undo(campaign=campaign, pair=self.pair, expected=sent["seen"], **self.signed)
        return self.shown()


def _rows(campaign: Campaign, pairs: list[Any]) -> list[dict[str, Any]]:
    return [
        {name: getattr(row.pair, name) for name in ("is_open", "is_set_aside")}
        | {"pair": row.pair.pk, "query": row.pair.pool.query.qid, "a": row.pair.a.pid, "b": row.pair.b.pid}
        | {"reports": [{"reason": each.reason, "note": each.note, "at": each.made_at} for each in row.reports]}
        | {"workers": row.workers}
        for row in reported.reported_rows(campaign, pairs)
    ]


DecisionFilter = filterset_factory(Decision, fields=["kind"])


class Review(Resource):
    """What a person looks at in a campaign."""

    tags = ["Review"]

    @get("adjudications", review_shapes.AdjudicationShape(many=True))
    def adjudications(self, request: Request, pk: int) -> Any:
        """Every decision on a pair whose judgments disagree, newest first; those taken back too."""
        return self.campaign.adjudications.select_related("by", "undone_by")

    @get("reports", review_shapes.ReportedShape(many=True))
    def reports(self, request: Request, pk: int) -> Any:
        """The pairs with which workers say that something is wrong."""
        return self.page_of(reported.reported_pairs(self.campaign), lambda page: _rows(self.campaign, page))

    @post("reports/<int:pair_pk>/decide", review_shapes.ReportedShape, Right.DECIDE, takes=review_shapes.PairRuling)
    def report_decide(self, request: Request, pk: int, pair_pk: int) -> Any:
        """Set a reported pair aside, so that nobody is asked about it, or have it asked about again."""
        campaign, sent = self.campaign, self.sent
        pair = adjudicating.pair_of(campaign, pair_pk)
        kind = PairDecision.Kind(sent["decision"])
        reports.pair_decide(campaign=campaign, pair=pair, kind=kind, why=sent["why"], **self.signed)
        return _rows(campaign, list(reported.reported_pairs(campaign).filter(pk=pair_pk)))[0]

    @get("notes", review_shapes.NoteShape(many=True), filterset_class=NoteFilter)
    def notes(self, request: Request, pk: int) -> Any:
        """What workers wrote to the research group from their receipts, newest first."""
        return reported.notes_of(self.campaign)

    @post("notes/<int:note_pk>/read", right=Right.DECIDE)
    def note_read(self, request: Request, pk: int, note_pk: int) -> Any:
        """Mark a note as read."""
        reports.note_mark_read(campaign=self.campaign, note_id=note_pk, **self.signed)

    @get("alarms", review_shapes.AlarmShape(many=True))
    def alarms(self, request: Request, pk: int) -> Any:
        """What is wrong with a campaign, as long as it is. Problems at its platform are listed with its publication."""
        return alarms_raised(self.campaign)

    @get("pilot", review_shapes.PilotShape, tags=["Campaigns"])
    def pilot(self, request: Request, pk: int) -> Any:
        """What the newest work of a campaign taught: time, agreement, failed tests, pay an hour."""
        lessons = pilot_lessons(self.campaign)
        return lessons._asdict() | {"agreement": lessons.agreement._asdict()}

    @post("pilot/launch-rest", review_shapes.Launched, Right.SPEND, tags=["Campaigns"])
    def rest_launch(self, request: Request, pk: int) -> Any:
        """Launch the HITs that were held back after a pilot. Again is not an error."""
        return {"launched": pilots.rest_launch(campaign=self.campaign)}

    @post(
        "pilot/repay-rest",
        shapes.CampaignDetail,
        Right.DESIGN,
        takes=review_shapes.NewPay,
        status=201,
        tags=["Campaigns"],
    )
    def rest_repay(self, request: Request, pk: int) -> Any:
        """End a pilot, and get a draft like it at another pay, which asks only about what the pilot did not finish.
        Refused where that is below the lab's pay floor. Start the draft to go on."""
        campaign, sent = self.campaign, self.sent
        with refusals_of("reward", BelowFloor):
            return rest_copy(campaign=campaign, reward=sent["reward"], **self.signed)

    @get(
        "decisions",
        shapes.DecisionShape(many=True),
        filterset_class=filterset_factory(Decision, fields=["kind"]),
        tags=["Work"],
    )
    def decisions(self, request: Request, pk: int) -> Any:
        """What was decided about work and workers, by whom and why, newest first."""
        return decisions_in(self.campaign)
