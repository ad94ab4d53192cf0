"""A submission is opened, checked and scored in a process with limits of its own."""

import bz2
import io
import json
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards.evaluating import Message, evaluate
from evaluation.boards.sealing import new_key, seal
from evaluation.files.artifact import RunArtifact
from evaluation.files.qrels import read_qrels
from evaluation.files.runs import check_run
from evaluation.measures.named import Measure, per_query

KEY = new_key()
METADATA = {"team": "Red, Example University", "model_description": "A red run", "type": "full ranking"}
DEV = "1 10 1\n1 11 2\n2 20 1\n"
EVAL = "7 70 1\n7 71 2\n8 80 1\n9 90 1\n"


def request(
    run_id: str = "20261101-red", key: str = KEY.private_pem, package: bytes | None = None, **values: Any
) -> Message:
    """A submission of two small runs. Its exact scores: dev (1/2 + 1)/2, eval (1 + 0 + 0)/3."""
    given_values = {
        "kind": "submission", "board": "small", "run_id": run_id, "arrived": "2026-11-01", "embargo_months": 9,
        "types": ["full ranking", "reranking"], "hits": 10, "kept": 10, "order": "rank", "fewer": "warn",
        "measures": ["RR@10", "Success@1"],
    }  # fmt: skip
    blobs = {
        "package": sealed() if package is None else package, "private_key": key.encode(),
        "dev_queries": b"1\tone\n2\ttwo\n", "dev_qrels": b"1 0 11 1\n2 0 20 1\n",
        "eval_queries": b"7\tseven\n8\teight\n9\tnine\n", "eval_qrels": b"7 0 70 1\n8 0 81 1\n9 0 91 1\n",
    }  # fmt: skip
    return Message(given_values | values, blobs)


def sealed(run_id: str = "20261101-red", dev: str = DEV, evaluated: str = EVAL, **metadata: str) -> bytes:
    """A package for the board."""
    files = {
        "metadata.json": json.dumps(METADATA | metadata).encode(),
        "dev.txt.bz2": bz2.compress(dev.encode()),
        "eval.txt.bz2": bz2.compress(evaluated.encode()),
    }
    return seal(files, to=KEY.public_pem, board="small", run_id=run_id)


def in_process(message: Message, seconds: int = 60, megabytes: int = 4096) -> subprocess.CompletedProcess[bytes]:
    written = io.BytesIO()
    message.write(written)
    command = [sys.executable, "-m", "evaluation.boards.evaluating", str(seconds), str(megabytes)]
    return subprocess.run(command, input=written.getvalue(), capture_output=True, check=False)


def test_scores_are_exact_over_all_queries_of_the_qrels() -> None:
    answer = evaluate(request())
    assert answer.values["refused"] == ""
    scores = {(row["part"], row["measure"]): Fraction(row["fraction"]) for row in answer.values["scores"]}
    assert scores == {
        ("dev", "RR@10"): Fraction(3, 4), ("dev", "Success@1"): Fraction(1, 2),
        ("eval", "RR@10"): Fraction(1, 3), ("eval", "Success@1"): Fraction(1, 3),
    }  # fmt: skip
    blobs = {row["part"]: row["blob"] for row in answer.values["scores"] if row["measure"] == "RR@10"}
    assert np.load(io.BytesIO(answer.blobs[blobs["eval"]])).tolist() == [1, 0, 0]
    assert RunArtifact.load(io.BytesIO(answer.blobs["dev"])).top("rank")["2"] == ("20",)
    assert answer.values["metadata"]["team"] == METADATA["team"]


def test_a_run_of_which_nothing_is_judged_is_told_without_an_id_of_the_qrels() -> None:
    answer = evaluate(request(package=sealed(evaluated="7 07 1\n8 X 1\n9 y 1\n")))
    sentences = [sentence for sentence in answer.values["sentences"] if "Note: none" in sentence]
    words = "none of its passages is judged, in 3 queries: is it a run for another collection?"
    assert sentences == [f"eval.txt.bz2: Note: {words}"]
    assert not any("81" in sentence or "only in" in sentence for sentence in answer.values["sentences"])


def test_any_measure_of_ir_measures_names_is_scored_to_the_depth_of_the_board() -> None:
    names = ["nDCG@10", "Judged@10", "AP", "RR(rel=2)@10"]
    answer = evaluate(request(measures=names))
    assert answer.values["refused"] == ""
    dev = {row["measure"]: Fraction(row["fraction"]) for row in answer.values["scores"] if row["part"] == "dev"}
    second = 1 / np.log2(3)  # one query's passage is first, the other's second
    assert float(dev["nDCG@10"]) in (pytest.approx((1 + second) / 2), pytest.approx(3 / 4))
    assert dev["AP"] == Fraction(3, 4) and dev["RR(rel=2)@10"] == 0 and 0 < dev["Judged@10"] <= 1
    assert {row["measure"] for row in answer.values["scores"]} == {*names}


def test_the_process_answers_the_same_bytes_each_time() -> None:
    message = request()
    first, second = in_process(message), in_process(message)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert Message.read(io.BytesIO(first.stdout)) == evaluate(message)


def test_too_little_memory_ends_the_process_and_nothing_else() -> None:
    done = in_process(request(), megabytes=40)
    assert done.returncode != 0 and done.stdout == b""


def changed(package: bytes) -> bytes:
    """With another last byte."""
    return package[:-1] + bytes([package[-1] ^ 1])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"run_id": "20261101-blue"}, "not for '20261101-blue'"),
        ({"board": "other"}, "on board 'small'"),
        ({"key": new_key().private_pem}, "sealed for the keys"),
        ({"package": sealed()[:-1]}, "cut or damaged on its way"),
        ({"package": changed(sealed())}, "changed or cut"),
        ({"package": sealed()[:20]}, "cut within its header"),
        ({"package": b"BZh91AY&SY"}, "not a sealed package"),
        ({"package": sealed(evaluated="7 70 1\n7 70 2\n")}, "eval.txt.bz2, line 2"),
        ({"package": sealed(evaluated="100 1 1\n")}, "none of the 3 queries"),
        ({"package": sealed(type="other")}, "metadata.json, line 1: type"),
        ({"package": sealed(embargo_until="2027/08/01")}, "2027/07/31 is the latest"),
        ({"package": seal({"dev.txt": b"1 10 1\n"}, to=KEY.public_pem, board="small", run_id="20261101-red")}, "eval."),
    ],
)
def test_what_cannot_be_evaluated_is_refused_with_the_reason(values: dict[str, Any], reason: str) -> None:
    answer = evaluate(request(**values))
    assert reason in answer.values["refused"]
    assert answer.values["scores"] == [] and answer.blobs == {}


def test_a_changed_byte_anywhere_is_noticed() -> None:
    package = sealed()
    for at in range(0, len(package), 7):
        changed = package[:at] + bytes([package[at] ^ 1]) + package[at + 1 :]
        answer = evaluate(request(package=changed))
        assert answer.values["refused"] and not answer.values["scores"], at


def test_a_reranking_run_keeps_to_the_candidates() -> None:
    message = request(package=sealed(type="reranking"))
    candidates = {"dev_candidates": DEV.encode(), "eval_candidates": b"7 70 1\n7 71 2\n8 80 1\n"}
    answer = evaluate(Message(message.values, {**message.blobs, **candidates}))
    assert "eval.txt.bz2, line 4" in answer.values["refused"] and "not among the candidates" in answer.values["refused"]


def test_a_dev_run_alone_is_scored_without_a_package() -> None:
    message = request(kind="dev", name="mine.txt")
    answer = evaluate(Message(message.values, {**message.blobs, "run": DEV.encode()}))
    assert {row["part"] for row in answer.values["scores"]} == {"dev"}
    assert set(answer.blobs) == {row["blob"] for row in answer.values["scores"]}
    broken = evaluate(Message(message.values, {**message.blobs, "run": b"1 10\n"}))
    assert broken.values["refused"].startswith("mine.txt, line 1") and broken.values["scores"] == []


@given(st.lists(st.integers(0, 12), min_size=1, max_size=30))
def test_scores_by_query_agree_with_the_ranks(ranks: list[int]) -> None:
    lines = [f"{query} {query}x{rank} {rank}\n" for query in range(len(ranks)) for rank in range(1, 13)]
    run = check_run(io.BytesIO("".join(lines).encode()), name="run").artifact
    assert run is not None
    qrels = "".join(f"{query} 0 {query}x{rank or 99} 1\n" for query, rank in enumerate(ranks))
    read = read_qrels(io.BytesIO(qrels.encode()), name="qrels")
    assert per_query(run, read, Measure("RR", 10), "rank").tolist() == [
        1 / rank if 0 < rank <= 10 else 0 for rank in ranks
    ]
    assert per_query(run, read, Measure("Success", 3), "rank").tolist() == [0 < rank <= 3 for rank in ranks]
