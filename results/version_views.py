"""The researcher's pages about the versions of a collection's preference qrels."""

import logging
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods
from kombu.exceptions import OperationalError

from core.errors import NotYours, Refused
from core.http import Request, see_other
from core.lists import Columns, ListFilter, Listing, choice_filter, render_lists, search_filter
from core.progress import progress_of
from core.roles import Right, needs
from judgments.downloads import attachment
from pools import selectors as pool_selectors
from pools.http import campaign_of
from pools.models import QrelsVersion, VersionQuery
from results import jobs as result_jobs
from results import version_requests
from results import versions as version_services
from results.models import VersionRequest
from results.presentation import Shown, cells, heads
from results.version_tables import Scores, version_scores
from results.writing import FORMS as TABLE_FORMS
from runs import selectors as run_selectors
from runs.http import collection_of

log = logging.getLogger(__name__)

REFRESH = 2  # seconds between two looks of the page
CHANGES = 20  # queries on a page, with the texts of their answers
MOST_SHOWN = 5  # answers of one query, of a deadlock
FORMS = {"txt": " ", "tsv": "\t"}


CHANGE_COLUMNS: Columns = {
    "query": "query.qid",
    "kind": "kind",
    "before": lambda change: " ".join(change.before),
    "after": lambda change: " ".join(change.after),
}


class VersionForm(forms.Form):
    """Why a version is made, and the number of the one that it is to follow."""

    why = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("A sentence for whoever uses these qrels later. It is shown with the version."),
    )
    parent = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)


class ChangeFilter(ListFilter):
    """The changes of a version by query id, and by what happened."""

    qid = search_filter(gettext_lazy("Query id"), field_name="query__qid")
    kind = choice_filter(gettext_lazy("What happened"), VersionQuery.Kind.choices[:2])


def _version_of(request: Request, pk: int, number: int) -> QrelsVersion:
    """A version of a collection of the user's labs. Raises NotYours."""
    versions = QrelsVersion.objects.select_related("collection", "campaign", "made_by")
    version = versions.filter(collection=collection_of(request, pk), number=number).first()
    if version is None:
        raise NotYours(_("This collection has no such version of its preference qrels."))
    return version


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def version_new(request: Request, pk: int) -> HttpResponse:
    """Ask for a version of what a campaign has settled; `?again=` is a refused request, whose sentence is kept."""
    campaign = campaign_of(request, pk)
    form, refused, status = VersionForm(request.POST or None), "", 200
    if form.is_bound:
        status = 400
    if form.is_valid():
        try:
            pending = version_requests.version_ask(
                campaign=campaign,
                why=form.cleaned_data["why"],
                parent=form.cleaned_data["parent"],
                by=request.user,
                at=timezone.now(),
            )
        except Refused as error:
            refused, status = str(error), error.status
        else:
            _start(pending)
            return see_other("results:version_asked", pk, pending.pk)
    newest = pool_selectors.newest_version(campaign.collection)
    parent = newest.number if newest else 0
    if not form.is_bound or refused:
        again = request.GET.get("again", "")
        earlier = campaign.version_requests.filter(pk=again).first() if again.isdecimal() and len(again) < 19 else None
        why = request.POST.get("why", earlier.why if earlier else "")
        form = VersionForm(initial={"why": why, "parent": parent})
    context = {
        "campaign": campaign,
        "form": form,
        "refused": refused,
        "newest": newest,
        "number": parent + 1,
        "obstacle": version_services.why_no_version(campaign),
        "open": version_requests.requests_open().filter(campaign=campaign).first(),
    }
    return render(request, "results/version_add.html", context, status=status)


def _start(pending: VersionRequest) -> None:
    try:
        result_jobs.add_versions.delay(pending.pk)
    except OperationalError as error:
        log.warning("The version of request %s waits for the next tick: %s", pending.pk, error)


@needs(Right.SEE)
@require_GET
def version_asked(request: Request, pk: int, request_pk: int) -> HttpResponse:
    """How far a version is that was asked for. It leads on to the version; to a refusal, it stays."""
    campaign = campaign_of(request, pk)
    pending = campaign.version_requests.select_related("version").filter(pk=request_pk).first()
    if pending is None:
        raise NotYours(_("Nobody has asked for such a version of this campaign."))
    if pending.version is not None:
        if "HX-Request" not in request.headers:  # a page that asks again is loaded anew when it is led on
            messages.success(request, _("Version %(number)d has been added.") % {"number": pending.version.number})
        return see_other("results:version", campaign.collection_id, pending.version.number)
    context = {
        "campaign": campaign,
        "asked": pending,
        "progress": progress_of(version_requests.progress_key(pending)),
        "refresh": 0 if pending.ended_at else REFRESH,
    }
    return render(request, "results/version_add.html", context)


@needs(Right.SEE)
@require_GET
def version(request: Request, pk: int, number: int) -> HttpResponseBase:
    """One version: where it comes from, what changed, its files."""
    version = _version_of(request, pk, number)
    changed = version.settled.exclude(kind=VersionQuery.Kind.CONFIRMED)
    changes = Listing(
        request,
        changed.select_related("query").order_by("query__qid"),
        narrow=ChangeFilter,
        key="changes",
        size=CHANGES,
        columns=CHANGE_COLUMNS,
    )
    context = {
        "collection": version.collection,
        "version": version,
        "changes": changes,
        "rows": _with_texts(version, list(changes.page)),
        "lang": version.collection.language,
        "is_newest": not version.collection.versions.filter(number__gt=number).exists(),
    }
    return render_lists(request, "results/version.html", context)


def _with_texts(version: QrelsVersion, rows: list[VersionQuery]) -> list[dict[str, Any]]:
    ids = {pid for row in rows for pids in (row.before, row.after) for pid in pids[:MOST_SHOWN]}
    _queries, texts = run_selectors.texts_of(version.collection, qids=[], pids=ids)
    return [
        {
            "change": row,
            "sides": [
                {
                    "title": title,
                    "passages": [(pid, texts.get(pid, "")) for pid in pids[:MOST_SHOWN]],
                    "more": max(len(pids) - MOST_SHOWN, 0),
                }
                for title, pids in ((_("Before"), row.before), (_("Now"), row.after))
            ],
        }
        for row in rows
    ]


@needs(Right.EXPORT)
@require_GET
def version_file(request: Request, pk: int, number: int, form: str) -> HttpResponse:
    """A version's preference qrels: TREC (.txt) or MS MARCO (.tsv), as a campaign's export has them."""
    version = _version_of(request, pk, number)
    if form not in FORMS:
        raise NotYours(_("The preference qrels are available as .txt (TREC) and .tsv (MS MARCO)."))
    lines = version_services.qrels_lines(pool_selectors.version_answers(version), FORMS[form])
    return _download(version, f"preference-qrels.{form}", "".join(lines))


@needs(Right.SEE)
@require_GET
def version_scores_page(request: Request, pk: int, number: int) -> HttpResponse:
    """All runs of the collection on a version, beside the original qrels or another version (`?beside=`), by RR@10 or
    another of its campaign's measures (`?measure=`).
    """
    version = _version_of(request, pk, number)
    beside, scores = _scores(request, version)
    run, order = request.GET.get("run", "").strip(), request.GET.get("sort", "")
    chosen = (scores.table.only(run) if run else scores.table).sorted_by(order)
    listing = Listing(request, chosen.rows)
    query = {"measure": scores.measure if scores.measure != scores.measures[0] else ""}
    query = {name: str(value) for name, value in (query | {"beside": beside.number if beside else ""}).items() if value}
    base = query | ({"run": run} if run else {})
    context = {
        "collection": version.collection,
        "version": version,
        "beside": beside,
        "others": version.collection.versions.exclude(pk=version.pk).order_by("-number")[:100],
        "scores": scores,
        "unreadable": list(scores.unreadable.items())[:10],
        "shown": Shown(
            chosen,
            heads(chosen, order, lambda key: f"?{urlencode(base | {'sort': key})}"),
            cells(chosen, list(listing.page), {}),
            len(chosen.rows),
        ),
        "listing": listing,
        "run": run,
        "order": order,
        "query": f"?{urlencode(query)}" if query else "",
    }
    return render(request, "results/version_scores.html", context)


@needs(Right.SEE)
@require_GET
def version_scores_file(request: Request, pk: int, number: int, form: str) -> HttpResponse:
    """The same as CSV or LaTeX, all runs."""
    version = _version_of(request, pk, number)
    if form not in TABLE_FORMS:
        raise NotYours(_("Tables are available as .csv and .tex files."))
    _beside, scores = _scores(request, version)
    return _download(version, f"scores.{form}", TABLE_FORMS[form](scores.table))


def _scores(request: Request, version: QrelsVersion) -> tuple[QrelsVersion | None, Scores]:
    number = request.GET.get("beside", "")
    is_number = number.isdecimal() and len(number) < 10
    beside = _version_of(request, version.collection_id, int(number)) if is_number else None
    return beside, version_scores(version, beside, request.GET.get("measure", ""))


def _download(version: QrelsVersion, name: str, content: str) -> HttpResponse:
    base = slugify(version.collection.name) or version.collection_id
    return attachment(f"{base}-v{version.number}-{name}", content)
