"""Rows of the results' tables. Written here, as a template takes a multiple of the time over a thousand cells."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from results.presentation import Cell

register = template.Library()


@register.filter
def cells(row: Iterable[Cell]) -> SafeString:
    """A row's `<th>` and `<td>`, with a class of numbers."""
    return format_html_join("", "{}", ((_cell(cell, "", "number"),) for cell in row))


@register.filter
def values(row: Iterable[Cell]) -> SafeString:
    """The same for a table of values, where most are numbers and those that are not have a class."""
    return format_html_join("", "{}", ((_cell(cell, "text", ""),) for cell in row))


def _cell(cell: Cell, words: str, numbers: str) -> SafeString:
    content = format_html('<a href="{}">{}</a>', cell.address, cell.text) if cell.address else cell.text
    if cell.heading:
        return format_html('<th scope="row">{}</th>', content)
    if cell.significant:
        content = format_html("<strong>{}</strong>", content)
    kind = numbers if cell.number else words
    return format_html('<td class="{}">{}</td>', kind, content) if kind else format_html("<td>{}</td>", content)
