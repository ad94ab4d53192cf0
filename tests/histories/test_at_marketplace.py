"""Random histories at a marketplace: work is paid once, what is owed is owed, and the ledgers agree."""

from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import Value
from django.utils import timezone

from core.models import User
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_write
from pools.models import Campaign
from tasks.models import Assignment
from tests import factories
from tests.histories.at_marketplace import AtMarketplace
from tests.histories.frame import (
    BACK,
    BEGUN,
    COMPENSATED,
    JOBS,
    PARTS,
    STEPS,
    Plan,
    World,
    drain,
    find_guards,
    histories,
)
from tests.histories.market import Market, Through

pytestmark = pytest.mark.timeout(max(300, STEPS))


@pytest.fixture
def pay(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", "base-and-bonus"))


@pytest.fixture
def at_marketplace(
    campaign: Campaign, rita: User, steady: None, settings: object, monkeypatch: pytest.MonkeyPatch, pay: str
) -> Callable[[], World]:
    """HITs that have just been published, as each history finds them."""
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = "http://127.0.0.1:1"  # type: ignore[attr-defined]
    settings.DEVELOPMENT, settings.SITE_URL = True, "http://localhost:8000"  # type: ignore[attr-defined]
    now = timezone.now()
    market = Market(lambda: now, settings.MARKETPLACE_URL)  # type: ignore[attr-defined]
    playing: list[AtMarketplace] = []

    def client(_endpoint: object, **_options: object) -> Through:
        return playing[-1].client if playing else Through(market, lambda: None)

    monkeypatch.setattr("platforms.mturk.adapter.client_for", client)
    monkeypatch.setattr("platforms.mturk.client.time", SimpleNamespace(sleep=lambda _seconds: None))
    publication = publication_write(campaign=campaign, platform="marketplace", pay=pay, rate=1000)
    publication_publish(publication=publication, at=now)
    drain(publication, now)
    publication.refresh_from_db()
    people = rita, factories.user("robert")
    factories.analyze()

    def make() -> World:
        playing[:] = [AtMarketplace(publication, market, people, now)]
        return playing[0]

    return make


@pytest.mark.parametrize("pay", ["base-and-bonus", "return-and-compensate"], indirect=True)
def test_each_is_paid_once_whatever_happens_in_whatever_order(at_marketplace: Callable[[], World], seed: int) -> None:
    histories(AtMarketplace, at_marketplace, steps=STEPS // 2 // PARTS, seed=seed)


# --- each guard is needed: without it, a short history goes wrong

# the compensation is the eleventh HIT that the same worker may take
TAKEN = [*COMPENSATED, ("somebody_comes", 100), *JOBS]
TWICE = [*TAKEN, *BEGUN, ("somebody_finishes", 0), ("somebody_comes_back", 2), *JOBS]
EMPTY = [
    ("somebody_comes", 1),
    ("somebody_leaves", 0),
    ("somebody_comes_back", 2),
    ("sync", 0),
    ("a_researcher_decides", 3),
    *JOBS,
]
LOST = [*BEGUN, ("somebody_finishes", 0), ("hours_pass", 4), *JOBS]
PAID = [*BACK, ("sync", 0), ("check_work", 0), ("settle", 0)]
MARKET_GUARDS: dict[str, tuple[str, Any, Plan]] = {
    "work that was compensated is held": ("platforms.reviewing.compensated._was_paid", lambda _payment: False, TWICE),
    "what is booked is not compensated": (
        "platforms.reviewing.compensations._booked",
        lambda: Value(Decimal(0)),
        [*LOST, *EMPTY],
    ),
    "what was abandoned ends": ("judgments.selectors.abandoned", lambda _at: Assignment.objects.none(), BEGUN),
    "whoever goes is owed": (
        "platforms.reviewing.compensations.uncompensated",
        lambda _one: Assignment.objects.none(),
        BEGUN,
    ),
    "a call that is repeated has its token": (
        "platforms.mturk.operations.token_of",
        lambda _operation: {"UniqueRequestToken": str(uuid4())},
        [*PAID, ("trouble_comes", 16), ("call", 0), ("minutes_pass", 9), ("call", 0)],
    ),
}


def test_without_a_guard_a_short_history_at_the_marketplace_goes_wrong(
    at_marketplace: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_guards(MARKET_GUARDS, at_marketplace, monkeypatch)
