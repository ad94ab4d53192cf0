"""What a file holds, by its first lines: so that somebody can send a whole folder."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import BinaryIO, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet

from evaluation.errors import BadInput
from evaluation.files.archives import is_archive
from evaluation.files.pyterrier import PARQUET, header_of, table_of
from evaluation.files.textfiles import LIMITS as FILE_LIMITS
from evaluation.files.textfiles import TextFile, columns, quote_value

Kind = Literal["queries", "passages", "qrels", "run", "preferences", "archive", "unknown"]

LINES = 500
TEXT = 4 << 20  # characters that are looked at: they are held in memory while somebody waits
LIMITS = FILE_LIMITS._replace(line=1 << 20)
QUERY_WORDS = 20  # texts that have more of them on average are passages
_METADATA = "# ir_metadata.start"
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_GRADE = re.compile(r"[+-]?[0-9]+(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_QUERY_NAME = re.compile(r"quer|topic|question", re.IGNORECASE)
_PASSAGE_NAME = re.compile(r"passage|corpus|collection|document|docs", re.IGNORECASE)
_QUERY_KEYS = frozenset({"qid", "query_id", "query"})
_PASSAGE_KEYS = frozenset({"pid", "passage_id", "docid", "doc_id", "docno", "passage", "contents", "segment", "body"})


class Recognized(NamedTuple):
    """What a file seems to be, and by what that was seen, in words."""

    kind: Kind
    why: str


def recognize(source: BinaryIO, name: str) -> Recognized:
    """What a file seems to hold, by its first lines, unpacked; its name decides where these leave a choice.

    `source` must be seekable, and is read from its start; where it is afterwards is not said.
    """
    source.seek(0)
    if source.read(len(PARQUET)) == PARQUET:
        return _parquet(source)
    if is_archive(source):
        return Recognized("archive", "an archive of files")
    source.seek(0)
    lines: list[str] = []
    read = 0
    try:
        for _number, row in TextFile(source, name=name, limits=LIMITS).rows():
            if row.strip():
                lines.append(row)
            read += len(row) + 1
            if len(lines) == LINES or read >= TEXT:
                break
    except BadInput as error:
        if not lines:
            return Recognized("unknown", error.message.rstrip("."))
    return _lines(lines, name) if lines else Recognized("unknown", "the file is empty")


def _parquet(source: BinaryIO) -> Recognized:
    try:
        names = list(parquet.read_schema(source).names)
    except (pa.ArrowException, OSError):
        return Recognized("unknown", "damaged Parquet")
    return _table(names) or Recognized("unknown", f"Parquet with the columns {', '.join(names[:6])}")


def _table(names: Sequence[str]) -> Recognized | None:
    table = table_of(names)
    if table == "results":
        return Recognized("run", "PyTerrier's columns of results")
    return Recognized("qrels", "PyTerrier's columns of qrels") if table else None


def _lines(lines: Sequence[str], name: str) -> Recognized:
    first = lines[0]
    if first.startswith(_METADATA):
        return Recognized("run", "an ir_metadata header")
    if first.lstrip().startswith("{"):
        return _json(lines, name)
    try:
        header = header_of(first)
    except csv.Error:
        header = []
    if header and (table := _table(header)):
        return table
    return _columns(lines) or _texts(lines, name) or Recognized("unknown", f"begins with “{quote_value(first, 40)}”")


def _json(lines: Sequence[str], name: str) -> Recognized:
    keys: Counter[str] = Counter()
    texts: list[str] = []
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            keys.update(value)
            texts.extend(text for text in value.values() if isinstance(text, str) and " " in text)
    if not texts:
        return Recognized("unknown", "JSON without texts")
    if _QUERY_KEYS & keys.keys() and not _PASSAGE_KEYS & keys.keys():
        return Recognized("queries", "JSON lines of queries")
    if _PASSAGE_KEYS & keys.keys():
        return Recognized("passages", "JSON lines of passages")
    return _by_length(texts, name, "JSON lines")


def _columns(lines: Sequence[str]) -> Recognized | None:
    """A run, qrels or preferences, if half of the lines have their form: a file with errors is still what it is."""
    split = [columns(line) for line in lines]

    def most(form: Callable[[list[str]], object]) -> bool:
        return sum(bool(form(row)) for row in split) * 2 >= len(split)

    if most(lambda row: len(row) == 6 and _WHOLE.fullmatch(row[3]) and _NUMBER.fullmatch(row[4])):
        return Recognized("run", "the six columns of TREC")
    if most(lambda row: len(row) == 4 and row[3] in row[1:3] and row[1] != row[2]):
        return Recognized("preferences", "query, two passages, and the one that is preferred")
    if most(lambda row: len(row) == 4 and row[1] in ("0", "Q0") and _GRADE.fullmatch(row[3])):
        return Recognized("qrels", "the four columns of qrels")
    if most(lambda row: len(row) == 4 and _WHOLE.fullmatch(row[3]) and not _WHOLE.fullmatch(row[2])):
        return Recognized("qrels", "four columns that end with a grade")
    if most(lambda row: len(row) == 3 and _WHOLE.fullmatch(row[2])):
        return Recognized("run", "the three columns of MS MARCO")
    return None


def _texts(lines: Sequence[str], name: str) -> Recognized | None:
    pairs = [line.partition("\t") for line in lines]
    texts = [text for id_, tab, text in pairs if tab and id_ and id_.split() == [id_] and text.strip()]
    return _by_length(texts, name, "an id, a tab and a text") if len(texts) * 2 >= len(lines) else None


def _by_length(texts: Sequence[str], name: str, form: str) -> Recognized:
    words = sum(len(text.split()) for text in texts) / len(texts)
    named_query, named_passage = bool(_QUERY_NAME.search(name)), bool(_PASSAGE_NAME.search(name))
    if named_query != named_passage:
        return Recognized("queries" if named_query else "passages", f"{form}, by its name")
    kind: Kind = "queries" if words <= QUERY_WORDS else "passages"
    return Recognized(kind, f"{form}, of {words:.0f} words on average")


__all__ = ["Kind", "Recognized", "recognize"]
