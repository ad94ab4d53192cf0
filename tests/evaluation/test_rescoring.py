"""Scoring stored runs on another version of the qrels: exact, and as if every list were walked by hand."""

import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS, RunArtifact
from evaluation.files.qrels import read_qrels
from evaluation.files.runs import check_run
from evaluation.files.tops import RunTop, top_of
from evaluation.statistics.rescoring import Rescoring, mean_reciprocal


def run_of(folder: Path, *rows: str) -> RunArtifact:
    """From rows `query passage rank score`."""
    file = folder / "run.txt"
    lines = (row.split() for row in rows)
    file.write_text("".join(f"{query} Q0 {pid} {rank} {score} tag\n" for query, pid, rank, score in lines))
    artifact = check_run(file).artifact
    assert artifact is not None
    return artifact


def test_the_first_relevant_passage_counts_within_k_and_by_the_order_asked_for(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q1 a 1 1", "q1 b 2 2", "q1 c 3 3", "q2 d 1 9")
    answers = {"q2": ("x",), "q1": ("a", "b"), "lacked": ("a",), "nothing": ()}
    assert Rescoring(answers, 3).places(run, "rank").tolist() == [0, 1, 0, 0]
    assert Rescoring(answers, 3).places(run, "score").tolist() == [0, 2, 0, 0]
    assert Rescoring(answers, 1).places(run, "score").tolist() == [0, 0, 0, 0]
    assert Rescoring({}, 3).places(run, "rank").tolist() == []
    with pytest.raises(ValueError, match="k 0 where at least 1 is needed"):
        Rescoring(answers, 0)


def test_one_layout_scores_runs_with_other_queries(tmp_path: Path) -> None:
    rescoring = Rescoring({"q1": ("a",), "q2": ("b",)}, 2)
    assert rescoring.places(run_of(tmp_path, "q1 a 1 2", "q2 c 1 2", "q2 b 2 1"), "rank").tolist() == [1, 2]
    assert rescoring.places(run_of(tmp_path, "q2 b 1 2"), "rank").tolist() == [0, 1]


def test_means_are_exact() -> None:
    assert mean_reciprocal(np.array([1, 3, 0, 3])) == Fraction(5, 12)
    assert mean_reciprocal(np.array([], np.int64)) == 0


@given(st.lists(st.integers(0, 10), max_size=50))
def test_the_mean_is_that_of_fractions(places: list[int]) -> None:
    plain = sum((Fraction(1, place) for place in places if place), Fraction(0))
    assert mean_reciprocal(np.array(places, np.int64)) * len(places) == plain


def test_a_cut_run_has_the_same_tops_and_refuses_what_is_deeper(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q1 a 1 1", "q1 b 2 2", "q1 c 3 3", "q2 d 1 9")
    cut = run.cut(2)
    assert cut.top("score", 2) == {"q1": ("c", "b"), "q2": ("d",)}
    assert cut.top("rank", 2) == {"q1": ("a", "b"), "q2": ("d",)}
    assert (cut.depth, cut.hits.tolist(), len(cut.passages)) == (2, [3, 1], 4)
    with (tmp_path / "cut.npz").open("wb") as file:
        cut.save(file)
    assert RunArtifact.load(tmp_path / "cut.npz").top("rank", 2) == cut.top("rank", 2)
    with pytest.raises(ValueError, match="keeps the top 2"):
        cut.top("rank", 3)


def test_whole_runs_are_scored_as_their_artifacts_always_were(data: Path) -> None:
    relevant = read_qrels(data / "qrels.txt.gz").relevant("all", 2)
    rescoring = Rescoring(relevant, 10)
    for path in sorted((data / "runs").glob("*.gz")):
        run = check_run(path).artifact
        assert run is not None
        for order in ("score", "rank"):
            expected = list(run.ranks(order, relevant, 10).values())
            assert rescoring.places(run, order).tolist() == expected
            assert rescoring.places(run.cut(10), order).tolist() == expected


IDS = st.text("ab0é-", min_size=1, max_size=4)
LISTS = st.dictionaries(IDS, st.lists(st.one_of(IDS, IDS.map("doc_".__add__)), unique=True, max_size=6), max_size=5)


@given(lists=LISTS, answers=st.dictionaries(IDS, st.lists(IDS, max_size=3)), k=st.integers(1, 4), data_=st.data())
def test_the_top_that_is_kept_scores_exactly_as_the_whole_run(
    lists: dict[str, list[str]], answers: dict[str, list[str]], k: int, data_: st.DataObject
) -> None:
    rows = [
        f"{query} Q0 {pid} {rank} {data_.draw(st.integers(0, 3))} tag\n"
        for query, passages in lists.items()
        for rank, pid in enumerate(passages, 1)
    ]
    run = check_run(io.BytesIO("".join(rows).encode()), name="run").artifact
    if run is None:
        assert not rows
        return
    depth = data_.draw(st.integers(k, 5))
    # Half of the answers are passages that the run has.
    for query, passages in lists.items():
        answers.setdefault(query, []).extend(passages[-1:])
    rescoring = Rescoring(answers, k)
    for order in ORDERS:
        ours = top_of(run, order, depth)
        assert ours is not None
        top = RunTop.unpack(ours.pack(), name="top")
        assert rescoring.places_in(top).tolist() == rescoring.places(run, order).tolist()
        assert top.first() == run.top(order)
        assert top.pack() == ours.pack()


def test_a_top_refuses_what_it_does_not_hold(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q1 a 1 1", "q1 b 2 2", f"q2 {'d' * 70} 1 9")
    assert top_of(run, "rank", 2) is None  # too wide: all would be
    narrow = top_of(run_of(tmp_path, "q1 passage_1 1 2", "q1 passage_22 2 1"), "rank", 2)
    assert narrow is not None
    assert (narrow.prefix, narrow.passages.tolist()) == (b"passage_", [[b"1", b"22"]])
    assert Rescoring({"q1": ("passage_2", "1", "passage_", "passage_22\0")}, 2).places_in(narrow).tolist() == [0]
    assert Rescoring({"q1": ("passage_22",)}, 2).places_in(narrow).tolist() == [2]
    with pytest.raises(ValueError, match="the top 2 of a run where the top 3 is needed"):
        Rescoring({"q1": ("a",)}, 3).places_in(narrow)


@pytest.mark.parametrize("cut", [0, 5, 60, -1])
def test_a_top_that_is_cut_off_is_no_top(tmp_path: Path, cut: int) -> None:
    top = top_of(run_of(tmp_path, "q1 a 1 2", "q1 b 2 1"), "rank", 2)
    assert top is not None
    with pytest.raises(BadInput, match=r"top\.sealed: not the top of a run"):
        RunTop.unpack(top.pack()[:cut], name="top.sealed")
    with pytest.raises(BadInput, match="its version or order is not known"):
        RunTop.unpack(top.pack().replace(b'"version": 1', b'"version": 2'), name="top.sealed")
