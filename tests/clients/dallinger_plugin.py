"""Lets pytest run Dallinger's own MTurk tests without Dallinger's server: what their conftest.py would give them."""

import os
import uuid
from datetime import UTC
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from common import package, stand_in

# Taken out of the environment: one of the tests is about what happens without keys.
KEYS = {name.lower(): os.environ.pop(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
SOURCE = Path(os.environ["DALLINGER_SOURCE"])
package("dallinger", SOURCE / "dallinger")
stand_in("dallinger.utils", generate_random_id=lambda size=6, **_: (uuid.uuid4().hex * 4)[:size].upper())


def _raised(error: Exception) -> None:
    raise error


stand_in("dallinger.recruiters", handle_and_raise_recruitment_error=_raised)
stand_in("tzlocal", get_localzone=lambda: UTC)
# Each test has a session of its own, and reading the service's description takes longer than its calls.
botocore.session.create_loader = cache(botocore.session.create_loader)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that these tests ask for."""
    for name in ("--mturkfull", "--manual", "--runslow"):
        parser.addoption(name, action="store_true")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Nothing here comes later than it is said, so the waits for Amazon's index are left out."""
    for item in items:
        if isinstance(item, pytest.Function):
            item.module.STANDARD_WAIT_SECS = 0


@pytest.fixture(scope="module")
def check_mturkfull() -> None:
    """All of them are wanted."""


@pytest.fixture(scope="module")
def check_manual() -> None:
    """Not those that ask a person to do something."""
    pytest.skip("a person would have to act")


@pytest.fixture(scope="class")
def aws_creds() -> dict[str, str]:
    """The requester's keys."""
    return KEYS
