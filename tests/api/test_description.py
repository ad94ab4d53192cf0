"""The OpenAPI description: valid, complete, and still what the last release promised."""

from pathlib import Path

import jsonschema
from django.core.management import call_command
from django.test import Client

from api.pages import described
from tests.api.released import promised, read


def test_the_description_is_valid_and_without_a_warning(tmp_path: Path) -> None:
    file = str(tmp_path / "openapi.json")
    call_command("spectacular", format="openapi-json", validate=True, fail_on_warn=True, file=file)


def test_the_site_serves_the_description_to_anybody(db: None) -> None:
    answer = Client().get("/api/v1/openapi.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == described()


def test_no_operation_parameter_or_field_of_the_last_release_has_disappeared() -> None:
    now = promised(described())
    for name, fields in read().items():
        assert name in now, f"{name} is gone"
        assert fields <= now[name], f"{name} has lost {fields - now[name]}"


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
