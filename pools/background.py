"""Jobs that members of a lab ask for: files that browsers send, and campaigns to create.

What was sent is stored first, as it comes. A job then does what a command would do with it, in one transaction, which
also ends the job: whatever is refused, fails or is killed leaves nothing, and what was killed is begun again.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from math import comb
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core import progress
from core.errors import FileAway, Refused
from core.models import Lab, User
from core.progress import Report
from evaluation.errors import BadInput
from pools import drafting, reuse
from pools import services as pool_services
from pools.models import Campaign, Collection, Job, Run, Upload

ATTEMPTS = 3
FIRST_REST = timedelta(minutes=1)
ABANDONED = timedelta(days=1)  # who was sending a file for so long is gone
KEPT = timedelta(days=90)  # jobs that have ended
BATCH = 100

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
    *, collection: Collection, file: Sent, name: str, team: str, notes: str, by: User | None, at: datetime
) -> Job:
    """Store a run file, and ask for it to be checked and imported. Raises FileAway if it cannot be stored."""
    job = Job(
        lab=collection.lab, kind=Job.Kind.RUN, name=name, collection=collection, request={"team": team, "notes": notes}
    )
    return _ask(job, {Part.RUN: file}, by, at)


def collection_ask(
    *,
    lab: Lab,
    name: str,
    language: str | None,
    keep: str,
    files: Mapping[str, Sent],
    by: User | None,
    at: datetime,
) -> Job:
    """Store files of a collection by their part, and ask for them to be imported, into a new one if need be."""
    known = Collection.objects.filter(lab=lab, name=name).first()
    request = {"language": language, "keep": keep}
    job = Job(lab=lab, kind=Job.Kind.COLLECTION, name=name, collection=known, request=request)
    return _ask(job, files, by, at)


def preferences_ask(*, collection: Collection, file: Sent, name: str, note: str, by: User | None, at: datetime) -> Job:
    """Store a file of preferences, and ask for it to be imported. Raises FileAway if it cannot be stored."""
    job = Job(lab=collection.lab, kind=Job.Kind.PREFERENCES, name=name, collection=collection, request={"note": note})
    return _ask(job, {Part.PREFERENCES: file}, by, at)


def campaign_ask(
    *,
    collection: Collection,
    runs: QuerySet[Run],
    name: str,
    settings: Mapping[str, Any],
    by: User | None,
    at: datetime,
    draft: Campaign | None = None,
) -> Job:
    """Ask for a draft campaign, or for other settings of a draft. `settings` are columns of Campaign, by name."""
    request: dict[str, Any] = {"runs": sorted(runs.values_list("id", flat=True)), "settings": dict(settings)}
    if draft is not None:
        request["draft"] = draft.pk
    job = Job(
        lab=collection.lab, kind=Job.Kind.CAMPAIGN, name=name, collection=collection, campaign=draft, request=request
    )
    return _ask(job, {}, by, at)


def _ask(job: Job, files: Mapping[str, Sent], by: User | None, at: datetime) -> Job:
    """Rows before files, so that nothing is left in storage that no row names."""
    job.state, job.asked_by, job.asked_at = State.RECEIVING, by, at
    job.save()
    try:
        for part, file in files.items():
            upload = Upload(job=job, part=part, name=str(file.name)[-255:], size=file.size or 0)
            upload.file.name = Upload._meta.get_field("file").generate_filename(upload, upload.name)
            upload.save()
            default_storage.save(str(upload.file.name), file)
    except (OSError, BotoCoreError, ClientError) as error:
        uploads_delete(job=job)
        job.delete()
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
    rested = Q(retry_at=None) | Q(retry_at__lte=at)
    return Job.objects.filter(rested, state=State.WAITING).order_by("id")


def job_do(*, job_id: int) -> bool:
    """Do a job: all of it, or nothing. False if it has ended, or another process is at it.

    What is wrong with its files or settings ends it as refused. Any other failure is tried again after a rest, and so
    is a job whose process was killed; after three attempts it has failed.
    """
    with transaction.atomic():
        job = _lock(job_id)
        if job is None:
            return False
        if job.attempts >= ATTEMPTS:
            _end(job, State.FAILED, _("The work was interrupted %(count)d times.") % {"count": job.attempts})
        else:
            job.attempts, job.begun_at, job.retry_at = job.attempts + 1, timezone.now(), None
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
            _DO[Job.Kind(job.kind)](job, report)
    except pool_services.BadRun as error:
        check = error.check
        job.complaints = {
            "errors": [list(line) for line in check.errors],
            "count": check.error_count,
            "stopped": check.stopped,
        }
        _end(job, State.REFUSED, str(error))
    except pool_services.AlreadyStored as error:
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
        _end(job, State.DONE)


def _end(job: Job, state: Job.State, error: str = "") -> None:
    job.state, job.error, job.ended_at, job.retry_at = state, error, timezone.now(), None


def _fail(job: Job, error: Exception) -> None:
    job.error = f"{type(error).__name__}: {error}"[:300].strip()
    if job.attempts >= ATTEMPTS:
        _end(job, State.FAILED, job.error)
    else:
        job.retry_at = timezone.now() + FIRST_REST * 2 ** (job.attempts - 1)


def _do_run(job: Job, report: Report) -> None:
    assert job.collection is not None
    upload = job.uploads.get(part=Part.RUN)
    with default_storage.open(str(upload.file.name)) as file:
        job.run = pool_services.run_import(
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


def _do_collection(job: Job, report: Report) -> None:
    files: dict[str, Any] = {}
    try:
        for upload in job.uploads.order_by("id"):
            files[upload.part] = default_storage.open(str(upload.file.name))
            files[upload.part].name = upload.name
        imported = pool_services.collection_import(lab=job.lab, name=job.name, report=report, **job.request, **files)
    finally:
        for file in files.values():
            file.close()
    job.collection = imported.collection
    job.counts = {
        "queries": imported.queries,
        "qrels": imported.qrels,
        "passages": imported.passages,
        "missing": len(imported.missing),
    }


def _do_preferences(job: Job, report: Report) -> None:
    assert job.collection is not None
    upload = job.uploads.get(part=Part.PREFERENCES)
    with default_storage.open(str(upload.file.name)) as file:
        imported = pool_services.preferences_import(
            collection=job.collection,
            name=job.name,
            source=cast(BinaryIO, file),
            filename=upload.name,
            by=job.asked_by,
            at=timezone.now(),
            report=report,
            **job.request,
        )
    job.counts = {"judgments": imported.judgment_count, "pairs": imported.pair_count}


def _do_campaign(job: Job, report: Report) -> None:
    assert job.collection is not None
    runs = Run.objects.filter(pk__in=job.request["runs"]).order_by("name")
    if "draft" in job.request:
        if job.campaign is None:
            raise Refused(_("The draft has been deleted."))
        drafting.campaign_change(
            campaign=job.campaign, runs=runs, name=job.name, report=report, **job.request["settings"]
        )
        return
    job.campaign = pool_services.campaign_create(
        lab=job.lab,
        collection=job.collection,
        runs=runs,
        name=job.name,
        created_by=job.asked_by,
        report=report,
        **job.request["settings"],
    )


_DO: dict[Job.Kind, Callable[[Job, Report], None]] = {
    Job.Kind.RUN: _do_run,
    Job.Kind.COLLECTION: _do_collection,
    Job.Kind.CAMPAIGN: _do_campaign,
    Job.Kind.PREFERENCES: _do_preferences,
}


def reuse_count(*, job_id: int) -> None:
    """Count what the draft of a job that is done would reuse. Its page then shows that, and counts nothing itself."""
    job = Job.objects.select_related("campaign").filter(pk=job_id, state=Job.State.DONE).first()
    if job is not None and job.kind == Job.Kind.CAMPAIGN and job.campaign is not None:
        reuse.reused_pairs(job.campaign, afresh=True)


# --- clearing up


def uploads_delete(*, job: Job) -> None:
    """Delete the files that are left of a job that has ended, and then their names. What fails stays for later."""
    for upload in job.uploads.exclude(file=""):
        try:
            default_storage.delete(str(upload.file.name))
            if upload.part == Part.RUN:  # of an attempt that was killed
                default_storage.delete(pool_services.artifact_beside(str(upload.file.name)))
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


def settings_of(job: Job) -> Campaign:
    """An unsaved campaign with the settings that a job was asked for with."""
    return Campaign(collection=job.collection, name=job.name, **job.request["settings"])
