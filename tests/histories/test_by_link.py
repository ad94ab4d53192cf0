"""Random histories of people who come by a link or from a panel: each is owed their share, and paid it once."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import DecimalField, Value
from django.utils import timezone

from core.models import User
from pools.models import Campaign
from tasks.models import Assignment
from tests import factories
from tests.histories.by_link import ByLink
from tests.histories.frame import BEGUN, PARTS, STEPS, Plan, World, find_guards, histories

pytestmark = pytest.mark.timeout(max(300, STEPS))


@pytest.fixture
def by_link(campaign: Campaign, rita: User, steady: None) -> Callable[[], World]:
    people, now = (rita, factories.user("robert")), timezone.now()
    factories.analyze()
    return lambda: ByLink(campaign, people, 3, now)


def test_each_is_owed_their_share_and_paid_it_once(by_link: Callable[[], World], seed: int) -> None:
    histories(ByLink, by_link, steps=STEPS // PARTS, seed=seed)


# --- each guard is needed: without it, a short history goes wrong

DONE_BY_LINK = [*BEGUN, ("somebody_finishes", 0)]
LINK_GUARDS: dict[str, tuple[str, Any, Plan]] = {
    "what was abandoned ends": ("judgments.selectors.abandoned", lambda _at: Assignment.objects.none(), BEGUN),
    "whoever leaves has a share": (
        "tasks.services.owed",
        lambda reward, judged, items: reward if judged == items else Decimal(0),
        [*BEGUN[:-1], ("somebody_leaves", 0)],
    ),
    "what is paid is not marked again": (
        "platforms.money.pay_desk.paid_by_hand",
        lambda: Value(Decimal(0), output_field=DecimalField()),
        [*DONE_BY_LINK, ("a_researcher_pays_some", 0), ("a_researcher_pays_some", 0)],
    ),
}


def test_without_a_guard_a_short_history_by_link_goes_wrong(
    by_link: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_guards(LINK_GUARDS, by_link, monkeypatch)
