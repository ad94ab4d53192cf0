"""What a file holds, by its first rows: so that somebody can send a whole folder."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO, Literal, NamedTuple

from evaluation.errors import BadInput
from evaluation.files import parquetfiles
from evaluation.files.archives import is_archive
from evaluation.files.dialects import KINDS, TABLE, columns_of, dialect_of
from evaluation.files.kinds import Mistyped, to_grade
from evaluation.files.tables import JSON_START, NESTED, Record, is_nested, open_table
from evaluation.files.textfiles import LIMITS, Damaged, TextFile, columns, other_format, quote_value, unpack

Kind = Literal["queries", "passages", "qrels", "run", "preferences", "judgments", "archive", "unknown"]

ROWS = 500
HEAD = 4 << 20  # bytes that are looked at: they are held in memory while somebody waits
QUERY_WORDS = 20  # texts that have more of them on average are passages
_METADATA = "# ir_metadata.start"
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_GRADE = re.compile(r"[+-]?[0-9]+(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_QUERY_NAME = re.compile(r"quer|topic|question", re.IGNORECASE)
_PASSAGE_NAME = re.compile(r"passage|corpus|collection|document|docs", re.IGNORECASE)
_OF_QUERIES = frozenset({"qid", "query_id", "query-id", "q_id", "query", "question"})
_OF_PASSAGES = frozenset(
    {"pid", "passage_id", "docid", "doc_id", "docno", "corpus-id", "passage", "contents", "segment", "body", "title"}
)
_NO_NAMES = "grades rather than ranks, without a line of names: write “query-id corpus-id score” above them"


class Recognized(NamedTuple):
    """What a file seems to be: its kind, the dialect that it is in, in words, the columns that were seen, and what is
    odd about it.
    """

    kind: Kind
    dialect: str = ""
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """By what it was seen, in a line."""
        dialect = f"{self.dialect} ({', '.join(self.columns[:8])})" if self.columns and self.dialect else self.dialect
        return "; ".join([dialect, *self.notes] if dialect else self.notes)


def recognize(source: BinaryIO, name: str) -> Recognized:
    """What a file seems to hold, by its first rows, unpacked; its name decides where these leave a choice.

    `source` must be seekable, and is read from its start; where it is afterwards is not said.
    """
    source.seek(0)
    try:
        if parquetfiles.is_parquet(source):
            return _parquet(source, name)
        if is_archive(source):
            return Recognized("archive", "an archive of files")
        source.seek(0)
        head, is_whole = _head(source)
        if not is_whole:  # up to its last whole line, or character
            head = head[: head.rfind(b"\n") + 1] or head.decode(errors="ignore").encode()
        if what := other_format(head):
            return Recognized("unknown", notes=(f"is {what}",))
        lines = _lines(head, name)
    except (BadInput, Damaged) as error:
        message = error.message if isinstance(error, BadInput) else str(error)
        return Recognized("unknown", notes=(message.rstrip("."),))
    if not lines:
        return Recognized("unknown", notes=("the file is empty",))
    first = lines[0]
    if first.startswith(_METADATA):
        return Recognized("run", "an ir_metadata header")
    if JSON_START.match(first):
        return _json(lines, name)
    try:
        return _table(lines, name) or _columns(lines) or _texts(lines, name) or _unknown(first)
    except BadInput as error:
        return _columns(lines) or _texts(lines, name) or Recognized("unknown", notes=(error.message.rstrip("."),))


def _unknown(first: str) -> Recognized:
    return Recognized("unknown", notes=(f"begins with “{quote_value(first, 40)}”",))


def _head(source: BinaryIO) -> tuple[bytes, bool]:
    """The first bytes, unpacked, and whether these are all. What is damaged later on still begins."""
    parts, size = list[bytes](), 0
    chunks = unpack(source, LIMITS)
    while size < HEAD:
        try:
            chunk = next(chunks, b"")
        except Damaged:
            if not size:
                raise
            return b"".join(parts), False
        if not chunk:
            return b"".join(parts), True
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)[:HEAD], False


def _lines(head: bytes, name: str) -> list[str]:
    """The first lines that are not blank. Raises BadInput where the first is no text."""
    lines: list[str] = []
    try:
        for _number, row in TextFile(io.BytesIO(head), name=name).rows():
            if row.strip():
                lines.append(row)
            if len(lines) == ROWS:
                break
    except BadInput:
        if not lines:
            raise
    return lines


# --- by names


def _parquet(source: BinaryIO, name: str) -> Recognized:
    names = parquetfiles.open_parquet(source, name).schema_arrow.names
    kinds = [kind for kind in KINDS if dialect_of(names, (kind,))]
    if not kinds:
        return Recognized("unknown", "Parquet", tuple(names))
    source.seek(0)
    with open_table(source, *kinds, name=name) as table:
        return _by_names(names, [record for _at, record in islice(table.records(), ROWS)], name)


def _table(lines: Sequence[str], name: str) -> Recognized | None:
    """What a first line of names says; None if it is none."""
    content = io.BytesIO("\n".join(lines).encode())
    with open_table(content, *KINDS, name=name) as table:
        if table.form != "named lines":
            return None
        rows: list[Record] = []
        notes: tuple[str, ...] = ()
        try:
            rows.extend(record for _at, record in islice(table.records(), ROWS))
        except BadInput as error:  # a file with errors is still what it is
            place = "" if error.line is None else f"line {error.line:,}: "
            notes = (place + error.message.removesuffix("."),)
        by_names = _by_names(table.columns, rows, name)
        return by_names._replace(notes=by_names.notes + notes)


def _json(lines: Sequence[str], name: str) -> Recognized:
    records = _records(lines)
    if records and is_nested(records[0], tuple(KINDS)):
        pairs = ((query, hits) for record in records for query, hits in record.items() if isinstance(hits, dict))
        rows = [dict(zip(NESTED, (query, *hit), strict=True)) for query, hits in pairs for hit in hits.items()]
        return _by_names(NESTED, rows[:ROWS], name)._replace(dialect="ranx")
    names = dict.fromkeys(key for record in records for key in record)
    return _by_names(tuple(names), records, name) if names else Recognized("unknown", "JSON without records")


def _records(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The first objects of JSON, as far as they are whole: of lines, of a list, or the members of one object."""
    objects = [value for line in lines if isinstance(value := _value(line), dict)]
    if objects:
        return objects
    text, at, decode = "\n".join(lines).lstrip(), 1, json.JSONDecoder().raw_decode
    members: dict[str, Any] = {}
    try:
        while len(objects) + len(members) < ROWS:
            value, at = decode(text, _next(text, at))
            if text.startswith("["):
                objects.append(value)
            elif not isinstance(value, str):  # what is no member of an object, nor JSON
                break
            else:
                members[value], at = decode(text, _next(text, at))
    except (ValueError, RecursionError, TypeError):
        pass
    return [members] if members else [value for value in objects if isinstance(value, dict)]


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,:":
        at += 1
    return at


def _by_names(names: Sequence[str], rows: Sequence[Any], name: str) -> Recognized:
    """What records with these names are; `rows` are the first of them."""
    called = {column.strip().casefold() for column in names}
    kinds = [kind for kind in KINDS if columns_of(KINDS[kind], names)]
    kind: Kind = "unknown"
    judged = dialect_of(names, ("judgments",))
    if judged and not judged.by_roles:
        kind = "judgments"
    elif "judgments" in kinds:
        kind = "judgments" if columns_of(KINDS["judgments"], names)[1][4] else "preferences"  # type: ignore[index]
    elif "run" in kinds or "qrels" in kinds:
        kind = _run_or_qrels(names, kinds, rows)
    elif "queries" in kinds or "passages" in kinds:
        is_queries, is_passages = bool(called & _OF_QUERIES), bool(called & _OF_PASSAGES)
        if is_queries != is_passages and ("queries" if is_queries else "passages") in kinds:
            kind = "queries" if is_queries else "passages"
        else:
            kind = _by_length([text for row in rows for text in row.values() if isinstance(text, str)], name)
            kind = kind if kind in kinds else "queries" if "queries" in kinds else "passages"
    if kind == "unknown":
        return Recognized(kind, columns=tuple(names), notes=("has no columns of a kind that is read",))
    dialect = dialect_of(names, (kind,))
    used = columns_of(KINDS[kind], names)
    rest = [column for column in names if used and column not in used.names] if kind in ("queries", "passages") else []
    notes = (f"left out: {', '.join(rest)}",) if rest else ()
    return Recognized(kind, dialect.name if dialect else TABLE, tuple(names), notes)


def _run_or_qrels(names: Sequence[str], kinds: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Kind:
    run, qrels = dialect_of(names, ("run",)), dialect_of(names, ("qrels",))
    if not (run and qrels):
        return "run" if run else "qrels"
    if run.name != qrels.name and TABLE in (run.name, qrels.name):  # names that are a tool's for one of the two
        return "run" if qrels.name == TABLE else "qrels"
    columns = columns_of(KINDS["qrels"], names)
    grade = columns.names[2] if columns else None
    if any(column.casefold() == "rank" for column in names):
        return "run"
    return "qrels" if grade and rows and all(_is_grade(row.get(grade)) for row in rows) else "run"


def _is_grade(value: object) -> bool:
    try:
        to_grade(value, "")
    except Mistyped:
        return False
    return not isinstance(value, str) or "." not in value


# --- by what lines look like


def _columns(lines: Sequence[str]) -> Recognized | None:
    """A run, qrels, preferences or judgments, if half of the lines have their form: a file with errors is still what
    it is.
    """
    split = [columns(line) for line in lines]

    def most(form: Callable[[list[str]], object]) -> bool:
        return sum(bool(form(row)) for row in split) * 2 >= len(split)

    judged = KINDS["judgments"].orders[0]
    if most(lambda row: len(row) in (5, 6) and row[3] in row[1:3] and row[1] != row[2]):
        return Recognized("judgments", "query, two passages, the one that is preferred, and who said so", judged)
    if most(lambda row: len(row) == 6 and _WHOLE.fullmatch(row[3]) and _NUMBER.fullmatch(row[4])):
        return Recognized("run", "TREC", ("query", "Q0", "passage", "rank", "score", "tag"))
    if most(lambda row: len(row) == 4 and row[3] in (*row[1:3], "=") and row[1] != row[2]):
        return Recognized("preferences", "query, two passages, and the one that is preferred", judged[:4])
    if most(lambda row: len(row) == 4 and row[1] in ("0", "Q0") and _GRADE.fullmatch(row[3])) or most(
        lambda row: len(row) == 4 and _WHOLE.fullmatch(row[3]) and not _WHOLE.fullmatch(row[2])
    ):
        return Recognized("qrels", "TREC", ("query", "0", "passage", "grade"))
    if most(lambda row: len(row) == 3 and _WHOLE.fullmatch(row[2])):
        if _repeats(row for row in split if len(row) == 3):
            return Recognized("qrels", "BEIR", ("query", "passage", "grade"), (_NO_NAMES,))
        return Recognized("run", "MS MARCO", ("query", "passage", "rank"))
    return None


def _repeats(rows: Iterator[list[str]]) -> bool:
    """Whether what would be ranks come twice in most queries that have several."""
    of: dict[str, list[str]] = {}
    for query, _passage, rank in rows:
        of.setdefault(query, []).append(rank)
    several = [ranks for ranks in of.values() if len(ranks) > 1]
    return sum(len(set(ranks)) < len(ranks) for ranks in several) * 2 > len(several)


def _texts(lines: Sequence[str], name: str) -> Recognized | None:
    pairs = [line.partition("\t") for line in lines]
    texts = [text for id_, tab, text in pairs if tab and id_ and id_.split() == [id_] and text.strip()]
    if len(texts) * 2 < len(lines):
        return None
    return Recognized(_by_length(texts, name), "an id, a tab and a text", ("id", "text"))


def _by_length(texts: Sequence[str], name: str) -> Kind:
    named_query, named_passage = bool(_QUERY_NAME.search(name)), bool(_PASSAGE_NAME.search(name))
    if named_query != named_passage:
        return "queries" if named_query else "passages"
    words = sum(len(text.split()) for text in texts) / max(len(texts), 1)
    return "queries" if words <= QUERY_WORDS else "passages"


__all__ = ["Kind", "Recognized", "recognize"]
