"""What runs in the background: computing results."""

from celery import shared_task
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import FileAway
from evaluation.errors import BadInput
from pools.models import Campaign
from results import refreshing
from tasks import campaign_alarms


@shared_task
def compute_results(campaign_id: int | None = None) -> str:
    """Compute what the preferences say about the runs, of a campaign, or of the next one where it changed since.

    One at a time, so that other jobs get their turn. Safe to run many at once, and to be killed.
    """
    kind = campaign_alarms.Kind.RESULTS
    if campaign_id is None:
        at = timezone.now()
        resting = set(campaign_alarms.resting(kind=kind, at=at))
        campaigns = [campaign for campaign in refreshing.candidates(at=at) if campaign.pk not in resting]
    else:
        campaigns = list(Campaign.objects.filter(pk=campaign_id).select_related("collection"))
    computed = False
    for campaign in campaigns:
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_failed):
            computed = refreshing.result_refresh(campaign=campaign)
        if computed:
            break
    return f"results computed: {int(computed)}"


def _failed(error: Exception) -> str:
    if isinstance(error, FileAway | OSError | BadInput):
        text = _(
            "The results could not be computed, since a file of a run cannot be read (%(error)s). Ask whoever runs "
            "this site to look at the stored files. It is tried again by itself."
        )
    else:
        text = _(
            "The results could not be computed (%(error)s). The judgments are not touched. It is tried again by "
            "itself; if it stays, show this to whoever runs this site."
        )
    return text % {"error": campaign_alarms.in_words(error)}
