"""What holds for every address of the API: tokens, scopes, roles, pages, tags, problems, limits."""

import json
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from rest_framework.throttling import SimpleRateThrottle

from api import access, tokens
from api.frame import Resource
from api.models import Token
from api.nowhere import Nowhere
from api.tokens import SCOPES
from api.urls import routes
from core.models import User
from core.roles import Right
from pools.models import Campaign
from runs import services as run_services
from runs.models import Collection
from tests import factories
from tests.api.conftest import Program

pytestmark = pytest.mark.django_db


def assert_problem(response: object, status: int, *, field: str = "", says: str = "") -> None:
    """It is a problem of this status, and names the field."""
    assert response.status_code == status, response.content  # type: ignore[attr-defined]
    assert response["Content-Type"] == "application/problem+json"  # type: ignore[index]
    content = json.loads(response.content)  # type: ignore[attr-defined]
    assert content["status"] == status
    assert content["title"]
    assert says in content["detail"]
    if field:
        assert field in [error.get("field") for error in content["errors"]]


# --- tokens


def test_a_token_is_shown_once_and_only_a_digest_is_stored(rita: User) -> None:
    client = Client()
    client.force_login(rita)

    page = client.post("/account/tokens/", {"name": "notebook", "scopes": ["read", "write"], "days": "30"})

    token = Token.objects.get()
    text = page.context["text"]
    assert page.status_code == 201
    assert text in page.content.decode()
    assert text.startswith("bkn_")
    assert text not in json.dumps(list(Token.objects.values()), default=str)
    assert text not in client.get("/account/tokens/").content.decode()
    answer = Client().get("/api/v1/token/", headers={"Authorization": f"Bearer {text}"}).json()
    assert (answer["user"], answer["scopes"]) == ("rita", ["read", "write"])
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_a_revoked_token_opens_nothing_and_nobody_revokes_anothers(program: Program, stranger: Program) -> None:
    client = Client()
    client.force_login(stranger.token.user)
    assert client.post(f"/account/tokens/{program.token.pk}/revoke/").status_code == 404
    assert program.get("token/").status_code == 200

    client.force_login(program.token.user)
    client.post(f"/account/tokens/{program.token.pk}/revoke/")

    assert_problem(program.get("token/"), 401, says="revoked")
    assert stranger.get("token/").status_code == 200


def test_tokens_that_are_expired_mistyped_or_of_somebody_who_left_are_refused(program: Program, rita: User) -> None:
    assert_problem(Client().get("/api/v1/token/"), 401, says="Send a token")
    mistyped = program.text[:-1] + ("a" if program.text[-1] != "a" else "b")
    answer = Client().get("/api/v1/token/", headers={"Authorization": f"Bearer {mistyped}"})
    assert_problem(answer, 401)
    assert answer["WWW-Authenticate"].startswith("Bearer")

    Token.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert_problem(program.get("token/"), 401)
    Token.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert program.get("token/").status_code == 200
    User.objects.filter(pk=rita.pk).update(is_active=False)
    assert_problem(program.get("token/"), 401)


def test_a_mistyped_token_asks_no_database(program: Program, django_assert_num_queries: object) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert tokens.token_find(text=program.text[:-1] + "!", at=timezone.now()) is None
        assert tokens.token_find(text="bkn_" + "a" * 46, at=timezone.now()) is None


def test_a_cookie_is_no_token(rita: User) -> None:
    client = Client()
    client.force_login(rita)
    assert_problem(client.get("/api/v1/campaigns/"), 401)


# --- scopes, roles, labs


def test_every_operation_says_which_right_it_needs() -> None:
    operations = 0
    for route in routes:
        view = route.callback.cls
        for verb, name in list(getattr(route.callback, "actions", {}).items()):
            operations += 1
            right = getattr(view, name).operation.right
            assert isinstance(right, Right), f"{view.__name__}.{name}"
            assert right in SCOPES
            assert right != Right.SEE or verb in ("get", "head"), f"{view.__name__}.{name} changes something"
    assert operations > 50
    assert all(issubclass(route.callback.cls, Resource | Nowhere) for route in routes)


# --- lists


def test_a_list_by_cursor_neither_repeats_nor_hides_what_was_there(program: Program, collection: Collection) -> None:
    before = {run["id"] for run in program.get("runs/").json()["results"]}
    assert len(before) == 3

    page = program.get("runs/?limit=2").json()
    ids = [run["id"] for run in page["results"]]
    factories.run(collection, "newer", {"q1": ["p1"]})
    run_services.run_delete(run=collection.runs.get(pk=max(before)))
    page = program.get(page["next"].partition("testserver")[2]).json()
    ids += [run["id"] for run in page["results"]]

    assert (sorted(ids), page["next"]) == (sorted(before), None)


def test_filters_narrow_and_what_is_no_filter_value_names_the_field(program: Program, collection: Collection) -> None:
    assert {run["name"] for run in program.get("runs/?name=re").json()["results"]} == {"red", "green"}
    assert program.get(f"runs/?collection={collection.pk + 99}").json()["results"] == []
    assert_problem(program.get("runs/?collection=first"), 400, field="collection")
    assert_problem(program.get("jobs/?state=lost"), 400, field="state")
    for cursor in ("nonsense", "%25%25%25"):
        assert_problem(program.get(f"runs/?cursor={cursor}"), 400, field="cursor")
    for address in ("runs/?nmae=re", f"collections/{collection.pk}/?name=re", "labs/?name=re"):
        assert_problem(program.get(address), 400, says="no such parameter")
    following = program.get("runs/?name=r&limit=1").json()["next"]
    assert program.get(following.partition("testserver")[2]).status_code == 200


# --- tags


def test_what_did_not_change_is_not_sent_again(program: Program, campaign: Campaign) -> None:
    first = program.get(f"campaigns/{campaign.pk}/")
    again = program.get(f"campaigns/{campaign.pk}/", If_None_Match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]

    program.patch(f"campaigns/{campaign.pk}/", {"name": "another"})
    assert program.get(f"campaigns/{campaign.pk}/", If_None_Match=first["ETag"]).status_code == 200


def test_nobody_overwrites_what_they_have_not_seen(program: Program, campaign: Campaign) -> None:
    address = f"campaigns/{campaign.pk}/"
    tag = program.get(address)["ETag"]
    assert program.patch(address, {"name": "first"}, If_Match=tag).status_code == 200

    assert_problem(program.patch(address, {"name": "second"}, If_Match=tag), 412, says="changed")

    nowhere = program.patch(f"{address}settings/", {"reward": "1.00"}, If_Match=tag)
    assert_problem(nowhere, 400, field="If-Match")  # it cannot be read, so it would not be compared
    campaign.refresh_from_db()
    assert campaign.name == "first"
    assert program.patch(address, {"name": "third"}, If_Match=program.get(address)["ETag"]).status_code == 200


# --- problems


def test_every_error_is_a_problem(program: Program, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_problem(program.get("nothing/here/"), 404)
    assert_problem(Client().get("/api/v1/nothing/"), 404)
    assert_problem(program.get(f"campaigns/{10**30}/"), 404)
    assert_problem(program.delete("campaigns/"), 405)
    broken = program.client.post(
        "/api/v1/campaigns/", "{", content_type="application/json", headers={"Authorization": f"Bearer {program.text}"}
    )
    assert_problem(broken, 400, says="JSON")
    text = program.client.post(
        "/api/v1/campaigns/", "x", content_type="text/plain", headers={"Authorization": f"Bearer {program.text}"}
    )
    assert_problem(text, 415)
    assert_problem(program.post("campaigns/", {"name": "x" * (2 << 20)}), 413)
    assert_problem(program.post("campaigns/", [1]), 400)
    assert_problem(program.delete(f"campaigns/{campaign.pk}/"), 409, says="Close it")

    def fall_over(*_arguments: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("api.resources.campaigns.pool_selectors.campaigns_of", fall_over)
    answer = program.get("campaigns/")
    assert_problem(answer, 500)
    assert b"secret" not in answer.content


def test_options_answers_without_looking_at_anything(program: Program, campaign: Campaign) -> None:
    for address in ("campaigns/", f"campaigns/{campaign.pk}/", f"campaigns/{campaign.pk}/consent/", "runs/"):
        headers = {"Authorization": f"Bearer {program.text}"}
        assert program.client.options(f"/api/v1/{address}", headers=headers).status_code == 200
        assert program.client.head(f"/api/v1/{address}", headers=headers).status_code == 200


def test_mistakes_name_their_fields(program: Program, collection: Collection) -> None:
    sent = {"collection": collection.pk, "name": "pilot", "runs": "all"}
    assert_problem(program.post("campaigns/", sent | {"overlap": 0}), 400, field="overlap")
    assert_problem(program.post("campaigns/", sent | {"color": "red"}), 400, field="color", says="no such field")
    assert_problem(program.post("campaigns/", sent | {"runs": [10**9]}), 400, field="runs")
    assert_problem(program.post("campaigns/", sent | {"selection": "sample"}), 400, field="sample_size")
    assert_problem(program.post("campaigns/", sent | {"design": "challengers"}), 400, field="design")
    assert_problem(program.post("campaigns/", sent | {"base_version": 7}), 400, field="base_version")
    assert_problem(program.post("campaigns/", {"runs": "all"}), 400, field="collection")
    assert not Campaign.objects.exists()


# --- limits


@pytest.mark.usefixtures("limits")
def test_a_token_has_so_many_requests_a_minute(
    program: Program, stranger: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    monkeypatch.setattr(access, "READS", "3/min")
    monkeypatch.setattr(SimpleRateThrottle, "timer", lambda _throttle: 1_800_000_000.0)
    answers = [program.get("token/").status_code for _number in range(3)]
    assert answers == [200, 200, 200]

    refused = program.get("token/")

    assert_problem(refused, 429)
    assert int(refused["Retry-After"]) >= 1
    assert stranger.get("token/").status_code == 200


def test_an_address_that_is_none_is_a_problem_whatever_is_in_it(program: Program) -> None:
    for address in ("boards/a%0Ab/", "runs/%0A", "%0A", "nothing/", "runs"):
        assert_problem(program.get(address), 404, says="no such address")
        assert_problem(program.post(address, {}), 404, says="no such address")
