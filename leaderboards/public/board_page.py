"""Turn the files of a board into its page, byte for byte: `python3 board_page.py FILES [QUERY] > board.html`.

FILES is the zip of the board, or the folder that it was unpacked into; QUERY is what follows the question mark of the
page's address, such as `type=reranking&sort=-dev`. Python 3.11 is all it needs. The site calls `page` as well.
"""

import csv
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

CONTENT = b"<!-- the board -->"  # where frame.html has the page's content
MARKS = {"": "", "trophy": "🏆", "baseline": "🏛"}
Texts = Mapping[str, str]


def page(files: Mapping[str, bytes], query: str = "") -> bytes:
    """The board's page, from board.json, entries.csv and frame.html, sorted and filtered as the query says."""
    board, entries = json.loads(files["board.json"]), io.StringIO(files["entries.csv"].decode(), newline="")
    return files["frame.html"].replace(CONTENT, content(board, list(csv.DictReader(entries)), query).encode(), 1)


def content(board: Mapping[str, Any], entries: list[dict[str, str]], query: str) -> str:
    """The page between its head and its foot; the entries are in the board's order."""
    asked = {name: value.strip() for name, value in parse_qsl(query[:1000])}
    season = asked["season"] if asked.get("season") in board["seasons"] else board["seasons"][0]
    asked |= {"season": season} if len(board["seasons"]) > 1 else {}
    entries = [entry for entry in entries if entry["season"] == season]
    chosen = choose(entries, asked)
    facts = "".join(f"<div><dt>{escape(name)}<dd>{escape(value)}</div>" for name, value in board["facts"])
    links = "".join(f'<li><a href="{escape(address)}">{escape(text)}</a>' for text, address in board["links"])
    return (
        f"<h1>{escape(board['name'])}</h1>\n<p class=lead>{escape(board['about'])}</p>\n<dl class=facts>{facts}</dl>\n"
        f'<nav aria-label="About this board"><ul class="row plain">{links}</ul></nav>\n{form(board, asked)}'
        f'<p role=status>{len(chosen)} of {len(entries)} entries. <a href="?">Show all</a></p>\n'
        f"{table(board, chosen, asked)}" + "".join(f"<p class=quiet>{escape(note)}</p>\n" for note in board["notes"])
    )


def choose(entries: list[dict[str, str]], asked: Texts) -> list[dict[str, str]]:
    """Those with the values and the word that are asked for, sorted by a column: `dev` upwards, `-dev` downwards.

    Entries without a value of that column come last, and equal ones keep their order.
    """
    word, sort = asked.get("q", "").casefold(), asked.get("sort", "")
    chosen = [entry for entry in entries if word in f"{entry['description']}\n{entry['team']}".casefold()]
    chosen = [entry for entry in chosen if all(asked.get(name, "") in ("", entry[name]) for name in entry)]
    if not chosen or (column := sort.removeprefix("-")) not in chosen[0]:
        return chosen
    filled = [entry for entry in chosen if entry[column]]
    filled.sort(key=lambda entry: entry[column].casefold(), reverse=sort.startswith("-"))
    return filled + [entry for entry in chosen if not entry[column]]


def form(board: Mapping[str, Any], asked: Texts) -> str:
    """The filter, which keeps the order that the page has now."""
    fields = f'<label class=field>Word <input type=search name=q value="{escape(asked.get("q", ""))}"></label>'
    for name, label, choices in board["filters"]:
        chosen = {asked.get(name, ""): " selected"}
        options = "".join(f'<option value="{escape(key)}"{chosen.get(key, "")}>{escape(text)}' for key, text in choices)
        fields += f'<label class=field>{escape(label)} <select name="{name}">{options}</select></label>'
    fields += f'<input type=hidden name=sort value="{escape(asked["sort"])}">' if asked.get("sort") else ""
    return f'<form class="row end" role=search>{fields}<button class=button>Show</button></form>\n'


def table(board: Mapping[str, Any], entries: list[dict[str, str]], asked: Texts) -> str:
    """The entries with a place first, then each further section under its name."""
    heads, bodies, kept = "", "", [(name, value) for name, value in asked.items() if name != "sort"]
    for column, text in board["columns"]:
        now = {column: "ascending", f"-{column}": "descending"}.get(asked.get("sort", ""))
        link = escape(urlencode([*kept, ("sort", f"-{column}" if now == "ascending" else column)]))
        heads += f'<th scope=col{f" aria-sort={now}" if now else ""}><a class=sort href="?{link}">{escape(text)}</a>'
    for section in board["sections"]:
        rows = "".join(row(board, entry) for entry in entries if entry["section"] == section)
        head = f"<tr class=group><th scope=rowgroup colspan={len(board['columns'])}>{escape(section)}\n"
        bodies += f"<tbody>{head if section else ''}{rows}" if rows else ""
    start = '<div class="table tall board" role=region aria-label=Entries tabindex=0><table>'
    return f"{start}<thead><tr>{heads}\n{bodies}</table></div>\n"


def row(board: Mapping[str, Any], entry: Texts) -> str:
    """One entry. Its description is the name of the row, and leads to its own page."""
    note = f"<br><small>{escape(entry['note'])}</small>" if entry["note"] else ""
    cells = {name: f"<td>{escape(text)}" for name, text in entry.items()}
    cells["mark"] = f"<td>{MARKS[entry['mark']]}"
    cells["description"] = f"<th><a href=e/{entry['id']}>{escape(entry['description'])}</a>{note}"
    cells |= {name: f'<td><a href="{escape(entry[name])}">{name}</a>' for name in ("paper", "code") if entry[name]}
    return f"<tr>{''.join(cells[name] for name, _text in board['columns'])}\n"


if __name__ == "__main__":
    opened = zipfile.Path(sys.argv[1]) if Path(sys.argv[1]).is_file() else Path(sys.argv[1])
    files = {name: (opened / name).read_bytes() for name in ("board.json", "entries.csv", "frame.html")}
    sys.stdout.buffer.write(page(files, *sys.argv[2:3]))
