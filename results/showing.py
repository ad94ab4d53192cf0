"""Results for people without an account: what they see, at an address that somebody with the right to export makes."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import FileAway, NotYours
from core.models import User
from judgments import selectors as judgment_selectors
from judgments.models import StoredFile
from pools import services as pool_services
from pools.models import Campaign
from results import figures, report
from results import selectors as result_selectors
from results.apart import take_apart
from results.inputs import Inputs
from results.models import ShownResults
from results.sections.stored import to_json
from results.sections.whole import Results, compute, read
from runs.models import Run

# What is shown in place of the results while runs are held back; not there where none is.
FILE = "shown.json"


class Showing(NamedTuple):
    """What is shown, `drawings` being SVG by name and `marks` theirs, and when it was computed."""

    data: Results
    drawings: Mapping[str, str]
    marks: Mapping[str, str]
    at: datetime


def held_back(campaign: Campaign) -> set[str]:
    """The runs of the collection that are not for release, pooled or not."""
    return set(campaign.collection.runs.filter(is_released=False).values_list("name", flat=True))


def shown_file(inputs: Inputs, hidden: Collection[str], left_out: Collection[str]) -> bytes:
    """What is shown, computed as a release and without any word of the `hidden` runs; nothing where that cannot be."""
    withheld, content = inputs.withheld, None
    runs = {run: artifact for run, artifact in inputs.runs.items() if run not in hidden}
    if runs and inputs.campaign.pairing.scores_runs:
        public = inputs._replace(
            runs=runs,
            imported=[run for run in inputs.imported if run in runs],
            outside={run: score for run, score in inputs.outside.items() if run in runs},
            pooled=inputs.pooled.difference(hidden),
            unreadable=[run for run in inputs.unreadable if run not in hidden],
            held_back_runs=(),
        )
        data = report.without(compute(public, left_out, is_release=True), withheld)
        stored = take_apart(to_json(data)).data
        if set(hidden).isdisjoint(_words(stored)):  # the settings may name one, too
            drawn = figures.drawings(data)
            content = {"data": stored, "drawings": drawn.figures, "marks": drawn.marks}
    return json.dumps({"hidden": sorted(hidden), "content": content}).encode()


def _words(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        parts: Iterable[Any] = [*value, *value.values()] if isinstance(value, dict) else value
        for part in parts:
            yield from _words(part)


def shown_of(campaign: Campaign) -> Showing | None:
    """What may be shown of a campaign's results now; None until they are computed without all that is held back.

    Raises FileAway while file storage does not answer.
    """
    status = result_selectors.result_status(campaign)
    if status.result is None or status.data is None:
        return None
    stored = judgment_selectors.stored_file(campaign, StoredFile.Kind.RESULT, FILE)
    names = {row.run for row in status.data.leaderboard}.union(status.data.unreadable)
    names.update(campaign.runs.values_list("name", flat=True))
    result, hidden = status.result, set[str]()
    showing = Showing(status.data, result.figures, result.marks, result.computed_at)
    if stored is not None:
        try:
            with stored.file.open("rb") as file:
                computed = json.load(file)
        except (OSError, BotoCoreError, ClientError) as error:
            raise FileAway(_("The results cannot be read from storage now. Please come back later.")) from error
        if computed["content"] is None:
            return None
        hidden = set(computed["hidden"])
        content = computed["content"]
        showing = showing._replace(
            data=read(content["data"]), drawings=content["drawings"], marks=content.get("marks", {})
        )
    return None if names & held_back(campaign) - hidden else showing


@transaction.atomic
def page_make(*, campaign: Campaign, by: User, at: datetime) -> ShownResults:
    """Make the page; there is one of each campaign. The results are computed again where it shows nothing yet."""
    page, is_new = ShownResults.objects.get_or_create(campaign=campaign, defaults={"made_by": by, "made_at": at})
    if is_new and shown_of(campaign) is None:
        pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    return page


def page_end(*, campaign: Campaign) -> None:
    """End it: its address is gone, and a new page has another."""
    ShownResults.objects.filter(campaign=campaign).delete()


def campaign_at(token: str) -> Campaign:
    """The campaign whose page has this token. Raises NotYours."""
    page = ShownResults.objects.select_related("campaign__collection").filter(token=token).first()
    if page is None:
        raise NotYours(_("There is no such page, or it has ended."))
    return page.campaign


def follow(*, run: Run, **_sent: Any) -> None:
    """Have pages computed again once a run is held back or released; until then they show nothing of it."""
    pool_services.campaigns_mark_changed(
        campaigns=Campaign.objects.filter(collection=run.collection_id, shown_results__isnull=False)
    )
