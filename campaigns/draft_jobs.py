"""Drawing up campaigns in the background: what the form asked for becomes a draft, or changes one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from campaigns import drafting, template_terms, templating
from core.errors import Refused
from core.models import User
from core.progress import Report
from pools import reuse
from pools.models import Campaign, CampaignTemplate
from runs.background import job_ask
from runs.models import Collection, Job, Run
from tasks import services as task_services

SUGGESTED = 10  # test pairs of a new draft


def campaign_ask(
    *,
    collection: Collection,
    runs: QuerySet[Run],
    name: str,
    settings: Mapping[str, Any],
    by: User | None,
    at: datetime,
    draft: Campaign | None = None,
    template: CampaignTemplate | None = None,
) -> Job:
    """Ask for a draft campaign, or for other settings of a draft. `settings` are columns of Campaign, by name; a new
    campaign takes from a template what they do not say.
    """
    request: dict[str, Any] = {"runs": sorted(runs.values_list("id", flat=True)), "settings": dict(settings)}
    if draft is not None:
        request["draft"] = draft.pk
    if template is not None:
        request["template"] = template.pk
    job = Job(lab=collection.lab, kind=Job.Kind.CAMPAIGN, name=name, collection=collection, request=request)
    job.outcome_id = None if draft is None else draft.pk
    return job_ask(job, {}, by, at)


def job_do(job: Job, report: Report) -> None:
    """Do what a form of settings asked for. A new draft has test pairs to review, and its page finds counted what it
    would reuse. Raises Refused.
    """
    assert job.collection is not None
    runs = Run.objects.filter(pk__in=job.request["runs"]).order_by("name")
    if "draft" in job.request:
        draft = Campaign.objects.filter(pk=job.request["draft"]).first()
        if draft is None:
            raise Refused(_("The draft has been deleted."))
        drafting.campaign_change(campaign=draft, runs=runs, name=job.name, report=report, **job.request["settings"])
        _count_reuse(draft)
        return
    template = None
    if "template" in job.request:
        template = CampaignTemplate.objects.filter(lab=job.lab, pk=job.request["template"]).first()
        if template is None:
            raise Refused(_("The template has been deleted. Choose another, or none."))
    campaign = template_terms.campaign_create_from(
        template=template,
        lab=job.lab,
        collection=job.collection,
        runs=runs,
        name=job.name,
        created_by=job.asked_by,
        report=report,
        **job.request["settings"],
    )
    job.outcome_id = campaign.pk
    if campaign.tests_per_hit and campaign.pair_count:
        task_services.test_pairs_suggest(
            campaign=campaign, count=SUGGESTED, seed=task_services.next_test_seed(campaign)
        )
    _count_reuse(campaign)


def _count_reuse(campaign: Campaign) -> None:
    """Have what a draft would reuse counted once it is stored, so that its page counts nothing itself."""

    def count() -> None:
        reuse.reused_pairs(Campaign.objects.get(pk=campaign.pk), afresh=True)  # of its stored revision

    transaction.on_commit(count, robust=True)


def settings_of(job: Job) -> Campaign:
    """An unsaved campaign with the settings that a job was asked for with."""
    columns = templating.columns_of(job.request["settings"])
    return Campaign(collection=job.collection, name=job.name, **columns)
