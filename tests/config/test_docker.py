"""What runs in containers, as far as it can be tried without them."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg2
import pytest

from config import embedded

REPOSITORY = Path(__file__).parents[2]
DOCKER = REPOSITORY / "docker"


def services() -> dict[str, str]:
    """The services of docker-compose.yml, each as its text with that of the block that it takes over."""
    text = (REPOSITORY / "docker-compose.yml").read_text()
    shared = dict(re.findall(r"^x-\w+: &(\w+)\n((?:[ #].*\n|\n(?= ))+)", text, re.MULTILINE))
    listed = text.partition("\nservices:\n")[2].partition("\nvolumes:\n")[0]
    blocks = dict(re.findall(r"^  ([a-z-]+):\n((?:    .*\n)+)", listed, re.MULTILINE))

    def whole(block: str) -> str:
        taken = re.search(r"<<: \*(\w+)", block)
        return block + (whole(shared[taken[1]]) if taken else "")

    return {name: whole(block) for name, block in blocks.items()}


def test_every_service_is_hardened_and_says_if_it_is_healthy() -> None:
    assert {"proxy", "web", "worker", "beat", "postgres", "redis", "marketplace", "marketplace-tick"} < set(services())
    for name, text in services().items():
        for must in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"):
            assert must in text, name
        assert "healthcheck:" in text or name == "web", name  # the image's own is for `web`
        assert ('restart: "no"' in text) == ("healthcheck: {disable: true}" in text), name


def test_secrets_have_no_defaults_and_stand_in_the_example() -> None:
    text, example = (REPOSITORY / "docker-compose.yml").read_text(), (DOCKER / "env.example").read_text()
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"):
        assert f"${{{name}:?" in text
    for name in ("SITE_HOST", "MARKETPLACE_HOST", "MARKETPLACE_SECRET_KEY", "MARKETPLACE_POSTGRES_PASSWORD"):
        assert f"${{{name}:?" in text
        assert f"\n{name}=\n" in example
        assert f"${{{name}:-" not in text


def test_the_marketplace_and_the_application_know_no_secret_of_each_other() -> None:
    for name in ("marketplace", "marketplace-tick", "marketplace-migrate"):
        text = services()[name]
        assert "networks: [front, records]" in text
        for secret in ("${SECRET_KEY", "${POSTGRES_PASSWORD", "REDIS", "AWS_"):
            assert secret not in text, name
    for name in ("web", "worker", "beat", "migrate"):
        for secret in ("MARKETPLACE_SECRET_KEY", "MARKETPLACE_POSTGRES_PASSWORD"):
            assert secret not in services()[name], name


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """A PostgreSQL of its own: the address of a role in a database."""
    monkeypatch.setenv("BESTKNOWN_VAR", str(tmp_path / "var"))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    embedded.ensure()
    sockets = embedded.Postgres(tmp_path / "var", embedded._socket_folder(tmp_path / "var")).sockets
    yield lambda role, database: f"postgresql://{role}@/{database}?host={quote(str(sockets))}&port=5432"
    embedded.leave()


def test_the_marketplaces_role_reads_its_own_database_alone(server: Callable[[str, str], str]) -> None:
    environment = os.environ | {
        "DATABASE_URL": server("postgres", "bestknown"),
        "MARKETPLACE_POSTGRES_PASSWORD": "it's a secret",
    }
    for _time in range(2):
        subprocess.run([sys.executable, DOCKER / "marketplace_database.py"], env=environment, check=True)
    with psycopg2.connect(server("marketplace", "marketplace")) as own, own.cursor() as cursor:
        cursor.execute("CREATE TABLE mine (id int)")
        cursor.execute("SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = 'marketplace'")
        assert cursor.fetchone() == (False, False, False)
    for database in ("bestknown", "postgres", "template1"):
        with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
            psycopg2.connect(server("marketplace", database))
    with psycopg2.connect(server("bestknown", "bestknown")) as site, site.cursor() as cursor:
        cursor.execute("SELECT 1")
