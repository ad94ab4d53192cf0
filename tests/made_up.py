"""A made-up collection in the layout of the folder of real runs, for whoever does not have that."""

import gzip
import random
from itertools import combinations
from pathlib import Path

QUERIES, JUDGED, PASSAGES, RUNS, HITS = 57, 53, 40, 16, 30
WORDS = "snail cello sky river mice owl voles bread north paper summer glass stone garden letter wheel".split()


def write(folder: Path) -> Path:
    """Write queries, passages, graded and sparse qrels, runs, people's preferences, and an oracle's.

    A passage has a hidden quality. Grades cut it, runs rank by it with more or less noise, people prefer the better
    passage two times in three, and the oracle always does. Some good passages are there twice, under two ids.
    """
    chance = random.Random(2021)
    queries = [f"{2000 + number}" for number in range(QUERIES)]
    quality: dict[str, dict[str, float]] = {}
    texts: dict[str, str] = {}
    for query in queries:
        pids = [f"passage_{query}_{number:02}" for number in range(PASSAGES)]
        quality[query] = {pid: chance.gauss(0, 1) for pid in pids}
        for pid in pids:
            texts[pid] = " ".join(chance.choices(WORDS, k=30)).capitalize() + "."
        best, good, fair = sorted(pids, key=lambda pid: -quality[query][pid])[:3]
        if chance.random() < 0.2:
            texts[good] = texts[best]
        elif chance.random() < 0.2:
            texts[fair] = texts[best].replace(".", " again.")
    grades = {
        query: {pid: 3 if value > 1.6 else 2 if value > 1 else 1 if value > 0.4 else 0 for pid, value in own.items()}
        for query, own in quality.items()
    }
    sparse = {query: max(sorted(own)[::2], key=own.__getitem__) for query, own in list(quality.items())[:JUDGED]}
    (folder / "runs").mkdir(parents=True)
    (folder / "queries.tsv").write_text("".join(f"{query}\twhat is {query} {WORDS[0]}\n" for query in queries))
    _packed(folder / "passages.tsv.gz", [f"{pid}\t{text}\n" for pid, text in texts.items()])
    _packed(
        folder / "qrels.txt.gz",
        [f"{query} 0 {pid} {grade}\n" for query in queries[:JUDGED] for pid, grade in grades[query].items()],
    )
    (folder / "sparse-qrels.txt").write_text("".join(f"{query} 0 {pid} 1\n" for query, pid in sparse.items()))
    tops: dict[str, set[str]] = {query: {pid} for query, pid in sparse.items()}
    for number in range(RUNS):
        lines = []
        for query in queries:
            noisy = {pid: value + chance.gauss(0, 0.3 + number / 8) for pid, value in quality[query].items()}
            ranked = sorted(noisy, key=lambda pid: -noisy[pid])[:HITS]
            tops.setdefault(query, set()).update(ranked[: 2 if number == 2 else 1])
            rows = [(pid, place + (number != 0), 100 - place) for place, pid in enumerate(ranked)]
            if number == 1:  # not in the order of the ranks
                rows.reverse()
            if number == 2:  # scores and ranks that disagree
                (a, first, best), (b, second, next_best) = rows[:2]
                rows[:2] = [(a, second, best), (b, first, next_best)]
            lines += [f"{query} Q0 {pid} {rank} {score} made-up-{number:02}\n" for pid, rank, score in rows]
        _packed(folder / "runs" / f"made-up-{number:02}.txt.gz", lines)
    oracle, people = [], []
    for query in queries:
        own = quality[query]
        for a, b in combinations(sorted(tops[query]), 2):
            better, worse = (a, b) if own[a] > own[b] else (b, a)
            oracle.append(f"{query} {a} {b} {better}\n")
            if query in sparse:
                people += [f"{query} {a} {b} {better if chance.random() < 2 / 3 else worse}\n" for _ in range(5)]
    _packed(folder / "oracle-preferences.txt.gz", oracle)
    _packed(folder / "preferences.txt.gz", people)
    return folder


def _packed(path: Path, lines: list[str]) -> None:
    path.write_bytes(gzip.compress("".join(lines).encode(), 1, mtime=0))
