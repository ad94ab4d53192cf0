"""What time it is, in one place, so that tests can move the clock."""

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """The marketplace's time, in UTC, to the millisecond that API answers carry."""
    moment = timezone.now()
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
