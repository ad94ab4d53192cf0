"""The board that tests of leaderboards share, and who takes part."""

import pytest

from core.models import Lab, User
from leaderboards.models import Board, Team
from runs.models import Collection
from tests import factories
from tests.leaderboards import taking_part


@pytest.fixture(autouse=True)
def without_mail(settings: object) -> None:
    """Tests that are about mails say so."""
    settings.HAS_MAIL = False  # type: ignore[attr-defined]


@pytest.fixture
def olga(lab: Lab) -> User:
    return factories.member(lab, "organizer", "olga")


@pytest.fixture
def paul(db: None) -> User:
    """A participant, who is in no lab."""
    return factories.user("paul", email="paul@example.org")


@pytest.fixture
def board(collection: Collection, olga: User) -> Board:
    """A public board, as the paper has its policy."""
    return taking_part.make(collection, olga)


@pytest.fixture
def team(board: Board, paul: User, olga: User) -> Team:
    """Paul's team, confirmed."""
    return taking_part.team(board, paul, confirmed_by=olga)
