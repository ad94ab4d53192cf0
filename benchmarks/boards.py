"""How fast a submission to a leaderboard is checked and evaluated: two runs of 6,837 queries x 1000 hits, in bzip2.

The peer is the algorithm of the MS MARCO evaluation script, written plainly: it unpacks line by line, fills a list of
1000 slots for each query, looks for passages that repeat, and sums up reciprocal ranks. Both do the whole of it for
both runs, in a process of its own, by turns, and have to find the same scores; time is the CPU of the whole process.
Half of it is unpacking, which is the same for both. Ours reads the runs at once, on two processors: its time on the
clock is judged against that of one run after the other, wherever that one had a processor for itself. On a machine that
is busy with other programs it is shown only.

    python -m benchmarks.boards            judged: exits with 1 if a limit is broken
    python -m benchmarks.boards --small    a quick look at whether all of it still runs; times are not judged
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

TIME_RATIO = 0.75
CLOCK_RATIO = 0.75  # of both runs at once against one after the other; 0.5 would be twice as fast
ALONE = 1.1  # clock against CPU of one run after the other, up to which the machine has nothing else to do
HITS = 1000
KEPT = 100  # of each query, as the site keeps them
QUERIES, FEW_QUERIES = 6_837, 60
ROUNDS = 2
PARTS = ("dev", "eval")


class Usage(NamedTuple):
    """CPU of a process, seconds on the clock, and the scores that it found, rounded."""

    processor: float
    clock: float
    scores: list[float]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.boards",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="small files, no limits")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return _child(*options.child)
    queries = FEW_QUERIES if options.small else QUERIES
    with tempfile.TemporaryDirectory(prefix="bestknown-bench-") as folder:
        _measured("generate", folder, queries)
        size = sum(Path(folder, f"{part}.txt.bz2").stat().st_size for part in PARTS)
        print(f"two runs of {queries:,} queries x {HITS:,} hits, {size / 1e6:,.0f} MB in bzip2")
        found: dict[str, list[Usage]] = {"peer": [], "ours": [], "one by one": []}
        for _ in range(1 if options.small else ROUNDS):
            for who, usages in found.items():
                usages.append(_measured(who, folder, queries))
    scores = {tuple(usage.scores) for usages in found.values() for usage in usages}
    if len(scores) > 1:
        raise SystemExit(f"scores that differ: {scores}")
    best = {}
    for who, usages in found.items():
        best[who] = min(usage.processor for usage in usages)
        clock = min(usage.clock for usage in usages)
        print(f"  {who:<12} {best[who]:6.2f} s of CPU  {clock:6.2f} s on the clock")
    clocks = {who: min(usage.clock for usage in usages) for who, usages in found.items()}
    is_alone = clocks["one by one"] <= ALONE * best["one by one"] and (os.cpu_count() or 1) > 1
    clock_ratio = clocks["ours"] / clocks["one by one"]
    is_slow = is_alone and not options.small and clock_ratio > CLOCK_RATIO
    print(
        f"{'FAIL' if is_slow else 'PASS' if is_alone and not options.small else 'not judged':<10}  both runs at once, "
        f"on the clock, against one after the other: {clock_ratio:.2f} (limit {CLOCK_RATIO:g})"
    )
    ratio = best["ours"] / best["peer"]
    verdict = "not judged" if options.small else "PASS" if ratio <= TIME_RATIO else "FAIL"
    print(f"{verdict:<10}  evaluating a submission, CPU against the peer's: {ratio:.2f} (limit {TIME_RATIO:g})")
    return int(verdict == "FAIL" or is_slow)


def _measured(who: str, folder: str, queries: int) -> Usage:
    command = [sys.executable, "-m", "benchmarks.boards", "--child", who, folder, str(queries)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Usage(*json.loads(done.stdout))


def _child(who: str, folder: str, queries: str) -> int:
    """What runs in a process of its own. Imports stay inside, so that each process has only what it needs."""
    works: dict[str, Callable[[Path, int], list[float]]] = {
        "generate": _generate,
        "peer": _peer,
        "ours": _ours,
        "one by one": _one_by_one,
    }
    started = time.perf_counter()
    scores = [round(score, 9) for score in works[who](Path(folder), int(queries))]
    print(json.dumps([time.process_time(), time.perf_counter() - started, scores]))
    return 0


def _generate(folder: Path, queries: int) -> list[float]:
    """MS MARCO runs of a dense ranker, and qrels of one passage a query, which it finds for every second query."""
    import numpy as np

    for number, part in enumerate(PARTS):
        draw = np.random.default_rng(20220929 + number)
        packed, qrels = bz2.BZ2Compressor(), []
        with Path(folder, f"{part}.txt.bz2").open("wb") as file:
            for query in _ids(queries):
                passages = draw.choice(8_841_823, HITS, replace=False, shuffle=False).tolist()
                rows = "".join(f"{query}\t{passage}\t{rank}\n" for rank, passage in enumerate(passages, start=1))
                file.write(packed.compress(rows.encode()))
                qrels.append(f"{query} 0 {passages[query % 20] if query % 2 else -1} 1\n")
            file.write(packed.flush())
        Path(folder, f"{part}-qrels.txt").write_text("".join(qrels))
    return []


def _ids(queries: int) -> list[int]:
    return [1_000 + number * 157 for number in range(queries)]


def _peer(folder: Path, queries: int) -> list[float]:
    scores = []
    for part in PARTS:
        relevant: dict[int, int] = {}
        for line in Path(folder, f"{part}-qrels.txt").read_text().splitlines():
            query, _, passage, _ = line.split()
            relevant[int(query)] = int(passage)
        slots: dict[int, list[int]] = {}
        with bz2.open(folder / f"{part}.txt.bz2", "rt") as file:
            for line in file:
                columns = line.strip().split("\t")
                query_id, passage_id, rank = int(columns[0]), int(columns[1]), int(columns[2])
                if query_id not in slots:
                    slots[query_id] = [0] * HITS
                slots[query_id][rank - 1] = passage_id
        total = 0.0
        for query_id, passages in slots.items():
            repeated = {passage for passage, count in Counter(passages).items() if count > 1} - {0}
            if repeated:
                raise SystemExit(f"query {query_id} repeats {repeated}")
            for place, passage_id in enumerate(passages[:10], start=1):
                if passage_id == relevant[query_id]:
                    total += 1 / place
                    break
        scores.append(total / len(relevant))
    return scores


def _ours(folder: Path, queries: int) -> list[float]:
    from evaluation.boards.checking import check_submission

    ids = [str(query) for query in _ids(queries)]
    paths = [folder / f"{part}.txt.bz2" for part in PARTS]
    check = check_submission(paths[0], paths[1], dev_queries=ids, eval_queries=ids, kept=KEPT)
    if not check.ok:
        raise SystemExit("\n".join(check.sentences()))
    return _scores(folder, [check.dev.artifact, check.eval.artifact])


def _one_by_one(folder: Path, queries: int) -> list[float]:
    from evaluation.boards.checking import check_file

    ids = [str(query) for query in _ids(queries)]
    checks = [check_file(folder / f"{part}.txt.bz2", name=part, queries=ids, kept=KEPT) for part in PARTS]
    return _scores(folder, [check.artifact for check in checks])


def _scores(folder: Path, runs: list[object]) -> list[float]:
    """RR@10 of both runs, as the peer finds it."""
    from evaluation.files.artifact import RunArtifact
    from evaluation.files.qrels import read_qrels
    from evaluation.measures.means import exact_mean
    from evaluation.measures.named import per_query, read_measure

    scores = []
    for part, run in zip(PARTS, runs, strict=True):
        if not isinstance(run, RunArtifact):
            raise SystemExit(f"{part} has errors")
        found = per_query(run, read_qrels(folder / f"{part}-qrels.txt"), read_measure("RR@10"), "rank")
        scores.append(float(exact_mean(found)))
    return scores


if __name__ == "__main__":
    sys.exit(main())
