"""What a job looks for in campaigns that go on: failed, unread or unfair pairs, a standstill, nobody coming."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max, Min, QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.alarms import alarm_raise, alarm_settle
from core.models import Alarm
from judgments.models import AssignmentSummary, CampaignSummary, Decision
from platforms.models import Publication
from pools.models import Campaign
from tasks.models import Assignment, CampaignAlarm, Hit, TestPair
from tasks.selectors import least_seconds

LATELY = timedelta(days=7)  # for which one is told of a test pair that was set aside
WATCHED = [
    *(CampaignAlarm.FAILING, CampaignAlarm.FAST, CampaignAlarm.TESTS, CampaignAlarm.STALLED, CampaignAlarm.NOBODY)
]
LATEST, ENOUGH = 50, 10  # checked assignments of which the share that failed is looked at


def campaigns_to_check() -> QuerySet[Campaign]:
    """Campaigns that are open or paused, and those that were when an alarm was raised."""
    raised = Alarm.objects.filter(kind__in=WATCHED, settled_at=None)
    live = Campaign.objects.filter(state__in=[Campaign.State.OPEN, Campaign.State.PAUSED])
    return live.union(Campaign.objects.filter(alarms__in=raised))


def campaign_check(*, campaign: Campaign, at: datetime) -> list[str]:
    """Raise, or settle, the alarms about how a campaign goes. Returns the kinds that are raised."""
    is_open = campaign.state == Campaign.State.OPEN and Hit.objects.filter(campaign=campaign, needed__gt=0).exists()
    reasons = {
        CampaignAlarm.FAILING: _failing(campaign) if is_open else "",
        # All may be judged before anybody looks.
        CampaignAlarm.FAST: _fast(campaign) if campaign.state == Campaign.State.OPEN else "",
        CampaignAlarm.TESTS: _set_aside(campaign, at) if campaign.state != Campaign.State.CLOSED else "",
        CampaignAlarm.STALLED: _stalled(campaign, at) if is_open and not _is_paused_there(campaign) else "",
        CampaignAlarm.NOBODY: _nobody(campaign, at) if is_open else "",
    }
    for kind, text in reasons.items():
        if text:
            alarm_raise(of=campaign, kind=kind, text=text, at=at)
        else:
            alarm_settle(of=campaign, kind=kind, at=at)
    return [kind for kind, text in reasons.items() if text]


def _failing(campaign: Campaign) -> str:
    """Of the newest checked work, the share that the rule excluded is too large."""
    newest = _newest_checked(campaign)
    by_the_rule = Decision.objects.filter(assignment__in=newest, kind=Decision.Kind.EXCLUDED, by=None)
    failed = by_the_rule.values("assignment").distinct().count()
    if len(newest) < ENOUGH or failed < settings.ALARM_FAILING_SHARE * len(newest):
        return ""
    return _(
        "%(failed)d of the last %(checked)d assignments failed a test pair. Look at the test pairs, and at who "
        "fails them."
    ) % {"failed": failed, "checked": len(newest)}


def _fast(campaign: Campaign) -> str:
    """Of the newest checked work, the share that was judged faster than anybody reads is too large."""
    newest = _newest_checked(campaign)
    if len(newest) < ENOUGH:
        return ""
    fast = AssignmentSummary.objects.filter(assignment__in=newest, median_seconds__lt=least_seconds(campaign)).count()
    if fast < settings.ALARM_FAST_SHARE * len(newest):
        return ""
    return _(
        "%(fast)d of the last %(checked)d assignments were judged faster than anybody can read the passages. Look at "
        "them before you rely on their judgments."
    ) % {"fast": fast, "checked": len(newest)}


def _set_aside(campaign: Campaign, at: datetime) -> str:
    """The rule has set test pairs aside lately."""
    dropped = campaign.test_pairs.filter(state=TestPair.State.DROPPED, decided_by=None, decided_at__gt=at - LATELY)
    tests = list(dropped.order_by("decided_at", "id"))
    if not tests:
        return ""
    text = ngettext(
        "%(count)d test pair was set aside in the last week (“%(question)s”): %(why)s Work that was excluded "
        "because of it alone is used after all. Read it under “Test pairs”.",
        "%(count)d test pairs were set aside in the last week (the last is “%(question)s”): %(why)s Work that was "
        "excluded because of them alone is used after all. Read them under “Test pairs”.",
        len(tests),
    )
    return text % {"count": len(tests), "question": tests[-1].question, "why": tests[-1].why_dropped}


def _newest_checked(campaign: Campaign) -> list[int]:
    """Keys of the work that was accepted or excluded last."""
    checked = campaign.assignments.filter(
        verdict__in=[Assignment.Verdict.ACCEPTED, Assignment.Verdict.EXCLUDED], finished_at__isnull=False
    )
    return list(checked.order_by("-finished_at", "-id").values_list("id", flat=True)[:LATEST])


def _stalled(campaign: Campaign, at: datetime) -> str:
    """Work came, and for a while none of it was accepted. The time of a pause does not count."""
    times = campaign.assignments.aggregate(first=Min("taken_at"))
    accepted = campaign.assignments.filter(verdict=Assignment.Verdict.ACCEPTED).aggregate(last=Max("finished_at"))
    since = accepted["last"] or times["first"]
    if since is not None:
        since = max([since, *_resumed(campaign)])
    if since is None or at - since < timedelta(hours=settings.ALARM_STALLED_HOURS):
        return ""
    return _("The campaign is open, and no work has been accepted since %(time)s UTC.") % {
        "time": date_format(since, "j M Y, H:i")
    }


def _resumed(campaign: Campaign) -> list[datetime]:
    """When the campaign was resumed last after a pause, here and at a platform: no work can come in a pause."""
    publications = Publication.objects.filter(campaign=campaign).values_list("resumed_at", flat=True)
    return [at for at in [campaign.resumed_at, *publications] if at is not None]


def _is_paused_there(campaign: Campaign) -> bool:
    """Whether the platform was asked to offer nothing for now."""
    idle = [Publication.State.PAUSED, Publication.State.STOPPED]
    return Publication.objects.filter(campaign=campaign, state__in=idle).exists()


def _nobody(campaign: Campaign, at: datetime) -> str:
    """Nobody has taken a HIT since the campaign opened: its work is counted for the first time then. Where workers come
    from a platform, that is looked at there (platforms.attention).
    """
    opened = CampaignSummary.objects.filter(campaign=campaign).values_list("made_at", flat=True).first()
    if opened is None or campaign.assignments.exists() or Publication.objects.filter(campaign=campaign).exists():
        return ""
    if at - opened < timedelta(hours=settings.ALARM_NOBODY_HOURS):
        return ""
    return _("The campaign is open, and nobody has taken a HIT since %(time)s UTC. Send people the link.") % {
        "time": date_format(opened, "j M Y, H:i")
    }
