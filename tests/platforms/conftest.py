"""A campaign that is published at a real marketplace, as a process of its own over HTTP."""

from pathlib import Path

import pytest

from core.models import Lab
from platforms.models import Publication
from platforms.terms import publication_write
from pools.models import Campaign
from tests import factories
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.publishing import account_at, published_once


@pytest.fixture
def marketplace(running_marketplace: Marketplace) -> Marketplace:
    """The marketplace, where nobody has ever been."""
    running_marketplace.clear()
    return running_marketplace


@pytest.fixture
def requester(marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, settings: object) -> Requester:
    """Our account at the marketplace, with $1,000, and its key in the environment. Somebody there looks for work."""
    account = account_at(marketplace)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account.secret)
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = marketplace.url  # type: ignore[attr-defined]
    settings.DEVELOPMENT = True  # type: ignore[attr-defined]
    settings.SITE_URL = "http://localhost:8000"  # type: ignore[attr-defined]
    return account


@pytest.fixture
def publication(campaign: Campaign, requester: Requester) -> Publication:
    """The terms on which a campaign of three HITs is to be published: a base and a bonus, at a high rate."""
    return publication_write(campaign=campaign, pay="base-and-bonus", rate=1000)


@pytest.fixture
def published(campaign: Campaign, requester: Requester, marketplace: Marketplace) -> Publication:
    """The same, published: once in a process, then with the same rows on both sides, and the times of now."""
    return published_once(campaign, marketplace, pay="base-and-bonus", rate=1000)


@pytest.fixture
def wanda(marketplace: Marketplace) -> Worker:
    """A worker whom the paper would take."""
    return marketplace.worker(vouched_approved=20_000)


@pytest.fixture
def will(marketplace: Marketplace) -> Worker:
    return marketplace.worker(vouched_approved=20_000)


@pytest.fixture
def many(lab: Lab, tmp_path: Path) -> Campaign:
    """A campaign of six HITs, of one pair and one test pair each."""
    queries = [f"q{number}" for number in range(6)]
    collection = factories.collection(
        tmp_path,
        in_lab=lab,
        name="many",
        qrels={query: [f"{query}a"] for query in queries},
        tops={"red": {query: [f"{query}b"] for query in queries}},
    )
    return factories.campaign(collection, "many", pairs_per_hit=1, tests_per_hit=1)
