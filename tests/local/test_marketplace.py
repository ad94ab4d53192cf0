"""The marketplace of `make run`: what it is told, what we keep of it, and that it is set up once."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg2
import pytest

from local import embedded
from local.marketplace import LocalMarketplace, MarketplaceError
from local.supervisor import Site, SiteError
from tests.conftest import REPOSITORY
from tests.ports import free_port

KEYS = ("aws_access_key_id", "aws_secret_access_key")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody's own keys and addresses in the environment."""
    before = dict(os.environ)
    for name in ("FILES_BUCKET", "SITE_URL", "HOST"):
        monkeypatch.delenv(name, raising=False)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "AKIASOMEBODY",
        "AWS_SECRET_ACCESS_KEY": "their own",
        "AWS_SESSION_TOKEN": "theirs too",
        "AWS_PROFILE": "payroll",
        "AWS_ENDPOINT_URL": "https://elsewhere.example.com",
        "AWS_ENDPOINT_URL_MTURK": "https://elsewhere.example.com",
        "MARKETPLACE_WORKER_DAYS": "30",
        "SECRET_KEY": "the site's own",
    }
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def folder(keys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installation's own folder, with servers of its own."""
    var = tmp_path / "var"
    var.mkdir()
    monkeypatch.setenv("BESTKNOWN_VAR", str(var))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    yield var
    embedded.leave()


def test_nobodys_own_keys_are_used_and_no_secret_goes_across(keys: None) -> None:
    marketplace = LocalMarketplace(8123, rate_limits=True)
    assert {name for name in os.environ if name.startswith(("AWS_", "MARKETPLACE_"))} == {
        *("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_EC2_METADATA_DISABLED", "MARKETPLACE_URL")
    }
    assert os.environ["AWS_CONFIG_FILE"] == os.environ["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert os.environ["MARKETPLACE_URL"] == marketplace.url == "http://localhost:8123"
    assert not {name for name in marketplace.environment if name.startswith("AWS_")}
    assert not {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "MARKETPLACE_WORKER_DAYS"} & set(marketplace.environment)
    assert marketplace.environment["MARKETPLACE_RATE_LIMITS"] == "1"


def test_a_bucket_is_refused_before_its_keys_are_gone(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILES_BUCKET", "runs")
    with pytest.raises(MarketplaceError, match="Unset FILES_BUCKET"):
        LocalMarketplace(8123, rate_limits=True)
    assert os.environ["AWS_ACCESS_KEY_ID"] == "AKIASOMEBODY"


def test_a_marketplace_is_set_up_once_serves_and_is_replaced_when_it_dies(folder: Path) -> None:
    messages: list[str] = []
    marketplace = LocalMarketplace(free_port(), rate_limits=True)
    embedded.ensure()
    marketplace.prepare()
    accounts = marketplace.kept()
    assert stat.S_IMODE(marketplace.key_path.stat().st_mode) == 0o600
    assert [os.environ[key.upper()] for key in KEYS] == [accounts[key] for key in KEYS]
    assert not {key.upper() for key in KEYS} & set(marketplace.environment)

    marketplace.prepare()
    assert marketplace.kept() == accounts, "a second start finds all of it there"
    marketplace.key_path.unlink()
    marketplace.prepare()
    assert marketplace.kept()["aws_access_key_id"] != accounts["aws_access_key_id"], "a lost key is replaced"
    assert not list(folder.glob(".marketplace.json*"))

    marketplace.deposit(Decimal("12.30"))
    by_hand = {name: value for name, value in os.environ.items() if not name.startswith(("MARKETPLACE_", "DJANGO_"))}
    subprocess.run(
        [sys.executable, "-m", "marketplace", "deposit", "Demonstration lab", "7.70", "--note", "by hand"],
        cwd=REPOSITORY, env=by_hand | {"DEVELOPMENT": "1"}, check=True,
    )  # fmt: skip
    with (
        psycopg2.connect(marketplace.environment["MARKETPLACE_DATABASE_URL"]) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT name FROM marketplace_requester")
        assert cursor.fetchall() == [("Demonstration lab",)]
    assert "bestknown_marketplace" in marketplace.environment["MARKETPLACE_DATABASE_URL"]

    site = Site(free_port(), workers=1, with_jobs=False, marketplace=marketplace, tell=messages.append).start()
    try:
        site.wait_until_ready("/", seconds=60)
        assert set(site.pids()) == {"web", "marketplace", "marketplace-tick", "marketplace-deliver"}
        first = site.pids()["marketplace"]
        os.kill(first, signal.SIGKILL)
        deadline = time.monotonic() + 120
        while site.pids().get("marketplace", first) == first and time.monotonic() < deadline:
            time.sleep(0.05)
        assert site.pids()["marketplace"] != first
        site.wait_until_ready("/", seconds=60)
        assert any(text.startswith("marketplace ended with code -9") and "marketplace.log" in text for text in messages)
        last = list(site.pids().values())
    finally:
        site.stop()
    assert not [pid for pid in last if Path(f"/proc/{pid}/fd/0").exists()]


def test_what_a_command_says_when_it_fails_is_told(keys: None) -> None:
    marketplace = LocalMarketplace(8123, rate_limits=True)
    marketplace.environment["MARKETPLACE_DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/none"
    with pytest.raises(MarketplaceError, match=r"marketplace.s migrate failed:\n(.|\n)*refused"):
        marketplace.run("migrate")


def test_a_taken_port_of_the_marketplace_leaves_none_open(keys: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, mine = listener.getsockname()[1], free_port()
        with pytest.raises(SiteError, match=f"Port {port} .* set MARKETPLACE_PORT"):
            Site(mine, with_jobs=False, marketplace=LocalMarketplace(port, rate_limits=True)).start()
        socket.create_server(("127.0.0.1", mine)).close()
