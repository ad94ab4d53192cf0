"""The researcher's pages about judgments: a campaign as it stands, its queries, the exports."""

import logging
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Field
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from core.audit.services import entry_note
from core.errors import NotYours
from core.http import Request, see_other
from core.lists import Listing, render_lists
from core.percent import ShareField
from core.progress import progress_of
from core.roles import Right, needs
from core.snapshot import one_moment
from judgments import exports, reusing, rounds, watching
from judgments import jobs as judgment_jobs
from judgments import lists as judgment_lists
from judgments import selectors as judgment_selectors
from judgments.downloads import file_response
from judgments.models import StoredFile
from platforms.jobs import balance_soon
from platforms.models import Alarm, Publication
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
from tasks import campaign_alarms, links
from tasks import selectors as task_selectors

PACKING, RUNNING = 3, 20  # seconds between two looks of the page
LATEST = 10  # decisions that the campaign's page shows
RUNS_NAMED = 20
SOURCES_NAMED = 20  # of reused judgments
log = logging.getLogger(__name__)


# --- the campaign


@needs(Right.SEE)
@require_GET
@one_moment()
def campaign(request: Request, pk: int) -> HttpResponse:
    """A campaign as it stands: what, how far, how good, how much, what next."""
    campaign = campaign_of(request, pk)
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
        "settings": _settings(campaign),
        "address": links.campaign_address(campaign),
        "tests": task_selectors.test_counts(campaign),
        "alarms": campaign_alarms.alarms_raised(campaign),
        "likely": likely,
        "publication": likely if likely.state != Publication.State.DRAFT else None,
    }
    context |= {"reused": reused, "asked": pairs_to_ask(campaign)} | _reuse_context(campaign, draft=draft)
    context["expected"] = reused + context["asked"]
    if draft:
        if likely.pk:
            balance_soon(likely.pk)
        missing, pace = pool_selectors.missing_texts(campaign), task_selectors.expected_pace(campaign)
        steps = draft_steps(campaign, missing, pace)
        context |= {
            "obstacles": task_selectors.launch_obstacles(campaign, missing=missing),
            "steps": steps,
            "next_step": next((step for step in steps if not step.is_done), None),
            "offers": offers_of(campaign, context["asked"]),
            "hours": work_hours(context["bill"], pace),
        }
        context["in_rounds"] = rounds_bills(likely)
    else:
        context["rounds"] = rounds.rounds_shown(campaign)
        context |= _exports_context(campaign) | _progress_context(campaign, likely)
        context["refresh"] = _refresh(campaign, changes=context["outdated"] or context["progress"].active > 0)
    return render(request, "judgments/campaign.html", context)


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
        "alarms": campaign_alarms.alarms_raised(campaign),
        "platform_alarms": Alarm.objects.filter(publication__campaign=campaign, settled_at=None).count(),
        "needs": watching.needs_of(campaign, likely if likely and likely.pk else None),
        "decisions": judgment_selectors.decisions(campaign)[:LATEST],
        "packing": progress_of(task_selectors.packing_key(campaign.pk)),
    }


def _exports_context(campaign: Campaign) -> dict[str, Any]:
    stored = judgment_selectors.stored_files(campaign, StoredFile.Kind.EXPORT)
    files = [(name, what, stored[name]) for name, what in exports.NAMES.items() if name in stored]
    filled = [row for row in files if row[2].size]
    return {
        "made": judgment_selectors.export_of(campaign),
        "outdated": judgment_selectors.campaigns_to_export().filter(pk=campaign.pk).exists(),
        "files": filled,
        "empties": [name for name, _what, file in files if not file.size],
        "archive": stored.get(exports.ARCHIVE),
    }


def _settings(campaign: Campaign) -> list[tuple[object, object]]:
    """Every setting of the campaign's design, with its label and its value in words."""
    parts = [part for part in sections_of(Campaign) if part.section.of_design in ("", campaign.design)]
    fields = [field for part in parts for field in fields_in(Campaign, part)]
    return [(field.verbose_name, _in_words(campaign, field)) for field in fields]


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
        return _("from repeated judgments, or else 30 % are assumed")
    if name == "confirm_level" and value is None:
        return _("most judgments alone")
    if isinstance(field, ShareField) and value is not None:
        return _("%(percent)s %%") % {"percent": f"{float(value) * 100:g}"}
    return "–" if value in ("", None) else value


# --- queries


@needs(Right.SEE)
@require_GET
def queries(request: Request, pk: int) -> HttpResponseBase:
    """A campaign's queries, with a search."""
    campaign = campaign_of(request, pk)
    pools = judgment_selectors.pools_by_query(campaign)
    listing = Listing(
        request,
        pools,
        sorts=judgment_lists.QUERY_SORTS,
        narrow=judgment_lists.QueryFilter,
        columns=judgment_lists.QUERY_COLUMNS,
        lines=lambda some: judgment_selectors.pool_rows(some, campaign.slots_needed),
    )
    context = {
        "campaign": campaign,
        "listing": listing,
        "rows": judgment_selectors.pool_rows(listing.page.object_list, campaign.slots_needed),
        "lang": campaign.collection.language,
    }
    return render_lists(request, "judgments/queries.html", context)


# --- exports


@needs(Right.EXPORT)
@require_GET
def export(request: Request, pk: int, name: str) -> FileResponse:
    """One export file, or all of them in an archive, as they were last made."""
    campaign = campaign_of(request, pk)
    if name != exports.ARCHIVE and name not in exports.NAMES:
        raise NotYours(_("There is no export with this name."))
    response = file_response(campaign, StoredFile.Kind.EXPORT, name)
    _note_export(campaign, "downloaded", name)
    return response


def _note_export(campaign: Campaign, action: str, name: str = "") -> None:
    entry_note(
        subject="export",
        action=action,
        key=campaign.pk,
        thing=name,
        lab_id=campaign.lab_id,
        campaign_id=campaign.pk,
        campaign=campaign.name,
    )


@needs(Right.EXPORT)
@require_POST
def make_exports(request: Request, pk: int) -> HttpResponse:
    """Have the export files made now, in the background."""
    campaign = campaign_of(request, pk)
    _note_export(campaign, "made")
    try:
        judgment_jobs.make_exports.delay(campaign.pk)
    except OperationalError as error:
        log.warning("The exports of campaign %s wait for the next round: %s", campaign.pk, error)
        messages.warning(request, _("The files cannot be asked for now. They are made by themselves."))
    else:
        messages.success(request, _("The files are being made. They appear here in a moment."))
    return see_other("judgments:campaign", pk, fragment="exports")
