"""How pages write amounts."""

from decimal import Decimal

from django import template

from core import money

register = template.Library()


@register.filter
def dollars(amount: Decimal) -> str:
    """`$1,234.50`."""
    return money.dollars(amount)
