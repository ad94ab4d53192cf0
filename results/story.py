"""The pages of results: the finding with a table and a picture, then subject by subject what is behind it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from core.errors import NotYours
from pools.models import Campaign
from results import apart, figures
from results import selectors as result_selectors
from results.drawing.marks import Mark, Marks
from results.figures import Figure
from results.findings import Finding, findings, headline
from results.presentation import Shown, cells, heads
from results.sections import whole
from results.sections.subjects import Subject
from results.sections.whole import Results
from results.tables import Table

TALL = 15  # rows, beyond which a table scrolls on its own beneath its head
LARGEST = 60_000  # characters of a figure, beyond which it is only a file
WIDEST = 25  # columns, beyond which a table is only on its own page
# These have more rows than there are runs. Of one with more rows than the first number, the second is shown.
GROWING = frozenset({"pairs", "outcomes", "outcomes-original", "win-pairs", "reversed", "stability"})
GROWING_LONGEST, GROWING_SHORT = 15, 5


class Section(NamedTuple):
    """A table of a page. Of one that `is_cut`, the rest is on its own page, which sorts it."""

    shown: Shown
    is_open: bool
    tall: bool
    is_cut: bool
    intervals_address: str
    intervals: bool

    @property
    def has_more(self) -> bool:
        """Whether the table has columns that are not shown at first."""
        return bool(self.intervals_address) or self.shown.table.has_more


class Page(NamedTuple):
    """What results say of one subject: sentences but for the headline, figures as drawn, and tables.

    What was drawn is empty where it is too large for a page.
    """

    findings: list[Finding]
    figures: list[tuple[Figure[Any], SafeString]]
    sections: list[Section]


def page_of(
    request: HttpRequest, subject: Subject, data: Results, drawings: Mapping[str, str], campaign: Campaign | None
) -> Page:
    """One page, sorted as the address asks. `drawings` are SVG by name; queries lead to their pages in a campaign."""
    first = headline(data)
    answers = [
        finding._replace(sentences=[each for each in finding.sentences if each != first])
        for finding in findings(data)
        if finding.subject == subject
    ]
    drawn = [
        (figure, mark_safe(drawing if len(drawing := drawings[name]) <= LARGEST else ""))  # noqa: S308 - our own drawing
        for name, figure in figures.FIGURES.items()
        if figure.subject == subject and name in drawings and (campaign or len(drawings[name]) <= LARGEST)
    ]
    sections = [
        _section(request, data, table, campaign, is_open=subject == Subject.FINDINGS)
        for table in whole.tables(data, subject).values()
    ]
    return Page([finding for finding in answers if finding.sentences], drawn, sections)


def subjects(data: Results) -> list[tuple[Subject, str]]:
    """The other pages that these results have something for, each with the first that it says. How sure the headline is
    stands beside it.
    """
    first: dict[Subject, str] = {}
    for finding in findings(data):
        words = [sentence for sentence in finding.sentences if sentence != headline(data)]
        if finding.subject not in first and words:
            first[finding.subject] = " ".join(words if finding.subject == Subject.CERTAINTY else words[:1])
    rows = []
    for subject in list(Subject)[1:]:
        titles = ", ".join(table.title for table in whole.tables(data, subject).values())
        if text := first.get(subject) or titles:
            rows.append((subject, text))
    return rows


def _section(request: HttpRequest, data: Results, table: Table, campaign: Campaign | None, *, is_open: bool) -> Section:
    name = table.name
    chosen = request.GET.get("sort", "") if request.GET.get("table") == name else ""
    total = max(len(table.rows), *((data.apart or {}).get(part, 0) for part in apart.LISTS_OF.get(name, ())[:1]), 0)
    longest, short = (GROWING_LONGEST, GROWING_SHORT) if name in GROWING else (apart.LONGEST, apart.SHORT)
    unfolded = table.is_folded and "intervals" in request.GET
    trimmed = table.for_pages(unfolded=unfolded)
    is_wide = len(trimmed.columns) > WIDEST
    is_cut = total > longest or is_wide
    order = "" if is_cut else chosen
    trimmed = trimmed.sorted_by(order)
    rows = trimmed.rows[: 0 if is_wide else short] if is_cut else trimmed.rows

    def address(key: str) -> str:
        return "" if is_cut else _address(request, name, table=name, sort=key)

    return Section(
        Shown(trimmed, heads(trimmed, order, address), linked(campaign, trimmed, rows), total),
        is_open or bool(order) or unfolded,
        not is_cut and len(trimmed.rows) > TALL,
        is_cut,
        _address(request, name, intervals=None if unfolded else "all") if table.is_folded else "",
        unfolded,
    )


def _address(request: HttpRequest, to: str, **changed: str | None) -> str:
    """The address of this page with other parameters; None leaves one out. It leads to the table `to`."""
    params = request.GET.copy()
    for name, value in changed.items():
        params.pop(name, None)
        if value is not None:
            params[name] = value
    return f"?{params.urlencode()}#{to}"


def marks_response(written: Mapping[str, str], name: str, campaign: Campaign | None) -> HttpResponse:
    """The marks of a figure as SVG. In a campaign, a run leads to its page, two that meet to their numbers, pools to
    their queries.

    Raises NotYours where these results have none.
    """
    if name not in written or name not in figures.FIGURES:
        raise NotYours(_("These results have no such figure."))
    marks = Marks.read(written[name])
    runs = {name for mark in marks.marks for name in mark.runs}
    pages = dict(campaign.collection.runs.filter(name__in=runs).values_list("name", "pk")) if campaign else {}

    def address(mark: Mark) -> str:
        if campaign and len(mark.runs) > 1:
            words = urlencode({"words": " ".join(mark.runs)})
            return f"{reverse('results:table', args=[campaign.pk, 'win-pairs'])}?{words}"
        if campaign and mark.passages:
            return f"{reverse('judgments:queries', args=[campaign.pk])}?passages={mark.passages}"
        key = next((pages.get(name) for name in mark.runs), None)
        return reverse("pools:run", args=[key]) if key else ""

    return HttpResponse(marks.svg(figures.FIGURES[name].title, address), content_type="image/svg+xml")


def linked(campaign: Campaign | None, table: Table, rows: Sequence[Sequence[object]]) -> Any:
    """Rows as cells, where queries lead to their pages."""
    at = [number for number, column in enumerate(table.columns) if column.kind == "query"]
    qids = [str(row[number]) for number in at for row in rows]
    pool_keys = result_selectors.pool_keys(campaign, qids) if campaign and qids else {}
    return cells(
        table,
        rows,
        {qid: reverse("results:query", args=[campaign.pk, key]) for qid, key in pool_keys.items()} if campaign else {},
    )
