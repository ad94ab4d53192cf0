"""What keeps the state, on hosts of its own: PostgreSQL with a standby, PgBouncer, Redis, and files as S3 has them."""

import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg2

from local.embedded import Postgres as EmbeddedPostgres
from tests.hosts.network import Host

ACCOUNT = "nobody"  # PostgreSQL and PgBouncer refuse to run as root
BUCKET, KEY, SECRET = "bestknown", "key", "secret-for-tests"
SECONDS = 60
NETWORK = "198.18.0.0/15"
# A connection whose other end is gone is noticed in half a minute, and its transaction given up.
KEEPALIVES = {"tcp_keepalives_idle": 15, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}
POOLER = """\
[databases]
bestknown = host={host} port=5432 user=bestknown
[pgbouncer]
listen_addr = *
listen_port = 6432
auth_type = any
pool_mode = transaction
max_client_conn = 2000
default_pool_size = 30
unix_socket_dir =
logfile =
admin_users = admin
ignore_startup_parameters = extra_float_digits
tcp_keepidle = 15
tcp_keepintvl = 5
tcp_keepcnt = 3
idle_transaction_timeout = 60
server_login_retry = 1
server_connect_timeout = 5
"""


def lacking() -> str:
    """What is not installed; empty if all is there."""
    for program, package in (("pgbouncer", "pgbouncer"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            return f"{program} is not installed (apt-get install {package})"
    return ""


def rclone() -> str | None:
    """The program whose `serve s3` keeps files in a folder, and answers as S3 does."""
    beside = Path(sys.executable).with_name("rclone")
    return str(beside) if beside.exists() else shutil.which("rclone")


class Database:
    """PostgreSQL on a host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.url = f"postgresql://bestknown@{host.address}:5432/bestknown"
        self.data = host.folder / "data"
        self._programs = EmbeddedPostgres(host.folder).programs()

    def initialize(self) -> None:
        """Make an empty database."""
        self._run("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D", self.data)
        with (self.data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {NETWORK} trust\nhost replication all {NETWORK} trust\n")

    def copy(self, primary: "Database") -> None:
        """Become a standby, which follows another server."""
        address = f"host={primary.host.address} user=postgres application_name={self.host.name}"
        options = ["--write-recovery-conf", "--create-slot", "--slot", self.host.name, "--checkpoint", "fast"]
        self._run("pg_basebackup", "-D", self.data, *options, "-d", address)

    def start(self, **settings: object) -> None:
        """Start, and wait until it answers."""
        settings = {"listen_addresses": "*", "unix_socket_directories": ""} | KEEPALIVES | settings
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.host.start([self._programs / "postgres", "-D", self.data, *options], account=ACCOUNT)
        _wait(lambda: self._run("pg_isready", "-h", self.host.address, "-d", "postgres"), self.host)

    def promote(self) -> None:
        """Be no standby any more."""
        self._run("pg_ctl", "promote", "-D", self.data, "-w")

    def execute(self, statement: str, user: str = "postgres", database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement. The rows that it gives."""
        return execute(f"postgres://{user}@{self.host.address}:5432/{database}", statement)

    def _run(self, program: str, *arguments: str | Path) -> None:
        self.host.run([self._programs / program, *arguments], account=ACCOUNT)


class Pooler:
    """PgBouncer in transaction mode."""

    def __init__(self, host: Host, database: Database) -> None:
        self.host = host
        self.url = f"postgres://bestknown@{host.address}:6432/bestknown"
        self._settings = host.folder / "pgbouncer.ini"
        self._point_to(database)
        host.start(["pgbouncer", self._settings], account=ACCOUNT)
        _wait(lambda: self.execute("SHOW VERSION"), host)

    def _point_to(self, database: Database) -> None:
        self._settings.write_text(POOLER.format(host=database.host.address))

    def move(self, database: Database) -> None:
        """Send everybody to another server. Who waits for the old one is sent away, and may come again."""
        self._point_to(database)
        for order in ("RELOAD", "KILL bestknown", "RESUME bestknown"):
            self.execute(order)

    def execute(self, order: str) -> None:
        execute(f"postgresql://admin@{self.host.address}:6432/pgbouncer", order)


def execute(address: str, statement: str) -> list[tuple[object, ...]]:
    """Run a statement at a server. The rows that it gives."""
    connection = psycopg2.connect(address, connect_timeout=5, tcp_user_timeout=5000)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def start_redis(host: Host, program: str | Path) -> str:
    """Start Redis with a password. Its address."""
    options = f"--bind {host.address} --port 6379 --requirepass hosts --appendonly yes --dir {host.folder}"
    host.start([program, *options.split(), "--save", ""])
    return f"redis://:hosts@{host.address}:6379/0"


def start_files(host: Host) -> Mapping[str, str]:
    """Start a server of S3's protocol. The environment by which the site finds it; empty where there is no program."""
    program = rclone()
    if program is None:
        return {}
    (host.folder / "files" / BUCKET).mkdir(parents=True)
    options = ["--addr", f"{host.address}:9000", "--auth-key", f"{KEY},{SECRET}", "--vfs-cache-mode", "off"]
    host.start([program, "serve", "s3", *options, host.folder / "files"], os.environ | {"HOME": str(host.folder)})
    return {
        "FILES_BUCKET": BUCKET,
        "AWS_S3_ACCESS_KEY_ID": KEY,
        "AWS_S3_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL_S3": f"http://{host.address}:9000",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def _wait(act: object, host: Host) -> None:
    ends = time.monotonic() + SECONDS
    while True:
        try:
            act()
            return
        except (AssertionError, psycopg2.Error):
            assert time.monotonic() < ends, host.log.read_text()[-3000:]
        time.sleep(0.05)
