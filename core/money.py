"""Amounts of a currency, in whole cents."""

from decimal import ROUND_HALF_UP, Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

CENT = Decimal("0.01")
DOLLARS, POUNDS = "USD", "GBP"
CURRENCIES = {DOLLARS: gettext_lazy("US dollars"), POUNDS: gettext_lazy("pounds sterling")}
SIGNS = {DOLLARS: "$", POUNDS: "£"}


def owed(reward: Decimal, judged: int, items: int) -> Decimal:
    """The share of the reward that `judged` of `items` items have earned, rounded half up to cents.

    >>> owed(Decimal("2.00"), 6, 13)
    Decimal('0.92')
    """
    return (reward * judged / items).quantize(CENT, rounding=ROUND_HALF_UP)


def counted(number: int) -> str:
    """`1,234`."""
    return f"{number:,}"


def in_currency(amount: Decimal, currency: str) -> str:
    """`$1,234.50` or `£1,234.50`: never rounded away."""
    return f"{SIGNS[currency]}{amount:,.2f}"


def dollars(amount: Decimal) -> str:
    """`$1,234.50`."""
    return in_currency(amount, DOLLARS)


def in_local_words(amount: Decimal, currency: str) -> str:
    """The same as `in_currency`, as the current language writes it: `1.234,50 $`."""
    text = {DOLLARS: _("$%(amount)s"), POUNDS: _("£%(amount)s")}[currency]
    return text % {"amount": number_format(amount, 2, force_grouping=True)}
