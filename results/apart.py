"""Long lists of results are stored apart from the rest, so that a page reads no more of them than it shows.

How many comparisons there are grows with the square of the runs, and how many answers with the queries.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]

# A list of more rows than the first is stored apart, and cut to the second where it stood.
LONGEST, SHORT = 30, 10
# Where each list stands in the results, by the name that it is stored under.
LISTS: dict[str, tuple[str, ...]] = {
    "pairs": ("compare", "pairs"),
    "pairs-original": ("compare_original", "pairs"),
    "stability": ("stability",),
    "challengers": ("challengers", "rows"),
}
# What few readers need of the rows of a list, each stored with the row's `qid` in a list of its own.
DETAILS: dict[str, tuple[str, ...]] = {"stability": ("passages", "further")}
# The lists that a table, or whatever else, is made of, by its name: its rows are those of the first.
LISTS_OF: dict[str, tuple[str, ...]] = {
    "pairs": ("pairs", "pairs-original"),
    "outcomes": ("pairs",),
    "outcomes-original": ("pairs-original",),
    "stability": ("stability",),
    "challengers": ("challengers",),
    "asking": ("stability", "stability-further"),
}


class Parts(NamedTuple):
    """Results in two parts: what every page reads, with how long each of `lists` is under `apart`, and these lists."""

    data: Json
    lists: dict[str, list[Json]]


def take_apart(data: Json) -> Parts:
    """Cut long lists short; the least certain answers are those that stay."""
    cut, lists = data, {}
    for name, place in LISTS.items():
        rows = _find(data, place)
        if rows is not None and len(rows) > LONGEST:
            lists[name] = rows
            cut = _put(cut, place, _first(name, rows, data))
            if details := DETAILS.get(name):
                lists[name] = [{key: value for key, value in row.items() if key not in details} for row in rows]
                lists |= {f"{name}-{key}": [{"qid": row["qid"], key: row[key]} for row in rows] for key in details}
    return Parts(cut | {"apart": {name: len(rows) for name, rows in lists.items()}}, lists)


def put_together(data: Json, lists: Mapping[str, list[Json]]) -> Json:
    """The results with these lists whole again."""
    for name, place in LISTS.items():
        if (rows := lists.get(name)) is not None:
            for key in DETAILS.get(name, ()):
                if (more := lists.get(f"{name}-{key}")) is not None:
                    rows = [row | detail for row, detail in zip(rows, more, strict=True)]
            data = _put(data, place, rows)
    apart = {name: count for name, count in data["apart"].items() if name not in lists}
    return data | {"apart": apart}


def _first(name: str, rows: list[Json], data: Json) -> list[Json]:
    if name == "stability":
        return sorted(rows, key=lambda answer: (answer["share"], answer["qid"]))[:SHORT]
    if name == "pairs-original":  # each of the other comparisons that stay is shown beside its own
        beside = {frozenset((pair["a"], pair["b"])) for pair in data["compare"]["pairs"][:SHORT]}
        later = (pair for pair in rows[SHORT:] if frozenset((pair["a"], pair["b"])) in beside)
        return [*rows[:SHORT], *later]
    return rows[:SHORT]


def _find(data: Json, place: tuple[str, ...]) -> list[Json] | None:
    part: Any = data
    for key in place:
        part = part and part[key]
    return part or None


def _put(data: Json, place: tuple[str, ...], rows: list[Json]) -> Json:
    key, *rest = place
    return data | {key: _put(data[key], tuple(rest), rows) if rest else rows}
