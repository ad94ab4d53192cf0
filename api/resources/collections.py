"""The token, collections, runs, and jobs."""

import logging
from collections.abc import Mapping
from typing import Any, cast

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, CharFilter, ChoiceFilter, FilterSet
from kombu.exceptions import OperationalError
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from api import shapes
from api.filters import KeyFilter
from api.frame import Endpoint, Pages, checked, operation, token_of, user_of
from core.models import Lab
from core.progress import progress_of
from core.roles import Right, labs_of, require
from evaluation.files.runs import run_name
from pools import background
from pools import jobs as pool_jobs
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Collection, Job, Run

log = logging.getLogger(__name__)


def accepted(request: Request, job: Job) -> Response:
    """202 with a job that has been asked for, and have a worker begin it once it is stored."""

    def begin() -> None:
        try:
            pool_jobs.work.delay(job.pk)
        except OperationalError as error:
            log.warning("Job %s waits for the next tick: %s", job.pk, error)

    transaction.on_commit(begin)
    return answer_job(job)


def answer_job(job: Job) -> Response:
    """202 with a job."""
    headers = {"Location": reverse("api:v1:job", args=[job.pk])}
    return Response(_job(job), status=202, headers=headers)


def lab_sent(request: Request, key: int) -> Lab:
    """The lab that was sent, for what designs. Raises ValidationError where it is not theirs, and NotAllowed."""
    lab = labs_of(user_of(request)).filter(pk=key).first()
    if lab is None:
        raise ValidationError({"lab": [_("There is no such lab, or you are not a member of it.")]})
    require(user_of(request), lab, Right.DESIGN)
    return lab


def _job(job: Job) -> dict[str, Any]:
    told = progress_of(background.progress_key(job)) if job.is_open else None
    job.progress = told  # type: ignore[attr-defined]
    return dict(shapes.JobShape(job).data)


def name_of(sent: Mapping[str, Any]) -> str:
    """What a file's content is to be called: the name that was sent, or the file's without its extensions."""
    name: str = sent.get("name") or run_name(str(sent["file"].name))[:100]
    return name


class Myself(Endpoint):
    """The token that the request has."""

    @operation("token", answer=shapes.TokenShape, tags=["Account"])
    def get(self, request: Request) -> Response:
        """Your token: whose it is, what it may do, and until when."""
        return Response(shapes.TokenShape(token_of(request)).data)


# --- collections


class CollectionFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By lab and name."""

    lab = KeyFilter(field_name="lab_id")
    name = CharFilter(lookup_expr="icontains")


class Collections(Endpoint):
    """All collections of your labs."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages
    filterset_class = CollectionFilter

    @operation("collections", answer=shapes.CollectionShape(many=True), tags=["Collections"])
    def get(self, request: Request) -> Response:
        """The collections of your labs."""
        return self.page_of(pool_selectors.collections_of(user_of(request)), shapes.CollectionShape)

    @operation(
        "collection_create",
        takes={"multipart/form-data": shapes.NewCollection},
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=["Collections"],
    )
    def post(self, request: Request) -> Response:
        """Make a collection from files. They are read by a job, whose `collection` it then is. Send at least one."""
        sent = dict(checked(shapes.NewCollection, request))
        lab = lab_sent(request, sent.pop("lab"))
        if Collection.objects.filter(lab=lab, name=sent["name"]).exists():
            text = _("The lab already has a collection with this name. Add the files to it.")
            raise ValidationError({"name": [text]})
        return accepted(request, _ask_files(request, lab, sent))


def _ask_files(request: Request, lab: Lab, sent: dict[str, Any]) -> Job:
    name, language, keep = sent.pop("name"), sent.pop("language"), sent.pop("keep")
    if not sent:
        raise ValidationError(_("Send at least one file: queries, qrels or passages."))
    return background.collection_ask(
        lab=lab, name=name, language=language, keep=keep, files=sent, by=user_of(request), at=timezone.now()
    )


class CollectionOne(Endpoint):
    """One collection."""

    @operation("collection", answer=shapes.CollectionDetail, tags=["Collections"])
    def get(self, request: Request, pk: int) -> Response:
        """One collection, with what it holds."""
        collection = self.collection(pk)
        collection.size = pool_selectors.collection_size(collection)  # type: ignore[attr-defined]
        return Response(shapes.CollectionDetail(collection).data)


class CollectionFiles(Endpoint):
    """The files of a collection."""

    parser_classes = [MultiPartParser]

    @operation(
        "collection_add",
        takes={"multipart/form-data": shapes.CollectionFiles},
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=["Collections"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Add files to a collection. What is there already is kept, and must not be contradicted."""
        collection = self.collection(pk)
        sent = {**checked(shapes.CollectionFiles, request), "name": collection.name, "language": None}
        return accepted(request, _ask_files(request, collection.lab, sent))


# --- runs


class RunFilter(FilterSet):  # type: ignore[misc]
    """By collection, name and team."""

    collection = KeyFilter(field_name="collection_id")
    name = CharFilter(lookup_expr="icontains")
    team = CharFilter(lookup_expr="iexact")
    is_released = BooleanFilter()


class Runs(Endpoint):
    """All runs of your labs."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages
    filterset_class = RunFilter

    @operation("runs", answer=shapes.RunShape(many=True), tags=["Runs"])
    def get(self, request: Request) -> Response:
        """The runs of your labs."""
        return self.page_of(pool_selectors.runs_of(user_of(request)), shapes.RunShape)

    @operation(
        "run_create",
        takes={"multipart/form-data": shapes.NewRun},
        answer=shapes.JobShape,
        status=202,
        right=Right.MAINTAIN,
        tags=["Runs"],
    )
    def post(self, request: Request) -> Response:
        """Upload a run. It is checked by a job, whose `run` it then is; if it has errors, they are in `complaints`."""
        sent = checked(shapes.NewRun, request)
        job = background.run_ask(
            collection=self.collection(sent["collection"]),
            file=cast("UploadedFile[Any]", sent["file"]),
            name=name_of(sent),
            team=sent["team"],
            notes=sent["notes"],
            models_used=sent["models_used"],
            without_query=sent["without_query"],
            by=user_of(request),
            at=timezone.now(),
        )
        return accepted(request, job)


class RunOne(Endpoint):
    """One run."""

    def run(self, key: int) -> Run:
        """The run, for what needs this operation's right. Raises NotYours and NotAllowed."""
        return pool_selectors.run_for(user_of(self.request), key, self.right)

    @operation("run", answer=shapes.RunDetail, tags=["Runs"])
    def get(self, request: Request, pk: int) -> Response:
        """One run, with its census."""
        return Response(shapes.RunDetail(self.run(pk)).data)

    @operation("run_change", takes=shapes.RunChange, answer=shapes.RunDetail, right=Right.MAINTAIN, tags=["Runs"])
    def patch(self, request: Request, pk: int) -> Response:
        """Let exports have what only this run brought, or hold it back; and say which models it uses."""
        run, sent = self.run(pk), checked(shapes.RunChange, request)
        if "is_released" in sent:
            run = pool_services.run_release(run=run, is_released=sent["is_released"])
        if "models_used" in sent:
            run = pool_services.run_describe(run=run, models_used=sent["models_used"], at=timezone.now())
        return Response(shapes.RunDetail(run).data)

    @operation("run_delete", status=204, right=Right.MAINTAIN, tags=["Runs"])
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a run that no campaign uses."""
        pool_services.run_delete(run=self.run(pk))
        return Response(status=204)


# --- jobs


class JobFilter(FilterSet):  # type: ignore[misc]
    """By kind, state and collection."""

    kind = ChoiceFilter(choices=Job.Kind.choices)
    state = ChoiceFilter(choices=Job.State.choices)
    collection = KeyFilter(field_name="collection_id")


class Jobs(Endpoint):
    """Jobs of your labs."""

    pagination_class = Pages
    filterset_class = JobFilter

    @operation("jobs", answer=shapes.JobShape(many=True), tags=["Jobs"])
    def get(self, request: Request) -> Response:
        """What members of your labs have asked for, newest first."""
        return self.page_of(pool_selectors.jobs_of(user_of(request)), shapes.JobShape)


class JobOne(Endpoint):
    """One job."""

    @operation("job", answer=shapes.JobShape, tags=["Jobs"])
    def get(self, request: Request, pk: int) -> Response:
        """How far a job is, and what came of it."""
        return Response(_job(pool_selectors.job_for(user_of(request), pk, self.right)))


class JobCancel(Endpoint):
    """Cancelling a job."""

    @operation("job_cancel", answer=shapes.JobShape, right=Right.MAINTAIN, tags=["Jobs"])
    def post(self, request: Request, pk: int) -> Response:
        """Cancel a job that has not ended: at once if nobody is at it, else at its next step. What has ended stays as
        it is."""
        job = pool_selectors.job_for(user_of(request), pk, self.right)
        background.job_cancel(job=job, by=user_of(request))
        job.refresh_from_db()
        return Response(_job(job))
