"""Amounts, spans of time and moments as people read them: {% load people %}."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext, ngettext

from marketplace import clock

register = template.Library()


@register.filter
def dollars(amount: Decimal) -> str:
    """An amount to the cent: $1,200.00, or −$0.50."""
    return f"{'−' if amount < 0 else ''}${abs(amount):,.2f}"


@register.simple_tag
def whole_pay(reward: Decimal, bonus: Decimal) -> str:
    """All that a task may bring: $0.10 + up to $1.90, or $2.00 where there is no bonus."""
    if not bonus:
        return dollars(reward)
    return gettext("%(reward)s + up to %(bonus)s") % {"reward": dollars(reward), "bonus": dollars(bonus)}


@register.filter
def grouped(number: int) -> str:
    """A whole number in groups of three: 12,001."""
    return f"{number:,}"


@register.filter
def negated(amount: Decimal) -> Decimal:
    """What left the books, as what somebody got."""
    return -amount


@register.filter
def span(seconds: int) -> str:
    """A length of time in its two largest units: 1 h 30 min."""
    days, rest = divmod(int(seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    if days:
        text = ngettext("%(days)d day", "%(days)d days", days) % {"days": days}
        return f"{text} {gettext('%d h') % hours}" if hours else text
    if hours:
        text = gettext("%d h") % hours
        return f"{text} {gettext('%d min') % minutes}" if minutes else text
    if minutes:
        text = gettext("%d min") % minutes
        return f"{text} {gettext('%d s') % left}" if left else text
    return gettext("%d s") % left


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """A moment, exact and relative: 7 Aug 2026, 10:07 UTC (3 hours ago)."""
    if moment is None:
        return ""
    now = clock.now()
    if abs((moment - now).total_seconds()) < 60:
        relative = gettext("now")
    elif moment < now:
        relative = gettext("%s ago") % timesince(moment, now, depth=1)
    else:
        relative = gettext("in %s") % timeuntil(moment, now, depth=1)
    return format_html(
        '<span class="when"><time datetime="{}">{} UTC</time> <span class="ago">({})</span></span>',
        moment.isoformat(),
        date_format(moment, "j M Y, H:i"),
        relative,
    )


@register.simple_tag(takes_context=True)
def page_address(context: dict[str, Any], number: int, key: str = "") -> str:
    """The present URL with another page of a list; below the list's heading if the list has a key."""
    query = context["request"].GET.copy()
    query[key or "page"] = str(number)
    return f"?{query.urlencode()}" + (f"#{key}" if key else "")
