"""The page about the marketplace names every operation, command and setting that there is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import marketplace
from marketplace.api.shapes import service
from tests.marketplace.server import REPOSITORY

PAGE = (REPOSITORY / "docs" / "marketplace.md").read_text()
FOLDER = Path(marketplace.__file__).parent
# Prints each line of standard input that the marketplace's commands do not understand, and why.
PARSE = """
import shlex, sys
import django
from django.core.management import CommandError, get_commands, load_command_class
django.setup()
for line in sys.stdin:
    name, *arguments = shlex.split(line)
    try:
        command = load_command_class(get_commands()[name], name)
        command.create_parser("marketplace", name).parse_args(arguments)
    except (KeyError, CommandError, SystemExit) as error:
        print(line.strip(), repr(error))
"""


def test_every_operation_has_its_row() -> None:
    table = PAGE.partition("### Operations")[2].partition("### Behaviour")[0]
    rows = re.findall(r"^\| ([A-Za-z, ]+) \|", table, re.MULTILINE)

    named = [name for row in rows[1:] for name in row.split(", ")]

    assert sorted(named) == sorted(service().operation_names)


def test_every_command_is_shown() -> None:
    commands = {path.stem for path in (FOLDER / "management" / "commands").glob("[a-z]*.py")}

    assert commands <= set(re.findall(r"python -m marketplace (\w+)", PAGE))


def test_every_command_line_is_one_that_its_parser_accepts() -> None:
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    blocks = "".join(block for page in pages for block in re.findall(r"(?ms)^```\w*\n(.*?)^```$", page.read_text()))
    lines = re.findall(r"python -m marketplace (?!help)(\w[^\n#|]*)", blocks)
    assert len(lines) > 10

    done = subprocess.run(
        [sys.executable, "-c", PARSE],
        cwd=REPOSITORY,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "marketplace.settings", "DEVELOPMENT": "1"},
        input="\n".join(lines),
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_every_setting_is_explained() -> None:
    settings = set(re.findall(r'env(?:\.\w+)?\(\s*"([A-Z_]+)"', (FOLDER / "settings.py").read_text()))

    assert {"MARKETPLACE_URL", "STATIC_ROOT"} <= settings
    assert settings <= set(re.findall(r"`([A-Z_]+)(?:=1)?`", PAGE))
