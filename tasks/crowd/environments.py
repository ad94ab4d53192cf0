"""The venues that speak the Mechanical Turk API, and what differs between them. Pure, but for the settings."""

from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _

from pools.errors import Refused
from tasks.money import CENT

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
FEE = Decimal("0.20")
"""Of each reward and bonus, and of each reward again on HITs of LARGE or more assignments."""
LARGE = 10
SMALLEST_FEE = CENT


class Environment(NamedTuple):
    """A venue: where its API answers, where its frames post finished work, and what its workers are called here.

    The three qualification ids are those of the locale, and of the number and the percentage of approved work.
    """

    name: str
    endpoint: str
    submit_host: str
    crowd: str
    locale: str = LOCALE
    number_approved: str = NUMBER_APPROVED
    percent_approved: str = PERCENT_APPROVED


def environment(name: str) -> Environment:
    """The venue of that name. Raises Refused for another name, or where the marketplace's address is not set."""
    if name == "marketplace":
        if not settings.MARKETPLACE_URL:
            raise Refused(_("Set MARKETPLACE_URL to the address of the marketplace that campaigns are published to."))
        return Environment(name, settings.MARKETPLACE_URL, settings.MARKETPLACE_SUBMIT_HOST, "market")
    if name == "sandbox":
        return Environment(
            name,
            "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
            "https://workersandbox.mturk.com",
            "sandbox",
        )
    if name == "production":
        return Environment(
            name, "https://mturk-requester.us-east-1.amazonaws.com", "https://www.mturk.com", "production"
        )
    raise Refused(_("There is no venue “%(name)s”: choose marketplace, sandbox or production.") % {"name": name})


def reward_fee(reward: Decimal, places: int) -> Decimal:
    """The venue's fee for one approved assignment of a HIT of so many, in dollars and cents."""
    return _fee(reward, FEE * 2 if places >= LARGE else FEE)


def bonus_fee(bonus: Decimal) -> Decimal:
    """The venue's fee for a bonus, in dollars and cents."""
    return _fee(bonus, FEE)


def _fee(amount: Decimal, share: Decimal) -> Decimal:
    if not amount:
        return Decimal("0.00")
    return max((amount * share).quantize(CENT, rounding=ROUND_HALF_UP), SMALLEST_FEE)
