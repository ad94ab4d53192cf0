"""Keeping the results of campaigns, and the files made of them, in step with their judgments."""

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from core.locks import alone
from core.replica import on_replica
from core.snapshot import one_moment
from judgments import exports, stored_files
from judgments.models import Acceptance, StoredFile
from pools.models import Campaign, Pair
from pools.reuse import reused_pairs
from results import figures, report, showing
from results import selectors as result_selectors
from results.apart import take_apart
from results.inputs import SOFTWARE, inputs_of
from results.models import EarlierResult, Result, ResultList, ShownResults
from results.planning import OVERLAPS
from results.sections.stored import Json, to_json
from results.sections.whole import compute

# While judgments come in, results are computed again once this many times their computing time has passed.
REST_FACTOR = 10


def result_refresh(*, campaign: Campaign, anew: bool = False) -> bool:
    """Compute and store the results, and their files, unless they are in step, or in any case `anew`.

    False where nothing was done, or another does it now.
    """
    with alone(f"results of campaign {campaign.pk}") as ours, TemporaryDirectory(prefix="bestknown-") as name:
        if not ours:
            return False
        started, folder = perf_counter(), Path(name)
        with on_replica(), one_moment():
            at = timezone.now()
            campaign.refresh_from_db(fields=["revision", "finished_revision", "fixed_runs"])
            result = Result.objects.filter(campaign=campaign).only("revision", "software", "campaign").first()
            if not anew and result is not None and result_selectors.is_in_step(result, campaign):
                return False
            source = exports.Source(campaign)
            inputs = inputs_of(campaign, source)
            is_shown = ShownResults.objects.filter(campaign=campaign).exists()
            hidden = showing.held_back(campaign).intersection({*inputs.runs, *inputs.unreadable})
            exported = exports.write_files(source, folder / report.DATA)
        skip = inputs.held_back(source.withheld)
        data = compute(inputs, skip)
        is_other = bool(inputs.held_back_runs)
        released = report.without(compute(inputs, skip, is_release=True) if is_other else data, source.withheld)
        files, drawings = report.write_result_files(released, folder)
        if is_other:
            drawings = figures.drawings(data)
        if report.is_about_something(released):
            files[report.ARCHIVE] = report.write_archive(released, exported, files, folder)
        if hidden and is_shown:
            files[showing.FILE] = exports.write_whole(folder / showing.FILE, [showing.shown_file(inputs, hidden, skip)])
        kind, revision = StoredFile.Kind.RESULT, campaign.revision
        written = stored_files.files_write(campaign=campaign, kind=kind, files=files, revision=revision, at=at)
        seconds = perf_counter() - started
        stored = to_json(data)
        parts = take_apart(stored)
        with transaction.atomic():
            final_at = _keep(campaign, stored, at)
            stored_files.files_publish(campaign=campaign, kind=kind, rows=written, at=timezone.now())
            result, _new = Result.objects.update_or_create(
                campaign=campaign,
                defaults={
                    "data": parts.data,
                    **drawings._asdict(),
                    "tops": inputs.tops(),
                    "revision": revision,
                    "software": SOFTWARE,
                    "computed_at": at,
                    "final_at": final_at,
                    "seconds": seconds,
                    "rests_until": timezone.now() + timedelta(seconds=REST_FACTOR * seconds),
                },
            )
            result.lists.all().delete()
            ResultList.objects.bulk_create(
                ResultList(result=result, name=name, rows=rows) for name, rows in parts.lists.items()
            )
        for overlap in OVERLAPS:
            reused_pairs(campaign, overlap=overlap)  # remembered for the page that plans with them
        return True


def _keep(campaign: Campaign, data: Json, at: datetime) -> datetime | None:
    """Keep final results that these take the place of, with their report, unless they say the same. Since when the new
    ones are final, None where they are not.
    """
    final = Result.objects.select_for_update().filter(campaign=campaign).exclude(final_at=None).first()
    is_finished = campaign.finished_revision == campaign.revision
    if final is None or final.final_at is None:
        return at if is_finished else None
    whole = result_selectors.whole_data(campaign)
    if whole == data:
        return final.final_at
    earlier = EarlierResult.objects.create(
        campaign=campaign,
        number=campaign.earlier_results.count() + 1,
        revision=final.revision,
        software=final.software,
        computed_at=final.computed_at,
        final_at=final.final_at,
        replaced_at=at,
        data=whole or final.data,
    )
    current = StoredFile.objects.filter(campaign=campaign, kind=StoredFile.Kind.RESULT, state=StoredFile.State.CURRENT)
    current.filter(name=report.ARCHIVE).update(kind=StoredFile.Kind.KEPT, name=earlier.report)
    return at if is_finished else None


def out_of_step() -> QuerySet[Campaign]:
    """Campaigns whose results are to be computed: they were packed, have a judgment that counts, reuse one or need
    none, and what is stored is of other judgments, of another version, or not there.
    """
    started = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING])
    stale = started.filter(Q(result=None) | ~Q(result__revision=F("revision"), result__software=SOFTWARE))
    judged = Exists(Acceptance.objects.filter(assignment__campaign=OuterRef("pk")))
    asks = Exists(Pair.objects.filter(pool__campaign=OuterRef("pk")))
    return stale.filter(judged | Q(reused_pair_count__gt=0) | ~asks)


def candidates(*, at: datetime) -> QuerySet[Campaign]:
    """Campaigns whose results are out of step, and have rested long enough since the last time, or are closed; the
    oldest first.
    """
    rested = out_of_step().filter(Q(result=None) | Q(result__rests_until__lte=at) | Q(state=Campaign.State.CLOSED))
    return rested.order_by(F("result__computed_at").asc(nulls_first=True), "id")
