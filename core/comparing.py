"""Names and addresses of people, as they are compared: one person is one, however they are written."""

import csv
import unicodedata
from typing import Any

from django.db import models

# Marks that nobody sees, beside those of the categories Cf (which a byte order mark is of) and Cc.
_UNSEEN = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u3164", "\uffa0", *map(chr, range(0xFE00, 0xFE10))}


def compared(text: str) -> str:
    """A name or an address as it is compared: NFKC, case folded, single spaces, without marks that nobody sees."""
    seen = "".join(letter for letter in text if letter.isspace() or not _is_unseen(letter))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return " ".join(folded.split())


def people_in(text: str) -> list[str]:
    """The names or addresses in what somebody pasted, one a line; of a line of CSV, all cells as one."""
    lines = text.replace("\ufeff", "").splitlines(keepends=True)
    try:
        rows = list(csv.reader(lines, skipinitialspace=True, strict=True))
    except csv.Error:  # quotation marks that are none of a CSV file's
        rows = [[line] for line in lines]
    people = (", ".join(filter(None, (" ".join(cell.split()) for cell in row))) for row in rows)
    return [person for person in people if compared(person)]


def _is_unseen(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cf", "Cc") or letter in _UNSEEN


class ComparedField(models.TextField):  # type: ignore[type-arg]  # generic in its stubs only
    """Another field of the row as it is compared, for a unique constraint and for finding somebody. It follows that
    field when the row is saved; with `update_fields`, both are named.
    """

    def __init__(self, *, of: str, **named: Any) -> None:
        self.of = of
        super().__init__(editable=False, **{key: value for key, value in named.items() if key != "editable"})

    def deconstruct(self) -> Any:
        """As a migration writes it."""
        name, path, args, named = super().deconstruct()
        named.pop("editable", None)
        return name, path, args, named | {"of": self.of}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """What the other field holds now, as it is compared."""
        value = compared(getattr(model_instance, self.of) or "")
        setattr(model_instance, self.attname, value)
        return value
