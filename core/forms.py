"""Form parts that the researcher's pages share."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from django import forms
from django.db.models import QuerySet
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext as _


@dataclass(frozen=True)
class Group:
    """Fields that are shown together; `folded` ones can be opened, and are open at first if `is_open`. `changed` are
    the labels of those that differ from what is usual.
    """

    title: Promise | str
    fields: list[forms.BoundField]
    folded: bool
    changed: Sequence[object] = ()
    is_open: bool = False

    @property
    def has_errors(self) -> bool:
        """Whether a field in it has errors."""
        return any(field.errors for field in self.fields)


class Conflict(NamedTuple):
    """A field that somebody else has saved otherwise: what is stored now, and what is sent here."""

    label: str
    theirs: str
    yours: str


class EditForm(forms.BaseForm):
    """A form that changes what is stored, so that nobody's edit is undone in silence.

    A digest of each field as it was shown travels with the form (`core/workplace_edit.html`). If somebody has since
    saved other values than are sent here, the form is not valid, and the page shows theirs beside these; sent again,
    these are saved. The fields' initial values have to be what is stored, also where the form is bound. Without
    digests, as from a script, nothing is compared.
    """

    @property
    def shown_name(self) -> str:
        """The name of the hidden field."""
        return self.add_prefix("as_shown")

    @cached_property
    def as_shown(self) -> str:
        """Each field's name, with a digest of what is stored."""
        return " ".join(f"{name}:{_digest(self._stored(name))}" for name in self.fields)

    @cached_property
    def conflicts(self) -> list[Conflict]:
        """The fields that somebody else has saved since the page was shown, and otherwise than they are sent here."""
        digests = dict(part.split(":", 1) for part in self.data.get(self.shown_name, "").split() if ":" in part)
        return [
            Conflict(str(bound.label), _in_words(bound, bound.initial), _in_words(bound, bound.data))
            for bound in self
            if bound.name in digests
            and digests[bound.name] != _digest(self._stored(bound.name))
            and self._differs(bound)
        ]

    def is_valid(self) -> bool:
        """Whether there are neither errors nor conflicts."""
        return super().is_valid() and not self.conflicts

    def _stored(self, name: str) -> str:
        return _plain(self.fields[name].prepare_value(self[name].initial))

    def _differs(self, bound: forms.BoundField) -> bool:
        """Whether something else is sent than is stored."""
        return bound.field.has_changed(bound.initial, bound.data) and _plain(bound.data) != self._stored(bound.name)


def _plain(value: Any) -> str:
    """A value as one text, the same whether it comes from the database or from a browser."""
    if isinstance(value, list | tuple | set | QuerySet):
        return "\n".join(sorted(_plain(item) for item in value))
    value = getattr(value, "pk", value)
    return "" if value is None else str(value).replace("\r\n", "\n").strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _in_words(bound: forms.BoundField, value: Any) -> str:
    """A value as people read it."""
    field = bound.field
    if isinstance(field, forms.BooleanField):
        return _("yes") if value and value not in ("False", "false") else _("no")
    value = field.prepare_value(value)
    if isinstance(field, forms.ChoiceField):
        chosen = set(_plain(value).split("\n"))
        choices = cast("Iterable[tuple[Any, Any]]", field.choices)
        return ", ".join(str(label) for key, label in choices if _plain(key) in chosen)
    return _plain(value)
