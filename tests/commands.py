"""The page of the site's commands, written from their own help: `make commands`. A test compares it with the code."""

import sys
from argparse import SUPPRESS, Action, ArgumentParser
from pathlib import Path

import django
from django.core.management import get_commands, load_command_class
from django.core.management.base import DjangoHelpFormatter

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
OURS = (
    "core",
    "pools",
    "tasks",
    "platforms",
    "judgments",
    "results",
    "leaderboards",
    "api",
    "simulation",
    "local",
    "config",
)
BEGINNING = """# Commands

Every command of the site with its options, as `manage.py help` has them; [the reference](researchers.md) and [running
the site](operators.md) say when to use which. `make commands` writes this page anew. What the [API](api.md) does can be
done with `manage.py call_api`.

Where a command takes `--json`, what came of it is on standard output as JSON, and nothing else is; sentences and
progress are on standard error. Where it takes `--dry-run`, nothing is changed: a command that writes nothing but rows
does all of it, says what came of it, and takes it back.
"""


def our_commands() -> list[str]:
    """The commands that this repository adds."""
    return sorted(name for name, owner in get_commands().items() if owner in OURS)


def page() -> str:
    """The page."""
    parts = [BEGINNING]
    for name in our_commands():
        command = load_command_class(get_commands()[name], name)
        parser = command.create_parser("manage.py", name)
        parts.append(f"## `{name}`\n\n{' '.join(command.help.split())}\n\n{_table(parser)}")
    return "\n".join(parts)


def _table(parser: ArgumentParser) -> str:
    rows = ["| argument | meaning |", "|---|---|"]
    for action in parser._actions:
        if {*action.option_strings} & {"--help", *DjangoHelpFormatter.show_last} or action.help == SUPPRESS:
            continue
        about = " ".join((action.help or "").split())
        about = about % {**vars(action), "prog": parser.prog} if "%" in about else about
        if not about and action.choices is not None:
            about = f"one of {', '.join(map(str, action.choices))}"
        about += " (required)" if action.option_strings and action.required else ""
        rows.append(f"| `{_called(action)}` | {about.replace('|', '/').strip()} |")
    return "\n".join(rows) + "\n"


def _called(action: Action) -> str:
    value = action.metavar or action.dest.upper().replace("_", "-")
    value = " ".join(value) if isinstance(value, tuple) else value
    if action.choices is not None:
        value = ", ".join(map(str, action.choices))
    if not action.option_strings:
        return str(action.metavar or action.dest)
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {value}")


if __name__ == "__main__":
    django.setup()
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE}\n")
