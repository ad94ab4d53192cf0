"""Keeping the export files of campaigns, and what their pages count, in step with their judgments."""

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from core.locks import alone
from core.replica import on_replica
from core.snapshot import one_moment
from judgments import exports, stored_files
from judgments import selectors as judgment_selectors
from judgments.models import Export, StoredFile
from pools.models import Campaign

# While judgments come in, files are made again once this many times the time that making them took has passed.
REST_FACTOR = 10


def export_refresh(*, campaign: Campaign, anew: bool = False) -> bool:
    """Make and store the export files unless they are in step, or in any case `anew`.

    False where nothing was done, or another does it now.
    """
    with alone(f"exports of campaign {campaign.pk}") as ours, TemporaryDirectory(prefix="bestknown-") as folder:
        if not ours:
            return False
        started = perf_counter()
        with on_replica(), one_moment():
            at = timezone.now()
            if not anew and not judgment_selectors.campaigns_to_export().filter(pk=campaign.pk).exists():
                return False
            moment = judgment_selectors.moment_of(campaign)
            source = exports.Source(campaign)
            paths = {path.name: path for path in exports.write_files(source, Path(folder))}
            counts = judgment_selectors.counts_of(campaign, source.derived, source.reused)
        archive = Path(folder) / exports.ARCHIVE
        exports.write_zip(paths, archive)
        paths[exports.ARCHIVE] = archive
        kind = StoredFile.Kind.EXPORT
        rows = stored_files.files_write(campaign=campaign, kind=kind, files=paths, revision=moment.revision, at=at)
        seconds = perf_counter() - started
        with transaction.atomic():
            stored_files.files_publish(campaign=campaign, kind=kind, rows=rows, at=timezone.now())
            Export.objects.update_or_create(
                campaign=campaign,
                defaults={
                    **moment._asdict(),
                    "software": judgment_selectors.SOFTWARE,
                    "counts": counts._asdict(),
                    "made_at": at,
                    "seconds": seconds,
                    "rests_until": timezone.now() + timedelta(seconds=REST_FACTOR * seconds),
                },
            )
        return True


def candidates(*, at: datetime) -> QuerySet[Campaign]:
    """Campaigns whose export files are out of step and have rested long enough; those that wait longest first."""
    rested = judgment_selectors.campaigns_to_export().filter(Q(export=None) | Q(export__rests_until__lte=at))
    return rested.order_by(F("export__made_at").asc(nulls_first=True), "id")
