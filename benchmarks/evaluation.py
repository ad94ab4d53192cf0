"""How fast `evaluation` reads, pools and plays, at the scale of the largest published design.

The peer is the algorithm of the MS MARCO evaluation script, written plainly: for each query a list of 1000 slots,
filled line by line, then a look for passages that repeat. Both read the same generated file (TREC, 6,980 queries of
1000 hits), each in a process of its own, by turns; time is the CPU of the whole process, memory its peak, with imports.
Making pools, playing tournaments and planning rounds have no peer of their own: what is judged is their share of the
same peer's CPU. Scores by Compat are judged against Compat computed as it is defined, with sets.

    python -m benchmarks.evaluation            judged: exits with 1 if a limit is broken
    python -m benchmarks.evaluation --small    a quick look at whether all of it still runs; times are not judged
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

TIME_RATIO = 0.5
MEMORY_RATIO = 1.5
POOL_RATIO = 0.1
TOURNAMENT_RATIO = 0.1
PLAN_RATIO = 0.4  # about 2 s, where the peer takes 5
COMPAT_RATIO = 0.02
HITS = 1000
RUNS = 16
ROUNDS = 3
DEEP = 30  # passages of a pool that is judged in rounds


class Scale(NamedTuple):
    queries: int
    pairs: int
    compat: int


FULL = Scale(queries=6_980, pairs=141_887, compat=63)
SMALL = Scale(queries=100, pairs=2_000, compat=2)


class Usage(NamedTuple):
    """CPU and memory of a process."""

    seconds: float
    megabytes: float


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evaluation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="small files, no limits")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return _child(*options.child)
    scale = SMALL if options.small else FULL
    with tempfile.TemporaryDirectory(prefix="bestknown-bench-") as folder:
        best = _read(Path(folder), scale)
        verdicts = [
            *_reading(best),
            _pooling(Path(folder), scale, best["peer"]),
            _tournaments(scale, best["peer"]),
            _planning(scale, best["peer"]),
            _compat(scale),
        ]
    good = True
    for name, value, limit in verdicts:
        verdict = "not judged" if options.small else "PASS" if value <= limit else "FAIL"
        good = good and verdict != "FAIL"
        print(f"{verdict:<10}  {name}: {value:.3g} (limit {limit:g})")
    return 0 if good else 1


def _read(folder: Path, scale: Scale) -> dict[str, Usage]:
    """The least that the peer and the check take for one run."""
    path = folder / "run.txt"
    _measured("generate", str(path), str(scale.queries))
    print(f"a run of {scale.queries:,} queries x {HITS:,} hits, {path.stat().st_size / 1e6:,.0f} MB")
    usages: dict[str, list[Usage]] = {"peer": [], "check": []}
    for _ in range(ROUNDS):
        for who, measured in usages.items():
            measured.append(_measured(who, str(path)))
    best = {who: Usage(*map(min, zip(*measured, strict=True))) for who, measured in usages.items()}
    for who, label in (("peer", "the script's algorithm"), ("check", "check_run")):
        print(f"  {label:<24} {best[who].seconds:6.2f} s of CPU  {best[who].megabytes:6.0f} MB")
    path.unlink()
    return best


def _reading(best: dict[str, Usage]) -> list[tuple[str, float, float]]:
    ours, peer = best["check"], best["peer"]
    return [
        ("reading a run, CPU against the peer's", ours.seconds / peer.seconds, TIME_RATIO),
        ("reading a run, memory against the peer's", ours.megabytes / peer.megabytes, MEMORY_RATIO),
    ]


def _pooling(folder: Path, scale: Scale, peer: Usage) -> tuple[str, float, float]:
    _measured("store", str(folder), str(scale.queries))
    seconds = min(_answer("pool", str(folder), str(scale.queries))["seconds"] for _ in range(ROUNDS))
    print(f"pools of {RUNS} stored runs: {seconds:.2f} s of CPU")
    return f"pools of {RUNS} stored runs, CPU against the peer's", seconds / peer.seconds, POOL_RATIO


def _tournaments(scale: Scale, peer: Usage) -> tuple[str, float, float]:
    seconds = min(_answer("play", str(scale.queries), str(scale.pairs))["seconds"] for _ in range(ROUNDS))
    print(f"{scale.queries:,} tournaments over {scale.pairs:,} pairs: {seconds:.2f} s of CPU")
    return "tournaments, CPU against the peer's", seconds / peer.seconds, TOURNAMENT_RATIO


def _planning(scale: Scale, peer: Usage) -> tuple[str, float, float]:
    seconds = min(_answer("plan", str(scale.queries))["seconds"] for _ in range(ROUNDS))
    print(f"planning the first and the second round of {scale.queries:,} pools of {DEEP}: {seconds:.2f} s of CPU, each")
    return "planning a round, CPU against the peer's", seconds / peer.seconds, PLAN_RATIO


def _compat(scale: Scale) -> tuple[str, float, float]:
    ours, definition = (
        min(_answer("compat", way, str(scale.compat))["seconds"] for _ in range(ROUNDS)) for way in ("ours", "peer")
    )
    print(f"Compat of {scale.compat} runs: {ours:.2f} s of CPU, and {definition:.2f} s by its definition")
    return "Compat, CPU against its definition", ours / definition, COMPAT_RATIO


def _answer(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.evaluation", "--child", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def _measured(*arguments: str) -> Usage:
    answer = _answer(*arguments)
    return Usage(answer["processor_seconds"], answer["megabytes"])


def _child(what: str, *arguments: str) -> int:
    """What runs in a process of its own. Imports stay inside, so that each process has only what it needs."""
    works: dict[str, Callable[..., float]] = {
        "peer": _peer,
        "check": _check,
        "generate": _generate,
        "store": _store,
        "pool": _pool,
        "play": _play,
        "plan": _plan,
        "compat": _score_compat,
    }
    seconds = works[what](*arguments)
    print(json.dumps({"megabytes": _peak_megabytes(), "seconds": seconds, "processor_seconds": time.process_time()}))
    return 0


def _peak_megabytes() -> float:
    """Of this process image alone: getrusage would also count what the parent held when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _peer(path: str) -> float:
    slots: dict[int, list[int]] = {}
    with Path(path).open() as file:
        for line in file:
            columns = line.strip().split()
            query, passage, rank = int(columns[0]), int(columns[2]), int(columns[3])
            if query not in slots:
                slots[query] = [0] * HITS
            slots[query][rank - 1] = passage
    for query, passages in slots.items():
        repeated = {passage for passage, count in Counter(passages).items() if count > 1} - {0}
        if repeated:
            raise SystemExit(f"query {query} repeats {repeated}")
    return 0.0


def _check(path: str) -> float:
    from evaluation.files.runs import check_run

    check = check_run(path)
    if not check.ok:
        raise SystemExit(check.complaint())
    return 0.0


def _generate(path: str, queries: str) -> float:
    """A TREC run as a dense ranker writes it: ids of an 8.8 million collection, scores with six decimals."""
    import numpy as np

    draw = np.random.default_rng(20220711)
    ranks = range(1, HITS + 1)
    with Path(path).open("w") as file:
        for number in range(int(queries)):
            query = 1_000 + number * 157
            passages = draw.choice(8_841_823, HITS, replace=False, shuffle=False)
            draw.shuffle(passages)
            scores = np.sort(draw.gamma(4.0, 5.0, HITS))[::-1]
            rows = zip(passages.tolist(), ranks, scores.tolist(), strict=True)
            file.write("".join(f"{query} Q0 {passage} {rank} {score:.6f} dense-v2\n" for passage, rank, score in rows))
    return 0.0


def _store(folder: str, queries: str) -> float:
    """The artifacts of runs that agree on the top passage about as often as published runs do."""
    import numpy as np
    import pyarrow as pa

    from evaluation.files.artifact import RunArtifact

    draw = np.random.default_rng(20220712)
    count, depth = int(queries), 100
    ids = tuple(str(1_000 + number * 157) for number in range(count))
    passages = pa.array([str(1_000_000 + number) for number in range(count * depth)])
    starts = np.arange(0, (count + 1) * depth, depth)
    for run in range(RUNS):
        # Within a query: a shuffle that moves early candidates a little and late ones a lot.
        order = np.argsort(np.arange(depth) + draw.gamma(1.0, 10.0, (count, depth)), axis=1)
        flat = (order + np.arange(count)[:, None] * depth).astype(np.int32).ravel()
        by_rank = flat.reshape(count, depth)[:, ::-1].ravel()  # an order of its own, so that both are stored
        artifact = RunArtifact(depth, ids, passages, starts, flat, by_rank, np.full(count, HITS))
        with Path(folder, f"{run}.npz").open("wb") as file:
            artifact.save(file)
    return 0.0


def _pool(folder: str, queries: str) -> float:
    from evaluation.files.artifact import RunArtifact
    from evaluation.files.qrels import Entry, Qrels
    from evaluation.judging.pooling import pool_queries, pool_sizes

    qrels = Qrels.of(Entry(str(1_000 + n * 157), str(1_000_000 + n * 100 + n % 3), 1) for n in range(int(queries)))
    started = time.process_time()
    tops = [RunArtifact.load(str(Path(folder, f"{run}.npz"))).top("score") for run in range(RUNS)]
    sizes = pool_sizes(pool_queries(tops, qrels))
    seconds = time.process_time() - started
    if sizes.queries != int(queries):
        raise SystemExit(f"{sizes.queries} pools")
    print(f"  pools: mean {sizes.mean:.2f}, {sizes.pairs:,} pairs", file=sys.stderr)
    return seconds


def _play(queries: str, pairs: str) -> float:
    from evaluation.files.preferences import Preference
    from evaluation.judging.pooling import all_pairs
    from evaluation.judging.tournament import derive

    draw = random.Random(20220713)
    pools = {
        str(query): [str(1_000_000 + number) for number in draw.sample(range(8_841_823), size)]
        for query, size in enumerate(_sizes(int(queries), int(pairs), draw))
    }
    preferences = [
        Preference(*pair, draw.choice(pair[1:])) for query, pool in pools.items() for pair in all_pairs(query, pool)
    ]
    if len(preferences) != int(pairs):
        raise SystemExit(f"{len(preferences)} pairs")
    started = time.process_time()
    derived = derive(pools, preferences)
    seconds = time.process_time() - started
    if derived.incomplete or derived.single + sum(derived.deadlocks.values()) != int(queries):
        raise SystemExit("not every pool was played")
    return seconds


def _plan(queries: str) -> float:
    """The slower of the first round, of which nothing is judged, and the second, before which the first is replayed."""
    from evaluation.files.preferences import Preference
    from evaluation.judging.rounds import Settings, replay_all

    draw = random.Random(20220714)
    pools = {str(query): [f"{query}-{number}" for number in range(DEEP)] for query in range(int(queries))}
    preferences: list[Preference] = []
    slowest = 0.0
    for number in (1, 2):
        started = time.process_time()
        statuses = replay_all(pools, preferences, Settings())
        slowest = max(slowest, time.process_time() - started)
        if {status.round for status in statuses.values()} != {number}:
            raise SystemExit(f"not every pool is in round {number}")
        preferences += [
            Preference(query, *pair, draw.choice(pair))
            for query, status in statuses.items()
            for pair in status.requests
        ]
    return slowest


def _score_compat(way: str, count: str) -> float:
    """Runs of 1,000 hits for 50 queries with 200 judged passages each, by us, or with sets down to every depth."""
    import numpy as np
    import pyarrow as pa

    from evaluation.files.artifact import RunArtifact
    from evaluation.files.qrels import Entry, Qrels
    from evaluation.measures.named import COMPAT_DEPTH, PERSISTENCE, Measure, Scorer

    draw = np.random.default_rng(20220715)
    queries = [str(number) for number in range(50)]
    ids = pa.array([f"d{number}" for number in range(2 * HITS)])
    entries = [Entry(query, f"d{at}", int(draw.integers(0, 5))) for query in queries for at in range(0, 2 * HITS, 10)]
    qrels = Qrels.of(entries)
    starts = np.arange(0, (len(queries) + 1) * HITS, HITS)
    runs = []
    for _ in range(int(count)):
        flat = np.concatenate([draw.permutation(2 * HITS)[:HITS] for _ in queries]).astype(np.int32)
        runs.append(RunArtifact(HITS, tuple(queries), ids, starts, flat, flat, np.full(len(queries), HITS), flat))
    lists = [run.top("score", HITS) for run in runs]
    started = time.process_time()
    if way == "ours":
        scorer = Scorer(qrels)
        values = [scorer.score(run, [Measure("Compat")], "score")[0].tolist() for run in runs]
        seconds = time.process_time() - started
        if abs(values[0][0] - _overlap(lists[0]["0"], qrels.grades["0"], PERSISTENCE, COMPAT_DEPTH)) > 1e-9:
            raise SystemExit("another value than the definition's")
        return seconds
    for own in lists:
        for query in queries:
            _overlap(own[query], qrels.grades[query], PERSISTENCE, COMPAT_DEPTH)
    return time.process_time() - started


def _overlap(ranking: Sequence[str], grades: Mapping[str, int], p: float, depth: int) -> float:
    place = {passage: number for number, passage in enumerate(ranking)}
    good = [passage for passage, grade in grades.items() if grade > 0]
    ideal = sorted(good, key=lambda passage: (-grades[passage], place.get(passage, len(place))))
    sums = []
    for one in (ranking, ideal):
        of_one, of_ideal, total, weight = set[str](), set[str](), 0.0, 1.0
        for at in range(depth):
            of_one.update(one[at : at + 1])
            of_ideal.update(ideal[at : at + 1])
            total += weight * len(of_one & of_ideal) / (at + 1)
            weight *= p
        sums.append(total)
    return sums[0] / sums[1]


def _sizes(queries: int, pairs: int, draw: random.Random) -> list[int]:
    """Pool sizes that make exactly so many pairs."""
    sizes = [1] * queries
    left = pairs
    while left:
        at = draw.randrange(queries)
        if sizes[at] <= left and sizes[at] < RUNS + 1:  # one passage more makes as many pairs more as there are now
            left -= sizes[at]
            sizes[at] += 1
    return sizes


if __name__ == "__main__":
    sys.exit(main())
