"""Large files that somebody sends straight to the bucket (core.direct), in parts, so that what breaks off goes on.

A file is known to its sender by a signed token. Whole, it is handed over like any file that came with a form, by its
token in the place of its content; whoever keeps it then takes its object over, once. Nobody else can name it.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.conf import settings
from django.core import signing
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Model
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from core import direct
from core.errors import FileAway, NotNow, NotYours, Refused
from core.models import User
from runs.models import DirectUpload

MEGABYTE = 1_000_000
LONGEST = timedelta(days=1)  # from its beginning until a file has to be handed over
BATCH = 100
_SALT = "direct upload"
TOKEN_SUFFIX = "-token"  # noqa: S105  # of the field that has a file's token

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    Sent = UploadedFile[Any]
    Files = MultiValueDict[str, Sent]
else:
    Sent, Files = UploadedFile, MultiValueDict
log = logging.getLogger(__name__)


class Sending(NamedTuple):
    """How far a file is: its token, how many bytes have arrived, and where the next parts go; none once it is whole."""

    token: str
    received: int
    parts: list[direct.Part]


class Received(Sent):
    """A file that is whole in the bucket. It is read in place."""

    def __init__(self, upload: DirectUpload) -> None:
        super().__init__(direct.open_in_place(str(upload.file.name), upload.size), upload.name, size=upload.size)
        self.upload = upload


def as_received(file: Sent) -> Received | None:
    """A form's file, if it is one that was sent straight to the bucket."""
    return file if isinstance(file, Received) else None


class SendAgain(NotYours):
    """A token stands for no file that its bearer may use."""

    title = "Send the file again"


def too_large() -> str:
    """Why an upload is not taken, and what to do instead."""
    return _(
        "What you sent is larger than %(megabytes)s MB. Compress the files, or import them on the server with "
        "manage.py import_run and import_collection."
    ) % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"}


def sending_begin(*, user: User, name: str, size: int, at: datetime, most: int | None = None) -> Sending:
    """Begin to send a file of so many bytes, one of at most so many that are not in use.

    Raises Refused where it is empty or too large, where too many were begun, and where files do not go to the bucket;
    FileAway if that does not answer.
    """
    if not settings.FILES_DIRECT:
        raise NotNow(_("This site takes files only together with the form that they belong to."))
    name = "".join(filter(str.isprintable, PurePosixPath(name).name))[-255:]
    if size < 1 or name in ("", ".."):
        raise Refused(_("The file is empty, or has no name."))
    if size > settings.UPLOAD_MEGABYTES * MEGABYTE:
        raise Refused(too_large())
    most = most or settings.DATA_UPLOAD_MAX_NUMBER_FILES
    if DirectUpload.objects.filter(user=user).count() >= most:
        text = _("You have begun to send %(count)s files that are not in use. They are deleted a day after they began.")
        raise Refused(text % {"count": most})
    upload = DirectUpload(user=user, name=name, size=size, begun_at=at)
    upload.file.name = DirectUpload._meta.get_field("file").generate_filename(upload, upload.name)
    upload.save()  # before the bucket knows of it, so that nothing is there that no row names
    with _bucket_away():
        upload.upload_id = direct.upload_begin(str(upload.file.name))
    upload.save(update_fields=["upload_id"])
    return _state(upload)


def sending_continue(*, token: str, user: User) -> Sending:
    """How far a file is, with fresh addresses for what is missing; a file of which nothing is missing is then whole.

    Raises SendAgain for a token that is not valid, too old, not theirs or used, and FileAway.
    """
    return _state(_upload_of(token, user))


def file_received(*, token: str, user: User) -> Received:
    """The whole file that a token stands for. Raises SendAgain as above, and NotNow while parts are missing."""
    upload = _upload_of(token, user)
    if not upload.is_whole:
        raise NotNow(_("%(name)s has not arrived whole. Send what is missing.") % {"name": upload.name})
    return Received(upload)


def files_of(files: Files, fields: Mapping[str, Any], user: User) -> Files:
    """The files of a form, and those that its fields name by tokens. Raises what `file_received` raises."""
    received = files.copy()
    for field in fields:
        if field.endswith(TOKEN_SUFFIX):
            received.appendlist(field.removesuffix(TOKEN_SUFFIX), file_received(token=str(fields[field]), user=user))
    return received


@transaction.atomic
def file_take(*, file: Received, row: Model, field: str = "file") -> None:
    """Make a file's object that of a row, which is stored. Raises SendAgain where it has been taken already."""
    if not DirectUpload.objects.filter(pk=file.upload.pk).delete()[0]:
        raise _send_again()
    setattr(row, field, file.upload.file.name)
    row.save()


def file_discard(*, file: Received) -> None:
    """Delete a file that is of no more use. What fails stays for later."""
    DirectUpload.objects.filter(pk=file.upload.pk).update(user=None)
    _abandon(file.upload)


def sendings_clear(*, at: datetime) -> None:
    """Delete what was begun or sent a day ago, and handed over to nobody. What fails stays for later."""
    for upload in DirectUpload.objects.filter(begun_at__lt=at - LONGEST).order_by("id")[:BATCH]:
        _abandon(upload)


def _state(upload: DirectUpload) -> Sending:
    received, parts = upload.size, list[direct.Part]()
    if not upload.is_whole:
        with _bucket_away():
            received, parts = direct.upload_continue(str(upload.file.name), upload.upload_id, upload.size)
        if not parts:
            upload.is_whole = True
            upload.save(update_fields=["is_whole"])
    return Sending(signing.dumps([upload.pk, upload.user_id], salt=_SALT), received, parts)


def _upload_of(token: str, user: User) -> DirectUpload:
    try:
        pk, user_pk = signing.loads(token, salt=_SALT, max_age=LONGEST)
    except signing.BadSignature as error:
        raise _send_again() from error
    upload = DirectUpload.objects.filter(pk=pk, user=user).first() if user_pk == user.pk else None
    if upload is None:
        raise _send_again()
    return upload


def _send_again() -> SendAgain:
    return SendAgain(_("This file was used already, or sent by somebody else or more than a day ago. Send it again."))


@contextmanager
def _bucket_away() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _send_again() from error
    except (OSError, BotoCoreError, ClientError) as error:
        raise FileAway(_("The file could not be stored: %(error)s. Send it again later.") % {"error": error}) from error


def _abandon(upload: DirectUpload) -> None:
    try:
        with transaction.atomic():
            locked = DirectUpload.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=upload.pk).first()
            if locked is not None:
                direct.upload_abandon(str(locked.file.name), locked.upload_id)
                locked.delete()
    except (OSError, BotoCoreError, ClientError) as error:
        log.warning("The file %s stays for now: %s", upload.file.name, error)
