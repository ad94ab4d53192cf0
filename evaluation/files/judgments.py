"""Judgments that were made elsewhere, with whoever made them: lines, and what other tools export.

Formats are told by content: lines `query a b preferred worker time` (prefj's log is the first four columns), lines
`query a b` in which a is preferred (prefj takes these too), the
judgments.tsv of a campaign's exports, Mechanical Turk's results (CSV; answers in columns, or crowd-form's in one of
JSON), Label Studio's exports of Pairwise (JSON, JSON-MIN, CSV or TSV), Potato's output and exports of pairwise and
radio schemes (JSON lines, CSV or TSV).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from evaluation.errors import BadInput
from evaluation.files.preferences import TIE
from evaluation.files.textfiles import ID_BYTES, Source, TextFile, columns, counted, name_of, quote_value

MOST_FAULTS = 100  # that are looked for in a file
TOLD = 10  # of these, in words
Record = TypeVar("Record")
_BY_PREFJ = "query a b, the first preferred"
JSON_BYTES = 200 << 20  # of a file that has to be in memory at once
COLUMNS = ("query", "a", "b", "preferred", "worker", "time")

# By these, the first line of the judgments.tsv of a campaign's exports is known.
_EXPORTED = frozenset({"worker", "kind", "query", "a", "b", "left", "preferred", "made_at", "accepted", "superseded"})

# What tools and people call what a judgment holds.
_QUERY = ("query_id", "qid", "topic_id", "topic", "query")
_LEFT = ("a", "passage_a", "doc_a", "docid_a", "docno_a", "pid_a", "id_a", "left", "left_id", "doc1", "passage1", "id1")
_RIGHT = (
    *("b", "passage_b", "doc_b", "docid_b", "docno_b", "pid_b", "id_b", "right", "right_id", "doc2", "passage2", "id2"),
)
_PREFERRED = ("preferred", "preference", "choice", "answer", "best", "winner", "selection", "label", "category")
_SAYS_LEFT = frozenset({"a", "left", "1", "first"})
_SAYS_RIGHT = frozenset({"b", "right", "2", "second"})
_SAYS_TIE = frozenset({TIE, "tie", "equal", "same", "no preference", "both", "neither"})
_SAYS_NOTHING = frozenset({"", "none"})
_KIND = re.compile(r"^(option|item|passage|response|text|statement|document|answer|result) ")


class Made(NamedTuple):
    """One judgment: a worker preferred `preferred`, which is `a`, shown left as far as anybody knows, or `b`.

    `preferred` is None for a tie. `worker` is empty where the file does not say, and `at` None.
    """

    line: int
    query: str
    a: str
    b: str
    preferred: str | None
    worker: str
    at: datetime | None


@dataclass
class Judgments:
    """What a file holds: the name of its format, and its judgments in file order, to be gone through once.

    `left_out` counts, by reason, what is no judgment: known at the end.
    """

    format: str
    made: Iterator[Made]
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, why: str) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1


def read_judgments(source: Source, *, name: str | None = None) -> Judgments:
    """What a file of judgments holds, in whichever of the formats it is.

    Raises BadInput, also while it is gone through, naming the lines (of Label Studio, the tasks) where something is
    missing, a passage is compared with itself, or neither of the two is preferred: the first ten, and how many there
    are of the first hundred.
    """
    file = TextFile(source, name=name_of(source) if name is None else name)
    rows = ((line, row) for line, row in file.rows() if row.strip())
    line, first = next(rows, (1, ""))
    if not first:
        raise BadInput(file.name, 1, "the file has no lines.")
    every = _with_first((line, first), rows)
    if first.lstrip().startswith("["):
        return _label_studio(every, file.name)
    if first.lstrip().startswith("{"):
        return _potato_json(every, file.name)
    header = _header(first)
    lower = [column.strip().lower() for column in header]
    if set(header) >= _EXPORTED:
        return _exported(every, file.name)
    if {"hitid", "assignmentid", "workerid"} <= set(lower):
        return _mturk(every, file.name)
    if {"annotation_id", "annotator", "lead_time"} <= set(lower):
        return _label_studio_table(every, file.name)
    if "instance_id" in lower and ("user" in lower or "user_id" in lower):
        return _potato_table(every, file.name)
    return _plain(every, file.name)


def _with_first(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _gathered(records: Iterable[Record], read: Callable[[Record], Iterator[Made]]) -> Iterator[Made]:
    """What is read of each record; once something is wrong, only what else is, to tell it all together."""
    faults: list[BadInput] = []
    try:
        for record in records:
            try:
                made = list(read(record))
            except BadInput as fault:
                faults.append(fault)
                if len(faults) == MOST_FAULTS:
                    break
                continue
            if not faults:
                yield from made
    except BadInput as fault:  # with which the records end
        faults.append(fault)
    if faults:
        raise _together(faults)


def _together(faults: Sequence[BadInput]) -> BadInput:
    """The first of some faults, which tells of the others."""
    first, *others = {(fault.line, fault.message): fault for fault in faults}.values()
    if not others:
        return first
    places = (f"line {fault.line:,}: " if fault.line else "" for fault in others)
    told = [place + fault.message.removesuffix(".") for place, fault in zip(places, others[: TOLD - 1], strict=False)]
    at_least = " at least" if len(others) == MOST_FAULTS - 1 else ""
    rest = f"; and {len(others) - len(told):,} more" if len(others) > len(told) else ""
    said = f"{counted(len(others), 'more fault')}{at_least}: {'; '.join(told)}{rest}."
    return BadInput(first.name, first.line, f"{first.message} {said}")


def _header(row: str) -> list[str]:
    try:
        return next(csv.reader([row], delimiter="\t" if "\t" in row else ","), [])
    except csv.Error:
        return []


# --- lines


def _plain(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    def read(numbered: tuple[int, tuple[int, str]]) -> Iterator[Made]:
        number, (line, row) = numbered
        split = [part.strip(" ") for part in row.split("\t")] if row.count("\t") >= 3 else columns(row)
        if number == 0 and split[1:4] == list(COLUMNS[1:4]):
            return
        if len(split) == 3 and (number == 0 or judgments.format == _BY_PREFJ):  # all lines, or none
            judgments.format = _BY_PREFJ
            split = [*split, split[1]]
        elif not 4 <= len(split) <= 6 or judgments.format == _BY_PREFJ:
            needed = "4 to 6 (query a b preferred, and if known worker time)"
            if judgments.format == _BY_PREFJ:
                needed = "3, as the first line (query a b, where a is preferred)"
            raise BadInput(name, line, f"{counted(len(split), 'column')} where judgments have {needed}.")
        query, a, b, preferred, worker, time = [*split, "", ""][:6]
        yield _checked(Made(line, query, a, b, preferred, worker, _time(time, name, line)), name)

    judgments = Judgments("query a b preferred", _gathered(enumerate(rows), read))  # read once `judgments` is there
    return judgments


def _exported(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    def read(record: tuple[int, dict[str, str]]) -> Iterator[Made]:
        line, row = record
        if row["kind"] == "test":
            judgments.leave_out("of test pairs")
        elif row["superseded"] == "true":
            judgments.leave_out("that their worker changed later")
        elif row["accepted"] != "true":
            judgments.leave_out("that do not count")
        else:
            a, b = row["a"], row["b"]
            if row["left"] == b:
                a, b = b, a
            at = _time(row["made_at"], name, line)
            yield _checked(Made(line, row["query"], a, b, row["preferred"], row["worker"], at), name)

    judgments = Judgments("a campaign's judgments.tsv", iter(()))
    judgments.made = _gathered(_records(rows, name), read)
    return judgments


# --- Mechanical Turk


def _mturk(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    known: dict[tuple[str, ...], list[tuple[str, str, str, list[str], str]]] = {}

    def read(numbered: tuple[int, dict[str, str]]) -> Iterator[Made]:
        line, record = numbered
        row = record | _task_answers(record.get(TASK_ANSWERS, ""), name, line)
        if (names := tuple(row)) not in known:
            known[names] = _compared(names, name, line if record.get(TASK_ANSWERS) else 1)
        status = row.get("AssignmentStatus", "")
        if status.lower() == "rejected" or row.get("Reject", "").strip():
            judgments.leave_out("of rejected assignments")
            return
        at = _time(row.get("SubmitTime", ""), name, line)
        for query, left, right, answers, suffix in known[names]:
            if not row[left].strip() and not row[right].strip():
                continue  # the last task of a batch may be shorter
            value = _answer(row, answers, suffix)
            preferred = _side(value, row[left], row[right], name, line)
            if not preferred:
                judgments.leave_out("without a preference")
                continue
            yield _checked(Made(line, row[query], row[left], row[right], preferred, row["WorkerId"], at), name)

    judgments = Judgments("Mechanical Turk's results", iter(()))
    judgments.made = _gathered(_records(rows, name), read)
    return judgments


TASK_ANSWERS = "Answer.taskAnswers"


def _task_answers(text: str, name: str, line: int) -> dict[str, str]:
    """The answers of a task made of crowd-form's elements, which are JSON in one column, as columns of their own."""
    if not text.strip():
        return {}
    try:
        forms = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(name, line, f"{TASK_ANSWERS} is not JSON ({error}).") from None
    answers: dict[str, str] = {}
    for form in forms if isinstance(forms, list) else [forms]:
        for key, value in form.items() if isinstance(form, dict) else ():
            if isinstance(value, dict):  # radio buttons, or crowd-classifier's label
                answers |= {f"Answer.{key}.{option}": _plain_value(chosen) for option, chosen in value.items()}
            else:
                answers[f"Answer.{key}"] = _plain_value(value)
    return answers


def _plain_value(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str("" if value is None else value)


def _compared(names: Sequence[str], name: str, line: int) -> list[tuple[str, str, str, list[str], str]]:
    """For each pair that a HIT shows: the columns of its query, left and right passage, its answers, and its number."""
    inputs = {column.removeprefix("Input.").lower(): column for column in names if column.startswith("Input.")}
    answers = [column for column in names if column.startswith("Answer.")]
    numbers = sorted({match[1] for key in inputs if (match := re.search(r"_?([0-9]+)$", key))}, key=int)
    found = []
    for suffix in ["", *numbers]:
        query = _column(inputs, _QUERY, suffix) or (_column(inputs, _QUERY, "") if suffix else None)
        left, right = _column(inputs, _LEFT, suffix), _column(inputs, _RIGHT, suffix)
        own = [column for column in answers if _is_answer(column, suffix)]
        if query and left and right and own:
            found.append((query, left, right, own, suffix))
    if not found:
        raise BadInput(
            name,
            line,
            "no columns of a comparison: a query (Input.query), two passages by id (Input.a, Input.b) and an answer "
            f"(Answer.preferred). There are {', '.join([*inputs.values(), *answers][:12]) or 'none of that kind'}.",
        )
    return found


def _column(known: Mapping[str, str], names: Sequence[str], suffix: str) -> str | None:
    return next((known[key] for name in names for key in (f"{name}{suffix}", f"{name}_{suffix}") if key in known), None)


def _is_answer(column: str, suffix: str) -> bool:
    key = column.removeprefix("Answer.").lower().split(".")[0]
    return any(key in (f"{name}{suffix}", f"{name}_{suffix}") for name in _PREFERRED)


def _answer(row: Mapping[str, str], answers: Sequence[str], suffix: str) -> str:
    """The answer of a field or of crowd-classifier (`Answer.preferred.label`), or of radio buttons that each have a
    column (`Answer.preferred.left` is `true`).
    """
    for column in answers:
        parts = column.removeprefix("Answer.").split(".")
        if len(parts) == 1 and row[column].strip():
            return row[column]
        if parts[1:] == ["label"] and row[column].strip():
            return row[column]
        if len(parts) > 1 and row[column].strip().lower() in ("true", "1", "on"):
            return parts[-1]
    return ""


# --- Label Studio


def _label_studio(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    def tasks() -> Iterator[tuple[int, Any]]:
        size, parts = 0, []
        for _line, row in rows:
            size += len(row)
            if size > JSON_BYTES:
                raise BadInput(name, None, f"more than {JSON_BYTES:,} bytes of JSON.")
            parts.append(row)
        try:
            read = json.loads("\n".join(parts))
        except (ValueError, RecursionError) as error:
            raise BadInput(name, getattr(error, "lineno", None), f"not JSON ({error}).") from None
        yield from enumerate(read, 1)

    def of(numbered: tuple[int, Any]) -> Iterator[Made]:
        number, task = numbered
        try:
            yield from of_task(task, number)
        except BadInput as fault:
            raise BadInput(name, None, f"task {number:,}: {fault.message}") from None

    def of_task(task: Any, number: int) -> Iterator[Made]:
        if isinstance(task, dict) and "annotation_id" in task:  # JSON-MIN: an annotation, with its task's data
            yield from _of_annotation(judgments, task, number, name)
            return
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise BadInput(name, number, "it is not one of Label Studio's (no `data`). Export as JSON.")
        for annotation in task.get("annotations") or []:
            chosen = [
                result.get("value")
                for result in annotation.get("result") or []
                if isinstance(result, dict) and result.get("type") == "pairwise"
            ]
            by = annotation.get("completed_by", "")
            worker = str(by.get("id", by.get("email", "")) if isinstance(by, dict) else by)
            flat = {"annotator": worker, "chosen": chosen}
            flat |= {key: annotation.get(key) for key in ("created_at", "was_cancelled")}
            yield from _of_annotation(judgments, task["data"] | flat, number, name)

    judgments = Judgments("Label Studio's pairwise export", iter(()))
    judgments.made = _gathered(tasks(), of)
    return judgments


def _label_studio_table(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    def read(numbered: tuple[int, dict[str, str]]) -> Iterator[Made]:
        line, row = numbered
        record: dict[str, Any] = {key: _results_in(value) for key, value in row.items()}
        record["was_cancelled"] = row.get("was_cancelled", "").lower() in ("true", "1")
        yield from _of_annotation(judgments, record, line, name)

    judgments = Judgments("Label Studio's pairwise export", iter(()))
    judgments.made = _gathered(_records(rows, name), read)
    return judgments


def _results_in(value: str) -> Any:
    """The results of a control, which are JSON in a cell (`[{"selected": "left"}]`); any other value as it is."""
    if value.startswith("[") and '"selected"' in value:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _of_annotation(judgments: Judgments, record: Mapping[str, Any], number: int, name: str) -> Iterator[Made]:
    """What one annotation says, given with its task's data and its controls' results by name."""
    data = {str(key).lower(): str(value) for key, value in record.items() if not isinstance(value, list)}
    query, left, right = (_column({key: key for key in data}, names, "") for names in (_QUERY, _LEFT, _RIGHT))
    if not (query and left and right):
        message = "the data need a query and the ids of two passages (query_id, a, b); it has "
        raise BadInput(name, number, message + (", ".join(list(data)[:12]) or "nothing") + ".")
    chosen = [
        str(result["selected"] or "")
        for value in record.values()
        for result in (value if isinstance(value, list) else ())
        if isinstance(result, dict) and "selected" in result
    ]
    if record.get("was_cancelled") or not chosen:
        judgments.leave_out("skipped or without a preference")
        return
    preferred = _side(chosen[0], data[left], data[right], name, number)
    if not preferred:
        judgments.leave_out("without a preference")
        return
    at = _time(str(record.get("created_at") or ""), name, number)
    worker = str(record.get("annotator") or "")
    yield _checked(Made(number, data[query], data[left], data[right], preferred, worker, at), name)


# --- Potato


def _potato_json(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    def read(numbered: tuple[int, str]) -> Iterator[Made]:
        line, row = numbered
        try:
            value = json.loads(row)
        except (ValueError, RecursionError) as error:
            raise BadInput(name, line, f"not JSON ({error}).") from None
        schemes = value.get("label_annotations", value.get("labels")) if isinstance(value, dict) else None
        if not isinstance(schemes, dict):
            raise BadInput(name, line, "no `label_annotations` or `labels`, which each line of Potato's output has.")
        answers = [
            (str(scheme), str(label), _plain_value(answer))
            for scheme, chosen in schemes.items()
            if isinstance(chosen, dict)
            for label, answer in chosen.items()
        ]
        timing = value.get("behavioral_data")
        time = str(timing.get("timestamp") or "") if isinstance(timing, dict) else ""
        worker = str(value.get("user_id", value.get("user", "")))
        instance = str(value.get("instance_id", value.get("id", "")))
        yield from _of_potato(judgments, line, instance, answers, worker, time, name)

    judgments = Judgments("Potato's output", iter(()))
    judgments.made = _gathered(rows, read)
    return judgments


def _potato_table(rows: Iterator[tuple[int, str]], name: str) -> Judgments:
    def read(numbered: tuple[int, dict[str, str]]) -> Iterator[Made]:
        line, row = numbered
        lower = {key.lower(): value for key, value in row.items()}
        # A scheme's label has a column: `scheme:::label` in its output, `scheme.label` in its exports.
        answers = [
            (parts[0], parts[2], value.removeprefix(f"{parts[0]}:::"))
            for key, value in row.items()
            if (parts := key.partition(":::" if ":::" in key else "."))[1] and not parts[2].startswith("_")
        ]
        worker = lower.get("user", lower.get("user_id", ""))
        yield from _of_potato(judgments, line, lower["instance_id"], answers, worker, "", name)

    judgments = Judgments("Potato's output", iter(()))
    judgments.made = _gathered(_records(rows, name), read)
    return judgments


def _of_potato(
    judgments: Judgments,
    line: int,
    instance: str,
    answers: Sequence[tuple[str, str, str]],
    worker: str,
    time: str,
    name: str,
) -> Iterator[Made]:
    parts = next((split for mark in ("\t", "::", "|", ",", " ") if len(split := instance.split(mark)) == 3), [])
    if not parts:
        message = f"the instance '{quote_value(instance)}' does not name its query and two passages, as in `q1|p2|p7`."
        raise BadInput(name, line, message)
    query, a, b = (part.strip() for part in parts)
    preferred = _side(_potato_answer(answers, (a, b), name, line), a, b, name, line)
    if not preferred:
        judgments.leave_out("without a preference")
        return
    yield _checked(Made(line, query, a, b, preferred, worker, _time(time, name, line)), name)


_NOT_CHOSEN = ("", "false", "none", "null")


def _potato_answer(answers: Sequence[tuple[str, str, str]], passages: tuple[str, str], name: str, line: int) -> str:
    """Which side the answers of an instance name, given as (scheme, label, value); empty if none does.

    A pairwise scheme has the side as its `selection`, or a `scale_value` below 0 for the left one; radio buttons have
    one label with a value. Raises BadInput if two schemes name sides, and neither is called `preferred` or so.
    """
    found: dict[str, str] = {}
    for scheme, label, value in answers:
        if label in ("selection", "scale_value"):
            found[scheme] = value if label == "selection" else _scale_side(value, name, line)
    if not found:
        marked = [answer for answer in answers if answer[2].strip().lower() not in _NOT_CHOSEN]
        for scheme, label, value in marked:
            if said := next((said for said in (label, value) if said in passages or _says(said)), ""):
                found[scheme] = said
        if not found and marked:
            found[marked[0][0]] = marked[0][1]
    named = {scheme: said for scheme, said in found.items() if scheme.lower() in _PREFERRED}
    chosen = named if len(found) > 1 else found
    if len(chosen) != 1 and found:
        schemes = ", ".join(quote_value(scheme) for scheme in found)
        raise BadInput(name, line, f"{schemes}: more than one comparison. Call the one that counts `preferred`.")
    return next(iter(chosen.values()), "")


def _scale_side(value: str, name: str, line: int) -> str:
    if not value.strip():
        return ""
    try:
        number = float(value)
    except ValueError:
        raise BadInput(name, line, f"scale_value '{quote_value(value)}' is not a number.") from None
    return "left" if number < 0 else "right" if number > 0 else "tie"


# --- what all have in common


def _records(rows: Iterator[tuple[int, str]], name: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of CSV by the names in the first. A value in quotes may go on over lines; `line` is where its row begins."""
    first_line, first = next(rows)
    delimiter = "\t" if "\t" in first else ","
    at = [first_line]

    def lines(after: Iterator[tuple[int, str]]) -> Iterator[str]:
        yield first + "\n"
        for line, row in after:
            at.append(line)
            yield row + "\n"

    reader = csv.reader(lines(rows), delimiter=delimiter, strict=True)
    try:
        names = [column.strip() for column in next(reader)]
        began = reader.line_num
        for values in reader:
            line, began = at[began], reader.line_num
            if len(values) != len(names):
                message = f"{counted(len(values), 'column')} where the first line names {len(names)}."
                raise BadInput(name, line, message)
            yield line, dict(zip(names, values, strict=True))
    except csv.Error as error:
        raise BadInput(name, at[-1], f"not CSV ({error}).") from None


def _side(value: str, left: str, right: str, name: str, line: int) -> str:
    """The passage that an answer means, by its id or its side; `TIE` for a tie, empty for no answer."""
    if value in (left, right):
        return value
    said = _says(value)
    if said in ("left", "right"):
        return left if said == "left" else right
    if said == "tie":
        return TIE
    if value.strip().lower() in _SAYS_NOTHING:
        return ""
    message = f"the answer '{quote_value(value)}' is neither of the two passages, nor left, right, a, b or a tie."
    raise BadInput(name, line, message)


def _says(value: str) -> str:
    """`left`, `right` or `tie`, as an answer in words means it; empty for anything else."""
    said = _KIND.sub("", value.strip().lower())
    for words, meaning in ((_SAYS_LEFT, "left"), (_SAYS_RIGHT, "right"), (_SAYS_TIE, "tie")):
        if said in words:
            return meaning
    return ""


def _checked(made: Made, name: str) -> Made:
    if TIE in (made.a, made.b):
        raise BadInput(name, made.line, f"a passage called {TIE}, which would be taken for an outcome.")
    for what, value in (("query", made.query), ("passage", made.a), ("passage", made.b)):
        if value.split() != [value] or len(value.encode()) > ID_BYTES:
            raise BadInput(name, made.line, f"{what} '{quote_value(value)}' where an id without spaces is needed.")
    if made.a == made.b:
        raise BadInput(name, made.line, f"passage {quote_value(made.a)} against itself.")
    if made.preferred == TIE:
        return made._replace(preferred=None)
    if made.preferred not in (made.a, made.b):
        said = f"{quote_value(str(made.preferred))} is preferred, which is neither {quote_value(made.a)} nor "
        raise BadInput(name, made.line, said + f"{quote_value(made.b)}.")
    return made


_MTURK_TIME = "%a %b %d %H:%M:%S %z %Y"
_ZONE = re.compile(r"\b(PST|PDT|UTC|GMT)\b")
_PACIFIC = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}


def _time(value: str, name: str, line: int) -> datetime | None:
    """A time in ISO 8601, in seconds since 1970, or as Mechanical Turk writes it; UTC where no zone is given."""
    text = value.strip()
    if not text:
        return None
    readers: tuple[Callable[[str], datetime], ...] = (
        datetime.fromisoformat,
        lambda seconds: datetime.fromtimestamp(float(seconds), UTC),
        lambda words: datetime.strptime(_ZONE.sub(lambda zone: _PACIFIC[zone[1]], words), _MTURK_TIME),
    )
    for read in readers:
        try:
            at = read(text)
        except (ValueError, OverflowError, OSError):
            continue
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    raise BadInput(name, line, f"the time '{quote_value(text)}' is neither ISO 8601 nor seconds since 1970.")


__all__ = ["COLUMNS", "Judgments", "Made", "read_judgments"]
