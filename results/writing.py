"""Values as words and figures, and tables as CSV and LaTeX."""

import csv
import io
from collections.abc import Sequence

from django.utils.translation import gettext as _

from core.percent import in_percent
from pools.models import Campaign
from results.tables import WORDS, Column, Table, Value

_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "–": "--",
}  # fmt: skip
# Of runs in a sentence.
MOST_NAMED = 4
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
        case "length":
            return f"{value:.2f}"
        case "change":
            return f"{value:+.4f}".replace("-", "−")
        case "tested":
            return f"{value:,}" if isinstance(value, int) else _tested_shown(*value)
        case "share":
            return in_percent(value, ".1f")
        case "p":
            return p_shown(value)
        case "interval":
            return _("%(low).4f to %(high).4f") % {"low": value[0], "high": value[1]}
        case "shares":
            return _("%(low).1f to %(high).1f%%") % {"low": 100 * value[0], "high": 100 * value[1]}
        case "seconds":
            return _("%(seconds).1f s") % {"seconds": value}
        case "yes":
            return _("yes") if value else _("no")
        case _:
            return str(value)


def _tested_shown(share: float, is_significant: bool, of: int) -> str:
    text = _("%(percent).1f%%* (%(of)s)") if is_significant else _("%(percent).1f%% (%(of)s)")
    return text % {"percent": 100 * share, "of": f"{of:,}"}


def p_shown(value: float) -> str:
    """`0.0312`, `2.1e-05`, `1`."""
    return f"{value:.4f}" if 0.001 <= value < 0.99995 else f"{value:.2g}"


def perfect_name() -> str:
    """What the ranking that returns the original qrel first is called on pages."""
    return _("perfect ranking")


def rr_name(cutoff: int) -> str:
    """The measure as ir_measures names it: RR alone would be of whole lists."""
    return f"RR@{cutoff}"


def correction_name(correction: str) -> str:
    """How many tests share a level, to go in brackets after "0.05 over 120 pairs"."""
    if correction == Campaign.Correction.NONE:
        return _("not corrected for their number")
    return str(Campaign.Correction(correction).label)


def percent(share: float) -> str:
    """A share in percent, with a decimal where it matters."""
    value = 100 * share
    if value in (0, 100) or 1 <= value <= 99:
        return in_percent(share, ".0f")
    return in_percent(min(max(share, 0.001), 0.999), ".1f")


def named_first(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")


def as_csv(table: Table) -> str:
    """All rows with full precision. CRLF line ends, as RFC 4180.

    An interval is two columns, `_low` and `_high`; a tested share is three, itself, `_significant`
    and `_of`, of how many it is the share.

    Words that a spreadsheet would take for a formula are preceded by an apostrophe.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    head: list[str] = []
    for column in table.columns:
        name = _csv_name(column)
        if column.kind in ("interval", "shares"):
            head += [f"{name}_low", f"{name}_high"]
        elif column.kind == "tested":
            head += [name, f"{name}_significant", f"{name}_of"]
        else:
            head.append(name)
    writer.writerow(head)
    for row in (*table.rows, *table.foot):
        cells: list[object] = []
        for column, value in zip(table.columns, row, strict=True):
            if column.kind in ("interval", "shares"):
                cells += value or [None, None]
            elif column.kind == "tested":
                cells += [value[0], str(value[1]).lower(), value[2]] if isinstance(value, list) else [value, None, None]
            elif column.kind == "yes":
                cells.append(None if value is None else str(value).lower())
            else:
                cells.append(_harmless(value) if isinstance(value, str) else value)
        writer.writerow(cells)
    return buffer.getvalue()


def _csv_name(column: Column) -> str:
    """A run's own column is named after it."""
    return _harmless(column.label) if column.key.startswith("preferred_") else column.key


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_tex(table: Table) -> str:
    """A plain `tabular` with the values as pages show them, and how to read it as a comment. Needs no package."""
    lines = [
        f"% {table.title}. {f'{table.about} {table.about_more}'.strip()}",
        rf"\begin{{tabular}}{{{_alignment(table.columns)}}}",
        r"\hline",
    ]
    lines += [_tex_row([column.label for column in table.columns]), r"\hline"]
    for rows in (table.rows, table.foot):
        lines += [_tex_row(*zip(*map(_tex_cell, table.columns, row), strict=True)) for row in rows]
        lines += [r"\hline"] if rows else []
    lines += [r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _alignment(columns: Sequence[Column]) -> str:
    return "".join("l" if column.kind in (*WORDS, "yes") else "r" for column in columns)


def _tex_cell(column: Column, value: Value) -> tuple[str, bool]:
    """What the page shows, and whether it is bold."""
    return shown(column, value), column.kind == "tested" and isinstance(value, list) and value[1]


def _tex_row(cells: Sequence[str], bold: Sequence[bool] = ()) -> str:
    escaped = [tex_escape(cell) for cell in cells]
    for number, is_bold in enumerate(bold):
        if is_bold:
            escaped[number] = rf"\textbf{{{escaped[number]}}}"
    row = " & ".join(escaped) + r" \\"
    return "{}" + row if row[0] in "[*" else row  # after the end of a row, LaTeX would take these for its options


def tex_escape(text: str) -> str:
    """Safe in LaTeX text; a line break is a space."""
    return "".join(_ESCAPED.get(letter, letter) for letter in " ".join(text.split())).replace("−", r"$-$")


# The files that a table is had as.
FORMS = {"csv": as_csv, "tex": as_tex}
