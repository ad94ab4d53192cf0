"""The marketplace beside the site, for `make run`: its database, our account there, and its programs' environment.

The marketplace is a program of its own, and is used as one: through its command line, and over HTTP. It is not told
our secrets, and of its own we keep the access key that it gave us, and its operator's log-in.
"""

import json
import os
import re
import secrets
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
from psycopg2 import errors, sql

from local import embedded

REQUESTER = "Demonstration lab"
OPERATOR = "operator@example.org"
OPERATORS = r"^operator(-[0-9a-f]{6})?@example\.org$"
# Settings that the marketplace must not get.
OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "SITE_URL", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS")
# Settings of the marketplace that are not ours.
THEIRS = ("MARKETPLACE_SECRET_KEY", "MARKETPLACE_ENCRYPTION_KEYS", "MARKETPLACE_DATABASE_URL")


class MarketplaceError(Exception):
    """The marketplace cannot be set up. The message says why, and what can be done."""


class LocalMarketplace:
    """A marketplace on a port of this machine, with a database beside the site's.

    Made before the site's settings are read: it takes AWS_… and MARKETPLACE_… out of this process's environment, so
    that nobody's own keys, endpoints or profiles are used, and puts the marketplace's address there. Raises
    MarketplaceError where files are in a bucket, which is reached with those very keys.
    """

    def __init__(self, port: int, *, rate_limits: bool) -> None:
        if os.environ.get("FILES_BUCKET"):
            raise MarketplaceError(
                "make run uses the access key of its own marketplace, so it cannot reach a bucket with yours. "
                "Unset FILES_BUCKET: the files of the demonstration then lie in a folder."
            )
        self.port = port
        site = urlsplit(os.environ.get("SITE_URL", ""))
        self.url = f"http://{(site.scheme == 'http' and site.hostname) or 'localhost'}:{port}"
        self.key_path = embedded.var_folder() / "marketplace.json"
        inherited = {name: os.environ[name] for name in THEIRS if os.environ.get(name)}
        for name in list(os.environ):
            if name.startswith(("AWS_", "MARKETPLACE_", "BOTO_")):
                del os.environ[name]
        self.environment = {name: value for name, value in os.environ.items() if name not in OURS} | {
            "DJANGO_SETTINGS_MODULE": "marketplace.settings",
            "MARKETPLACE_URL": self.url,
            "MARKETPLACE_ALLOWED_HOSTS": f"localhost,127.0.0.1,[::1],{urlsplit(self.url).hostname}",
            "MARKETPLACE_OPEN_REGISTRATION": "1",
            "MARKETPLACE_RATE_LIMITS": "1" if rate_limits else "0",
            **inherited,
        }
        os.environ |= {
            "MARKETPLACE_URL": self.url,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        for name in ("NO_PROXY", "no_proxy"):  # all of it is on this machine
            os.environ[name] = ",".join(filter(None, (os.environ.get(name), "localhost,127.0.0.1")))

    def prepare(self) -> None:
        """Make what is not there yet: the database and its tables, our account with a key, an operator.

        The key goes into this process's environment, for itself and the programs that it starts. Raises
        MarketplaceError.
        """
        if "MARKETPLACE_DATABASE_URL" not in self.environment:
            self.environment["MARKETPLACE_DATABASE_URL"] = _database_beside(os.environ["DATABASE_URL"])
        _refuse_foreign_data(self.environment["MARKETPLACE_DATABASE_URL"])
        self.run("migrate", "--no-input", "--verbosity", "0")
        accounts = self.kept() | {"url": self.url, "database": self.environment["MARKETPLACE_DATABASE_URL"]}
        is_new = "operator_password" not in accounts
        if is_new:
            accounts["operator_password"] = secrets.token_urlsafe(9)
            self._keep(accounts)  # before the account is made: the log-in of an account that is there is known
        accounts["operator"] = self._operator(accounts, is_new)
        if "aws_secret_access_key" not in accounts:
            self.run("create_requester", REQUESTER, unless="There is a requester named")
            printed = self.run("issue_key", REQUESTER, "--label", "make run")
            accounts |= dict(re.findall(r"^(aws_\w+) = (\S+)$", printed, re.MULTILINE))
        self._keep(accounts)
        os.environ["AWS_ACCESS_KEY_ID"] = accounts["aws_access_key_id"]
        os.environ["AWS_SECRET_ACCESS_KEY"] = accounts["aws_secret_access_key"]

    def kept(self) -> dict[str, str]:
        """What is kept in `var/marketplace.json`, where only its owner can read it: the access key, the log-in and
        the database's address, by which `python -m marketplace` finds it.
        """
        return dict(json.loads(self.key_path.read_text())) if self.key_path.exists() else {}

    def deposit(self, amount: Decimal) -> None:
        """Put money into our account, in dollars. It is play money: nobody pays it in."""
        self.run("deposit", REQUESTER, f"{amount:.2f}", "--note", "make run")

    def lapse(self, assignment_id: str) -> None:
        """End a worker's time for an assignment."""
        self.run("lapse", assignment_id)

    def lapse_all(self) -> None:
        """End the time of all who work on our HITs."""
        self.run("lapse", "--requester", REQUESTER)

    def run(self, *command: str, unless: str = "", **environment: str) -> str:
        """A management command of the marketplace, and what it printed.

        Raises MarketplaceError with what it said if it fails, but not if it says `unless`.
        """
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "marketplace", *command],
            cwd=Path(__file__).parent.parent,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and not (unless and unless in done.stderr):
            complaint = "\n".join(done.stderr.strip().splitlines()[-15:])
            raise MarketplaceError(f"The marketplace's {command[0]} failed:\n{complaint}")
        return done.stdout

    def clock(self) -> list[str]:
        """The program that does the marketplace's periodic work."""
        return [sys.executable, "-m", "marketplace", "tick", "--every", "5"]

    def sender(self) -> list[str]:
        """The program that delivers its notifications."""
        return [sys.executable, "-m", "marketplace", "deliver", "--every", "1"]

    def _operator(self, accounts: dict[str, str], is_new: bool) -> str:
        """The operator's address. Makes an account if need be; another if that is there, with an unknown log-in."""
        address = accounts.get("operator", "")
        candidates = [] if address else [OPERATOR, f"operator-{secrets.token_hex(3)}@example.org"]
        for address in candidates:
            completed = self.run(
                *("create_operator", address),
                unless="An account with this email address already exists",
                MARKETPLACE_OPERATOR_PASSWORD=accounts["operator_password"],
            )
            if completed or not is_new:
                break
        return address

    def _keep(self, accounts: dict[str, str]) -> None:
        embedded.keep_private(self.key_path, json.dumps(accounts, indent=2))


def _refuse_foreign_data(address: str) -> None:
    """Raise MarketplaceError if this marketplace is not ours: it has requesters or accounts, and none of them ours."""
    try:
        connection = psycopg2.connect(address.replace("postgres://", "postgresql://", 1))
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT to_regclass('marketplace_requester'), to_regclass('marketplace_account')")
                if None in (cursor.fetchone() or (None,)):
                    return
                cursor.execute("SELECT name FROM marketplace_requester ORDER BY id")
                requesters = [name for (name,) in cursor.fetchall()]
                cursor.execute("SELECT email FROM marketplace_account WHERE email !~ %s", [OPERATORS])
                accounts = cursor.rowcount
        finally:
            connection.close()
    except psycopg2.Error as error:
        raise MarketplaceError(f"The marketplace's database cannot be used: {error}") from error
    if REQUESTER not in requesters and (requesters or accounts):
        raise MarketplaceError(
            f"The marketplace's database holds what make run did not make: {len(requesters):,} requesters "
            f"({', '.join(requesters[:3])}) and {accounts:,} accounts. Nothing was changed. "
            "Unset MARKETPLACE_DATABASE_URL, or name an empty database there."
        )


def _database_beside(address: str) -> str:
    """The address of the marketplace's database, `<the site's>_marketplace` on the same server. Makes it if need be."""
    path, question, options = address.partition("?")
    base, _, name = path.rpartition("/")
    name = f"{name}_marketplace"
    try:
        connection = psycopg2.connect(address.replace("postgres://", "postgresql://", 1))
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
                if cursor.fetchone() is None:
                    cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        finally:
            connection.close()
    except errors.DuplicateDatabase:
        pass  # another start was first
    except psycopg2.Error as error:
        raise MarketplaceError(
            f"The marketplace needs a database of its own, and {name} cannot be made beside the site's: {error}"
            "Make it, or name one in MARKETPLACE_DATABASE_URL."
        ) from error
    return f"{base}/{name}{question}{options}"
