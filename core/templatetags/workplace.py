"""How the researcher's pages write numbers."""

import re
from datetime import datetime

from django import template
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from core.lists import Listing
from core.models import Lab
from core.percent import in_percent
from core.roles import may_change

register = template.Library()
# The area of the site that a page is in, for the rail: by its address's name, by the beginning of that, or by its app.
_AREAS = {
    "review:workers": "workers",
    "platforms:costs": "costs",
    "results:version_new": "campaigns",
    "results:version_asked": "campaigns",
    "results:version": "collections",
    "core:lab_": "people",
    "core:people": "people",
    "core:reset_link": "people",
    "campaigns:search": "",
    "campaigns:": "campaigns",
    "pools:run": "runs",
    "runs:run": "runs",
    "pools:": "collections",
    "runs:": "collections",
    "tasks:": "campaigns",
    "platforms:lab_account": "people",
    "platforms:": "campaigns",
    "protection:account_close": "",
    "protection:member_close": "people",
    "protection:protection_campaign": "campaigns",
    "protection:protection": "protection",
    "protection:": "campaigns",
    "machines:": "collections",
    "judgments:judgments_import": "collections",
    "review:": "campaigns",
    "judgments:": "campaigns",
    "results:": "campaigns",
    "leaderboards:": "leaderboards",
    "upkeep:": "leaderboards",
}

# What a new researcher would have to look up, in a sentence each.
TERMS = {
    "HIT": _lazy("A human intelligence task: the pairs that one worker judges in one go."),
    "test pair": _lazy("A pair whose better passage is known. It shows whether a worker reads with care."),
    "deadlock": _lazy("Passages that win equally often against each other, and so are all best known answers."),
    "qrels": _lazy("Relevance judgments, in the files of TREC: which passages answer which query, and how well."),
    "pool": _lazy("The passages that are compared for one query."),
}


@register.filter
def explain(text: str, term: str) -> SafeString:
    """A text with the sentence of a term on its first mention, for those who point at it, touch it or tab to it."""
    words = conditional_escape(text)
    if (mention := re.search(rf"\b{term}s?\b", words, re.IGNORECASE)) is None:
        return words
    before, after = SafeString(words[: mention.start()]), SafeString(words[mention.end() :])
    abbr = '{}<abbr class="term" tabindex="0" title="{}">{}</abbr>{}'
    return format_html(abbr, before, TERMS[term], mention[0], after)


@register.filter
def area(view_name: str) -> str:
    """Which entry of the rail a page belongs to, by the name of its address; empty for none.

    >>> area("results:version_scores"), area("core:people"), area("upkeep:upkeep"), area("login")
    ('collections', 'people', 'leaderboards', '')
    >>> area("platforms:costs"), area("platforms:lab_account"), area("platforms:terms")
    ('costs', 'people', 'campaigns')
    """
    return next((name for beginning, name in _AREAS.items() if view_name.startswith(beginning)), "")


@register.filter
def number(value: float) -> str:
    """`1,234`; what is not whole gets one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


@register.filter
def seconds(value: float | None) -> str:
    """`8.3 s`, `2 min 5 s`; a dash where nothing was measured."""
    if value is None:
        return "–"
    if value < 60:
        return _("%(seconds).1f s") % {"seconds": value}
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return _("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}
    return _("%(hours)d h %(minutes)d min") % {"hours": minutes // 60, "minutes": minutes % 60}


@register.filter
def share(value: float | None) -> str:
    """A share from 0 to 1 as `43%`; a dash where there is none."""
    return "–" if value is None else in_percent(value, ".0f")


@register.filter
def share_of(part: int, whole: int) -> str:
    return share(part / whole if whole else None)


@register.filter
def when(at: datetime | None) -> str:
    """A time, once: for a day `3 hours ago`, otherwise `24 Nov 2026, 14:00 UTC`, and a dash for none. Of what is past,
    the title says the other.
    """
    if not at:
        return "–"
    seconds, exact = (timezone.now() - at).total_seconds(), f"{date_format(at, 'j M Y, H:i')} UTC"
    ago = _("just now") if seconds < 60 else _("%(time)s ago") % {"time": timesince(at, depth=1)}
    if 0 <= seconds < 24 * 60 * 60:
        words = '<time class="when recent" datetime="{}" title="{}"><span>{}</span></time>'
        return format_html(words, at.isoformat(), exact, ago)
    return format_html(
        '<time class="when" datetime="{}" title="{}">{}</time>', at.isoformat(), ago * (seconds > 0), exact
    )


@register.filter
def day_and_time(at: datetime) -> str:
    """`today at 14:00 UTC`, `tomorrow at 14:00 UTC`, or `on 24 Nov 2026, 14:00 UTC`."""
    days = (at.date() - timezone.now().date()).days
    words = {0: _("today at %(time)s UTC"), 1: _("tomorrow at %(time)s UTC")}
    if days in words:
        return words[days] % {"time": f"{at:%H:%M}"}
    return _("on %(day)s UTC") % {"day": date_format(at, "j M Y, H:i")}


@register.filter
def of_hundred(part: int, whole: int) -> int:
    """`part` of `whole` in whole percent, rounded half up, but 0 and 100 for nothing and everything only.

    >>> of_hundred(1, 13), of_hundred(999, 1000), of_hundred(1, 1000), of_hundred(0, 0)
    (8, 99, 1, 0)
    """
    if not part or not whole:
        return 0
    return 100 if part >= whole else min(99, max(1, (200 * part + whole) // (2 * whole)))


@register.filter
def size(value: int) -> str:
    """`1.2 MB`."""
    return filesizeformat(value)


@register.simple_block_tag(name="may", takes_context=True)
def show_if_allowed(context: template.Context, content: str, address: str, lab: Lab | None = None) -> str:
    """`{% may "platforms:move" campaign.lab %}<form …>{% endmay %}`: what only those see who may use the address.

    Without a lab, whoever may use it in any.
    """
    return content if may_change(context["request"].user, lab, address) else ""


@register.simple_tag(takes_context=True)
def allowed(context: template.Context, address: str, lab: Lab | None = None) -> bool:
    """`{% allowed "tasks:tests" campaign.lab as may_design %}`, where those who may not see something else."""
    return may_change(context["request"].user, lab, address)


@register.simple_tag
def sort_head(listing: Listing, column: str, label: str, kind: str = "") -> str:
    """The head of a column that a list can be sorted by. `kind` is `number` for a column of numbers."""
    sorted_as = listing.sorted_as(column)
    return format_html(
        '<th scope="col"{}{}><a class="sort" href="{}">{}</a></th>',
        format_html(' class="{}"', kind) if kind else "",
        format_html(' aria-sort="{}"', sorted_as) if sorted_as else "",
        listing.sort_address(column),
        label,
    )
