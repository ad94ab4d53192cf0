"""Turn the hand-made ranking of the demo collection into preferences between passages.

Reads ``ranking.tsv`` (query, place, passage; the best has place 1) and ``exceptions.tsv`` (query, preferred, other:
pairs decided against the ranking, so that some preferences run in a circle), and writes ``oracle-preferences.txt``: one
line ``query a b preferred`` for every pair of ranked passages of every query, ``a`` before ``b`` as strings.

Refuses to write unless the ranking covers the judged passages and the first five of every run in ``runs/``, by rank
and by score alike. Needs nothing but Python.
"""

from __future__ import annotations

import gzip
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

HERE = Path(__file__).parent
COVERED_DEPTH = 5


def read_rows(path: Path) -> list[list[str]]:
    """Return the columns of every line, the file being plain or compressed."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [line.split() for line in text.splitlines()]


def read_ranking(path: Path) -> dict[str, list[str]]:
    """Return the passages of each query, best first."""
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for query, place, passage in read_rows(path):
        places[query].append((int(place), passage))
    ranking = {}
    for query, entries in places.items():
        entries.sort()
        passages = [passage for _, passage in entries]
        if [place for place, _ in entries] != list(range(1, len(entries) + 1)) or len(set(passages)) != len(passages):
            raise ValueError(f"{path.name}: query {query}: places must run from 1 without gap, passages be distinct")
        ranking[query] = passages
    return ranking


def read_exceptions(path: Path, ranking: dict[str, list[str]]) -> set[tuple[str, str, str]]:
    """Return the pairs (query, preferred, other) decided against the ranking."""
    exceptions = set()
    for query, preferred, other in read_rows(path):
        passages = ranking[query]
        if passages.index(preferred) < passages.index(other):
            raise ValueError(f"{path.name}: query {query}: the ranking already prefers {preferred} to {other}")
        exceptions.add((query, preferred, other))
    return exceptions


def passages_needed(folder: Path, qrels: Path) -> dict[str, set[str]]:
    """Return, for each query, the judged passages and the first passages of the runs, by rank and by score."""
    needed: dict[str, set[str]] = defaultdict(set)
    for query, _, passage, _ in read_rows(qrels):
        needed[query].add(passage)
    for path in sorted(folder.iterdir()):
        hits: dict[str, list[tuple[int, float, str]]] = defaultdict(list)
        for query, _, passage, place, score, _ in read_rows(path):
            hits[query].append((int(place), float(score), passage))
        for query, entries in hits.items():
            by_rank = sorted(entries)
            by_score = sorted(entries, key=lambda hit: (hit[1], hit[2]), reverse=True)
            needed[query].update(passage for _, _, passage in by_rank[:COVERED_DEPTH] + by_score[:COVERED_DEPTH])
    return needed


def main() -> int:
    """Write the preferences; return 1 when the ranking leaves a passage out."""
    ranking = read_ranking(HERE / "ranking.tsv")
    exceptions = read_exceptions(HERE / "exceptions.tsv", ranking)
    missing = 0
    for query, needed in sorted(passages_needed(HERE / "runs", HERE / "qrels.txt").items()):
        for passage in sorted(needed - set(ranking.get(query, []))):
            print(f"ranking.tsv: query {query}: passage {passage} has no place", file=sys.stderr)
            missing += 1
    if missing:
        return 1
    lines = []
    for query, passages in ranking.items():
        place = {passage: number for number, passage in enumerate(passages)}
        for a, b in combinations(sorted(passages), 2):
            better, worse = (a, b) if place[a] < place[b] else (b, a)
            preferred = worse if (query, worse, better) in exceptions else better
            lines.append(f"{query} {a} {b} {preferred}\n")
    (HERE / "oracle-preferences.txt").write_text("".join(lines), encoding="utf-8")
    print(f"oracle-preferences.txt: {len(lines)} pairs of {len(ranking)} queries")
    return 0


if __name__ == "__main__":
    sys.exit(main())
