"""The page about the marketplace names every operation, command, setting and fault that there is."""

import re
from pathlib import Path

import marketplace
from marketplace.api.shapes import service
from tests.marketplace.server import REPOSITORY, Marketplace

PAGE = (REPOSITORY / "docs" / "marketplace.md").read_text()
FOLDER = Path(marketplace.__file__).parent


def test_every_operation_has_its_row() -> None:
    table = PAGE.partition("### Operations")[2].partition("### Behaviour")[0]
    rows = re.findall(r"^\| ([A-Za-z, ]+) \|", table, re.MULTILINE)

    named = [name for row in rows[1:] for name in row.split(", ")]

    assert sorted(named) == sorted(service().operation_names)


def test_every_command_is_shown() -> None:
    commands = {path.stem for path in (FOLDER / "management" / "commands").glob("[a-z]*.py")}

    assert commands <= set(re.findall(r"python -m marketplace (\w+)", PAGE))


def test_every_setting_is_explained() -> None:
    settings = set(re.findall(r'"(MARKETPLACE_[A-Z_]+)"', (FOLDER / "settings.py").read_text()))

    assert settings <= set(re.findall(r"`(MARKETPLACE_[A-Z_]+)(?:=1)?`", PAGE))


def test_every_fault_is_explained(marketplace: Marketplace) -> None:
    kinds = set(marketplace.test("faults")["kinds"])

    assert kinds <= set(re.findall(r"`([a-z_]+)`", PAGE))
