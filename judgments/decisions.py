"""Decisions on workers and their work, newest first."""

from django.db.models import QuerySet

from judgments.models import Decision
from pools.models import Campaign
from tasks.models import Worker


def decisions_in(campaign: Campaign) -> QuerySet[Decision]:
    """A campaign's decisions, newest first."""
    return campaign.decisions.select_related("worker", "assignment", "by").order_by("-id")


def decisions_on(worker: Worker) -> QuerySet[Decision]:
    """Every decision about a worker or their work, in whatever campaign of the lab, newest first."""
    return worker.decisions.select_related("campaign", "assignment", "by").order_by("-id")
