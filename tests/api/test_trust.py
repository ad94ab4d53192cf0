"""Every operation of the API is asked by everybody who may not use it, about things that are there."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from django.test import Client
from django.utils import timezone

from api import tokens
from api.models import Scope, StoredAnswer
from api.tokens import SCOPES
from api.urls import routes
from core.models import Membership, User
from core.roles import ROLES, Right
from leaderboards.models import Board
from pools.models import Campaign
from tasks.models import Worker
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.api.test_fuzz import things, things_of_boards
from tests.worlds import rows_and_files

pytestmark = pytest.mark.django_db
VERBS = ("get", "post", "put", "patch", "delete")
# Anybody with a token: about themselves, or about what is on the internet.
OWN = ("account/", "token/", "datasets/", "boards/")


class Operation(NamedTuple):
    """A verb at an address, and the right that it needs."""

    verb: str
    address: str
    right: Right
    names_a_thing: bool
    is_readable: bool

    def ask(self, program: Program, **headers: str) -> Any:
        """What is answered; where files are wanted, they are."""
        if self.verb in ("get", "delete"):
            return getattr(program, self.verb)(self.address, **headers)
        answer = getattr(program, self.verb)(self.address, {}, **headers)
        return program.upload(self.address, self.verb, headers) if answer.status_code == 415 else answer


def operations(ids: dict[str, Any]) -> Iterator[Operation]:
    """Every operation, of the router; `ids` are keys as the fuzzed requests have them."""
    for route in routes:
        pattern = str(route.pattern)
        parts = pattern.split("/")
        keys = {**ids, "pk": ids.get("practice" if "practice" in parts else parts[0])}
        for before, part in pairwise(parts):
            for name in re.findall(r":(\w+)>", part):
                keys[name] = ids.get(f"{before} {name}", keys.get(name))
        if "upkeep" in parts:
            keys["slug"] = ids["upkeep slug"]
        address = re.sub(r"<\w+:(\w+)>", lambda name: str(keys.get(name[1]) or 1), pattern)  # noqa: B023
        actions = dict(getattr(route.callback, "actions", {}))
        for verb in actions.keys() & set(VERBS):
            right = getattr(route.callback.cls, actions[verb]).operation.right
            yield Operation(verb, address, right, address != pattern, "get" in actions)


@pytest.fixture
def whole_api(campaign: Campaign, alice: Worker, rita: User) -> list[Operation]:
    """All operations, about things of Rita's lab, nothing of which is public."""
    olga = factories.member(campaign.lab, "organizer", "olga")
    ids = things(campaign, alice, rita) | things_of_boards(campaign, rita, olga)
    Board.objects.update(is_public=False)
    listing = list(operations(ids))
    assert len(listing) > 250
    return listing


def present() -> dict[str, frozenset[bytes]]:
    """Every row, but those of tokens, which note that they were used, and of the audit, which notes downloads."""
    passing = ("api_token", "core_auditentry")
    return {table: rows for table, rows in rows_and_files().rows.items() if table not in passing}


def test_without_a_token_or_with_an_expired_one_nothing_is_answered(whole_api: list[Operation], rita: User) -> None:
    at, old = timezone.now(), Program(rita)
    tokens.Token.objects.filter(pk=old.token.pk).update(expires_at=at - timedelta(seconds=1))
    nobody, before = Client(), present()
    for operation in whole_api:
        bare = nobody.generic(operation.verb.upper(), f"/api/v1/{operation.address}")
        assert (bare.status_code, operation.ask(old).status_code) == (401, 401), operation
    assert present() == before


def test_nothing_of_a_lab_is_there_for_an_admin_of_another(whole_api: list[Operation], campaign: Campaign) -> None:
    stranger = Program(factories.member(factories.lab("Elsewhere"), "admin", "zoe"))
    names = [campaign.name, campaign.collection.name, campaign.lab.name, "Small board"]
    before = present()
    for operation in whole_api:
        if operation.address.startswith(("account/", "token/")):
            continue
        answer = operation.ask(stranger)
        if operation.names_a_thing and not operation.address.startswith("datasets/"):
            hidden = 403 if operation.right == Right.SITE else 404
            assert answer.status_code in (404, hidden), (operation, answer.content)
        elif operation.verb == "get":
            text = b"".join(answer).decode() if answer.streaming else answer.content.decode()
            assert not [name for name in names if f'"{name}"' in text], (operation, text)
    assert present() == before


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_the_operation_says(whole_api: list[Operation], campaign: Campaign, role: str) -> None:
    program = Program(factories.member(campaign.lab, Membership.Role(role), f"new {role}"))
    before = present()
    refused = 0
    for operation in whole_api:
        if operation.right in ROLES[role] or operation.address.startswith(OWN):
            continue
        answer = operation.ask(program)
        # What names nothing says for which lab it is in its content. A run is a team's, and an upload somebody's.
        private = operation.address.startswith(("board-submissions/", "uploads/"))
        other = 404 if private and operation.names_a_thing else 403 if operation.names_a_thing else 400
        assert answer.status_code in (403, other), (operation, answer.content)
        refused += answer.status_code == 403
    assert refused
    assert present() == before


@pytest.mark.parametrize("scope", Scope.values)
def test_a_token_does_no_more_than_its_scopes(whole_api: list[Operation], ada: User, scope: str) -> None:
    program, before = Program(ada, *set(Scope.values) - {scope}), present()
    for operation in whole_api:
        if SCOPES[operation.right] == scope:
            assert_problem(operation.ask(program), 403, says=f"lacks the scope “{scope}”")
    assert present() == before


def test_a_key_is_for_one_request_and_what_has_changed_is_not_overwritten(
    whole_api: list[Operation], campaign: Campaign, ada: User
) -> None:
    repeating, changing = Program(ada), Program(ada)  # a token has so many requests a minute
    campaign.lab.memberships.create(user=ada, role="admin")
    StoredAnswer.objects.create(user=ada, key="used", request="another", status=200, at=timezone.now())
    before, compared = present(), 0
    for operation in whole_api:
        if operation.verb != "get":
            assert_problem(operation.ask(repeating, **{"Idempotency-Key": "used"}), 422)
            answer = operation.ask(changing, **{"If-Match": '"of yesterday"'})
            if not operation.is_readable:
                assert_problem(answer, 400, field="If-Match")
                continue
            assert answer.status_code in (404, 412), (operation, answer.content)
            compared += answer.status_code == 412
    assert compared > 20
    assert present() == before
