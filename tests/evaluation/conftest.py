"""Small files that a test can show, and whole collections to compare with other software on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from tests.conftest import REPOSITORY
from tests.real_data import COLLECTIONS, DATA

# A slow machine is no failure, and the same code has the same examples; `make fuzz-files` tries others each time.
settings.register_profile("untimed", deadline=None, max_examples=50, derandomize="READER_INPUTS" not in os.environ)
settings.load_profile("untimed")

Write = Callable[[str, "str | bytes"], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and gives its path."""

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file


class Sample(NamedTuple):
    """A collection's runs, and its qrels: at most one relevant passage a query, and several of several grades."""

    runs: list[Path]
    sparse: Path
    graded: Path


@pytest.fixture(params=["demo", *COLLECTIONS])
def sample(request: pytest.FixtureRequest, made_up_data: Path) -> Sample:
    """The demo, the made-up collection, and the real one where it is."""
    if request.param == "demo":
        demo = REPOSITORY / "demo"
        runs = sorted((demo / "runs").iterdir())
        assert len(runs) == 11
        return Sample(runs, demo / "qrels.txt", demo / "qrels.txt")
    data = made_up_data if request.param == "made-up" else DATA / str(request.param)
    runs = sorted((data / "runs").glob("*.gz"))
    assert len(runs) == 16
    return Sample(runs, data / "sparse-qrels.txt", data / "qrels.txt.gz")
