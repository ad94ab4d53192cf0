"""Jobs that members of a lab ask for: files that browsers send, and campaigns to create.

What was sent is stored first, as it comes. A job then does what a command would do with it, in one transaction, which
also ends the job: whatever is refused, fails or is killed leaves nothing, and what was killed is begun again.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from math import comb
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core import progress
from core.alarms import in_words
from core.errors import FileAway, Refused
from core.models import Lab, User
from core.progress import Report
from core.retrying import Pauses
from evaluation.errors import BadInput
from evaluation.files.runs import RunCheck, run_name
from runs import receiving, sending
from runs import selectors as run_selectors
from runs import services as run_services
from runs.models import Collection, Job, Run, Upload

ATTEMPTS = 3
PAUSES = Pauses(timedelta(minutes=1), timedelta(hours=1))
ABANDONED = timedelta(days=1)  # who was sending a file for so long is gone
KEPT = timedelta(days=90)  # jobs that have ended
BATCH = 100
FAULTS_TOLD = 10  # files that the message of a job names

# What is done at once, before the next page is shown.
SMALL_BYTES = 256 << 10
SMALL_HITS = 50_000  # of all runs of a campaign
SMALL_PAIRS = 5_000

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    Sent = UploadedFile[Any]
else:
    Sent = UploadedFile
State, Part = Job.State, Upload.Part
log = logging.getLogger(__name__)


# --- asking


def run_ask(
    *,
    collection: Collection,
    file: Sent,
    name: str,
    team: str,
    notes: str,
    models_used: str = "",
    without_query: bool = False,
    by: User | None,
    at: datetime,
) -> Job:
    """Store a run file, and ask for it to be checked and imported. Raises FileAway if it cannot be stored."""
    request = {"team": team, "notes": notes, "models_used": models_used, "without_query": without_query}
    job = Job(lab=collection.lab, kind=Job.Kind.RUN, name=name, collection=collection, request=request)
    return job_ask(job, {Part.RUN: file}, by, at)


def collection_ask(
    *, lab: Lab, name: str, language: str | None, keep: str, files: Mapping[str, Sent], by: User | None, at: datetime
) -> Job:
    """Store files of a collection by their part, and ask for them to be imported, into a new one if need be."""
    collection = Collection.objects.filter(lab=lab, name=name).first()
    request = {"language": language, "keep": keep, "team": ""}
    job = Job(lab=lab, kind=Job.Kind.COLLECTION, name=name, collection=collection, request=request)
    return job_ask(job, files, by, at)


def job_ask(job: Job, files: Mapping[str, Sent], by: User | None, at: datetime) -> Job:
    """Store a job and its files. Raises FileAway if they cannot be stored, and Refused if one was used already."""
    job.state, job.asked_by, job.asked_at = State.RECEIVING, by, at
    job.save()
    try:
        for part, file in files.items():
            upload = Upload(job=job, part=part, name=str(file.name)[-255:], size=file.size or 0)
            receiving.file_store(upload=upload, file=file)
    except (OSError, BotoCoreError, ClientError, Refused) as error:
        uploads_delete(job=job)
        job.delete()
        if isinstance(error, Refused):
            raise
        raise FileAway(_("The file could not be stored: %(error)s. Send it again later.") % {"error": error}) from error
    job.state = State.WAITING
    job.save(update_fields=["state"])
    return job


def is_small(job: Job) -> bool:
    """Whether a job is done sooner than somebody could be told to wait for it."""
    if job.kind != Job.Kind.CAMPAIGN:
        return sum(job.uploads.values_list("size", flat=True)) <= SMALL_BYTES
    assert job.collection is not None
    censuses = list(Run.objects.filter(pk__in=job.request["runs"]).values_list("census", flat=True))
    most = max((census["queries"] for census in censuses), default=0)
    pairs = most * comb(len(censuses) * int(job.request["settings"]["depth"]) + 1, 2)
    return sum(census["hits"] for census in censuses) <= SMALL_HITS and pairs <= SMALL_PAIRS


# --- doing


def jobs_waiting(*, at: datetime) -> QuerySet[Job]:
    """Jobs that are to be done now, in the order in which they were asked for."""
    return Job.objects.filter(Job.due(at), state=State.WAITING).order_by("id")


def job_do(*, job_id: int) -> bool:
    """Do a job: all of it, or nothing. False if it has ended, or another process is at it.

    What is wrong with its files or settings ends it as refused. Any other failure is tried again after a rest, and so
    is a job whose process was killed; after three attempts it has failed.
    """
    with transaction.atomic():
        job = _lock(job_id)
        if job is None:
            return False
        if job.tries >= ATTEMPTS:
            _end(job, State.FAILED, _("The work was interrupted %(count)d times.") % {"count": job.tries})
        else:
            job.tries, job.begun_at, job.retry_at = job.tries + 1, timezone.now(), None
        job.save()
    with transaction.atomic():
        job = _lock(job_id)
        if job is not None:
            _attempt(job, progress.report_on(progress_key(job)))
            job.save()
    if job is not None:
        progress.forget(progress_key(job))
    ended = Job.objects.exclude(state__in=[State.RECEIVING, State.WAITING]).filter(pk=job_id).first()
    if ended is not None:
        uploads_delete(job=ended)
    return job is not None


def job_cancel(*, job: Job, by: User) -> None:
    """End a job before it is done: at once if nobody is at it, else at its next step. What has ended stays as it is."""
    why = _("%(who)s cancelled it.") % {"who": by}
    with transaction.atomic():
        waiting = _lock(job.pk)
        if waiting is not None:
            _end(waiting, State.REFUSED, why)
            waiting.save()
    if waiting is not None:
        uploads_delete(job=waiting)
    elif job.state == State.WAITING:
        progress.cancel(progress_key(job), why)
    elif job.is_fetching:
        Job.objects.filter(pk=job.pk, state=State.RECEIVING).update(
            state=State.REFUSED, error=why, ended_at=timezone.now()
        )
        progress.cancel(progress_key(job), why)


def files_discard(*, job: Job) -> None:
    """Delete files that were received and have not been read, and their job."""
    if job.state == State.RECEIVING:
        uploads_delete(job=job)
        job.delete()


def progress_key(job: Job) -> str:
    """What the progress of a job is kept under."""
    return f"job {job.pk}"


def _lock(job_id: int) -> Job | None:
    """The job, locked until the transaction ends, if it waits and nobody else is at it."""
    waiting = Job.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=job_id, state=State.WAITING)
    return waiting.first()


def _attempt(job: Job, report: Report) -> None:
    try:
        with transaction.atomic():
            refused = _DO[Job.Kind(job.kind)](job, report)
    except run_services.BadRun as error:
        job.complaints = _complaints(error.check)
        _end(job, State.REFUSED, str(error))
    except run_services.AlreadyStored as error:
        job.run = error.run
        _end(job, State.REFUSED, str(error))
    except (Refused, BadInput) as error:
        if isinstance(error, FileAway):
            _fail(job, error)
        else:
            _end(job, State.REFUSED, str(error))
    except Exception as error:
        log.exception("Job %s", job.pk)
        _fail(job, error)
    else:
        _end(job, State.REFUSED if refused else State.DONE, refused or "")


def _complaints(check: RunCheck) -> dict[str, Any]:
    """The errors of a run by line, as they are stored."""
    return {"errors": [list(line) for line in check.errors], "count": check.error_count, "stopped": check.stopped}


def _end(job: Job, state: Job.State, error: str = "") -> None:
    job.state, job.error, job.ended_at, job.retry_at = state, error, timezone.now(), None


def _fail(job: Job, error: Exception) -> None:
    job.error = in_words(error)
    if job.tries >= ATTEMPTS:
        _end(job, State.FAILED, job.error)
    else:
        job.retry_at = timezone.now() + PAUSES.after(job.tries)


def _do_run(job: Job, report: Report) -> None:
    assert job.collection is not None
    upload = job.uploads.get(part=Part.RUN)
    with default_storage.open(str(upload.file.name)) as file:
        job.run = run_services.run_import(
            collection=job.collection,
            name=job.name,
            source=cast(BinaryIO, file),
            filename=upload.name,
            stored=str(upload.file.name),
            report=report,
            **job.request,
        )
    upload.file = ""
    upload.save(update_fields=["file"])


def _do_collection(job: Job, report: Report) -> str:
    """Queries and qrels are read first, then runs, then passages. What is wrong with the first two ends all of it,
    since the others rest on them; a run or a file of passages that is wrong is left out, and says why.
    """
    imported = run_services.collection_import(lab=job.lab, name=job.name, language=job.request["language"])
    if dataset := job.request.get("dataset"):
        run_services.collection_name_dataset(collection=imported.collection, dataset=dataset)
    counts = Counter(queries=0, qrels=0, runs=0, passages=0)
    uploads = [
        upload for part in receiving.READ for upload in job.uploads.filter(part=part).exclude(file="").order_by("id")
    ]
    for number, upload in enumerate(uploads, 1):
        part = Part(upload.part)
        try:
            with transaction.atomic():
                added = _read(job, upload, imported.collection, _numbered(report, number, len(uploads)))
        except progress.Cancelled:
            raise
        except (Refused, BadInput) as error:
            if isinstance(error, FileAway) or part in (Part.QUERIES, Part.QRELS):
                raise
            upload.is_stored, upload.error = False, str(error)
            if isinstance(error, run_services.BadRun):
                upload.complaints = _complaints(error.check)
            elif isinstance(error, run_services.AlreadyStored):
                upload.run = error.run
        else:
            upload.is_stored = True
            counts.update(added)
        upload.save()
    if not any(upload.is_stored for upload in uploads):
        if job.collection is None:
            imported.collection.delete()
        return " ".join([_("None of the files could be read."), *(upload.error for upload in uploads[:FAULTS_TOLD])])
    job.collection = imported.collection
    if refused := {upload.name: upload.error for upload in uploads if not upload.is_stored}:
        job.complaints = {"files": refused}
    missing = run_selectors.collection_size(imported.collection).passages_without_text
    job.counts = {**counts, "missing": missing, "refused": len(refused)}
    return ""


def _numbered(report: Report, number: int, count: int) -> Report:
    """Says of each step which of the files it is about."""
    if count == 1:
        return report

    def tell(state: progress.Progress) -> None:
        step = _("File %(number)d of %(count)d: %(step)s") % {"number": number, "count": count, "step": state.step}
        report(step, state.done, state.total, state.unit)

    return Report(tell)


def _read(job: Job, upload: Upload, collection: Collection, report: Report) -> dict[str, int]:
    """Put the content of one file into the collection, and say how much of what that was."""
    with default_storage.open(str(upload.file.name)) as opened:
        file = cast(BinaryIO, opened)
        if upload.part == Part.RUN:
            upload.run = run_services.run_import(
                collection=collection,
                name=run_name(upload.name),
                source=file,
                filename=upload.name,
                team=job.request["team"],
                without_query=job.request.get("without_query", False),
                stored=str(upload.file.name),
                report=report,
            )
            upload.file = ""  # the run has taken it over
            return {"runs": 1}
        file.name = upload.name  # type: ignore[misc]  # what messages call it
        sources: dict[str, Any] = {upload.part: file}
        imported = run_services.collection_import(
            lab=job.lab,
            name=job.name,
            keep=job.request["keep"],
            is_corpus=not job.request.get("dataset"),
            report=report,
            **sources,
        )
    return {"queries": imported.queries, "qrels": imported.qrels, "passages": imported.passages}


_DO: dict[Job.Kind, Callable[[Job, Report], str | None]] = {Job.Kind.RUN: _do_run, Job.Kind.COLLECTION: _do_collection}


def register(kind: Job.Kind, do: Callable[[Job, Report], str | None]) -> None:
    """Name what does jobs of a kind, where that is known only further up. Naming it again is not an error."""
    _DO[kind] = do


# --- clearing up


def uploads_delete(*, job: Job) -> None:
    """Delete the files that are left of a job that has ended, and then their names. What fails stays for later."""
    for upload in job.uploads.exclude(file=""):
        try:
            default_storage.delete(str(upload.file.name))
            if upload.part == Part.RUN:  # of an attempt that was killed or cancelled
                default_storage.delete(run_services.artifact_beside(str(upload.file.name)))
        except (OSError, BotoCoreError, ClientError) as error:
            log.warning("The uploaded file %s stays for now: %s", upload.file.name, error)
            return
        upload.file = ""
        upload.save(update_fields=["file"])


def jobs_clear(*, at: datetime) -> None:
    """Delete what was never received to its end, what a kill left, and jobs that ended long ago."""
    ended = Job.objects.exclude(state__in=[State.RECEIVING, State.WAITING])
    abandoned = Job.objects.filter(state=State.RECEIVING, asked_at__lt=at - ABANDONED)
    left = ended.filter(uploads__file__gt="")
    old = ended.filter(ended_at__lt=at - KEPT)
    for job in [*abandoned[:BATCH], *old[:BATCH], *left.distinct()[:BATCH]]:
        uploads_delete(job=job)
    (abandoned | old).exclude(uploads__file__gt="").delete()
    sending.sendings_clear(at=at)
