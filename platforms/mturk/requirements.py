"""What workers must have: between the API's QualificationRequirements and our plain facts. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from platforms.demands import PAPER, Demands
from platforms.mturk.endpoints import LOCALE, NUMBER_APPROVED, PERCENT_APPROVED
from tasks.models import Platform

_GUARDED = {"ActionsGuarded": "DiscoverPreviewAndAccept"}


def exclusion_of(qualification_id: str) -> dict[str, Any]:
    """The requirement that a worker does not have the exclusion qualification."""
    return {"QualificationTypeId": qualification_id, "Comparator": "DoesNotExist"} | _GUARDED


def requirements_at_first(platform: str) -> list[dict[str, Any]]:
    """The requirements that terms start from: the paper's where workers have a record, none at our own marketplace,
    whose workers all begin with nothing approved.
    """
    return [] if platform == Platform.MARKETPLACE else requirements_of(PAPER)


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
    values = [{"Country": country} for country in countries]
    return {"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": values} | _GUARDED


def _number(kind: str, comparator: str, value: int | None) -> dict[str, Any]:
    return {"QualificationTypeId": kind, "Comparator": comparator, "IntegerValues": [value]} | _GUARDED
