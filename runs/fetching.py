"""Collections from ir_datasets: a job fetches them as files, which are then read like those that somebody sends."""

import logging
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.core.files import File
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core import progress
from core.alarms import in_words
from core.errors import FileAway, Refused
from core.locks import alone
from core.models import Lab, User
from core.progress import Report
from evaluation.errors import BadInput
from runs import background, catalogue, receiving
from runs import selectors as run_selectors
from runs import services as run_services
from runs.models import Collection, Job, Passage, Upload
from runs.services import KEEP_DEPTH, Imported

log = logging.getLogger(__name__)
SECONDS = 15 * 60.0  # that fetching may take: others wait for the process that does it
PENDING = timedelta(hours=1)  # in which a fetch that has been asked for keeps others from being asked for
State, Part = Job.State, Upload.Part


def dataset_ask(
    *,
    lab: Lab,
    name: str,
    dataset: str,
    passages: bool,
    by: User | None,
    at: datetime,
    collection: Collection | None = None,
) -> Job:
    """Ask for a collection from a dataset, with the passages that its qrels name or without any; or, for a collection
    that is there, for the passages that it lacks. Raises Refused as runs.catalogue.look_for_page does, and while
    another is being fetched on this site.
    """
    offer = catalogue.look_for_page(dataset, queries=collection is None, passages=passages)
    jobs = Job.objects.filter(state=State.RECEIVING, request__has_key="dataset", asked_at__gt=at - PENDING)
    if jobs.exists():
        raise Refused(_busy())
    return Job.objects.create(
        lab=lab,
        kind=Job.Kind.COLLECTION,
        state=State.RECEIVING,
        name=name,
        collection=collection,
        request={
            "language": None if collection else offer.language,
            "dataset": dataset,
            "queries": collection is None,
            "passages": passages,
        },
        asked_by=by,
        asked_at=at,
    )


def _busy() -> str:
    return _("Another public collection is being fetched, and there is one at a time. Ask again in some minutes.")


def dataset_fetch(*, job_id: int) -> bool:
    """Fetch what a job asks for, and have it read. False if it has ended, or another process is at it.

    Nothing is open in the database meanwhile. What ir_datasets has fetched it keeps, so beginning again is cheap.
    """
    with alone(f"fetching for job {job_id}") as got:
        job = Job.objects.filter(pk=job_id, state=State.RECEIVING, request__has_key="dataset").first()
        if job is None or not got:
            return False
        try:
            with alone("fetching a public collection") as is_first:
                if not is_first:
                    raise Refused(_busy())
                _fetch(job, progress.report_on(background.progress_key(job)))
        except FileAway as error:
            _end(job, State.FAILED, str(error))
        except (Refused, BadInput) as error:
            _end(job, State.REFUSED, str(error))
        except SoftTimeLimitExceeded:
            text = _(
                "Fetching took longer than a job may. Fetch it on the server, where nothing ends it: manage.py "
                "import_dataset %(id)s"
            )
            _end(job, State.FAILED, text % {"id": job.request["dataset"]})
        except Exception as error:
            log.exception("Job %s", job.pk)
            _end(job, State.FAILED, in_words(error))
        else:
            return True
    progress.forget(background.progress_key(job))
    return False


def _end(job: Job, state: Job.State, error: str) -> None:
    ended = Job.objects.filter(pk=job.pk, state=State.RECEIVING)
    ended.update(state=state, error=error, ended_at=timezone.now())
    background.uploads_delete(job=job)


def _fetch(job: Job, report: Report) -> None:
    catalogue.look_for_page(job.request["dataset"], queries=job.request["queries"], passages=job.request["passages"])
    background.uploads_delete(job=job)  # of an attempt that was killed
    job.uploads.all().delete()
    with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
        files = catalogue.fetch(
            job.request["dataset"],
            Path(folder),
            queries=job.request["queries"],
            passages=job.request["passages"],
            needed=_lacking(job.collection),
            report=report,
            seconds=SECONDS,
        )
        for part, path in zip((Part.QUERIES, Part.QRELS, Part.PASSAGES), files, strict=True):
            if path is not None:
                with path.open("rb") as file:
                    name = f"{job.request['dataset'].replace('/', '-')}-{path.name}"
                    receiving.file_keep(job=job, file=File(file, name=name), part=part)
    parts = dict(job.uploads.values_list("pk", "part"))
    receiving.files_read(job=job, parts=parts, keep="all")


def _lacking(collection: Collection | None) -> set[str]:
    """The passages that a collection needs, and has no text of."""
    if collection is None:
        return set()
    texts = Passage.objects.filter(collection=collection).exclude(text="").values_list("pid", flat=True)
    bare = Passage.objects.filter(collection=collection, text="").values_list("pid", flat=True)
    return (run_selectors.wanted_passages(collection, KEEP_DEPTH) | set(bare)).difference(texts.iterator())


def dataset_import(*, lab: Lab, name: str, dataset: str, passages: bool, report: Report) -> Imported:
    """Make a collection from a dataset at once; or, where the lab has it, add the passages that it lacks.

    Raises Refused and FileAway as runs.catalogue.fetch does.
    """
    stored = Collection.objects.filter(lab=lab, name=name).first()
    if stored is not None and stored.dataset != dataset:
        raise Refused(_("The lab already has a collection with this name, and it is not from this dataset."))
    with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
        files = catalogue.fetch(
            dataset, Path(folder), queries=stored is None, passages=passages, needed=_lacking(stored), report=report
        )
        language = None if stored else catalogue.look(dataset, passages=False).language
        with transaction.atomic():
            imported = run_services.collection_import(
                lab=lab, name=name, language=language, keep="all", is_corpus=False, report=report, **files._asdict()
            )
            run_services.collection_name_dataset(collection=imported.collection, dataset=dataset)
    return imported
