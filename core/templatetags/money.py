"""How pages write amounts."""

from decimal import Decimal
from typing import Any

from django import template

from core.money import dollars as in_dollars
from core.money import in_currency

register = template.Library()


@register.filter
def money(amount: Decimal, of: Any) -> str:
    """`£1,234.50`, in the currency of a campaign or of something else that has one."""
    return in_currency(amount, of.currency)


@register.filter
def dollars(amount: Decimal) -> str:
    """`$1,234.50`."""
    return in_dollars(amount)
