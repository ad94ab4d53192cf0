"""What a submission has to be: its id, its metadata, its two runs.

The participant's check is the organizers' check: neither needs the hidden qrels.
"""

from __future__ import annotations

import json
import math
import re
from calendar import monthrange
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute

from evaluation.errors import BadInput
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.notes import Note
from evaluation.files.runs import LineError, RunCheck, check_run
from evaluation.files.textfiles import (
    COLUMN_LIMITS,
    NAMED_LINES,
    Source,
    TextFile,
    columns,
    counted,
    quote_value,
    rereadable,
)

# What happens to a run with fewer hits for a query than the board asks for.
Fewer = Literal["warn", "refuse"]

FULL, RERANKING = "full ranking", "reranking"
TYPES = (FULL, RERANKING)
HITS = 1000
_LINES = ("TREC", "MS MARCO")  # as the census calls what a board takes
EMBARGO_MONTHS = 9
ID_FORM = "yyyymmdd-name, where name is 1 to 40 of the letters a to z and A to Z, digits, _ and -"
_ID = re.compile(r"([0-9]{8})-[A-Za-z0-9_-]{1,40}", re.ASCII)
_DATE = re.compile(r"([0-9]{4})[/-]([0-9]{1,2})[/-]([0-9]{1,2})", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)", re.ASCII)
_COLON = re.compile(r"\s*:")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL, and halves of pairs: no database stores them as text
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|[{}\[\]]')
# A container image by its digest, as registries name it: [host[:port]/]path[:tag]@sha256:digest.
_IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._-]*(:[0-9]{1,5}(?=/))?(/[a-z0-9][a-z0-9._-]*)*(:[\w.-]{1,128})?@sha256:[0-9a-f]{64}", re.ASCII
)
METADATA_BYTES = 64 << 10
LINK_LENGTH = 500
VARIANT_LENGTH = 60
CANDIDATES_DEPTH = 100_000
# The fields of metadata.json and how long they may be, in characters.
TEXTS = {"team": 300, "model_description": 1000, "type": 40}
# What a run costs, by choice: numbers from 0 on, and on what they were measured.
COSTS = ("parameters", "training_hours", "query_latency_ms", "index_gigabytes", "energy_kwh")
HARDWARE = ("training_hardware", "query_hardware")
COST_LIMIT = 1e18  # which a cost is below
HARDWARE_LENGTH = 300


def id_problem(run_id: str, *, arrived: date | None = None) -> str:
    """What is wrong with the id of a submission, or an empty text.

    It is `yyyymmdd-name`. With `arrived` (UTC), its date has to be within one day of that.
    """
    match = _ID.fullmatch(run_id)
    if not match:
        return f"id {quote_value(run_id)} where one of the form {ID_FORM} is needed"
    digits = match[1]
    try:
        day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return f"id {quote_value(run_id)} begins with {digits}, which is no date (yyyymmdd)"
    if arrived is not None and abs(day - arrived) > timedelta(days=1):
        return (
            f"id {quote_value(run_id)} has the date {day:%Y-%m-%d}, which is more than one day from today, "
            f"{arrived:%Y-%m-%d} (UTC)"
        )
    return ""


def latest_embargo(arrived: date, months: int = EMBARGO_MONTHS) -> date:
    """The last date that an embargo may name: the day before so many months after arrival."""
    number = arrived.year * 12 + arrived.month - 1 + months
    year, month = number // 12, number % 12 + 1
    return date(year, month, min(arrived.day, monthrange(year, month)[1])) - timedelta(days=1)


def tidy_link(text: str) -> str:
    """The link, with `https://` where it has no scheme. Raises ValueError where it is not http or https, or no link."""
    link = text.strip()
    if not link:
        return ""
    if link.startswith("//"):
        link = f"https:{link}"
    elif not _SCHEME.match(link):
        link = f"https://{link}"
    if len(link) > LINK_LENGTH:
        raise ValueError(f"a link of {len(link):,} characters, where at most {LINK_LENGTH:,} are allowed")
    try:
        parts = urlsplit(link)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host = ""
    else:
        if parts.scheme.lower() not in ("http", "https"):
            raise ValueError(f"{quote_value(text)} where a link with http or https is needed")
    if not re.fullmatch(r"[^\s\"'<>\\`{}|^]+", link) or "." not in host.strip(".") or not link.isprintable():
        raise ValueError(f"{quote_value(text)} is not a link")
    return link


def tidy_code(text: str) -> str:
    """A link as `tidy_link` has it, or a container image by its digest. Raises ValueError for anything else."""
    image = text.strip()
    if "@sha256:" not in image or "://" in image:
        return tidy_link(text)
    if not _IMAGE.fullmatch(image) or len(image) > LINK_LENGTH:
        message = "where an image needs a name, @sha256: and 64 hexadecimal digits, such as example/ranker@sha256:0123…"
        raise ValueError(f"{quote_value(text)} {message}")
    return image


# The fields of metadata.json that lead elsewhere, and what makes each tidy.
LINKS = {"paper": tidy_link, "code": tidy_code}


def is_anonymous(text: str) -> bool:
    """Whether a name says nothing: empty, without a letter or digit, or "anonymous"."""
    plain = "".join(character for character in text.casefold() if character.isalnum())
    return plain in ("", "anonymous", "anon", "anonym", "unnamed", "none", "na", "tba", "tbd")


@dataclass(frozen=True)
class Metadata:
    """What a participant says about a submission.

    `costs`: what it costs to run, by name (COSTS are numbers, HARDWARE texts), as far as it was told. `extra`: fields
    that are not known here, as JSON values. `embargo_until`: the day on which the entry is revealed (00:00 UTC).
    `variant_of`: the id of an entry from which it differs in a seed or in small settings only.
    """

    team: str
    description: str
    type: str
    paper: str = ""
    code: str = ""
    embargo_until: date | None = None
    costs: Mapping[str, float | str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    variant_of: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As metadata.json has it; `check_metadata` reads it to the same."""
        values: dict[str, Any] = {
            "team": self.team,
            "model_description": self.description,
            "paper": self.paper,
            "code": self.code,
            "type": self.type,
        }
        if self.embargo_until:
            values["embargo_until"] = f"{self.embargo_until:%Y/%m/%d}"
        if self.variant_of:
            values["variant_of"] = self.variant_of
        return {**values, **self.costs, **self.extra}


def plain_cost(value: object) -> str:
    """A cost as people write it: a decimal with up to six places, or the name of hardware; empty where none is told."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class MetadataCheck:
    """The outcome of `check_metadata`: `metadata` is None if there are errors. Notes say what was mended or kept."""

    metadata: Metadata | None
    errors: tuple[LineError, ...]
    notes: tuple[LineError, ...]


def check_metadata(
    content: bytes, *, types: Collection[str] = TYPES, arrived: date | None = None, embargo_months: int = EMBARGO_MONTHS
) -> MetadataCheck:
    """Read metadata.json, with all errors by line. `//` comments are taken.

    `types`: those of the board. `arrived`: the date of arrival (UTC) that an embargo is counted from; None to leave
    its length alone.
    """
    try:
        fields, lines = _read_fields(content)
    except _Unreadable as error:
        return MetadataCheck(None, (LineError(error.line, error.message),), ())
    reader = _FieldReader(fields, lines)
    team, description = reader.named("team"), reader.named("model_description")
    kind = _type(reader, types)
    paper, code = (reader.link(name, tidy) for name, tidy in LINKS.items())
    until = _embargo(reader, arrived, embargo_months)
    variant_of = reader.text("variant_of", VARIANT_LENGTH)
    costs: dict[str, float | str] = {}
    for name in COSTS:
        if (number := reader.number(name)) is not None:
            costs[name] = number
    for name in HARDWARE:
        if text := reader.text(name, HARDWARE_LENGTH):
            costs[name] = text
    for name in reader.fields:
        reader.note(name, f"field {quote_value(name)} is not known here: it is kept.")
    errors, notes = (
        tuple(sorted(messages, key=lambda message: message.line or 0)) for messages in (reader.errors, reader.notes)
    )
    metadata = Metadata(team, description, kind, paper, code, until, costs, reader.fields, variant_of)
    return MetadataCheck(None if errors else metadata, errors, notes)


def _type(reader: _FieldReader, types: Collection[str]) -> str:
    text = reader.text("type", TEXTS["type"])
    by_name = {kind.casefold(): kind for kind in types}
    kind = by_name.get(" ".join(text.split()).casefold(), "")
    if not kind and not reader.failed("type"):
        reader.error("type", f"type {quote_value(text)} where the board has {', '.join(types)}.")
    return kind


def _embargo(reader: _FieldReader, arrived: date | None, months: int) -> date | None:
    text = reader.text("embargo_until", 40)
    if not text:
        return None
    match = _DATE.fullmatch(text)
    try:
        if not match:
            raise ValueError
        until = date(*map(int, match.groups()))
    except ValueError:
        reader.error("embargo_until", f"embargo_until {quote_value(text)} where a date yyyy/mm/dd is needed.")
        return None
    if arrived is not None:
        latest = latest_embargo(arrived, months)
        if until > latest:
            reader.error(
                "embargo_until",
                f"embargo_until {until:%Y/%m/%d} where {latest:%Y/%m/%d} is the latest, the day before {months} months "
                f"after {arrived:%Y/%m/%d}.",
            )
        elif until <= arrived:
            reader.note("embargo_until", f"embargo_until {until:%Y/%m/%d} is not after today: there is no embargo.")
    return until


class _Unreadable(Exception):
    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(line, message)
        self.line = line
        self.message = message


class _FieldReader:
    """Takes fields one by one, with errors by line; what has not been taken stays in `fields`."""

    def __init__(self, fields: dict[str, Any], lines: dict[str, int]) -> None:
        self.fields = fields
        self.lines = lines
        self.errors: list[LineError] = []
        self.notes: list[LineError] = []
        self._failed: set[str] = set()

    def error(self, name: str, message: str) -> None:
        self._failed.add(name)
        self.errors.append(LineError(self.lines.get(name), message))

    def note(self, name: str, message: str) -> None:
        self.notes.append(LineError(self.lines.get(name), message))

    def failed(self, name: str) -> bool:
        return name in self._failed

    def text(self, name: str, most: int) -> str:
        """Empty where the field is missing, null, or wrong."""
        value = self.fields.pop(name, None)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.error(name, f"{name} is {quote_value(json.dumps(value))} where text in quotes is needed.")
            return ""
        text = value.strip()
        if len(text) > most:
            self.error(name, f"{name} has {len(text):,} characters, where at most {most:,} are allowed.")
            return ""
        if not text.isprintable():
            self.error(name, f"{name} has a character that cannot be shown ({quote_value(text)}).")
            return ""
        return text

    def named(self, name: str) -> str:
        is_given = name in self.fields
        text = self.text(name, TEXTS[name])
        if self.failed(name):
            return ""
        if not is_given:
            self.error(name, f"{name} is missing.")
        elif is_anonymous(text):
            self.error(
                name,
                f"{name} is {quote_value(text) or 'empty'}: name it. Under an embargo it is not shown before its date.",
            )
        return text

    def link(self, name: str, tidy: Callable[[str], str]) -> str:
        text = self.text(name, LINK_LENGTH)
        try:
            link = tidy(text)
        except ValueError as error:
            self.error(name, f"{name}: {error}.")
            return ""
        if link != text:
            self.note(name, f"{name} {quote_value(text)} is taken as {quote_value(link)}.")
        return link

    def number(self, name: str) -> float | None:
        value = self.fields.pop(name, None)
        if value is None:
            return None
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < COST_LIMIT
        if not good or not math.isfinite(value):
            self.error(name, f"{name} is {quote_value(json.dumps(value))} where a number from 0 on is needed.")
            return None
        return float(value)


def _texts(value: object) -> Iterator[str]:
    """Every text in what JSON holds, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _refuse_constant(name: str) -> None:
    raise _Unreadable(None, f"{name} where a number is needed: JSON has none of this name.")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise _Unreadable(None, f"{text} where a number is needed that fits into 64 bits.")
    return number


def _read_fields(content: bytes) -> tuple[dict[str, Any], dict[str, int]]:
    """The fields, and the line of each. Raises _Unreadable."""
    if len(content) > METADATA_BYTES:
        raise _Unreadable(None, f"{len(content):,} bytes, where at most {METADATA_BYTES:,} are allowed.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _Unreadable(line, f"invalid UTF-8 (0x{content[error.start]:02X}).") from None
    text = _TOKEN.sub(lambda match: "" if match[0].startswith("//") else match[0], text)
    try:
        fields = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _Unreadable(error.lineno, f"not JSON here ({error.msg}, column {error.colno}).") from None
    except (RecursionError, ValueError):
        raise _Unreadable(1, "JSON too deep or too long to be metadata.") from None
    if code := next(filter(None, map(_UNSTORABLE.search, _texts(fields))), None):
        raise _Unreadable(None, f"\\u{ord(code[0]):04x} where text is needed: no character has this code.")
    if not isinstance(fields, dict):
        raise _Unreadable(1, 'metadata are one object: {"team": "…", "model_description": "…", …}.')
    lines: dict[str, int] = {}
    for name, line in _field_lines(text):
        if name in lines:
            raise _Unreadable(line, f"field {quote_value(name)} a second time (first on line {lines[name]}).")
        lines[name] = line
    return fields, lines


def _field_lines(text: str) -> Iterator[tuple[str, int]]:
    """The fields of the outer object with their lines, in the order of the text, which is JSON."""
    depth, line, start = 0, 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", start, match.start())
        start = match.start()
        part = match[0]
        if part[0] == '"':
            if depth == 1 and _COLON.match(text, match.end()):
                yield json.loads(part), line
        else:
            depth += 1 if part in "{[" else -1


@dataclass(frozen=True)
class FileDiagnostics:
    """What a check says about one run of a submission.

    `queries`: that the board asks for; `missing` and `unknown`: how many of them the run lacks, and how many of the
    run's are not among them, with up to ten ids. `hits_min`, `hits_median`, `hits_max`: of a query. `fewer`, `more`:
    queries with fewer or more hits than `hits`; more are cut. `errors`: the first 100, by line; `error_count`: at least
    how many there are. `artifact` has the first passages of each query; None if there are errors. `metadata`: of an
    ir_metadata header.
    """

    name: str
    format: str
    lines: int
    queries: int
    found: int
    missing: int
    missing_ids: tuple[str, ...]
    unknown: int
    unknown_ids: tuple[str, ...]
    hits: int
    hits_min: int
    hits_median: float
    hits_max: int
    fewer: int
    more: int
    errors: tuple[LineError, ...]
    error_count: int
    warnings: tuple[LineError, ...]
    metadata: Mapping[str, Any]
    artifact: RunArtifact | None

    @property
    def ok(self) -> bool:
        """Whether the run can be evaluated."""
        return not self.error_count

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the run itself."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "artifact"}
        named_errors = {name: [error._asdict() for error in values[name]] for name in ("errors", "warnings")}
        ids = {name: list(values[name]) for name in ("missing_ids", "unknown_ids")}
        return {**values, **named_errors, **ids, "metadata": dict(self.metadata), "ok": self.ok}

    def sentences(self) -> Iterator[str]:
        """What is told to people: what the file holds, then its errors, then its warnings."""
        if self.lines:
            hits = f"{self.hits_min:,} to {self.hits_max:,} hits a query (median {self.hits_median:g})"
            if self.hits_min == self.hits_max:
                hits = f"{counted(self.hits_max, 'hit')} a query"
            yield (
                f"{self.name}: {self.format}, {counted(self.lines, 'line')}, {self.found:,} of {self.queries:,} "
                f"queries, {hits}."
            )
        for line, message in self.errors:
            yield str(BadInput(self.name, line, message))
        if self.error_count > len(self.errors):
            yield f"{self.name}: {counted(self.error_count - len(self.errors), 'more error')}."
        for line, message in self.warnings:
            yield str(BadInput(self.name, line, f"Note: {message}"))


class Diagnostics(NamedTuple):
    """What a check says about a submission's two runs."""

    dev: FileDiagnostics
    eval: FileDiagnostics

    @property
    def ok(self) -> bool:
        """Whether both can be evaluated."""
        return self.dev.ok and self.eval.ok

    def as_dict(self) -> dict[str, Any]:
        """`{"ok", "dev", "eval"}`, ready for JSON."""
        return {"ok": self.ok, "dev": self.dev.as_dict(), "eval": self.eval.as_dict()}

    def sentences(self) -> Iterator[str]:
        """What is told to people."""
        yield from self.dev.sentences()
        yield from self.eval.sentences()


def check_submission(
    dev: Source,
    eval: Source,
    *,
    dev_queries: Collection[str],
    eval_queries: Collection[str],
    hits: int = HITS,
    order: Order = "rank",
    fewer: Fewer = "warn",
    dev_candidates: RunArtifact | None = None,
    eval_candidates: RunArtifact | None = None,
    dev_name: str = "dev.txt.bz2",
    eval_name: str = "eval.txt.bz2",
    keep: int | None = None,
) -> Diagnostics:
    """Check both runs of a submission, each as `check_file` does. Bad input is told in the result, not raised.

    The candidate lists are those of a reranking submission, None for others. Both runs are read at once, each in a
    thread: unpacking and array work let the other one go on.
    """
    shared: dict[str, Any] = {"hits": hits, "order": order, "fewer": fewer, "keep": keep}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(check_file, dev, name=dev_name, queries=dev_queries, candidates=dev_candidates, **shared)
        second = pool.submit(
            check_file, eval, name=eval_name, queries=eval_queries, candidates=eval_candidates, **shared
        )
    return Diagnostics(first.result(), second.result())


def check_file(
    source: Source,
    *,
    name: str,
    queries: Collection[str],
    hits: int = HITS,
    order: Order = "rank",
    fewer: Fewer = "warn",
    candidates: RunArtifact | None = None,
    keep: int | None = None,
) -> FileDiagnostics:
    """Check one run, of MS MARCO's three columns or TREC's six.

    The artifact has the first `keep` passages of each query, or all `hits` without that: fewer take less time.

    Errors, beside what no run may have: by `rank`, two hits of one rank; a run that answers none of the queries; with
    `fewer` set to refuse, queries with fewer hits than `hits`, or none; with `candidates`, passages outside of them.
    A file object has to be seekable.
    """
    with rereadable(source) as again:
        depth = (
            hits if keep is None or candidates is not None else min(keep, hits)
        )  # all are looked for among candidates
        check = check_run(again(), name=name, queries=queries, depth=depth)
        census = check.census
        errors, count = list(check.errors), check.error_count
        if check.artifact is not None:
            board_errors = list(_board_errors(check, queries, hits, order, fewer))
            if candidates is not None:
                outside = outside_candidates(check.artifact, candidates, order)
                board_errors += _named_lines(again(), name, outside)
                count += len(outside) - min(len(outside), NAMED_LINES)
            count += len(board_errors)
            errors = sorted([*errors, *board_errors], key=lambda error: error.line or 0)[:NAMED_LINES]
    return FileDiagnostics(
        name=name,
        format=census.format,
        lines=census.lines,
        queries=len(queries),
        found=census.queries - (census.unknown_queries or 0),
        missing=census.missing_queries or 0,
        missing_ids=tuple(census.missing_query_ids),
        unknown=census.unknown_queries or 0,
        unknown_ids=tuple(census.unknown_query_ids),
        hits=hits,
        hits_min=census.hits_min,
        hits_median=census.hits_median,
        hits_max=census.hits_max,
        fewer=_count(check, queries, np.less, hits),
        more=_count(check, queries, np.greater, hits),
        errors=tuple(errors),
        error_count=count,
        warnings=tuple(_warnings(check, queries, hits, order, fewer)),
        metadata=check.metadata,
        artifact=None if errors else check.artifact,
    )


def _count(check: RunCheck, queries: Collection[str], compare: Any, hits: int) -> int:
    """How many of the board's queries have fewer or more hits, of those that the run answers."""
    if check.artifact is None:
        return 0
    board_queries = set(queries)
    on_board = np.fromiter(
        (query in board_queries for query in check.artifact.queries), bool, len(check.artifact.queries)
    )
    return int(np.count_nonzero(compare(check.artifact.hits, hits) & on_board))


def _board_errors(
    check: RunCheck, queries: Collection[str], hits: int, order: Order, fewer: Fewer
) -> Iterator[LineError]:
    census = check.census
    if census.format not in _LINES:
        yield LineError(1, "a table with names, where a run of 3 columns (MS MARCO) or 6 (TREC) is needed.")
    if order == "rank":
        yield from check.same_rank
    if census.missing_queries == len(queries):
        yield LineError(None, Note("no_query", 0, len(queries)).sentence())
    elif fewer == "refuse":
        if census.missing_queries:
            yield LineError(None, f"{_lacking(check)}, and the board wants all of them.")
        short = _count(check, queries, np.less, hits)
        if short:
            yield LineError(
                None, f"{counted(short, 'query', 'queries')} with fewer than {hits:,} hits, which the board wants."
            )


def _lacking(check: RunCheck) -> str:
    census = check.census
    return f"lacks {_with_ids(census.missing_queries or 0, census.missing_query_ids)}"


def _with_ids(count: int, ids: list[str]) -> str:
    more = " …" if count > len(ids) else ""
    return f"{counted(count, 'query', 'queries')} ({', '.join(map(quote_value, ids))}{more})"


def _warnings(check: RunCheck, queries: Collection[str], hits: int, order: Order, fewer: Fewer) -> Iterator[LineError]:
    census = check.census
    if check.artifact is None:
        return
    if census.missing_queries and fewer == "warn":
        yield LineError(None, f"{_lacking(check)}, which count as 0.")
    if census.unknown_queries:
        unknown = _with_ids(census.unknown_queries, census.unknown_query_ids)
        yield LineError(None, f"{unknown} left out: not among the board's.")
    short, long = (_count(check, queries, compare, hits) for compare in (np.less, np.greater))
    if short and fewer == "warn":
        yield LineError(None, f"{counted(short, 'query', 'queries')} with fewer than {hits:,} hits.")
    if long:
        yield LineError(None, f"{counted(long, 'query', 'queries')} with more than {hits:,} hits: those below are cut.")
    if order == "score" and check.same_score:
        line, message = check.same_score[0]
        yield LineError(
            line, f"{message} {census.tied_hits:,} hits share a score; ties are ordered by passage id, descending."
        )
    for note in check.notes(queries):
        if note.code != "one_score" or order == "score":
            yield LineError(None, note.sentence())


class Outside(NamedTuple):
    """A passage of a reranking run that is not among the query's candidates."""

    query: str
    passage: str


def outside_candidates(run: RunArtifact, candidates: RunArtifact, order: Order = "rank") -> list[Outside]:
    """The passages of a run that are not among the candidates of their query. Queries without candidates have none."""
    codes = _positions(run.passages, candidates.passages)
    rows = _positions(pa.array(run.queries, pa.string()), pa.array(candidates.queries, pa.string()))
    width = max(1, len(candidates.passages))
    allowed = np.repeat(np.arange(len(candidates.queries)), np.diff(candidates.starts)) * width + candidates.by_rank
    flat = run.by_rank if order == "rank" else run.by_score
    query_of = np.repeat(np.arange(len(run.queries)), np.diff(run.starts))
    keys = rows[query_of] * width + codes[flat]
    outside = (codes[flat] < 0) | (rows[query_of] < 0) | ~np.isin(keys, allowed)
    at = np.flatnonzero(outside)
    passages = run.passages.take(pa.array(flat[at])).to_pylist()
    return [
        Outside(run.queries[query], passage) for query, passage in zip(query_of[at].tolist(), passages, strict=True)
    ]


def _positions(ids: Any, among: Any) -> Any:
    positions = arrow_compute.index_in(ids, value_set=among)
    return arrow_compute.fill_null(positions, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _named_lines(source: Source, name: str, outside: list[Outside]) -> list[LineError]:
    """The lines of the first passages that are not among the candidates."""
    sought = set(outside)
    lines: list[LineError] = []
    if not sought:
        return lines
    for line, row in TextFile(source, name=name, limits=COLUMN_LIMITS).rows():
        split = columns(row)
        passage = Outside(split[0], split[1 if len(split) == 3 else 2]) if len(split) in (3, 6) else None
        if passage in sought:
            problem = f"passage {quote_value(passage.passage)} is not among the candidates of query"
            lines.append(LineError(line, f"{problem} {quote_value(passage.query)}, and this is a reranking run."))
            if len(lines) == NAMED_LINES:
                break
    return lines


def read_candidates(source: Source, *, name: str) -> RunArtifact:
    """Candidate lists, given as a run. Raises BadInput."""
    check = check_run(source, name=name, depth=CANDIDATES_DEPTH)
    if check.artifact is None:
        error = check.errors[0]
        raise BadInput(name, error.line, error.message)
    return check.artifact
