"""Measures by their names in ir_measures: names, values by query, and agreement with ir_measures and pytrec_eval."""

import io
import math
from fractions import Fraction

import ir_measures  # type: ignore[import-untyped]
import numpy as np
import pytest
import pytrec_eval  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.files.artifact import ORDERS, RunArtifact
from evaluation.files.qrels import Entry, Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.measures.means import exact_mean
from evaluation.measures.named import Measure, Scorer, per_query, read_measure, read_measures
from evaluation.measures.reciprocal_rank import reciprocal_rank

from .conftest import Sample
from .test_real_runs import scores_of, single

NAMES = [
    "RR", "RR@1", "RR@10", "RR(rel=2)@3", "nDCG", "nDCG@1", "nDCG@3", "nDCG@10", "Success@1", "Success(rel=2)@5",
    "P@1", "P@5", "P(rel=2)@10", "R@3", "R@10", "R(rel=3)@5", "AP", "AP(rel=2)", "AP@3", "AP(rel=2)@10",
]  # fmt: skip
Run = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]


def artifact(run: Run, depth: int = 100) -> RunArtifact:
    lines = [f"{query} Q0 {pid} 1 {score!r} t\n" for query, hits in run.items() for pid, score in hits.items()]
    artifact = check_run(io.BytesIO("".join(lines).encode()), depth=depth).artifact
    assert artifact is not None
    return artifact


def by_trec_eval(grades: Grades, run: Run, measure: Measure) -> list[float]:
    """A query that the run lacks scores 0."""
    cut = "" if measure.cutoff is None else f".{measure.cutoff}"
    kind = {"RR": "recip_rank", "nDCG": "ndcg", "AP": "map", "Success": "success", "P": "P", "R": "recall"}[
        measure.kind
    ]
    measure_name = (
        "recip_rank" if kind == "recip_rank" else f"{kind}{'_cut' if cut and kind in ('map', 'ndcg') else ''}{cut}"
    )
    scores = pytrec_eval.RelevanceEvaluator(grades, {measure_name}, relevance_level=measure.rel).evaluate(run)
    values = [scores.get(query, {}).get(measure_name.replace(".", "_"), 0.0) for query in grades]
    if measure.kind == "RR" and measure.cutoff:  # trec_eval has no cutoff of it
        values = [value if value * measure.cutoff > 1 - 1e-9 else 0.0 for value in values]
    return values


ids = st.sampled_from([f"d{number}" for number in range(12)])
queries = st.sampled_from(["q1", "q2", "q3", "q10"])
runs = st.dictionaries(
    queries, st.dictionaries(ids, st.integers(-3, 6).map(float), min_size=1, max_size=12), min_size=1
)
judgments = st.dictionaries(queries, st.dictionaries(ids, st.integers(0, 4), min_size=1), min_size=1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(runs, judgments)
def test_with_ties_gaps_and_missing_queries_it_scores_as_trec_eval(name: str, run: Run, grades: Grades) -> None:
    measure = read_measure(name)
    ours = per_query(artifact(run), Qrels(grades), measure, "score")
    assert ours.tolist() == pytest.approx(by_trec_eval(grades, run, measure), abs=1e-12)


@pytest.mark.parametrize("name", [*NAMES, "Judged", "Judged@1", "Judged@3", "Judged@10", "Judged@100"])
@settings(max_examples=25)
@given(st.dictionaries(queries, st.lists(ids, unique=True, min_size=1), min_size=1), judgments)
def test_without_ties_it_scores_as_ir_measures(name: str, lists: dict[str, list[str]], grades: Grades) -> None:
    run = {query: {pid: 50.0 - place for place, pid in enumerate(passages)} for query, passages in lists.items()}
    theirs = dict.fromkeys(grades, 0.0)
    parsed = ir_measures.parse_measure(name)
    for metric in ir_measures.iter_calc([parsed], grades, run):
        theirs[metric.query_id] = metric.value
    measure = read_measure(name)
    assert str(measure) == str(parsed)
    scorer = Scorer(Qrels(grades))
    for values in (*scorer.score(artifact(run), [measure], "score"), *scorer.score_lists(lists, [measure])):
        assert dict(zip(scorer.queries, values.tolist(), strict=True)) == pytest.approx(theirs, abs=1e-9)


@given(runs, judgments, st.sampled_from(ORDERS), st.integers(1, 3))
def test_several_measures_at_once_score_as_each_alone(run: Run, grades: Grades, order: str, depth: int) -> None:
    stored, measures = artifact(run, 100), [read_measure(name) for name in NAMES]
    assert order in ORDERS
    together = Scorer(Qrels(grades)).score(stored, measures, order)
    alone = [per_query(stored, Qrels(grades), measure, order) for measure in measures]
    assert together.tolist() == [values.tolist() for values in alone]
    deep = read_measure(f"nDCG@{depth}")
    cut = per_query(stored.cut(depth), Qrels(grades), deep, order)
    assert cut.tolist() == per_query(stored, Qrels(grades), deep, order).tolist()


@given(runs, judgments, st.sampled_from(ORDERS))
def test_reciprocal_ranks_are_those_of_rr(run: Run, grades: Grades, order: str) -> None:
    assert order in ORDERS
    stored, qrels = artifact(run), Qrels(grades)
    values = per_query(stored, qrels, Measure("RR", 3), order)
    score = reciprocal_rank(stored, qrels, 3, order)
    assert values.tolist() == [1 / rank if rank else 0.0 for rank in score.ranks.values()]
    assert float(exact_mean(values)) == score.mean


@given(judgments, st.integers(1, 12))
def test_exponential_gains_weigh_high_grades_more(grades: Grades, cutoff: int) -> None:
    lists = {query: sorted(grades_of_query) for query, grades_of_query in grades.items()}
    (values,) = Scorer(Qrels(grades)).score_lists(lists, [read_measure(f"nDCG(dcg='exp-log2')@{cutoff}")])
    for value, (query, grades_of_query) in zip(values.tolist(), grades.items(), strict=True):
        gained, ideal = (
            sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(ordered[:cutoff]))
            for ordered in (
                [grades_of_query[pid] for pid in lists[query]],
                sorted(grades_of_query.values(), reverse=True),
            )
        )
        assert value == pytest.approx(gained / ideal if ideal else 0, abs=1e-12)


def compat_of(ranking: list[str], grades: dict[str, int], p: float, depth: int) -> float:
    """By its definition: the weighted overlap of two rankings at every depth, against that of the ideal with itself."""
    place = {pid: number for number, pid in enumerate(ranking)}
    good = [pid for pid, grade in grades.items() if grade > 0]
    ideal = sorted(good, key=lambda pid: (-grades[pid], place.get(pid, len(place))))

    def overlap(passages: list[str]) -> float:
        return sum(p**at * len({*passages[: at + 1]} & {*ideal[: at + 1]}) / (at + 1) for at in range(depth))

    return overlap(ranking) / overlap(ideal) if ideal else 0.0


@settings(max_examples=60)
@given(runs, judgments, st.sampled_from([0.01, 0.5, 0.9, 0.95, 0.99]), st.sampled_from([None, 1, 3, 40]))
def test_compat_is_the_overlap_with_the_ideal_ranking(run: Run, grades: Grades, p: float, cutoff: int | None) -> None:
    measure = Measure("Compat", cutoff, p=p)
    assert read_measure(str(measure)) == measure
    scorer, stored = Scorer(Qrels(grades)), artifact(run)
    lists = {query: sorted(hits, key=lambda pid: (-hits[pid], pid)) for query, hits in run.items()}
    expected = [
        compat_of(lists.get(query, []), grades_of_query, p, cutoff or 1000) for query, grades_of_query in grades.items()
    ]
    assert scorer.score(stored, [measure], "score")[0].tolist() == pytest.approx(expected, abs=1e-9)
    assert scorer.score_lists(lists, [measure])[0].tolist() == pytest.approx(expected, abs=1e-9)
    assert scorer.shared(stored).tolist() == [
        query in run and any(grade > 0 for grade in grades_of_query.values())
        for query, grades_of_query in grades.items()
    ]


@given(runs)
def test_ties_by_ascending_ids_outlive_storing_and_cutting(run: Run) -> None:
    stored = artifact(run, 4)
    file = io.BytesIO()
    stored.save(file)
    file.seek(0)
    for stored_run in (stored, RunArtifact.load(file)):
        for depth, cut_run in ((4, stored_run), (2, stored_run), (2, stored_run.cut(2))):
            ids = [*cut_run.passages.to_pylist(), None]
            for query, row in zip(cut_run.queries, cut_run.matrix("score", depth, ties_up=True), strict=True):
                hits = run[query]
                best = sorted(hits, key=lambda pid: (-hits[pid], pid))[:depth]
                assert [ids[place] for place in row] == best + [None] * (depth - len(best))


def test_an_artifact_that_does_not_say_how_ties_stand_is_refused_by_compat_only() -> None:
    stored = artifact({"q1": {"d1": 1.0, "d2": 1.0}})
    file = io.BytesIO()
    RunArtifact(*(getattr(stored, name) for name in list(stored.__dataclass_fields__)[:-1])).save(file)
    file.seek(0)
    old, qrels = RunArtifact.load(file), Qrels({"q1": {"d1": 1}})
    assert per_query(old, qrels, read_measure("RR@10"), "score").tolist() == [0.5]
    with pytest.raises(ValueError, match="check the run again"):
        per_query(old, qrels, read_measure("Compat"), "score")
    assert per_query(old, qrels, read_measure("Compat"), "rank").tolist() == [1.0]


def test_grades_below_zero_gain_nothing_and_are_judged() -> None:
    qrels = read_qrels(io.BytesIO(b"q 0 a -1\nq 0 b 2\n"))
    run = artifact({"q": {"a": 9, "b": 8, "c": 7}})
    values = {
        name: per_query(run, qrels, read_measure(name), "score").tolist() for name in ("nDCG@2", "Judged@3", "P@1")
    }
    assert values == {"nDCG@2": [pytest.approx(1 / math.log2(3))], "Judged@3": [pytest.approx(2 / 3)], "P@1": [0]}


def test_real_runs_score_as_pytrec_eval_has_them(sample: Sample) -> None:
    qrels = read_qrels(sample.graded)
    measures = [read_measure(name) for name in NAMES]
    scorer = Scorer(qrels)
    for path in sample.runs[::4]:
        scores = {q: {pid: single(score) for pid, score in hits.items()} for q, hits in scores_of(path).items()}
        ours = scorer.score(artifact(scores), measures, "score")
        for measure, values in zip(measures, ours, strict=True):
            theirs = by_trec_eval(
                {q: dict(grades_of_query) for q, grades_of_query in qrels.grades.items()}, scores, measure
            )
            assert values.tolist() == pytest.approx(theirs, abs=1e-12), (path.name, str(measure))
        assert ours.max() > 0


@pytest.mark.parametrize(
    "name", [*NAMES, "Judged", "Judged@10", "nDCG(dcg='exp-log2')@10", "Compat", "Compat(p=0.9)@100"]
)
def test_a_name_is_read_as_it_is_written(name: str) -> None:
    assert str(read_measure(name)) == name
    assert read_measure(f" {name.lower()} ") == read_measure(name)


def test_real_runs_have_the_compat_of_its_definition(sample: Sample) -> None:
    qrels = read_qrels(sample.graded)
    for path in sample.runs[:1]:
        scores = scores_of(path)
        lists = {query: sorted(hits, key=lambda pid: (-hits[pid], pid)) for query, hits in scores.items()}
        expected = [
            compat_of(lists.get(query, []), dict(grades_of_query), 0.9, 1000)
            for query, grades_of_query in qrels.grades.items()
        ]
        values = Scorer(qrels).score(artifact(scores, 1000), [Measure("Compat", p=0.9)], "score")[0]
        assert values.tolist() == pytest.approx(expected, abs=1e-9), path.name
        assert 0 <= values.min() < values.max() <= 1


@pytest.mark.parametrize(
    ("name", "is_"), [("MRR@10", "RR@10"), ("MAP", "AP"), ("Recall@5", "R@5"), ("RR(rel=1)@10", "RR@10"),
                      ("ndcg(dcg=\"log2\")@3", "nDCG@3")],
)  # fmt: skip
def test_other_names_of_a_measure_mean_the_same(name: str, is_: str) -> None:
    assert str(read_measure(name)) == is_


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "measure '' where there are RR, nDCG, Judged, Success, P, R, AP and Compat"),
        ("ERR@10", "measure 'ERR@10' where there are RR, nDCG"),
        ("RR@10@5", "measure 'RR@10@5' where there are RR, nDCG"),
        ("RR@0", "where the cutoff is a whole number from 1 to"),
        ("RR@1000000000", "where the cutoff is a whole number from 1 to"),
        ("P", "where P needs a cutoff, as in P@10"),
        ("Judged(rel=2)@10", "where Judged takes no argument"),
        ("nDCG(rel=2)@10", "where nDCG takes dcg="),
        ("RR(judged_only=True)@10", "where RR takes rel="),
        ("RR(rel=0)@10", "where rel is a whole number from 1 on"),
        ("RR(rel='2')@10", "where rel is a whole number from 1 on"),
        ("nDCG(dcg='ln')@10", "where dcg is 'log2' or 'exp-log2'"),
    ],
)
def test_an_unknown_name_says_what_is_expected(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"^measure .* where") as refused:
        read_measure(name)
    assert says in str(refused.value)


def test_several_names_are_read_each_once() -> None:
    assert [str(measure) for measure in read_measures("RR@10, nDCG@10 rr@10,nDCG(dcg='exp-log2')@5")] == [
        "RR@10", "nDCG@10", "nDCG(dcg='exp-log2')@5",
    ]  # fmt: skip
    assert read_measures(" ") == []


def test_an_artifact_that_keeps_too_little_is_refused() -> None:
    run = artifact({"q": {f"d{number}": number for number in range(20)}}, depth=10)
    qrels = Qrels.of([Entry("q", "d1", 1)])
    assert per_query(run, qrels, read_measure("nDCG@10"), "score").tolist() == [0]
    for name in ("nDCG@11", "AP"):
        with pytest.raises(ValueError, match="keeps the top 10"):
            per_query(run, qrels, read_measure(name), "score")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_mean_of_any_scores_does_not_depend_on_their_order(values: list[float]) -> None:
    assert exact_mean(values) == exact_mean(values[::-1])
    assert float(exact_mean(values)) == pytest.approx(math.fsum(values) / len(values), rel=1e-12, abs=1e-15)


def test_a_mean_of_very_many_scores_can_still_be_written_down() -> None:
    primes = [n for n in range(2, 4000) if all(n % d for d in range(2, int(n**0.5) + 1))]
    for values in ([1 / prime for prime in primes], np.random.default_rng(0).random(5000)):
        mean = exact_mean(values)
        assert len(f"{mean.numerator}/{mean.denominator}") < 1500
        assert float(mean) == pytest.approx(float(np.mean(values)))
    assert exact_mean([1 / rank for rank in range(1, 1001)]) == sum(Fraction(1, n) for n in range(1, 1001)) / 1000
