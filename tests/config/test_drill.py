"""The drill that operators run: a kept site's backup is brought back beside it, and what is missing fails the drill."""

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from local import embedded
from tests.databases import REPOSITORY, database_create, execute
from tests.marketplace.upgrades import KEPT as KEPT_MARKETPLACES
from tests.marketplace.upgrades import restored
from tests.upgrades import DATABASE, FILES, SECRET_KEY

Drill = Callable[..., subprocess.CompletedProcess[str]]
KEPT_SITES = sorted((REPOSITORY / "tests" / "upgrades").glob("*.zip"))


@pytest.fixture
def drill(tmp_path: Path) -> Drill:
    """A site and its marketplace with a backup, and what runs the drill with it. The names of scratch databases end in
    `drill`.
    """
    files, backups, calls = (tmp_path / name for name in ("files", "backups", "calls"))
    backups.mkdir()
    site, market = (f"{name}_{os.getpid()}" for name in ("drilled", "drilled_market"))
    addresses = {
        "DATABASE_URL": database_create(site),
        "MARKETPLACE_DATABASE_URL": restored(KEPT_MARKETPLACES[-1], market),
    }
    with zipfile.ZipFile(KEPT_SITES[-1]) as archive:
        execute(addresses["DATABASE_URL"], archive.read(DATABASE).decode())
        for name in archive.namelist():
            if name.startswith(FILES):
                path = files / name.removeprefix(FILES)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))
    programs = embedded.Postgres(embedded.var_folder()).programs()
    scratch = {"SITE": f"{site}_drill", "MARKET": f"{market}_drill"}
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "BACKUPS": str(backups),
        "FILES": str(tmp_path / "scratch"),
        "CALLS": str(calls),
        "COMPOSE": f"{sys.executable} -m tests.config.compose",
        "SECRET_KEY": SECRET_KEY,
        "SITE_REDIS": os.environ["REDIS_URL"],
        "SERVER_ADDRESS": os.environ["DATABASE_URL"],
        **{f"{name}_DATABASE": database for name, database in scratch.items()},
        **{f"{name}_ADDRESS": database_create(database) for name, database in scratch.items()},
    }

    def run(*, damage: str = "") -> subprocess.CompletedProcess[str]:
        if damage:
            execute(addresses["DATABASE_URL"], damage)
        script = ["bash", "docker/backup.sh", "now"]
        made = environment | addresses | {"FILES": str(files)}
        subprocess.run(script, cwd=REPOSITORY, env=made, check=True, capture_output=True)
        calls.unlink(missing_ok=True)
        return subprocess.run(
            ["bash", "docker/drill.sh"], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )

    run.calls = calls  # type: ignore[attr-defined]
    return run


def test_a_backup_is_brought_back_beside_the_site_and_nothing_works_there(drill: Drill) -> None:
    done = drill()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tables have the rows that the backup counted" in done.stdout
    assert re.search(r"is whole. A disaster now would lose \d+ minutes of work, and cost \d+ seconds", done.stdout)
    calls = drill.calls.read_text().splitlines()  # type: ignore[attr-defined]
    assert all(call.startswith("bestknown-drill ") for call in calls)
    steps = [call.removeprefix("bestknown-drill ") for call in calls]
    assert [step for step in steps if not step.startswith("run")] == [
        "down --volumes",
        "up --detach --wait postgres redis",
        "down --volumes",
    ]
    assert any("stop_publications" in step for step in steps)


def test_a_secret_that_the_key_does_not_open_fails_the_drill_and_all_is_taken_away(drill: Drill) -> None:
    sealed = """
        INSERT INTO api_webhook (lab_id, url, secret, events, created_at, disabled_why)
        SELECT min(id), 'https://example.org', 'sealed with another key', '[]', now(), '' FROM core_lab
    """
    done = drill(damage=sealed)
    assert done.returncode != 0
    assert "SECRET_KEY is not the one that sealed: api_webhook.secret." in done.stderr
    assert drill.calls.read_text().splitlines()[-1] == "bestknown-drill down --volumes"  # type: ignore[attr-defined]
