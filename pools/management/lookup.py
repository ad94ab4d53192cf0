"""Campaigns by the names that commands are given."""

from pools.models import Campaign
from runs.management.lookup import row_called


def campaign_called(name: str, lab: str | None) -> Campaign:
    """The campaign of that name, of a lab where several have one."""
    return row_called(Campaign, f"campaign called {name}", name=name, **({"lab__name": lab} if lab else {}))
