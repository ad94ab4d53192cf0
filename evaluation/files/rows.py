"""Files of columns, a row a line."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.errors import BadInput
from evaluation.files.textfiles import COLUMN_LIMITS, Source, TextFile, columns, counted


def read_rows(
    source: Source, names: tuple[str, ...], what: str, *, name: str | None = None, optional: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Rows with their lines. `what` begins the sentence that says which columns are needed, as in "pairs have"; as many
    as `optional` may be missing at the end.

    Raises BadInput where a line has other columns, and where the file is damaged or empty.
    """
    file = TextFile(source, name=name, limits=COLUMN_LIMITS)
    for line, row in file.rows():
        split = columns(row)
        if line == 1 and len(split) > 1 and _is_header(split, names):
            continue
        if len(split) > len(names) and "\t" in row:  # names with spaces, and tabs between
            split = [column.strip(" ") for column in row.strip("\t").split("\t")]
        if not len(names) - optional <= len(split) <= len(names):
            needed = f"{len(names) - optional} or {len(names)}" if optional else str(len(names))
            message = f"{counted(len(split), 'column')} where {what} {needed} ({' '.join(names)})."
            raise BadInput(file.name, line, message)
        yield line, split


def _is_header(row: list[str], names: tuple[str, ...]) -> bool:
    """Whether the row is the names themselves. Runs may well be called a and b."""
    return names[:2] != ("a", "b") and tuple(cell.casefold() for cell in row) == names[: len(row)]
