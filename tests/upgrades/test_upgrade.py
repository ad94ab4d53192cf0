"""A site of an earlier version, with data, becomes one of this version: nothing is lost, and people go on."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import psycopg2
import pytest
from selectolax.lexbor import LexborHTMLParser

from simulation.browser import Browser
from tests.conftest import REPOSITORY, RunningSite, database_url, running_site
from tests.databases import database_create, execute, rows_of_tables, schema
from tests.upgrades import DATABASE, EXPORTS, FILES, LEDGERS, LINK, PASSWORD, SECRET_KEY

KEPT = sorted(Path(__file__).parent.glob("*.zip"))
FIRST_RELEASE = "0.2.0"  # the one that each app's first migration made
FIRST = sorted({path.parts[-3] for path in REPOSITORY.glob("*/migrations/0001_*.py")} - {"marketplace"})
LEAST_TABLES = 38  # with rows
OURS = tuple(f"{app}_" for app in FIRST)
EXPORT_ALL = """
from pathlib import Path
from django.core.management import call_command
from pools.models import Campaign
for campaign in Campaign.objects.exclude(state__in=["draft", "packing"]):
    call_command("export_campaign", campaign.name, to=Path({folder!r}) / campaign.name)
"""
MIGRATE_FIRST = f"""
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
executor = MigrationExecutor(connection)
names = [executor.loader.get_migration_by_prefix(app, "0001") for app in {FIRST}]
executor.migrate([(name.app_label, name.name) for name in names])
"""


def start(database: str, *command: str, **environment: str) -> subprocess.Popen[str]:
    """Start a management command of the site on a database."""
    return subprocess.Popen(
        [sys.executable, "manage.py", *command],
        cwd=REPOSITORY,
        env={**os.environ, "DEVELOPMENT": "1", "DATABASE_URL": database, "SECRET_KEY": SECRET_KEY, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What a command printed."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


def manage(database: str, *command: str, **environment: str) -> str:
    """A management command, and what it printed."""
    return finish(start(database, *command, **environment))


class Upgraded:
    """An earlier version's site, upgraded, and what was kept beside it."""

    def __init__(self, file: Path, folder: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            self.kept = {name: archive.read(name) for name in archive.namelist()}
        self.folder = folder
        self.database = database_create(f"upgraded_{os.getpid()}")
        execute(self.database, self.kept[DATABASE].decode())
        self.before = rows_of_tables(self.database, OURS)
        for name, content in self.kept_in(FILES).items():
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.manage("migrate", "--verbosity", "0")
        self.site: RunningSite

    def kept_in(self, place: str) -> dict[str, bytes]:
        """What was kept under a name that starts like this, by the rest of its name."""
        return {name.removeprefix(place): content for name, content in self.kept.items() if name.startswith(place)}

    def manage(self, *command: str) -> str:
        """A management command, and what it printed."""
        return manage(self.database, *command, MEDIA_ROOT=str(self.folder / "files"))

    def browser(self, name: str) -> httpx.Client:
        """The browser of somebody who has logged in with the password of old."""
        client = httpx.Client(base_url=self.site.url, timeout=60, trust_env=False, verify=False, follow_redirects=True)
        client.get("/login/")
        token = next(value for cookie, value in client.cookies.items() if cookie.startswith("csrf"))
        login = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token}
        answer = client.post("/login/", data=login, headers={"Referer": f"{self.site.url}/login/"})
        assert "Log out" in answer.text
        return client


@pytest.fixture(scope="module", params=KEPT, ids=lambda file: file.stem)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """A running site on each earlier version's database and files."""
    made = Upgraded(request.param, tmp_path_factory.mktemp("upgraded"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_KEY", SECRET_KEY)
        with running_site(str(made.folder / "files"), made.database) as made.site:
            yield made


def test_an_upgraded_database_has_the_schema_of_a_new_one(upgraded: Upgraded, db: None) -> None:
    assert schema(upgraded.database) == schema(database_url())


def test_the_first_migrations_make_the_schema_of_the_first_release() -> None:
    old, new = (database_create(f"{name}_{os.getpid()}") for name in ("old", "first"))
    with zipfile.ZipFile(Path(__file__).parent / f"{FIRST_RELEASE}.zip") as archive:
        execute(old, archive.read(DATABASE).decode())

    manage(new, "shell", "--no-imports", "-c", MIGRATE_FIRST)

    def ours(address: str) -> list[tuple[str, str, str]]:
        return [row for row in schema(address) if row[1].startswith(OURS)]

    assert ours(old) == ours(new)


def test_people_who_work_are_not_held_up_by_a_migration_that_waits_for_them() -> None:
    database = database_create(f"at_work_{os.getpid()}")
    with zipfile.ZipFile(Path(__file__).parent / f"{FIRST_RELEASE}.zip") as archive:
        execute(database, archive.read(DATABASE).decode())

    with closing(psycopg2.connect(database)) as at_work:
        at_work.cursor().execute("UPDATE tasks_assignment SET owed = owed")
        migrating = start(database, "migrate", PYTHONUNBUFFERED="1")
        assert migrating.stdout is not None
        assert any("A table is in use" in line for line in migrating.stdout)
        execute(database, "SET lock_timeout = '30s'; LOCK TABLE tasks_assignment IN ROW EXCLUSIVE MODE")
    assert "OK" in finish(migrating)

    manage(database, "migrate", "--check")


def test_an_upgrade_keeps_every_row_and_every_export_byte_by_byte(upgraded: Upgraded, tmp_path: Path) -> None:
    after = rows_of_tables(upgraded.database, OURS)
    assert {table: after[table] for table in upgraded.before} == upgraded.before
    assert sum(rows > 0 for rows in upgraded.before.values()) >= LEAST_TABLES

    upgraded.manage("shell", "--no-imports", "-c", EXPORT_ALL.format(folder=str(tmp_path)))

    exported = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    kept = upgraded.kept_in(EXPORTS)
    assert set(exported) >= set(kept)  # what later versions export beside these is not compared
    assert len(kept) >= 6 * 9
    for name, content in kept.items():
        if name.endswith("/manifest.json"):
            before, now = json.loads(content), json.loads(exported[name])
            for part in ("settings", "files"):
                assert before[part].items() <= now[part].items()
            assert now.keys() >= before.keys()
            changed = {"software", "settings", "files"}
            assert {part: now[part] for part in before.keys() - changed} == {
                part: before[part] for part in before.keys() - changed
            }
        else:
            assert exported[name] == content, name


def test_the_ledgers_say_what_they_said(upgraded: Upgraded) -> None:
    with closing(upgraded.browser("rita")) as rita:
        for name, content in upgraded.kept_in(LEDGERS).items():
            ((key,),) = execute(
                upgraded.database, "SELECT id FROM pools_campaign WHERE name = %s", name.removesuffix(".csv")
            )
            said = rita.get(f"/campaigns/{key}/platform/ledger/payments.csv")
            assert said.content == content
    totals = execute(
        upgraded.database, "SELECT purpose, state, sum(amount) FROM platforms_payment GROUP BY 1, 2 ORDER BY 1, 2"
    )
    assert [(purpose, state, str(amount)) for purpose, state, amount in totals] == [
        ("bonus", "paid", "8.30"), ("compensation", "owed", "0.80"), ("compensation", "sent", "0.80"),
        ("reward", "paid", "2.50"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "least"), [("rita", 80), ("ruth", 20), ("ada", 60)])
def test_every_page_and_download_that_somebody_can_reach_answers(upgraded: Upgraded, name: str, least: int) -> None:
    seen, left = {"/"}, deque(["/"])
    with closing(upgraded.browser(name)) as browser:
        while left:
            path = left.popleft()
            answer = browser.get(path)
            # The archive of the report is not kept with the rest: it is made of it, and large.
            assert answer.status_code == (404 if path.endswith("/report.zip") else 200), (path, answer.text[:2000])
            if "text/html" not in answer.headers["Content-Type"]:
                continue
            for link in LexborHTMLParser(answer.text).css("a[href]"):
                target = urlsplit(urljoin(str(answer.url), link.attributes["href"] or ""))
                kind = re.sub(r"\d+", "1", target.path) if target.path.startswith("/admin/") else target.path
                if f"{target.scheme}://{target.netloc}" == upgraded.site.url and kind not in seen:
                    seen.add(kind)  # on the admin site, one row of each table
                    left.append(target.path)
    assert len(seen) > least


def test_judgments_and_decisions_are_still_never_changed(upgraded: Upgraded) -> None:
    for table in ("judgments_judgment", "judgments_decision"):
        with pytest.raises(psycopg2.errors.IntegrityConstraintViolation, match=f"{table} is append-only"):
            execute(upgraded.database, f"DELETE FROM {table}")


def test_somebody_who_had_begun_goes_on_from_the_link_that_they_were_given(upgraded: Upgraded) -> None:
    def judged() -> int:
        counted = "SELECT count(*) FROM judgments_judgment j JOIN tasks_assignment a ON a.id = j.assignment_id"
        ((count,),) = execute(upgraded.database, f"{counted} WHERE a.state = 'submitted'")
        return int(count)

    before = judged()
    with Browser(upgraded.site.url, lambda _times: None) as browser:
        page = browser.get(urlsplit(upgraded.kept[LINK].decode()).path)
        page = browser.get(browser.get(page.onward()).onward())
        assert page.path.endswith("/3/")
        while not page.path.endswith("/finish/"):
            page = browser.post(page.form("form#item"), {"preferred": "left"})
            page = browser.get(page.onward())
        page = browser.post(page.form("form[action$='/finish/']"), {})
    assert page.path.endswith("/done/")
    assert judged() == before + 5
