"""No HIT published twice, no bonus paid twice, nothing submitted missed, and ledgers that agree, whatever breaks."""

import os
from collections import Counter
from pathlib import Path

import pytest
from django.utils import timezone

from core.models import Lab
from judgments.models import Acceptance
from pools.counting import campaign_recount
from pools.models import Campaign, Pair
from tests import factories
from tests.marketplace.server import Marketplace, Requester
from tests.storm.weather import faults_of, published, weather

# How many go through the storm: `make storm` sends 2,000.
HITS = int(os.environ.get("STORM_HITS", "12"))
# Time enough, on a machine that does much else.
SECONDS = 900 + 2 * HITS


@pytest.mark.timeout(SECONDS + 150)
def test_a_campaign_comes_through_a_storm(
    lab: Lab, requester: Requester, marketplace: Marketplace, tmp_path: Path
) -> None:
    publication = published(lab, tmp_path, HITS)

    came = weather(publication, marketplace, tmp_path, seed=89, seconds=SECONDS)

    print(f"{came.seconds:.0f} s, {came.kills} kills, faults {came.faults}, crowd {dict(came.crowd.did)}")
    assert faults_of(publication, marketplace, requester, came.crowd) == []
    assert came.kills >= max(1, HITS // 20)
    assert sum(came.faults.values()) >= 2 * HITS
    for kind in (
        "before_commit",
        "after_commit",
        "reply_dropped",
        "throttled",
        "slow",
        "not_ready",
        "notification_lost",
        "notification_doubled",
    ):
        assert came.faults[kind] >= min(10, max(1, HITS // 40)), kind
    happened = [came.crowd.did[way] for way in ("careless", "left", "returned")]
    assert min(happened) >= min(10, HITS // 40) and sum(happened) > 0, came.crowd.did
    campaign = Campaign.objects.get(pk=publication.campaign_id)
    counted = Counter(Acceptance.objects.filter(pair__pool__campaign=campaign).values_list("pair", flat=True))
    assert len(counted) == Pair.objects.filter(pool__campaign=campaign).count() == HITS
    assert set(counted.values()) == {1}
    assert campaign_recount(campaign=campaign, at=timezone.now()) == {}
    assert factories.wrongly_booked() == []
    assert factories.wrongly_submitted() == []
