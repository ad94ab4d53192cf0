"""Names and addresses of people, as they are compared: one person is one, however they are written."""

import csv
import unicodedata
from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)
# Marks that nobody sees, beside those of the categories Cf (which a byte order mark is of) and Cc.
_UNSEEN = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u3164", "\uffa0", *map(chr, range(0xFE00, 0xFE10))}


def compared(text: str) -> str:
    """A name or an address as it is compared: NFKC, case folded, single spaces, without marks that nobody sees."""
    visible = "".join(letter for letter in text if letter.isspace() or not _is_unseen(letter))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
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
    field whenever a row is saved or updated: its model is a `ComparedModel`.
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


def _keys_of(model: type[models.Model], names: Iterable[str]) -> dict[str, str]:
    """The fields that follow some fields of a model, with which they follow."""
    fields = (field for field in model._meta.concrete_fields if isinstance(field, ComparedField))
    return {field.name: field.of for field in fields if field.of in names}


class ComparedQuerySet(models.QuerySet[Row]):
    """Rows whose names are compared: who is given another name is compared by that."""

    def update(self, **values: Any) -> int:
        """With the keys of the names that are given, which are texts."""
        keys = _keys_of(self.model, values)
        if expressions := [of for of in keys.values() if not isinstance(values[of], str)]:
            raise TypeError(f"{', '.join(expressions)}: a name that is compared is given as a text")
        return super().update(**values | {key: compared(values[of]) for key, of in keys.items()})


class ComparedManager(models.Manager[Row]):
    """Gives a `ComparedQuerySet`."""

    def get_queryset(self) -> ComparedQuerySet[Row]:
        return ComparedQuerySet(self.model, using=self._db)


class ComparedModel(models.Model):
    """A row whose names are compared."""

    objects = ComparedManager()

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **named: Any) -> None:
        if update_fields is not None:
            update_fields = {*update_fields, *_keys_of(type(self), set(update_fields))}
        super().save(*args, update_fields=update_fields, **named)
