"""What workers must have: between the API's QualificationRequirements and a few plain facts. Pure."""

from typing import Any, NamedTuple

from tasks.crowd.environments import LOCALE, NUMBER_APPROVED, PERCENT_APPROVED

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
"""What the paper asked of its workers."""


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
