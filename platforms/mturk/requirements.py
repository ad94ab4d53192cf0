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
    requirements: list[dict[str, Any]] = []
    if demands.countries:
        requirements.append(_locale(demands.countries))
    if demands.approved is not None:
        requirements.append(_number(NUMBER_APPROVED, "GreaterThan", demands.approved))
    if demands.percent is not None:
        requirements.append(_number(PERCENT_APPROVED, "GreaterThanOrEqualTo", demands.percent))
    return [*requirements, *demands.others]


def demands_of(requirements: list[dict[str, Any]]) -> Demands:
    """The demands behind requirements; what is not exactly of one of the three kinds is among `others`."""
    demands = Demands()
    for requirement in requirements:
        kind = requirement.get("QualificationTypeId")
        countries = tuple(str(place.get("Country", "")) for place in requirement.get("LocaleValues") or [])
        values = requirement.get("IntegerValues") or [None]
        if kind == LOCALE and not demands.countries and countries and requirement == _locale(countries):
            demands = demands._replace(countries=countries)
        elif (
            kind == NUMBER_APPROVED
            and demands.approved is None
            and requirement == _number(kind, "GreaterThan", values[0])
        ):
            demands = demands._replace(approved=values[0])
        elif (
            kind == PERCENT_APPROVED
            and demands.percent is None
            and requirement == _number(kind, "GreaterThanOrEqualTo", values[0])
        ):
            demands = demands._replace(percent=values[0])
        else:
            demands = demands._replace(others=(*demands.others, requirement))
    return demands


def _locale(countries: tuple[str, ...]) -> dict[str, Any]:
    comparator = "EqualTo" if len(countries) == 1 else "In"
    values = [{"Country": country} for country in countries]
    return {"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": values} | _GUARDED


def _number(kind: str, comparator: str, value: int | None) -> dict[str, Any]:
    return {"QualificationTypeId": kind, "Comparator": comparator, "IntegerValues": [value]} | _GUARDED
