"""Lists of rows on pages: narrowed by a filter, sorted by a column, a page at a time. The address says all three.

With `csv` in it, the same address gives all the rows that the filter leaves, as a file: `render_lists`.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import Count, IntegerField, Model, OuterRef, QuerySet, Subquery
from django.db.models.expressions import Expression, F, OrderBy
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, ChoiceFilter, FilterSet

ROWS = 50
FEW = 20  # rows that are found without a filter
BATCH = 1_000  # rows of a file that are in memory
Sort = str | F | Expression  # what a column is sorted by: a field's path, or an expression
# The columns of a list's file: an attribute's path (`lab.name`), or what makes the value of a row.
Columns = Mapping[str, str | Callable[[Any], object]]


class ListFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """The filter of a list. `defaults` are what counts where the address says nothing."""

    defaults: Mapping[str, str] = {}

    def __init__(self, data: Any = None, *arguments: Any, **named: Any) -> None:
        data, prefix = data.copy(), named.get("prefix")
        for name, value in self.defaults.items():
            data.setdefault(f"{prefix}-{name}" if prefix else name, value)
        super().__init__(data, *arguments, **named)

    def is_narrowing(self) -> bool:
        """Whether it leaves rows out because somebody asked for it."""
        values = self.form.cleaned_data
        return any(value != self.defaults.get(name, "") for name, value in values.items() if value not in (None, ""))


def choice_filter(label: Any, choices: Any, **options: Any) -> Any:
    """A filter by one of a field's values."""
    return ChoiceFilter(label=label, choices=choices, **{"empty_label": gettext_lazy("any")} | options)


def search_filter(label: Any, **options: Any) -> Any:
    widget = forms.TextInput(attrs={"type": "search"})
    return CharFilter(label=label, widget=widget, max_length=200, **{"lookup_expr": "icontains"} | options)


def count_of(model: type[Model], relation: str, **only: Any) -> Coalesce:
    """How many rows of a model belong to a row, for a filter."""
    rows = model._default_manager.filter(**{relation: OuterRef("pk")}, **only).order_by()
    counts = rows.values(relation).annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)


class Listing:
    """One list of a page, as its templates show it: core/list_filter.html, `sort_head`, core/list_pages.html.

    `sorts` are the columns that it can be sorted by; as long as nobody asks for one, the rows keep their order. Where a
    page has several lists, all but one have a `key`, which begins the names of their parameters and is the id of their
    heading. Where there is no such page, the nearest is shown.

    A list with `columns` can be had as a file. `lines` makes of some rows what the columns are taken from. `count` is
    how many rows there are, where that is known: then they are counted only if the filter leaves some out.
    """

    def __init__(
        self,
        request: HttpRequest,
        rows: QuerySet[Any] | Sequence[Any],
        *,
        sorts: Mapping[str, Sort] | None = None,
        narrow: Callable[..., ListFilter] | None = None,
        key: str = "",
        size: int = ROWS,
        columns: Columns | None = None,
        lines: Callable[[Sequence[Any]], Iterable[Any]] = lambda rows: rows,
        count: int | None = None,
    ) -> None:
        self.columns, self._lines = columns, lines
        self._asked = request.GET
        self.key = key
        self.sorts = sorts or {}
        self.filter = None if narrow is None else narrow(request.GET, queryset=rows, prefix=key or None)
        if self.filter is not None:
            rows = self.filter.qs
        sort = request.GET.get(self._name("sort"), "")
        self.sort = sort if sort.removeprefix("-") in self.sorts else ""
        if self.sort and isinstance(rows, QuerySet):
            rows = rows.order_by(*self._ordering())
        self.rows = rows  # all of them, on whatever page
        pages = Paginator(rows, size)
        if count is not None and not self.is_narrowed:
            pages.count = count
        self.page: Page[Any] = pages.get_page(request.GET.get(self._page_name))

    def _name(self, name: str) -> str:
        return f"{self.key}-{name}" if self.key else name

    @property
    def _page_name(self) -> str:
        return self.key or "page"

    def _ordering(self) -> list[OrderBy]:
        """By the column, rows without a value last; rows alike keep one order, so that no page repeats another's."""
        column, down = self.sorts[self.sort.removeprefix("-")], self.sort.startswith("-")
        by = F(column) if isinstance(column, str) else column
        return [OrderBy(by, descending=down, nulls_last=True), OrderBy(F("pk"), descending=down)]

    def _address(self, **changed: str | int | None) -> str:
        """The page's address with other values of this list's parameters; None leaves one out."""
        query = self._asked.copy()
        for name, value in changed.items():
            query.pop(name, None)
            if value is not None:
                query[name] = str(value)
        return f"?{query.urlencode()}" + (f"#{self.key}" if self.key else "")

    def sort_address(self, column: str) -> str:
        """Where the list is sorted by a column; the other way round where it is sorted by it now."""
        following = f"-{column}" if self.sort == column else column
        return self._address(**{self._name("sort"): following, self._page_name: None})

    def sorted_as(self, column: str) -> str:
        """`ascending`, `descending`, or empty if the list is not sorted by the column."""
        return {column: "ascending", f"-{column}": "descending"}.get(self.sort, "")

    @property
    def is_whole(self) -> bool:
        """Whether the list shows the columns, too, that are folded at first."""
        return self._name("columns") in self._asked

    @property
    def columns_address(self) -> str:
        """Where the list has more columns, or fewer again."""
        return self._address(**{self._name("columns"): None if self.is_whole else "all"})

    @property
    def here(self) -> str:
        """The page's address, for what must know how its list is narrowed."""
        return f"?{self._asked.urlencode()}"

    @property
    def file(self) -> str:
        """The address of the list as a file; empty where it cannot be had as one."""
        return self._address(csv=self._file_name).partition("#")[0] if self.columns else ""

    @property
    def _file_name(self) -> str:
        return self.key or "list"

    @property
    def is_asked_as_file(self) -> bool:
        """Whether the address asks for this list as a file."""
        return self.columns is not None and self._asked.get("csv") == self._file_name

    def as_csv(self) -> Iterator[str]:
        """The head, then all rows that the filter leaves, in their order."""
        columns = self.columns or {}
        writer = csv.writer(Lines(), lineterminator="\n")
        yield writer.writerow(columns)
        values = [attrgetter(column) if isinstance(column, str) else column for column in columns.values()]
        rows = iter(self.rows.iterator(chunk_size=BATCH) if isinstance(self.rows, QuerySet) else self.rows)
        while batch := list(islice(rows, BATCH)):
            for line in self._lines(batch):
                yield writer.writerow([_written(value(line)) for value in values])

    @property
    def previous(self) -> str:
        """The address of the page before."""
        return self._address(**{self._page_name: self.page.previous_page_number()})

    @property
    def next(self) -> str:
        """The address of the page after."""
        return self._address(**{self._page_name: self.page.next_page_number()})

    @property
    def is_narrowed(self) -> bool:
        """Whether the filter leaves rows out because somebody asked for it."""
        return self.filter is not None and self.filter.is_narrowing()

    @property
    def needs_filter(self) -> bool:
        """Whether the list is long, or its filter leaves rows out."""
        if self.filter is None:
            return False
        count = self.page.paginator.count
        if self.is_narrowed or count > FEW:
            return True
        return bool(self.filter.defaults) and len(self.filter.queryset.order_by()[: count + 1]) > count

    @property
    def everything(self) -> str:
        """The address of the list without its filter."""
        names = [] if self.filter is None else [field.html_name for field in self.filter.form]
        return self._address(**dict.fromkeys([*names, self._page_name]))

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the filter's form must hand on: the order, and whatever the page's other lists are at."""
        names = {self._page_name} | (set() if self.filter is None else {field.html_name for field in self.filter.form})
        return [(name, value) for name, values in self._asked.lists() if name not in names for value in values]


class Lines:
    """Gives back what is written, so that a csv.writer makes lines."""

    def write(self, line: str) -> str:
        return line


def no_formula(text: str) -> str:
    """The text, preceded by an apostrophe where a spreadsheet would take it for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _written(value: object) -> object:
    """A value as a file has it: times in ISO 8601, and no text that a spreadsheet would take for a formula."""
    if value is None or isinstance(value, int | float | Decimal):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    return no_formula(value.isoformat() if isinstance(value, datetime) else str(value))


def render_lists(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponseBase:
    """A page with lists; or the one of them that the address asks for as a file."""
    for listing in context.values():
        if isinstance(listing, Listing) and listing.is_asked_as_file:
            assert request.resolver_match is not None
            name = "-".join(filter(None, [request.resolver_match.url_name, listing.key]))
            response = StreamingHttpResponse(listing.as_csv(), content_type="text/csv; charset=utf-8")
            response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
            return response
    page: HttpResponse = render(request, template, context, status=status)
    return page
