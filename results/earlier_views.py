"""The pages of results that were final before others took their place, and adding runs to results that are final."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from core.http import Request, see_other
from core.roles import Right, needs
from judgments.downloads import attachment
from pools import services as pool_services
from pools.http import campaign_of
from results.earlier import must_not_tell, report_of, result_of
from results.findings import findings, headline
from results.inputs import FORMAT
from results.presentation import Shown
from results.sections.whole import read, tables

SHOWN = 50  # rows of a table on the page; all of them are in the report


@needs(Right.DESIGN)
@require_POST
def later_runs(request: Request, pk: int) -> HttpResponse:
    """Score the runs that came after the campaign finished, as new results beside those that there are."""
    count = pool_services.later_runs_score(campaign=campaign_of(request, pk))
    text = ngettext(
        "%(count)d more run is being scored. The results so far stay, under “Earlier results”.",
        "%(count)d more runs are being scored. The results so far stay, under “Earlier results”.",
        count,
    )
    messages.success(request, text % {"count": count})
    return see_other("results:results", pk)


@needs(Right.SEE)
@require_GET
def earlier(request: Request, pk: int, number: int) -> HttpResponse:
    """Results that were final once, as they were."""
    campaign = campaign_of(request, pk)
    result = result_of(campaign, number)
    data = result.data
    context: dict[str, Any] = {"campaign": campaign, "result": result, "data": data, "refused": must_not_tell(result)}
    if data["version"] == FORMAT:
        whole = read(data)
        context |= {
            "headline": headline(whole),
            "findings": [finding for finding in findings(whole) if finding.sentences],
            "tables": [Shown.first(table.for_pages(), SHOWN) for table in tables(whole).values()],
        }
    return render(request, "results/earlier.html", context)


@needs(Right.SEE)
@require_GET
def earlier_report(request: Request, pk: int, number: int) -> HttpResponseBase:
    return report_of(campaign_of(request, pk), number)


@needs(Right.SEE)
@require_GET
def earlier_json(request: Request, pk: int, number: int) -> HttpResponse:
    campaign = campaign_of(request, pk)
    result = result_of(campaign, number)
    body = json.dumps(result.data, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    return attachment(f"{slugify(campaign.name) or campaign.pk}-result-{number}.json", body)
