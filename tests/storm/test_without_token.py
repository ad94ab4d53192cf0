"""The tests of the storm can fail: without the token, by which the platform knows a repeated call, they would."""

from pathlib import Path

import pytest

from core.models import Lab
from tests.marketplace.server import Marketplace, Requester
from tests.storm.weather import doubled, published, weather


@pytest.mark.timeout(400)
def test_without_the_token_the_same_storm_publishes_and_pays_twice(
    lab: Lab, requester: Requester, marketplace: Marketplace, tmp_path: Path
) -> None:
    publication = published(lab, tmp_path, 6, "storm")

    def is_seen() -> bool:
        wrong = " ".join(doubled(publication, marketplace))
        return "published 2 times" in wrong and "got 2 bonuses" in wrong

    weather(publication, marketplace, tmp_path, seed=7, seconds=300, without_tokens_until=is_seen)
    assert is_seen()
