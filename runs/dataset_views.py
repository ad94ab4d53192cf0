"""The pages on which somebody has a public collection fetched."""

import logging

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods
from kombu.exceptions import OperationalError

from core.errors import Refused
from core.http import Request, refuse_in, see_other
from core.models import Lab
from core.roles import Right, needs
from runs import background, catalogue, fetching
from runs import jobs as run_jobs
from runs.forms import DatasetForm
from runs.http import collection_of, job_asked_again
from runs.models import Collection, Job

log = logging.getLogger(__name__)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def dataset_new(request: Request) -> HttpResponse:
    """A public collection by its id. What fetching it takes is shown first; nothing is fetched here."""
    if request.method == "GET":
        before = job_asked_again(request, Job.Kind.COLLECTION)
        initial = None if before is None else {"lab": before.lab_id, "name": before.name, **before.request}
        return render(request, "runs/dataset.html", {"form": DatasetForm(user=request.user, initial=initial)})
    form, offer, status = DatasetForm(request.POST, user=request.user), None, 400
    if form.is_valid():
        data = form.cleaned_data
        try:
            if "seen" in request.POST:
                return _ask(request, data["lab"], data["name"], data["dataset"], passages=data["passages"])
            offer, status = catalogue.look_for_page(data["dataset"], passages=data["passages"]), 200
        except Refused as error:
            status = refuse_in(form, error)
    return render(request, "runs/dataset.html", {"form": form, "offer": offer}, status=status)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def dataset_texts(request: Request, pk: int) -> HttpResponse:
    """The passages that a collection lacks, from the dataset that it comes from."""
    collection = collection_of(request, pk)
    if not collection.dataset:
        return see_other("runs:missing_texts", pk)
    if request.method == "POST":
        return _ask(request, collection.lab, collection.name, collection.dataset, passages=True, collection=collection)
    offer = catalogue.look_for_page(collection.dataset, queries=False, passages=True)
    return render(request, "runs/dataset.html", {"collection": collection, "offer": offer})


def _ask(
    request: Request, lab: Lab, name: str, dataset: str, *, passages: bool, collection: Collection | None = None
) -> HttpResponse:
    job = fetching.dataset_ask(
        lab=lab,
        name=name,
        dataset=dataset,
        passages=passages,
        by=request.user,
        at=timezone.now(),
        collection=collection,
    )
    try:
        run_jobs.fetch_dataset.delay(job.pk)
    except OperationalError as error:
        log.warning("Job %s could not be handed over: %s", job.pk, error)
        background.job_cancel(job=job, by=request.user)
    response = see_other("runs:job", job.pk)
    response["Location"] += "?then"
    return response
