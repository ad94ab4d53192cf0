"""What programs may rely on: the names of operations, parameters and fields of the API's description, and the scope and
the right that an operation needs.

`released.txt` holds those of the last release, a line for each operation and each shape. Nothing of it may disappear:
`DEVELOPMENT=1 DJANGO_SETTINGS_MODULE=config.settings python -m tests.api.released` writes it for a new release.
"""

from pathlib import Path
from typing import Any

import django

FILE = Path(__file__).with_name("released.txt")


def promised(description: dict[str, Any]) -> dict[str, set[str]]:
    """By operation (GET /campaigns/ campaigns_list) its parameters and needs; by shape (Campaign) its fields."""
    names = {}
    for address, verbs in description["paths"].items():
        for verb, operation in verbs.items():
            parameters = {parameter["name"] for parameter in operation.get("parameters", [])}
            needs = operation["description"].rpartition("\n\n")[2].translate({ord(sign): None for sign in ":`."})
            names[f"{verb.upper()} {address} {operation['operationId']}"] = parameters | {needs.replace(" ", "-")}
    for shape, schema in description["components"]["schemas"].items():
        names[shape] = set(schema.get("properties", {}))
    return names


def read() -> dict[str, set[str]]:
    """What the last release promised."""
    lines = (line.partition(": ") for line in FILE.read_text().splitlines())
    return {name: set(fields.split()) for name, _colon, fields in lines}


def main() -> None:
    django.setup()
    from api.pages import described

    names = promised(described())
    FILE.write_text("".join(f"{name}: {' '.join(sorted(fields))}\n" for name, fields in names.items()))


if __name__ == "__main__":
    main()
