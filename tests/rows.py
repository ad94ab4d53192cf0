"""Rows as the database has them."""

from typing import TypeVar

from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def fresh(row: Row) -> Row:
    """The row as the database has it now."""
    return type(row)._base_manager.get(pk=row.pk)
