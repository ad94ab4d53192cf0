"""What workers must have: between the API's QualificationRequirements and our plain facts. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from platforms.demands import Demands
from platforms.mturk.endpoints import LOCALE, NUMBER_APPROVED, PERCENT_APPROVED

_GUARDED = {"ActionsGuarded": "DiscoverPreviewAndAccept"}


def exclusion_of(qualification_id: str) -> dict[str, Any]:
    """The requirement that a worker does not have the exclusion qualification."""
    return {"QualificationTypeId": qualification_id, "Comparator": "DoesNotExist"} | _GUARDED


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
        countries = tuple(str(place.get("Country", "")) for place in requirement.get("LocaleValues") or [])
        [value, *_more] = requirement.get("IntegerValues") or [None]
        facts: dict[str, Any] = {
            LOCALE: {"countries": countries},
            NUMBER_APPROVED: {"approved": value},
            PERCENT_APPROVED: {"percent": value},
        }.get(str(requirement.get("QualificationTypeId")), {})
        is_first = all(getattr(demands, name) == getattr(Demands(), name) for name in facts)
        if is_first and requirements_of(Demands(**facts)) == [requirement]:
            demands = demands._replace(**facts)
        else:
            demands = demands._replace(others=(*demands.others, requirement))
    return demands


def _locale(countries: tuple[str, ...]) -> dict[str, Any]:
    comparator = "EqualTo" if len(countries) == 1 else "In"
    values = [{"Country": country} for country in countries]
    return {"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": values} | _GUARDED


def _number(kind: str, comparator: str, value: int | None) -> dict[str, Any]:
    return {"QualificationTypeId": kind, "Comparator": comparator, "IntegerValues": [value]} | _GUARDED
