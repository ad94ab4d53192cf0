"""Judgments that were made elsewhere, with whoever made them: any table of them, and what other tools export.

Tables are those of evaluation.files.tables: `query a b preferred worker time`, of which the last two may be missing, or
`query a b`, in which a is preferred (prefj takes both). Of a tool's records, which dialects.py knows by their names,
a reader each says what was compared and what was answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from evaluation.errors import BadInput
from evaluation.files.dialects import KINDS
from evaluation.files.kinds import Mistyped, shown, to_id, to_word
from evaluation.files.preferences import TIE, TIED, check_compared, check_preferred, outcome_of
from evaluation.files.tables import Record, Table, open_table
from evaluation.files.textfiles import Source, counted, quote_value

MOST_FAULTS = 100  # that are looked for in a file
TOLD = 10  # of these, in words
COLUMNS = ("query", "a", "b", "preferred", "worker", "time")

_SAYS_LEFT = frozenset({"a", "left", "1", "first"})
_SAYS_RIGHT = frozenset({"b", "right", "2", "second"})
_SAYS_TIE = frozenset({TIE, "tie", "equal", "same", "no preference", "both", "neither"})
_SAYS_NOTHING = frozenset({"", "none", "false", "null"})
_NOBODY = frozenset({"none", "null", "nan"})  # what programs write for a worker whom they do not know
_PAIR = ("query", "passage", "passage")
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


class _Answer(NamedTuple):
    """What a record says, as it says it: `preferred` is a passage, a side, a tie or nothing. `key`: by which the tool
    knows the answer, if it is exported again.
    """

    pair: Sequence[Any]  # query, left, right
    preferred: str
    worker: Any = None
    time: Any = None
    key: object = None


# From a record, by its names in lower case and as it is, what it says, or why that is no judgment.
_Reader = Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[_Answer | str]]


def read_judgments(source: Source, *, name: str | None = None) -> Judgments:
    """What a file of judgments holds, in whichever of the formats it is. What a file repeats is one judgment: what its
    tool knows by the same id, or the same worker said of the same pair at the same time.

    Raises BadInput, also while it is gone through, naming the lines (in JSON, the records) where something is missing
    or is no id, a passage is compared with itself, or neither of the two is preferred: the first ten, and how many
    there are of the first hundred.
    """
    with ExitStack() as stack:
        table = stack.enter_context(open_table(source, "judgments", name=name, skip_blank=True))
        tool = table.dialect.name if table.dialect and not table.dialect.by_roles else ""
        judgments = Judgments(tool or "query a b preferred", iter(()))
        judgments.made = _once(_gathered(table, _READERS.get(tool), judgments), judgments, stack.pop_all())
    return judgments


def in_time(judgments: Sequence[Made]) -> list[Made]:
    """Judgments in the order in which they were made, as far as the file says when all were."""
    when = {id(judgment): judgment.at for judgment in judgments if judgment.at}
    return (
        sorted(judgments, key=lambda judgment: when[id(judgment)]) if len(when) == len(judgments) else list(judgments)
    )


def last_judgments(judgments: Sequence[Made]) -> list[Made]:
    """Those that count: of a worker who judged a pair again, the last."""
    last: dict[tuple[str, ...], Made] = {}
    for number, judgment in enumerate(in_time(judgments)):
        last[(judgment.worker or str(number), *_pair(judgment), "" if judgment.worker else "nobody")] = judgment
    return list(last.values())


def _pair(judgment: Made) -> tuple[str, str, str]:
    return (judgment.query, min(judgment.a, judgment.b), max(judgment.a, judgment.b))


def _once(read: Iterator[tuple[Made, object]], judgments: Judgments, file: ExitStack) -> Iterator[Made]:
    keys = set[object]()
    with file:
        for judgment, key in read:
            if key is None and judgment.worker and judgment.at:
                key = (judgment.worker, *_pair(judgment), judgment.preferred, judgment.at)
            if key in keys:
                judgments.leave_out("that the file repeats")
                continue
            if key is not None:
                keys.add(key)
            yield judgment


def _gathered(table: Table, reader: _Reader | None, judgments: Judgments) -> Iterator[tuple[Made, object]]:
    """What is read of each record; once something is wrong, only what else is, to tell it all together."""
    faults: list[BadInput] = []
    try:
        for at, record in table.records():
            try:
                judgments_of_record = list(_read(table, at, record, reader, judgments))
            except BadInput as fault:
                faults.append(fault)
                if len(faults) == MOST_FAULTS:
                    break
                continue
            if not faults:
                yield from judgments_of_record
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
    further = [
        place + fault.message.removesuffix(".") for place, fault in zip(places, others[: TOLD - 1], strict=False)
    ]
    at_least = " at least" if len(others) == MOST_FAULTS - 1 else ""
    rest = f"; and {len(others) - len(further):,} more" if len(others) > len(further) else ""
    more = f"{counted(len(others), 'more fault')}{at_least}: {'; '.join(further)}{rest}."
    return BadInput(first.name, first.line, f"{first.message} {more}")


def _read(
    table: Table, at: int, record: Record, reader: _Reader | None, judgments: Judgments
) -> Iterator[tuple[Made, object]]:
    try:
        if reader is None or not isinstance(record, Mapping):
            query, a, b, answer, worker, time = table.row(at, record)
            judgment = _made(at, (query, a, b), outcome_of(table, answer, a), worker or "", time or "")
            answers: Iterable[tuple[Made | str, object]] = [(judgment, None)]
        else:
            answers = map(partial(_answered, at), reader(_by_name(record), record))
        for judgment, key in answers:
            if isinstance(judgment, str):
                judgments.leave_out(judgment)
            else:
                yield judgment, key
    except Mistyped as error:
        raise table.fault(at, str(error)) from None


def _by_name(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name.strip().casefold(): value for name, value in record.items()}


def _answered(at: int, answer: _Answer | str) -> tuple[Made | str, object]:
    """The judgment, and its key, or why it is none."""
    if isinstance(answer, str):
        return answer, None
    query, a, b = (to_id(value, what) for value, what in zip(answer.pair, _PAIR, strict=True))
    worker, time = to_word(answer.worker, "worker").strip(), to_word(answer.time, "time")
    return _made(at, (query, a, b), _side(answer.preferred, a, b), worker, time), answer.key


def _made(at: int, pair: tuple[str, str, str], preferred: str, worker: str, time: str) -> Made | str:
    query, a, b = pair
    check_compared(a, b, TIED)
    if not preferred:
        return "without a preference"
    check_preferred(preferred, a, b, TIED)
    known_worker = "" if worker.casefold() in _NOBODY else worker
    return Made(at, query, a, b, None if preferred == TIE else preferred, known_worker, _time(time))


def _side(value: str, left: str, right: str) -> str:
    """The passage that an answer means, by its id or its side; `TIE` for a tie, empty for no answer."""
    if value in (left, right):
        return value
    if meaning := _says(value):
        return {"left": left, "right": right, "tie": TIE}[meaning]
    if value.strip().lower() in _SAYS_NOTHING:
        return ""
    raise Mistyped(f"the answer '{quote_value(value)}' is neither of the two passages, nor left, right, a, b or a tie.")


def _says(value: str) -> str:
    """`left`, `right` or `tie`, as an answer in words means it; empty for anything else."""
    words_of_answer = _KIND.sub("", value.strip().lower())
    for words, meaning in ((_SAYS_LEFT, "left"), (_SAYS_RIGHT, "right"), (_SAYS_TIE, "tie")):
        if words_of_answer in words:
            return meaning
    return ""


_MTURK_TIME = "%a %b %d %H:%M:%S %z %Y"
_ZONE = re.compile(r"\b(PST|PDT|UTC|GMT)\b")
_PACIFIC = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}


def _time(value: str) -> datetime | None:
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
    raise Mistyped(f"the time '{quote_value(text)}' is neither ISO 8601 nor seconds since 1970.")


def _objects(value: Any, what: str) -> list[Mapping[str, Any]]:
    """A list of objects of JSON, or nothing."""
    values = [] if value is None else value
    if not isinstance(values, list) or not all(isinstance(item, dict) for item in values):
        raise Mistyped(f"{what} {shown(value)} where a list of objects is needed.")
    return values


def _first(values: Mapping[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Mistyped(f"{what} is not JSON ({error}).") from None


def _plain(value: Any) -> str:
    """An answer as text: a box that is ticked or not is `true` or `false`."""
    return str(value).lower() if isinstance(value, bool) else to_word(value, "answer")


# --- each tool's records


def _exported(row: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[_Answer | str]:
    if row["kind"] == "test":
        yield "of test pairs"
    elif row["superseded"] == "true":
        yield "that their worker changed later"
    elif row["accepted"] != "true":
        yield "that do not count"
    else:
        a, b = (row["b"], row["a"]) if row["left"] == row["b"] else (row["a"], row["b"])
        yield _Answer((row["query"], a, b), row["preferred"], row["worker"], row["made_at"])


def _mturk(row: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[_Answer | str]:
    if row.get("assignmentstatus", "").strip().lower() == "rejected" or row.get("reject", "").strip():
        yield "of rejected assignments"
        return
    record = {**record, **_form_answers(row.get("answer.taskanswers", ""))}
    for columns, answers, number in _compared(tuple(record)):
        pair = [record[column].strip() for column in columns]
        if any(pair[1:]):  # the last task of a batch may be shorter
            key = (row["assignmentid"], number) if row["assignmentid"] else None
            yield _Answer(pair, _answer(record, answers), row["workerid"], row.get("submittime"), key)


def _form_answers(text: str) -> dict[str, str]:
    """The answers of a task made of crowd-form's elements, which are JSON in one column, as columns of their own."""
    forms = _json(text, "Answer.taskAnswers") if text.strip() else []
    answers: dict[str, str] = {}
    for form in _objects(forms if isinstance(forms, list) else [forms], "Answer.taskAnswers"):
        for key, value in form.items():
            if isinstance(value, dict):  # radio buttons, or crowd-classifier's label
                answers |= {f"Answer.{key}.{option}": _plain(chosen) for option, chosen in value.items()}
            else:
                answers[f"Answer.{key}"] = _plain(value)
    return answers


_ROLES = {role.name: role.names for role in KINDS["judgments"].roles}


@lru_cache(maxsize=100)
def _compared(names: tuple[str, ...]) -> list[tuple[list[str], list[str], str]]:
    """For each pair that a HIT shows: the columns of its query, left and right passage, its answers, and its number."""
    inputs = {name[6:].strip().lower(): name for name in names if name.lower().startswith("input.")}
    answers = {name: name[7:].strip().lower().split(".")[0] for name in names if name.lower().startswith("answer.")}

    def called(role: str, number: str) -> list[str]:
        return [name_of_column for name in _ROLES[role] for name_of_column in (f"{name}{number}", f"{name}_{number}")]

    compared = []
    numbers = {match[1] for key in inputs if (match := re.search(r"_?([0-9]+)$", key))}
    for number in ["", *sorted(numbers, key=int)]:
        columns = [
            next((inputs[column] for column in called(role, number) if column in inputs), "") for role in ("a", "b")
        ]
        query = next((inputs[k] for k in called("query", number) + called("query", "") if k in inputs), "")
        chosen = [name for name, key in answers.items() if key in called("preferred", number)]
        if query and chosen and all(columns):
            compared.append(([query, *columns], chosen, number))
    if not compared:
        raise Mistyped(
            "no columns of a comparison: a query (Input.query), two passages by id (Input.a, Input.b) and an answer "
            f"(Answer.preferred). There are {', '.join([*inputs.values(), *answers][:12]) or 'none of that kind'}."
        )
    return compared


def _answer(record: Mapping[str, str], answers: Sequence[str]) -> str:
    """The answer of a field or of crowd-classifier (`Answer.preferred.label`), or of radio buttons that each have a
    column (`Answer.preferred.left` is `true`).
    """
    for column in answers:
        _, _, option = column[7:].partition(".")
        value = record[column].strip()
        if value and option.lower() in ("", "label"):
            return value
        if option and value.lower() in ("true", "1", "on"):
            return option
    return ""


def _label_studio(row: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[_Answer | str]:
    """A task with its annotations (JSON), or one annotation with its task's data (JSON-MIN, CSV, TSV)."""
    if "annotations" not in row:
        yield _annotation(row, row)
        return
    if not isinstance(row.get("data"), dict):
        raise Mistyped("it is not one of Label Studio's (no `data`). Export as JSON.")
    for annotation in _objects(row["annotations"], "`annotations`"):
        results = _objects(annotation.get("result"), "`result`")
        by = annotation.get("completed_by")
        fields = {
            **annotation,
            "results": [result.get("value") for result in results if result.get("type") == "pairwise"],
            "annotation_id": annotation.get("id"),
            "annotator": _first(by, "id", "email") if isinstance(by, dict) else by,
        }
        yield _annotation({name.casefold(): value for name, value in row["data"].items()}, fields)


def _annotation(data: Mapping[str, Any], fields: Mapping[str, Any]) -> _Answer | str:
    columns = [next((name for name in _ROLES[role] if name in data), "") for role in ("query", "a", "b")]
    if not all(columns):
        names = ", ".join(list(data)[:12]) or "nothing"
        raise Mistyped(f"the data need a query and the ids of two passages (query_id, a, b); it has {names}.")
    # The results of a control are a list of objects; in a table, JSON in a cell.
    values = (_json(value, "a result") if _is_result(value) else value for value in fields.values())
    lists = (value for value in values if isinstance(value, list))
    chosen = [
        choice["selected"] for value in lists for choice in value if isinstance(choice, dict) and "selected" in choice
    ]
    if not chosen or _plain(fields.get("was_cancelled")).lower() in ("true", "1"):
        return "skipped or without a preference"
    key, annotator = fields.get("annotation_id"), fields.get("annotator")
    return _Answer(
        [data[column] for column in columns],
        to_word(chosen[0], "selected"),
        None if annotator == "None" else annotator,  # as Label Studio's converter writes nobody
        fields.get("created_at"),
        None if key in (None, "") else str(key),
    )


def _is_result(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("[") and '"selected"' in value


def _potato(row: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[_Answer | str]:
    """What an annotator answered of one instance, or of all, as their `user_state.json` has it."""
    if "instance_id_to_label_to_value" not in row:
        yield _potato_instance(row, record)
        return
    answered = row["instance_id_to_label_to_value"]
    if not isinstance(answered, dict):
        raise Mistyped(f"instance_id_to_label_to_value {shown(answered)} where an object is needed.")
    for instance, labels in answered.items():
        fields = {"instance_id": instance, "user_id": row["user_id"], "labels": _potato_labels(labels)}
        yield _potato_instance(fields, fields)


def _potato_labels(labels: Any) -> dict[str, dict[str, Any]]:
    """The labels of each scheme, with their values."""
    schemes: dict[str, dict[str, Any]] = {}
    for entry in labels if isinstance(labels, list) else [labels]:
        match entry:
            case [{"schema": str(scheme), "name": str(label)}, value]:
                schemes.setdefault(scheme, {})[label] = value
            case _:
                raise Mistyped(f"the label {shown(entry)} where a schema, a name and a value are needed.")
    return schemes


def _potato_instance(row: Mapping[str, Any], record: Mapping[str, Any]) -> _Answer:
    schemes = _first(row, "label_annotations", "labels")
    if isinstance(schemes, dict):
        answers = [
            (scheme, label, _plain(value))
            for scheme, chosen in schemes.items()
            if isinstance(chosen, dict)
            for label, value in chosen.items()
        ]
    elif "instance_id" in row and schemes is None:
        # A scheme's label has a column: `scheme:::label` in its output, `scheme.label` in its exports.
        parts = ((*name.partition(":::" if ":::" in name else "."), value) for name, value in record.items())
        answers = [
            (scheme, label, _plain(value).removeprefix(f"{scheme}:::"))
            for scheme, mark, label, value in parts
            if mark and not label.startswith("_")
        ]
    else:
        raise Mistyped("no `label_annotations` or `labels`, which each line of Potato's output has.")
    instance = to_word(_first(row, "instance_id", "id"), "instance")
    parted = (instance.split(mark) for mark in ("\t", "::", "|", ",", " "))
    pair = next(([part.strip() for part in parts] for parts in parted if len(parts) == 3), None)
    if pair is None:
        message = f"the instance '{quote_value(instance)}' does not name its query and two passages, as in `q1|p2|p7`."
        raise Mistyped(message)
    timing = row.get("behavioral_data")
    time = timing.get("timestamp") if isinstance(timing, dict) else None
    return _Answer(pair, _potato_answer(answers, pair[1:]), _first(row, "user_id", "user"), time)


def _potato_answer(answers: Sequence[tuple[str, str, str]], passages: Sequence[str]) -> str:
    """Which side the answers of an instance name, given as (scheme, label, value); empty if none does.

    A pairwise scheme has the side as its `selection`, or a `scale_value` below 0 for the left one; radio buttons have
    one label with a value. Raises Mistyped if two schemes name sides, and neither is called `preferred` or so.
    """
    sides: dict[str, str] = {}
    for scheme, label, value in answers:
        if label in ("selection", "scale_value"):
            sides[scheme] = value if label == "selection" else _scale_side(value)
    if not sides:
        marked = [answer for answer in answers if answer[2].strip().lower() not in _SAYS_NOTHING]
        for scheme, label, value in marked:
            if side := next((text for text in (label, value) if text in passages or _says(text)), ""):
                sides[scheme] = side
        if not sides and marked:
            sides[marked[0][0]] = marked[0][1]
    named = {scheme: answer for scheme, answer in sides.items() if scheme.lower() in _ROLES["preferred"]}
    chosen = named if len(sides) > 1 else sides
    if len(chosen) != 1 and sides:
        schemes = ", ".join(quote_value(scheme) for scheme in sides)
        raise Mistyped(f"{schemes}: more than one comparison. Call the one that counts `preferred`.")
    return next(iter(chosen.values()), "")


def _scale_side(value: str) -> str:
    if not value.strip():
        return ""
    try:
        number = float(value)
    except ValueError:
        raise Mistyped(f"scale_value '{quote_value(value)}' is not a number.") from None
    return "left" if number < 0 else "right" if number > 0 else "tie"


# By the names of dialects.
_READERS: Mapping[str, _Reader] = {
    "a campaign's judgments.tsv": _exported,
    "Turkle's results": _mturk,
    "Mechanical Turk's results": _mturk,
    "Label Studio's pairwise export": _label_studio,
    "Potato's output": _potato,
}

__all__ = ["COLUMNS", "Judgments", "Made", "in_time", "last_judgments", "read_judgments"]
