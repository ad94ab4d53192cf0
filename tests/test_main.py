"""How `make test` treats a test that fails: once more, alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.__main__ import FEW
from tests.conftest import REPOSITORY

PASSES_THE_SECOND_TIME = """
from pathlib import Path
def test_passes_the_second_time():
    seen = Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before
"""
FAILS = "def test_fails(): assert False\n"
PASSES = "def test_passes(): pass\n"


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:django\n")
    command = [sys.executable, "-m", "tests", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_test_that_failed_beside_others_and_passes_alone_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(PASSES_THE_SECOND_TIME + PASSES)
    ran = run(tmp_path, "-n", "2")
    assert ran.returncode == 0, ran.stdout
    assert "These tests failed beside others, and passed alone:" in ran.stdout
    assert ran.stdout.strip().endswith("test_it.py::test_passes_the_second_time")
    assert "1 failed, 1 passed" in ran.stdout


@pytest.mark.parametrize(
    ("tests", "tries"),
    [
        pytest.param(FAILS + PASSES_THE_SECOND_TIME, 2, id="fails alone too"),
        pytest.param("".join(FAILS.replace("fails", f"fails_{n}") for n in range(FEW + 1)), 1, id="more than a few"),
        pytest.param("import nothing_of_this_name\n", 1, id="cannot be read"),
    ],
)
def test_a_run_fails(tmp_path: Path, tests: str, tries: int) -> None:
    (tmp_path / "test_it.py").write_text(tests)
    ran = run(tmp_path)
    assert ran.returncode != 0
    assert ran.stdout.count("test session starts") == tries
    assert "passed alone" not in ran.stdout
