"""Keeping the results of campaigns in step with their judgments."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from time import perf_counter

from django.db.models import Exists, OuterRef
from django.utils import timezone

from core.locks import alone
from core.snapshot import one_moment
from judgments.models import Acceptance
from pools.models import Campaign, Pair
from results import figures
from results.computing import compute, tops
from results.inputs import digest_of, inputs_of
from results.models import Result

REST_FACTOR = 10
"""While judgments come in, results are computed again once this many times their computing time has passed."""


def result_refresh(*, campaign: Campaign) -> bool:
    """Compute and store the results unless they are in step. False where nothing was done, or another does it now."""
    with alone(f"results of campaign {campaign.pk}") as ours:
        if not ours:
            return False
        started = perf_counter()
        with one_moment():
            at, digest = timezone.now(), digest_of(campaign)
            if Result.objects.filter(campaign=campaign, digest=digest).exists():
                return False
            inputs = inputs_of(campaign)
        data = compute(inputs)
        drawn = {figure.name: figures.svg(figure.name, data).decode() for figure in figures.drawable(data)}
        seconds = perf_counter() - started
        kept = {"data": data, "figures": drawn, "tops": tops(inputs), "digest": digest, "computed_at": at}
        Result.objects.update_or_create(campaign=campaign, defaults=kept | {"seconds": seconds})
        return True


def candidates(*, at: datetime) -> Iterator[Campaign]:
    """Campaigns whose results may be out of step, and have rested long enough since the last time.

    Of those that were packed and have a judgment that counts, or need none.
    """
    started = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING])
    judged = Exists(Acceptance.objects.filter(assignment__campaign=OuterRef("pk")))
    asks = Exists(Pair.objects.filter(pool__campaign=OuterRef("pk")))
    for campaign in list(started.filter(judged | ~asks).select_related("collection").order_by("id")):
        result = Result.objects.filter(campaign=campaign).only("computed_at", "seconds").first()
        if result is None or at >= result.computed_at + timedelta(seconds=REST_FACTOR * result.seconds):
            yield campaign
