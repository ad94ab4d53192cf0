"""Values as words and figures, and tables as CSV and LaTeX."""

import csv
import io
from collections.abc import Sequence

from django.utils.translation import gettext as _

from results.tables import WORDS, Column, Table, Value

_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "–": "--",
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def shown(column: Column, value: Value) -> str:
    """A value as the page shows it; a dash where there is none."""
    if value is None:
        return "–"
    match column.kind:
        case "count":
            return f"{value:,g}" if isinstance(value, float) else f"{value:,}"
        case "score":
            return f"{value:.4f}"
        case "change":
            return f"{value:+.4f}".replace("-", "−")
        case "share":
            return _("%(percent).1f %%") % {"percent": 100 * value}
        case "p":
            return p_shown(value)
        case "interval":
            return _("%(low).4f to %(high).4f") % {"low": value[0], "high": value[1]}
        case "seconds":
            return _("%(seconds).1f s") % {"seconds": value}
        case "yes":
            return _("yes") if value else _("no")
        case _:
            return str(value)


def p_shown(value: float) -> str:
    """`0.0312`, `2.1e-05`, `1`."""
    return f"{value:.4f}" if 0.001 <= value < 0.99995 else f"{value:.2g}"


def as_csv(table: Table) -> str:
    """All rows with full precision; an interval is two columns, `_low` and `_high`. CRLF line ends, as RFC 4180.

    Words that a spreadsheet would take for a formula are preceded by an apostrophe.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    head: list[str] = []
    for column in table.columns:
        head += [f"{column.key}_low", f"{column.key}_high"] if column.kind == "interval" else [_csv_name(column)]
    writer.writerow(head)
    for row in table.rows:
        cells: list[object] = []
        for column, value in zip(table.columns, row, strict=True):
            if column.kind == "interval":
                cells += value or [None, None]
            elif column.kind == "yes":
                cells.append(str(value).lower())
            else:
                cells.append(_harmless(value) if isinstance(value, str) else value)
        writer.writerow(cells)
    return buffer.getvalue()


def _csv_name(column: Column) -> str:
    """A run's own column is named after it."""
    return _harmless(column.label) if column.key.startswith("against_") else column.key


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_tex(table: Table) -> str:
    """A plain `tabular` with what the page shows, and the table's reading as a comment. Needs no package."""
    lines = [f"% {table.title}. {table.about}", rf"\begin{{tabular}}{{{_alignment(table.columns)}}}", r"\hline"]
    lines += [_tex_row([column.label for column in table.columns]), r"\hline"]
    lines += [_tex_row([shown(*cell) for cell in zip(table.columns, row, strict=True)]) for row in table.rows]
    lines += [r"\hline", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _alignment(columns: Sequence[Column]) -> str:
    return "".join("l" if column.kind in (*WORDS, "yes") else "r" for column in columns)


def _tex_row(cells: Sequence[str]) -> str:
    row = " & ".join(map(tex_escape, cells)) + r" \\"
    return "{}" + row if row[0] in "[*" else row  # after the end of a row, LaTeX would take these for its options


def tex_escape(text: str) -> str:
    """Safe in LaTeX text; a line break is a space."""
    return "".join(_ESCAPED.get(letter, letter) for letter in " ".join(text.split())).replace("−", r"$-$")
