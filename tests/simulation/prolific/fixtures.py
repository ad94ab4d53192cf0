"""The fixture `prolific`: one process for all tests of a run, emptied before each."""

from collections.abc import Iterator

import pytest

from tests.ports import free_port

from .control import Double

DEPOSIT = 100_000  # cents that a test begins with


@pytest.fixture(scope="session")
def running_prolific(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """A double that runs as long as the tests do."""
    double = Double(tmp_path_factory.mktemp("prolific"), free_port())
    double.start()
    yield double
    double.stop()


@pytest.fixture
def prolific(running_prolific: Double) -> Iterator[Double]:
    """The double with 1,000 dollars and nothing else. What it answers in a test must be as the descriptions say."""
    running_prolific.reset(cents=DEPOSIT)
    yield running_prolific
    assert running_prolific.violations() == []
