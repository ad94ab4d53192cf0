"""Workers' words. The API's terms stay with the API: here a HIT is a task."""

import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from marketplace.errors import DoesNotExist, NothingLeft, Refused, TooLate, WrongState
from marketplace.qualifying import (
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


class Said(NamedTuple):
    """A refusal as a page shows it."""

    title: str
    text: str
    status: int


def refusal_said(refused: Refused) -> Said:
    """What a worker reads instead of what a program is told."""
    if isinstance(refused, DoesNotExist):
        return Said(
            _("Nothing here"), _("This does not exist, or it is not for you. It may have been taken back."), 404
        )
    if isinstance(refused, WrongState):
        return Said(_("This cannot be done now"), _("Meanwhile something changed. Look at the task again."), 409)
    text = _(str(refused))
    for term, word in _TERMS:
        text = re.sub(rf"\b{term}\b", word, text)
    if isinstance(refused, NothingLeft):
        return Said(_("No more of these"), text, 409)
    if isinstance(refused, TooLate):
        return Said(_("The time is over"), text, 409)
    return Said(_("This cannot be done"), text, 400 if refused.code == "InvalidParameterValue" else 403)


def record_name(type_id: str) -> str:
    """A qualification that the marketplace grants itself."""
    return {
        LOCALE: _("Country"),
        NUMBER_APPROVED: _("Tasks approved"),
        PERCENT_APPROVED: _("Share of tasks approved"),
        ADULT: _("Agreed to see adult content"),
        MASTERS: _("Master"),
        MASTERS_SANDBOX: _("Master (for trials)"),
    }.get(type_id, type_id)


def value_said(type_id: str, value: Value) -> str:
    """What the worker has of a qualification."""
    if isinstance(value, Place):
        return f"{value.country}-{value.subdivision}" if value.subdivision else value.country
    if type_id in (MASTERS, MASTERS_SANDBOX, ADULT):
        return _("yes") if value else _("no")
    if value is None:
        return _("none")
    return f"{value}%" if type_id == PERCENT_APPROVED else f"{value:,}"


def requirement_said(requirement: Requirement, name: str) -> str:
    """A requirement as a sentence without its verb: more than 10,000 tasks approved."""
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    name = record_name(type_id) if record_name(type_id) != type_id else name
    if comparator == "Exists":
        return _("You need: %(name)s.") % {"name": name}
    if comparator == "DoesNotExist":
        return _("Not for those who have: %(name)s.") % {"name": name}
    if type_id == LOCALE:
        places = ", ".join(
            "-".join(filter(None, (locale["Country"], locale.get("Subdivision", ""))))
            for locale in requirement.get("LocaleValues", ())
        )
        if comparator in ("EqualTo", "In"):
            return _("For workers in: %(places)s.") % {"places": places}
        return _("Not for workers in: %(places)s.") % {"places": places}
    numbers = [value_said(type_id, number) for number in requirement.get("IntegerValues", ())]
    pattern = {
        "LessThan": _("%(name)s: less than %(number)s."),
        "LessThanOrEqualTo": _("%(name)s: at most %(number)s."),
        "GreaterThan": _("%(name)s: more than %(number)s."),
        "GreaterThanOrEqualTo": _("%(name)s: at least %(number)s."),
        "EqualTo": _("%(name)s: exactly %(number)s."),
        "NotEqualTo": _("%(name)s: anything but %(number)s."),
        "In": _("%(name)s: one of %(number)s."),
        "NotIn": _("%(name)s: none of %(number)s."),
    }[comparator]
    return pattern % {"name": name, "number": ", ".join(numbers)}
