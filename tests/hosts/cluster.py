"""The site on a dozen hosts: a proxy, two web servers, two hosts of job workers, two clocks, and their servers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg2

from local.embedded import Redis as EmbeddedRedis
from platforms.models import Publication
from tests.config.test_proxy import CADDY, adapted, handlers
from tests.hosts import servers
from tests.hosts.network import Host, Network
from tests.marketplace.server import Marketplace

WEB, JOBS, CLOCKS = ("web1", "web2"), ("jobs1", "jobs2"), ("clock1", "clock2")
NAMES = ("database1", "database2", "pooler", "store", "proxy", *WEB, *JOBS, *CLOCKS)
SECONDS = 120
TRIED_AGAIN = 5  # times that a packet to a host that is gone is sent again: some twelve seconds


class Cluster:
    """The hosts with what runs on them. `environment` is that of the site's programs, of whichever version."""

    def __init__(self, network: Network, folder: Path, marketplace: Marketplace) -> None:
        self.network, self.folder, self.marketplace = network, folder, marketplace
        requester = marketplace.requester("20000.00")
        self.primary, self.standby = (servers.Database(network[name]) for name in ("database1", "database2"))
        self.primary.initialize()
        self.primary.start()
        self.primary.execute("CREATE ROLE bestknown LOGIN CREATEDB")
        self.primary.execute("CREATE DATABASE bestknown OWNER bestknown")
        self.pooler = servers.Pooler(network["pooler"], self.primary)
        self.url = f"http://{network['proxy'].address}:8000"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FILES_"))}
        self.environment = {
            **inherited,
            "DEVELOPMENT": "1",
            "SECRET_KEY": "a key of several hosts, and for nothing else in the world",
            "ALLOWED_HOSTS": network["proxy"].address,
            "SITE_URL": self.url,
            "DATABASE_URL": self.pooler.url,
            "DATABASE_POOLER": "on",
            "REDIS_URL": servers.start_redis(network["store"], EmbeddedRedis(folder).program()),
            "REDIS_SECONDS": "1",
            "RATE_LIMITS": "0",
            "BESTKNOWN_VAR": str(folder / "var"),
            "MEDIA_ROOT": str(folder / "var" / "files"),
            "WEB_WORKERS": "2",
            **servers.start_files(network["store"]),
            "AWS_ACCESS_KEY_ID": requester.key_id,
            "AWS_SECRET_ACCESS_KEY": requester.secret,
            "MARKETPLACE_URL": marketplace.url,
        }

    def have_standby(self) -> None:
        """Start the standby. From now on nothing is committed that it has not written down."""
        self.standby.copy(self.primary)
        self.standby.start()
        self.primary.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{self.standby.host.name}'")
        self.primary.execute("SELECT pg_reload_conf()")
        follows = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
        self.wait(lambda: self.primary.execute(follows), "the standby follows")

    def migrate(self, version: Path) -> None:
        """Bring the tables to a version, through the pooler."""
        command = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
        subprocess.run(command, cwd=version, env=self.environment, check=True)

    def make_campaigns(self, pairs: int, version: Path) -> None:
        """Open the two campaigns of tests/hosts/world.py, with the programs of a version."""
        command = [sys.executable, "-m", "tests.hosts.world", str(self.folder), str(pairs)]
        environment = self.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        subprocess.run(command, cwd=version, env=environment, check=True)

    def publication(self) -> Publication:
        """The publication at the marketplace, with its reference alone."""
        ((reference,),) = self.primary.execute("SELECT reference FROM platforms_publication", database="bestknown")
        return Publication(reference=reference)

    def start(self, name: str, version: Path) -> None:
        host = self.network[name]
        celery = "celery -A config.celery"
        worker = f"{celery} worker --queues money,default --hostname {name}@{name} --concurrency 2"
        programs = {
            WEB: f"gunicorn --config {version}/docker/gunicorn.conf.py config.wsgi:application",
            JOBS: f"{worker} --without-gossip --without-mingle",
            CLOCKS: f"{celery} beat --pidfile= --loglevel INFO --schedule {host.folder}/schedule",
        }
        (command,) = (command for names, command in programs.items() if name in names)
        host.start([sys.executable, "-m", *command.split()], self.environment, folder=version)

    def start_proxy(self) -> None:
        """Start the proxy, with the settings of the containers' but for how it finds web servers."""
        host = self.network["proxy"]
        host.run(["sysctl", "-q", f"net.ipv4.tcp_retries2={TRIED_AGAIN}"])
        config = adapted(SITE_HOST=self.url, MARKETPLACE_SITE="http://marketplace.invalid")
        for handler in handlers(config, "reverse_proxy"):
            del handler["dynamic_upstreams"]
            handler["upstreams"] = [{"dial": f"{self.network[name].address}:8000"} for name in WEB]
        path = host.folder / "caddy.json"
        path.write_text(json.dumps(config))
        folders = {"XDG_DATA_HOME": str(host.folder), "XDG_CONFIG_HOME": str(host.folder)}
        host.start([CADDY, "run", "--config", path], os.environ | folders)

    def replace(self, name: str, version: Path) -> None:
        """End what a host runs, gently, and start a version of it."""
        self.network[name].end()
        self.start(name, version)
        if name in WEB:
            self.wait_for(name)

    def wait_for(self, name: str) -> None:
        """Wait until a web host answers well."""
        address = f"http://{self.network[name].address}:8000/healthz"
        headers = {"Host": self.network["proxy"].address}

        def answers() -> bool:
            try:
                return httpx.get(address, headers=headers, timeout=5, trust_env=False).is_success
            except httpx.TransportError:
                return False

        self.wait(answers, f"{name} answers", self.network[name])

    def fail_over(self) -> None:
        """The host of the database is gone: promote its standby, and send everybody there."""
        self.primary.host.crash()
        self.standby.promote()
        self.pooler.move(self.standby)
        self.primary, self.standby = self.standby, self.primary

    def clock(self) -> str:
        """Who holds the clock's lease; empty if nobody does, or the database cannot be asked."""
        try:
            rows = self.primary.execute("SELECT holder FROM core_lease WHERE ends_at > now()", database="bestknown")
        except psycopg2.Error:
            return ""
        return str(rows[0][0]) if rows else ""

    def wait(self, condition: Callable[[], object], what: str, host: Host | None = None) -> float:
        """Wait for something. How many seconds it took."""
        started = time.monotonic()
        while not condition():
            log = "" if host is None or not host.log.exists() else host.log.read_text()[-3000:]
            assert time.monotonic() < started + SECONDS, f"{what}\n{log}"
            time.sleep(0.1)
        return time.monotonic() - started
