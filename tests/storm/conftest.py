"""What the tests of the storm share: a marketplace, and our account there."""

import pytest

from tests.marketplace.server import Marketplace, Requester
from tests.platforms.conftest import marketplace

__all__ = ["marketplace"]


@pytest.fixture
def requester(
    transactional_db: None, marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, settings: object
) -> Requester:
    """Our account at the marketplace, in the environment of every process that the test starts."""
    account = marketplace.requester("20000.00")
    facts = {
        "AWS_ACCESS_KEY_ID": account.key_id,
        "AWS_SECRET_ACCESS_KEY": account.secret,
        "MARKETPLACE_URL": marketplace.url,
        "MARKETPLACE_NOTIFICATION_SECRET": account.secret,
        "SITE_URL": "http://localhost:8000",
        "DEVELOPMENT": "1",
    }
    for name, value in facts.items():
        monkeypatch.setenv(name, value)
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = marketplace.url  # type: ignore[attr-defined]
    settings.SITE_URL, settings.DEVELOPMENT = facts["SITE_URL"], True  # type: ignore[attr-defined]
    return account
