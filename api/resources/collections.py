"""Collections, public ones too, runs, and jobs."""

from collections.abc import Mapping
from typing import Any

from django.http import StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, CharFilter, ChoiceFilter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import material_shapes, shapes
from api.access import token_of
from api.asking import ask_now, soon
from api.filters import KeyFilter, filterset
from api.frame import FILE, Resource, get, operation, post
from core.errors import NotNow
from core.models import Lab, User
from core.progress import progress_of
from core.roles import Right, labs_of, may, require
from evaluation.files.runs import run_name
from judgments.downloads import TYPES
from leaderboards import submitting
from runs import background, catalogue, fetching, sending
from runs import jobs as pool_jobs
from runs import selectors as run_selectors
from runs import services as run_services
from runs.models import Collection, Job, Run


def accepted(job: Job) -> Response:
    """202 with a job that has been asked for, and have a worker begin it once it is stored."""
    soon(pool_jobs.work, job.pk)
    return answer_job(job)


def answer_job(job: Job) -> Response:
    """202 with a job."""
    headers = {"Location": reverse("api:v1:jobs-detail", args=[job.pk])}
    return Response(shapes.JobShape(with_progress(job)).data, status=202, headers=headers)


def lab_sent(user: User, key: int) -> Lab:
    """The lab that was sent, for what designs. Raises ValidationError where it is not theirs, and NotAllowed."""
    lab = labs_of(user).filter(pk=key).first()
    if lab is None:
        raise ValidationError({"lab": [_("There is no such lab, or you are not a member of it.")]})
    require(user, lab, Right.DESIGN)
    return lab


def with_progress(job: Job) -> Job:
    """The job, with how far it is."""
    job.progress = progress_of(background.progress_key(job)) if job.is_open else None  # type: ignore[attr-defined]
    return job


def name_of(sent: Mapping[str, Any]) -> str:
    """What a file's content is to be called: the name that was sent, or the file's without its extensions."""
    name: str = sent.get("name") or run_name(str(sent["file"].name))[:100]
    return name


class Collections(Resource):
    """The collections of your labs."""

    tags = ["Collections"]
    filterset_class = filterset(lab=KeyFilter(field_name="lab_id"), name=CharFilter(lookup_expr="icontains"))

    def ask(self, lab: Lab, name: str, language: str | None, keep: str, **files: Any) -> Response:
        if not files:
            raise ValidationError(_("Send at least one file: queries, qrels or passages."))
        about: dict[str, Any] = {"lab": lab, "name": name, "language": language, "keep": keep, "files": files}
        return accepted(background.collection_ask(**about, **self.signed))

    @operation(shapes.CollectionShape(many=True), name="collections")
    def list(self, request: Request) -> Any:
        """The collections of your labs."""
        return run_selectors.collections_of(self.user)

    @operation(shapes.JobShape, Right.DESIGN, name="collection_create", takes=shapes.NewCollection, status=202)
    def create(self, request: Request) -> Any:
        """Make a collection from files. They are read by a job, whose `collection` it then is. Send at least one."""
        sent = self.sent
        lab = lab_sent(self.user, sent.pop("lab"))
        if Collection.objects.filter(lab=lab, name=sent["name"]).exists():
            text = _("The lab already has a collection with this name. Add the files to it.")
            raise ValidationError({"name": [text]})
        return self.ask(lab, **sent)

    @operation(shapes.CollectionDetail, name="collection")
    def retrieve(self, request: Request, pk: int) -> Any:
        """One collection, with what it holds."""
        collection = self.collection
        collection.size = run_selectors.collection_size(collection)  # type: ignore[attr-defined]
        return collection

    @post("files", shapes.JobShape, Right.DESIGN, takes=shapes.CollectionFiles, status=202)
    def collection_add(self, request: Request, pk: int) -> Any:
        """Add files to a collection. What is there already is kept, and must not be contradicted."""
        return self.ask(self.collection.lab, self.collection.name, None, **self.sent)

    @post("fetch-passages", shapes.JobShape, Right.DESIGN, status=202)
    def dataset_passages(self, request: Request, pk: int) -> Any:
        """Have the passages fetched that a collection from ir_datasets lacks, for its qrels and runs."""
        collection = self.collection
        if not collection.dataset:
            raise NotNow(_("The collection is not from ir_datasets: add a file of its passages."))
        about: dict[str, Any] = {"lab": collection.lab, "name": collection.name, "dataset": collection.dataset}
        return fetched(request, fetching.dataset_ask(**about, passages=True, collection=collection, **self.signed))

    @get("missing-passages.txt", FILE, media="text/plain")
    def missing_passages(self, request: Request, pk: int) -> Any:
        """Download the ids of the passages of a collection that lack a text, one a line."""
        rows = run_selectors.untexted_passages(self.collection).values_list("pid", flat=True)
        lines = (f"{pid}\n" for pid in rows.iterator(chunk_size=10_000))
        return StreamingHttpResponse(lines, content_type=TYPES["txt"])


class Runs(Resource):
    """The runs of your labs."""

    tags = ["Runs"]
    filterset_class = filterset(
        collection=KeyFilter(field_name="collection_id"),
        name=CharFilter(lookup_expr="icontains"),
        team=CharFilter(lookup_expr="iexact"),
        is_released=BooleanFilter(),
    )

    @property
    def run(self) -> Run:
        """The run, for what needs this operation's right. Raises NotYours and NotAllowed."""
        return run_selectors.run_for(self.user, self.kwargs["pk"], self.right)

    @operation(shapes.RunShape(many=True), name="runs")
    def list(self, request: Request) -> Any:
        """The runs of your labs."""
        return run_selectors.runs_of(self.user)

    @operation(shapes.JobShape, Right.MAINTAIN, name="run_create", takes=shapes.NewRun, status=202)
    def create(self, request: Request) -> Any:
        """Upload a run. It is checked by a job, whose `run` it then is; if it has errors, they are in `complaints`."""
        sent = self.sent
        sent |= {"collection": self.get_collection(sent["collection"]), "name": name_of(sent)}
        return accepted(background.run_ask(**sent, **self.signed))

    @operation(shapes.RunDetail, name="run")
    def retrieve(self, request: Request, pk: int) -> Any:
        """One run, with its census."""
        return self.run

    @operation(shapes.RunDetail, Right.MAINTAIN, name="run_change", takes=shapes.RunChange)
    def partial_update(self, request: Request, pk: int) -> Any:
        """Let exports have what only this run brought, or hold it back; and say which models it uses."""
        run, sent = self.run, self.sent
        if "is_released" in sent:
            run = run_services.run_release(run=run, is_released=sent["is_released"])
        if "models_used" in sent:
            run = run_services.run_describe(run=run, models_used=sent["models_used"], at=timezone.now())
        return run

    @operation(right=Right.MAINTAIN, name="run_delete")
    def destroy(self, request: Request, pk: int) -> Any:
        """Delete a run that no campaign uses."""
        run_services.run_delete(run=self.run)


class Uploads(Resource):
    """Large files, which are sent straight to the bucket."""

    tags = ["Uploads"]
    lookup_url_kwarg = "token"
    lookup_value_converter = "str"

    @operation(shapes.UploadShape, Right.MAINTAIN, name="upload_begin", takes=shapes.NewUpload)
    def create(self, request: Request) -> Any:
        """Begin to send a file to the site's bucket, past its web servers. Send its parts where the answer says, then
        finish. Refused (409) where a site has no such bucket: send the file with its form."""
        begin = sending.sending_begin if may(self.user, None, self.right) else submitting.sending_begin
        return begin(user=self.user, at=timezone.now(), **self.sent)

    @post("finish", shapes.UploadShape, Right.MAINTAIN)
    def upload_finish(self, request: Request, token: str) -> Any:
        """Have the parts put together. Where some are missing, nothing is done, and the answer says where they go: so
        what broke off goes on."""
        return sending.sending_continue(token=token, user=self.user)


class Jobs(Resource):
    """What was asked for."""

    tags = ["Jobs"]
    filterset_class = filterset(
        kind=ChoiceFilter(choices=Job.Kind.choices),
        state=ChoiceFilter(choices=Job.State.choices),
        collection=KeyFilter(field_name="collection_id"),
    )

    @operation(shapes.JobShape(many=True), name="jobs")
    def list(self, request: Request) -> Any:
        """What members of your labs have asked for, newest first."""
        return run_selectors.jobs_of(self.user)

    @operation(shapes.JobShape, name="job")
    def retrieve(self, request: Request, pk: int) -> Any:
        """How far a job is, and what came of it."""
        return with_progress(run_selectors.job_for(self.user, pk, self.right))

    @post("cancel", shapes.JobShape, Right.MAINTAIN)
    def job_cancel(self, request: Request, pk: int) -> Any:
        """Cancel a job that has not ended: at once if nobody is at it, else at its next step. What has ended stays as
        it is."""
        job = run_selectors.job_for(self.user, pk, self.right)
        background.job_cancel(job=job, by=self.user)
        job.refresh_from_db()
        return with_progress(job)


def fetched(request: Request, job: Job) -> Response:
    """202 with a job for which something is to be fetched. Raises NotAskedFor where nobody can be asked to."""
    user = token_of(request).user
    ask_now(request, pool_jobs.fetch_dataset, job.pk, undo=lambda: background.job_cancel(job=job, by=user))
    return answer_job(job)


class Datasets(Resource):
    """Public collections."""

    tags = ["Collections"]
    pagination_class = None

    @operation(material_shapes.DatasetShape(many=True), name="datasets", asks=material_shapes.AskedDatasets)
    def list(self, request: Request) -> Any:
        """The public collections with queries that ir_datasets knows, by id. Nothing is fetched."""
        return catalogue.datasets_called(self.query["id"])

    @operation(shapes.JobShape, Right.DESIGN, name="dataset_import", takes=material_shapes.NewDataset, status=202)
    def create(self, request: Request) -> Any:
        """Make a collection from ir_datasets: a job fetches its queries and qrels, and the passages that the qrels name
        if you ask for them. Look first (`datasets/offer/`) what that takes. One is fetched at a time."""
        sent = self.sent
        lab = lab_sent(self.user, sent["lab"])
        name = sent.get("name") or sent["dataset"][:100]
        if Collection.objects.filter(lab=lab, name=name).exists():
            raise ValidationError({"name": [_("The lab already has a collection with this name. Choose another.")]})
        job = fetching.dataset_ask(
            lab=lab, name=name, dataset=sent["dataset"], passages=sent["passages"], **self.signed
        )
        return fetched(request, job)

    @get("offer", material_shapes.OfferShape, asks=material_shapes.AskedOffer, refuses=True, detail=False)
    def dataset_offer(self, request: Request) -> Any:
        """What a public collection has, and what fetching it would take. Nothing is fetched; what could not be is
        refused (409), with the reason."""
        return catalogue.look_for_page(self.query["id"], passages=self.query["passages"])
