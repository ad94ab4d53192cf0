"""Redis over TLS and with a password, which dies with all that it holds: jobs are sent anew, as rows hold the work."""

import datetime
import ipaddress
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kombu import Connection
from kombu.exceptions import OperationalError
from redis import RedisError

from core.job_status import broker_url, redis_at
from local.embedded import Redis
from pools.models import Campaign
from runs.models import Collection
from tasks import services as task_services
from tests import factories
from tests.conftest import REPOSITORY, database_url
from tests.killing import until
from tests.ports import free_port
from tests.tied import tied

PASSWORD = "open-sesame"
PROGRAM = """
from config.celery import app
app.conf.beat_schedule = {"pack": {"task": "tasks.jobs.pack_waiting_campaigns", "schedule": 0.5}}
app.worker_main(["worker", "--beat", "--concurrency", "1", "--without-gossip", "--without-mingle"])
"""


def write_certificate(folder: Path) -> Path:
    """A certificate of 127.0.0.1 that nobody vouches for, and its key, in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(addresses, critical=False)
        .sign(key, hashes.SHA256())
    )
    text, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = folder / "certificate.pem"
    path.write_bytes(certificate.public_bytes(text) + key.private_bytes(text, serialization.PrivateFormat.PKCS8, plain))
    return path


class RedisOverTls:
    """A Redis that keeps nothing on disk, behind TLS."""

    def __init__(self, folder: Path) -> None:
        self.certificate = write_certificate(folder)
        self._port = free_port()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"rediss://:{PASSWORD}@127.0.0.1:{self._listener.getsockname()[1]}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = folder
        threading.Thread(target=self._accept, daemon=True).start()

    def start(self) -> None:
        options = f"--port {self._port} --bind 127.0.0.1 --requirepass {PASSWORD} --appendonly no"
        command = [Redis(self._folder).program(), *options.split(), "--save", ""]
        self._process = subprocess.Popen(tied(command), stdout=subprocess.DEVNULL, cwd=self._folder)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self._listener.close()
        self.kill()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _address = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(client, server_side=True) as outside,
            socket.create_connection(("127.0.0.1", self._port)) as inside,
        ):
            threading.Thread(target=_pass_on, args=(inside, outside), daemon=True).start()
            _pass_on(outside, inside)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(65536):
            target.sendall(content)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisOverTls]:
    server = RedisOverTls(tmp_path)
    server.start()
    yield server
    server.close()


def test_no_job_is_sent_to_a_server_with_a_certificate_that_nobody_vouches_for(redis: RedisOverTls) -> None:
    def connect(url: str) -> None:
        with Connection(broker_url(url)) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0.1)

    with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
        connect(redis.url)
    connect(f"{redis.url}?ssl_ca_certs={redis.certificate}")


def test_redis_loses_everything_and_jobs_go_on(
    redis: RedisOverTls, transactional_db: None, collection: Collection, tmp_path: Path, settings: object
) -> None:
    def wait_until_packed(name: str) -> None:
        campaign = factories.campaign(collection, name, start=False)
        task_services.campaign_launch(campaign=campaign)
        until(lambda: Campaign.objects.get(pk=campaign.pk).state == Campaign.State.OPEN, f"{name} is packed")

    def holds_something() -> bool:
        with suppress(RedisError), redis_at(url) as client:
            return bool(client.dbsize())
        return False

    url = f"{redis.url}?ssl_ca_certs={redis.certificate}"
    facts = {"REDIS_URL": url, "DATABASE_URL": database_url(), "MEDIA_ROOT": settings.MEDIA_ROOT}  # type: ignore[attr-defined]
    with (tmp_path / "jobs.log").open("wb") as log:
        jobs = subprocess.Popen(
            tied([sys.executable, "-c", PROGRAM]), env=os.environ | facts, cwd=REPOSITORY, stderr=log
        )
    try:
        wait_until_packed("before")
        redis.kill()
        redis.start()
        until(holds_something, "the clock and the worker come back")
        wait_until_packed("after")
        assert jobs.poll() is None
    finally:
        jobs.terminate()
        jobs.wait(60)
