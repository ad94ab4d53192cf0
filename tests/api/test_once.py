"""Requests that are sent again: what they ask for is done once, whoever repeats them, and whoever is killed."""

import os
import signal
import threading
from typing import Any

import pytest
from django.db import connection

from api.models import StoredAnswer
from pools.models import Campaign
from runs.models import Collection
from tasks.models import TestPair
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

SENT = {"question": "How tall?", "relevant_text": "So tall.", "off_topic_text": "Bake it."}


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    """A draft without test pairs."""
    return factories.campaign(collection, tests=0, start=False)


@pytest.mark.django_db
def test_the_same_request_again_gets_the_same_answer(program: Program, draft: Campaign) -> None:
    address = f"campaigns/{draft.pk}/test-pairs/"
    first = program.post(address, SENT, Idempotency_Key="a")
    again = program.post(address, SENT, Idempotency_Key="a")

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first
    assert TestPair.objects.count() == 1
    assert program.post(address, SENT, Idempotency_Key="b").json()["id"] != first.json()["id"]


@pytest.mark.django_db
def test_a_key_is_for_one_request_and_one_person(program: Program, viewer: Program, draft: Campaign) -> None:
    address = f"campaigns/{draft.pk}/test-pairs/"
    program.post(address, SENT, Idempotency_Key="a")

    assert_problem(program.post(address, SENT | {"question": "How high?"}, Idempotency_Key="a"), 422)
    assert_problem(program.post(f"campaigns/{draft.pk}/start/", Idempotency_Key="a"), 422)
    assert_problem(viewer.post(address, SENT, Idempotency_Key="a"), 403)
    assert_problem(program.post(address, SENT, Idempotency_Key="x" * 256), 400, field="Idempotency-Key")
    assert TestPair.objects.count() == 1


@pytest.mark.django_db
def test_what_was_refused_can_be_corrected_under_the_same_key(program: Program, draft: Campaign) -> None:
    address = f"campaigns/{draft.pk}/test-pairs/"
    assert_problem(program.post(address, SENT | {"question": ""}, Idempotency_Key="a"), 400, field="question")
    assert not StoredAnswer.objects.exists()
    assert program.post(address, SENT, Idempotency_Key="a").status_code == 201


@pytest.mark.django_db(transaction=True)
def test_at_the_same_time_and_killed_in_between_it_is_done_once(program: Program, draft: Campaign) -> None:
    address = f"campaigns/{draft.pk}/test-pairs/"
    answers: list[Any] = []

    def send() -> None:
        answers.append(program.post(address, SENT, Idempotency_Key="at once"))
        connection.close()

    threads = [threading.Thread(target=send) for _number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [201] * 4
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert TestPair.objects.count() == 1

    process = os.fork()
    if process == 0:  # done, but killed before its answer is stored
        connection.connection = None  # the parent's stays open
        StoredAnswer.objects.create = lambda **_fields: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        program.post(address, SENT, Idempotency_Key="killed")
        os._exit(0)
    _process, status = os.waitpid(process, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert TestPair.objects.count() == 1

    assert program.post(address, SENT, Idempotency_Key="killed").status_code == 201
    assert program.post(address, SENT, Idempotency_Key="killed").status_code == 201
    assert TestPair.objects.count() == 2
