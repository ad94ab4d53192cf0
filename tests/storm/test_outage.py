"""The background workers outlive Redis and PostgreSQL."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, TEMPLATE
from tests.databases import template_kept
from tests.marketplace.server import Marketplace
from tests.storm.weather import at_the_platform

HITS = 40


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that another account may enter, for servers of its own."""
    path = tmp_path_factory.mktemp("outage")
    path.chmod(0o755)
    path.parent.chmod(0o755)
    yield path


@pytest.mark.timeout(420)
def test_redis_and_postgres_die_while_publishing_and_every_hit_is_published_once(
    django_db_modify_db_settings: None, marketplace: Marketplace, folder: Path
) -> None:
    requester = marketplace.requester("1000.00")
    ours = {
        name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL", "REDIS_SECONDS")
    }
    process = subprocess.run(
        [sys.executable, "-m", "tests.storm.outage", str(HITS), str(template_kept(TEMPLATE))],
        cwd=REPOSITORY,
        env=ours
        | {
            "BESTKNOWN_VAR": str(folder),
            "DEVELOPMENT": "1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "AWS_ACCESS_KEY_ID": requester.key_id,
            "AWS_SECRET_ACCESS_KEY": requester.secret,
            "MARKETPLACE_URL": marketplace.url,
            "SITE_URL": "http://localhost:8000",
        },
        capture_output=True,
        text=True,
    )

    assert process.returncode == 0, process.stderr[-3000:]
    came = json.loads(process.stdout.splitlines()[-1])
    assert (came["done"], came["died"], came["workers_alive"]) == (HITS, ["redis", "postgres"], True), process.stderr
    there = at_the_platform(
        marketplace,
        "SELECT annotation FROM marketplace_hit WHERE annotation LIKE %s",
        f"bestknown {came['reference']} %",
    )
    assert len(there) == len(set(there)) == HITS
