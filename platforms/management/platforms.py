"""What commands that talk to a platform share: its errors as one clear sentence."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.core.management.base import CommandError

from platforms.models import Publication
from platforms.mturk.requirements import PAPER, requirements_of
from pools.management.lookup import campaign_called

DEMANDED = "what workers must have: a file with the API's JSON, paper for what the paper asked, or none"


def requirements_read(name: str) -> Any:
    """The QualificationRequirements that `--requirements` names: `none`, `paper`, or a file of JSON."""
    if name in ("none", "paper"):
        return requirements_of(PAPER) if name == "paper" else []
    try:
        return json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{name} cannot be read as JSON: {error}") from error


@contextmanager
def platform_errors() -> Iterator[None]:
    """Turn what a platform refuses into a CommandError: one sentence, no traceback, exit code 1."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise CommandError(f"The platform did not answer as it should: {error}") from error


def publication_of(name: str, lab: str | None) -> Publication:
    """The publication of the campaign of that name."""
    campaign = campaign_called(name, lab)
    publication = Publication.objects.select_related("campaign__lab").filter(campaign=campaign).first()
    if publication is None or publication.state == Publication.State.DRAFT:
        raise CommandError(f"{campaign.name} is not published. Publish it with manage.py publish_campaign.")
    return publication
