"""Sentences that workers and operators read. The API's terms stay with the API: to a worker, a HIT is a task."""

import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from marketplace.errors import DoesNotExist, NothingLeft, Refused, TooLate, WrongState
from marketplace.requirements import (
    ADULT,
    LOCALE,
    MASTERS,
    MASTERS_SANDBOX,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
    Place,
    Requirement,
    Value,
)

_TERMS = (("HITs", "tasks"), ("HIT", "task"))


class Explanation(NamedTuple):
    """A refusal as a page shows it."""

    title: str
    text: str
    status: int


def explain_refusal(refused: Refused) -> Explanation:
    """Say to a worker what programs are told in the API's terms."""
    if isinstance(refused, DoesNotExist):
        return Explanation(
            _("Nothing here"), _("This does not exist, or you cannot see it. It may have been withdrawn."), 404
        )
    if isinstance(refused, WrongState):
        return Explanation(
            _("This cannot be done now"), _("Something has changed in the meantime. Look at the task again."), 409
        )
    text = _(str(refused))
    for term, word in _TERMS:
        text = re.sub(rf"\b{term}\b", word, text)
    if isinstance(refused, NothingLeft):
        return Explanation(_("No tasks left"), text, 409)
    if isinstance(refused, TooLate):
        return Explanation(_("Time is up"), text, 409)
    return Explanation(_("This cannot be done"), text, 400 if refused.code == "InvalidParameterValue" else 403)


def name_system_qualification(type_id: str) -> str:
    """Name a qualification that the marketplace grants itself; the id of any other."""
    return {
        LOCALE: _("Country"),
        NUMBER_APPROVED: _("Tasks approved"),
        PERCENT_APPROVED: _("Approval rate"),
        ADULT: _("Agreed to see adult content"),
        MASTERS: _("Master"),
        MASTERS_SANDBOX: _("Master (sandbox)"),
    }.get(type_id, type_id)


def write_value(type_id: str, value: Value) -> str:
    """Write a worker's value of a qualification."""
    if isinstance(value, Place):
        return f"{value.country}-{value.subdivision}" if value.subdivision else value.country
    if type_id in (MASTERS, MASTERS_SANDBOX, ADULT):
        return _("yes") if value else _("no")
    if value is None:
        return _("none")
    return f"{value}%" if type_id == PERCENT_APPROVED else f"{value:,}"


def write_requirement(requirement: Requirement, name: str) -> str:
    """Write a requirement as a short sentence: Tasks approved: more than 10,000."""
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    system_name = name_system_qualification(type_id)
    name = system_name if system_name != type_id else name
    if comparator == "Exists":
        return _("You need: %(name)s.") % {"name": name}
    if comparator == "DoesNotExist":
        return _("Not for workers who have: %(name)s.") % {"name": name}
    if type_id == LOCALE:
        places = ", ".join(
            "-".join(filter(None, (locale["Country"], locale.get("Subdivision", ""))))
            for locale in requirement.get("LocaleValues", ())
        )
        if comparator in ("EqualTo", "In"):
            return _("For workers in: %(places)s.") % {"places": places}
        return _("Not for workers in: %(places)s.") % {"places": places}
    numbers = [write_value(type_id, number) for number in requirement.get("IntegerValues", ())]
    pattern = {
        "LessThan": _("%(name)s: less than %(number)s."),
        "LessThanOrEqualTo": _("%(name)s: at most %(number)s."),
        "GreaterThan": _("%(name)s: more than %(number)s."),
        "GreaterThanOrEqualTo": _("%(name)s: at least %(number)s."),
        "EqualTo": _("%(name)s: exactly %(number)s."),
        "NotEqualTo": _("%(name)s: not %(number)s."),
        "In": _("%(name)s: one of %(number)s."),
        "NotIn": _("%(name)s: none of %(number)s."),
    }[comparator]
    return pattern % {"name": name, "number": ", ".join(numbers)}
