"""The mathematics, beside plain scripts, pytrec_eval, scipy, and definitions written out."""

import bz2
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytrec_eval
from numpy.typing import NDArray
from scipy import stats

from benchmarks.harness import PAIRS, QUERIES, RUNS, Bench, Row, cost, in_new_process, measurement, pool_sizes
from core.sealing import seal_bytes, unseal_bytes
from evaluation.boards.checking import check_submission
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Entry, Qrels
from evaluation.files.runs import check_run
from evaluation.files.tops import RunTop, top_of
from evaluation.judging.batch_tournaments import SizedPools, by_size
from evaluation.judging.pooling import all_pairs, pool_queries
from evaluation.judging.pooling import pool_sizes as sizes_of_pools
from evaluation.judging.rounds import Settings, replay_all
from evaluation.judging.tournament import derive
from evaluation.measures.means import exact_mean
from evaluation.measures.named import COMPAT_DEPTH, PERSISTENCE, Measure, Scorer, per_query, read_measure
from evaluation.statistics.asking import settling_prospects
from evaluation.statistics.certainty import certainty as certainty_of
from evaluation.statistics.comparing import compare
from evaluation.statistics.confidence_sets import confidence_set
from evaluation.statistics.fragility import fragilities
from evaluation.statistics.ranks import Board, Ranks, ranks_of, reciprocals
from evaluation.statistics.resampling import DRAWS, query_weights
from evaluation.statistics.rescoring import Rescoring, mean_reciprocal
from evaluation.statistics.reversals import reverse_judgments

COLLECTION = 8_841_823  # passages of MS MARCO
HITS = 1000
KEPT = 100  # passages of a query that the site keeps of a run
TOP = 10
ROUNDS = 3


# --- reading runs, and what comes before judging


@measurement
def reading(bench: Bench) -> Iterator[Row]:
    """Reading a run of 1,000 hits a query, pooling 16, playing tournaments, planning a round.

    The peer of all is the time in which an evaluation script reads one run line by line into lists.
    """
    path = bench.folder / "run.txt"
    queries, pairs = bench.more_queries, bench.more_queries * PAIRS // QUERIES
    write_run(path, queries)
    measured = [(in_new_process(_check, path), in_new_process(read_plainly, path, " ")) for _ in range(2)]
    peer = min(theirs.seconds for _, theirs in measured)
    yield Row("reading a run", min(ours.seconds for ours, _ in measured), peer, 0.5)
    grown = [min(used.grown for used in usages) for usages in zip(*measured, strict=True)]
    yield Row("reading a run, memory", grown[0], grown[1], 1.5, "MB")
    path.unlink()

    for number in range(RUNS):
        with (bench.folder / f"{number}.npz").open("wb") as file:
            run_of(_drifted(queries, KEPT, number), reverse_ranks=True).save(file)
    yield Row("pooling 16 stored runs", cost(partial(_pool, bench.folder, queries), rounds=ROUNDS), peer, 0.1)

    draw = Random(20220713)
    pools = pools_of(queries, pairs)
    preferences = [
        Preference(*pair, draw.choice(pair[1:])) for query, pool in pools.items() for pair in all_pairs(query, pool)
    ]
    yield Row("playing all tournaments", cost(lambda: derive(pools, preferences), rounds=ROUNDS), peer, 0.1)
    yield Row("planning a round", _planning(queries), peer, 0.4)


def _check(path: Path) -> None:
    assert check_run(str(path)).ok


def read_plainly(path: Path, separator: str) -> dict[int, list[int]]:
    """The algorithm of the MS MARCO evaluation script: a list of 1,000 slots a query, then a look for repeats."""
    slots: dict[int, list[int]] = {}
    with bz2.open(path, "rt") if path.suffix == ".bz2" else path.open() as file:
        for line in file:
            columns = line.strip().split(separator)
            query, passage, rank = (int(columns[at]) for at in ((0, 1, 2) if len(columns) == 3 else (0, 2, 3)))
            if query not in slots:
                slots[query] = [0] * HITS
            slots[query][rank - 1] = passage
    for passages in slots.values():
        assert not {passage for passage, count in Counter(passages).items() if count > 1} - {0}
    return slots


def write_run(path: Path, queries: int) -> None:
    """A TREC run as a dense ranker writes it: scores with six decimals."""
    draw = np.random.default_rng(20220711)
    with path.open("w") as file:
        for query in range(1, queries + 1):
            passages = draw.choice(COLLECTION, HITS, replace=False).tolist()
            scores = np.sort(draw.gamma(4.0, 5.0, HITS))[::-1].tolist()
            file.writelines(
                f"{query * 157} Q0 {passage} {rank} {score:.6f} dense-v2\n"
                for rank, (passage, score) in enumerate(zip(passages, scores, strict=True), start=1)
            )


def _pool(folder: Path, queries: int) -> None:
    qrels = Qrels.of(Entry(f"{query:05}", str(query * HITS + query % 3), 1) for query in range(queries))
    tops = [RunArtifact.load(str(folder / f"{run}.npz")).top("score") for run in range(RUNS)]
    assert sizes_of_pools(pool_queries(tops, qrels)).queries == queries


def _planning(queries: int) -> float:
    """The slower of the first round, of which nothing is judged, and the second, before which the first is replayed."""
    draw = Random(20220714)
    pools = {str(query): [f"{query}-{number}" for number in range(30)] for query in range(queries)}
    first = cost(lambda: replay_all(pools, [], Settings()))
    judged = [
        Preference(query, *pair, draw.choice(pair))
        for query, status in replay_all(pools, [], Settings()).items()
        for pair in status.requests
    ]
    return max(first, cost(lambda: replay_all(pools, judged, Settings())))


def pools_of(queries: int, pairs: int) -> dict[str, tuple[str, ...]]:
    """Pools whose passages are numbered within their query."""
    return {
        f"{query:05}": tuple(str(query * HITS + place) for place in range(size))
        for query, size in enumerate(pool_sizes(queries, pairs))
    }


def run_of(ids: NDArray[np.int64], *, reverse_ranks: bool = False) -> RunArtifact:
    """A run from the ranked passages of each query, as numbers; by rank in the opposite order if wanted."""
    queries, depth = ids.shape
    passages, codes = np.unique(ids.ravel(), return_inverse=True)
    places = codes.astype(np.int32).reshape(ids.shape)
    by_rank = places[:, ::-1] if reverse_ranks else places
    names = tuple(f"{query:05}" for query in range(queries))
    starts, hits = np.arange(0, queries * depth + 1, depth), np.full(queries, HITS)
    strings = pa.array(passages).cast(pa.string())
    flat = places.ravel()
    return RunArtifact(depth, names, strings, starts, flat, by_rank.ravel().copy(), hits, flat)


def _drifted(queries: int, depth: int, seed: int) -> NDArray[np.int64]:
    """Lists that agree on their first passages about as often as published runs do, and less further down."""
    draw = np.random.default_rng(seed)
    order = np.argsort(np.arange(3 * depth) + draw.gamma(1.0, 5.0, (queries, 3 * depth)), axis=1)[:, :depth]
    return np.arange(queries)[:, None] * HITS + order


# --- scores


@measurement
def compat(bench: Bench) -> Iterator[Row]:
    """Compat of runs of 1,000 hits for 50 queries, beside its definition with sets down to every depth."""
    draw = np.random.default_rng(20220715)
    queries = [f"{number:05}" for number in range(50)]
    qrels = Qrels.of(
        Entry(query, str(passage), int(draw.integers(0, 5))) for query in queries for passage in range(0, 2 * HITS, 10)
    )
    count = min(60, 2 + 200 // bench.share)
    runs = [run_of(np.stack([draw.permutation(2 * HITS)[:HITS] for _ in queries])) for _ in range(count)]
    tops = [run.top("score", HITS) for run in runs]

    def ours() -> list[float]:
        scorer = Scorer(qrels)
        return [float(scorer.score(run, [Measure("Compat")], "score")[0].tolist()[0]) for run in runs]

    def peer() -> None:
        for top in tops:
            for query in queries:
                _overlap(top[query], qrels.grades[query])

    assert np.isclose(ours()[0], _overlap(tops[0][queries[0]], qrels.grades[queries[0]]))
    yield Row("Compat", cost(ours, rounds=ROUNDS), cost(peer), 0.02)


def _overlap(ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    place = {passage: number for number, passage in enumerate(ranking)}
    good = [passage for passage, grade in grades.items() if grade > 0]
    ideal = sorted(good, key=lambda passage: (-grades[passage], place.get(passage, len(place))))
    sums = []
    for passages in (ranking, ideal):
        upper, ideal_upper, total, weight = set[str](), set[str](), 0.0, 1.0
        for at in range(COMPAT_DEPTH):
            upper.update(passages[at : at + 1])
            ideal_upper.update(ideal[at : at + 1])
            total += weight * len(upper & ideal_upper) / (at + 1)
            weight *= PERSISTENCE
        sums.append(total)
    return sums[0] / sums[1]


@measurement
def submission(bench: Bench) -> Iterator[Row]:
    """Checking and scoring a submission of two packed runs, beside the MS MARCO script; half is unpacking."""
    ids = [str(query) for query in range(bench.queries)]
    paths = [bench.folder / f"{part}.txt.bz2" for part in ("dev", "eval")]
    relevant = [_write_packed(path, bench.queries, seed) for seed, path in enumerate(paths)]

    def ours() -> list[float]:
        check = check_submission(paths[0], paths[1], dev_queries=ids, eval_queries=ids, keep=KEPT)
        assert check.dev.artifact is not None and check.eval.artifact is not None, check.sentences()
        runs = (check.dev.artifact, check.eval.artifact)
        qrels = [Qrels({str(query): {str(passage): 1} for query, passage in of.items()}) for of in relevant]
        return [
            float(exact_mean(per_query(run, of, read_measure("RR@10"), "rank")))
            for run, of in zip(runs, qrels, strict=True)
        ]

    def peer() -> list[float]:
        return [
            sum(_reciprocal(passages, (of[query],)) for query, passages in read_plainly(path, "\t").items()) / len(of)
            for path, of in zip(paths, relevant, strict=True)
        ]

    assert np.allclose(ours(), peer())
    yield Row("evaluating a submission", cost(ours, rounds=2), cost(peer, rounds=2), 1)


def _write_packed(path: Path, queries: int, seed: int) -> dict[int, int]:
    """An MS MARCO run in bzip2, and the relevant passage of each query, which it has for every second one."""
    draw = np.random.default_rng(20220929 + seed)
    relevant = {}
    with bz2.open(path, "wt") as file:
        for query in range(queries):
            passages = draw.choice(COLLECTION, HITS, replace=False, shuffle=False).tolist()
            file.writelines(f"{query}\t{passage}\t{rank}\n" for rank, passage in enumerate(passages, start=1))
            relevant[query] = passages[query % 20] if query % 2 else -1
    return relevant


def _reciprocal(passages: Sequence[Any], relevant: Sequence[Any]) -> float:
    """RR@10 of one query."""
    return next((1 / place for place, passage in enumerate(passages[:TOP], 1) if passage in relevant), 0.0)


@measurement
def rescoring(bench: Bench) -> Iterator[Row]:
    """Scoring the entries of a board on new qrels from sealed files, beside a script that has their lines in memory."""
    entries = max(2, 160 // bench.share)
    runs = [run_of(_drifted(bench.queries, TOP, number)) for number in range(entries)]
    answers = {f"{query:05}": (str(query * HITS), str(query * HITS + query % 7)) for query in range(bench.queries)}
    sealed = [_sealed(run) for run in runs]
    lines = [
        [f"{query}\t{passage}\t{place}\n" for query, top in run.top("rank", TOP).items()
         for place, passage in enumerate(top, 1)]
        for run in runs
    ]  # fmt: skip
    unseal_bytes(sealed[0])  # the key is derived once

    def ours() -> list[float]:
        scores = Rescoring(answers, TOP)
        places = (scores.places_in(RunTop.unpack(unseal_bytes(file), name="top")) for file in sealed)
        return [float(mean_reciprocal(of)) for of in places]

    def peer() -> list[float]:
        return [_score_plainly(of, answers) for of in lines]

    assert np.allclose(ours(), peer())
    yield Row("scoring a board anew", cost(ours, rounds=ROUNDS), cost(peer, rounds=ROUNDS), 0.25)


def _score_plainly(lines: Iterable[str], answers: Mapping[str, tuple[str, ...]]) -> float:
    lists: dict[str, list[str]] = {}
    for line in lines:
        query, passage, rank = line.split("\t")
        if query not in lists:
            lists[query] = [""] * TOP
        lists[query][int(rank) - 1] = passage
    return sum(_reciprocal(lists[query], relevant) for query, relevant in answers.items()) / len(answers)


def _sealed(run: RunArtifact) -> bytes:
    top = top_of(run, "rank", TOP)
    assert top is not None
    return seal_bytes(top.pack())


@measurement
def scoring(bench: Bench) -> Iterator[Row]:
    """Scoring stored runs on new qrels, beside pytrec_eval with everything in memory as it wants it."""
    draw = np.random.default_rng(0)
    candidates = np.arange(bench.queries)[:, None] * HITS + np.arange(200)
    lists = [draw.permuted(candidates, axis=1)[:, :TOP] for _ in range(8)]
    runs = {f"run{number}": run_of(ids) for number, ids in enumerate(lists)}
    grades = {f"{query:05}": {str(ids[0]): 1} for query, ids in enumerate(candidates)}
    plain = [
        {f"{query:05}": {str(pid): float(-rank) for rank, pid in enumerate(ids)} for query, ids in enumerate(of)}
        for of in lists
    ]
    qrels = Qrels(grades)

    def ours() -> list[float]:
        return list(ranks_of(runs, qrels, TOP, "score").means().values())

    def peer() -> list[float]:
        evaluator = pytrec_eval.RelevanceEvaluator(grades, {"recip_rank"})
        scores = [evaluator.evaluate(run).values() for run in plain]
        return [sum(of["recip_rank"] for of in values) / len(values) for values in scores]

    assert np.allclose(ours(), peer())
    yield Row("scoring on new qrels", cost(ours, rounds=ROUNDS), cost(peer, rounds=ROUNDS), 0.5)


# --- statistics


@measurement
def comparing(bench: Bench) -> Iterator[Row]:
    """Comparing all pairs of 120 runs with every statistic, beside scipy for the same p-values, pair by pair."""
    runs, sample, queries = (120, 12, QUERIES) if bench.size != "tiny" else (6, 2, 100)
    for k, limit in ((10, 1 / 100), (100, 1 / 30)):
        ranks = _generated_ranks(runs, queries, k)
        pairs = list(combinations(range(runs), 2))
        drawn = [pairs[at] for at in np.random.default_rng(1).choice(len(pairs), sample, replace=False)]
        ours = cost(partial(compare, ranks), rounds=ROUNDS)
        peer = cost(partial(_compare_plainly, ranks, drawn), rounds=ROUNDS) * len(pairs) / sample
        yield Row(f"comparing {runs} runs at k = {k}", ours, peer, limit)


def _generated_ranks(runs: int, queries: int, k: int) -> Ranks:
    """Queries differ in how hard they are, runs in how good: like real runs, these agree and differ."""
    random = np.random.default_rng(k)
    hard, good = random.gamma(1, 1, queries), random.uniform(0.5, 1.5, (runs, 1))
    places = random.geometric(np.clip(0.4 * np.exp(-hard * good), 0.002, 1)).astype(np.int64)
    places[places > k] = 0
    return Ranks(k, tuple(f"run{number}" for number in range(runs)), tuple(map(str, range(queries))), places)


def _compare_plainly(ranks: Ranks, pairs: Iterable[tuple[int, int]]) -> None:
    for first, second in pairs:
        a, b = ranks.places[first], ranks.places[second]
        x, y = reciprocals(ranks.k)[a], reciprocals(ranks.k)[b]
        both = (a > 0) & (b > 0)
        only = int((a > 0).sum() - both.sum()), int((b > 0).sum() - both.sum())
        stats.ranksums(x, y)
        stats.mannwhitneyu(x, y, use_continuity=False)
        stats.binomtest(only[0], sum(only))
        for left, right in ((x, y), (a[both], b[both]), (x[both], y[both])):
            stats.wilcoxon(left, right, zero_method="wilcox", correction=False, method="asymptotic")
            stats.ttest_rel(left, right)


@measurement
def certainty(_bench: Bench) -> Iterator[Row]:
    """The certainty of answers and ranks from a posterior, beside tournaments of judgments drawn again and again.

    Always the largest design, and a tenth of it: how people judge is learned from as many pairs at any size.
    """
    random = np.random.default_rng(0)
    queries = QUERIES // 10
    pools = pools_of(queries, PAIRS // 10)
    judgments = _judged(pools, 3, random)
    board = Board({f"run{number}": _shuffled(pools, random) for number in range(RUNS)}, TOP, "score")

    def plainly() -> None:
        _answers_plainly(pools, judgments)
        _first_plainly(pools, judgments, board)

    def by_rate() -> None:
        certainty_of(pools, judgments, error_rate=0.25)
        for group in by_size(pools, judgments):
            fragilities(group)

    peer = cost(plainly)
    yield Row("certainty", cost(lambda: certainty_of(pools, judgments, board=board)), peer, 1 / 3)
    yield Row("certainty by an error rate, fragility", cost(by_rate), peer, 1 / 3)

    every = pools_of(QUERIES, PAIRS)
    once = _judged(every, 1, random)
    alone = Board({"run": _shuffled(every, random)}, TOP, "score")

    def of_results() -> None:
        certain = certainty_of(every, once, board=alone)
        for group in by_size(every, once):
            fragilities(group)
        reverse_judgments(every, once, board=alone, queries=list(every))
        sets = {query: confidence_set(of) for query, of in certain.chances.items()}
        settling_prospects(every, once, sets, judging=certain.judging)

    yield Row("certainty for the results of all queries", cost(of_results), peer * QUERIES / queries, 0.4)


def _judged(pools: Mapping[str, tuple[str, ...]], overlap: int, random: np.random.Generator) -> list[Preference]:
    """So many judgments of every pair, of which three in four prefer the first passage."""
    return [
        Preference(query, a, b, a if random.random() < 0.75 else b)
        for query, pool in pools.items()
        for a, b in combinations(pool, 2)
        for _ in range(overlap)
    ]


def _shuffled(pools: Mapping[str, tuple[str, ...]], random: np.random.Generator) -> RunArtifact:
    """The passages of every pool in random order, and others below."""
    rows = [[*random.permutation(len(pool)), *range(TOP + 7, 2 * TOP + 7)][:TOP] for pool in pools.values()]
    return run_of(np.arange(len(pools))[:, None] * HITS + np.array(rows))


def _answers_plainly(pools: Mapping[str, tuple[str, ...]], judgments: list[Preference]) -> dict[str, dict[str, float]]:
    """The share of resamples in which each best known answer stays."""
    random = np.random.default_rng(0)
    answers = {}
    for group in by_size(pools, judgments):
        for start, won in _resampled(group, random):
            best = _winners(_halves(group.size, group.counts[start : start + len(won)]))
            for query, shares, winners in zip(list(group.pools)[start:], won.mean(axis=1), best, strict=False):
                answers[query] = {
                    passage: float(share)
                    for passage, share, is_best in zip(group.pools[query], shares, winners, strict=True)
                    if is_best
                }
    return answers


def _first_plainly(pools: Mapping[str, tuple[str, ...]], judgments: list[Preference], board: Board) -> list[float]:
    """The share of resamples in which each run is first."""
    random = np.random.default_rng(0)
    weights = np.concatenate(list(query_weights(len(pools), DRAWS, random)))
    column = {query: at for at, query in enumerate(sorted(pools))}
    means = np.zeros((RUNS, DRAWS))
    for group in by_size(pools, judgments):
        values = reciprocals(board.k)[board.places(group.pools)]
        columns = np.array([column[query] for query in group.pools])
        for start, won in _resampled(group, random):
            part = slice(start, start + len(won))
            for run in range(RUNS):
                reached = (values[run, part][:, None, :] * won).max(axis=2)
                means[run] += np.einsum("qd,dq->d", reached, weights[:, columns[part]])
    leads = means.round(9) == means.round(9).max(axis=0)
    return [float(share) for share in (leads / leads.sum(axis=0)).mean(axis=1)]


def _resampled(group: SizedPools, random: np.random.Generator) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    if group.size == 1:
        yield 0, np.ones((len(group.pools), DRAWS, 1), np.bool_)
        return
    step = max(1, (1 << 21) // (DRAWS * group.size**2))
    for start in range(0, len(group.pools), step):
        counts = group.counts[start : start + step]
        total = counts.sum(axis=-1)
        drawn = random.multinomial(total, counts / total[..., None], size=(DRAWS, *total.shape))
        yield start, _winners(_halves(group.size, drawn)).swapaxes(0, 1)


def _halves(size: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    halves = np.zeros((*counts.shape[:-2], size, size), np.int64)
    for pair, (a, b) in enumerate(combinations(range(size), 2)):
        halves[..., a, b] = 2 * counts[..., pair, 0] + counts[..., pair, 2]
        halves[..., b, a] = 2 * counts[..., pair, 1] + counts[..., pair, 2]
    return halves


def _winners(halves: NDArray[np.int64]) -> NDArray[np.bool_]:
    playing = np.ones(halves.shape[:-1], np.bool_)
    while True:
        scores = np.where(playing, (halves * playing[..., None, :]).sum(axis=-1), -1)
        leaders: NDArray[np.bool_] = scores == scores.max(axis=-1, keepdims=True)
        if np.array_equal(leaders, playing):
            return leaders
        playing = leaders
