"""What runs in the background: checking confirmed work, counting it, decisions on many, and making export files."""

import logging
import time

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.audit.services import entries_expire
from core.background import job
from core.errors import NotNow, Refused
from core.locks import alone
from judgments import (
    alarm_checks,
    alarm_mails,
    campaign_erasing,
    deciding,
    erasing,
    machine_asking,
    proving,
    refreshing,
    releasing,
    rounds,
    stored_files,
    summarizing,
)
from judgments import services as judgment_services
from judgments.models import Retention
from pools.models import Campaign
from tasks import campaign_alarms

log = logging.getLogger(__name__)
SECONDS = 40.0  # for which one job makes files before other jobs get their turn


@job(gettext_lazy("the job that checks confirmed work"))
def check() -> str:
    """End what workers went away from, and check work that its platform has confirmed since. Safe to run many at once,
    and to be killed.
    """
    at = timezone.now()
    judgment_services.abandoned_end_all(at=at)
    return f"checked: {judgment_services.confirmed_check_all(at=at)}"


@job(gettext_lazy("the job that makes export files"))
def make_exports(campaign_id: int | None = None) -> str:
    """Make the export files of a campaign anew, or of those that changed since; delete those that were replaced.

    Safe to run many at once, and to be killed.
    """
    kind, at, ends = campaign_alarms.Kind.EXPORTS, timezone.now(), time.monotonic() + SECONDS
    if campaign_id is None:
        campaigns = refreshing.candidates(at=at).exclude(pk__in=campaign_alarms.resting(kind=kind, at=at))
    else:
        campaigns = Campaign.objects.filter(pk=campaign_id).exclude(
            state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]
        )
    exports = 0
    for campaign in campaigns.select_related("collection"):
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_failed):
            exports += refreshing.export_refresh(campaign=campaign, anew=campaign_id is not None)
        if time.monotonic() > ends:
            break
    stored_files.replaced_delete(at=at)
    return f"exports made: {exports}"


@job(gettext_lazy("the job that sums up work"))
def summarize() -> str:
    """Count the work of campaigns that changed since it was counted. Safe to run many at once, and to be killed."""
    kind, at, ends = campaign_alarms.Kind.SUMMARY, timezone.now(), time.monotonic() + SECONDS
    total = 0
    resting = campaign_alarms.resting(kind=kind, at=at)
    for campaign in summarizing.campaigns_to_summarize(at=at).exclude(pk__in=resting):
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_not_counted):
            total += summarizing.campaign_summarize(campaign=campaign)
        if time.monotonic() > ends:
            break
    return f"campaigns counted: {total}"


@job(gettext_lazy("the job that carries out decisions on many"))
def decide(bulk_id: int | None = None) -> str:
    """Carry out decisions on many that wait, or one of these. Safe to run many at once, and to be killed."""
    ends, decided = time.monotonic() + SECONDS, 0
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
    kind, at = campaign_alarms.Kind.WATCH, timezone.now()
    for campaign in alarm_checks.campaigns_to_check():
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_not_watched):
            if campaign.state != Campaign.State.CLOSED:
                proving.tests_settle(campaign=campaign, at=at)
            alarm_checks.campaign_check(campaign=campaign, at=at)
    with alone("mails about alarms") as ours:
        if not ours:
            return "another sends the mails"
        alarm_mails.episodes_follow(at=at)
        if not alarm_mails.is_mail_set_up():
            return "no mail is set up"
        sent = sum(alarm_mails.episode_mail(episode=episode, at=at) for episode in alarm_mails.episodes_to_mail())
    return f"mails sent: {sent}"


@job(gettext_lazy("the job that plans and asks rounds"))
def advance_rounds() -> str:
    """Plan and ask the next rounds of campaigns in rounds. Safe to run many at once, and to be killed."""
    kind, at, advanced = campaign_alarms.Kind.ROUND, timezone.now(), 0
    resting = campaign_alarms.resting(kind=kind, at=at)
    for campaign in rounds.campaigns_in_rounds().exclude(pk__in=resting):
        with campaign_alarms.isolating(campaign_id=campaign.pk, kind=kind, words=_not_advanced):
            advanced += rounds.rounds_advance(campaign=campaign, at=at)
    return f"rounds planned: {advanced}"


@job(gettext_lazy("the job that asks machine judges"))
def ask_machines() -> str:
    """Go on asking machines. Safe to run many at once, and to be killed: what was answered stays known."""
    questions, ends = 0, time.monotonic() + SECONDS
    for asking in machine_asking.askings_open(timezone.now()).select_related("campaign__collection"):
        try:
            questions += machine_asking.machine_asking_advance(asking=asking, until=ends)
        except Exception:  # one that fails stops no other; it is tried again
            log.exception("Machine asking %s failed", asking.pk)
        if time.monotonic() > ends:
            break
    return f"questions asked: {questions}"


def _not_advanced(error: Exception) -> str:
    return _(
        "The next round could not be planned (%(error)s). Nothing is lost. It is tried again automatically; if it "
        "persists, show this to the person who runs this site."
    ) % {"error": campaign_alarms.in_words(error)}


def _not_watched(error: Exception) -> str:
    return _(
        "Whether this campaign has problems could not be checked (%(error)s). It is tried again automatically; if it "
        "persists, show this to the person who runs this site."
    ) % {"error": campaign_alarms.in_words(error)}


def _not_counted(error: Exception) -> str:
    return _(
        "The work could not be counted (%(error)s), so what the tables of work show may be old. Nothing is lost. It is "
        "tried again automatically; if it persists, show this to the person who runs this site."
    ) % {"error": campaign_alarms.in_words(error)}


def _failed(error: Exception) -> str:
    return _(
        "The export files could not be made (%(error)s). The judgments are not touched. It is tried again by itself; "
        "if it stays, show this to whoever runs this site."
    ) % {"error": campaign_alarms.in_words(error)}


@job(gettext_lazy("the job that makes release bundles"))
def make_bundle(campaign_id: int) -> str:
    """Make a campaign's release bundle. If one of its files names somebody, or it fails, that raises an alarm."""
    kind, at = campaign_alarms.Kind.BUNDLE, timezone.now()
    campaign = Campaign.objects.select_related("collection").filter(pk=campaign_id).first()
    if campaign is None or campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        return "nothing to release"
    try:
        releasing.bundle_make(campaign=campaign, at=at)
    except Exception as error:
        text = str(error) if isinstance(error, Refused) else _not_bundled(error)
        log.warning("No release bundle of campaign %s: %s", campaign.pk, text)
        campaign_alarms.alarm_raise(campaign_id=campaign.pk, kind=kind, text=text, at=at, retried=False)
        return "not made"
    campaign_alarms.alarm_settle(campaign_id=campaign.pk, kind=kind, at=at)
    return "made"


def _not_bundled(error: Exception) -> str:
    text = _(
        "The release bundle could not be made (%(error)s). Ask for it again; if it stays, show this to whoever runs "
        "this site."
    )
    return text % {"error": campaign_alarms.in_words(error)}


@job(gettext_lazy("the job that erases a campaign's workers"))
def erase_campaign(campaign_id: int, why: str = "") -> str:
    """Erase a campaign's workers, each in one transaction. Safe to run twice, and to be killed."""
    campaign = Campaign.objects.get(pk=campaign_id)
    erased, refusals = erasing.campaign_erase(campaign=campaign, at=timezone.now(), why=why)
    return f"workers erased: {erased}, kept: {len(refusals)}"


@job(gettext_lazy("the job that erases whole campaigns"))
def erase_whole_campaign(campaign_id: int, why: str = "") -> str:
    """Delete a closed campaign, in one transaction. Safe to run twice, and to be killed."""
    campaign = Campaign.objects.filter(pk=campaign_id).first()
    if campaign is None:
        return "nothing to erase"
    try:
        campaign_erasing.whole_erase(campaign=campaign, at=timezone.now(), why=why)
    except Exception as error:
        log.log(
            logging.WARNING if isinstance(error, NotNow) else logging.ERROR,
            "Campaign %s was not erased",
            campaign_id,
            exc_info=error,
        )
        text = _(
            "The campaign could not be erased (%(error)s). Nothing of it was deleted. Ask for it again; if "
            "it stays, show this to whoever runs this site."
        )
        message = text % {"error": campaign_alarms.in_words(error)}
        kind, at = campaign_alarms.Kind.ERASING, timezone.now()
        campaign_alarms.alarm_raise(campaign_id=campaign_id, kind=kind, text=message, at=at, retried=False)
        return "not erased"
    return "erased"


@job(gettext_lazy("the job that keeps the labs' periods"))
def keep_periods() -> str:
    """Erase what labs have kept for as long as they wanted. Safe to run twice, and to be killed."""
    at, workers, entries = timezone.now(), 0, 0
    for retention in Retention.objects.select_related("lab").order_by("pk"):
        try:
            if retention.worker_days:
                workers += erasing.retention_keep(lab=retention.lab, days=retention.worker_days, at=at).erased
            if retention.audit_days:
                entries += entries_expire(at=at, days=retention.audit_days, lab_id=retention.lab_id)
        except Exception:
            log.exception("The periods of lab %s could not be kept; they are tried again", retention.lab_id)
    return f"workers erased: {workers}, entries removed: {entries}"
