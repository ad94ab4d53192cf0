"""Checking a run: one pass that finds every error, takes a census, and keeps what later work needs.

Runs are TREC (`query Q0 passage rank score tag`), MS MARCO (`query passage rank`), or any other table of a query, a
passage, and a score or rank (evaluation.files.tables); which of them is told by the first lines. Ranks are whole
numbers, from any base. Lines of a query may stand apart: they are then sorted on disk.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute

from evaluation.errors import BadInput
from evaluation.files.artifact import RunArtifact
from evaluation.files.dialects import TABLE
from evaluation.files.metadata import UnfinishedHeader, split_header
from evaluation.files.notes import Note, judged_notes, query_notes, run_notes
from evaluation.files.qrels import Qrels
from evaluation.files.rungroups import Ints, Ranked, rank_queries, ranks_by_score, starts_of
from evaluation.files.runlines import MS_MARCO, TREC, Format, Rows, Seen, detect_format, joined, parse, rows_of
from evaluation.files.tables import Table, is_plain, open_table
from evaluation.files.textfiles import (
    COLUMN_LIMITS,
    NAMED_LINES,
    Block,
    Limits,
    Source,
    TextFile,
    counted,
    name_of,
    quote_value,
    rereadable,
)

ERRORS_ENOUGH = 100_000  # a file this wrong is no run: reading it to the end helps nobody
HITS_ENOUGH = 1_000_000  # for one query, whose hits have to be in memory at once
NAMES_KEPT = 10
RUN_LIMITS = COLUMN_LIMITS
_BUCKETS = 32
_BATCH = 50_000  # rows of a table that are in memory as Python has them


class LineError(NamedTuple):
    """What is wrong, and on which line (None where the file could not be opened)."""

    line: int | None
    message: str


@dataclass(slots=True)
class Census:
    """What a run holds, and what about it may surprise. Counts are of good lines only where there are errors.

    `format`: "TREC", "MS MARCO", or for a table the dialect's name (evaluation.files.dialects).
    `hits`: good lines; `hits_min`, `hits_median`, `hits_max`: a query's.
    `rank_base`: the rank that all queries start at, None if they differ. `tied_hits`: hits that share their score with
    another of the query; `queries_with_ties`; `queries_with_top_tie`: where that is so of the two highest scores;
    `queries_with_one_score`: where it is so of all, and there are several.
    `rank_score_conflicts`: queries where the orders `rank` and `score` put different passages first. `rank_ties`: hits
    that share a rank. `out_of_rank_order`: lines with a lower rank than the query's line before. `short_lists`: queries
    with fewer hits than the longest list. `split_queries`: True if some query's lines stand apart. `missing_queries`,
    `unknown_queries`: against the queries given (None if none were), with up to ten of their ids. The rest counts lines
    that were read without complaint: `crlf_lines`, `tab_lines`, `extra_space_lines`. `own_query_hits`: hits that were
    left out, since their passage has the id of the query.
    """

    format: str = TREC.name
    lines: int = 0
    queries: int = 0
    hits: int = 0
    hits_min: int = 0
    hits_median: float = 0
    hits_max: int = 0
    rank_base: int | None = None
    tied_hits: int = 0
    queries_with_ties: int = 0
    queries_with_top_tie: int = 0
    queries_with_one_score: int = 0
    rank_score_conflicts: int = 0
    rank_ties: int = 0
    out_of_rank_order: int = 0
    short_lists: int = 0
    split_queries: bool = False
    missing_queries: int | None = None
    missing_query_ids: list[str] = field(default_factory=list)
    unknown_queries: int | None = None
    unknown_query_ids: list[str] = field(default_factory=list)
    crlf_lines: int = 0
    tab_lines: int = 0
    extra_space_lines: int = 0
    bom: bool = False
    missing_last_newline: bool = False
    own_query_hits: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON, and for storing."""
        return asdict(self)


@dataclass(slots=True)
class RunCheck:
    """The outcome of `check_run`.

    `errors`: the first 100, in line order. `error_count`: how many there are; at least, if `stopped`, which says that
    the file was not read to its end. `metadata`: what an ir_metadata header says, as plain JSON values; empty without
    one, or if there are errors. `artifact`: None if there are errors. `same_rank`, `same_score`: the first 100
    hits that share a rank, or a score, with another of their query. `marks`: lines with a byte order mark, which is
    left out, beside the first.
    """

    name: str
    errors: list[LineError]
    error_count: int
    stopped: bool
    census: Census
    metadata: dict[str, Any]
    artifact: RunArtifact | None
    same_rank: list[LineError]
    same_score: list[LineError]
    marks: int = 0

    @property
    def ok(self) -> bool:
        """Whether the run can be used."""
        return not self.error_count

    def notes(self, queries: Collection[str] = (), qrels: Qrels | None = None) -> list[Note]:
        """What makes its numbers suspicious: of itself, beside the queries asked for, and beside qrels."""
        if self.artifact is None:
            return []
        census = self.census
        notes = run_notes(
            self.artifact, one_score=census.queries_with_one_score, own_left_out=census.own_query_hits, marks=self.marks
        )
        beside = [] if qrels is None else judged_notes(self.artifact, qrels)
        return [*(query_notes(self.artifact, queries) if queries else []), *beside, *notes]

    def complaint(self) -> str:
        """The first error and how many more there are, as one line; empty if there are none."""
        if not self.errors:
            return ""
        line, message = self.errors[0]
        more = self.error_count - 1
        tail = f" {counted(more, 'more error')}{' at least' if self.stopped and more else ''}." if more else ""
        return f"{BadInput(self.name, line, message)}{tail}"


def check_run(
    source: Source,
    *,
    name: str | None = None,
    queries: Collection[str] | None = None,
    depth: int = 100,
    limits: Limits = RUN_LIMITS,
    without_query: bool = False,
) -> RunCheck:
    """Read a run from a path or a binary file object: its errors, its census, its top `depth` passages by query.

    Bad input is not raised but told in the result. With `queries`, the census says which of them the run lacks, and
    which queries of the run are not among them; neither is an error. With `without_query`, hits whose
    passage has the id of the query are left out, as BEIR does. A file object has to be seekable.
    """
    name = name_of(source) if name is None else name
    try:
        with rereadable(source) as again:
            is_fast = is_plain(again(), "run", name=name)
            for grouping in (_in_file_order, _sorted_on_disk):
                check = _Check(TextFile(again(), name=name, limits=limits), depth, without_query)
                check.census.split_queries = grouping is _sorted_on_disk
                try:
                    if is_fast:
                        check.read(grouping)
                    else:
                        with open_table(again(), "run", name=name) as table:
                            check.read(grouping, table)
                    break
                except _Scattered:
                    continue
    except BadInput as error:  # before the first row of a table
        check = _Check(TextFile(source, name=name), depth)
        check.stopped = True
        check.fatal.append(LineError(error.line, error.message))
    return check.result(queries)


class _Scattered(Exception):
    """A query goes on after another one began."""


class _TooManyHits(Exception):
    def __init__(self, query: bytes, line: int) -> None:
        super().__init__(query, line)
        self.query = query
        self.line = line


class _Errors:
    """Counts errors, and keeps the first by line, whatever order they are found in."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[tuple[int, int, str]] = []  # a heap whose head is the last line kept

    def add(self, line: int, message: str) -> None:
        self.count += 1
        entry = (-line, -self.count, message)
        if len(self._kept) < NAMED_LINES:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def first(self) -> list[LineError]:
        return [LineError(-line, message) for line, _, message in sorted(self._kept, reverse=True)]


class _Queries(dict[bytes, int]):
    """Query ids, numbered in the order of their first line."""

    def number(self, query: bytes) -> int:
        return self.setdefault(query, len(self))


class _Check:
    """The state of one pass."""

    def __init__(self, file: TextFile, depth: int, without_query: bool = False) -> None:
        if depth < 1:
            raise ValueError(f"depth {depth} where at least 1 is needed")
        self.file = file
        self.depth = depth
        self.without_query = without_query
        self.form: Format = TREC
        self.called = ""  # what a table is
        self.lines = 0  # of a table
        self.has_ranks = True
        self.census = Census()
        self.errors = _Errors()
        self.fatal: list[LineError] = []
        self.stopped = False
        self.queries = _Queries()
        self.order: list[Ints] = []  # numbers of the queries ranked, in the order they were
        self.ranked: list[Ranked] = []
        self.metadata: dict[str, Any] = {}

    def read(self, grouping: Any, table: Table | None = None) -> None:
        batches = self._rows() if table is None else self._rows_of(table)
        if self.without_query:
            batches = self._others(batches)
        try:
            for rows, numbers, starts in grouping(batches, self.queries):
                self._rank(rows, numbers, starts)
                if self.errors.count >= ERRORS_ENOUGH:
                    self.stopped = True
                    break
        except _TooManyHits as error:
            self.stopped = True
            self.errors.add(
                error.line, f"more than {HITS_ENOUGH:,} hits for query {quote_value(error.query.decode())}."
            )

    def _rank(self, rows: Rows, numbers: Ints, starts: Ints) -> None:
        if not self.has_ranks:
            rows.ranks = ranks_by_score(rows, starts)
        ranked = rank_queries(rows, starts, self.form, self.depth)
        for line, message in ranked.duplicates:
            self.errors.add(line, message)
        self.errors.count += ranked.duplicate_count - len(ranked.duplicates)
        if self.errors.count:  # there will be no artifact
            ranked.passages = None
        self.ranked.append(ranked)
        self.order.append(numbers)

    def _rows(self) -> Iterator[Rows]:
        first = True
        try:
            blocks = self.file.blocks()
            for block in blocks:
                if first:
                    if block.data.startswith(b"#"):
                        block = self._without_header(block, blocks)
                    if not block.data:
                        continue
                    self.form = detect_format(block)
                    first = False
                for parsed in parse(block, self.form):
                    self._see(parsed.tally)
                    for line, message in parsed.errors:
                        self.errors.add(line, message)
                    if self.errors.count >= ERRORS_ENOUGH:
                        self.stopped = True
                        return
                    if len(parsed.rows):
                        yield parsed.rows
            if first:
                self.errors.add(self.file.lines + 1, "no line of a run follows the ir_metadata header.")
        except BadInput as error:
            self._end(error)

    def _rows_of(self, table: Table) -> Iterator[Rows]:
        """Without ranks, those of a query follow from its scores; without scores, ranks are all that there is."""
        self.file = table.file or self.file
        self.called = table.dialect.name if table.dialect else TABLE
        has: tuple[bool, bool] | None = None
        rows: list[tuple[bytes, bytes, int, float, int]] = []
        try:
            for at, record in table.records():
                self.lines = at
                try:
                    query, passage, rank, score = table.row(at, record)
                    has = has or (rank is not None, score is not None)
                    if has != (rank is not None, score is not None):
                        raise table.fault(at, "another rank or score than the first row: all have it, or none.")
                except BadInput as error:
                    if error.line is None:
                        raise
                    self.errors.add(at, error.message)
                    if self.errors.count >= ERRORS_ENOUGH:
                        break
                    continue
                self.has_ranks, self.form = has[0], TREC if has[1] else MS_MARCO
                rows.append((query.encode(), passage.encode(), rank or 0, score or 0.0, at))
                if len(rows) == _BATCH:
                    yield rows_of(rows)
                    rows = []
        except BadInput as error:
            self._end(error)
        if rows:
            yield rows_of(rows)

    def _end(self, error: BadInput) -> None:
        """Keep why the file cannot be read on."""
        self.stopped = True
        if error.line is None:
            self.fatal.append(LineError(None, error.message))
        else:
            self.errors.add(error.line, error.message)

    def _others(self, batches: Iterator[Rows]) -> Iterator[Rows]:
        """The rows without those of the query itself."""
        for rows in batches:
            is_other = arrow_compute.not_equal(rows.queries, rows.passages).to_numpy(zero_copy_only=False)
            self.census.own_query_hits += int(np.count_nonzero(~is_other))
            if is_other.any():
                yield rows if is_other.all() else rows.take(np.flatnonzero(is_other))

    def _without_header(self, block: Block, following: Iterator[Block]) -> Block:
        try:
            self.metadata, rest = split_header(block, self.file.name)
        except UnfinishedHeader:
            next(following, None)  # raises what is wrong with the file itself, where that is why the block ends
            raise
        return rest

    def _see(self, tally: Seen) -> None:
        self.census.crlf_lines += tally.crlf
        self.census.tab_lines += tally.tabs
        self.census.extra_space_lines += tally.extra_spaces

    def result(self, queries: Collection[str] | None) -> RunCheck:
        census = self.census
        count = len(self.queries)
        order = _all(self.order)
        sizes = np.zeros(count, np.int64)
        sizes[order] = _all([ranked.sizes for ranked in self.ranked])
        first_ranks = np.unique(_all([ranked.first_ranks for ranked in self.ranked]))
        census.format = self.called or self.form.name
        census.lines = self.lines or self.file.lines
        census.queries = count
        census.hits = int(sizes.sum())
        if count:
            census.hits_min, census.hits_max = int(sizes.min()), int(sizes.max())
            census.hits_median = float(np.median(sizes))
            census.short_lists = int(np.count_nonzero(sizes < sizes.max()))
        census.rank_base = int(first_ranks[0]) if len(first_ranks) == 1 else None
        for ranked in self.ranked:
            census.tied_hits += int(ranked.tied.sum())
            census.queries_with_ties += int(np.count_nonzero(ranked.tied))
            census.queries_with_top_tie += int(np.count_nonzero(ranked.top_tie))
            census.queries_with_one_score += int(np.count_nonzero(ranked.one_score))
            census.rank_score_conflicts += int(np.count_nonzero(ranked.conflict))
            census.rank_ties += ranked.rank_ties
            census.out_of_rank_order += ranked.out_of_order
        census.bom = self.file.bom
        census.missing_last_newline = self.file.missing_last_newline
        ids = tuple(query.decode() for query in self.queries)
        if queries is not None:
            missing, unknown = sorted(set(queries).difference(ids)), sorted(set(ids).difference(queries))
            census.missing_queries, census.missing_query_ids = len(missing), missing[:NAMES_KEPT]
            census.unknown_queries, census.unknown_query_ids = len(unknown), unknown[:NAMES_KEPT]
        if census.own_query_hits and not count:
            self.fatal.append(LineError(None, "every hit is left out: its passage has the id of its query."))
        errors = (self.fatal + self.errors.first())[:NAMED_LINES]
        return RunCheck(
            name=self.file.name,
            errors=errors,
            error_count=self.errors.count + len(self.fatal),
            stopped=self.stopped,
            census=census,
            metadata={} if errors else self.metadata,
            artifact=None if errors else self._artifact(ids, order, sizes),
            same_rank=_first_lines(ranked.same_rank for ranked in self.ranked),
            same_score=_first_lines(ranked.same_score for ranked in self.ranked),
            marks=self.file.marks,
        )

    def _artifact(self, ids: tuple[str, ...], order: Ints, sizes: Ints) -> RunArtifact:
        bases = np.cumsum([0] + [len(ranked.passages) for ranked in self.ranked], dtype=np.int32)
        encoded = pa.chunked_array([ranked.passages for ranked in self.ranked]).dictionary_encode()
        for ranked in self.ranked:
            ranked.passages = None
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
        passages = encoded.chunk(encoded.num_chunks - 1).dictionary.cast(pa.string())
        del encoded
        # Entries stand in the order in which queries were ranked: bring them to the order of their numbers.
        lengths = _all([ranked.lengths for ranked in self.ranked])
        starts = np.concatenate(([0], np.cumsum(np.minimum(sizes, self.depth))))
        target = np.repeat(starts[order] - np.cumsum(lengths) + lengths, lengths)
        target += np.arange(len(target))
        flat = []
        for which in ("by_score", "by_rank", "by_score_up"):
            entries = [getattr(ranked, which) + base for ranked, base in zip(self.ranked, bases, strict=False)]
            moved = np.empty(len(target), np.int32)
            moved[target] = codes[np.concatenate(entries)]
            flat.append(moved)
        return RunArtifact(self.depth, ids, passages, starts, flat[0], flat[1], sizes, flat[2])


def _first_lines(lines: Iterable[list[tuple[int, str]]]) -> list[LineError]:
    return [LineError(*line) for line in sorted(line for some in lines for line in some)[:NAMED_LINES]]


def _in_file_order(batches: Iterable[Rows], queries: _Queries) -> Iterator[tuple[Rows, Ints, Ints]]:
    """Whole queries as they come: (rows, query numbers, where each starts). Raises _Scattered where one comes again."""
    waiting: list[Rows] = []  # of the last query, which the next batch may go on with
    last = -1
    for rows in batches:
        starts = starts_of(rows.queries)
        ids = rows.queries.take(pa.array(starts)).to_pylist()
        goes_on = bool(waiting) and queries.get(ids[0]) == last
        for query in ids[goes_on:]:
            if query in queries:
                raise _Scattered
            queries.number(query)
        if len(ids) == 1 and goes_on:
            waiting.append(rows)
            if sum(map(len, waiting)) > HITS_ENOUGH:
                raise _TooManyHits(ids[0], int(rows.lines[-1]))
            continue
        final = int(starts[-1])
        whole = joined([*waiting, rows.slice(0, final)]) if waiting else rows.slice(0, final)
        if len(whole):
            begins = starts_of(whole.queries)
            first = last if waiting else len(queries) - len(ids)
            yield whole, np.arange(first, first + len(begins)), begins
        waiting = [rows.slice(final, len(rows))]
        last = len(queries) - 1
    if waiting:
        yield joined(waiting), np.array([last]), np.array([0])


def _sorted_on_disk(batches: Iterable[Rows], queries: _Queries) -> Iterator[tuple[Rows, Ints, Ints]]:
    """Whole queries, in a run whose queries come in pieces: dealt to temporary files, each small enough to sort."""
    schema = pa.schema(
        [
            ("query", pa.binary()),
            ("passage", pa.binary()),
            ("rank", pa.int64()),
            ("score", pa.float64()),
            ("line", pa.int64()),
            ("number", pa.int64()),
        ]
    )
    with tempfile.TemporaryDirectory(prefix="bestknown-run-") as folder:
        paths = [f"{folder}/{bucket}.arrow" for bucket in range(_BUCKETS)]
        writers = [pa.ipc.new_file(path, schema) for path in paths]
        hits = np.zeros(0, np.int64)
        for rows in batches:
            encoded = rows.queries.dictionary_encode()
            query_numbers = np.array([queries.number(query) for query in encoded.dictionary.to_pylist()], np.int64)
            numbers = query_numbers[encoded.indices.to_numpy()]
            counts = np.bincount(numbers, minlength=len(hits))
            counts[: len(hits)] += hits
            hits = counts
            if hits.max() > HITS_ENOUGH:
                raise _TooManyHits(list(queries)[int(hits.argmax())], int(rows.lines[-1]))
            for bucket, writer in enumerate(writers):
                chosen = np.flatnonzero(numbers % _BUCKETS == bucket)
                if chosen.size:
                    part = rows.take(chosen)
                    columns = [part.queries, part.passages, part.ranks, part.scores, part.lines, numbers[chosen]]
                    writer.write_batch(pa.record_batch([pa.array(column) for column in columns], schema=schema))
        for writer in writers:
            writer.close()
        for path in paths:
            with pa.OSFile(path) as stored:
                table = pa.ipc.open_file(stored).read_all()
            if not table.num_rows:
                continue
            numbers = table["number"].to_numpy()
            by_query = np.argsort(numbers, kind="stable")
            numbers = numbers[by_query]
            parts = {column: table[column].combine_chunks() for column in ("query", "passage")}
            arrays = {column: table[column].to_numpy() for column in ("rank", "score", "line")}
            rows = Rows(parts["query"], parts["passage"], arrays["rank"], arrays["score"], arrays["line"]).take(
                by_query
            )
            starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
            yield rows, numbers[starts], starts


def _all(arrays: list[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


__all__ = ["MS_MARCO", "TREC", "Census", "LineError", "RunCheck", "check_run"]


_ENDINGS = (".txt", ".trec", ".tsv", ".csv", ".parquet", ".res", ".gz", ".bz2", ".zst")


def run_name(path: str) -> str:
    """The file's name without endings such as .txt, .trec, .csv, .gz or .zst, in any number."""
    name = Path(path).name
    while True:
        ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending)), "")
        if not ending or len(ending) == len(name):
            return name
        name = name[: -len(ending)]
