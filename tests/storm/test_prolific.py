"""At Prolific, where a repeated payment pays again: nobody is paid twice and nobody is left unpaid, whatever breaks."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from core.models import Lab, User
from platforms.models import AccountHook
from platforms.money.lab_accounts import lab_account_store
from tests.simulation.prolific import Double
from tests.storm.at_prolific import (
    FAULTS,
    HOOKS,
    PAYS_WITHIN,
    THICK,
    WAYS,
    figures_of,
    is_paid_twice,
    published,
    storm,
    wrong_after,
)

# How many HITs go through the storm: `make storm` sends 1,000.
HITS = int(os.environ.get("STORM_PROLIFIC_HITS", "6"))
# Time enough, on a machine that does much else.
SECONDS = 420 + 8 * HITS
WEATHER: dict[str, Any] = {
    "seed": 7,
    "seconds": SECONDS,
    "calls_between_kills": 8 if HITS < 100 else 40,
    "faults": FAULTS if HITS < 100 else THICK,
}


@pytest.fixture
def account(
    transactional_db: None, lab: Lab, rita: User, prolific: Double, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab's account at the double, with $20,000, for this process and every one that the test starts."""
    api, app = f"{prolific.api}/", prolific.url
    for name, value in {"PROLIFIC_API_URL": api, "PROLIFIC_APP_URL": app, "DEVELOPMENT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("platforms.prolific.operations.PAYS_WITHIN", PAYS_WITHIN)
    settings.PROLIFIC_API_URL, settings.PROLIFIC_APP_URL = api, app
    settings.DEVELOPMENT, settings.SITE_URL = True, "http://localhost:8000"
    prolific.reset(cents=2_000_000, bonus_seconds=1, **HOOKS)
    lab_account_store(lab=lab, platform="prolific", token=prolific.token, workspace_id="", by=rita, at=timezone.now())


@pytest.mark.timeout(SECONDS + 150)
def test_a_campaign_at_prolific_comes_through_a_storm(
    account: None, lab: Lab, rita: User, prolific: Double, tmp_path: Path
) -> None:
    publication = published(lab, tmp_path, HITS, "storm")

    came = storm(publication, prolific, rita, tmp_path, **WEATHER)

    print(figures_of(came))
    assert wrong_after(came.publication, prolific) == []
    assert came.kills >= max(1, HITS // 20)
    assert came.notices["SUCCEEDED"] >= HITS and AccountHook.objects.get().heard_at is not None
    assert len(prolific.ledger("partial")) >= HITS // 20
    assert {kind for kind, count in came.faults.items() if count} >= {"lost before", "lost after"}
    assert came.did["finished"] + came.did["without a code"] >= HITS // 2
    if HITS >= 100:
        assert sum(came.faults.values()) >= 10 * HITS
        assert all(came.faults[fault["kind"]] >= HITS // 100 for fault in FAULTS)
        assert all(came.did[way] >= HITS // 100 for way in WAYS)


@pytest.mark.timeout(SECONDS + 150)
def test_where_payments_may_be_repeated_the_same_storm_pays_twice(
    account: None, lab: Lab, rita: User, prolific: Double, tmp_path: Path
) -> None:
    publication = published(lab, tmp_path, HITS, "storm")

    def is_seen() -> bool:
        return is_paid_twice(publication, prolific)

    came = storm(publication, prolific, rita, tmp_path, **WEATHER, pay_again_until=is_seen)

    assert re.search("got [2-9] bonuses, not 1", " ".join(wrong_after(came.publication, prolific)))
