"""How the API is described in OpenAPI. The site serves the description; `manage.py spectacular` prints it."""

from collections.abc import Iterator
from typing import Any

from django_filters import BooleanFilter, ChoiceFilter
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from api.filters import KeyFilter

PROBLEM = "#/components/responses/Problem"


KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Any text that you choose for this request. Sent again with the same key, it is done once, and gets "
    "the same answer for seven days. The same key with another request is refused (422).",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="An ETag from reading this address: the change is refused (412) if it is not the current one.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="An ETag from reading this address: nothing is sent (304) if it is still the current one.",
)

HEADERS = {
    "GET": [IF_NONE_MATCH],
    "POST": [KEY],
    "PUT": [KEY, IF_MATCH],
    "PATCH": [KEY, IF_MATCH],
    "DELETE": [KEY, IF_MATCH],
}


class BearerTokens(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer`."""

    target_class = "api.frame.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As OpenAPI has it."""
        return {"type": "http", "scheme": "bearer", "description": "A token, from the page “API tokens”."}


class Described(AutoSchema):
    """What headers operations may have, and what lists can be asked for, beside what operations say of themselves."""

    def get_override_parameters(self) -> list[Any]:
        """Headers, a page of a list, and its filters. Where nothing can be read, there is no If-Match."""
        headers = [header for header in HEADERS[self.method] if header is not IF_MATCH or hasattr(self.view, "get")]
        if self.method != "GET" or getattr(self.view, "pagination_class", None) is None:
            return headers
        page = [
            OpenApiParameter("cursor", str, description="Where the page begins: as “next” and “previous” have it."),
            OpenApiParameter(
                "limit", {"type": "integer", "minimum": 1}, description="How many a page has: 50, and 500 at most."
            ),
        ]
        return [*headers, *page, *self._filters()]

    def _filters(self) -> Iterator[OpenApiParameter]:
        filterset = getattr(self.view, "filterset_class", None)
        filters = {} if filterset is None else filterset.base_filters
        for name, found in filters.items():
            kind: Any = OpenApiTypes.STR
            if isinstance(found, KeyFilter):
                kind = {"type": "integer"}
            elif isinstance(found, BooleanFilter):
                kind = OpenApiTypes.BOOL
            choices = [key for key, _label in found.extra["choices"]] if isinstance(found, ChoiceFilter) else None
            about = f"Only those whose {name.removeprefix('is_').replace('_', ' ')} is this."
            if found.lookup_expr == "icontains":
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
