"""Mails about alarms: one for each kind of problem of a campaign, as long as it lasts, to those who chose to get them.

A mail says what kind of problem it is and where to look, and nothing about any worker.
"""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from core.mail import mail_send
from core.models import User
from judgments.models import AlarmChoice, AlarmEpisode, AlarmMail
from platforms.models import Alarm, Publication
from platforms.registry import vocabulary_of
from pools.models import Campaign
from tasks.models import CampaignAlarm

Topic = AlarmChoice.Topic
# What each kind of alarm is about; all others are errors.
TOPICS: dict[str, str] = {
    Alarm.Kind.FUNDS: Topic.MONEY,
    Alarm.Kind.LOW: Topic.MONEY,
    Alarm.Kind.LEDGER: Topic.MONEY,
    Alarm.Kind.DOUBT: Topic.MONEY,
    Alarm.Kind.COMPENSATION: Topic.MONEY,
    Alarm.Kind.TWICE: Topic.MONEY,
    Alarm.Kind.UNDECIDED: Topic.MONEY,
    Alarm.Kind.AUTO_APPROVAL: Topic.MONEY,
    Alarm.Kind.UNRETURNED: Topic.MONEY,
    Alarm.Kind.LEAVES: Topic.QUALITY,
    Alarm.Kind.FAST: Topic.QUALITY,
    Alarm.Kind.EXPIRED: Topic.STALLED,
    Alarm.Kind.UNSEEN: Topic.NOBODY,
    CampaignAlarm.Kind.FAILING: Topic.QUALITY,
    CampaignAlarm.Kind.FAST: Topic.QUALITY,
    CampaignAlarm.Kind.TESTS: Topic.QUALITY,
    CampaignAlarm.Kind.STALLED: Topic.STALLED,
    CampaignAlarm.Kind.NOBODY: Topic.NOBODY,
}
log = logging.getLogger(__name__)


def is_mail_set_up() -> bool:
    """Whether this site sends mail."""
    return bool(settings.HAS_MAIL)


def choice_of(user: User) -> AlarmChoice:
    """What somebody chose, or what holds unless they choose; not stored then."""
    return AlarmChoice.objects.filter(user=user).first() or AlarmChoice(user=user, topics=list(Topic.values))


def choice_set(*, user: User, reach: str, topics: Iterable[str]) -> AlarmChoice:
    """Choose which mails to get."""
    chosen = [topic for topic in Topic.values if topic in set(topics)]
    choice, _new = AlarmChoice.objects.update_or_create(user=user, defaults={"reach": reach, "topics": chosen})
    return choice


def episodes_follow(*, at: datetime) -> None:
    """Begin an episode for each kind of problem that a campaign has now, and end those that it has no more."""
    at_platform = Alarm.objects.filter(settled_at=None).order_by().values_list("publication__campaign", "kind")
    here = CampaignAlarm.objects.filter(settled_at=None).order_by().values_list("campaign", "kind")
    raised = {*at_platform.distinct(), *here.distinct()}
    lasting = dict.fromkeys(
        AlarmEpisode.objects.filter(ended_at=None).order_by("id").values_list("campaign", "kind", "id")
    )
    over = [pk for campaign, kind, pk in lasting if (campaign, kind) not in raised]
    AlarmEpisode.objects.filter(pk__in=over).update(ended_at=at)
    running = {(campaign, kind) for campaign, kind, _pk in lasting}
    AlarmEpisode.objects.bulk_create(
        [AlarmEpisode(campaign_id=campaign, kind=kind, began_at=at) for campaign, kind in sorted(raised - running)],
        ignore_conflicts=True,
    )


def episodes_to_mail() -> QuerySet[AlarmEpisode]:
    """Those that last and that nobody was told of yet."""
    return AlarmEpisode.objects.filter(ended_at=None, mailed_at=None).select_related("campaign__lab").order_by("id")


def episode_mail(*, episode: AlarmEpisode, at: datetime) -> int:
    """Tell everybody who wants to know, once each. How many now. What could not be sent is tried again next time, and
    so is what nobody has heard of.
    """
    sent = failed = 0
    mailed = set(episode.mails.values_list("user", flat=True))
    for user in recipients(episode.campaign, episode.kind):
        if user.pk in mailed:
            continue
        try:
            mail_send(to=user.email, **_mail(episode))
        except Exception:  # a mail server fails in many ways, and none may keep others from their mail
            log.exception("Alarm %s of campaign %s was not mailed", episode.kind, episode.campaign_id)
            failed += 1
            continue
        AlarmMail.objects.create(episode=episode, user=user, sent_at=at)
        sent += 1
    if not failed and (mailed or sent):
        AlarmEpisode.objects.filter(pk=episode.pk).update(mailed_at=at)
    return sent


def recipients(campaign: Campaign, kind: str) -> list[User]:
    """Who wants a mail about this: members of the lab, by default only whoever created the campaign."""
    topic = TOPICS.get(kind, Topic.ERRORS)
    members = campaign.lab.members.filter(is_active=True).exclude(email="").order_by("pk")
    reaches = AlarmChoice.Reach
    chosen = Q(alarm_choice=None, pk=campaign.created_by_id) | Q(alarm_choice__topics__contains=[topic]) & (
        Q(alarm_choice__reach=reaches.ALL) | Q(alarm_choice__reach=reaches.OWN, pk=campaign.created_by_id)
    )
    return list(members.filter(chosen))


def _mail(episode: AlarmEpisode) -> dict[str, str]:
    kinds = {**dict(Alarm.Kind.choices), **dict(CampaignAlarm.Kind.choices)}
    vocabulary = vocabulary_of(Publication.objects.filter(campaign=episode.campaign_id).first())
    what = {"what": vocabulary.phrase(str(kinds.get(episode.kind, episode.kind))), "campaign": episode.campaign.name}
    subject = _("%(campaign)s: %(what)s") % what
    address = settings.SITE_URL.rstrip("/") + reverse("campaigns:campaign", args=[episode.campaign_id])
    choose = settings.SITE_URL.rstrip("/") + reverse("judgments:alarm_choice")
    text = _(
        "The campaign “%(campaign)s” needs somebody to look at it: %(what)s.\n\n%(address)s\n\n"
        "You get one mail for each kind of problem, however long it lasts. Choose which: %(choose)s\n"
    ) % {**what, "address": address, "choose": choose}
    return {"subject": subject, "text": text}
