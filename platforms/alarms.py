"""What a person must look at in publications."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.audit.notes import entry_note
from core.errors import NotNow
from core.models import Alarm, User
from platforms.models import PlatformAlarm

# Those that a person can dismiss. The others disappear once their cause is gone.
DISMISSIBLE = frozenset(
    {
        *(PlatformAlarm.FUNDS, PlatformAlarm.ACCOUNT, PlatformAlarm.REFUSED, PlatformAlarm.LEAVES),
        *(PlatformAlarm.UNSEEN, PlatformAlarm.UNFAIR, PlatformAlarm.DOUBT),
    }
)
# Those about a submission that are over once it is decided on.
ABOUT_DECIDING = (
    *(PlatformAlarm.UNMATCHED, PlatformAlarm.NO_ANSWERS, PlatformAlarm.FAST),
    *(PlatformAlarm.AUTO_APPROVAL, PlatformAlarm.TWICE),
)


def alarm_dismiss(*, alarm: Alarm, by: User, at: datetime) -> bool:
    """Settle an alarm that a person has dealt with; it is raised again if its cause comes back. Returns whether it was
    raised. Raises NotNow for one that disappears with its cause only.
    """
    if alarm.kind not in DISMISSIBLE:
        raise NotNow(_("This alarm disappears once its cause is gone: %(text)s") % {"text": alarm.text})
    dismissed = Alarm.objects.filter(pk=alarm.pk, settled_at=None).update(settled_at=at)
    if dismissed:
        publication: Any = alarm.of
        campaign = publication.campaign
        entry_note(
            subject="alarm",
            action="dismissed",
            key=alarm.pk,
            thing=alarm.kind,
            campaign_id=campaign.pk,
            campaign=campaign.name,
            lab_id=campaign.lab_id,
            actor=by.pk,
            worker_id=alarm.about_id if alarm.about == "worker" else None,
        )
    return bool(dismissed)


def raised_about(submission: Any, *kinds: PlatformAlarm) -> QuerySet[Alarm]:
    """The alarms of these kinds about a submission, which is a key, an expression or several keys."""
    return Alarm.objects.filter(about="submission", about_id=submission, kind__in=kinds, settled_at=None)
