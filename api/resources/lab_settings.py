"""What belongs to a lab: the templates that campaigns begin with, its pay floor, and the data of its workers."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, FilterSet
from rest_framework.request import Request
from rest_framework.response import Response

from api import lab_shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from core.audit.services import entry_note
from core.errors import NotYours
from core.labs import pay_floor_set
from core.models import Lab
from core.roles import Right
from judgments import erasing
from platforms import templating as terms_templating
from pools import templating
from tasks.models import Worker

TEMPLATES, PROTECTION = ["Templates"], ["Data protection"]


# --- what campaigns begin with


class Templates(Endpoint):
    """A lab's templates."""

    pagination_class = Pages

    @operation("templates", answer=lab_shapes.TemplateShape(many=True), tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """The templates that campaigns of a lab can begin with."""
        return self.page_of(self.lab(pk).templates.all(), lab_shapes.TemplateShape)


class TemplateSave(Endpoint):
    """Saving a template."""

    @operation(
        "template_save",
        takes=lab_shapes.NewTemplate,
        answer=lab_shapes.TemplateShape,
        status=201,
        right=Right.DESIGN,
        tags=TEMPLATES,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Save a campaign's settings, wording and terms as a template of its lab, under a name that is new there."""
        campaign, sent = self.campaign(pk), checked(lab_shapes.NewTemplate, request)
        made = terms_templating.template_save(
            campaign=campaign, name=sent["name"], by=user_of(request), at=timezone.now()
        )
        made.refresh_from_db()  # its settings as JSON keeps them
        return Response(lab_shapes.TemplateShape(made).data, status=201)


class TemplateOne(Endpoint):
    """One template."""

    @operation("template", answer=lab_shapes.TemplateShape, tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """What a template has."""
        return Response(lab_shapes.TemplateShape(templating.template_for(user_of(request), pk, self.right)).data)

    @operation(
        "template_change",
        takes=lab_shapes.TemplateChange,
        answer=lab_shapes.TemplateShape,
        right=Right.DESIGN,
        tags=TEMPLATES,
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Rename a template, or have new campaigns of the lab begin with it, or no longer. Campaigns that began with it
        stay as they are."""
        template = templating.template_for(user_of(request), pk, self.right)
        sent = checked(lab_shapes.TemplateChange, request)
        with transaction.atomic():
            if "name" in sent:
                templating.template_change(template=template, name=sent["name"], at=timezone.now())
            if sent.get("is_default"):
                templating.template_default_set(lab=template.lab, template=template)
            elif "is_default" in sent and template.is_default:
                templating.template_default_set(lab=template.lab, template=None)
        template.refresh_from_db()
        return Response(lab_shapes.TemplateShape(template).data)

    @operation("template_delete", status=204, right=Right.DESIGN, tags=TEMPLATES)
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a template. Campaigns that began with it stay as they are."""
        templating.template_delete(template=templating.template_for(user_of(request), pk, self.right))
        return Response(status=204)


class PayFloor(Endpoint):
    """A lab's pay floor."""

    @operation("pay_floor", answer=lab_shapes.PayFloorShape, tags=TEMPLATES)
    def get(self, request: Request, pk: int) -> Response:
        """The dollars an hour below which none of a lab's campaigns can start."""
        return Response(lab_shapes.PayFloorShape(self.lab(pk)).data)

    @operation(
        "pay_floor_set",
        takes=lab_shapes.PayFloorShape,
        answer=lab_shapes.PayFloorShape,
        right=Right.MANAGE,
        tags=TEMPLATES,
    )
    def put(self, request: Request, pk: int) -> Response:
        """Set a lab's pay floor, or take it away. What has started stays as it is."""
        lab, sent = self.lab(pk), checked(lab_shapes.PayFloorShape, request)
        return Response(lab_shapes.PayFloorShape(pay_floor_set(lab=lab, pay_floor=sent["pay_floor"])).data)


# --- the data of workers


class WorkerFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By what somebody knows of a worker."""

    who = CharFilter(method="by_words", required=True, max_length=100)

    def by_words(self, rows: QuerySet[Worker], _name: str, words: str) -> QuerySet[Worker]:
        """Those of the same lab who are called that."""
        return erasing.workers_called(Lab.objects.filter(pk__in=rows.values("lab")), words)


class FoundWorkers(Endpoint):
    """Finding a worker."""

    pagination_class = Pages
    filterset_class = WorkerFilter

    @operation("workers_find", answer=lab_shapes.FoundWorker(many=True), right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> Response:
        """The workers of a lab with an id at a platform, a name on the panel, or a pseudonym in an export."""
        return self.page_of(Worker.objects.filter(lab=self.lab(pk)), lab_shapes.FoundWorker)


class _OneWorker(Endpoint):
    def worker(self, pk: int, worker_pk: int) -> Worker:
        """The worker, for what needs this operation's right."""
        worker = Worker.objects.filter(pk=worker_pk, lab=self.lab(pk)).select_related("lab").first()
        if worker is None:
            raise NotYours(_("There is no such worker, or the worker is another lab's."))
        return worker


class Erasure(_OneWorker):
    """Erasing a worker."""

    @operation("erasure_plan", answer=lab_shapes.ErasureShape, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int, worker_pk: int) -> Response:
        """What erasing a worker would remove, what stays and why, and what stands in the way. Nothing is changed."""
        return _planned(erasing.erasure_plan(self.worker(pk, worker_pk), at=timezone.now()))

    @operation(
        "erase",
        takes=lab_shapes.NewErasure,
        answer=lab_shapes.ErasureShape,
        right=Right.MANAGE,
        tags=PROTECTION,
    )
    def post(self, request: Request, pk: int, worker_pk: int) -> Response:
        """Remove who a worker is. This cannot be undone. Refused (409) while money is unsettled. Again is no error."""
        worker, sent, at = self.worker(pk, worker_pk), checked(lab_shapes.NewErasure, request), timezone.now()
        erasing.worker_erase(worker=worker, at=at, why=sent["why"])
        worker.refresh_from_db()
        return _planned(erasing.erasure_plan(worker, at=at))


def _planned(plan: erasing.Plan) -> Response:
    content: dict[str, Any] = plan.as_json() | {"is_done": plan.is_done, "erased_at": plan.worker.erased_at}
    return Response(lab_shapes.ErasureShape(content).data)


class WorkerData(_OneWorker):
    """What is stored of a worker."""

    @operation("personal_data", answer=lab_shapes.PersonalData, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int, worker_pk: int) -> Response:
        """All that is stored of a worker, to be handed to the worker. The audit keeps that it was read."""
        worker = self.worker(pk, worker_pk)
        content = lab_shapes.PersonalData(erasing.personal_data(worker)).data
        entry_note(
            subject="personal-data", action="downloaded", key=worker.pk, lab_id=worker.lab_id, worker_id=worker.pk
        )
        return Response(content)
