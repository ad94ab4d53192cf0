"""The page of a campaign's settings, written from the form and the model: `make settings`."""

import sys
from pathlib import Path

import django

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"
BEGINNING = """# Settings of a campaign

For researchers: every setting of a campaign, as its form has it, with what it begins with. The form, the options of
`create_campaign`, the API and the exports' manifest have the same. `make settings` writes this page from the code.
"""


def page() -> str:
    """The page: a table for each part of the form."""
    from pools.forms import HELP, LABELS, SettingsForm

    parts = [BEGINNING]
    for title, names, _is_folded in SettingsForm.groups:
        rows = [f"| {LABELS[name]} | {HELP.get(name, '')} | {_default(name)} |" for name in names if name in LABELS]
        head = [f"## {title}\n", "| setting | what it does | at first |", "|---|---|---|"]
        parts.append("\n".join([*head, *rows]) + "\n")
    return "\n".join(parts)


def _default(name: str) -> str:
    from pools.models import Campaign

    field = Campaign._meta.get_field(name)
    value = field.get_default()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(dict(field.flatchoices).get(value, "" if value is None else value))


def main() -> None:
    """Write the page, and say where it is."""
    django.setup()
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE.name}\n")


if __name__ == "__main__":
    main()
