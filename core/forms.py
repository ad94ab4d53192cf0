"""Form parts that the researcher's pages share."""

from dataclasses import dataclass

from django import forms
from django.utils.functional import Promise


@dataclass(frozen=True)
class Group:
    """Fields that are shown together; `folded` ones can be opened."""

    title: Promise | str
    fields: list[forms.BoundField]
    folded: bool

    @property
    def has_errors(self) -> bool:
        """Whether a field in it has errors."""
        return any(field.errors for field in self.fields)
