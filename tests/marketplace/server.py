"""A marketplace as production runs it, gunicorn and all, with a database of its own in the tests' PostgreSQL."""

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import boto3  # type: ignore[import-untyped]
import httpx
import psycopg2
from botocore.config import Config  # type: ignore[import-untyped]

from tests.databases import EMPTY_TABLES, database_create, template_make
from tests.ports import free_port
from tests.tied import tied

REPOSITORY = Path(__file__).parent.parent.parent
EXTERNAL = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
HTML = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
EXTERNAL_QUESTION = (
    f'<ExternalQuestion xmlns="{EXTERNAL}">'
    "<ExternalURL>https://example.org/task?a=1&amp;b=2</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"
)
SECRET_KEY = "a key for tests, and only for tests, long enough to be one"
SETTINGS = "tests.marketplace.testing.settings"
# Requests that are not over, such as those that nobody waits for any more.
BUSY = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND state <> 'idle'
"""
T = TypeVar("T")


def html_question(body: str, height: int = 450) -> str:
    """An HTMLQuestion."""
    return (
        f'<HTMLQuestion xmlns="{HTML}"><HTMLContent><![CDATA[{body}]]></HTMLContent>'
        f"<FrameHeight>{height}</FrameHeight></HTMLQuestion>"
    )


HTML_QUESTION = html_question("<!doctype html><form><input name='answer'></form>")
_numbers = itertools.count(1)


TEMPLATE = "marketplace_template"  # the database that others are copies of


def database_with_tables(name: str) -> str:
    """A new database beside the tests' own, with the tables of the marketplace and of its tests. Its address."""
    template_make(TEMPLATE, database_migrate)
    return database_create(name, template=TEMPLATE)


def database_migrate(address: str, *target: str) -> None:
    """Bring a database to the newest migration, or to that of an app."""
    environment = {"DEVELOPMENT": "1", "MARKETPLACE_DATABASE_URL": address, "MARKETPLACE_SECRET_KEY": SECRET_KEY}
    done = subprocess.run(
        [sys.executable, "-m", "marketplace", "migrate", "--verbosity", "0", *target],
        cwd=REPOSITORY,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": SETTINGS, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def cookie_of(http: httpx.Client, kind: str) -> tuple[str, str]:
    """Name and value of a visitor's cookie of one kind, whose name ends with a mark of the site; empty without one."""
    prefix = f"marketplace_{kind}_"
    return next(((name, value) for name, value in http.cookies.items() if name.startswith(prefix)), ("", ""))


class Marketplace:
    """A running marketplace, and quick ways to what it does for tests only: see tests.marketplace.testing."""

    def __init__(self, folder: Path, *, workers: int = 2, address: str = "127.0.0.1", **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://{address}:{self.port}"
        self.folder = folder
        self.database = self.make_database(f"marketplace_test_{os.getpid()}_{next(_numbers)}")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MARKETPLACE_"))},
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            "DEVELOPMENT": "1",
            "MARKETPLACE_URL": self.url,
            "MARKETPLACE_DATABASE_URL": self.database,
            "MARKETPLACE_SECRET_KEY": SECRET_KEY,
            **environment,
        }
        self._commands: subprocess.Popen[str] | None = None
        self._connection: Any = None
        self._one_command = threading.Lock()
        self.http = self.visitor()
        self.prepare()
        options = f"--bind {address}:{self.port} --workers {workers} --worker-class gthread --threads 4"
        self._log = (folder / "marketplace.log").open("ab")
        self._process = subprocess.Popen(
            tied(
                [
                    sys.executable,
                    "-m",
                    "gunicorn",
                    "marketplace.wsgi:application",
                    *options.split(),
                    "--no-control-socket",
                    "--preload",
                    "--keep-alive=75",  # a client may wait between two requests
                ]
            ),
            cwd=REPOSITORY,
            env=self.environment,
            stdout=self._log,
            stderr=self._log,
        )
        self._wait()

    def make_database(self, name: str) -> str:
        """Make the database that this marketplace runs on. Its address."""
        return database_with_tables(name)

    def prepare(self) -> None:
        """What is done before the first start. The database has its tables."""

    def visitor(self) -> httpx.Client:
        """A new visitor, without cookies."""
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False, verify=False)

    def _wait(self) -> None:
        for _ in range(300):
            try:
                if self.http.get("/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
            assert self._process.poll() is None, self.log()
        raise AssertionError(self.log())

    @property
    def pid(self) -> int:
        """The master process."""
        return self._process.pid

    def log(self) -> str:
        """What the servers wrote."""
        return (self.folder / "marketplace.log").read_text()

    def stop(self) -> None:
        if self._commands is not None:
            self._commands.communicate()
        if self._connection is not None:
            self._connection.close()
        self.http.close()
        self._process.terminate()
        self._process.wait(30)
        self._log.close()

    def run(self, *command: str) -> str:
        """A management command, and what it printed."""
        with self._one_command:
            if self._commands is None:
                self._commands = subprocess.Popen(
                    [sys.executable, "-m", "tests.marketplace.commands"],
                    cwd=REPOSITORY,
                    env=self.environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            assert self._commands.stdin and self._commands.stdout
            print(json.dumps(command), file=self._commands.stdin, flush=True)
            code, printed, complaints = json.loads(self._commands.stdout.readline())
        assert code == 0, complaints
        return str(printed).strip()

    def start(self, *command: str, **environment: str) -> str:
        """A management command as an operator starts it, in a process of its own, and what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "marketplace", *command],
            cwd=REPOSITORY,
            env=self.environment | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement in the marketplace's database, behind its back. The rows that it gives."""
        connection = psycopg2.connect(self.database.replace("postgres://", "postgresql://", 1))
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(statement, values)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    @contextmanager
    def behind(self) -> Iterator[Any]:
        """A cursor in the marketplace's database, behind its back, in a transaction that begins beside no other."""
        if self._connection is None:
            self._connection = psycopg2.connect(self.database.replace("postgres://", "postgresql://", 1))
            self._connection.cursor().execute("SET TIME ZONE 'UTC'")
            self._connection.commit()
        with self._connection, self._connection.cursor() as cursor:
            for _ in range(1500):
                cursor.execute(BUSY)
                if cursor.fetchone() == (0,):
                    break
                time.sleep(0.02)
            else:
                raise AssertionError("the marketplace is busy")
            yield cursor

    def clear(self) -> None:
        """Forget everybody and all that was ever done here, with the clock right and no faults to come."""
        with self.behind() as cursor:
            cursor.execute(EMPTY_TABLES)

    def in_one_span(self, act: Callable[[], T], seconds: int = 60) -> T:
        """What came of it when no try had been counted before, and all of it fell into one span of so many seconds."""
        for _ in range(5):
            self.sql("DELETE FROM marketplace_tries")
            span = time.time() // seconds
            came = act()
            if time.time() // seconds == span:
                return came
        raise AssertionError(f"this machine is too slow to do that in {seconds} seconds")

    def test(self, action: str, **facts: Any) -> dict[str, Any]:
        """One order of a test that must succeed."""
        response = self.http.post(f"/test/{action}", json=facts)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def refused(self, action: str, **facts: Any) -> str:
        """One order of a test that must be refused, and why."""
        response = self.http.post(f"/test/{action}", json=facts)
        assert response.status_code == 400, response.text
        return str(response.json()["error"])

    def advance(self, **units: float) -> None:
        """Move the marketplace's clock: seconds=, minutes=, hours=, days=."""
        sizes = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
        self.test("clock", advance=sum(sizes[unit] * number for unit, number in units.items()))

    def requester(self, deposit: str = "1000.00") -> "Requester":
        """A new requester with money and a client."""
        return Requester(self, deposit)

    def invite(self, **facts: Any) -> str:
        """The path of a new invitation."""
        return f"/register?invitation={self.test('invitation', **facts)['token']}"

    def worker(self, **facts: Any) -> "Worker":
        return Worker(self, **facts)

    def client(self, key_id: str, secret: str, **config: Any) -> Any:
        """A client of boto3, as anybody would make it, that tries once."""
        return boto3.client(
            "mturk",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
            config=Config(retries={"total_max_attempts": 1}, **config),
        )


class Requester:
    """A requester: `client` is boto3's."""

    def __init__(self, marketplace: Marketplace, deposit: str) -> None:
        self.name = f"requester {next(_numbers)}"
        self.deposit = Decimal(deposit)
        account = marketplace.test("requester", name=self.name, deposit=deposit)
        self.account_id, self.key_id, self.secret = account["account_id"], account["key_id"], account["secret"]
        self.client = marketplace.client(self.key_id, self.secret)

    def hit_type(self, **changes: Any) -> str:
        """A HIT type, of a dollar if not said otherwise."""
        return str(self.client.create_hit_type(**hit_type_facts(**changes))["HITTypeId"])

    def hit(self, **changes: Any) -> dict[str, Any]:
        """A HIT, of a dollar, for one worker and an hour, if not said otherwise."""
        facts = {"LifetimeInSeconds": 3600, "Question": HTML_QUESTION} | hit_type_facts() | changes
        return dict(self.client.create_hit(**facts)["HIT"])

    def status(self, hit_id: str) -> str:
        """A HIT's status."""
        return str(self.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"])

    def assignment(self, assignment_id: str) -> dict[str, Any]:
        return dict(self.client.get_assignment(AssignmentId=assignment_id)["Assignment"])

    def money(self) -> tuple[str, str]:
        """What is available, and what is on hold."""
        balance = self.client.get_account_balance()
        return balance["AvailableBalance"], balance["OnHoldBalance"]


class Worker:
    """A worker, who acts on order, and through the address that forms are submitted to."""

    def __init__(self, marketplace: Marketplace, **facts: Any) -> None:
        self.marketplace = marketplace
        email = f"worker{next(_numbers)}@example.org"
        self.id = str(marketplace.test("worker", email=email, **facts)["worker_id"])

    def accept(self, hit_id: str) -> str:
        """The assignment's id."""
        return str(self.marketplace.test("accept", worker_id=self.id, hit_id=hit_id)["assignment_id"])

    def accept_next(self, group_id: str) -> tuple[str, str]:
        """The assignment's id, and the HIT's, of whichever HIT the group's button gives."""
        acceptance = self.marketplace.test("accept-next", worker_id=self.id, group_id=group_id)
        return str(acceptance["assignment_id"]), str(acceptance["hit_id"])

    def cannot_accept(self, hit_id: str) -> str:
        """Why not."""
        return self.marketplace.refused("accept", worker_id=self.id, hit_id=hit_id)

    def give_back(self, assignment_id: str) -> None:
        self.marketplace.test("return", worker_id=self.id, assignment_id=assignment_id)

    def submit(self, assignment_id: str, **fields: str) -> httpx.Response:
        """Post the form in the frame."""
        form = {"assignmentId": assignment_id} | (fields or {"answer": "left"})
        return self.marketplace.http.post("/mturk/externalSubmit", data=form)

    def do(self, hit_id: str, **fields: str) -> str:
        """Accept and submit. The assignment's id."""
        assignment_id = self.accept(hit_id)
        response = self.submit(assignment_id, **fields)
        assert response.status_code == 200, response.text
        return assignment_id

    def finds(self) -> list[str]:
        """The HITs that it could take."""
        return list(self.marketplace.test("find", worker_id=self.id, most=1000)["hit_ids"])

    def look(self) -> dict[str, Any]:
        """Its earnings and messages."""
        return self.marketplace.test("look", worker_id=self.id)


def hit_type_facts(**changes: Any) -> dict[str, Any]:
    """What CreateHITType needs."""
    facts = {
        "Title": "Which passage answers the question?",
        "Description": "Compare two passages, thirteen times",
        "Keywords": "search, reading",
        "Reward": "1.00",
        "AssignmentDurationInSeconds": 600,
        "AutoApprovalDelayInSeconds": 259200,
    }
    return facts | changes
