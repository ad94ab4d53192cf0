"""Rows of the results' tables. Written here, as a template takes a multiple of the time over a thousand cells."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from results.presentation import Cell

register = template.Library()


@register.filter
def cells(row: Iterable[Cell]) -> SafeString:
    """A row's `<th>` and `<td>`."""
    return format_html_join("", "{}", ((_cell(cell),) for cell in row))


def _cell(cell: Cell) -> SafeString:
    content = format_html('<a href="{}">{}</a>', cell.address, cell.text) if cell.address else cell.text
    if cell.heading:
        return format_html('<th scope="row">{}</th>', content)
    if cell.significant:
        content = format_html("<strong>{}</strong>", content)
    return format_html('<td class="number">{}</td>' if cell.number else "<td>{}</td>", content)
