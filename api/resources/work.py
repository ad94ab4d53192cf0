"""Work in a campaign: assignments and workers by pseudonym, and what was decided about them."""

from collections.abc import Callable
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import ChoiceFilter, FilterSet
from rest_framework.request import Request
from rest_framework.response import Response

from api import shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from core.errors import NotYours
from core.roles import Right
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.models import Decision
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks.models import Assignment, Worker
from tasks.names import pseudonym

TAGS = ["Work"]


class AssignmentFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By state and verdict."""

    state = ChoiceFilter(choices=Assignment.State.choices)
    verdict = ChoiceFilter(choices=Assignment.Verdict.choices)


class Assignments(Endpoint):
    """The assignments of a campaign."""

    pagination_class = Pages
    filterset_class = AssignmentFilter

    @operation("assignments", answer=shapes.AssignmentShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """A campaign's assignments, newest first."""
        campaign = self.campaign(pk)
        return self.page_of(judgment_selectors.assignments_of(campaign), shapes.AssignmentShape, campaign=campaign)


class _Assignment(Endpoint):
    def assignment(self, campaign: Campaign, key: int) -> Assignment:
        assignment = judgment_selectors.assignments_of(campaign).filter(pk=key).first()
        if assignment is None:
            raise NotYours(_("This campaign has no such assignment."))
        return assignment

    def decide(self, request: Request, pk: int, key: int, service: Callable[..., Assignment]) -> Response:
        campaign, sent = self.campaign(pk), checked(shapes.Reason, request)
        service(assignment=self.assignment(campaign, key), by=user_of(request), at=timezone.now(), **sent)
        return self.shown(campaign, key)

    def shown(self, campaign: Campaign, key: int) -> Response:
        return Response(shapes.AssignmentShape(self.assignment(campaign, key), context={"campaign": campaign}).data)


class AssignmentOne(_Assignment):
    """One assignment."""

    @operation("assignment", answer=shapes.AssignmentShape, tags=TAGS)
    def get(self, request: Request, pk: int, assignment_pk: int) -> Response:
        """One assignment."""
        return self.shown(self.campaign(pk), assignment_pk)


class Exclude(_Assignment):
    """Excluding an assignment."""

    @operation("assignment_exclude", takes=shapes.Reason, answer=shapes.AssignmentShape, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, assignment_pk: int) -> Response:
        """Use an assignment's data no more. Its pairs go to other workers; it is paid all the same."""
        return self.decide(request, pk, assignment_pk, judgment_services.assignment_exclude)


class Include(_Assignment):
    """Including an assignment again."""

    @operation("assignment_include", takes=shapes.Reason, answer=shapes.AssignmentShape, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, assignment_pk: int) -> Response:
        """Use an assignment's data again, for the pairs that still need a judgment."""
        return self.decide(request, pk, assignment_pk, judgment_services.assignment_restore)


class Workers(Endpoint):
    """The workers of a campaign."""

    pagination_class = Pages

    @operation("workers", answer=shapes.WorkerShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """Who worked in a campaign, by pseudonym: how much, how fast, and what became of it."""
        campaign = self.campaign(pk)
        workers = judgment_selectors.workers_with_work(campaign)
        return self.page_of(workers, shapes.WorkerShape, lambda page: worker_shapes(campaign, page))


def worker_shapes(campaign: Campaign, workers: list[Worker]) -> list[dict[str, Any]]:
    """What these workers did, by pseudonym."""
    counted = judgment_selectors.workers_with_work(campaign).in_bulk([worker.pk for worker in workers])
    rows = judgment_selectors.worker_rows(campaign, [counted[worker.pk] for worker in workers if worker.pk in counted])
    return [
        {
            "worker": pseudonym(campaign, row.worker.pk),
            "assignments": row.assignments,
            "accepted": row.accepted,
            "excluded": row.excluded,
            "judgments": row.seen.pairs + row.seen.tests,
            "left_share": row.seen.left_share,
            "median_seconds": row.seen.median_seconds,
            "agreement": row.seen.agreement,
            "correct_share": row.seen.correct_share,
            "unguessed_share": row.seen.unguessed_share,
            "barred": row.worker.barred_at is not None,
        }
        for row in rows
    ]


def worker_named(campaign: Campaign, name: str) -> Worker:
    """By pseudonym, which cannot be turned back into a worker: it is looked for among all of the campaign."""
    workers = task_selectors.workers_of(campaign)
    for key in workers.order_by().values_list("pk", flat=True).distinct():
        if pseudonym(campaign, key) == name:
            return workers.get(pk=key)
    raise NotYours(_("This campaign has no such worker."))


class _Worker(Endpoint):
    def shown(self, campaign: Campaign, worker: Worker) -> Response:
        rows = worker_shapes(campaign, [worker])
        if not rows:
            raise NotYours(_("This worker has done nothing in this campaign."))
        return Response(shapes.WorkerShape(rows[0]).data)

    def decide(self, request: Request, pk: int, name: str, service: Callable[..., bool]) -> Response:
        campaign, sent = self.campaign(pk), checked(shapes.Reason, request)
        worker = worker_named(campaign, name)
        service(worker=worker, campaign=campaign, by=user_of(request), at=timezone.now(), **sent)
        return self.shown(campaign, worker)


class WorkerOne(_Worker):
    """One worker."""

    @operation("worker", answer=shapes.WorkerShape, tags=TAGS)
    def get(self, request: Request, pk: int, name: str) -> Response:
        """What one worker did in a campaign."""
        campaign = self.campaign(pk)
        return self.shown(campaign, worker_named(campaign, name))


class Bar(_Worker):
    """Barring a worker."""

    @operation("worker_bar", takes=shapes.Reason, answer=shapes.WorkerShape, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, name: str) -> Response:
        """Give a worker no more HITs of the lab. What they did is paid, and counts unless it is excluded."""
        return self.decide(request, pk, name, judgment_services.worker_bar)


class Unbar(_Worker):
    """Welcoming a worker again."""

    @operation("worker_unbar", takes=shapes.Reason, answer=shapes.WorkerShape, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, name: str) -> Response:
        """Let a worker take HITs of the lab again."""
        return self.decide(request, pk, name, judgment_services.worker_unbar)


class DecisionFilter(FilterSet):  # type: ignore[misc]
    """By kind."""

    kind = ChoiceFilter(choices=Decision.Kind.choices)


class Decisions(Endpoint):
    """The decisions in a campaign."""

    pagination_class = Pages
    filterset_class = DecisionFilter

    @operation("decisions", answer=shapes.DecisionShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What was decided about work and workers, by whom and why, newest first."""
        campaign = self.campaign(pk)
        return self.page_of(judgment_selectors.decisions(campaign), shapes.DecisionShape, campaign=campaign)
