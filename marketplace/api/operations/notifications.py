"""Notifications of events to the caller's programs."""

from typing import Any

from marketplace.api.calls import Call, handles
from marketplace.errors import InvalidValue
from marketplace.selectors.lookups import hit_type_of
from marketplace.services import notifications


@handles("UpdateNotificationSettings")
def update_settings(call: Call) -> dict[str, Any]:
    """Say where to send events of a HIT type, or turn that on or off."""
    specification, active = call.parameters.get("Notification"), call.parameters.get("Active")
    if specification is None and active is None:
        raise InvalidValue("Either the Notification parameter or the Active parameter must be specified.")
    notifications.subscription_set(
        key=call.key,
        hit_type=hit_type_of(call.requester, call.parameters["HITTypeId"]),
        specification=_read_specification(specification) if specification is not None else None,
        active=active,
    )
    return {}


@handles("SendTestEventNotification")
def send_test(call: Call) -> dict[str, Any]:
    """Queue one event, whatever events were asked for: the sender has it within seconds, and nobody waits for that."""
    notifications.test_queue(
        key=call.key,
        specification=_read_specification(call.parameters["Notification"], test=True),
        event=call.parameters["TestEventType"],
    )
    return {}


def _read_specification(specification: dict[str, Any], *, test: bool = False) -> notifications.Specification:
    return notifications.specification_read(
        destination=specification["Destination"],
        transport=specification["Transport"],
        version=specification["Version"],
        events=specification["EventTypes"],
        test=test,
    )
