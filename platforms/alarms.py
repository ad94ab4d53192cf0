"""What a person must look at."""

from datetime import datetime

from platforms.models import Alarm, Publication


def alarm_raise(*, publication: Publication, kind: str, subject: str, text: str, at: datetime) -> Alarm:
    """Raise an alarm, once for each kind and subject; one that was settled rings again."""
    alarm, new = Alarm.objects.get_or_create(
        publication=publication, kind=kind, subject=subject[:100], defaults={"text": text, "raised_at": at}
    )
    if not new and (alarm.settled_at is not None or alarm.text != text):
        alarm.text, alarm.raised_at, alarm.settled_at = text, at, None
        alarm.save(update_fields=["text", "raised_at", "settled_at"])
    return alarm


def alarm_settle(*, publication: Publication, kind: str, subject: str, at: datetime) -> bool:
    """The reason for an alarm is gone. Returns whether it was ringing."""
    ringing = Alarm.objects.filter(publication=publication, kind=kind, subject=subject[:100], settled_at=None)
    return bool(ringing.update(settled_at=at))
