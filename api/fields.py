"""What shapes are made of: fields that several have, and fields that come from what is shown."""

from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from django.db.models import Model
from rest_framework import serializers

from tasks.names import pseudonym

S = TypeVar("S", bound=type[serializers.Serializer[Any]])


class Key(serializers.IntegerField):
    """The key of something."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=2**63 - 1, **options)


class Money(serializers.DecimalField):
    """An amount in the campaign's currency, as text with two digits after the point."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=12, decimal_places=2, **options)


class Pseudonym(serializers.CharField):
    """The worker of what is shown, as in exports of the campaign."""

    def __init__(self, **options: Any) -> None:
        super().__init__(source="worker_id", read_only=True, **options)

    def to_representation(self, value: Any) -> str:
        return pseudonym(self.context["view"].campaign, value)


FIELDS: dict[type, type[serializers.Field[Any, Any, Any, Any]]] = {
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    bool: serializers.BooleanField,
    Decimal: Money,
    datetime: serializers.DateTimeField,
}


class ModelShape(serializers.ModelSerializer[Any]):
    """The fields of a model that `of` names, then those that the class declares."""

    def get_field_names(self, declared_fields: Any, info: Any) -> list[str]:
        return list(dict.fromkeys([*self.Meta.fields, *declared_fields]))


def of(source: type, fields: str | Iterable[str] = "", **options: Any) -> Callable[[S], S]:
    """Have a shape take these fields of what it shows, but for those that it declares itself: a model, with `options`
    for REST framework's `Meta`, of which `optional` names fields that may be left out; or a NamedTuple or dataclass.
    """
    names = fields.split() if isinstance(fields, str) else list(fields)
    optional = options.pop("optional", ())
    extra = options.pop("extra_kwargs", {}) | {name: {"required": False} for name in optional}

    def decorate(shape: S) -> S:
        if issubclass(source, Model):
            meta = {"model": source, "fields": names, "extra_kwargs": extra, **options}
            shape.Meta = type("Meta", (), meta)  # type: ignore[attr-defined]
        else:
            kinds, declared = get_type_hints(source), shape._declared_fields
            shape._declared_fields = {name: declared.get(name) or _field(kinds[name]) for name in names} | declared
        return shape

    return decorate


def _field(kind: Any) -> serializers.Field[Any, Any, Any, Any]:
    """A field for values of this type, or None besides."""
    [only] = [each for each in get_args(kind) or [kind] if each is not NoneType]
    return FIELDS[only](allow_null=only is not kind)
