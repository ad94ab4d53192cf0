"""`make bench` is run by hand, so that each of its parts can still be started is tested here."""

import os
import subprocess
import sys

import pytest

from benchmarks.__main__ import PARTS
from tests.conftest import REPOSITORY


@pytest.mark.parametrize("part", PARTS)
def test_each_benchmark_starts(part: str) -> None:
    plain = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    started = subprocess.run(
        [sys.executable, "-m", part, "--help"], cwd=REPOSITORY, env=plain, capture_output=True, text=True, check=False
    )
    assert (started.returncode, started.stderr) == (0, "")
    assert "--small" in started.stdout
