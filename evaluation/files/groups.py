"""Groups of queries, such as languages, topics or lengths."""

from __future__ import annotations

from evaluation.errors import BadInput
from evaluation.files.rows import read_rows
from evaluation.files.textfiles import Source, name_of, quote_value

MOST = 50  # groups
LONGEST = 60  # characters of a name


def read_groups(source: Source, *, name: str | None = None) -> dict[str, dict[str, int]]:
    """By group, its queries, each with its line; groups in the order of their first line.

    Lines are `query group`; a query may be in several groups. With tabs between the columns, names may have spaces.
    Raises BadInput where a line has other columns or is there twice, where a name is too long, where there are too many
    groups, and where the file is damaged or empty.
    """
    name = name_of(source) if name is None else name
    groups: dict[str, dict[str, int]] = {}
    for line, (query, group) in read_rows(source, ("query", "group"), "groups have", name=name):
        if len(group) > LONGEST:
            message = f"group {quote_value(group)} has {len(group)} characters, where {LONGEST} are allowed."
            raise BadInput(name, line, message)
        members = groups.setdefault(group, {})
        if query in members:
            message = f"query {quote_value(query)} is in group {quote_value(group)} already (line {members[query]:,})."
            raise BadInput(name, line, message)
        if len(groups) > MOST:
            raise BadInput(name, line, f"more than {MOST} groups.")
        members[query] = line
    return groups
