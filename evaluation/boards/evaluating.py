"""Evaluating one sealed submission in a process of its own: `python -m evaluation.boards.evaluating SECONDS MEGABYTES`.

The process reads a request on its standard input and writes an answer to its standard output; nothing of a submission
is ever in a file. It limits itself, before it reads, to so much time of a processor and so much memory, and to writing
no files. The same request gives the same answer.

Request and answer are a `Message`: some values as JSON, and named blobs.
"""

from __future__ import annotations

import errno
import io
import json
import resource
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.boards.alike import explaining_fusion, near_duplicates
from evaluation.boards.checking import (
    Diagnostics,
    FileDiagnostics,
    check_file,
    check_metadata,
    check_submission,
    read_candidates,
)
from evaluation.boards.sealing import NotOpened, open_sealed
from evaluation.errors import BadInput
from evaluation.files.artifact import RunArtifact
from evaluation.files.groups import read_groups
from evaluation.files.notes import judged_notes
from evaluation.files.qrels import read_qrels
from evaluation.files.texts import read_queries
from evaluation.measures.means import exact_mean
from evaluation.measures.named import per_query, read_measure

FILES_OPEN = 64
ERRORS_TOLD = 10  # of each run, in the answer's `refused`
METADATA, DEV, EVAL = "metadata.json", "dev", "eval"
RERANKING = "reranking"
_LENGTH = struct.Struct(">Q")


class Message(NamedTuple):
    """Values, ready for JSON, and blobs by name."""

    values: dict[str, Any]
    blobs: Mapping[str, bytes] = {}

    def write(self, file: BinaryIO) -> None:
        sizes = {name: len(blob) for name, blob in self.blobs.items()}
        head = json.dumps({"values": self.values, "blobs": sizes}).encode()
        file.write(_LENGTH.pack(len(head)) + head)
        for blob in self.blobs.values():
            file.write(blob)
        file.flush()

    @classmethod
    def read(cls, file: BinaryIO) -> Message:
        """Read one from a pipe. Raises EOFError if it ends too early."""
        head = json.loads(_exactly(file, _LENGTH.unpack(_exactly(file, _LENGTH.size))[0]))
        return cls(head["values"], {name: _exactly(file, size) for name, size in head["blobs"].items()})


def _exactly(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise EOFError(f"{len(content)} of {size} bytes")
    return content


class _Refused(Exception):
    """The participant has to change something; the message says what."""


def evaluate(request: Message) -> Message:
    """Check and score what a request holds.

    Values: `kind` "submission" (with `board`, `run_id`, `arrived` as yyyy-mm-dd, `embargo_months`, `types`), or "dev"
    or "eval" for one run, and `hits`, `order`, `fewer`, `measures`, and `kept`, how many passages of a query are handed
    back: no fewer than the measures need. Blobs: `package` and `private_key`, or `run`; and the season's `dev_queries`,
    `dev_qrels`, `eval_queries`, `eval_qrels`, as far as they are needed, and `dev_candidates`, `eval_candidates` and
    `dev_groups` if it has them.

    The answer's values: `refused`, why it cannot be evaluated, or empty; `sentences`, what the check says;
    `diagnostics`; `metadata`; `scores`, each with `part`, `measure`, `fraction` (exact, as numerator/denominator),
    `queries` and the name of the blob with the scores of each query (float64, in the order of the qrels). Blobs beside
    those: `dev` and `eval`, the runs as `RunArtifact.save` writes them.

    Two more kinds compare runs. Values: `order` and `threshold`. Blobs: `run`, and others under keys of their own, all
    as `RunArtifact.save` writes them. "alike" answers with `similar`, the similarity of each other run to `run` by key;
    one that cannot be read is left out. "fusion" answers with `fusion`: `keys`, `method` and `similarity`, or None.
    """
    if request.values["kind"] in ("alike", "fusion"):
        return _compare(request)
    try:
        is_whole = request.values["kind"] == "submission"
        return _evaluate_submission(request) if is_whole else _evaluate_run(request, request.values["kind"])
    except (_Refused, NotOpened, BadInput) as error:
        problem = str(error)
    except OSError as error:
        if error.errno != errno.EFBIG:  # nothing is written to files here: see limit()
            raise
        problem = "The lines of one query do not stand together in a run. Sort the run by query, and seal it again."
    return Message({"refused": problem, "sentences": [problem], "diagnostics": {}, "metadata": {}, "scores": []})


def _evaluate_run(request: Message, part: str) -> Message:
    values, blobs = request
    diagnostics = check_file(
        io.BytesIO(blobs["run"]),
        name=values["name"],
        queries=_queries(blobs, part),
        hits=values["hits"],
        order=values["order"],
        fewer=values["fewer"],
        keep=values["kept"],
    )
    sentences = list(diagnostics.sentences())
    answer = {"diagnostics": {part: diagnostics.as_dict()}, "metadata": {}, "sentences": sentences}
    if diagnostics.artifact is None:
        return Message(answer | {"refused": _errors(diagnostics), "scores": []})
    scores, arrays = _scores(request, {part: diagnostics}, sentences)
    return Message(answer | {"refused": "", "scores": scores}, arrays)


def _evaluate_submission(request: Message) -> Message:
    values, blobs = request
    opened = open_sealed(
        blobs["package"], blobs["private_key"].decode(), board=values["board"], run_id=values["run_id"]
    )
    runs = {part: _run_file(opened, part) for part in (DEV, EVAL)}
    if METADATA not in opened:
        raise _Refused(f"The package has no {METADATA}.")
    metadata = check_metadata(
        opened[METADATA],
        types=values["types"],
        arrived=date.fromisoformat(values["arrived"]),
        embargo_months=values["embargo_months"],
    )
    problems = [str(BadInput(METADATA, line, message)) for line, message in (*metadata.errors, *metadata.notes)]
    if metadata.metadata is None:
        answer = {"refused": " ".join(problems), "sentences": problems, "diagnostics": {}, "metadata": {}, "scores": []}
        return Message(answer)
    candidates: dict[str, RunArtifact | None] = dict.fromkeys((DEV, EVAL))
    if metadata.metadata.type == RERANKING:
        for part in (DEV, EVAL):
            if f"{part}_candidates" in blobs:
                name = f"{part} candidates"
                candidates[part] = read_candidates(io.BytesIO(blobs[f"{part}_candidates"]), name=name)
    check: Diagnostics = check_submission(
        io.BytesIO(opened[runs[DEV]]),
        io.BytesIO(opened[runs[EVAL]]),
        dev_queries=_queries(blobs, DEV),
        eval_queries=_queries(blobs, EVAL),
        hits=values["hits"],
        order=values["order"],
        fewer=values["fewer"],
        dev_candidates=candidates[DEV],
        eval_candidates=candidates[EVAL],
        dev_name=runs[DEV],
        eval_name=runs[EVAL],
        keep=values["kept"],
    )
    sentences = [*problems, *check.sentences()]
    answer = {
        "refused": _errors(check.dev, check.eval),
        "sentences": sentences,
        "diagnostics": check.as_dict(),
        "metadata": metadata.metadata.as_dict(),
        "scores": [],
    }
    if check.dev.artifact is None or check.eval.artifact is None:
        return Message(answer)
    artifacts = {DEV: check.dev.artifact, EVAL: check.eval.artifact}
    scores, arrays = _scores(request, {DEV: check.dev, EVAL: check.eval}, sentences)
    packed = {part: _packed(artifact) for part, artifact in artifacts.items()}
    return Message(answer | {"scores": scores}, {**packed, **arrays})


def _compare(request: Message) -> Message:
    values, order = request.values, request.values["order"]
    others = {}
    for key, blob in request.blobs.items():
        with suppress(BadInput):
            others[key] = RunArtifact.load(io.BytesIO(blob), name=key)
    run = others.pop("run")
    if values["kind"] == "alike":
        every = near_duplicates(run, others, threshold=0, order=order)
        return Message({"similar": {likeness.key: likeness.similarity for likeness in every}})
    fusion = explaining_fusion(run, others, order=order, threshold=values["threshold"])
    return Message({"fusion": None if fusion is None else fusion._asdict()})


def _run_file(opened: Mapping[str, bytes], part: str) -> str:
    names = [name for name in sorted(opened) if name.startswith(f"{part}.")]
    if len(names) != 1:
        raise _Refused(f"The package has {len(names)} files that begin with “{part}.”, where it has to have one.")
    return names[0]


def _queries(blobs: Mapping[str, bytes], part: str) -> list[str]:
    return [query.id for query in read_queries(io.BytesIO(blobs[f"{part}_queries"]), name=f"{part} queries")]


def _scores(
    request: Message, runs: Mapping[str, FileDiagnostics], sentences: list[str]
) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """The scores of runs that can be evaluated. Adds to the sentences which of them has no judged passage; no id of
    the qrels is told, which are hidden.
    """
    scores, arrays = [], {}
    for part, diagnostics in runs.items():
        artifact = diagnostics.artifact
        assert artifact is not None
        qrels = read_qrels(io.BytesIO(request.blobs[f"{part}_qrels"]), name=f"{part} qrels")
        notes = [note for note in judged_notes(artifact, qrels) if note.code == "not_judged"]
        sentences += [str(BadInput(diagnostics.name, None, f"Note: {note.sentence()}")) for note in notes]
        groups = _groups(request.blobs, part, qrels.queries)
        for number, name in enumerate(request.values["measures"]):
            values = per_query(artifact, qrels, read_measure(name), request.values["order"])
            mean = exact_mean(values)
            blob = f"{part}_{number}"
            arrays[blob] = _bytes(values)
            scores.append(
                {
                    "part": part,
                    "measure": name,
                    "fraction": f"{mean.numerator}/{mean.denominator}",
                    "queries": len(values),
                    "blob": blob,
                    "groups": {group: _of_group(values[rows]) for group, rows in groups.items()},
                }
            )
    return scores, arrays


def _groups(blobs: Mapping[str, bytes], part: str, queries: tuple[str, ...]) -> dict[str, list[int]]:
    """By group of queries, where these stand among the queries; none for a part without groups."""
    name = f"{part}_groups"
    if name not in blobs:
        return {}
    at = {query: number for number, query in enumerate(queries)}
    groups = read_groups(io.BytesIO(blobs[name]), name=f"{part} groups")
    columns = {group: [at[query] for query in queries if query in at] for group, queries in groups.items()}
    return {group: rows for group, rows in columns.items() if rows}


def _of_group(values: NDArray[np.float64]) -> dict[str, Any]:
    mean = exact_mean(values)
    return {"fraction": f"{mean.numerator}/{mean.denominator}", "queries": len(values)}


def _bytes(values: NDArray[np.float64]) -> bytes:
    packed = io.BytesIO()
    np.save(packed, values, allow_pickle=False)
    return packed.getvalue()


def _packed(artifact: RunArtifact) -> bytes:
    packed = io.BytesIO()
    artifact.save(packed)
    return packed.getvalue()


def _errors(*files: FileDiagnostics) -> str:
    """What a mail says: the beginning of what is wrong."""
    problems = [
        str(BadInput(file.name, line, message)) for file in files for line, message in file.errors[:ERRORS_TOLD]
    ]
    return "\n".join(problems)


def limit(seconds: int, megabytes: int) -> None:
    """Keep this process from taking more time of a processor and more memory, and from writing files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_OPEN, FILES_OPEN))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def main() -> None:
    """Answer one request."""
    limit(int(sys.argv[1]), int(sys.argv[2]))
    answer = evaluate(Message.read(sys.stdin.buffer))
    answer.write(sys.stdout.buffer)


if __name__ == "__main__":
    main()
