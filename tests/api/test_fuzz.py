"""Requests made up from the OpenAPI description: no error of the site, and every answer as described."""

import io
import os
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api import webhooks
from campaigns.template_terms import template_save
from core.models import User
from judgments.models import WorkerNote
from leaderboards import boards, metadata, spot_checks
from leaderboards.models import UpkeepRound
from machines.answers import machine_judge_import
from pools.models import Campaign, Pair
from runs.models import Job
from tasks.models import Worker
from tests import factories
from tests.api.conftest import Program
from tests.leaderboards import taking_part, upkept

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))  # requests of each operation; `make fuzz` makes a hundred
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
def test_whatever_is_sent_the_api_keeps_to_its_description(
    program: Program, campaign: Campaign, alice: Worker, rita: User
) -> None:
    """Requests made up from the description, every other one about things that are there. Each operation meets the
    world as it was at first.
    """
    campaign.lab.memberships.update(role="admin")
    User.objects.filter(pk=program.user.pk).update(is_staff=True, is_superuser=True)
    keys = things(campaign, alice, rita) | things_of_boards(
        campaign, rita, factories.member(campaign.lab, "organizer", "olga")
    )
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())
    # Reading constants out of the site's source takes seconds, and hardly one gets into two requests.
    schema.config.analysis.constants.enabled = EXAMPLES > 2
    attacked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if ONLY and operation.definition.raw["operationId"] not in ONLY:
            continue
        with transaction.atomic():
            first, *rest = parts = operation.path.split("/")[3:]
            specific = {"id": keys.get("practice" if "practice" in rest else first)}
            for before, part in pairwise(parts):
                name = part.strip("{}")
                if f"{before} {name}" in keys:
                    specific[name] = keys[f"{before} {name}"]
            if "upkeep" in rest:
                specific["slug"] = keys["upkeep slug"]
            attack(operation, program, keys | specific)
            transaction.set_rollback(True)
        attacked += 1
    assert attacked == len(ONLY) if ONLY else attacked > 50


def things_of_boards(campaign: Campaign, rita: User, olga: User) -> dict[str, Any]:
    """The same of leaderboards: one with two policies, a closed season, teams and runs of Rita's that wait and are
    published, and one with upkeep and a round of it. A name that several kinds of things share follows the part of the
    address that is before it.
    """
    at = timezone.now()
    board = taking_part.make(campaign.collection, olga, at - timedelta(days=60))
    taking_part.season(board, "Second", at - timedelta(days=1), at + timedelta(days=30))
    boards.policy_add(
        board=board, text="Stricter.", numbers=boards.NUMBERS, begins_at=at + timedelta(days=20), why="Many runs",
        by=olga, at=at,
    )  # fmt: skip
    team = taking_part.team(board, rita, confirmed_by=olga)
    taking_part.published(board, team, rita, olga, at=at)
    waiting = taking_part.evaluated(board, team, rita, "new", at)
    change = metadata.request_add(
        submission=waiting, kind="description", after={"description": "A new red run"}, why="Clearer", by=rita, at=at
    )
    [check, *_] = spot_checks.checks_draw(board=board, at=at)
    upkept_board = upkept.board(campaign.collection, "kept")
    boards.key_make(board=upkept_board, by=olga, at=at)
    upkept.turn_on(upkept_board, campaign, rita)
    UpkeepRound.objects.create(board=upkept_board, number=1, dollars=1, proposed_at=at)
    return {
        "slug": board.slug,
        "upkeep slug": upkept_board.slug,
        "teams key": team.public_id,
        "board-submissions key": waiting.public_id,
        "request_pk": change.pk,
        "spot-checks number": check.pk,
    }


def things(campaign: Campaign, alice: Worker, rita: User) -> dict[str, Any]:
    """Keys of things that are there: by the first part of an address, and by the name of a parameter."""
    at, collection, lab = timezone.now(), campaign.collection, campaign.lab
    run = collection.runs.first()
    assert run is not None
    draft = factories.campaign(collection, "draft", tests=2, start=False, practice_pairs="a\tb\tc\td")
    done = factories.do(alice, campaign)
    answers = io.BytesIO(b"q1 p1 p2 p1\n")
    about = {"filename": "judge.txt", "model": "m", "prompt": "?", "by": rita, "at": at}
    hook, _secret = webhooks.webhook_create(
        lab=lab, url="https://hooks.example.org/x", events=["alarm.raised"], by=rita, at=at
    )
    webhooks.webhook_test(webhook=hook, at=at)
    return {
        "campaigns": campaign.pk,
        "collections": collection.pk,
        "labs": lab.pk,
        "runs": run.pk,
        "templates": template_save(campaign=campaign, name="ours", by=None, at=at).pk,
        "practice": draft.pk,
        "number": 1,
        "assignment_pk": done.pk,
        "judge_pk": machine_judge_import(collection=collection, name="judge", source=answers, **about).pk,
        "membership_pk": lab.memberships.get(user=rita).pk,
        "note_pk": WorkerNote.objects.create(assignment=done, text="Why?", made_at=at).pk,
        "pair_pk": Pair.objects.filter(pool__campaign=campaign).earliest("id").pk,
        "webhook_pk": hook.pk,
        "delivery_pk": hook.deliveries.get().pk,
        "pool_pk": campaign.pools.earliest("id").pk,
        "jobs": Job.objects.create(lab=lab, collection=collection, kind="run", asked_by=rita, asked_at=at).pk,
        "token_pk": Program(rita, "read").token.pk,
        "platform": "prolific",
        "worker_pk": alice.pk,
    }


def attack(operation: Any, program: Program, ids: dict[str, Any]) -> None:
    """Requests to one operation; `ids` are keys of things that exist, by the name of a parameter."""

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
        if is_there:
            case.path_parameters |= {name: ids[name] for name in case.path_parameters if ids.get(name) is not None}
        answer = case.call(headers={"Authorization": f"Bearer {program.text}"})
        case.validate_response(answer, checks=CHECKS)

    send()
