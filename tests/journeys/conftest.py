"""Two sites that know of each other by address alone: a marketplace, and the site that publishes on it."""

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser

from judgments import quality
from judgments import selectors as judgment_selectors
from platforms.ledger_comparison import comparison_make
from platforms.models import Publication
from platforms.money.ledger import totals
from platforms.publishing.publications import publication_publish
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from tests import factories
from tests.conftest import RunningSite
from tests.journeys.people import Member, Visitor
from tests.marketplace.server import Marketplace, Requester
from tests.platforms.platforms import Clock, drain

_numbers = itertools.count(1)


@pytest.fixture
def site(site_at_marketplace: RunningSite) -> str:
    """The site's address: by a name that makes it another site than the marketplace's."""
    return site_at_marketplace.url.replace("127.0.0.1", "localhost")


@pytest.fixture
def marketplace(open_marketplace: Marketplace, site: str, transactional_db: None, settings: Any) -> Marketplace:
    """The marketplace, where nobody has ever been, and where this process publishes what the site shows."""
    open_marketplace.clear()
    settings.DEVELOPMENT = True
    settings.SITE_URL = site
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = open_marketplace.url
    return open_marketplace


@pytest.fixture
def visitors() -> Iterator[list[Visitor]]:
    """Everybody who came. What a script, the content policy or the browser complains of is a failure."""
    came: list[Visitor] = []
    yield came
    for visitor in came:
        visitor.context.close()
    assert [complaint for visitor in came for complaint in visitor.complaints] == []


@pytest.fixture
def come(chromium: Browser, marketplace: Marketplace, site: str, visitors: list[Visitor]) -> Callable[..., Visitor]:
    """Brings somebody whom the marketplace does not know."""

    def one(**options: Any) -> Visitor:
        visitor = Visitor(chromium, marketplace, site, **options)
        visitors.append(visitor)
        return visitor

    return one


@pytest.fixture
def member(chromium: Browser, marketplace: Marketplace, site: str, visitors: list[Visitor]) -> Callable[..., Member]:
    """Brings a worker of the marketplace, logged in."""

    def one(**options: Any) -> Member:
        visitor = Member(chromium, marketplace, site, f"member{next(_numbers)}@example.org", **options)
        visitors.append(visitor)
        return visitor

    return one


class Published:
    """A campaign of HITs of 13 items at the marketplace, and the rounds of the jobs."""

    def __init__(self, publication: Publication, requester: Requester, clock: Clock) -> None:
        self.publication = publication
        self.campaign = publication.campaign
        self.title = publication.title
        self.requester = requester
        self.clock = clock

    def jobs(self) -> None:
        """One round: publish, sync, check, settle, ask for more, publish."""
        drain(self.publication, self.clock)
        publication_sync(publication=self.publication, at=self.now, everything=True)
        quality.confirmed_check_all(at=self.now)
        publication_settle(publication=self.publication, at=self.now)
        publication_requeue(publication=self.publication, at=self.now)
        drain(self.publication, self.clock)

    @property
    def now(self) -> datetime:
        """By our clock."""
        return self.clock()

    def paid(self) -> list[tuple[str, str]]:
        """What was paid, oldest first: the purpose and the dollars."""
        rows = self.publication.payments.filter(state="paid").order_by("id").values_list("purpose", "amount")
        return [(purpose, str(amount)) for purpose, amount in rows]

    def agree(self, dollars: str) -> None:
        """Both ledgers have paid this much to workers, cent by cent, and the account is lighter by it and its fees."""
        both = comparison_make(publication=self.publication, at=timezone.now())
        assert both.differences == []
        assert both.ours_rewards + both.ours_bonuses == Decimal(dollars)
        assert (both.ours_rewards, both.ours_bonuses) == (both.platform_rewards, both.platform_bonuses)
        sums = totals(self.publication)
        assert (sums.owed, sums.paid) == (Decimal(0), Decimal(dollars))
        assert sum(map(Decimal, self.requester.money())) == Decimal("1000.00") - sums.paid - sums.fees


@pytest.fixture
def publish(marketplace: Marketplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Published]:
    """Publishes a campaign of so many HITs, each of so many pairs and three test pairs, at the given terms."""

    def made(hits: int = 1, pairs: int = 10, **terms: Any) -> Published:
        # Hands that a test moves are faster than anybody reads.
        monkeypatch.setattr(judgment_selectors, "is_too_fast", lambda _assignment: False)
        requester = marketplace.requester()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", requester.key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", requester.secret)
        queries = [f"q{number:02}" for number in range(pairs * hits)]
        collection = factories.collection(
            tmp_path,
            in_lab=factories.lab("The lab"),
            qrels={query: [f"{query}-old"] for query in queries},
            tops={"run": {query: [f"{query}-new"] for query in queries}},
        )
        campaign = factories.campaign(collection, tests=3, pairs_per_hit=pairs)
        title = f"Which passage is better? No. {next(_numbers)}"
        terms = {"title": title, "pay": "base-and-bonus", "requirements": [], "rate": 1000} | terms
        publication = publication_write(campaign=campaign, **terms)
        clock = Clock()
        publication_publish(publication=publication, at=clock(), although_nobody_qualifies=True)
        drain(publication, clock)
        return Published(publication, requester, clock)

    return made
