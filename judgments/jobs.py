"""What runs in the background: checking confirmed work, counting it, planning rounds, and making export files."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import alarms
from core.background import JOB_SECONDS, job
from judgments import quality, refreshing, rounds, stored_files, summarizing
from judgments import services as judgment_services
from pools.models import Campaign
from tasks.models import CampaignAlarm

log = logging.getLogger(__name__)


@job(gettext_lazy("the job that checks confirmed work"))
def check() -> str:
    """End what workers went away from, and check work that its platform has confirmed since. Safe to run many at once,
    and to be killed.
    """
    at = timezone.now()
    judgment_services.abandoned_end_all(at=at)
    return f"checked: {quality.confirmed_check_all(at=at)}"


@job(gettext_lazy("the job that makes export files"))
def make_exports(campaign_id: int | None = None) -> str:
    """Make the export files of a campaign anew, or of those that changed since; delete those that were replaced.

    Safe to run many at once, and to be killed.
    """
    kind, at, ends = CampaignAlarm.EXPORTS, timezone.now(), time.monotonic() + JOB_SECONDS
    if campaign_id is None:
        campaigns = refreshing.candidates(at=at).exclude(pk__in=alarms.resting(kind=kind, at=at).values("of_id"))
    else:
        campaigns = Campaign.objects.filter(pk=campaign_id).exclude(
            state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]
        )
    exports = 0
    for campaign in campaigns.select_related("collection"):
        with alarms.isolating(of=campaign, kind=kind, words=_failed):
            exports += refreshing.export_refresh(campaign=campaign, anew=campaign_id is not None)
        if time.monotonic() > ends:
            break
    stored_files.replaced_delete(at=at)
    return f"exports made: {exports}"


@job(gettext_lazy("the job that sums up work"))
def summarize() -> str:
    """Count the work of campaigns that changed since it was counted. Safe to run many at once, and to be killed."""
    kind, at, ends = CampaignAlarm.SUMMARY, timezone.now(), time.monotonic() + JOB_SECONDS
    total = 0
    resting = alarms.resting(kind=kind, at=at).values("of_id")
    for campaign in summarizing.campaigns_to_summarize(at=at).exclude(pk__in=resting):
        with alarms.isolating(of=campaign, kind=kind, words=_not_counted):
            total += summarizing.campaign_summarize(campaign=campaign)
        if time.monotonic() > ends:
            break
    return f"campaigns counted: {total}"


@job(gettext_lazy("the job that plans and asks rounds"))
def advance_rounds() -> str:
    """Plan and ask the next rounds of campaigns in rounds. Safe to run many at once, and to be killed."""
    kind, at, advanced = CampaignAlarm.ROUND, timezone.now(), 0
    resting = alarms.resting(kind=kind, at=at).values("of_id")
    for campaign in rounds.campaigns_in_rounds().exclude(pk__in=resting):
        with alarms.isolating(of=campaign, kind=kind, words=_not_advanced):
            advanced += rounds.rounds_advance(campaign=campaign, at=at)
    return f"rounds planned: {advanced}"


def _not_advanced(error: Exception) -> str:
    return _(
        "The next round could not be planned (%(error)s). Nothing is lost. It is tried again automatically; if it "
        "persists, show this to the person who runs this site."
    ) % {"error": alarms.in_words(error)}


def _not_counted(error: Exception) -> str:
    return _(
        "The work could not be counted (%(error)s), so what the tables of work show may be old. Nothing is lost. It is "
        "tried again automatically; if it persists, show this to the person who runs this site."
    ) % {"error": alarms.in_words(error)}


def _failed(error: Exception) -> str:
    return _(
        "The export files could not be made (%(error)s). The judgments are not touched. It is tried again by itself; "
        "if it stays, show this to whoever runs this site."
    ) % {"error": alarms.in_words(error)}
