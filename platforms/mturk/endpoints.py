"""The platforms that speak the Mechanical Turk API, what differs between them, and what they take."""

from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import Refused
from core.money import CENT
from tasks.models import Platform

# The qualifications of the locale, and of the number and the percentage of approved work.
LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
# Of each reward and bonus, and of each reward again on HITs of LARGE or more assignments.
FEE = Decimal("0.20")
LARGE = 10
SMALLEST_FEE = CENT


class Endpoint(NamedTuple):
    """Where a platform's API answers, and where its frames post finished work."""

    name: str
    url: str
    submit_host: str


def endpoint_of(platform: str) -> Endpoint:
    """The platform's endpoint. Raises Refused for another name, or where the marketplace's address is not set."""
    if platform == Platform.MARKETPLACE:
        if not settings.MARKETPLACE_URL:
            raise Refused(_("Set MARKETPLACE_URL to the address of the marketplace that campaigns are published to."))
        return Endpoint(platform, settings.MARKETPLACE_URL, settings.MARKETPLACE_SUBMIT_HOST)
    if platform == Platform.MTURK_SANDBOX:
        sandbox = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
        return Endpoint(platform, sandbox, "https://workersandbox.mturk.com")
    if platform == Platform.MTURK:
        return Endpoint(platform, "https://mturk-requester.us-east-1.amazonaws.com", "https://www.mturk.com")
    raise Refused(
        _("There is no platform “%(name)s”: choose marketplace, mturk-sandbox or mturk.") % {"name": platform}
    )


def reward_fee(reward: Decimal, max_assignments: int) -> Decimal:
    """The platform's fee for one approved assignment of a HIT of so many, in dollars and cents."""
    return _fee(reward, FEE * 2 if max_assignments >= LARGE else FEE)


def bonus_fee(bonus: Decimal) -> Decimal:
    """The platform's fee for a bonus, in dollars and cents."""
    return _fee(bonus, FEE)


def _fee(amount: Decimal, share: Decimal) -> Decimal:
    if not amount:
        return Decimal("0.00")
    return max((amount * share).quantize(CENT, rounding=ROUND_HALF_UP), SMALLEST_FEE)
