"""What runs in containers, as far as it can be tried without them."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg2
import pytest
import yaml
from django.core.management import CommandError, get_commands, load_command_class

from local import embedded

REPOSITORY = Path(__file__).parents[2]
DOCKER = REPOSITORY / "docker"
COMPOSE = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("bestknown-")}
MARKETPLACE = {"marketplace", "marketplace-tick", "marketplace-deliver", "marketplace-migrate", "marketplace-database"}
SCRIPTS = [*sorted(DOCKER.glob("*.sh")), REPOSITORY / "deploy" / "kubernetes" / "trial.sh", REPOSITORY / "Makefile"]
PROGRAMS = [*SCRIPTS, *sorted(DOCKER.glob("*.py")), REPOSITORY / "docker-compose.yml", REPOSITORY / "Dockerfile"]
EXAMPLE = (DOCKER / "env.example").read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_hardened_bounded_and_says_if_it_is_healthy(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "proxy" else [])
    assert service.get("user") != "root"
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.fullmatch(r"(\$\{\w+:-)?\d+[mg]\}?", service["mem_limit"])
    assert all("size=" in mount for mount in service["tmpfs"])
    once = service["restart"] == "no"
    assert once == (service.get("healthcheck") == {"disable": True})
    assert once or "healthcheck" in service or name == "web"  # the image's own is for `web`


def test_checks_that_start_a_program_leave_it_time_on_a_busy_machine() -> None:
    checks = [service["healthcheck"] for service in COMPOSE["services"].values() if "healthcheck" in service]
    allowed = [check["timeout"] for check in checks if check.get("test", [])[1:2] == ["python"]]
    assert allowed and set(allowed) == {"25s"}, "three that start too late in a row would call a sound container ill"


def test_each_image_is_built_by_one_service_and_has_the_projects_version() -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    builders: dict[str, list[str]] = {}
    for name, service in OURS.items():
        image, _, tag = service["image"].partition(":")
        assert tag == f"${{BESTKNOWN_VERSION:-{version}}}"
        if "build" in service:
            assert service["build"]["target"] == image.removeprefix("bestknown-")
            builders.setdefault(image, []).append(name)
        else:
            assert service["pull_policy"] == "never", name
    assert builders.keys() == {service["image"].partition(":")[0] for service in OURS.values()}
    assert all(len(names) == 1 for names in builders.values())


def test_bases_are_pinned_to_whole_versions() -> None:
    bases = re.findall(r"^FROM (\S+)", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
    bases += [service["image"] for service in SERVICES.values() if not service["image"].startswith("bestknown-")]
    assert len(bases) >= 5
    for base in bases:
        assert re.search(r":\d+\.\d+\.\d+|postgres:\d+\.\d+", base), base


def test_the_marketplace_can_be_left_out_and_so_can_the_servers() -> None:
    profiles = {name: set(service.get("profiles", ())) for name, service in SERVICES.items()}
    assert {name for name in SERVICES if profiles[name] == {"marketplace"}} >= MARKETPLACE
    assert profiles["postgres"] == {"postgres"} and profiles["redis"] == {"redis"}
    for name in ("proxy", "web", "worker", "compute", "beat", "migrate"):
        assert not profiles[name]
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            optional = not profiles[needed] or profiles[needed] <= profiles[name]
            assert optional or how["required"] is False, f"{name} needs {needed}"
    match = re.search(r"^COMPOSE_PROFILES=(.*)$", EXAMPLE, re.MULTILINE)
    assert match is not None
    assert set(match[1].split(",")) == set().union(*profiles.values())


def test_the_proxy_waits_for_no_site() -> None:
    assert "depends_on" not in SERVICES["proxy"]


def test_secrets_have_no_defaults_and_stand_in_the_example() -> None:
    text = (REPOSITORY / "docker-compose.yml").read_text()
    for name in ("SITE_HOST", "SECRET_KEY"):
        assert f"${{{name}:?" in text
    for name in ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "MARKETPLACE_SECRET_KEY", "MARKETPLACE_POSTGRES_PASSWORD"):
        assert not set(re.findall(rf"\$\{{{name}:-([^}}]+)\}}", text))
    for name in re.findall(r"\$\{(\w+)", text):
        assert re.search(rf"^#?{name}=", EXAMPLE, re.MULTILINE), f"{name} is not in docker/env.example"


def test_the_marketplace_and_the_application_know_no_secret_of_each_other() -> None:
    for name in MARKETPLACE - {"marketplace-database"}:
        assert "data" not in SERVICES[name]["networks"]
        environment = str(SERVICES[name]["environment"])
        for secret in ("${SECRET_KEY", "${POSTGRES_PASSWORD", "REDIS", "AWS_"):
            assert secret not in environment, name
    for name in ("web", "worker", "compute", "beat", "migrate"):
        for secret in ("MARKETPLACE_SECRET_KEY", "MARKETPLACE_POSTGRES_PASSWORD"):
            assert secret not in str(SERVICES[name]["environment"]), name


def commands_called() -> Iterator[list[str]]:
    """The words of each simple command in our scripts and of each service, without the shell's redirections."""
    for service in SERVICES.values():
        yield service.get("command", [])
    for line in (
        line for path in SCRIPTS for line in path.read_text().splitlines() if re.search("manage|market|call ", line)
    ):
        lexer = shlex.shlex(line.rstrip("\\"), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in lexer:
            if set(word) <= set("();<>|&"):
                yield words
                words = []
            words.append(word)
        yield words


def test_the_commands_that_are_called_in_containers_exist_and_take_these_arguments() -> None:
    checked = set()
    for words in commands_called():
        if "$@" in words:
            continue  # a function of the script
        if "call" in words[:-1]:
            words = ["manage", "call_api", *words[words.index("call") + 1 :], "--as", "admin"]
        called = re.search(
            r"(?:^| )(manage|python manage\.py|market|python -m marketplace) ([a-z_]+)( |$)", " ".join(words)
        )
        if called is None:
            continue
        name, arguments = called[2], words[words.index(called[2]) + 1 :]
        if "market" in called[1]:
            command = REPOSITORY / "marketplace" / "management" / "commands" / f"{name}.py"
            assert command.exists() or get_commands().get(name, "").startswith(("django.", "rollout")), words
        else:
            assert name in get_commands(), words
            try:
                load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(arguments)
            except (CommandError, SystemExit) as error:
                pytest.fail(f"{words}: {error}")
        checked.add(name)
    assert checked >= {"migrate", "call_api", "stop_publications", "issue_key", "tick", "verify_ledger", "shell"}


def test_the_modules_that_are_named_for_containers_exist() -> None:
    text = "\n".join(path.read_text() for path in PROGRAMS)
    modules = re.findall(r"python -m (?!pip\b)([\w.]+)|\"-A\", \"([\w.]+)\"|([\w.]+):application", text)
    names = {name for groups in modules for name in groups if name}
    assert names >= {"marketplace", "config.celery", "config.wsgi", "marketplace.wsgi"}
    for name in names:
        assert importlib.util.find_spec(name), name
    for module, name in re.findall(r"\bfrom ([\w.]+) import (\w+)", text):
        assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"


def test_a_heartbeat_is_healthy_while_it_is_fresh(tmp_path: Path) -> None:
    beat = tmp_path / "heartbeat"
    script = (DOCKER / "healthcheck.py").read_text().replace("/tmp/heartbeat", str(beat))
    (tmp_path / "healthcheck.py").write_text(script)

    def check() -> tuple[int, str]:
        command = [sys.executable, tmp_path / "healthcheck.py", "heartbeat"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert check() == (1, "No round of work has ended well yet.\n")
    beat.touch()
    assert check() == (0, "healthy\n")
    os.utime(beat, (time.time(), time.time() - 300))
    code, answer = check()
    assert code == 1 and "The last round of work that ended well was 30" in answer


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """A PostgreSQL of its own: the address of a role in a database."""
    monkeypatch.setenv("BESTKNOWN_VAR", str(tmp_path / "var"))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    embedded.ensure()
    sockets = embedded.Postgres(tmp_path / "var").sockets
    yield lambda role, database: f"postgresql://{role}@/{database}?host={quote(str(sockets))}&port=5432"
    embedded.leave()


def test_the_marketplaces_role_reads_its_own_database_alone(server: Callable[[str, str], str]) -> None:
    environment = os.environ | {
        "DATABASE_URL": server("postgres", "bestknown"),
        "MARKETPLACE_POSTGRES_PASSWORD": "it's a secret",
    }
    for _time in range(2):
        subprocess.run([sys.executable, DOCKER / "marketplace_database.py"], env=environment, check=True)
    with psycopg2.connect(server("marketplace", "marketplace")) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE mine (id int)")
        cursor.execute("SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = 'marketplace'")
        assert cursor.fetchone() == (False, False, False)
    for database in ("bestknown", "postgres", "template1"):
        with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
            psycopg2.connect(server("marketplace", database))
    with psycopg2.connect(server("bestknown", "bestknown")) as site, site.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_make_run_with_prolific_needs_nothing_that_the_image_leaves_out(tmp_path: Path) -> None:
    ignored = [line.lstrip("/") for line in (REPOSITORY / ".dockerignore").read_text().split()]
    assert "tests" in ignored
    shutil.copytree(REPOSITORY, tmp_path / "app", ignore=shutil.ignore_patterns(*ignored, "*.pyc"))
    imports = "import local.run, local.prolific, runpy; runpy.run_module(local.prolific.PROGRAM, run_name='there')"
    done = subprocess.run(
        [sys.executable, "-c", imports],
        cwd=tmp_path / "app",
        env=os.environ | {"PYTHONPATH": "", "DEVELOPMENT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
