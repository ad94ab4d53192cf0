"""The form in which sections are stored: plain JSON, an object for each dataclass or named tuple, keys by field.

An interval is a list of two, what is not a number is null. A field that is `SPARSE` is left out while it is None.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from evaluation.statistics.resampling import Interval

Json = dict[str, Any]
Section = TypeVar("Section")
# Of a field that is left out.
SPARSE = {"sparse": True}


def to_json(value: Any) -> Any:
    """A section, or a part of one, as stored."""
    if is_dataclass(value):
        parts = [(part, getattr(value, part.name)) for part in fields(value)]
        return {part.name: to_json(each) for part, each in parts if each is not None or part.metadata != SPARSE}
    if isinstance(value, Mapping):
        return {str(key): to_json(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict") and not isinstance(value, Interval):
        return to_json(value._asdict())
    if isinstance(value, list | tuple):
        return [to_json(part) for part in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return value


def from_json(kind: type[Section], stored: Json) -> Section:
    """A section as `to_json` stored it. Raises TypeError where a field is missing."""
    return cast(Section, _reader(cast(Any, kind))(stored))


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """How a value of this type is read."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (inner,) = {_reader(arg) for arg in args if arg is not NoneType}
        return lambda value: None if value is None else inner(value)
    if hint is Interval:
        return lambda value: Interval(*value)
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        readers = {name: _reader(part) for name, part in get_type_hints(hint).items()}
        return lambda value: hint(**{name: readers[name](part) for name, part in value.items() if name in readers})
    if origin is dict:
        key, inner = args[0], _reader(args[1])
        return lambda value: {key(name): inner(part) for name, part in value.items()}
    if origin is list and _reader(args[0]) is not _as_it_is:
        inner = _reader(args[0])
        return lambda value: [inner(part) for part in value]
    return tuple if origin is tuple else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value
