"""What workers must have, as plain facts. Each platform has its own words for them: `Adapter.requirements_of`. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pycountry
from django.utils.translation import gettext as _


class Demands(NamedTuple):
    """Countries that workers may live in (none: all), more approved tasks than so many, at least this percentage of
    their tasks approved; None is not asked for. `others` are requirements of other kinds, as the platform has them.
    """

    countries: tuple[str, ...] = ()
    approved: int | None = None
    percent: int | None = None
    others: tuple[dict[str, Any], ...] = ()


class FilterKind(NamedTuple):
    """A filter that a platform offers, by its own name: with `choices` by their ids, or from `least` to `most`.

    `keeps_out`: whether those may not take part whom a choice is about.
    """

    key: str
    title: str
    question: str
    choices: dict[str, str]
    least: int | None = None
    most: int | None = None
    keeps_out: bool = False

    def in_words(self, requirement: Mapping[str, Any]) -> str:
        """A requirement of this kind: what is chosen, or the range. A choice that is gone goes by its id."""
        if "selected_values" in requirement:
            chosen = ", ".join(self.choices.get(value, value) for value in requirement["selected_values"])
            return _("not: %(choices)s") % {"choices": chosen} if self.keeps_out else chosen
        bounds = requirement.get("selected_range") or {}
        lower, upper = bounds.get("lower"), bounds.get("upper")
        if lower is not None and upper is not None:
            return _("%(lower)s to %(upper)s") % {"lower": lower, "upper": upper}
        return (
            _("at least %(lower)s") % {"lower": lower} if upper is None else _("at most %(upper)s") % {"upper": upper}
        )


# What the paper asked of its workers: in the US, more than 10,000 tasks approved, at least 97% of all.
PAPER = Demands(("US",), 10_000, 97)


def unknown_countries(codes: Iterable[str]) -> list[str]:
    """Those that are no country's code, each once."""
    countries = {country.alpha_2 for country in pycountry.countries}
    return [code for code in dict.fromkeys(codes) if code not in countries]
