"""What workers must have: between the API's QualificationRequirements and a few plain facts. Pure."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from platforms.mturk.endpoints import LOCALE, NUMBER_APPROVED, PERCENT_APPROVED

_GUARDED = {"ActionsGuarded": "DiscoverPreviewAndAccept"}


class Demands(NamedTuple):
    """Countries that workers may live in (none: all), more approved tasks than so many, at least this percentage of
    their tasks approved; None is not asked for. `others` are requirements of other kinds, as the API has them.
    """

    countries: tuple[str, ...] = ()
    approved: int | None = None
    percent: int | None = None
    others: tuple[dict[str, Any], ...] = ()


PAPER = Demands(("US",), 10_000, 97)
"""What the paper asked of its workers: in the US, more than 10,000 tasks approved, at least 97% of all."""


def requirements_at_first(platform: str) -> list[dict[str, Any]]:
    """The requirements that terms start from: the paper's where a crowd has a record, none at our own marketplace,
    whose workers all begin with nothing approved.
    """
    return [] if platform == "marketplace" else requirements_of(PAPER)


@cache
def country_codes() -> frozenset[str]:
    """The codes of ISO 3166-1, alpha-2, as the time zone database has them."""
    table = files("tzdata.zoneinfo").joinpath("iso3166.tab").read_text(encoding="utf-8")
    return frozenset(row[:2] for row in table.splitlines() if row and not row.startswith("#"))


def unknown_countries(codes: Iterable[str]) -> list[str]:
    """Those that are no country's code, each once."""
    return [code for code in dict.fromkeys(codes) if code not in country_codes()]


def countries_of(requirements: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The countries that requirements of whatever kind name."""
    for requirement in requirements:
        for place in requirement.get("LocaleValues") or []:
            yield str(place.get("Country", ""))


def requirements_of(demands: Demands) -> list[dict[str, Any]]:
    """The API's QualificationRequirements for these demands."""
    made: list[dict[str, Any]] = []
    if demands.countries:
        made.append(_locale(demands.countries))
    if demands.approved is not None:
        made.append(_number(NUMBER_APPROVED, "GreaterThan", demands.approved))
    if demands.percent is not None:
        made.append(_number(PERCENT_APPROVED, "GreaterThanOrEqualTo", demands.percent))
    return [*made, *demands.others]


def demands_of(requirements: list[dict[str, Any]]) -> Demands:
    """The demands behind requirements; what is not exactly of one of the three kinds is among `others`."""
    found = Demands()
    for one in requirements:
        kind = one.get("QualificationTypeId")
        countries = tuple(str(place.get("Country", "")) for place in one.get("LocaleValues") or [])
        values = one.get("IntegerValues") or [None]
        if kind == LOCALE and not found.countries and countries and one == _locale(countries):
            found = found._replace(countries=countries)
        elif kind == NUMBER_APPROVED and found.approved is None and one == _number(kind, "GreaterThan", values[0]):
            found = found._replace(approved=values[0])
        elif (
            kind == PERCENT_APPROVED
            and found.percent is None
            and one == _number(kind, "GreaterThanOrEqualTo", values[0])
        ):
            found = found._replace(percent=values[0])
        else:
            found = found._replace(others=(*found.others, one))
    return found


def _locale(countries: tuple[str, ...]) -> dict[str, Any]:
    comparator = "EqualTo" if len(countries) == 1 else "In"
    places = [{"Country": country} for country in countries]
    return {"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": places} | _GUARDED


def _number(kind: str, comparator: str, value: int | None) -> dict[str, Any]:
    return {"QualificationTypeId": kind, "Comparator": comparator, "IntegerValues": [value]} | _GUARDED
