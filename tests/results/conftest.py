"""Judged campaigns, made once and laid out for each test: the demo's, and a small one of Rita's."""

from pathlib import Path

import pytest
from django.test import Client

from core.models import User
from pools.models import Campaign
from results import refreshing
from tests import factories
from tests.judgments.judged import demo_campaign, judge_all
from tests.worlds import lay_out


@pytest.fixture
def demo(db: None, tmp_path: Path, settings: object) -> Campaign:
    """The demo's campaign, judged and computed."""
    settings.VAR = tmp_path  # type: ignore[attr-defined]

    def make() -> None:
        campaign = demo_campaign()
        judge_all(campaign)
        refreshing.result_refresh(campaign=campaign)

    lay_out("the demo, judged and computed", make)
    return Campaign.objects.get()


@pytest.fixture
def judged(db: None, tmp_path: Path) -> Campaign:
    """A small campaign of Rita's lab, judged as a whole and computed."""

    def make() -> None:
        lab = factories.lab("Rita's lab", factories.user("rita"))
        campaign = factories.campaign(factories.small(tmp_path, lab), pairs_per_hit=3, tests_per_hit=2)
        judge_all(campaign, [])
        refreshing.result_refresh(campaign=campaign)

    lay_out("a small campaign, judged and computed", make)
    return Campaign.objects.get()


@pytest.fixture
def member(client: Client, judged: Campaign) -> Client:
    """The browser of Rita, whose lab's campaign is judged."""
    client.force_login(User.objects.get(username="rita"))
    return client


@pytest.fixture
def researcher(page: Client) -> Client:
    """Rita's browser."""
    return page
