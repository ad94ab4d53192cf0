"""What runs in the background: decisions on many, test pairs that prove themselves, and alarms."""

import time

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import alarms
from core.background import JOB_SECONDS, job
from core.locks import alone
from judgments import alarm_checks, alarm_mails
from pools.models import Campaign
from review import deciding, proving
from tasks.models import CampaignAlarm


@job(gettext_lazy("the job that carries out decisions on many"))
def decide(bulk_id: int | None = None) -> str:
    """Carry out decisions on many that wait, or one of these. Safe to run many at once, and to be killed."""
    ends, decided = time.monotonic() + JOB_SECONDS, 0
    waiting = deciding.bulks_to_run()
    for bulk in waiting if bulk_id is None else waiting.filter(pk=bulk_id):
        decided += deciding.bulk_run(bulk=bulk, at=timezone.now(), seconds=ends - time.monotonic())
    return f"rows decided: {decided}"


@job(gettext_lazy("the job that watches campaigns and sends alarms"))
def watch() -> str:
    """Settle the test pairs of campaigns that go on, look for problems in them, and mail those who want to know of any
    problem, once for each.

    Safe to run many at once, and to be killed.
    """
    kind, at = CampaignAlarm.WATCH, timezone.now()
    for campaign in alarm_checks.campaigns_to_check():
        with alarms.isolating(of=campaign, kind=kind, words=_not_watched):
            if campaign.state != Campaign.State.CLOSED:
                proving.tests_settle(campaign=campaign, at=at)
            alarm_checks.campaign_check(campaign=campaign, at=at)
    with alone("mails about alarms") as ours:
        if not ours:
            return "another does"
        alarm_mails.episodes_follow(at=at)
        if not settings.HAS_MAIL:
            return "no mail is set up"
        count = sum(alarm_mails.episode_mail(episode=episode, at=at) for episode in alarm_mails.episodes_to_mail())
    return f"mails to send: {count}"


def _not_watched(error: Exception) -> str:
    return _(
        "Whether this campaign has problems could not be checked (%(error)s). It is tried again automatically; if it "
        "persists, show this to the person who runs this site."
    ) % {"error": alarms.in_words(error)}
