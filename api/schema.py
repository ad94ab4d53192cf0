"""How the API is described in OpenAPI. The site serves the description; `manage.py spectacular` prints it."""

from collections.abc import Iterator
from typing import Any

from django_filters import BooleanFilter, ChoiceFilter
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import is_list_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from api.filters import KeyFilter
from api.shapes import Problem, Why
from api.tokens import SCOPES
from core.roles import Right

PROBLEM = "#/components/responses/Problem"


def _header(name: str, about: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=about)


KEY = _header(
    "Idempotency-Key",
    "Any text that you choose for this request. Sent again with the same key, it is done once, and gets the same "
    "answer for seven days. The same key with another request is refused (422).",
)
IF_MATCH = _header(
    "If-Match", "An ETag from reading this address: the change is refused (412) if it is not the current one."
)
IF_NONE_MATCH = _header(
    "If-None-Match", "An ETag from reading this address: nothing is sent (304) if it is still the current one."
)
PROBLEMS = [400, 401, 403, 404, 429, 500, 503]
PROBLEMS_OF_CHANGES = sorted([*PROBLEMS, 409, 412, 413, 415, 422])


class BearerTokens(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer`."""

    target_class = "api.access.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A token, from the page “API tokens”."}


class Described(AutoSchema):
    """What operations say of themselves (api/frame.py), with headers, and what lists can be asked for."""

    view: Any  # a viewset

    @property
    def operation(self) -> Any:
        return getattr(self.view, self.view.action).operation

    def get_operation_id(self) -> str:
        return str(self.operation.name)

    def get_tags(self) -> list[str]:
        return list(self.operation.tags or self.view.tags)

    def get_summary(self) -> str:
        """The first sentence of the docstring."""
        return self._about().partition(". ")[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]  # as AutoSchema has it
        """The docstring, and what it needs."""
        right = self.operation.right
        who = "Only for admins of the site." if right == Right.SITE else f"Right in the lab: {right}."
        if self.operation.of_oneself:
            who = "Needs no role in a lab."
        return f"{self._about()}\n\nScope: `{SCOPES[right]}`. {who}"

    def _about(self) -> str:
        return " ".join((getattr(self.view, self.view.action).__doc__ or "").split())

    def get_request_serializer(self) -> Any:
        """What it takes; a POST that takes nothing else takes a reason."""
        return Why if self.operation.takes is None and self.method == "POST" else self.operation.takes

    def get_response_serializers(self) -> Any:
        """What it answers, and problems."""
        status, media = self.operation.status, self.operation.media
        codes = PROBLEMS if self.method == "GET" else PROBLEMS_OF_CHANGES
        if self.operation.refuses:
            codes = sorted({*codes, 409})
        unchanged = {304: None} if self.method == "GET" else {}
        problems = {(code, "application/problem+json"): Problem for code in codes}
        return {(status, media) if media else status: self.operation.answer, **unchanged, **problems}

    def map_parsers(self) -> list[Any]:
        """A form where there are files, else JSON."""
        return ["multipart/form-data" if self.operation.takes_files else "application/json"]

    def _is_list_view(self, serializer: Any = None) -> bool:
        return self.operation.is_list if serializer is None else is_list_serializer(serializer)

    def _get_paginator(self) -> Any:
        return super()._get_paginator() if self.method == "GET" else None  # type: ignore[no-untyped-call]

    def get_override_parameters(self) -> list[Any]:
        """Headers, and the filters of a list. Where nothing can be read, there is no If-Match."""
        headers = [IF_NONE_MATCH] if self.method == "GET" else [KEY]
        if self.method in ("PUT", "PATCH", "DELETE") and "get" in self.view.action_map:
            headers.append(IF_MATCH)
        return [
            *headers,
            *([self.operation.asks] if self.operation.asks else ()),
            *(self._filters() if self.method == "GET" and self.operation.is_list else ()),
        ]

    def get_filter_backends(self) -> list[Any]:
        """None: what the library says of filters needs a model for every view."""
        return []

    def _filters(self) -> Iterator[OpenApiParameter]:
        filterset = getattr(self.view, "filterset_class", None)
        filters = {} if filterset is None else filterset.base_filters
        for name, narrowing in filters.items():
            kind: Any = OpenApiTypes.STR
            if isinstance(narrowing, KeyFilter):
                kind = {"type": "integer"}
            elif isinstance(narrowing, BooleanFilter):
                kind = OpenApiTypes.BOOL
            choices = (
                [key for key, _label in narrowing.extra["choices"]] if isinstance(narrowing, ChoiceFilter) else None
            )
            about = f"Only those whose {name.removeprefix('is_').replace('_', ' ')} is this."
            if narrowing.lookup_expr == "icontains":
                about = f"Only those whose {name} contains this."
            yield OpenApiParameter(name, kind, enum=choices, description=about)


def only_api(endpoints: list[Any]) -> list[Any]:
    """Nothing but the API's own addresses."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/v1/")]


def finish(result: dict[str, Any], **_of_the_generator: Any) -> dict[str, Any]:
    """Describe problems once, and give every body an example."""
    for verbs in result["paths"].values():
        for operation in verbs.values():
            bodies = [operation["requestBody"]] if "requestBody" in operation else []
            for code, answer in operation["responses"].items():
                if code >= "400":
                    problem = answer | {"description": "What is wrong."}
                    result["components"].setdefault("responses", {})["Problem"] = problem
                    operation["responses"][code] = {"$ref": PROBLEM}
                else:
                    answer["description"] = answer["description"] or "Done."
                    bodies.append(answer)
            for body in bodies:
                for content in body.get("content", {}).values():
                    if content["schema"].get("format") != "binary":
                        content["examples"] = {"Example": {"value": _example(content["schema"], result["components"])}}
    return result


_TEXTS = {
    "date-time": "2026-11-22T10:00:00Z",
    "date": "2026-11-22",
    "email": "anna@example.org",
    "uri": "https://judge.example.org/",
    "uuid": "7a1f0bd2-4d0c-4a3e-9a8e-3f6c2f3d9f10",
    "decimal": "0.5",
    "binary": "(the file)",
}


def _example(schema: dict[str, Any], components: dict[str, Any]) -> Any:
    """A value that fits a schema."""
    if "$ref" in schema:
        return _example(components["schemas"][schema["$ref"].rpartition("/")[2]], components)
    for name in ("example", "default", "const"):
        if schema.get(name) not in (None, ""):
            return schema[name]
    for choices in (schema.get("enum"), schema.get("examples")):
        if choices:
            return choices[0]
    for name in ("allOf", "oneOf", "anyOf"):
        if name in schema:
            return _example(schema[name][0], components)
    kinds = schema.get("type", "object")
    match kinds if isinstance(kinds, str) else kinds[0]:
        case "object":
            return {name: _example(each, components) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [_example(schema["items"], components)]
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
        case _:
            return _TEXTS.get(schema.get("format", ""), "text")
