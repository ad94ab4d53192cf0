"""Notifications of events to the caller's programs."""

from typing import Any

from marketplace.api.calls import Call, handles
from marketplace.errors import InvalidValue
from marketplace.selectors.lookups import hit_type_of
from marketplace.services import notifications


@handles("UpdateNotificationSettings")
def update_settings(call: Call) -> dict[str, Any]:
    """Say where to send events of a HIT type, or turn that on or off."""
    wanted, active = call.given.get("Notification"), call.given.get("Active")
    if wanted is None and active is None:
        raise InvalidValue("Either the Notification parameter or the Active parameter must be specified.")
    notifications.subscription_set(
        key=call.key,
        hit_type=hit_type_of(call.requester, call.given["HITTypeId"]),
        wanted=_wanted(wanted) if wanted is not None else None,
        active=active,
    )
    return {}


@handles("SendTestEventNotification")
def send_test(call: Call) -> dict[str, Any]:
    """Queue one event, whatever events were asked for: the sender has it within seconds, and nobody waits for that."""
    notifications.test_queue(
        key=call.key, wanted=_wanted(call.given["Notification"], test=True), event=call.given["TestEventType"]
    )
    return {}


def _wanted(given: dict[str, Any], *, test: bool = False) -> notifications.Wanted:
    return notifications.wanted_read(
        destination=given["Destination"],
        transport=given["Transport"],
        version=given["Version"],
        events=given["EventTypes"],
        test=test,
    )
