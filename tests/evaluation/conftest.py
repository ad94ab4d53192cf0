"""Helpers for small files that a test can show, and the place of real ones."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str, "str | bytes"], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and gives its path. Text is dedented of nothing: what is shown is what is written."""

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file


@pytest.fixture(scope="session")
def trec_dl_2021() -> Path:
    """The folder with real runs; it is no part of the project."""
    root = Path(os.environ.get("BESTKNOWN_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
    folder = root / "trec-dl-2021"
    if not folder.is_dir():
        pytest.skip(f"no real runs: {folder} is absent (set BESTKNOWN_DATA to the folder that holds trec-dl-2021)")
    return folder
