"""Whether requests and answers are as an OpenAPI description says.

Two descriptions are used: `description.yml` here, written for the paths that the double answers, always; and
Prolific's own where it is at hand. Prolific's own is amended where it contradicts itself or its examples:

- `oneOf` is read as "at least one": several of its alternatives overlap (an integer is a number too).
- The states of submissions lack PARTIALLY APPROVED in three places, though the operations' texts name it.
- A completion code's type may be free text, by its own words, though its values are listed.
- Some operations describe their errors without the `error` around them; everywhere it is there.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

FOLDER = Path(__file__).parent
FREE_TEXT = ("CreateStudyCompletionCodesItemsCodeType", "BaseStudyCompletionCodesItemsCodeType")
LACK_PARTIAL = ("SubmissionShortStatus", "SubmissionStatus", "ReturnRequestedResponseStatus")


class Description:
    """An OpenAPI description, and what it says about a request or an answer."""

    def __init__(self, path: Path, name: str) -> None:
        with path.open() as file:
            self.document = _amended(yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        self.name = name
        self.paths = [(_pattern(template), template, entry) for template, entry in self.document["paths"].items()]
        schemas = self.document["components"]["schemas"]
        for schema in LACK_PARTIAL:
            if schema in schemas:
                schemas[schema]["enum"].append("PARTIALLY APPROVED")
        for schema in FREE_TEXT:
            schemas.get(schema, {}).pop("enum", None)
        resource = DRAFT202012.create_resource(self.document)
        self.registry: Any = Registry().with_resource("urn:api", resource)

    def request(self, method: str, path: str, query: dict[str, str], body: Any) -> list[str]:
        """What is wrong with a request: a sentence each."""
        operation = self._operation(method, path)
        if operation is None:
            return [f"{method} {path} is not in {self.name}"]
        wrong = []
        for parameter in operation.get("parameters", ()):
            if parameter["in"] != "query":
                continue
            if parameter["name"] in query:
                if not self._is_object(parameter["schema"]):
                    value = _typed(query[parameter["name"]], parameter["schema"])
                    wrong += self._errors(parameter["schema"], value, f"query {parameter['name']}")
            elif parameter.get("required") and not self._is_object(parameter["schema"]):
                wrong.append(f"query {parameter['name']} is required")
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            if body is None:
                return [*wrong, "the body is missing"]
            unknown = set(body) - self._properties(schema) if isinstance(body, dict) else set()
            wrong += [f"body.{field} is not a field of this operation" for field in sorted(unknown)]
            wrong += self._errors(schema, body, "body")
        elif body not in (None, {}):
            wrong.append("this operation takes no body")
        return wrong

    def answer(self, method: str, path: str, status: int, body: Any) -> list[str]:
        """What is wrong with an answer: a sentence each."""
        if status >= 400:
            return self._errors({"$ref": "#/components/schemas/Error"}, body, "answer")
        operation = self._operation(method, path)
        if operation is None:
            return [f"{method} {path} is not in {self.name}"]
        if str(status) not in operation["responses"]:
            return [f"{status} is not an answer of {method} {path} in {self.name}"]
        content = operation["responses"][str(status)].get("content")
        return self._errors(content["application/json"]["schema"], body, "answer") if content and status != 204 else []

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        for pattern, _template, entry in self.paths:
            if method.lower() in entry and pattern.fullmatch(path):
                operation: dict[str, Any] = entry[method.lower()]
                return operation
        return None

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def _is_object(self, schema: dict[str, Any]) -> bool:
        schema = self._resolved(schema)
        return schema.get("type") == "object" or any(self._is_object(part) for part in schema.get("anyOf", ()))

    def _properties(self, schema: dict[str, Any]) -> set[str]:
        schema = self._resolved(schema)
        parts = [self._properties(part) for part in schema.get("anyOf", ())]
        return set(schema.get("properties", ())).union(*parts)

    def _errors(self, schema: dict[str, Any], value: Any, where: str) -> list[str]:
        validator = Draft202012Validator(_absolute(schema), registry=self.registry)
        return [
            f"{where}{''.join(f'.{part}' for part in error.absolute_path)}: {error.message[:300]} ({self.name})"
            for error in validator.iter_errors(value)
        ]


def own_path() -> Path | None:
    """Where Prolific's own description is, if it is anywhere."""
    folder = os.environ.get("BESTKNOWN_DATA", "")
    path = Path(folder) / "prolific" / "openapi.yml"
    return path if folder and path.is_file() else None


@cache
def descriptions() -> tuple[Description, ...]:
    """The descriptions to check by: ours, and Prolific's own where it is at hand."""
    ours, theirs = Description(FOLDER / "description.yml", "description.yml"), own_path()
    return (ours, Description(theirs, "Prolific's description")) if theirs else (ours,)


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(template)))


def _amended(value: Any) -> Any:
    if isinstance(value, dict):
        return {"anyOf" if key == "oneOf" else key: _amended(part) for key, part in value.items()}
    return [_amended(part) for part in value] if isinstance(value, list) else value


def _absolute(schema: Any) -> Any:
    """References within the document, from a schema that is cut out of it."""
    if isinstance(schema, dict):
        return {
            key: f"urn:api{part}" if key == "$ref" and part.startswith("#") else _absolute(part)
            for key, part in schema.items()
        }
    return [_absolute(part) for part in schema] if isinstance(schema, list) else schema


def _typed(text: str, schema: dict[str, Any]) -> Any:
    """A query's value as its schema's type, where it can be."""
    if schema.get("type") == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    return text == "true" if schema.get("type") == "boolean" and text in ("true", "false") else text
