"""A collection as somebody brings it: real runs where they are, else made-up ones."""

from pathlib import Path
from typing import NamedTuple

from evaluation.files.preferences import Preference, read_preferences
from tests import made_up
from tests.real_data import DATA


class Brought(NamedTuple):
    """The files to send, what a crowd thinks of their pairs, and what the names of some of the runs have in common.

    What the crowd does not know gets a fixed coin.
    """

    files: list[Path]
    preferences: list[Preference]
    some_runs: str


def brought(folder: Path) -> Brought:
    """The real collection, which BESTKNOWN_DATA names, or else a made-up one that is written to the folder."""
    data, some_runs = DATA / "trec-dl-2021", "p_"
    if not data.is_dir():
        data, some_runs = made_up.write(folder / "made-up"), "made-up-0"
    files = [data / name for name in ("queries.tsv", "sparse-qrels.txt", "passages.tsv.gz")]
    files += sorted((data / "runs").iterdir())
    return Brought(files, list(read_preferences(data / "oracle-preferences.txt.gz")), some_runs)
