"""Requests made up from the OpenAPI description: no error of the site, and every answer as described."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from core.models import User
from platforms.templating import template_save
from pools.models import Campaign
from tests.api.conftest import Program

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))  # requests of each operation; `make fuzz` makes a hundred
ONLY = os.environ.get("FUZZ_ONLY", "").split()  # ids of operations; all of them if it is empty
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Requests leave the test's connection open, and with it its transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.django_db
@pytest.mark.timeout(300 * EXAMPLES)
@pytest.mark.usefixtures("one_connection")
def test_whatever_is_sent_the_api_keeps_to_its_description(program: Program, campaign: Campaign) -> None:
    """Requests made up from the description, every other one about things that are there."""
    campaign.lab.memberships.update(role="admin")
    User.objects.filter(pk=program.user.pk).update(is_staff=True, is_superuser=True)
    run = campaign.runs.first()
    assert run is not None
    template = template_save(campaign=campaign, name="ours", by=None, at=timezone.now())
    keys = {"campaigns": campaign.pk, "collections": campaign.collection_id, "runs": run.pk, "labs": campaign.lab_id}
    keys["templates"] = template.pk
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())
    attacked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if ONLY and operation.definition.raw["operationId"] not in ONLY:
            continue
        attack(operation, program, keys.get(operation.path.split("/")[3]))
        attacked += 1
    assert attacked == len(ONLY) if ONLY else attacked > 50


def attack(operation: Any, program: Program, there: int | None) -> None:
    """Requests to one operation; `there` is the key of a thing that exists."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), is_there=st.booleans())
    def send(case: Any, is_there: bool) -> None:
        if is_there and there is not None and "id" in case.path_parameters:
            case.path_parameters["id"] = there
        answer = case.call(headers={"Authorization": f"Bearer {program.text}"})
        case.validate_response(answer, checks=CHECKS)

    send()
