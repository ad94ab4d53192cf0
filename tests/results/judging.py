"""Campaigns judged by a rule, and runs that come later, for tests of versions and challengers."""

import io
from collections.abc import Iterable, Mapping

from evaluation.files.preferences import Preference
from judgments import selectors as judgment_selectors
from pools.models import Campaign
from runs import services as run_services
from runs.models import Collection, Run
from tests import factories
from tests.judgments.judged import judge_all
from tests.worlds import lay_out


def judged(collection: Collection, name: str = "pilot", hits: int | None = None, **settings: object) -> Campaign:
    """A campaign in which the passage with the smaller id always wins."""
    settings = {"pairs_per_hit": 3, "tests_per_hit": 2} | settings
    campaign = factories.campaign(collection, name, **settings)  # type: ignore[arg-type]
    judge(campaign, hits)
    return campaign


def pilot(collection: Collection) -> Campaign:
    """Such a campaign as the first over the collection of tests, made once."""
    lay_out(f"the first judged campaign over collection {collection.pk}", lambda: judged(collection))
    return Campaign.objects.get(collection=collection, name="pilot")


def judge(campaign: Campaign, hits: int | None = None) -> None:
    """Have the passage with the smaller id win, as that is a of each pair."""
    pairs = judgment_selectors.asked_pairs(campaign)
    judge_all(campaign, [Preference(query, a, b, a) for query, a, b in pairs], hits)


def new_run(collection: Collection, name: str, ranked: Mapping[str, Iterable[str]]) -> Run:
    """A run, with the texts of its passages."""
    pids = {pid for pids in ranked.values() for pid in pids}
    present = set(collection.passages.values_list("pid", flat=True))
    if new := sorted(pids - present):
        file = io.BytesIO("".join(f"{pid}\t{factories.passage_text(pid)}\n" for pid in new).encode())
        file.name = "passages.tsv"
        run_services.collection_import(lab=collection.lab, name=collection.name, passages=file, keep="all")
    return factories.run(collection, name, ranked)
