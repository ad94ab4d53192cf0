"""`make run` beside what is there already: other people's databases, and commands of somebody at its side."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg2
import pytest
from django.db import connection

from config.celery import app
from local import run
from tests import factories
from tests.conftest import REPOSITORY, database_url
from tests.ports import free_port


def environment(var: Path, **named: str) -> dict[str, str]:
    """A developer's, with a folder of its own and nothing said about addresses."""
    names = ("SITE_URL", "PORT", "MARKETPLACE_URL", "MARKETPLACE_PORT", "HOST")
    inherited = {name: value for name, value in os.environ.items() if name not in names and not name.startswith("AWS_")}
    return inherited | {"DEVELOPMENT": "1", "BESTKNOWN_VAR": str(var)} | named


def databases() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database")
        return {name for (name,) in cursor.fetchall()}


def test_make_run_refuses_a_database_of_other_people_before_it_changes_anything(
    transactional_db: None, tmp_path: Path
) -> None:
    admin = factories.user("admin", is_superuser=True)
    admin.set_password("their own secret")
    admin.save()
    before = databases()
    done = subprocess.run(
        [sys.executable, "-m", "local.run"],
        cwd=REPOSITORY,
        env=environment(tmp_path / "var", DATABASE_URL=database_url(), PORT=str(free_port())),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    complaint = " ".join(done.stderr.split())
    assert "1 user (admin)" in complaint and "Nothing was changed" in complaint and "Traceback" not in complaint
    admin.refresh_from_db()
    assert admin.check_password("their own secret") and not admin.labs.exists()
    assert databases() == before, "no marketplace was made beside it"


def settings_of(var: Path, *names: str, **named: str) -> list[str]:
    code = f"from django.conf import settings; import json; print(json.dumps([getattr(settings, n) for n in {names}]))"
    variables = environment(var, DJANGO_SETTINGS_MODULE="config.settings", SECRET_KEY="x", **named)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def test_commands_beside_the_site_know_its_address_and_its_marketplace(tmp_path: Path) -> None:
    names = ("SITE_URL", "MARKETPLACE_URL", "MARKETPLACE_SUBMIT_HOST", "MARKETPLACE_KEY")
    nowhere = "http://localhost:8001"
    assert settings_of(tmp_path, *names) == ["http://localhost:8000", nowhere, nowhere, None]

    (tmp_path / "site.json").write_text('{"url": "http://localhost:8100"}')
    accounts = {"url": "http://localhost:8101", "aws_access_key_id": "MKPOURS", "aws_secret_access_key": "secret"}
    (tmp_path / "marketplace.json").write_text(json.dumps(accounts))
    marketplace = "http://localhost:8101"
    assert settings_of(tmp_path, *names) == ["http://localhost:8100", marketplace, marketplace, ["MKPOURS", "secret"]]

    # what is said counts
    assert settings_of(tmp_path, "SITE_URL", PORT="8200") == ["http://localhost:8200"]
    assert settings_of(tmp_path, "SITE_URL", SITE_URL="http://here:1/", PORT="8200") == ["http://here:1"]
    elsewhere = settings_of(tmp_path, "MARKETPLACE_URL", "MARKETPLACE_KEY", MARKETPLACE_URL="http://there")
    assert elsewhere == ["http://there", None]
    production = settings_of(tmp_path, "SITE_URL", "MARKETPLACE_URL", "MARKETPLACE_KEY", DEVELOPMENT="0")
    assert production == ["", "", None]


def test_the_key_of_make_runs_marketplace_goes_nowhere_else(settings: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from platforms.mturk.client import client_for
    from platforms.mturk.endpoints import endpoint_of

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASOMEBODY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "their own")
    settings.MARKETPLACE_KEY = ("MKPOURS", "secret")  # type: ignore[attr-defined]

    def key_at(name: str) -> str:
        return str(client_for(endpoint_of(name))._request_signer._credentials.access_key)

    assert key_at("marketplace") == "MKPOURS"
    assert key_at("mturk-sandbox") == key_at("mturk") == "AKIASOMEBODY"


def test_somebody_elses_marketplace_is_refused(transactional_db: None, tmp_path: Path) -> None:
    from local.marketplace import MarketplaceError, _refuse_foreign_data

    url = database_url().replace("postgres://", "postgresql://", 1)
    with psycopg2.connect(url) as other, other.cursor() as cursor:
        cursor.execute("CREATE TABLE marketplace_requester (id serial, name text)")
        cursor.execute("CREATE TABLE marketplace_account (id serial, email text)")
        cursor.execute("INSERT INTO marketplace_account (email) VALUES ('operator@example.org')")
    try:
        _refuse_foreign_data(url)  # an operator of ours, and nobody else: a start that was cut off
        with psycopg2.connect(url) as other, other.cursor() as cursor:
            cursor.execute("INSERT INTO marketplace_requester (name) VALUES ('The reading lab')")
        with pytest.raises(MarketplaceError, match=r"1 requesters \(The reading lab\).*Nothing was changed"):
            _refuse_foreign_data(url)
        with psycopg2.connect(url) as other, other.cursor() as cursor:
            cursor.execute("INSERT INTO marketplace_requester (name) VALUES ('Demonstration lab')")
        _refuse_foreign_data(url)
    finally:
        with psycopg2.connect(url) as other, other.cursor() as cursor:
            cursor.execute("DROP TABLE marketplace_requester, marketplace_account")


def test_every_job_that_make_run_sends_is_one_that_the_workers_know() -> None:
    app.loader.import_default_modules()

    assert set(run.ROUND) <= set(app.tasks)
    queues = {app.amqp.router.route({}, name)["queue"].name for name in run.ROUND}
    assert queues == {run.ROUND_QUEUE}, "rounds that wait would not be seen there, and pile up"
