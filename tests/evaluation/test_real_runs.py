"""Agreement with other software on runs as their teams sent them."""

import gzip
import io
import struct
from itertools import product
from pathlib import Path

import pytest
import pytrec_eval  # type: ignore[import-untyped]

from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.measures.reciprocal_rank import reciprocal_rank
from tests.evaluation.conftest import Sample

Scores = dict[str, dict[str, float]]


def scores_of(path: Path) -> Scores:
    scores: Scores = {}
    content = path.read_bytes()
    for line in (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines():
        query, _, passage, _, score, _ = line.split()
        scores.setdefault(query, {})[passage] = float(score)
    return scores


def single(value: float) -> float:
    """As trec_eval 9, and so pytrec_eval, keeps scores: in four bytes."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def judged_by_pytrec_eval(qrels: Qrels, scores: Scores, k: int) -> dict[str, int]:
    """Ranks of the first relevant passage, 0 if not within k. Queries that the run lacks are left out."""
    grades = {
        query: {passage: int(grade >= 1) for passage, grade in grades_of_query.items()}
        for query, grades_of_query in qrels.grades.items()
    }
    scores_of_peer = pytrec_eval.RelevanceEvaluator(grades, {"recip_rank"}).evaluate(scores)
    ranks = {
        query: round(1 / score["recip_rank"]) if score["recip_rank"] else 0 for query, score in scores_of_peer.items()
    }
    return {query: rank if rank <= k else 0 for query, rank in ranks.items()}


def test_reciprocal_ranks_of_four_byte_scores_are_those_of_pytrec_eval(sample: Sample) -> None:
    answered = 0
    for path in sample.runs:
        scores = {
            query: {passage: single(score) for passage, score in hits.items()}
            for query, hits in scores_of(path).items()
        }
        lines = [
            f"{query} Q0 {passage} 1 {score!r} t\n" for query, hits in scores.items() for passage, score in hits.items()
        ]
        run = check_run(io.BytesIO("".join(lines).encode())).artifact
        assert run is not None
        for qrels, k in product((read_qrels(sample.sparse), read_qrels(sample.graded)), (1, 10, 100)):
            theirs = judged_by_pytrec_eval(qrels, scores, k)
            ours = reciprocal_rank(run, qrels, k)
            assert theirs.items() <= ours.ranks.items() and sum(ours.ranks.values()) == sum(theirs.values()), path.name
            mean = sum(1 / rank for rank in theirs.values() if rank) / len(qrels.queries)
            assert ours.mean == pytest.approx(mean, abs=1e-12)
            answered += ours.answered
    assert answered  # not sixteen times nothing


def test_whole_runs_are_good_and_known_for_their_quirks(data: Path) -> None:
    hits, from_0, from_1, unordered = {
        "made-up": (30, "made-up-00", "made-up-01", "made-up-01"),
        "trec-dl-2021": (100, "pass_full_1000", "p_bm25", "watprp"),
    }[data.name]
    census = {path.name: check_run(path).census for path in sorted((data / "runs").glob("*.gz"))}
    assert {feature.queries for feature in census.values()} == {57}
    assert {feature.hits_max for feature in census.values()} == {hits}
    assert census[f"{from_0}.txt.gz"].rank_base == 0
    assert census[f"{from_1}.txt.gz"].rank_base == 1
    assert census[f"{unordered}.txt.gz"].out_of_rank_order > 0
    assert any(feature.rank_score_conflicts for feature in census.values())
