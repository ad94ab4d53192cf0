"""A collection as somebody brings it: real runs where they are, else files of the same shape."""

import gzip
import random
from pathlib import Path
from typing import NamedTuple

from evaluation.files.preferences import Preference, read_preferences
from tests.real_data import DATA

WORDS = "snail cello sky river mice owl voles bread north paper summer glass stone".split()


class Brought(NamedTuple):
    """The files to send, and what a crowd thinks of their pairs; what it does not know gets a fixed coin."""

    files: list[Path]
    preferences: list[Preference]


def brought(folder: Path) -> Brought:
    """The real data, which BESTKNOWN_DATA names, or else files that are written to the folder."""
    data = DATA / "trec-dl-2021"
    if not data.is_dir():
        return Brought(generated(folder), [])
    files = [data / name for name in ("queries.tsv", "sparse-qrels.txt", "passages.tsv.gz")]
    files += sorted((data / "runs").iterdir())
    return Brought(files, list(read_preferences(data / "oracle-preferences.txt.gz")))


def generated(folder: Path) -> list[Path]:
    """16 packed runs of 57 queries with 100 hits each, qrels for 53 of them, and the passages."""
    chance = random.Random(2021)
    queries = [f"{2000 + number}" for number in range(57)]
    pids = {query: [f"passage_{query}_{number}" for number in range(120)] for query in queries}

    def write(name: str, lines: list[str]) -> Path:
        path = folder / name
        path.write_bytes(gzip.compress("".join(lines).encode(), 1) if name.endswith(".gz") else "".join(lines).encode())
        return path

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=30)).capitalize() + "."

    files = [
        write("queries.tsv", [f"{query}\twhat is {' '.join(chance.sample(WORDS, 3))}\n" for query in queries]),
        write("sparse-qrels.txt", [f"{query} 0 {pids[query][0]} 1\n" for query in queries[:53]]),
        write("passages.tsv.gz", [f"{pid}\t{text()}\n" for query in queries for pid in pids[query]]),
    ]
    for number in range(16):
        lines = []
        for query in queries:
            ranked = [*chance.sample(pids[query][:12], 12), *chance.sample(pids[query][12:], 88)]
            lines += [f"{query} Q0 {pid} {rank} {1000 - rank} run{number}\n" for rank, pid in enumerate(ranked)]
        files.append(write(f"{'p_' if number < 6 else ''}run{number:02}.txt.gz", lines))
    return files
