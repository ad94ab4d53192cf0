"""A world with something on every page of the researcher, and the addresses of these pages, found by the router."""

import re
from typing import Any

from django.db.models import Count
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from core.models import User
from pools.models import Campaign
from results import refreshing, scoring, versions
from runs.models import Job
from tasks import outside_panels
from tasks.models import Assignment, PanelVisit
from tests import factories
from tests.judgments.judged import demo_campaign, judge_all

# Looked at elsewhere: what workers see, another program's pages, and files.
ELSEWHERE = ("admin:", "judging:", "logout", "healthz", "platforms:notifications")
# Parts of the addresses that answer with a file and not with a page.
FILES = ("/exports/", "/figures/", ".csv", ".pdf", ".txt", "/files/")


def make() -> None:
    """The demo's campaign, judged, computed and a version; a draft over the same collection; a job that failed."""
    campaign = demo_campaign()
    judge_all(campaign)
    panel = outside_panels.outside_panel_set(campaign=campaign, name="Connect", finished_exit="DONE")
    worked = campaign.assignments.earliest("pk")
    visits = ({"session": "first", "assignment": worked}, {"session": "second"})
    for visit in visits:
        PanelVisit.objects.create(panel=panel, worker=worked.worker, came_at=timezone.now(), **visit)
    refreshing.result_refresh(campaign=campaign)
    versions.version_add(campaign=campaign, why="The first round.", by=None, at=timezone.now())
    scoring.scores_refresh(collection=campaign.collection)
    factories.campaign(campaign.collection, "draft", tests=0, start=False)
    Job.objects.create(lab=campaign.lab, kind="run", state="failed", name="a run", asked_at=timezone.now())


def addresses(user: User, campaign: Campaign | None = None) -> list[str]:
    """Every address that can be filled in from what there is; `pk` is of what the address begins with.

    The campaign is the oldest unless one is given, and over its collection there is a campaign called "draft".
    """
    campaign, draft = campaign or Campaign.objects.earliest("pk"), Campaign.objects.get(name="draft")
    collection = campaign.collection
    first: dict[str, Any] = {
        "campaigns": campaign, "collections": collection, "runs": collection.runs.earliest("pk"),
        "jobs": Job.objects.latest("pk"), "labs": campaign.lab, "people": user,
    }  # fmt: skip
    assignment = Assignment.objects.filter(campaign=campaign).earliest("pk")
    others = {
        "pool_pk": campaign.pools.annotate(size=Count("candidates")).latest("size").pk, "assignment_pk": assignment.pk,
        "worker_pk": assignment.worker_id, "platform": "prolific", "number": 1, "name": "pairs", "form": "csv",
        "subject": "runs",
    }  # fmt: skip
    found = []
    for name, route in named(get_resolver().url_patterns):
        asked = re.findall(r"<(?:\w+:)?(\w+)>", route)
        values = others | {"pk": getattr(first.get(route.partition("/")[0]), "pk", None)}
        if not name.startswith(ELSEWHERE) and all(values.get(key) is not None for key in asked):
            found.append(reverse(name, kwargs={key: values[key] for key in asked}))
    drafts = ("campaigns:campaign", "tasks:tests", "results:results", "campaigns:campaign_delete")
    return [
        *dict.fromkeys(found),
        *(reverse(name, args=[draft.pk]) for name in drafts),
        reverse("results:results", args=[campaign.pk]) + "?intervals=all",
        reverse("campaigns:campaign_new") + f"?collection={collection.pk}",
        *(reverse("results:table", args=[campaign.pk, name]) for name in ("win-matrix", "stability")),
    ]


def named(patterns: list[URLPattern | URLResolver], before: str = "", space: str = "") -> list[tuple[str, str]]:
    """The name and the route of every address."""
    found = []
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += named(pattern.url_patterns, route, f"{space}{pattern.namespace}:" if pattern.namespace else space)
        elif pattern.name:
            found.append((space + pattern.name, route))
    return found
