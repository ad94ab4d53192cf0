"""The CSV files of the two MS MARCO leaderboards, read by the names of their columns.

Documents: `id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet`. Passages:
`id,,description,team,paper,code,type,date,eval,dev,tweet`; earlier without the tweet, or without the id. The column of
the marks has no name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from evaluation.boards.checking import LINKS, TYPES, tidy_link
from evaluation.boards.entries import Entry, Mark
from evaluation.errors import BadInput
from evaluation.files.runs import LineError
from evaluation.files.textfiles import Limits, Source, TextFile, counted, name_of, quote_value

CSV_LIMITS = Limits(line=1 << 20, size=64 << 20)
ROWS_MOST = 100_000
_NEEDED = ("date", "description", "team", "eval")
_KNOWN = ("id", "", "description", "team", "paper", "code", "type", "date", "eval", "dev", "tweet")
_MARKS: dict[str, Mark] = {"": "", "🏆": "trophy", "🏛": "baseline"}
_SCORE_COLUMN = re.compile(r"(?P<measure>.+?)\s*\((?P<set>dev|eval)\)", re.IGNORECASE)
_DATE = re.compile(r"([0-9]{4})[/-]([0-9]{1,2})[/-]([0-9]{1,2})", re.ASCII)
_SCORE = re.compile(r"[01](\.[0-9]{0,12})?|\.[0-9]{1,12}", re.ASCII)
_MISSPELT = {"reraking": "reranking"}


@dataclass(frozen=True)
class BoardFile:
    """What a CSV file holds.

    `entries`: in the order of the file. `lines`: the line on which each begins, by key. `measure`: as the columns of
    the scores name it, empty where they do not. `notes`: what was mended, by line.
    """

    entries: tuple[Entry, ...]
    lines: dict[str, int]
    measure: str
    notes: tuple[LineError, ...]


class _Record(NamedTuple):
    line: int
    fields: list[str]


def read_board(source: Source, *, name: str | None = None) -> BoardFile:
    """Read either file. Entries without an id, or with that of a row before (in any case), get `import-` and the number
    of their row, from 1.

    Raises BadInput, with the line, where a column that is needed lacks, a row has more fields than there are columns, a
    date, score or mark is none, a quote is not closed, or the file is no text.
    """
    name = name_of(source) if name is None else name
    records = _records(list(TextFile(source, name=name, limits=CSV_LIMITS).rows()), name)
    header = next(records, None)
    if header is None:
        raise BadInput(name, 1, "no line that names the columns.")
    columns, measure = _columns(header, name)
    notes: list[LineError] = []
    entries: list[Entry] = []
    lines: dict[str, int] = {}
    first_rows: dict[str, int] = {}
    for row, record in enumerate(records, start=1):
        if row > ROWS_MOST:
            raise BadInput(name, record.line, f"more than {ROWS_MOST:,} rows.")
        fields = [field.strip() for field in record.fields]
        if len(fields) < len(columns):
            missing = len(columns) - len(fields)
            notes.append(LineError(record.line, f"{counted(missing, 'field')} at the end lack: taken as empty."))
            fields += [""] * missing
        values = dict(zip(columns, fields, strict=True))
        entry = _entry(values, row, record.line, name, notes)
        earlier = first_rows.setdefault(entry.key.casefold(), record.line)
        if earlier != record.line:
            again = f"id {quote_value(entry.key)} a second time (first on line {earlier:,})"
            entry = replace(entry, key=f"import-{row}")
            if first_rows.setdefault(entry.key.casefold(), record.line) != record.line:
                raise BadInput(name, record.line, f"{again}, and {entry.key} is taken too.")
            notes.append(LineError(record.line, f"{again}: taken as {entry.key}."))
        lines[entry.key] = record.line
        entries.append(entry)
    return BoardFile(tuple(entries), lines, measure, tuple(notes))


def _columns(header: _Record, name: str) -> tuple[list[str], str]:
    """The columns by their plain names, and the measure."""
    columns, measure = [], ""
    for title in header.fields:
        column = title.strip().casefold()
        if match := _SCORE_COLUMN.fullmatch(title.strip()):
            column, measure = match["set"].casefold(), match["measure"]
        if column not in _KNOWN:
            names = ", ".join(filter(None, _KNOWN))
            raise BadInput(
                name, header.line, f"column {quote_value(title)} where there are {names}, and one without a name."
            )
        if column in columns:
            quoted = f"column {quote_value(title)}" if column else "a column without a name"
            raise BadInput(name, header.line, f"{quoted} a second time.")
        columns.append(column)
    for needed in _NEEDED:
        if needed not in columns:
            message = f"no column {needed}: is it the CSV file of an MS MARCO leaderboard?"
            raise BadInput(name, header.line, message)
    return columns, measure


def _entry(values: dict[str, str], row: int, line: int, name: str, notes: list[LineError]) -> Entry:
    kind = " ".join(values.get("type", "").split())
    if kind in _MISSPELT:
        notes.append(LineError(line, f"type {quote_value(kind)} is taken as {_MISSPELT[kind]}."))
        kind = _MISSPELT[kind]
    elif kind and kind not in TYPES:
        notes.append(LineError(line, f"type {quote_value(kind)} is neither {' nor '.join(TYPES)}: it is kept."))
    mark = values.get("", "").replace("\ufe0f", "")
    if mark not in _MARKS:
        raise BadInput(name, line, f"mark {quote_value(mark)} where 🏆, 🏛 or nothing is needed.")
    return Entry(
        key=values.get("id", "") or f"import-{row}",
        date=_date(values["date"], line, name),
        mark=_MARKS[mark],
        description=values["description"],
        team=values["team"],
        paper=_link("paper", values, line, notes),
        code=_link("code", values, line, notes),
        type=kind,
        dev=_score("dev", values, line, name),
        eval=_score("eval", values, line, name),
        link=_tweet(values, line, notes),
    )


def _date(text: str, line: int, name: str) -> date:
    match = _DATE.fullmatch(text)
    try:
        if match:
            return date(*map(int, match.groups()))
    except ValueError:
        pass
    raise BadInput(name, line, f"date {quote_value(text)} where one of the form yyyy/mm/dd is needed.")


def _score(column: str, values: dict[str, str], line: int, name: str) -> Decimal | None:
    text = values.get(column, "")
    if not text:
        return None
    if not _SCORE.fullmatch(text) or Decimal(text) > 1:
        raise BadInput(name, line, f"{column} score {quote_value(text)} where a number from 0 to 1 is needed.")
    return Decimal(text)


def _link(column: str, values: dict[str, str], line: int, notes: list[LineError]) -> str:
    text = values.get(column, "")
    try:
        link = LINKS.get(column, tidy_link)(text)
    except ValueError:
        notes.append(LineError(line, f"{column} {quote_value(text)} is not a link: left out."))
        return ""
    if link != text:
        notes.append(LineError(line, f"{column} {quote_value(text)} is taken as {quote_value(link)}."))
    return link


def _tweet(values: dict[str, str], line: int, notes: list[LineError]) -> str:
    text = values.get("tweet", "")
    if re.fullmatch(r"[0-9]{1,20}", text, re.ASCII):
        return f"https://twitter.com/i/status/{text}"
    return _link("tweet", values, line, notes)


def _records(rows: list[tuple[int, str]], name: str) -> Iterator[_Record]:
    """The records with the line that each begins on. The first is the header, which says how many fields there are.

    Quotes within quotes are doubled, as in RFC 4180; a record that does not come out so is read again with `\\"` for a
    quote.
    """
    at, width = 0, 0
    while at < len(rows):
        line, text = rows[at]
        if not text.strip():
            at += 1
            continue
        plain = _split(rows, at, escapes=False)
        wrong = plain is None or (width and len(plain[0]) > width)
        odd = plain is None or '\\"' in "\n".join(text for _, text in rows[at : plain[1]])
        if odd and (wrong or (plain and width and len(plain[0]) != width)):
            escaped = _split(rows, at, escapes=True)
            if escaped and (plain is None or not width or len(escaped[0]) <= width):
                plain = escaped
        if plain is None:
            raise BadInput(name, line, "a quote that is not closed, or is followed by text.")
        fields, at = plain
        if width and len(fields) > width:
            raise BadInput(name, line, f"{counted(len(fields), 'field')} where there are {counted(width, 'column')}.")
        width = width or len(fields)
        yield _Record(line, fields)


def _split(rows: list[tuple[int, str]], start: int, *, escapes: bool) -> tuple[list[str], int] | None:
    """The fields of the record that begins at row `start`, and the row after it. None where its quotes are wrong."""
    fields: list[str] = []
    at, text = start, rows[start][1]
    place = 0
    while True:
        if text[place : place + 1] != '"':
            end = text.find(",", place)
            fields.append(text[place : end if end >= 0 else len(text)])
            if end < 0:
                return fields, at + 1
            place = end + 1
            continue
        field, place = "", place + 1
        while True:
            quote = text.find('"', place)
            if quote < 0:  # the field goes on in the next line
                field += text[place:] + "\n"
                at, place = at + 1, 0
                if at == len(rows):
                    return None
                text = rows[at][1]
            elif escapes and text[quote - 1 : quote] == "\\" and quote > place:
                field += text[place : quote - 1] + '"'
                place = quote + 1
            elif text[quote + 1 : quote + 2] == '"':
                field += text[place:quote] + '"'
                place = quote + 2
            else:
                field += text[place:quote]
                place = quote + 1
                break
        fields.append(field)
        if place == len(text):
            return fields, at + 1
        if text[place] != ",":
            return None
        place += 1
