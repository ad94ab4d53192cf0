"""Campaigns that are judged already, without the pages: by preferences from a file, or by a rule."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from evaluation.files.preferences import Preference, read_preferences
from judgments import services as judgment_services
from pools.models import Campaign
from simulation import demonstration
from simulation.crowd import Answers
from tasks.services import NoWork
from tests import factories

ANALYZED_HITS = 20
DEMO = Path(__file__).parents[2] / "demo"


def quiet(_step: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


def demo_campaign(name: str = "demo") -> Campaign:
    """The demo's campaign, open, each pair judged once; `settings.VAR` is where its log-ins are kept."""
    demonstration.accounts()
    folder = demonstration.folder_at(DEMO)
    return demonstration.open_campaign(demonstration.load(folder, quiet), folder, name, quiet, repeats=0)


def judge_all(campaign: Campaign, preferences: Iterable[Preference] | None = None, hits: int | None = None) -> None:
    """Have careful workers judge (so many) HITs by preferences, those of the demo unless told otherwise."""
    if preferences is None:
        preferences = read_preferences(DEMO / "oracle-preferences.txt")
    answers = Answers(preferences)
    done = 0
    while hits is None or done < hits:
        try:
            assignment = factories.take(factories.worker(campaign, f"judge {campaign.pk} {done}"), campaign)
        except NoWork:
            return
        now = timezone.now()
        items = assignment.items.select_related("pair__a", "pair__b", "pair__pool__query")
        for item in items.order_by("position"):
            wants_a = True
            if item.pair is not None:
                pair = item.pair
                wants_a = answers.preferred(pair.pool.query.qid, pair.a.pid, pair.b.pid) == pair.a.pid
            judgment_services.judgment_save(
                assignment_id=assignment.pk,
                position=item.position,
                preferred="left" if wants_a == item.a_left else "right",
                shown_at=now - timedelta(seconds=5 + item.position),
                at=now,
            )
        judgment_services.assignment_finish(assignment=assignment, at=now)
        done += 1
        if done % ANALYZED_HITS == 0:
            factories.analyze()
