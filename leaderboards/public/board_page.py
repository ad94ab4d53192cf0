"""Turn the files of a board into its page, byte for byte: `python3 board_page.py FILES [QUERY] > board.html`.

FILES: the board's zip, or the folder it was unpacked into. QUERY: what follows the ? of the page's address.
"""

import csv
import io
import json
import sys
import zipfile
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

CONTENT = b"<!-- the board -->"  # where frame.html has the page's content


def page(files: dict[str, bytes], query: str = "") -> bytes:
    """The board's page, from board.json, entries.csv and frame.html, sorted and filtered as the query says."""
    board, entries = json.loads(files["board.json"]), io.StringIO(files["entries.csv"].decode(), newline="")
    return files["frame.html"].replace(CONTENT, content(board, list(csv.DictReader(entries)), query).encode(), 1)


def content(board: dict[str, Any], entries: list[dict[str, str]], query: str) -> str:
    """What the page has of entries, which are in the board's order, between its head and its foot."""
    params = {name: value.strip() for name, value in parse_qsl(query[:1000])}
    season = params["season"] if params.get("season") in board["seasons"] else board["seasons"][0]
    params |= {"season": season} if len(board["seasons"]) > 1 else {}
    entries = [entry for entry in entries if entry["season"] == season]
    chosen, more = _choose(entries, params, board["numbers"]), board["more"].get(params.get("show"), [])
    board = {**board, "columns": [*board["columns"][:-2], *more, *board["columns"][-2:]]}
    first = chosen if "all" in params else chosen[: board["at_once"]]
    every = [*params.items(), ("all", 1)] if len(first) < len(chosen) else [("season", season)]
    offer = f' <a href="?{escape(urlencode(every))}">Show all</a>' if len(first) < len(entries) else ""
    cut = f", the first {len(first)} shown" * (len(first) < len(chosen))
    html = f"<p role=status>{len(chosen)} of {len(entries)} entries{cut}.{offer}</p>\n{_table(board, first, params)}"
    html += "".join(f"<p class=quiet>{escape(note)}</p>\n" for note in board["notes"])
    is_empty = not entries and len(board["seasons"]) == 1
    return "<p class=empty>No entry yet.</p>\n" if is_empty else _form(board, params) + html


def _choose(entries: list[dict[str, str]], params: dict[str, str], numbers: list[str]) -> list[dict[str, str]]:
    word, column = params.get("q", "").casefold(), params.get("sort", "").removeprefix("-")
    chosen = [entry for entry in entries if word in f"{entry['description']}\n{entry['team']}".casefold()]
    chosen = [entry for entry in chosen if all(params.get(name, "") in ("", entry[name]) for name in entry)]
    if (cost := params.get("show", "")) in numbers and (most := params.get("most", "")).isdecimal():
        chosen = [entry for entry in chosen if entry[cost] and float(entry[cost]) <= float(most)]
    filled = [entry for entry in chosen if entry.get(column)]
    key: Any = float if column in numbers else str.casefold
    filled.sort(key=lambda entry: key(entry[column]), reverse=params.get("sort", "").startswith("-"))
    return filled + [entry for entry in chosen if not entry.get(column)]


def _form(board: dict[str, Any], params: dict[str, str]) -> str:  # it keeps the order that the page has now
    fields = f'<label class=field>Word <input type=search name=q value="{escape(params.get("q", ""))}"></label>'
    for name, label, choices in board["filters"]:
        chosen = {params.get(name, ""): " selected"}
        options = "".join(f'<option value="{escape(key)}"{chosen.get(key, "")}>{escape(text)}' for key, text in choices)
        fields += f'<label class=field>{escape(label)} <select name="{name}">{options}</select></label>'
    most = f'At most <input type=number min=0 name=most value="{escape(params.get("most", ""))}">'
    fields += f"<label class=field>{most}</label>" if params.get("show") in board["numbers"] else ""
    fields += f'<input type=hidden name=sort value="{escape(params["sort"])}">' if params.get("sort") else ""
    used = " open" * any(params.get(name) for name in ("q", "type", "mark", "show", "most"))
    more = ", or show another season" * (len(board["seasons"]) > 1)
    fields = f'<form class="row end" role=search>{fields}<button class=button>Show</button></form>'
    return f"<details{used}><summary>Filter the entries{more}</summary>{fields}</details>\n"


def _table(board: dict[str, Any], entries: list[dict[str, str]], params: dict[str, str]) -> str:
    heads, bodies, rest = "", "", [(name, value) for name, value in params.items() if name != "sort"]
    for column, text in board["columns"]:
        now = {column: "ascending", f"-{column}": "descending"}.get(params.get("sort", ""))
        link = escape(urlencode([*rest, ("sort", f"-{column}" if now == "ascending" else column)]))
        heads += f'<th{f" aria-sort={now}" if now else ""}><a class=sort href="?{link}">{escape(text)}</a>'
    for section in board["sections"]:
        rows = "".join(_row(board, entry) for entry in entries if entry["section"] == section)
        head = f"<tr class=group><th scope=rowgroup colspan={len(board['columns'])}>{escape(section)}\n"
        bodies += f"<tbody>{head if section else ''}{rows}" if rows else ""
    start = '<div class="table tall board" role=region aria-label=Entries tabindex=0><table>'
    return f"{start}<thead><tr>{heads}\n{bodies}</table></div>\n"


def _row(board: dict[str, Any], entry: dict[str, str]) -> str:
    note = f"<br><small>{escape(entry['note'])}</small>" if entry["note"] else ""
    cells = {name: f"<td>{escape(text.strip())}" for name, text in entry.items()}
    cells |= {key: f"<td>{float(entry[key]):,.6f}".rstrip("0").rstrip(".") for key in board["numbers"] if entry[key]}
    cells["mark"] = "<td>" + {"trophy": "🏆", "baseline": "🏛"}.get(entry["mark"], "")
    cells["description"] = f"<th><a href=e/{entry['id']}>{escape(entry['description'])}</a>{note}"
    for name, link in ((name, escape(entry[name])) for name in ("paper", "code") if entry[name]):
        quote = '"' * ("=" in link or " " in link)  # only where it needs them: there are many entries
        cells[name] = f"<td><a href={quote}{link}{quote}>{name}</a>" if "://" in link else "<td>image"
    return f"<tr>{''.join(cells[name] for name, _text in board['columns'])}"


if __name__ == "__main__":
    opened = zipfile.Path(sys.argv[1]) if Path(sys.argv[1]).is_file() else Path(sys.argv[1])
    files = {name: (opened / name).read_bytes() for name in ("board.json", "entries.csv", "frame.html")}
    sys.stdout.buffer.write(page(files, *sys.argv[2:3]))
