"""What Django refuses to start without: every platform can make every kind of operation but those that it lacks."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from platforms.models import PUBLISHED_TO, Operation
from platforms.registry import ADAPTERS

FLAGS = ("spends", "runs_while_paused", "runs_while_stopped")


@register()
def check_operations(**_options: Any) -> list[CheckMessage]:
    """An error for each platform without an adapter, kind without a class, and class that leaves something unsaid."""
    messages: list[CheckMessage] = [
        Error(
            f"Campaigns can be published at {platform}, and platforms.registry has no adapter for it.",
            id="platforms.E001",
        )
        for platform in PUBLISHED_TO
        if platform not in ADAPTERS
    ]
    for platform, adapter in ADAPTERS.items():
        for kind in set(Operation.Kind) - adapter.lacks:
            handler = adapter.operations.get(kind)
            if handler is None or handler.kind != kind:
                text = f"There is no class for operations of kind “{kind.value}” at {platform}."
                messages.append(Error(text, hint="Write it, beside the others of that platform.", id="platforms.E002"))
                continue
            messages += [
                Error(f"{type(handler).__name__} does not say “{flag}”.", id="platforms.E003")
                for flag in FLAGS
                if not isinstance(getattr(handler, flag, None), bool)
            ]
    return messages
