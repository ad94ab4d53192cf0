"""Requirements on qualifications: reading them, and whether a value meets them. Pure.

A requirement is kept as the API writes it: QualificationTypeId, Comparator, IntegerValues or LocaleValues, and
ActionsGuarded, which is always filled in.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from marketplace.errors import InvalidValue

MOST_REQUIREMENTS = 10
MOST_INTEGERS = 15
MOST_LOCALES = 30

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
ADULT = "00000000000000000060"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
# Names of the qualification types that the marketplace grants itself, by id.
SYSTEM = {
    LOCALE: "Worker_Locale",
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
    ADULT: "Worker_Adult",
    MASTERS: "Masters",
    MASTERS_SANDBOX: "Masters (sandbox)",
}

ORDERED = {"LessThan", "LessThanOrEqualTo", "GreaterThan", "GreaterThanOrEqualTo"}


class Place(NamedTuple):
    """A worker's locale; `subdivision` may be empty."""

    country: str
    subdivision: str


class Action(IntEnum):
    """What a worker can do with a HIT, and so what a requirement can guard."""

    DISCOVER = 1
    PREVIEW = 2
    ACCEPT = 3


# The first action that each value of ActionsGuarded prevents; it prevents the later ones too.
GUARDS = {"DiscoverPreviewAndAccept": Action.DISCOVER, "PreviewAndAccept": Action.PREVIEW, "Accept": Action.ACCEPT}

Requirement = Mapping[str, Any]
# Of a qualification that a worker has. None: the worker has it not. A qualification without a score counts as 0.
Value = int | Place | None


def requirement_read(requirement: Mapping[str, Any]) -> dict[str, Any]:
    """Check a requirement against the documented rules, and write it in one way. Raises InvalidValue."""
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    integers, locales = requirement.get("IntegerValues"), requirement.get("LocaleValues")
    guarded = requirement.get("ActionsGuarded")
    if guarded and requirement.get("RequiredToPreview") is not None:
        raise InvalidValue("ActionsGuarded and RequiredToPreview cannot be used together. Use ActionsGuarded.")
    read: dict[str, Any] = {"QualificationTypeId": type_id, "Comparator": comparator}
    if comparator in ("Exists", "DoesNotExist"):
        if integers or locales:
            raise InvalidValue(f"The comparator {comparator} takes no IntegerValues and no LocaleValues.")
    elif type_id == LOCALE:
        if comparator in ORDERED:
            raise InvalidValue(f"Locales cannot be compared with {comparator}.")
        if integers or not locales:
            raise InvalidValue("A requirement on the locale takes LocaleValues, and no IntegerValues.")
        read["LocaleValues"] = [dict(locale) for locale in locales]
        _few_enough(comparator, len(locales), MOST_LOCALES, "LocaleValues")
        for locale in locales:
            if not all(code.isascii() and code.isalpha() for code in [locale["Country"]]):
                raise InvalidValue(f"'{locale['Country']}' is not an ISO 3166 country code.")
    else:
        if locales or not integers:
            raise InvalidValue(f"The comparator {comparator} takes IntegerValues here, and no LocaleValues.")
        read["IntegerValues"] = list(integers)
        _few_enough(comparator, len(integers), MOST_INTEGERS, "IntegerValues")
    read["ActionsGuarded"] = guarded or ("PreviewAndAccept" if requirement.get("RequiredToPreview") else "Accept")
    return read


def met(requirement: Requirement, value: Value) -> bool:
    """Whether a worker with this value meets it. Without the qualification, only DoesNotExist is met."""
    comparator = requirement["Comparator"]
    if comparator == "DoesNotExist":
        return value is None
    if value is None:
        return False
    if comparator == "Exists":
        return True
    if isinstance(value, Place):
        among = any(_within(value, locale) for locale in requirement.get("LocaleValues", ()))
        return among if comparator in ("EqualTo", "In") else not among
    numbers = requirement["IntegerValues"]
    first = numbers[0]
    outcome = {
        "LessThan": value < first,
        "LessThanOrEqualTo": value <= first,
        "GreaterThan": value > first,
        "GreaterThanOrEqualTo": value >= first,
        "EqualTo": value == first,
        "NotEqualTo": value != first,
        "In": value in numbers,
        "NotIn": value not in numbers,
    }
    return bool(outcome[comparator])


def unmet(requirements: Sequence[Requirement], values: Mapping[str, Value], action: Action) -> list[Requirement]:
    """The requirements that keep a worker with these values, by type id, from an action."""
    return [
        requirement
        for requirement in requirements
        if GUARDS[requirement["ActionsGuarded"]] <= action
        and not met(requirement, values.get(requirement["QualificationTypeId"]))
    ]


def _within(place: Place, locale: Mapping[str, str]) -> bool:
    subdivision = locale.get("Subdivision")
    return place.country == locale["Country"].upper() and (not subdivision or place.subdivision == subdivision.upper())


def _few_enough(comparator: str, number: int, most: int, name: str) -> None:
    if comparator not in ("In", "NotIn"):
        most = 1
    if number > most:
        raise InvalidValue(f"The comparator {comparator} takes at most {most} of {name}, and {number} were given.")
