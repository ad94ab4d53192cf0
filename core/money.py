"""Amounts, in dollars and whole cents."""

from decimal import ROUND_HALF_UP, Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

CENT = Decimal("0.01")


def owed(reward: Decimal, judged: int, items: int) -> Decimal:
    """The share of the reward that `judged` of `items` items have earned, rounded half up to cents.

    >>> owed(Decimal("2.00"), 6, 13)
    Decimal('0.92')
    """
    return (reward * judged / items).quantize(CENT, rounding=ROUND_HALF_UP)


def counted(number: int) -> str:
    """`1,234`."""
    return f"{number:,}"


def dollars(amount: Decimal) -> str:
    """`$1,234.50`: never rounded away."""
    return f"${amount:,.2f}"


def local_dollars(amount: Decimal) -> str:
    """The same, as the current language writes it: `1.234,50 $`."""
    return _("$%(amount)s") % {"amount": number_format(amount, 2, force_grouping=True)}
