"""Mails about alarms: one for each kind of problem of a campaign, as long as it lasts, to those who chose to get them.

A mail says what kind of problem it is and where to look, and nothing about any worker.
"""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _

from core.alarms import kind_named
from core.mail import mails_add
from core.models import Alarm, AlarmChoice, User
from judgments.models import AlarmEpisode
from platforms.models import Publication
from platforms.registry import vocabulary_of
from pools.models import Campaign


def episodes_follow(*, at: datetime) -> None:
    """Begin an episode for each kind of problem that a campaign has now, and end those that it has no more."""
    campaign = Coalesce("publication__campaign", "campaign")
    raised = set(Alarm.objects.filter(settled_at=None).order_by().values_list(campaign, "kind").distinct())
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


@transaction.atomic
def episode_mail(*, episode: AlarmEpisode, at: datetime) -> int:
    """Tell everybody who wants to know, once; where nobody has wanted to yet, it is looked again. How many are told."""
    count = mails_add(to=recipients(episode.campaign, episode.kind), **_mail(episode), at=at)
    if count:
        AlarmEpisode.objects.filter(pk=episode.pk).update(mailed_at=at)
    return count


def recipients(campaign: Campaign, kind: str) -> list[User]:
    """Who wants a mail about this: members of the lab, by default only whoever created the campaign."""
    members = campaign.lab.members.filter(is_active=True).exclude(email="").order_by("pk")
    reaches, topic = AlarmChoice.Reach, kind_named(kind).topic
    chosen = Q(alarm_choice=None, pk=campaign.created_by_id) | Q(alarm_choice__topics__contains=[topic]) & (
        Q(alarm_choice__reach=reaches.ALL) | Q(alarm_choice__reach=reaches.OWN, pk=campaign.created_by_id)
    )
    return list(members.filter(chosen))


def _mail(episode: AlarmEpisode) -> dict[str, str]:
    vocabulary = vocabulary_of(Publication.objects.filter(campaign=episode.campaign_id).first())
    what = {"what": vocabulary.phrase(str(kind_named(episode.kind).label)), "campaign": episode.campaign.name}
    subject = _("%(campaign)s: %(what)s") % what
    address = settings.SITE_URL.rstrip("/") + reverse("campaigns:campaign", args=[episode.campaign_id])
    choose = settings.SITE_URL.rstrip("/") + reverse("core:alarm_choice")
    text = _(
        "The campaign “%(campaign)s” needs somebody to look at it: %(what)s.\n\n%(address)s\n\n"
        "You get one mail for each kind of problem, however long it lasts. Choose which: %(choose)s\n"
    ) % {**what, "address": address, "choose": choose}
    return {"subject": subject, "text": text}
