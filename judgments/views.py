"""The researcher's pages about judgments: a campaign's queries, and its files."""

import logging

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from core.audit.notes import entry_note
from core.errors import NotYours
from core.http import Request, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs
from core.snapshot import one_moment
from judgments import exports
from judgments import jobs as judgment_jobs
from judgments import lists as judgment_lists
from judgments import selectors as judgment_selectors
from judgments.downloads import file_response
from judgments.models import StoredFile
from pools.http import campaign_of
from pools.models import Campaign

REFRESH = 20  # seconds between two looks of the page while files are made
log = logging.getLogger(__name__)


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
        count=sum(campaign.pool_sizes.values()),
    )
    context = {
        "campaign": campaign,
        "listing": listing,
        "rows": judgment_selectors.pool_rows(listing.page.object_list, campaign.slots_needed),
        "lang": campaign.collection.language,
    }
    return render_lists(request, "judgments/queries.html", context)


# --- files


@needs(Right.SEE)
@require_GET
@one_moment()
def files(request: Request, pk: int) -> HttpResponse:
    """The export files as they were last made."""
    campaign = campaign_of(request, pk)
    stored = judgment_selectors.stored_files(campaign, StoredFile.Kind.EXPORT)
    rows = [(name, what, stored[name]) for name, what in exports.NAMES.items() if name in stored]
    outdated = judgment_selectors.campaigns_to_export().filter(pk=campaign.pk).exists()
    context = {
        "campaign": campaign,
        "made": judgment_selectors.export_of(campaign),
        "outdated": outdated,
        "files": [row for row in rows if row[2].size],
        "empties": [name for name, _what, file in rows if not file.size],
        "archive": stored.get(exports.ARCHIVE),
        "refresh": REFRESH if outdated else 0,
    }
    return render(request, "judgments/files.html", context)


@needs(Right.EXPORT)
@require_GET
def export(request: Request, pk: int, name: str) -> HttpResponseBase:
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
    return see_other("judgments:files", pk)
