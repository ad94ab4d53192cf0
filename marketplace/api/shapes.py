"""Requests and answers held against botocore's own model of the service."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import botocore.session
from botocore.model import OperationModel, ServiceModel, Shape

from marketplace.api.errors import serialization_error, validation_error

TARGET_PREFIX = "MTurkRequesterServiceV20170117"
INTEGERS = {"integer": 2**31, "long": 2**63}


class BadAnswer(Exception):
    """An answer of ours that the model does not allow: our error, never to be sent."""


@cache
def service() -> ServiceModel:
    loader = botocore.session.get_session().get_component("data_loader")
    return ServiceModel(loader.load_service_model("mturk", "service-2", "2017-01-17"), "mturk")


@cache
def operation(name: str) -> OperationModel | None:
    return service().operation_model(name) if name in service().operation_names else None


def request_read(model: OperationModel, body: Any) -> dict[str, Any]:
    """A request's values, timestamps as datetimes, if the model allows them. None counts as absent.

    Raises ApiError: SerializationException for a wrong type, ValidationException for the rest.
    """
    problems: list[str] = []
    values = _read(model.input_shape, body, "", problems)
    if problems:
        raise validation_error(problems)
    assert isinstance(values, dict)
    return values


def member_read(model: OperationModel, name: str, body: Any) -> Any:
    """One member of an operation's request, from a body that has nothing else; an empty list if it is absent.

    Raises ApiError, as request_read.
    """
    problems: list[str] = []
    if not isinstance(body, dict):
        raise serialization_error("The request is not a JSON object.")
    problems += [f"'{other[:100]}' is not known" for other in body if other != name]
    value = body.get(name)
    read = [] if value is None else _read(model.input_shape.members[name], value, _small(name), problems)
    if problems:
        raise validation_error(problems)
    return read


def answer_write(model: OperationModel, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as JSON values, timestamps in seconds. Raises BadAnswer if the model does not allow it."""
    problems: list[str] = []
    if model.output_shape is None:
        return {}
    written = _write(model.output_shape, answer, "", problems)
    if problems:
        raise BadAnswer(f"{model.name}: {'; '.join(problems)}")
    assert isinstance(written, dict)
    return written


def _read(shape: Shape, value: Any, path: str, problems: list[str]) -> Any:
    return _READERS[shape.type_name](shape, value, path, problems)


def _read_structure(shape: Shape, value: Any, path: str, problems: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise serialization_error(f"{path or 'The request'} is not a JSON object.")
    read = {}
    for name in value:
        if name not in shape.members:
            problems.append(f"'{name[:100]}' at '{path}' is not known" if path else f"'{name[:100]}' is not known")
    for name, member in shape.members.items():
        if value.get(name) is not None:
            read[name] = _read(member, value[name], f"{path}.{_small(name)}" if path else _small(name), problems)
        elif name in shape.required_members:
            where = f"{path}.{_small(name)}" if path else _small(name)
            problems.append(f"Value null at '{where}' failed to satisfy constraint: Member must not be null")
    return read


def _read_list(shape: Shape, value: Any, path: str, problems: list[str]) -> list[Any]:
    if not isinstance(value, list):
        raise serialization_error(f"{path} is not a JSON array.")
    if len(value) > 1000:
        problems.append(f"Value at '{path}' failed to satisfy constraint: Member must have length at most 1000")
        return []
    return [_read(shape.member, item, f"{path}.{i + 1}.member", problems) for i, item in enumerate(value)]


def _read_string(shape: Shape, value: Any, path: str, problems: list[str]) -> str:
    if not isinstance(value, str):
        raise serialization_error(f"{path} is not a string.")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise serialization_error(f"{path} holds characters that are not text.")
    if problem := _string_problem(shape, value):
        excerpt = value if len(value) <= 200 else value[:200] + "…"
        problems.append(f"Value '{excerpt}' at '{path}' failed to satisfy constraint: Member must {problem}")
    return value


def _read_integer(shape: Shape, value: Any, path: str, problems: list[str]) -> int:
    bound = INTEGERS[shape.type_name]
    if isinstance(value, bool) or not isinstance(value, int):
        if not (isinstance(value, float) and value.is_integer()):
            raise serialization_error(f"{path} is not an integer.")
        value = int(value)
    if not -bound <= value < bound:
        raise serialization_error(f"{path} is not an integer of {'32' if shape.type_name == 'integer' else '64'} bits.")
    if problem := _range_problem(shape, value):
        problems.append(f"Value '{value}' at '{path}' failed to satisfy constraint: Member must {problem}")
    return int(value)


def _read_boolean(_shape: Shape, value: Any, path: str, _problems: list[str]) -> bool:
    if not isinstance(value, bool):
        raise serialization_error(f"{path} is not true or false.")
    return value


def _read_timestamp(_shape: Shape, value: Any, path: str, _problems: list[str]) -> datetime:
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise serialization_error(f"{path} is not a time in seconds since 1970.")


_READERS: dict[str, Callable[[Any, Any, str, list[str]], Any]] = {
    "structure": _read_structure,
    "list": _read_list,
    "string": _read_string,
    "integer": _read_integer,
    "long": _read_integer,
    "boolean": _read_boolean,
    "timestamp": _read_timestamp,
}


def _write(shape: Shape, value: Any, path: str, problems: list[str]) -> Any:
    kind = shape.type_name
    if kind == "structure" and isinstance(value, Mapping):
        problems.extend(f"{path}.{name} is not in the model" for name in value if name not in shape.members)
        problems.extend(f"{path}.{name} is missing" for name in shape.required_members if value.get(name) is None)
        return {
            name: _write(member, value[name], f"{path}.{name}", problems)
            for name, member in shape.members.items()
            if value.get(name) is not None
        }
    if kind == "list" and isinstance(value, list):
        return [_write(shape.member, item, f"{path}[]", problems) for item in value]
    if kind == "string" and isinstance(value, str):
        if problem := _string_problem(shape, value):
            problems.append(f"{path} is '{value[:200]}' and must {problem}")
        return value
    if kind in INTEGERS and isinstance(value, int) and not isinstance(value, bool):
        if problem := _range_problem(shape, value):
            problems.append(f"{path} is {value} and must {problem}")
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "timestamp" and isinstance(value, datetime):
        return round(value.timestamp(), 3)
    problems.append(f"{path} is a {type(value).__name__}, not a {kind}")
    return None


def _string_problem(shape: Shape, value: str) -> str:
    if shape.enum and value not in shape.enum:
        return f"satisfy enum value set: [{', '.join(shape.enum)}]"
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern.removesuffix("$"), value, re.ASCII):
        return f"satisfy regular expression pattern: {pattern}"
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if most is not None and len(value) > most:
        return f"have length less than or equal to {most}"
    if least is not None and len(value) < least:
        return f"have length greater than or equal to {least}"
    return ""


def _range_problem(shape: Shape, value: int) -> str:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if most is not None and value > most:
        return f"have value less than or equal to {most}"
    if least is not None and value < least:
        return f"have value greater than or equal to {least}"
    return ""


def _small(name: str) -> str:
    """As Amazon's messages write the name of a member: with a lower-case first letter."""
    return name[0].lower() + name[1:]
