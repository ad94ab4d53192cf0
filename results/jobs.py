"""What runs in the background: computing results."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import alarms
from core.background import JOB_SECONDS, job
from core.errors import FileAway
from evaluation.errors import BadInput
from pools.models import Campaign
from results import finishing, machines, refreshing, scoring, version_requests
from tasks.models import CampaignAlarm

log = logging.getLogger(__name__)


@job(gettext_lazy("the job that computes results"))
def compute_results(campaign_id: int | None = None) -> str:
    """Compute what the preferences say about the runs, of a campaign anew, or of those where it changed since.

    Safe to run many at once, and to be killed.
    """
    kind, at, ends = CampaignAlarm.RESULTS, timezone.now(), time.monotonic() + JOB_SECONDS
    if campaign_id is None:
        campaigns = refreshing.candidates(at=at).exclude(pk__in=alarms.resting(kind=kind, at=at).values("of_id"))
    else:
        campaigns = Campaign.objects.filter(pk=campaign_id)
    computed = 0
    for campaign in campaigns.select_related("collection"):
        with alarms.isolating(of=campaign, kind=kind, words=_failed):
            computed += refreshing.result_refresh(campaign=campaign, anew=campaign_id is not None)
        if time.monotonic() > ends:
            break
    return f"results computed: {computed}"


@job(gettext_lazy("the job that scores runs"))
def score_versions(collection_id: int | None = None) -> str:
    """Score the runs of a collection, or of all, on the versions of its preference qrels, where they are not scored.

    Safe to run many at once, and to be killed.
    """
    ends, scored, failed = time.monotonic() + JOB_SECONDS, 0, None
    collections = scoring.collections_to_score(at=timezone.now())
    if collection_id is not None:
        collections = collections.filter(pk=collection_id)
    for collection in collections:
        try:
            scored += scoring.scores_refresh(collection=collection)
        except Exception as error:
            log.exception("The versions of collection %s", collection.pk)
            failed = error
        if time.monotonic() > ends:
            break
    if failed is not None:
        raise failed  # the others are scored; the checks of health name the job
    return f"runs scored: {scored}"


@job(gettext_lazy("the job that compares machine judges with people"))
def compare_machines(campaign_id: int | None = None) -> str:
    """Compare machine judges with people, in a campaign or in all where that is to be done; in step with its results.

    Safe to run many at once, and to be killed.
    """
    ends, compared, failed = time.monotonic() + JOB_SECONDS, 0, None
    campaigns = machines.campaigns_to_compare()
    if campaign_id is not None:
        campaigns = campaigns.filter(pk=campaign_id)
    for campaign in campaigns.select_related("collection"):
        try:
            compared += machines.comparisons_refresh(campaign=campaign)
        except Exception as error:
            log.exception("The machine judges beside campaign %s", campaign.pk)
            failed = error
        if time.monotonic() > ends:
            break
    if failed is not None:
        raise failed  # the others are compared; the checks of health name the job
    return f"machine judges compared: {compared}"


@job(gettext_lazy("the job that makes versions of the preference qrels"))
def add_versions(request_id: int | None = None) -> str:
    """Make the versions that members have asked for, or one of these. Safe to run many at once, and to be killed."""
    waiting = version_requests.requests_open()
    if request_id is not None:
        waiting = waiting.filter(pk=request_id)
    count, failed = 0, None
    for waiting_id in list(waiting.values_list("id", flat=True)):
        try:
            request = version_requests.version_request_do(request_id=waiting_id, at=timezone.now())
        except Exception as error:
            log.exception("The version that request %s asks for", waiting_id)
            failed = error
            continue
        if request is not None and request.version is not None:
            count += 1
            if request_id is not None:
                scoring.scores_refresh(collection=request.campaign.collection)
    if failed is not None:
        raise failed  # the others are made; the checks of health name the job
    return f"versions made: {count}"


@job(gettext_lazy("the job that finishes campaigns"))
def finish_campaigns() -> str:
    """Mark campaigns as finished on which nothing is left to do. Safe to run many at once."""
    return f"campaigns finished: {finishing.campaigns_finish(at=timezone.now())}"


def _failed(error: Exception) -> str:
    if isinstance(error, FileAway | OSError | BadInput):
        text = _(
            "The results could not be computed, because a run's file cannot be read (%(error)s). Ask the "
            "person who runs this site to check the stored files. It is tried again automatically."
        )
    else:
        text = _(
            "The results could not be computed (%(error)s). The judgments are not affected. It is tried "
            "again automatically; if it persists, show this to the person who runs this site."
        )
    return text % {"error": alarms.in_words(error)}
