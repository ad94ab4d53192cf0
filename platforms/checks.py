"""What Django refuses to start without: every platform can make every kind of call but those that only some have."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from platforms.models import PUBLISHED_TO, Operation
from platforms.registry import ADAPTERS

OPTIONAL = {Operation.Kind.ASK_RETURN}


@register()
def check_operations(**_options: Any) -> list[CheckMessage]:
    """An error for each platform without an adapter, and for each kind of call that it needs and cannot make."""
    messages: list[CheckMessage] = [
        Error(
            f"Campaigns can be published at {platform}, and platforms.registry has no adapter for it.",
            id="platforms.E001",
        )
        for platform in PUBLISHED_TO
        if platform not in ADAPTERS
    ]
    for platform, adapter in ADAPTERS.items():
        for kind in set(Operation.Kind) - OPTIONAL - set(adapter.operations):
            text = f"There is no class for operations of kind “{kind.value}” at {platform}."
            messages.append(Error(text, hint="Write it, beside the others of that platform.", id="platforms.E002"))
    return messages
