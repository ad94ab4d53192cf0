"""What commands that talk to a platform share: its errors as one clear sentence."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from platforms.bills import Bill
from platforms.demands import PAPER
from platforms.models import Publication
from platforms.registry import CALL_ERRORS, adapter_for
from pools.management.lookup import campaign_called

DEMANDED = "what workers must have: a file with the API's JSON, paper for what the paper asked, or none"


def requirements_read(name: str, platform: str, lab_id: int) -> Any:
    """The platform's requirements that `--requirements` names: `none`, `paper`, or a file of JSON."""
    if name in ("none", "paper"):
        return adapter_for(platform, lab_id).requirements_of(PAPER) if name == "paper" else []
    try:
        return json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{name} cannot be read as JSON: {error}") from error


@contextmanager
def platform_errors() -> Iterator[None]:
    """Turn what a platform refuses into a CommandError: one sentence, no traceback, exit code 1."""
    try:
        yield
    except CALL_ERRORS as error:
        raise CommandError(f"The platform did not answer as it should: {error}") from error


def bill_facts(bill: Bill) -> dict[str, Any]:
    """A bill for a program: counts, and amounts in the campaign's currency."""
    return {
        "hits": bill.hits,
        "assignments": bill.assignments,
        "redone": bill.redone,
        "rewards": bill.listed * bill.assignments,
        "bonuses": bill.bonus * bill.assignments,
        "fees": bill.fees,
        "redone_cost": bill.redone_each * bill.redone,
        "total": bill.total,
    }


def publication_of(name: str, lab: str | None) -> Publication:
    """The publication of the campaign of that name."""
    campaign = campaign_called(name, lab)
    publication = Publication.objects.select_related("campaign__lab").filter(campaign=campaign).first()
    if publication is None or publication.state == Publication.State.DRAFT:
        raise CommandError(f"{campaign.name} is not published. Publish it with manage.py publish_campaign.")
    return publication
