"""A campaign at a double of Prolific, which is a process of its own with a database of its own."""

import pytest

from core.models import User
from platforms.models import LabAccount, Publication
from platforms.money.lab_accounts import lab_account_store
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_write
from pools.models import Campaign
from tests.platforms.platforms import Clock, drain
from tests.simulation.prolific import Double


@pytest.fixture
def features() -> list[str]:
    """What the workspace has of what only some have: no partial payment, unless a test says otherwise."""
    return ["secure url", "test participants"]


@pytest.fixture
def currency() -> str:
    """The workspace's, unless a test says otherwise."""
    return "USD"


@pytest.fixture
def account(
    campaign: Campaign, rita: User, prolific: Double, features: list[str], currency: str, settings: object
) -> LabAccount:
    """The lab's account at the double, with 1,000 dollars or pounds."""
    prolific.settings(features=features, currency=currency)
    settings.PROLIFIC_API_URL, settings.PROLIFIC_APP_URL = f"{prolific.api}/", prolific.url  # type: ignore[attr-defined]
    settings.DEVELOPMENT, settings.SITE_URL = True, "http://localhost:8000"  # type: ignore[attr-defined]
    fields = {"lab": campaign.lab, "platform": "prolific", "by": rita, "at": Clock()()}
    lab_account_store(token=prolific.token, workspace_id="", **fields)
    return LabAccount.objects.get()


@pytest.fixture
def publication(campaign: Campaign, account: LabAccount) -> Publication:
    """The terms on which a campaign of three HITs is to be published, at a high rate."""
    return publication_write(campaign=campaign, platform="prolific", rate=1000)


@pytest.fixture
def published(publication: Publication) -> Publication:
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    return publication
