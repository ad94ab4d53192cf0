"""The page of a campaign's settings, written from the form and the model: `make settings`."""

import sys
from pathlib import Path
from typing import Any

import django

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"
BEGINNING = """# Settings of a campaign

For researchers: every setting of a campaign, as its form has it, with what it begins with. The form, the API and the
exports' manifest have the same. `make settings` writes this page from the code.
"""


def page() -> str:
    """The page: a table for each part of the form."""
    from pools.models import Campaign
    from pools.settings import fields_in, sections_of

    parts = [BEGINNING]
    for part in sections_of(Campaign):
        fields = fields_in(Campaign, part)
        rows = [f"| {field.verbose_name} | {field.help_text} | {_default(field)} |" for field in fields]
        head = [f"## {part.section.title}\n", "| setting | what it does | at first |", "|---|---|---|"]
        parts.append("\n".join([*head, *rows]) + "\n")
    return "\n".join(parts)


def _default(field: Any) -> str:
    from core.percent import ShareField, in_percent

    value = field.get_default()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(field, ShareField) and value is not None:
        return in_percent(value)
    return str(dict(field.flatchoices).get(value, "" if value is None else value))


def main() -> None:
    """Write the page, and say where it is."""
    django.setup()
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE.name}\n")


if __name__ == "__main__":
    main()
