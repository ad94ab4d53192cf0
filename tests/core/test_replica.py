"""Long reads go to a standby that has all that was committed before; to the primary where there is none."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.db import DatabaseError, connection

from core import replica
from core.models import Lab
from core.replica import on_replica
from judgments import exports
from judgments.exports import Source
from judgments.models import StoredFile
from judgments.refreshing import export_refresh
from local.embedded import Postgres, _account, _as, var_folder
from pools.models import Campaign
from tests import factories
from tests.databases import execute

PORT = "5433"


def run(program: str, *arguments: str | Path) -> None:
    server = Postgres(var_folder())
    command = [server.programs() / program, *arguments]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **_as(_account(server.folder)))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def standby() -> Iterator[dict[str, Any]]:
    """A standby of the tests' server. Django's settings for the database there of the same name."""
    sockets = Postgres(var_folder()).sockets
    with TemporaryDirectory(prefix="bestknown-standby-") as path:
        account = _account(var_folder())
        if account is not None:
            os.chown(path, account.pw_uid, account.pw_gid)
        data = Path(path) / "data"
        run("pg_basebackup", "-D", data, "-R", "-c", "fast", "-d", f"host={sockets} port=5432 user=postgres")
        options = f"-p {PORT} -c unix_socket_directories={path} -c listen_addresses= -c max_connections=200"
        run("pg_ctl", "start", "-D", data, "-w", "-l", Path(path) / "log", "-o", options)
        try:
            yield {"HOST": path, "PORT": PORT, "OPTIONS": {}}
        finally:
            run("pg_ctl", "stop", "-D", data, "-m", "immediate")


def is_standby() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        return bool(cursor.fetchone()[0])


def test_what_was_just_written_is_read_from_the_standby_and_nothing_is_written_there(
    standby: dict[str, Any], transactional_db: None, settings: Any
) -> None:
    settings.DATABASE_REPLICA = standby
    for number in range(20):
        Lab.objects.create(name=f"lab {number}")
        with on_replica():
            assert is_standby()
            assert Lab.objects.filter(name=f"lab {number}").exists(), "no read is stale"
    with on_replica(), pytest.raises(DatabaseError, match="read-only"):
        Lab.objects.create(name="there")
    assert not is_standby()
    Lab.objects.create(name="here")


def test_exports_are_read_from_the_standby_and_written_to_the_primary(
    standby: dict[str, Any], transactional_db: None, campaign: Campaign, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[bool] = []

    def look_and_read(of: Campaign) -> exports.Source:
        places.append(is_standby())
        return Source(of)

    monkeypatch.setattr(exports, "Source", look_and_read)
    settings.DATABASE_REPLICA = standby
    factories.do(factories.worker(campaign, "Alice"), campaign)
    assert export_refresh(campaign=campaign)
    assert places == [True]
    assert StoredFile.objects.filter(campaign=campaign, state="current").exists()


@pytest.mark.parametrize("trouble", ["unreachable", "no standby", "behind"])
def test_the_primary_is_read_where_the_standby_cannot_be(
    standby: dict[str, Any], transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    settings.DATABASE_REPLICA = standby
    if trouble == "unreachable":
        settings.DATABASE_REPLICA = standby | {"PORT": "5434"}
    elif trouble == "no standby":
        settings.DATABASE_REPLICA = {"OPTIONS": {}} | {"HOST": str(Postgres(var_folder()).sockets), "PORT": "5432"}
    else:
        monkeypatch.setattr(replica, "LONGEST_LAG", 0.3)
        address = f"postgresql://postgres@/postgres?host={standby['HOST']}&port={PORT}"
        execute(address, "SELECT pg_wal_replay_pause()")
        Lab.objects.create(name="written meanwhile")
    try:
        started = time.monotonic()
        with on_replica():
            assert not is_standby()
        assert time.monotonic() - started < 60
    finally:
        if trouble == "behind":
            execute(address, "SELECT pg_wal_replay_resume()")
