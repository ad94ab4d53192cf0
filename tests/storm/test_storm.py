"""No HIT published twice, no bonus paid twice, nothing submitted missed, and ledgers that agree, whatever breaks."""

import os
from collections import Counter
from pathlib import Path

import pytest
from django.utils import timezone

from core.models import Lab
from judgments.models import Acceptance
from platforms.models import Publication
from platforms.publishing import publication_publish, publication_write
from pools.models import Campaign, Pair
from tests import factories
from tests.marketplace.conftest import marketplace, running_marketplace  # noqa: F401
from tests.marketplace.server import Marketplace, Requester
from tests.storm.weather import faults_of, weather

HITS = int(os.environ.get("STORM_HITS", "600"))
"""How many go through the storm: `make storm` sends 2,000."""


def published(lab: Lab, tmp_path: Path, hits: int) -> Publication:
    """A campaign of so many HITs, of one pair and one test pair each, whose publication has begun."""
    queries = [f"q{number:05}" for number in range(hits)]
    collection = factories.collection(
        tmp_path,
        in_lab=lab,
        qrels={query: [f"{query}a"] for query in queries},
        tops={"red": {query: [f"{query}b"] for query in queries}},
    )
    campaign = factories.campaign(collection, pairs_per_hit=1, tests_per_hit=1)
    assert campaign.hits.count() == hits
    publication = publication_write(campaign=campaign, pay="base-and-bonus", rate=1000)
    return publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)


@pytest.fixture
def requester(
    transactional_db: None,
    marketplace: Marketplace,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    settings: object,
) -> Requester:
    """Our account at the marketplace, in the environment of every process that the test starts."""
    made = marketplace.requester("20000.00")
    facts = {
        "AWS_ACCESS_KEY_ID": made.key_id,
        "AWS_SECRET_ACCESS_KEY": made.secret,
        "MARKETPLACE_URL": marketplace.url,
        "MARKETPLACE_NOTIFICATION_SECRET": made.secret,
        "SITE_URL": "http://localhost:8000",
        "DEVELOPMENT": "1",
    }
    for name, value in facts.items():
        monkeypatch.setenv(name, value)
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = marketplace.url  # type: ignore[attr-defined]
    settings.SITE_URL, settings.DEVELOPMENT = facts["SITE_URL"], True  # type: ignore[attr-defined]
    return made


@pytest.mark.timeout(2400)
def test_a_campaign_comes_through_a_storm(
    lab: Lab,
    requester: Requester,
    marketplace: Marketplace,  # noqa: F811
    tmp_path: Path,
) -> None:
    publication = published(lab, tmp_path, HITS)

    came = weather(publication, marketplace, tmp_path, seed=7, seconds=2000)

    print(f"{came.seconds:.0f} s, {came.kills} kills, faults {came.faults}, crowd {dict(came.crowd.did)}")
    assert faults_of(publication, marketplace, requester, came.crowd) == []
    assert came.kills >= 5
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
        assert came.faults[kind] >= 10, kind
    for happened in ("careless", "left", "returned"):
        assert came.crowd.did[happened] >= 10, happened
    campaign = Campaign.objects.get(pk=publication.campaign_id)
    counted = Counter(Acceptance.objects.filter(pair__pool__campaign=campaign).values_list("pair", flat=True))
    assert len(counted) == Pair.objects.filter(pool__campaign=campaign).count() == HITS
    assert set(counted.values()) == {1}


@pytest.mark.timeout(600)
def test_without_the_token_the_same_storm_publishes_and_pays_twice(
    lab: Lab,
    requester: Requester,
    marketplace: Marketplace,  # noqa: F811
    tmp_path: Path,
) -> None:
    publication = published(lab, tmp_path, 100)

    came = weather(publication, marketplace, tmp_path, seed=7, seconds=500, tokens=False)

    wrong = " ".join(faults_of(publication, marketplace, requester, came.crowd))
    assert "published 2 times" in wrong
    assert "got 2 bonuses" in wrong
