"""What time it is, in one place. Test mode can move it; nothing else in the marketplace asks the machine."""

from datetime import datetime

from django.apps import apps
from django.conf import settings
from django.utils import timezone


def now() -> datetime:
    """The marketplace's time, in UTC, to the millisecond that API answers carry."""
    moment = timezone.now()
    if settings.TEST_MODE:
        ahead = apps.get_model("marketplace", "TestClock").objects.values_list("ahead", flat=True).first()
        if ahead:
            moment += ahead
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
