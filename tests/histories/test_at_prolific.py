"""Random histories at Prolific: work is paid once, what is owed is owed, and the ledgers agree."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from core.models import User
from platforms.models import Operation
from platforms.money.lab_accounts import lab_account_store
from platforms.prolific.operations import PaidOnce
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_write
from pools.models import Campaign
from simulation.prolific import money
from tasks.models import Assignment
from tests import factories
from tests.histories.at_prolific import AtProlific, Double, InProcess
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

pytestmark = pytest.mark.timeout(max(300, STEPS))


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
    drain(publication, now)
    publication.refresh_from_db()
    people = rita, factories.user("robert")
    factories.analyze()

    def make() -> World:
        playing[:] = [AtProlific(publication, double, people, now)]
        playing[0].client.kept_rows = None
        return playing[0]

    yield make


@pytest.mark.parametrize("features", [[], ["dynamic payment"]], indirect=True, ids=["bonuses", "shares"])
def test_each_is_paid_once_whatever_happens_in_whatever_order(at_prolific: Callable[[], World], seed: int) -> None:
    histories(AtProlific, at_prolific, steps=STEPS // 2 // PARTS, seed=seed)


# --- each guard is needed: without it, a short history goes wrong

LATE = [*COMPENSATED, ("somebody_comes_back", 2), *JOBS]
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


def test_without_a_guard_a_short_history_at_prolific_goes_wrong(
    at_prolific: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_guards(GUARDS, at_prolific, monkeypatch)
