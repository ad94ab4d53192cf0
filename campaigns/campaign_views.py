"""A campaign's main pages: its plan, its settings, and how its judging goes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.db.models import Field
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from campaigns.draft_jobs import SUGGESTED
from campaigns.usual import is_changed, usual_value
from core.alarms import alarms_raised
from core.http import Request
from core.lists import Listing
from core.percent import ShareField, in_percent
from core.progress import progress_of
from core.roles import Right, needs
from core.snapshot import one_moment
from judgments import reusing, rounds, watching
from judgments import selectors as judgment_selectors
from judgments.decisions import decisions_in
from platforms.jobs import balance_soon
from platforms.models import Publication
from platforms.money.bills import campaign_bill, pairs_to_ask, rounds_bills
from platforms.publishing.offers import offers_of, work_hours
from platforms.steps import draft_steps
from platforms.terms import publication_likely
from pools import selectors as pool_selectors
from pools.charts import size_histogram
from pools.http import campaign_of
from pools.models import Campaign, QrelsVersion, Twin
from pools.reuse import reused_pairs
from pools.settings import fields_in, sections_of
from tasks import links
from tasks import selectors as task_selectors

PACKING, RUNNING = 3, 20  # seconds between two looks of the page
LATEST = 10  # decisions that the campaign's page shows
RUNS_NAMED = 20
SOURCES_NAMED = 20  # of reused judgments
FEW_HITS = 5  # in which workers need not meet many test pairs


class Setting(NamedTuple):
    """A setting in words; `usual` is what it is by default, where the campaign differs from that."""

    name: str
    label: object
    value: object
    usual: object


class Group(NamedTuple):
    """Settings that are shown together, and how many of them differ from the usual."""

    title: Promise
    settings: list[Setting]
    changes: int


@needs(Right.SEE)
@require_GET
@one_moment()
def campaign(request: Request, pk: int) -> HttpResponse:
    """How far judging is, how good, how much, what next. Of a draft, its plan."""
    campaign = campaign_of(request, pk)
    if campaign.state == Campaign.State.DRAFT:
        return _plan(request, campaign)
    likely = publication_likely(campaign)
    outdated = judgment_selectors.campaigns_to_export()
    context: dict[str, Any] = {
        "campaign": campaign,
        "address": links.campaign_address(campaign),
        "publication": likely if likely.state != Publication.State.DRAFT else None,
        "rounds": rounds.rounds_shown(campaign),
        "made": judgment_selectors.export_of(campaign),
        "outdated": outdated.filter(pk=campaign.pk).exists(),
    }
    context |= _progress_context(campaign, likely)
    context["is_all_done"] = _is_all_done(campaign, context)
    context["nobody_came"] = (
        campaign.state == Campaign.State.OPEN
        and not campaign.is_imported
        and not (context["publication"] or context["progress"].workers or context["needs"])
    )
    context["refresh"] = _refresh(campaign, changes=context["outdated"] or context["progress"].active > 0)
    return render(request, "campaigns/judging.html", context)


def _is_all_done(campaign: Campaign, context: dict[str, Any]) -> bool:
    """Whether an open campaign has all that it asked for, and could be closed."""
    progress = context["progress"]
    judging = context["made"].counts["judging"] if context["made"] else {}
    return bool(
        campaign.state in (Campaign.State.OPEN, Campaign.State.PAUSED)
        and not campaign.is_imported
        and not context["outdated"]
        and not progress.active
        and progress.hits_done == progress.hits
        and judging.get("done") == judging.get("pairs")
        and (context["rounds"] is None or context["rounds"].is_over)
    )


@needs(Right.SEE)
@require_GET
@one_moment()
def plan(request: Request, pk: int) -> HttpResponse:
    """What is judged, by whom, and for how much; of a draft, step by step to its start."""
    return _plan(request, campaign_of(request, pk))


def _plan(request: Request, campaign: Campaign) -> HttpResponse:
    draft = campaign.state == Campaign.State.DRAFT
    sizes, reused = pool_selectors.stored_sizes(campaign), reused_pairs(campaign)
    likely = publication_likely(campaign)
    context: dict[str, Any] = {
        "campaign": campaign,
        "draft": draft,
        "runs": campaign.runs.order_by("name")[:RUNS_NAMED],
        "run_count": campaign.runs.count(),
        "sizes": sizes,
        "histogram": size_histogram(sizes),
        "twin_count": Twin.objects.filter(candidate__pool__campaign=campaign).count(),
        "alike": Listing(request, pool_selectors.alike_pairs(campaign), key="alike"),
        "bill": campaign_bill(likely),
        "likely": likely,
        "reused": reused,
        "asked": pairs_to_ask(campaign),
        "made": judgment_selectors.export_of(campaign),
        "changes": sum(group.changes for group in _groups(campaign)),
    }
    context["expected"] = reused + context["asked"]
    context |= _reuse_context(campaign, draft=draft)
    if draft:
        if likely.pk:
            balance_soon(likely.pk)
        missing, pace = pool_selectors.missing_texts(campaign), task_selectors.expected_pace(campaign)
        steps = draft_steps(campaign, missing, pace)
        context |= {
            "alarms": alarms_raised(campaign),
            "obstacles": task_selectors.launch_obstacles(campaign, missing=missing),
            "steps": steps,
            "next_step": next((step for step in steps if not step.is_done), None),
            "offers": (offers := offers_of(campaign, context["asked"])),
            "by_link": offers[-1].total,
            "hours": work_hours(context["bill"], pace),
            "in_rounds": rounds_bills(likely),
            **_tests_context(campaign, context["bill"].hits),
        }
    return render(request, "campaigns/plan.html", context)


def _tests_context(campaign: Campaign, hits: int) -> dict[str, int]:
    """What to warn of before the start: how many test pairs there are, if few for so many HITs, and if none decides."""
    confirmed = task_selectors.confirmed_tests(campaign)
    count = confirmed.count()
    return {
        "few_tests": count if count < SUGGESTED and hits > FEW_HITS else 0,
        "unproven_tests": count and not confirmed.filter(proven_at__isnull=False).exists(),
    }


@needs(Right.SEE)
@require_GET
def settings(request: Request, pk: int) -> HttpResponse:
    """Every setting that the campaign's design reads, and which of them differ from the usual."""
    campaign = campaign_of(request, pk)
    context = {
        "campaign": campaign,
        "draft": campaign.state == Campaign.State.DRAFT,
        "groups": _groups(campaign),
        "runs": campaign.runs.order_by("name")[:RUNS_NAMED],
        "run_count": campaign.runs.count(),
    }
    return render(request, "campaigns/settings.html", context)


def _refresh(campaign: Campaign, *, changes: bool) -> int:
    """After how many seconds the page is asked for again; 0 once nothing can change by itself."""
    if campaign.state == Campaign.State.PACKING:
        return PACKING
    return RUNNING if changes or campaign.state != Campaign.State.CLOSED else 0


def _reuse_context(campaign: Campaign, *, draft: bool) -> dict[str, Any]:
    """Where reused judgments come from, or would come from."""
    if not draft:
        return {"reuses": judgment_selectors.reuses_of(campaign)[:SOURCES_NAMED]}
    return {
        "sources": reusing.source_campaigns(campaign)[:SOURCES_NAMED],
        "imports": reusing.source_imports(campaign)[:SOURCES_NAMED],
        "differing": reusing.differing_campaigns(campaign).count(),
        "trials": reusing.trials_left_out(campaign).count(),
    }


def _progress_context(campaign: Campaign, likely: Publication | None) -> dict[str, Any]:
    watched = watching.campaign_watch(campaign, timezone.now())
    return {
        "progress": watched.progress,
        "forecast": watched.forecast,
        "cost": watched.cost,
        "counted_at": watched.counted_at,
        "summary": judgment_selectors.summary_of(campaign),
        "alarms": alarms_raised(campaign),
        "platform_alarms": alarms_raised(likely).count() if likely and likely.pk else 0,
        "needs": watching.needs_of(campaign, likely if likely and likely.pk else None),
        "decisions": decisions_in(campaign)[:LATEST],
        "packing": progress_of(task_selectors.packing_key(campaign.pk)),
    }


def _groups(campaign: Campaign) -> list[Group]:
    """The settings of the campaign's design, part by part."""
    groups = []
    for part in sections_of(Campaign):
        if part.section.of_design in ("", campaign.design):
            settings = [_setting(campaign, field) for field in fields_in(Campaign, part)]
            changes = sum(setting.usual is not None for setting in settings)
            groups.append(Group(part.section.title, settings, changes))
    return groups


def _setting(campaign: Campaign, field: "Field[Any, Any]") -> Setting:
    usual = None
    if is_changed(campaign, field):
        usual_campaign = Campaign(**{field.name: usual_value(campaign, field), "currency": campaign.currency})
        usual = _in_words(usual_campaign, field)
    return Setting(field.name, field.verbose_name, _in_words(campaign, field), usual)


def _in_words(campaign: Campaign, field: "Field[Any, Any]") -> object:
    name, value = field.name, getattr(campaign, field.name)
    display: Callable[[], str] | None = getattr(campaign, f"get_{name}_display", None)
    if display is not None:
        return display()
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, QrelsVersion):
        return _("version %(number)d") % {"number": value.number}
    if name == "reward" or (name == "rounds_budget" and value is not None):
        return campaign.money(value)
    if name == "fee_rate" and value is None:
        return _("what the platform charges")
    if name == "error_rate" and value is None:
        return _("from repeated judgments, or else 30% are assumed")
    if name == "confirm_level" and value is None:
        return _("most judgments alone")
    if isinstance(field, ShareField) and value is not None:
        return in_percent(value)
    return "–" if value in ("", None) else value
