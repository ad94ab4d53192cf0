"""A campaign that is published at a real marketplace, as a process of its own over HTTP."""

from pathlib import Path

import pytest

from core.models import Lab
from platforms.models import Publication
from platforms.publishing import publication_publish, publication_write
from pools.models import Campaign
from tests import factories
from tests.marketplace.conftest import marketplace, running_marketplace  # noqa: F401
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.platforms import Clock, drain


@pytest.fixture
def requester(
    marketplace: Marketplace,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    settings: object,
) -> Requester:
    """Our account at the marketplace, with $1,000, and its key in the environment. Somebody there looks for work."""
    made = marketplace.requester()
    marketplace.worker()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", made.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", made.secret)
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = marketplace.url  # type: ignore[attr-defined]
    settings.DEVELOPMENT = True  # type: ignore[attr-defined]
    settings.SITE_URL = "http://localhost:8000"  # type: ignore[attr-defined]
    return made


@pytest.fixture
def publication(campaign: Campaign, requester: Requester) -> Publication:
    """The terms on which a campaign of three HITs is to be published: a base and a bonus, at a high rate."""
    return publication_write(campaign=campaign, pay="base-and-bonus", rate=1000)


@pytest.fixture
def published(publication: Publication) -> Publication:
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    drain(publication, clock)
    return publication


@pytest.fixture
def wanda(marketplace: Marketplace) -> Worker:  # noqa: F811
    """A worker whom the paper would take."""
    return marketplace.worker(vouched_approved=20_000)


@pytest.fixture
def will(marketplace: Marketplace) -> Worker:  # noqa: F811
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
