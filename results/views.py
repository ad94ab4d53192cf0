"""The researcher's pages about results: what the preferences say about the runs, and what more judgments would say."""

import logging
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from kombu.exceptions import OperationalError

from core.errors import NotYours
from core.http import Request, edits, see_other
from core.lists import Listing
from core.roles import Right, needs
from core.snapshot import one_moment
from judgments import selectors as judgment_selectors
from judgments.downloads import file_response
from judgments.models import StoredFile
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.http import campaign_of
from pools.models import Campaign
from results import jobs as result_jobs
from results import planning, story
from results import selectors as result_selectors
from results.earlier import earlier_results
from results.findings import headline
from results.forms import SettingsForm
from results.models import Result
from results.pool_detail import pool_detail
from results.presentation import Shown, heads
from results.report import ARCHIVE, SETS, is_about_something
from results.sections import whole
from results.sections.subjects import Subject
from results.sections.whole import Results
from results.tables import Table
from runs.models import Passage

log = logging.getLogger(__name__)

REFRESH = 20  # seconds between two looks of the page
EARLIER = 20  # earlier results on the page
CANDIDATES = 25  # passages with their texts on a page


# --- all results


@needs(Right.SEE)
@require_GET
@one_moment()
def results(request: Request, pk: int) -> HttpResponse:
    """What the preferences say: a sentence, a table, a picture, and the way to what is behind them."""
    campaign = campaign_of(request, pk)
    status = result_selectors.result_status(campaign)
    result, data = status.result, status.data
    context: dict[str, Any] = {
        "campaign": campaign,
        "status": status,
        "waiting": 0 if data is None else status.judgments - data.judgments,
        "earlier": earlier_results(campaign)[:EARLIER],
        "later_runs": list(pool_selectors.later_runs(campaign).values_list("name", flat=True)),
        "refresh": REFRESH if status.stale or campaign.state != Campaign.State.CLOSED else 0,
    }
    if result is not None and data is not None:
        context |= {
            "data": data,
            "is_about_something": is_about_something(data),
            "headline": headline(data),
            "at": result.computed_at,
            "subjects": [
                (reverse("results:subject", args=[pk, subject.value]), subject.label, text)
                for subject, text in story.subjects(data)
            ],
            "page": story.page_of(request, Subject.FINDINGS, data, result.figures, campaign),
        }
    return render(request, "results/results.html", context)


@needs(Right.SEE)
@require_GET
@one_moment()
def subject(request: Request, pk: int, subject: str) -> HttpResponse:
    """One of the subjects behind the finding: sentences, then figures, then tables."""
    campaign = campaign_of(request, pk)
    status = result_selectors.result_status(campaign)
    others = [] if status.data is None else [each for each, _text in story.subjects(status.data)]
    if status.result is None or status.data is None or subject not in others:
        raise NotYours(_("These results have no such page. Pages appear once the results are computed."))
    context = {
        "campaign": campaign,
        "status": status,
        "data": status.data,
        "subject": Subject(subject),
        "others": others,
        "page": story.page_of(request, Subject(subject), status.data, status.result.figures, campaign),
    }
    return render(request, "results/subject.html", context)


def _table_of(data: Results | None, name: str) -> Table:
    table = None if data is None else whole.table(data, name)
    if table is None:
        raise NotYours(_("These results have no such table. Tables appear once the results are computed."))
    return table


@needs(Right.DESIGN)
@require_POST
def compute(request: Request, pk: int) -> HttpResponse:
    """Have the results computed now, in the background."""
    campaign = campaign_of(request, pk)
    try:
        result_jobs.compute_results.delay(campaign.pk)
    except OperationalError as error:
        log.warning("The results wait for the next tick: %s", error)
        messages.warning(
            request,
            _("The results cannot be computed on request right now. They are computed automatically every minute."),
        )
    else:
        messages.success(request, _("The results are being computed. They appear here in a moment."))
    return see_other("results:results", pk)


@needs(Right.SEE, changing=Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def settings(request: Request, pk: int) -> HttpResponse:
    """How the results are read; saving has them computed again."""
    campaign = campaign_of(request, pk)
    form = SettingsForm(request.POST or None, campaign=campaign)
    if form.is_valid():
        pool_services.campaign_read_results(campaign=campaign, **form.cleaned_data)
        messages.success(request, _("Saved. The results are computed again, within a minute or two."))
        return see_other("results:results", pk)
    context = {"campaign": campaign, "form": form, "observed": planning.observed_error(campaign)}
    return render(request, "results/settings.html", context, status=400 if form.is_bound else 200)


# --- one table, one figure


@needs(Right.SEE)
@require_GET
def table(request: Request, pk: int, name: str) -> HttpResponse:
    """One table as a whole: sorted, narrowed by words, page by page."""
    campaign = campaign_of(request, pk)
    whole = _table_of(result_selectors.table_data(campaign, name), name).for_pages()
    words, order = request.GET.get("words", "").strip(), request.GET.get("sort", "")
    chosen = (whole.only(words) if words else whole).sorted_by(order)
    listing = Listing(request, chosen.rows)
    params = {"words": words} if words else {}
    display = Shown(
        chosen,
        heads(chosen, order, lambda key: f"?{urlencode(params | {'sort': key})}"),
        story.linked(campaign, chosen, list(listing.page.object_list)),
        len(chosen.rows),
    )
    context = {
        "campaign": campaign,
        "status": result_selectors.result_status(campaign),
        "shown": display,
        "listing": listing,
        "words": words,
        "order": order,
        "tall": len(display.rows) > story.TALL,
    }
    return render(request, "results/table.html", context)


@needs(Right.SEE)
@require_GET
def table_file(request: Request, pk: int, name: str, form: str) -> HttpResponseBase:
    """One table as CSV or LaTeX, all of its rows; with `-all` after its name, LaTeX has all columns."""
    if form not in ("csv", "tex"):
        raise NotYours(_("Tables are available as .csv and .tex files."))
    campaign, path = campaign_of(request, pk), f"tables/{name}.{form}"
    if judgment_selectors.stored_file(campaign, StoredFile.Kind.RESULT, path) is None:
        path = path.replace("-all.tex", ".tex")  # which has all columns in results of 0.2.0
    return _result_file(request, pk, path)


@needs(Right.SEE)
@require_GET
def figure(request: Request, pk: int, name: str, form: str) -> HttpResponseBase:
    """One figure as SVG, PDF or PNG."""
    if form not in ("svg", "pdf", "png"):
        raise NotYours(_("Figures can be had as .svg, .pdf and .png."))
    return _result_file(request, pk, f"figures/{name}.{form}")


@needs(Right.SEE)
@require_GET
def marks(request: Request, pk: int, name: str) -> HttpResponse:
    """What answers on a figure, to lay over it."""
    campaign = campaign_of(request, pk)
    result = Result.objects.filter(campaign=campaign).only("marks").first()
    return story.marks_response({} if result is None else result.marks, name, campaign)


@needs(Right.SEE)
@require_GET
def report(request: Request, pk: int) -> HttpResponseBase:
    """The whole report in one archive."""
    return _result_file(request, pk, ARCHIVE)


@needs(Right.SEE)
@require_GET
def confidence_sets(request: Request, pk: int) -> HttpResponseBase:
    """The confidence sets of all queries as TREC qrels."""
    return _result_file(request, pk, SETS)


def _result_file(request: Request, pk: int, name: str) -> HttpResponseBase:
    campaign = campaign_of(request, pk)
    kind = StoredFile.Kind.RESULT
    if judgment_selectors.stored_file(campaign, kind, name) is None and Result.objects.filter(campaign=campaign):
        raise NotYours(_("These results have no such table, figure or report."))
    return file_response(campaign, kind, name)


# --- what more judgments would say


@needs(Right.SEE)
@require_GET
def plan(request: Request, pk: int) -> HttpResponse:
    """What 1, 3 or 5 judgments a pair cost, and how sure the best known answers would be."""
    campaign = campaign_of(request, pk)
    data = result_selectors.stored_data(campaign)
    observed = planning.observed_error(campaign)
    first = {"error_rate": f"{100 * planning.likely_error(observed):.0f}"}
    form = planning.PlanForm(request.GET if "error_rate" in request.GET else first)
    is_enough = observed is not None and planning.is_enough(observed)
    context: dict[str, Any] = {"campaign": campaign, "form": form, "observed": observed, "is_enough": is_enough}
    status = 200
    if form.is_valid():
        context["plan"] = planning.plan_for(campaign, data, float(form.cleaned_data["error_rate"]) / 100)
    else:
        status = 400
    return render(request, "results/plan.html", context, status=status)


@needs(Right.SEE)
@require_GET
def query(request: Request, pk: int, pool_pk: int) -> HttpResponse:
    """One query: its pool, who beat whom, the winners, and the judgments behind each pair."""
    campaign = campaign_of(request, pk)
    pool = campaign.pools.select_related("query", "campaign").filter(pk=pool_pk).first()
    if pool is None:
        raise NotYours(_("This campaign has no such query."))
    detail = pool_detail(pool)
    candidates = Listing(request, detail.candidates, key="passages", size=CANDIDATES)
    rows = list(candidates.page)
    texts = Passage.objects.in_bulk([candidate.passage.pk for candidate in rows])
    context = {
        "campaign": campaign,
        "pool": pool,
        "detail": detail,
        "candidates": candidates,
        "passages": [(candidate, texts[candidate.passage.pk].text) for candidate in rows],
        "matrix": detail.matrix(rows),
        "judgments": Listing(request, detail.lines, key="judgments"),
        "lang": campaign.collection.language,
    }
    return render(request, "results/query.html", context)
