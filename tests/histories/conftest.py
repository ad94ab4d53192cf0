"""What the histories begin with: a small campaign, and chance that is none."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from core.models import Lab
from pools.models import Campaign
from tests import factories
from tests.histories.frame import PARTS, SEED

QUERIES = [f"q{number}" for number in range(20)]


@pytest.fixture
def campaign(lab: Lab, tmp_path: Path) -> Campaign:
    """Ten HITs of two pairs and a test pair, each to be judged by two people."""
    qrels = {query: [f"{query}a"] for query in QUERIES}
    tops = {"red": {query: [f"{query}b"] for query in QUERIES}}
    collection = factories.collection(tmp_path, in_lab=lab, name="histories", qrels=qrels, tops=tops)
    return factories.campaign(
        collection, "histories", pairs_per_hit=2, tests_per_hit=1, overlap=2, leaves_per_worker=None
    )


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history that is played again is the same."""
    monkeypatch.setattr("platforms.outbox.secrets", SimpleNamespace(randbelow=lambda most: most // 2))
    monkeypatch.setattr("platforms.prolific.client.secrets", SimpleNamespace(randbelow=lambda most: most // 2))


@pytest.fixture(params=range(PARTS))
def seed(request: pytest.FixtureRequest) -> int:
    """Of each part of the histories, so that no test takes long."""
    return SEED + 1000 * int(request.param)
