"""Random histories at each platform: work is paid once, what is owed is owed, and the ledgers agree."""

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import DecimalField, Value
from django.utils import timezone

from core.models import Lab, User
from platforms.lab_accounts import lab_account_store
from platforms.models import Operation, Publication
from platforms.outbox import operations_run
from platforms.prolific.operations import PaidOnce
from platforms.publishing import publication_plan, publication_publish, publication_write
from pools.models import Campaign
from simulation.prolific import money
from tasks.models import Assignment
from tests import factories
from tests.histories.at_marketplace import AtMarketplace
from tests.histories.at_prolific import AtProlific, Double, InProcess
from tests.histories.by_link import ByLink
from tests.histories.frame import STEPS, Plan, World, histories, play
from tests.histories.market import Market, Through

pytestmark = pytest.mark.timeout(max(300, STEPS))
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


@pytest.fixture
def features(request: pytest.FixtureRequest) -> list[str]:
    return getattr(request, "param", [])


@pytest.fixture
def at_prolific(
    campaign: Campaign, rita: User, steady: None, settings: object, monkeypatch: pytest.MonkeyPatch, features: list[str]
) -> Iterator[Callable[[], World]]:
    """A study that has just been published, as each history finds it."""
    settings.PROLIFIC_API_URL = "http://127.0.0.1:1/api/v1/"  # type: ignore[attr-defined]
    settings.DEVELOPMENT, settings.SITE_URL = True, "http://localhost:8000"  # type: ignore[attr-defined]
    now = timezone.now()
    double = Double(lambda: now)
    double.set_settings({"hooks_off": True, "bonus_seconds": 0.0, "features": features})
    money.deposit(double, 10_000_000)
    playing: list[AtProlific] = []

    def client(_token: str, _seconds: object) -> InProcess:
        return playing[-1].client if playing else InProcess(double, None)

    monkeypatch.setattr("platforms.prolific.adapter._client", client)
    lab_account_store(token="t", workspace_id="", lab=campaign.lab, platform="prolific", by=rita, at=now)
    publication = publication_write(campaign=campaign, platform="prolific", rate=1000)
    publication_publish(publication=publication, at=now, typed_name=campaign.name)
    while publication_plan(publication_id=publication.pk, at=now) + _run(publication, now):
        pass
    publication.refresh_from_db()
    people = rita, factories.user("robert")
    factories.analyze()

    def make() -> World:
        playing[:] = [AtProlific(publication, double, people, now)]
        playing[0].client.kept_rows = None
        return playing[0]

    yield make


def _run(publication: Publication, now: datetime) -> int:
    return operations_run(publication=publication, clock=lambda: now, sleep=lambda _seconds: None)


@pytest.mark.parametrize("features", [[], ["dynamic payment"]], indirect=True, ids=["bonuses", "shares"])
def test_at_prolific_each_is_paid_once_whatever_happens_in_whatever_order(at_prolific: Callable[[], World]) -> None:
    histories(AtProlific, at_prolific, steps=STEPS // 2)


@pytest.fixture
def by_link(campaign: Campaign, rita: User, steady: None) -> Callable[[], World]:
    people, now = (rita, factories.user("robert")), timezone.now()
    factories.analyze()
    return lambda: ByLink(campaign, people, 3, now)


def test_by_link_and_panel_each_is_owed_their_share_and_paid_it_once(by_link: Callable[[], World]) -> None:
    histories(ByLink, by_link)


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
    while publication_plan(publication_id=publication.pk, at=now) + _run(publication, now):
        pass
    publication.refresh_from_db()
    people = rita, factories.user("robert")
    factories.analyze()

    def make() -> World:
        playing[:] = [AtMarketplace(publication, market, people, now)]
        return playing[0]

    return make


@pytest.mark.parametrize("pay", ["base-and-bonus", "return-and-compensate"], indirect=True)
def test_at_the_marketplace_each_is_paid_once_whatever_happens_in_whatever_order(
    at_marketplace: Callable[[], World],
) -> None:
    histories(AtMarketplace, at_marketplace, steps=STEPS // 2)


# --- each guard is needed: without it, a short history goes wrong

BEGUN = [("somebody_comes", 1), *[("somebody_answers", 0)] * 3]
JOBS = [("sync", 0), ("check_work", 0), ("settle", 0), ("call", 0)]
COMPENSATED = [*BEGUN, ("somebody_finishes", 0), ("hours_pass", 4), *JOBS, ("a_researcher_compensates", 1), *JOBS]
LATE = [*COMPENSATED, ("somebody_comes_back", 2), *JOBS]
BACK = [*BEGUN, ("somebody_finishes", 0), ("somebody_comes_back", 2)]
RETURNED = [*BACK, ("sync", 0), ("somebody_returns", 0), ("sync", 0)]
NOTHING = Operation.objects.none
GUARDS: dict[str, tuple[str, Any, Plan]] = {
    "work that was compensated is held": ("platforms.reviewing.compensated._was_paid", lambda _payment: False, LATE),
    "a compensation is counted once": ("platforms.prolific.adapter._paid_as_bonus", lambda _one: NOTHING(), LATE),
    "what was abandoned ends": ("judgments.selectors.abandoned", lambda _at: Assignment.objects.none(), BEGUN),
    "a return is taken back": ("platforms.submitted._is_taken_back", lambda _one: False, [*RETURNED, ("by_hand", 0)]),
    "what was approved is not compensated": (
        "platforms.prolific.operations.Compensate.make",
        PaidOnce.make,
        [*COMPENSATED[:-4], ("by_hand", 0), ("call", 0)],
    ),
    "a batch is stored before it is paid": (
        "platforms.prolific.operations.PaidOnce._keep",
        staticmethod(lambda _call, _batch: None),
        [*COMPENSATED[:-4], ("trouble_comes", 28), ("call", 0), ("hours_pass", 0), ("call", 0)],
    ),
    "whoever goes is owed": (
        "platforms.reviewing.compensations.uncompensated",
        lambda _one: Assignment.objects.none(),
        BEGUN,
    ),
}


def _find(guards: dict[str, tuple[str, Any, Plan]], make: Callable[[], World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each history is well with its guard, and goes wrong without it."""
    well: list[Plan] = []
    for name, (guard, without, plan) in guards.items():
        if plan not in well:
            assert not play(make, plan), name
            well.append(plan)
        with monkeypatch.context() as patch:
            patch.setattr(guard, without)
            assert play(make, plan), name


def test_without_a_guard_a_short_history_at_prolific_goes_wrong(
    at_prolific: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    _find(GUARDS, at_prolific, monkeypatch)


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
    _find(MARKET_GUARDS, at_marketplace, monkeypatch)


DONE_BY_LINK = [*BEGUN, ("somebody_finishes", 0)]
LINK_GUARDS: dict[str, tuple[str, Any, Plan]] = {
    "what was abandoned ends": ("judgments.selectors.abandoned", lambda _at: Assignment.objects.none(), BEGUN),
    "whoever leaves has a share": (
        "tasks.services.owed",
        lambda reward, judged, items: reward if judged == items else Decimal(0),
        [*BEGUN[:-1], ("somebody_leaves", 0)],
    ),
    "what is paid is not marked again": (
        "platforms.pay_desk.paid_by_hand",
        lambda: Value(Decimal(0), output_field=DecimalField()),
        [*DONE_BY_LINK, ("a_researcher_pays_some", 0), ("a_researcher_pays_some", 0)],
    ),
}


def test_without_a_guard_a_short_history_by_link_goes_wrong(
    by_link: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    _find(LINK_GUARDS, by_link, monkeypatch)
