"""What workers must have, as plain facts. Each platform has its own words for them: `Adapter.requirements_of`. Pure."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pycountry


class Demands(NamedTuple):
    """Countries that workers may live in (none: all), more approved tasks than so many, at least this percentage of
    their tasks approved; None is not asked for. `others` are requirements of other kinds, as the platform has them.
    """

    countries: tuple[str, ...] = ()
    approved: int | None = None
    percent: int | None = None
    others: tuple[dict[str, Any], ...] = ()


# What the paper asked of its workers: in the US, more than 10,000 tasks approved, at least 97% of all.
PAPER = Demands(("US",), 10_000, 97)


def unknown_countries(codes: Iterable[str]) -> list[str]:
    """Those that are no country's code, each once."""
    known = {country.alpha_2 for country in pycountry.countries}
    return [code for code in dict.fromkeys(codes) if code not in known]
