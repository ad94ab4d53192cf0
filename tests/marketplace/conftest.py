"""One marketplace for all tests, reset in between by taking new requesters and workers; and its people."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.marketplace.production import Production, production_running
from tests.marketplace.server import Marketplace, Requester, Worker


@pytest.fixture
def marketplace(running_marketplace: Marketplace) -> Marketplace:
    """The marketplace, with its clock right and no faults to come."""
    running_marketplace.test("clock", reset=True)
    running_marketplace.test("faults", clear=True)
    return running_marketplace


@pytest.fixture(scope="session")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Production]:
    """A marketplace in production mode, behind a proxy."""
    yield from production_running(tmp_path_factory.mktemp("production"))


@pytest.fixture
def rosa(marketplace: Marketplace) -> Requester:
    """A requester with $1,000."""
    return marketplace.requester()


@pytest.fixture
def omar(marketplace: Marketplace) -> Requester:
    return marketplace.requester()


@pytest.fixture
def wanda(marketplace: Marketplace) -> Worker:
    """A worker in the United States."""
    return marketplace.worker()


@pytest.fixture
def will(marketplace: Marketplace) -> Worker:
    return marketplace.worker()


class Refusal:
    """What `refusing` caught."""

    code = ""
    turk_code = ""
    message = ""
    status = 0
    response: dict[str, Any]


class refusing:  # noqa: N801 - reads as a word
    """The API must refuse what is done within: with this code (of a RequestError, its TurkErrorCode's last part)."""

    def __init__(self, code: str, match: str = "") -> None:
        self.code = code
        self.match = match
        self.refusal = Refusal()

    def __enter__(self) -> Refusal:
        return self.refusal

    def __exit__(self, kind: Any, error: Any, _traceback: Any) -> bool:
        assert error is not None, f"{self.code} was expected, and nothing was refused"
        if not isinstance(error, ClientError):
            return False
        refusal = self.refusal
        refusal.response = dict(error.response)
        refusal.code = error.response["Error"]["Code"]
        refusal.turk_code = str(error.response.get("TurkErrorCode", ""))
        refusal.message = error.response["Error"]["Message"]
        refusal.status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        if refusal.code == "RequestError":
            assert refusal.status == 400
            assert refusal.turk_code == f"AWS.MechanicalTurk.{self.code}", error
        else:
            assert refusal.code == self.code, error
        assert self.match in refusal.message, refusal.message
        return True
