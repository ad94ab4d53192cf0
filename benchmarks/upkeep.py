"""How fast all entries of a leaderboard are scored on a new version of its preference qrels.

160 entries of 6,980 queries are read from what the site keeps of their first ten passages, sealed, and scored exactly.
The peer is an evaluation script's algorithm, written plainly: it reads the same passages as lines, into a list for each
query. What is judged is seconds of CPU, and on a slow machine the share of the peer's.

    python -m benchmarks.upkeep            judged: exits with 1 if a limit is broken
    python -m benchmarks.upkeep --small    a quick look at whether all of it still runs; times are not judged
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evaluation.files.artifact import RunArtifact

LIMIT_SECONDS = 1.0
LIMIT_RATIO = 0.25  # of the peer's CPU, where the machine is too slow for the seconds
K = 10
ROUNDS = 3
PEERS = 5  # entries that the peer scores; it takes as long for each


class Scale(NamedTuple):
    entries: int
    queries: int


FULL = Scale(160, 6_980)
SMALL = Scale(5, 100)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.upkeep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="few entries and queries, no limits")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")  # whose key seals
    scale = SMALL if options.small else FULL
    runs = [_run(number, scale) for number in range(scale.entries)]
    answers = {
        str(query): (str(1_000_000 + query * 100 + query % 7),) + ((str(query * 100),) if query % 11 == 0 else ())
        for query in range(scale.queries)
    }
    files = [_sealed(run) for run in runs]
    texts = [_lines(run) for run in runs[:PEERS]]
    ours, peer = (min(times) for times in zip(*(_once(files, texts, answers) for _ in range(ROUNDS)), strict=True))
    ratio = ours / (peer * len(files) / len(texts))
    good = ours <= LIMIT_SECONDS or ratio <= LIMIT_RATIO
    verdict = "not judged" if options.small else "PASS" if good else "FAIL"
    print(
        f"{verdict:<10}  re-scoring {scale.entries} entries of {scale.queries:,} queries from sealed files: "
        f"{ours:.2f} s of CPU (limit {LIMIT_SECONDS:g}), {ratio:.2f} of a plain script's (limit {LIMIT_RATIO:g})"
    )
    return 0 if good or options.small else 1


def _once(files: list[bytes], texts: list[list[str]], answers: dict[str, tuple[str, ...]]) -> tuple[float, float]:
    from core.sealing import unseal_bytes
    from evaluation.files.tops import RunTop
    from evaluation.statistics.rescoring import Rescoring, mean_reciprocal

    unseal_bytes(files[0])  # deriving the key once takes no part
    started = time.process_time()
    rescoring = Rescoring(answers, K)
    means = [mean_reciprocal(rescoring.places_in(RunTop.unpack(unseal_bytes(file), name="top"))) for file in files]
    ours = time.process_time() - started
    started = time.process_time()
    plain = [_plain(lines, answers) for lines in texts]
    peer = time.process_time() - started
    assert all(abs(float(mean) - value) < 1e-9 for mean, value in zip(means, plain, strict=False))
    return ours, peer


def _plain(lines: list[str], answers: dict[str, tuple[str, ...]]) -> float:
    lists: dict[str, list[str]] = {}
    for line in lines:
        query, passage, rank = line.split("\t")
        if query not in lists:
            lists[query] = [""] * K
        lists[query][int(rank) - 1] = passage
    total = 0.0
    for query, relevant in answers.items():
        for place, passage in enumerate(lists.get(query, ()), 1):
            if passage in relevant:
                total += 1 / place
                break
    return total / len(answers)


def _lines(run: RunArtifact) -> list[str]:
    tops = run.top("rank", K)
    return [f"{query}\t{passage}\t{place}\n" for query, own in tops.items() for place, passage in enumerate(own, 1)]


def _sealed(run: RunArtifact) -> bytes:
    from core.sealing import seal_bytes
    from evaluation.files.tops import top_of

    top = top_of(run, "rank", K)
    assert top is not None
    return seal_bytes(top.pack())


def _run(number: int, scale: Scale) -> RunArtifact:
    """Lists that agree on their first passages about as often as published runs do."""
    import numpy as np
    import pyarrow as pa

    from evaluation.files.artifact import RunArtifact

    draw = np.random.default_rng(number)
    order = np.argsort(np.arange(30) + draw.gamma(1.0, 4.0, (scale.queries, 30)), axis=1)[:, :K]
    ids = 1_000_000 + np.arange(scale.queries)[:, None] * 100 + order
    passages, flat = np.unique(ids.ravel(), return_inverse=True)
    starts = np.arange(0, (scale.queries + 1) * K, K)
    queries = tuple(map(str, range(scale.queries)))
    places = flat.astype(np.int32)
    return RunArtifact(K, queries, pa.array(map(str, passages.tolist()), pa.string()), starts, places, places,
                       np.full(scale.queries, 1000))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
