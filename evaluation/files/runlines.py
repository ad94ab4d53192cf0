"""The lines of a run as columns: a vectorised way for blocks that are clean, a plain one that explains the others.

Both read the same language; `tests/evaluation/test_runlines.py` holds them to it. Columns are separated by spaces and
tabs, in any number; a CR before the newline belongs to the line end. Ids are kept byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from evaluation.files.kinds import LARGEST, Mistyped, to_id, to_rank, to_score
from evaluation.files.textfiles import BOM, ID_BYTES, Block, counted, encoding_problem, split_block

_PART = 128 << 10  # bytes

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f]")


class Format(NamedTuple):
    """What a line of a run holds. `score` is None where the format has no scores."""

    name: str
    columns: tuple[str, ...]
    query: int
    passage: int
    rank: int
    score: int | None


TREC = Format("TREC", ("query", "Q0", "passage", "rank", "score", "tag"), query=0, passage=2, rank=3, score=4)
MS_MARCO = Format("MS MARCO", ("query", "passage", "rank"), query=0, passage=1, rank=2, score=None)


@dataclass(slots=True)
class Rows:
    """Lines of a run, column by column, all of one length. Ids are Arrow binary arrays; MS MARCO's scores are all 0."""

    queries: Any
    passages: Any
    ranks: NDArray[np.int64]
    scores: NDArray[np.float64]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lines)

    def slice(self, start: int, stop: int) -> Rows:
        """The rows from `start` up to `stop`, without a copy."""
        return Rows(
            self.queries.slice(start, stop - start),
            self.passages.slice(start, stop - start),
            self.ranks[start:stop],
            self.scores[start:stop],
            self.lines[start:stop],
        )

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """The rows of these numbers, in their order."""
        return Rows(
            self.queries.take(pa.array(rows)),
            self.passages.take(pa.array(rows)),
            self.ranks[rows],
            self.scores[rows],
            self.lines[rows],
        )


def joined(parts: list[Rows]) -> Rows:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    return Rows(
        pa.concat_arrays([part.queries for part in parts]),
        pa.concat_arrays([part.passages for part in parts]),
        np.concatenate([part.ranks for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.lines for part in parts]),
    )


@dataclass(slots=True)
class Seen:
    """How many lines had what is read without complaint."""

    crlf: int = 0
    tabs: int = 0
    extra_spaces: int = 0


@dataclass(slots=True)
class Parsed:
    """What a block held: its good rows, and (line, message) of every line that is none."""

    rows: Rows
    tally: Seen
    errors: list[tuple[int, str]] = field(default_factory=list)


def detect_format(block: Block) -> Format:
    """TREC or MS MARCO, by the column count that most of the first thousand lines have. TREC if they have neither."""
    lines = block.data[: 256 << 10].split(b"\n", 1000)[:1000]
    counts = Counter(len(_split(line.removesuffix(b"\r"))) for line in lines)
    return MS_MARCO if counts[len(MS_MARCO.columns)] > counts[len(TREC.columns)] else TREC


def parse(block: Block, form: Format) -> Iterator[Parsed]:
    """The block's rows and errors, in one part or in several: where a line needs a closer look, its neighbours do not.

    Small parts also let the caller stop early, before a hostile file's errors fill the memory.
    """
    if whole := parse_fast(block, form):
        yield whole
        return
    for part in split_block(block, _PART):
        yield parse_fast(part, form) or parse_plainly(part, form)


def parse_plainly(block: Block, form: Format) -> Parsed:
    """Line by line, with a reason for every line that is no line of a run."""
    rows: list[tuple[bytes, bytes, int, float, int]] = []
    errors: list[tuple[int, str]] = []
    tally = Seen()
    data = block.data[:-1] if block.data.endswith(b"\n") else block.data
    for number, raw in enumerate(data.split(b"\n"), block.line):
        line = raw.removesuffix(b"\r")
        tally.crlf += len(line) < len(raw)
        tally.tabs += b"\t" in line
        split = _split(line)
        tally.extra_spaces += sum(map(len, split)) + max(len(split) - 1, 0) < len(line)
        parsed = _line(line, split, form)
        if isinstance(parsed, str):
            errors.append((number, parsed))
            continue
        rows.append((split[form.query], split[form.passage], *parsed, number))
    return Parsed(rows_of(rows), tally, errors)


def rows_of(rows: list[tuple[bytes, bytes, int, float, int]]) -> Rows:
    """Rows from a query, a passage, a rank, a score and a line each."""
    queries, passages, ranks, scores, lines = zip(*rows, strict=True) if rows else ((),) * 5
    return Rows(
        pa.array(queries, pa.binary()),
        pa.array(passages, pa.binary()),
        np.array(ranks, np.int64),
        np.array(scores, np.float64),
        np.array(lines, np.int64),
    )


def parse_fast(block: Block, form: Format) -> Parsed | None:
    """The whole block at once, or None where anything in it needs a closer look."""
    data = block.data if block.data.endswith(b"\n") else block.data + b"\n"
    tidy = _tidy(data, block.lines)
    if tidy is None:
        return None
    data, tally = tidy
    if data.startswith(BOM):  # Arrow would drop it; at the start of a file it is gone already, elsewhere it is text
        return None
    count = block.lines
    names = list(form.columns)
    columns = [names[form.query], names[form.passage], names[form.rank]]
    types = dict(zip(columns, (pa.binary(), pa.binary(), pa.float64()), strict=True))
    if form.score is not None:
        columns.append(names[form.score])
        types[names[form.score]] = pa.float64()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=" ", quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                check_utf8=False, column_types=types, include_columns=columns, null_values=[]
            ),
        )
    except pa.ArrowInvalid:  # a line with another number of columns, or a rank or score that is no number
        return None
    if table.num_rows != count:
        return None
    rank = _numbers(table[columns[2]])
    if not ((np.abs(rank) <= LARGEST) & (rank == np.floor(rank))).all():  # false for nan as well
        return None
    if form.score is None:
        scores = np.zeros(count, np.float64)
    else:
        scores = _numbers(table[columns[3]])
        if not np.isfinite(scores).all():
            return None
    queries, passages = _whole(table[columns[0]]), _whole(table[columns[1]])
    for ids in (queries, passages):
        if compute.max(compute.binary_length(ids)).as_py() > ID_BYTES:
            return None
    lines = np.arange(block.line, block.line + count, dtype=np.int64)
    rows = Rows(queries, passages, rank.astype(np.int64), scores, lines)
    return Parsed(rows, tally)


def _tidy(data: bytes, count: int) -> tuple[bytes, Seen] | None:
    """The lines with one space between columns and nothing around them, and what had to be changed for it.

    None where that does not make it clean: other control characters, invalid UTF-8, empty lines.
    """
    tally = Seen()
    codes = np.frombuffer(data, np.uint8)
    low = int(np.count_nonzero(codes < 32))
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
    if low != count:
        tab = codes == 9
        tabs = int(np.count_nonzero(tab))
        tally.crlf = int(np.count_nonzero((codes[:-1] == 13) & (codes[1:] == 10)))
        if low != count + tabs + tally.crlf:
            return None
        if tabs:  # without any space, each line has to have tabs, or it has too few columns and is found out later
            tally.tabs = _lines_having(tab, codes) if b" " in data else count
            data = data.replace(b"\t", b" ")
        if tally.crlf:
            data = data.replace(b"\r\n", b"\n")
        codes = np.frombuffer(data, np.uint8)
    gap = codes <= 32
    double = gap[1:] & gap[:-1]
    if gap[0] or double.any():
        extra = np.empty(len(codes), bool)
        extra[0] = gap[0]
        extra[1:] = double
        # The newline after a space belongs to the line before it, as the mark on the newline does; a space after a
        # newline is marked on the space.
        tally.extra_spaces = _lines_having(extra, codes)
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
        gap = np.frombuffer(data, np.uint8) <= 32
        if gap[0] or (gap[1:] & gap[:-1]).any():
            return None  # empty lines
    return data, tally


def _lines_having(mark: NDArray[np.bool_], codes: NDArray[np.uint8]) -> int:
    """How many lines hold a marked byte; a line's newline counts as its own."""
    ends = np.flatnonzero(codes == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    return int(np.count_nonzero(np.logical_or.reduceat(mark, starts)))


def _numbers(column: Any) -> NDArray[np.float64]:
    values: NDArray[np.float64] = column.to_numpy()
    return values


def _whole(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _split(line: bytes) -> list[bytes]:
    return [column for column in line.replace(b"\t", b" ").split(b" ") if column]


def _line(line: bytes, split: list[bytes], form: Format) -> tuple[int, float] | str:
    """Rank and score of the line, or what is wrong with it."""
    if problem := encoding_problem(line):
        return problem
    if control := _CONTROL.search(line):
        return f"a control character (0x{control[0][0]:02X} at byte {control.start() + 1:,} of the line)."
    if len(split) != len(form.columns):
        expected = f"where {'a TREC' if form is TREC else 'an MS MARCO'} run has {len(form.columns)}"
        return f"{counted(len(split), 'column')} {expected} ({' '.join(form.columns)})."
    try:
        for what, place in (("query", form.query), ("passage", form.passage)):
            to_id(split[place].decode(), what)
        rank = to_rank(split[form.rank].decode(), "rank")
        return rank, 0.0 if form.score is None else to_score(split[form.score].decode(), "score")
    except Mistyped as error:
        return str(error)
