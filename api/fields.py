"""What shapes are made of: fields that several have, and fields that come from what is shown."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

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


class ModelShape(serializers.ModelSerializer[Any]):
    """The fields of a model that `of` names, then those that the class declares."""

    def get_field_names(self, declared_fields: Any, info: Any) -> list[str]:
        return list(dict.fromkeys([*self.Meta.fields, *declared_fields]))


def of(model: type[Model], fields: str | Iterable[str] = "", **options: Any) -> Callable[[S], S]:
    """Have a shape take these fields of a model. `options` are for REST framework's `Meta`; `optional` names fields
    that may be left out.
    """
    names = fields.split() if isinstance(fields, str) else list(fields)
    optional = options.pop("optional", ())
    extra = options.pop("extra_kwargs", {}) | {name: {"required": False} for name in optional}

    def decorate(shape: S) -> S:
        meta = {"model": model, "fields": names, "extra_kwargs": extra, **options}
        shape.Meta = type("Meta", (), meta)  # type: ignore[attr-defined]
        return shape

    return decorate
