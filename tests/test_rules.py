"""The rules for all tests are kept: by pytest itself, run on tests that break them."""

import ast
import gzip
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

from tests import rules
from tests.conftest import REPOSITORY
from tests.docstrings import empty_docstrings, sources

OPTIONS = ("-q", "-p", "tests.rules", "-p", "no:cacheprovider")


def run_pytest(folder: Path, content: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """What pytest says of one file of tests under our rules."""
    (folder / "test_it.py").write_text(content)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "-c", os.devnull, "--rootdir", str(folder), str(folder)],
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if name not in ("CI", "DJANGO_SETTINGS_MODULE")}
        | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # nothing of Django: these tests need no servers
        | {"PYTEST_DEBUG_TEMPROOT": str(folder)}  # else it would close the folder of this run to other accounts
        | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("q1\tone\n", "q1 one"),
        ("", "value"),
        ("\0", "value"),
        ("bm25.txt, line 3", "bm25.txt, line 3"),
        (b"plain", "plain"),
        (gzip.compress(b"a time is in here"), "value"),
        ("word " * 30, ("word " * 12).strip()),
        (lambda: None, "value"),
        (3, None),
    ],
)
def test_a_values_name_is_its_plain_words(value: object, name: str | None) -> None:
    assert rules.name_of(value, "value") == name


def test_a_name_that_is_not_plain_words_stops_the_run(tmp_path: Path) -> None:
    mark = "import pytest\n@pytest.mark.parametrize('one', [1], ids=['{}'])\ndef test_one(one): pass\n"

    assert run_pytest(tmp_path, mark.format("plain words")).returncode == 0
    refused = run_pytest(tmp_path, mark.format(r"\x1f\x8b"))

    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Test names must be plain words" in refused.stderr + refused.stdout


def test_a_skip_fails_in_ci_unless_it_is_expected(tmp_path: Path) -> None:
    skipping = "import pytest\ndef test_one(): pytest.skip('{}')\n"

    unexpected = run_pytest(tmp_path, skipping.format("no time today"), CI="true")

    assert unexpected.returncode == pytest.ExitCode.TESTS_FAILED
    assert "no time today" in unexpected.stdout
    assert run_pytest(tmp_path, skipping.format("no time today")).returncode == 0
    assert (
        run_pytest(tmp_path, skipping.format("the other tests run as an ordinary account"), CI="true").returncode == 0
    )


def test_a_test_that_takes_too_much_processor_time_fails_and_one_that_waits_does_not(tmp_path: Path) -> None:
    busy = (
        "import time\ndef test_one():\n    end = time.process_time() + 3\n    while time.process_time() < end: pass\n"
    )
    waiting = "import time\ndef test_one(): time.sleep(0.3)\n"

    refused = run_pytest(tmp_path, busy, PYTEST_ADDOPTS="--longest=0.2")

    assert refused.returncode == pytest.ExitCode.TESTS_FAILED
    assert "s of processor time, and a test may take" in refused.stdout
    assert run_pytest(tmp_path, waiting, PYTEST_ADDOPTS="--longest=0.2").returncode == 0


def test_the_time_of_each_folder_is_printed(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")

    printed = run_pytest(tmp_path, "def test_one(): pass\n").stdout

    assert "seconds of each folder" in printed
    assert {"test_it.py", "test_other.py"} <= set(printed.split())


def test_the_longest_files_exist() -> None:
    assert [name for name in rules.LONGEST_FIRST if not (REPOSITORY / name).is_file()] == []


def test_no_docstring_only_repeats_a_name() -> None:
    assert list(empty_docstrings(sources())) == [], "remove them: python -m tests.docstrings"
    repeated = 'def lab_name(lab: Lab) -> str:\n    """The name of the lab."""\n    return lab.name\n'
    assert [row.name for row in empty_docstrings({"example.py": ast.parse(repeated)})] == ["lab_name"]
    told = repeated.replace("The name of the lab.", "Without the words that every lab of a university shares.")
    assert not list(empty_docstrings({"example.py": ast.parse(told)}))


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]
    return grimp.build_graph(*contracts["root_packages"])


PAGES_AND_JOBS = {"admin", "http", "jobs", "management", "pages", "resources", "views"}
HELPERS = {"core.error_pages", "core.http"}  # of all pages
# What models are made of.
FIELDS = {"models", "settings", "wording", "core.comparing", "core.recorded", "core.retrying"}


def layer(module: str) -> int:
    """Which of an app's four layers a module is in, from 1: models; services and selectors; pages, API and jobs; urls.
    0 for what belongs to none.
    """
    _app, *parts = module.split(".")
    if not parts or "migrations" in parts or parts == ["apps"]:
        return 0
    if parts[-1] == "urls":
        return 4
    if module not in HELPERS and (parts[-1].endswith(("views", "pages")) or PAGES_AND_JOBS.intersection(parts)):
        return 3
    return 1 if parts[0] in FIELDS or module in FIELDS else 2


def test_inside_an_app_nobody_imports_a_higher_layer(imports: grimp.ImportGraph) -> None:
    assert [layer(name) for name in ("pools.urls", "platforms.views.money", "tasks.packing", "tasks.models")] == [
        *(4, 3, 2, 1)
    ]
    upward = {
        (module, imported)
        for module in imports.modules
        for imported in imports.find_modules_directly_imported_by(module)
        if module.partition(".")[0] == imported.partition(".")[0] not in {"evaluation", "marketplace", "config"}
        and 0 < layer(module) < layer(imported)
    }
    assert not upward


def test_no_package_imports_views_of_another(imports: grimp.ImportGraph) -> None:
    views = [module for module in imports.modules if module.rpartition(".")[2].endswith("views")]
    assert len(views) > 30
    importers = {
        (importer, module)
        for module in views
        for importer in imports.find_modules_that_directly_import(module)
        if importer.partition(".")[0] != module.partition(".")[0]
    }
    assert not importers
