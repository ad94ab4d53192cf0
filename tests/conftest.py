"""What tests share: one cast of people, a running site on the test database, a browser, folders of data."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache as cache_of
from functools import partial
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from botocore.loaders import create_loader  # type: ignore[import-untyped]
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client, TransactionTestCase
from django.utils import translation
from hypothesis.internal.conjecture import providers
from playwright.sync_api import Browser, expect, sync_playwright
from whitenoise.middleware import WhiteNoiseMiddleware

from core.cache import PausingRedis
from core.models import Lab, User
from evaluation.boards.evaluating import evaluate
from local.supervisor import Site
from pools.models import Campaign
from runs.models import Collection
from tasks.models import Worker
from tests import factories, made_up
from tests.browser import bound_waiting, launch_options
from tests.databases import EMPTY_TABLES, REPOSITORY, template_make
from tests.drawing import draw_once
from tests.marketplace import server
from tests.marketplace.fixtures import open_marketplace, running_marketplace
from tests.marketplace.server import Marketplace
from tests.ports import free_port
from tests.real_data import COLLECTIONS, DATA
from tests.simulation.prolific.fixtures import prolific, running_prolific
from tests.worlds import lay_out

__all__ = [
    "open_marketplace",
    "prolific",
    "running_marketplace",
    "running_prolific",
]  # fixtures that live with the servers that they start

MOST_REMAINS = 50_000_000  # bytes
# No test waits for the server for ever: pytest-timeout's signal is not heard meanwhile.
BOUNDS = "-c statement_timeout=150s -c lock_timeout=60s"
TEMPLATE = "site_template"  # the database that each process's is a copy of


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws no constants from the product's source: it would parse every module, in each process, and what
    it draws would depend on which modules other tests have imported. Where several processes are to run the tests,
    their databases' templates are made while they collect them.
    """
    providers.is_local_module_file = lambda _path: False
    if getattr(config.option, "dist", "no") != "no":
        Thread(target=make_templates, daemon=True).start()


def make_templates() -> None:
    """What fails here, the processes do again, and say why; at the end of a short run it is cut off."""
    with suppress(Exception):
        template_make(TEMPLATE, partial(_migrate, stderr=subprocess.DEVNULL))
        template_make(server.TEMPLATE, server.database_migrate)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """The tests' database is a copy of one that a process of this run, or of an earlier run, has migrated."""
    template_make(TEMPLATE, _migrate)
    connection.settings_dict["TEST"]["TEMPLATE"] = TEMPLATE
    options = connection.settings_dict["OPTIONS"]
    options["options"] = f"{options.get('options', '')} {BOUNDS}".strip()
    connection.creation._destroy_test_db = _drop


def _drop(name: str, _verbosity: int) -> None:
    """PostgreSQL does not wait for those who have not left the database yet."""
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _migrate(address: str, *, stderr: int | None = None) -> None:
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    environment = os.environ | {"DATABASE_URL": address}
    subprocess.run(command, cwd=REPOSITORY, env=environment, stderr=stderr, check=True)


@pytest.fixture(scope="session", autouse=True)
def static_files() -> Iterator[None]:
    """Static files are looked for once in a process, and not by each test's client anew."""
    look, files = WhiteNoiseMiddleware.add_files_from_finders, {}

    def share(middleware: WhiteNoiseMiddleware) -> None:
        if not files:
            look(middleware)
            files.update(middleware.files)
        middleware.files.update(files)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", share)
        yield


@pytest.fixture(scope="session", autouse=True)
def services_of_aws() -> Iterator[None]:
    """What boto3 knows of a service is read once in a process, and not for each test's keys anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", cache_of(create_loader))
        yield


@pytest.fixture(scope="session", autouse=True)
def browsers() -> Iterator[None]:
    """No browser that does not answer holds up the tests."""
    with pytest.MonkeyPatch.context() as patch:
        bound_waiting(patch)
        yield


@pytest.fixture(scope="session")
def launched() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(**launch_options())
        yield started
        started.close()


@pytest.fixture
def chromium(launched: Browser) -> Iterator[Browser]:
    """A browser for profiles of a test's own, which are gone after it."""
    yield launched
    for context in launched.contexts:
        context.close()


@pytest.fixture(scope="session", autouse=True)
def tables_are_emptied_fast() -> Iterator[None]:
    """After a test whose transactions were committed, its rows go, and nothing else is done anew."""

    def empty(_test: TransactionTestCase) -> None:
        with connection.cursor() as cursor:
            cursor.execute(EMPTY_TABLES)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="module", autouse=True)
def database_without_remains(django_db_blocker: Any) -> Iterator[None]:
    """What the tests of a file have left behind by being undone is cleared away once it is much. PostgreSQL would do so
    in the midst of another test, count none of the rows that nobody else sees, and then read thousands like one.
    """
    yield
    if not connection.settings_dict["NAME"].startswith("test_"):  # none of them has used it yet
        return
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone()
        if size > _sizes.setdefault(connection.settings_dict["NAME"], size) + MOST_REMAINS:
            cursor.execute("VACUUM")
            cursor.execute("SELECT pg_database_size(current_database())")
            (_sizes[connection.settings_dict["NAME"]],) = cursor.fetchone()


@pytest.fixture(autouse=True)
def test_settings(tmp_path: Path, settings: object) -> None:
    """Stored files of each test lie in its own folder, passwords are hashed fast, and Redis is asked, although it may
    have given no answer in the test before.
    """
    PausingRedis._silent_until = 0.0
    settings.MEDIA_ROOT = str(tmp_path / "files")  # type: ignore[attr-defined]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


_sizes: dict[str, int] = {}


@pytest.fixture(autouse=True)
def figures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure is drawn once in a process, of whatever data are the first. The few tests that read one draw theirs."""
    draw_once(monkeypatch)


@pytest.fixture
def in_a_process() -> None:
    """Submissions are evaluated in a process of their own, as on a site."""


@pytest.fixture(autouse=True)
def evaluated_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Submissions are evaluated in this process, but where tests are about the process of its own that they get."""
    if "in_a_process" not in request.fixturenames:
        monkeypatch.setattr("leaderboards.evaluating.answer_of", lambda asked, _limits: evaluate(asked))


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """No test is in the language that the last page of another was in."""
    with translation.override("en"):
        yield


@pytest.fixture
def limits(settings: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits count, from nothing, within one minute however long the test takes."""
    settings.RATELIMIT_ENABLE = True  # type: ignore[attr-defined]
    monkeypatch.setattr("django_ratelimit.core.time", SimpleNamespace(time=lambda: 1_800_000_000))
    cache.clear()


@pytest.fixture
def rita(db: None) -> User:
    lay_out("Rita", lambda: factories.user("rita"))
    return User.objects.get(username="rita")


@pytest.fixture
def page(client: Client, rita: User) -> Client:
    """Rita's browser, without scripts."""
    client.force_login(rita)
    return client


@pytest.fixture
def ada(db: None) -> User:
    return factories.user("ada", is_staff=True, is_superuser=True)


@pytest.fixture
def lab(rita: User) -> Lab:
    lay_out("Rita's lab", lambda: factories.lab("Rita's lab", rita))
    return Lab.objects.get(name="Rita's lab")


@pytest.fixture
def collection(lab: Lab, tmp_path: Path) -> Collection:
    """Four queries, three runs; pools of 3, 3, 2 and 1 passages: seven pairs."""
    lay_out(f"a small collection of lab {lab.pk}", lambda: factories.small(tmp_path, lab))
    return Collection.objects.get(lab=lab, name="small")


@pytest.fixture
def campaign(collection: Collection) -> Campaign:
    """An open campaign: seven pairs in three HITs of up to three pairs and two test pairs."""
    lay_out(
        f"an open campaign of collection {collection.pk}",
        lambda: factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2),
    )
    return Campaign.objects.get(collection=collection, name="pilot")


@pytest.fixture
def alice(campaign: Campaign) -> Worker:
    return factories.worker(campaign, "Alice")


@pytest.fixture
def bob(campaign: Campaign) -> Worker:
    return factories.worker(campaign, "Bob")


@pytest.fixture
def carol(campaign: Campaign) -> Worker:
    return factories.worker(campaign, "Carol")


@pytest.fixture(scope="session")
def made_up_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up folder with runs, qrels and preferences."""
    return made_up.write(tmp_path_factory.mktemp("data") / "made-up")


@pytest.fixture(scope="session", params=COLLECTIONS)
def data(request: pytest.FixtureRequest, made_up_data: Path) -> Path:
    """A folder with runs, qrels and preferences, called as its collection: the made-up one, then the real one."""
    return made_up_data if request.param == "made-up" else DATA / str(request.param)


@pytest.fixture
def site(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator["RunningSite"]:
    """The site as production runs it, gunicorn and all, on the test database."""
    with running_site(settings.MEDIA_ROOT) as running:
        monkeypatch.setattr(settings, "SITE_URL", running.url)
        yield running


@pytest.fixture(scope="session")
def site_at_marketplace(
    django_db_setup: None, open_marketplace: Marketplace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["RunningSite"]:
    """A site that knows the open marketplace, for all tests of a run: none of its pages reads a stored file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARKETPLACE_URL", open_marketplace.url)
        with running_site(str(tmp_path_factory.mktemp("files"))) as running:
            yield running


class RunningSite:
    """A started site and its address."""

    def __init__(self, url: str, process: Site) -> None:
        self.url = url
        self.process = process


@contextmanager
def running_site(media_root: str, database: str = "") -> Iterator[RunningSite]:
    """A site on the test database, or another, at a port of its own, until the block ends."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", database or database_url())
        patch.setenv("MEDIA_ROOT", media_root)
        patch.setenv("RATE_LIMITS", "0")
        patch.setenv("SITE_URL", url)
        running = RunningSite(url, Site(port, workers=2, with_jobs=False))
        running.process.start()
        try:
            running.process.wait_until_ready()
            yield running
        finally:
            running.process.stop()


def database_url() -> str:
    """The test database's address, for processes that tests start."""
    database = connection.settings_dict
    name, host = database["NAME"], database["HOST"] or database["OPTIONS"].get("host", "")
    login = f"{quote(database['USER'])}:{quote(database['PASSWORD'])}"
    if host.startswith("/"):
        return f"postgres://{login}@/{name}?host={quote(host, safe='')}"
    return f"postgres://{login}@{host}:{database['PORT'] or 5432}/{name}"
