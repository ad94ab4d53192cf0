"""Public collections, by their ids in ir_datasets."""

import logging
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from kombu.exceptions import OperationalError
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from api import material_shapes, shapes
from api.answers import answer_forget
from api.frame import Endpoint, checked, operation, user_of
from api.problems import NotAskedFor
from api.resources.collections import answer_job, lab_sent
from core.errors import NotNow
from core.roles import Right
from pools import background, catalogue, fetching
from pools import jobs as pool_jobs
from pools.models import Collection, Job

TAGS = ["Collections"]
log = logging.getLogger(__name__)


def asked(shape: type[Serializer[Any]], request: Request) -> Mapping[str, Any]:
    """What the address asks for, as the shape reads it. Raises ValidationError."""
    sent = shape(data=request.query_params.dict())
    sent.is_valid(raise_exception=True)
    values: Mapping[str, Any] = sent.validated_data
    return values


def fetched(request: Request, job: Job) -> Response:
    """202 with a job for which something is to be fetched. Raises NotAskedFor where nobody can be asked to."""

    def begin() -> None:
        try:
            pool_jobs.fetch_dataset.delay(job.pk)
        except OperationalError as error:
            log.warning("Job %s could not be handed over: %s", job.pk, error)
            background.job_cancel(job=job, by=user_of(request))
            answer_forget(request)
            raise NotAskedFor(_("Nothing can be fetched at the moment. Try again in a minute.")) from error

    transaction.on_commit(begin)
    return answer_job(job)


class Datasets(Endpoint):
    """The public collections that there are."""

    @operation(
        "datasets",
        answer=material_shapes.DatasetShape(many=True),
        parameters=[OpenApiParameter("id", str, description="Only those whose id contains this.")],
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        """The public collections with queries that ir_datasets knows, by id. Nothing is fetched."""
        found = catalogue.datasets_called(asked(material_shapes.AskedDatasets, request)["id"])
        return Response(material_shapes.DatasetShape(found, many=True).data)

    @operation(
        "dataset_import",
        takes=material_shapes.NewDataset,
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        """Make a collection from ir_datasets: a job fetches its queries and qrels, and the passages that the qrels name
        if you ask for them. Look first (`datasets/offer/`) what that takes. One is fetched at a time."""
        sent = checked(material_shapes.NewDataset, request)
        lab = lab_sent(request, sent["lab"])
        name = sent.get("name") or sent["dataset"][:100]
        if Collection.objects.filter(lab=lab, name=name).exists():
            raise ValidationError({"name": [_("The lab already has a collection with this name. Choose another.")]})
        job = fetching.dataset_ask(
            lab=lab,
            name=name,
            dataset=sent["dataset"],
            passages=sent["passages"],
            by=user_of(request),
            at=timezone.now(),
        )
        return fetched(request, job)


class DatasetOffer(Endpoint):
    """What a public collection has."""

    @operation(
        "dataset_offer",
        answer=material_shapes.OfferShape,
        parameters=[
            OpenApiParameter("id", str, required=True, description="Its id in ir_datasets."),
            OpenApiParameter("passages", bool, description="Whether its passages are to be fetched, too."),
        ],
        refuses=True,
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        """What a public collection has, and what fetching it would take. Nothing is fetched; what could not be is
        refused (409), with the reason."""
        sent = asked(material_shapes.AskedOffer, request)
        return Response(material_shapes.OfferShape(catalogue.look_for_page(sent["id"], passages=sent["passages"])).data)


class DatasetTexts(Endpoint):
    """The passages of a public collection."""

    @operation("dataset_passages", answer=shapes.JobShape, status=202, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Have the passages fetched that a collection from ir_datasets lacks, for its qrels and runs."""
        collection = self.collection(pk)
        if not collection.dataset:
            raise NotNow(_("The collection is not from ir_datasets: add a file of its passages."))
        job = fetching.dataset_ask(
            lab=collection.lab,
            name=collection.name,
            dataset=collection.dataset,
            passages=True,
            by=user_of(request),
            at=timezone.now(),
            collection=collection,
        )
        return fetched(request, job)
