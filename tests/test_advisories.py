"""Exceptions from the check of dependencies: dated, and over when their date is."""

import importlib.util
import json
import sys
from datetime import UTC, date, datetime
from types import ModuleType

import pytest

from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def advisories() -> ModuleType:
    """The program, which is in no package."""
    spec = importlib.util.spec_from_file_location("advisories", f"{REPOSITORY}/.ci/advisories.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_no_exception_is_past_its_date(advisories: ModuleType) -> None:
    exempt = advisories.exceptions_in(advisories.EXCEPTIONS.read_text())
    assert advisories.overdue(exempt, datetime.now(UTC).date()) == []


def test_an_exception_ends_with_its_date_and_needs_a_reason(advisories: ModuleType) -> None:
    exempt = advisories.exceptions_in("# none\n\nCVE-2026-1 2026-11-30 only on Windows\n")
    assert advisories.overdue(exempt, date(2026, 11, 30)) == []
    assert advisories.overdue(exempt, date(2026, 12, 1)) == [
        "The exception of CVE-2026-1 ended on 2026-11-30: only on Windows"
    ]
    with pytest.raises(ValueError, match="not enough"):
        advisories.exceptions_in("CVE-2026-1 2026-11-30")


def test_what_is_known_is_named_unless_it_is_excepted(advisories: ModuleType) -> None:
    found = [
        {"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["1.1"]},
        {"id": "PYSEC-2", "aliases": [], "fix_versions": []},
    ]
    said = json.dumps({"dependencies": [{"name": "django", "version": "1.0", "vulns": found}, {"name": "x"}]})
    exempt = advisories.exceptions_in("CVE-2026-1 2026-11-30 only on Windows\n")
    assert advisories.known_in(said, exempt) == ["django 1.0: PYSEC-2, mended in nothing"]


def test_advisories_that_cannot_be_had_are_said_and_fail_nothing(
    advisories: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advisories, "PROGRAM", "false")
    assert advisories.main() == 0
    said = capsys.readouterr()
    assert said.err.count("was NOT checked") == len(advisories.PINNED)
