"""The audit as a page, and as a file."""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from core.audit import selectors
from core.audit.lists import AuditFilter
from core.audit.notes import entry_note
from core.audit.selectors import Line
from core.http import Request
from core.lists import Lines, Listing, no_formula
from core.models import AuditEntry
from core.roles import Right, needs

BATCH = 500  # entries of a file that are read and written at once
KEPT = ("about", "campaign", "since", "until")  # of a filter: what nobody's name can be in
COLUMNS = (
    *("at", "who", "what", "why", "campaign", "changes", "address", "request", "actor_kind", "actor", "subject"),
    *("action", "key", "lab"),
)


@needs(Right.MANAGE)
@require_GET
def entries(request: Request) -> HttpResponse:
    """Who did what, newest first."""
    listing = Listing(request, selectors.entries_of(request.user), narrow=AuditFilter)
    context = {"listing": listing, "lines": selectors.lines(listing.page.object_list)}
    return render(request, "core/audit.html", context)


@needs(Right.MANAGE)
@require_GET
def csv_file(request: Request) -> HttpResponseBase:
    """The same entries, all pages of them, as CSV."""
    return _download(request, "csv")


@needs(Right.MANAGE)
@require_GET
def json_file(request: Request) -> HttpResponseBase:
    """The same as JSON."""
    return _download(request, "json")


def _download(request: Request, kind: str) -> HttpResponseBase:
    entries = AuditFilter(request.GET, queryset=selectors.entries_of(request.user)).qs
    newest = entries.values_list("pk", flat=True).first() or 0
    rows = _rows(entries.filter(pk__lte=newest))
    entry_note(subject="audit", action="downloaded", filter=_without_words(request.GET).urlencode())
    response = StreamingHttpResponse(
        _csv(rows) if kind == "csv" else _json(rows),
        content_type="text/csv; charset=utf-8" if kind == "csv" else "application/json",
    )
    response["Content-Disposition"] = f'attachment; filename="audit.{kind}"'
    return response


def _without_words(narrowed: QueryDict) -> QueryDict:
    """A filter without the words that were typed: they may be the name or id of somebody who is erased later."""
    noted = narrowed.copy()
    for name in noted:
        if name not in KEPT:
            noted.setlist(name, ["…" if value else "" for value in noted.getlist(name)])
    return noted


def _rows(entries: Any) -> Iterator[dict[str, Any]]:
    remaining = iter(entries.iterator(BATCH))
    while batch := list(islice(remaining, BATCH)):
        yield from map(_row, selectors.lines(batch))


def _row(line: Line) -> dict[str, Any]:
    entry: AuditEntry = line.entry
    values = (
        *(entry.at.isoformat(), line.who, line.what, entry.why, entry.campaign, entry.changes, entry.address),
        *(entry.request_id, entry.actor_kind, entry.actor_id, entry.subject, entry.action, entry.key, entry.lab_id),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(Lines())
    yield writer.writerow(COLUMNS)
    for row in rows:
        row["changes"] = json.dumps(row["changes"], ensure_ascii=False)
        yield writer.writerow([no_formula(value) if isinstance(value, str) else value for value in row.values()])


def _json(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    before = "["
    for row in rows:
        yield f"{before}\n{json.dumps(row, ensure_ascii=False)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"
