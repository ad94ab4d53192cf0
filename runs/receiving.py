"""Files that somebody sends for a collection: kept as they come, recognized, and read once their sender says so.

They belong to a job in the state `receiving`. What each file is has been guessed from its first lines; the sender may
say otherwise. Nothing is in the collection before the job has been done (runs.background).
"""

import tempfile
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from core.errors import FileAway, NotNow, Refused
from core.models import Lab, User
from evaluation.errors import BadInput
from evaluation.files.archives import Bounds, members
from evaluation.files.recognizing import Kind, recognize
from runs import sending
from runs.models import Collection, Job, Upload
from runs.sending import MEGABYTE

_COPIED = 1 << 20

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    Sent = UploadedFile[Any]
    Opened = File[Any]
else:
    Sent = UploadedFile
    Opened = File
Part, State = Upload.Part, Job.State
_PARTS: dict[Kind, Upload.Part] = {
    "queries": Part.QUERIES,
    "passages": Part.PASSAGES,
    "qrels": Part.QRELS,
    "run": Part.RUN,
}
# What a collection has at most one of, and in which order files are read: runs before passages, which they ask for.
READ = (Part.QUERIES, Part.QRELS, Part.RUN, Part.PASSAGES)
_ELSEWHERE: dict[Kind, str] = {
    "preferences": gettext_noop("preferences: import them on a page of their own, which asks where they come from"),
    "judgments": gettext_noop("judgments: import them on a page of their own, which makes a campaign of them"),
}
_MORE_QRELS = gettext_noop("further qrels: a collection has one file of them")


def files_open(
    *, lab: Lab, name: str, language: str | None, collection: Collection | None, by: User | None, at: datetime
) -> Job:
    """A job that takes files for a collection, or for a new one."""
    return Job.objects.create(
        lab=lab,
        kind=Job.Kind.COLLECTION,
        state=State.RECEIVING,
        name=name,
        collection=collection,
        request={"language": language},
        asked_by=by,
        asked_at=at,
    )


def file_add(*, job: Job, file: Sent) -> list[Upload]:
    """Keep a file, and say what it seems to be; of an archive, keep the files that it holds instead.

    Raises Refused, and FileAway if it cannot be stored; then nothing of it is kept.
    """
    _must_be_receiving(job)
    source = cast(BinaryIO, file.file)
    name = str(file.name)[-255:]
    guess = recognize(source, name)
    uploads: list[Upload] = []
    try:
        if guess.kind != "archive":
            source.seek(0)
            uploads.append(_keep(job, file, name, guess.kind, guess.why))
            return uploads
        bounds = Bounds(files=settings.DATA_UPLOAD_MAX_NUMBER_FILES, size=settings.UPLOAD_MEGABYTES * MEGABYTE)
        for member in members(source, name, bounds):
            uploads.append(_keep_member(job, member.name[-255:], member.file))
    except BadInput as error:
        _forget(uploads)
        if isinstance(file, sending.Received):
            sending.file_discard(file=file)
        raise Refused(_("%(error)s Nothing of it was kept.") % {"error": error}) from error
    except (OSError, BotoCoreError, ClientError) as error:
        _forget(uploads)
        raise FileAway(_("The file could not be stored: %(error)s. Send it again later.") % {"error": error}) from error
    except Refused:
        _forget(uploads)
        raise
    if not uploads:
        raise Refused(_("%(name)s holds no files.") % {"name": name})
    if isinstance(file, sending.Received):
        sending.file_discard(file=file)
    return uploads


def file_keep(*, job: Job, file: Opened, part: Upload.Part) -> Upload:
    _must_be_receiving(job)
    return _store(job, file, str(file.name), part, "")


def files_must_fit(*, job: Job, more: int) -> None:
    """Raise Refused if a job's upload does not take so many files more."""
    here = job.uploads.count()
    if here + more > settings.DATA_UPLOAD_MAX_NUMBER_FILES:
        raise Refused(f"{too_many()} {_('So far it has %(count)s.') % {'count': here}}")


def too_many() -> str:
    """How many files one upload takes."""
    return _("One upload takes at most %(count)s files.") % {"count": settings.DATA_UPLOAD_MAX_NUMBER_FILES}


def _must_be_receiving(job: Job) -> None:
    if job.state != State.RECEIVING or job.kind != Job.Kind.COLLECTION:
        raise NotNow(_("These files are being read already. Send further files as another upload."))


def _keep_member(job: Job, name: str, member: Any) -> Upload:
    with tempfile.TemporaryFile() as copy:
        while chunk := member.read(_COPIED):
            copy.write(chunk)
        guess = recognize(cast(BinaryIO, copy), name)
        copy.seek(0)
        why = _("an archive within an archive") if guess.kind == "archive" else guess.why
        return _keep(job, File(copy, name=name), name, guess.kind, why)


def _keep(job: Job, file: Opened, name: str, kind: Kind, why: str) -> Upload:
    files_must_fit(job=job, more=1)
    part = _PARTS.get(kind, Part.NONE)
    if kind in _ELSEWHERE:
        why = _(_ELSEWHERE[kind])
    if part == Part.QRELS and (
        job.uploads.filter(part=part).exists() or (job.collection is not None and job.collection.qrels.exists())
    ):
        part, why = Part.NONE, _(_MORE_QRELS)
    return _store(job, file, name, part, why)


def _store(job: Job, file: Opened, name: str, part: Upload.Part, why: str) -> Upload:
    upload = Upload(job=job, part=part, name=name, size=file.size or 0, seen=why[:200])
    try:
        file_store(upload=upload, file=file)
    except (OSError, BotoCoreError, ClientError):
        _forget([upload])
        raise
    return upload


def file_store(*, upload: Upload, file: Opened) -> None:
    """Store an upload and its file; one that is in the bucket already stays where it is.

    Rows come before files, so that nothing is left in storage that no row names. Raises Refused if the file was used
    already, and storage's errors.
    """
    if isinstance(file, sending.Received):
        sending.file_take(file=file, row=upload)
        return
    upload.file.name = Upload._meta.get_field("file").generate_filename(upload, upload.name)
    upload.save()
    default_storage.save(str(upload.file.name), file)


def _forget(uploads: list[Upload]) -> None:
    for upload in uploads:
        default_storage.delete(str(upload.file.name))
        upload.delete()


def file_remove(*, upload: Upload) -> None:
    """Delete a file that has not been read."""
    _must_be_receiving(upload.job)
    _forget([upload])


@transaction.atomic
def files_read(*, job: Job, parts: Mapping[int, str], keep: str, team: str = "", without_query: bool = False) -> Job:
    """Have a job's files read, each as what it is (`parts`, by the key of the upload; what they do not name is left
    out). Raises Refused where that cannot be: nothing to read, or several files of qrels.
    """
    locked = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
    _must_be_receiving(locked)
    count = dict.fromkeys(READ, 0)
    for upload in locked.uploads.all():
        part = Part(parts.get(upload.pk, Part.NONE))
        if part in count:
            count[part] += 1
        if part != upload.part:
            upload.part = part
            upload.save(update_fields=["part"])
    if not any(count.values()):
        raise Refused(_("There is nothing to read: every file is to be left out."))
    if count[Part.QRELS] > 1:
        raise Refused(_("A collection has one file of original qrels. Choose one, and leave the others out."))
    if count[Part.QRELS] and locked.collection is not None and locked.collection.qrels.exists():
        raise Refused(_("The collection already has its original qrels, and they cannot be changed. Leave these out."))
    locked.request |= {"keep": keep, "team": team, "without_query": without_query}
    locked.state = State.WAITING
    locked.save(update_fields=["request", "state"])
    return locked
