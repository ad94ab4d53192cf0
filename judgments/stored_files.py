"""Putting files that jobs made into file storage, and taking away those that were replaced."""

import hashlib
import logging
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from core import alarms
from core.models import Alarm
from judgments.models import StoredFile
from pools.models import Campaign
from tasks.models import CampaignAlarm

GRACE = timedelta(hours=1)  # a download of a replaced file may still be running
ABANDONED = timedelta(days=1)  # whoever was writing a file for so long is gone
BATCH = 500
MOST_FAILED = 3  # campaigns, before the rest is left to the next time
State = StoredFile.State
log = logging.getLogger(__name__)


def files_write(
    *, campaign: Campaign, kind: str, files: Mapping[str, Path], revision: int, at: datetime
) -> list[StoredFile]:
    """Put files into storage under new names. They are shown once `files_publish` has taken them.

    A row is there before its file, so that nothing is left in storage that no row names.
    """
    rows = StoredFile.objects.bulk_create(
        StoredFile(
            campaign=campaign,
            kind=kind,
            name=name,
            file=f"campaigns/{campaign.pk}/{secrets.token_hex(16)}-{path.name}",
            size=path.stat().st_size,
            sha256=sha256_of(path),
            revision=revision,
            made_at=at,
        )
        for name, path in files.items()
    )
    for row in rows:
        with files[row.name].open("rb") as content:
            default_storage.save(str(row.file.name), File(content))
    return rows


@transaction.atomic
def files_publish(*, campaign: Campaign, kind: str, rows: list[StoredFile], at: datetime) -> None:
    """Let written files take the place of the campaign's current ones of that kind, all at once."""
    before = StoredFile.objects.filter(campaign=campaign, kind=kind, state=State.CURRENT)
    before.update(state=State.REPLACED, replaced_at=at)
    StoredFile.objects.filter(pk__in=[row.pk for row in rows]).update(state=State.CURRENT)


def replaced_delete(*, at: datetime) -> int:
    """Delete files that were replaced a while ago, and those that were never finished. How many.

    The file goes before its row: whatever is left by a kill is deleted the next time. A file that cannot be deleted
    raises an alarm, and those of its campaign rest; if that happens to several campaigns, storage is away.
    """
    kind, failed = CampaignAlarm.FILES, set[int]()
    replaced = Q(state=State.REPLACED, replaced_at__lt=at - GRACE)
    abandoned = Q(state=State.WRITING, made_at__lt=at - ABANDONED)
    due = StoredFile.objects.filter(replaced | abandoned)
    due = due.exclude(campaign__in=alarms.resting(kind=kind, at=at).values("of_id"))
    tried = set(Alarm.objects.filter(kind=kind, settled_at=None, retry_at__lte=at).values_list("of_id", flat=True))
    deleted = 0
    for row in due.order_by("made_at", "id")[:BATCH]:
        if row.campaign_id in failed:
            continue
        try:
            row.file.delete(save=False)
        except (OSError, BotoCoreError, ClientError) as error:
            log.warning("The replaced file %s stays for now: %s", row.file.name, error)
            failed.add(row.campaign_id)
            text = _("A replaced file could not be deleted from storage (%(error)s). It is tried again automatically.")
            message = text % {"error": alarms.in_words(error)}
            alarms.alarm_raise(of=Campaign(pk=row.campaign_id), kind=kind, text=message, at=at, retried=True)
            if len(failed) == MOST_FAILED:
                break
            continue
        row.delete()
        deleted += 1
    for campaign_id in tried - failed:
        alarms.alarm_settle(of=Campaign(pk=campaign_id), kind=kind, at=at)
    return deleted


def sha256_of(path: Path) -> str:
    """A file's SHA-256, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
