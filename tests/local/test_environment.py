"""Of which Python `make` makes the environment."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import REPOSITORY


@pytest.fixture
def environment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environment", REPOSITORY / ".ci" / "environment.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(folder: Path, answer: str) -> str:
    """A program called as this version of Python, in a folder, that answers this to whatever it is to run."""
    folder.mkdir()
    program = folder / f"python3.{sys.version_info[1]}"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return str(program)


def test_it_is_of_the_quickest_python_of_the_same_version_that_can_make_one(
    environment: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = [*sys.version_info[:2]], [3, sys.version_info[1] + 1]
    quick = python(tmp_path / "quick", json.dumps([1e-5, ours, "/quick/python"]))
    newer = python(tmp_path / "newer", json.dumps([1e-6, other, "/newer/python"]))
    broken = python(tmp_path / "broken", "ModuleNotFoundError: No module named 'ensurepip'")
    slow = python(tmp_path / "slow", json.dumps([1000, ours, "/slow/python"]))

    def of(*programs: str) -> str:
        monkeypatch.setenv("PATH", ":".join(str(Path(program).parent) for program in programs))
        return str(environment._quickest())

    assert of(broken, slow, newer, quick) == "/quick/python"
    assert of(broken, slow, newer) == sys.executable
    assert of() == sys.executable
