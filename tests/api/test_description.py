"""The OpenAPI description: up to date, valid and complete."""

import json
from pathlib import Path
from typing import Any

import jsonschema
from django.core.management import call_command

from api.pages import DESCRIPTION


def described() -> dict[str, Any]:
    """The description."""
    content: dict[str, Any] = json.loads(DESCRIPTION.read_bytes())
    return content


def test_the_description_is_what_the_code_says(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.json"
    call_command("spectacular", format="openapi-json", validate=True, fail_on_warn=True, file=str(fresh))
    assert json.loads(fresh.read_bytes()) == described(), (
        "Write it anew: manage.py spectacular --format openapi-json --validate --fail-on-warn --file api/openapi.json"
    )


def test_every_operation_has_a_description_and_examples_that_fit_their_shapes() -> None:
    content = described()
    assert content["openapi"].startswith("3.1")
    checked = 0
    for address, verbs in content["paths"].items():
        for verb, operation in verbs.items():
            assert operation["summary"] and "Scope:" in operation["description"], (verb, address)
            code, answer = next((code, each) for code, each in operation["responses"].items() if code[0] == "2")
            bodies = [*operation.get("requestBody", {}).get("content", {}).items(), *answer.get("content", {}).items()]
            assert bodies or code == "204"
            for kind, body in bodies:
                if kind == "multipart/form-data" or body["schema"].get("format") == "binary":
                    continue
                assert body.get("examples"), (verb, address)
                for example in body["examples"].values():
                    jsonschema.validate(example["value"], body["schema"] | {"components": content["components"]})
                    checked += 1
    assert checked > 60


def test_if_match_is_offered_only_where_there_is_something_to_read() -> None:
    offered = 0
    for address, verbs in described()["paths"].items():
        for verb, operation in verbs.items():
            names = {parameter["name"] for parameter in operation.get("parameters", [])}
            assert ("If-Match" in names) == (verb in ("put", "patch", "delete") and "get" in verbs), (verb, address)
            assert ("Idempotency-Key" in names) == (verb != "get"), (verb, address)
            offered += "If-Match" in names
    assert offered > 10
