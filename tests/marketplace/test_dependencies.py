"""The marketplace is a program of its own: it imports, is served by, and shows nothing but what its own lists name."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.marketplace.server import REPOSITORY

PROGRAM = REPOSITORY / "marketplace"
SHARED = ("metrics", "outbound", "rollout", "ui")
FOLDERS = (PROGRAM, REPOSITORY / "ui")
PROJECT = tomllib.loads((PROGRAM / "pyproject.toml").read_text())["project"]
DEPENDENCIES = {re.split("[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]}
# What is started, or named in settings, and imported nowhere.
RUN_BY = {"django-template-partials", "gunicorn", "psycopg2-binary", "tzdata", "whitenoise"}


def imported() -> set[str]:
    """The top-level modules that the marketplace imports, with what it shares with the site: beside these two and the
    standard library.
    """
    names = set()
    for path in [path for folder in (PROGRAM.name, *SHARED) for path in (REPOSITORY / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module).partition(".")[0])
    return names - set(sys.stdlib_module_names) - {PROGRAM.name, *SHARED}


def pins(name: str) -> dict[str, str]:
    """The versions that a requirements file names, by package."""
    return dict(re.findall(r"(?m)^([\w.-]+)==(\S+) ", (REPOSITORY / name).read_text()))


def test_every_import_is_among_the_marketplaces_own_dependencies() -> None:
    providers = packages_distributions()

    needed = {name: {provider.lower().replace("_", "-") for provider in providers[name]} for name in imported()}

    assert needed.keys() >= {"django", "botocore"}
    assert {name for name, packages in needed.items() if not packages & DEPENDENCIES} == set()
    assert set().union(*needed.values()) | RUN_BY == DEPENDENCIES


def test_its_requirements_are_its_dependencies_in_the_versions_that_are_tested() -> None:
    site_pins, ours = pins("requirements-marketplace.txt"), pins("requirements.txt")

    assert site_pins.keys() >= DEPENDENCIES
    assert site_pins.items() <= ours.items()
    assert not site_pins.keys() & {"scipy", "celery", "redis", "pyarrow", "matplotlib", "boto3"}


def test_its_pages_name_only_static_files_of_its_own() -> None:
    texts = [path.read_text() for path in (PROGRAM / "templates").rglob("*.html")]
    named = {name for text in texts for name in re.findall(r'{% static "([^"]+)" %}', text)}

    assert len(named) > 5
    assert {name for name in named if not any((folder / "static" / name).is_file() for folder in FOLDERS)} == set()


def test_its_pages_extend_and_include_only_its_own() -> None:
    for path in PROGRAM.rglob("*.html"):
        for name in re.findall(r'{% (?:extends|include) "([^"]+)"', path.read_text()):
            assert (PROGRAM / "templates" / name.partition("#")[0]).is_file(), (path, name)


def test_it_is_a_package_with_a_command_of_its_own(tmp_path: Path) -> None:
    site = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert PROJECT["version"] == site["version"]
    assert set(PROJECT["dependencies"]) - set(site["dependencies"]) == {"botocore>=1.44,<2"}  # boto3 brings it there
    build = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=PROGRAM, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")

    command = [sys.executable, "-P", "-m", "marketplace", "help"]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path / "installed"),
        "BESTKNOWN_VAR": str(tmp_path),
    }
    printed = subprocess.run(
        command, cwd=tmp_path, env=environment | {"DEVELOPMENT": "1"}, check=True, capture_output=True
    )
    assert "create_operator" in printed.stdout.decode()
    assert {path.name for path in (tmp_path / "installed").iterdir()} >= {*SHARED}
