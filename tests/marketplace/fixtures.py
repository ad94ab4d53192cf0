"""The fixtures `running_marketplace` and `open_marketplace`: two processes for all tests of a run."""

from collections.abc import Iterator

import pytest

from tests.marketplace.server import Marketplace


@pytest.fixture(scope="session")
def running_marketplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace that runs as long as the tests do."""
    running = Marketplace(tmp_path_factory.mktemp("marketplace"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def open_marketplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """Another one, where anybody may register, as often as they like."""
    folder = tmp_path_factory.mktemp("open-marketplace")
    running = Marketplace(folder, MARKETPLACE_OPEN_REGISTRATION="1", MARKETPLACE_RATE_LIMITS="0")
    yield running
    running.stop()
