"""Roles: every address is in the table, and each role gets from each address what the table says."""

import re
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone

from core.models import Lab, Membership, User
from core.people import LastAdmin, membership_end, role_set
from core.roles import OTHERS, ROLES, WORDS, Needs, Right, needs_by_address, right_needed
from pools.models import Campaign, CampaignTemplate
from runs.models import Job
from tasks.models import Worker
from tests import factories
from tests.conftest import REPOSITORY
from tests.leaderboards.public_boards import entry, public_board
from tests.worlds import rows_and_files

pytestmark = pytest.mark.django_db


class Address(NamedTuple):
    """An address of the site, with the keys of things that are there."""

    name: str
    path: str
    names_a_thing: bool


def patterns(routes: list[Any], route: str = "") -> Iterator[tuple[str, str]]:
    """The name and the route of every address but those of the admin site and of the API (tests/api)."""
    for pattern in routes:
        if isinstance(pattern, URLResolver) and pattern.namespace not in ("admin", "v1"):
            space = f"{pattern.namespace}:" if pattern.namespace else ""
            for name, rest in patterns(pattern.url_patterns, route + str(pattern.pattern)):
                yield space + name, rest
        elif isinstance(pattern, URLPattern):
            yield pattern.name or "", route + str(pattern.pattern)


def addresses(campaign: Campaign) -> list[Address]:
    """Every address, about the things of one lab."""
    collection = campaign.collection
    job = Job.objects.create(lab=campaign.lab, kind="run", name="job", collection=collection, asked_at=timezone.now())
    template = CampaignTemplate.objects.create(lab=campaign.lab, name="usual", values={}, changed_at=timezone.now())
    keys = {
        "campaigns": campaign.pk,
        "collections": collection.pk,
        "runs": collection.runs.all()[0].pk,
        "jobs": job.pk,
        "labs": campaign.lab_id,
        "templates": template.pk,
        "workers": Worker.objects.create(lab=campaign.lab).pk,
    }
    board = public_board(collection)
    submission = entry(board, "red", on=date(2026, 11, 1), dev="1/2", eval="1/2")
    assert submission.team is not None
    keys["leaderboards"] = board.pk
    names = {"slug": board.slug, "board_slug": board.slug, "submission_id": submission.public_id}
    names["team_id"] = submission.team.public_id
    addresses = []
    for name, route in patterns(get_resolver().url_patterns):
        if needs_by_address()[name] == Needs(Right.PUBLIC, Right.PUBLIC):
            continue
        named = {**names, "pk": keys.get(route.partition("/")[0], 1)}
        path = re.sub(r"<(\w+:)?(\w+)>", lambda part: str(named.get(part[2], 1)), route)  # noqa: B023
        addresses.append(Address(name, f"/{path}", path != route))
    return addresses


def present() -> dict[str, frozenset[bytes]]:
    """Every row, but for what being logged in and downloading write."""
    passing = ("django_session", "core_auditentry")
    return {table: rows for table, rows in rows_and_files().rows.items() if table not in passing}


def browser(user: User) -> Client:
    """Somebody's browser, in which they have been seen already."""
    client = Client()
    client.force_login(user)
    client.get("/account/")
    return client


def test_every_view_says_what_it_needs_but_those_of_libraries() -> None:
    names = {name for name, _route in patterns(get_resolver().url_patterns)}
    assert names == set(needs_by_address())
    assert set(OTHERS) < names
    assert not any(":" in name for name in OTHERS)


# What anybody may open: workers' pages and boards are, each with checks of their own.
OPEN = {
    *("core:components", "core:invited", "platforms:account_notifications", "platforms:notifications"),
    *("results:shown", "results:shown_marks", "results:shown_subject", "leaderboards:invited"),
    *("leaderboards:terms", "leaderboards:sample", "leaderboards:ask", "api:description"),
}
# What whoever is logged in may open: it shows or does what is theirs alone.
OWN = {
    *("core:account", "core:session_end", "core:alarm_choice", "core:labs", "runs:collections", "runs:runs"),
    *("campaigns:search", "campaigns:campaigns", "campaigns:templates", "platforms:costs", "platforms:costs_csv"),
    *("review:workers", "protection:account_close", "api:tokens", "api:token_revoke", "api:reference"),
    *("leaderboards:boards", "leaderboards:submission", "leaderboards:submission_act", "leaderboards:take_part"),
    *("leaderboards:submit", "leaderboards:dev", "leaderboards:team_new", "leaderboards:team"),
    *("leaderboards:team_leave", "leaderboards:sending_begin", "leaderboards:sending_continue"),
}


def test_only_what_is_known_needs_no_membership() -> None:
    needs = {name: needed for name, needed in needs_by_address().items() if ":" in name}
    ours = {name for name in needs if name.partition(":")[0] not in ("judging", "boards")}
    assert {name for name in ours if Right.PUBLIC in needs[name]} == OPEN
    assert {name for name in ours if Right.SIGNED_IN in needs[name]} - OPEN == OWN


def test_whoever_may_only_see_sends_no_form(campaign: Campaign) -> None:
    viewer = browser(factories.member(campaign.lab, "viewer"))
    readable = [address for address in addresses(campaign) if right_needed(resolve(address.path), "POST") == Right.SEE]
    assert len(readable) > 30
    accepting = {address.name for address in readable if viewer.post(address.path).status_code != 405}
    assert accepting == set()


@pytest.mark.parametrize("role", ROLES)
def test_each_role_gets_from_each_address_what_the_table_says(campaign: Campaign, role: str) -> None:
    client = browser(factories.member(campaign.lab, role))
    walked = addresses(campaign)
    before = present()
    refused = set()

    for address in walked:
        for method in ("GET", "POST"):
            right = right_needed(resolve(address.path), method)
            if right in (Right.PUBLIC, Right.SIGNED_IN) or (right in ROLES[role] and method == "POST"):
                continue
            answer = client.generic(method, address.path)
            if right in ROLES[role]:
                assert answer.status_code in (200, 302, 303, 404, 405, 409), (address, answer.content)
                continue
            assert answer.status_code in (403, 405), (address, method, answer.status_code)
            if answer.status_code == 403:
                refused.add(address.name)
                assert "Nothing was changed" in answer.text

    assert present() == before
    lacking = set(Right) - ROLES[role] - {Right.PUBLIC, Right.SIGNED_IN}
    assert refused == {name for name, needed in needs_by_address().items() if lacking & set(needed)}


@pytest.mark.parametrize(
    "address",
    [
        *("judgments:export", "review:assignments_csv", "review:workers_csv", "protection:bundle"),
        *("platforms:ledger_csv", "results:version_file", "results:machine_file", "results:show"),
    ],
)
def test_who_may_only_see_downloads_no_judgments_qrels_or_ledgers(address: str) -> None:
    assert needs_by_address()[address].looking == Right.EXPORT
    assert {role for role, rights in ROLES.items() if Right.EXPORT not in rights} == {Membership.Role.VIEWER}


@pytest.mark.parametrize("address", ["platforms:pay", "platforms:filters", "judgments:rest_launch"])
def test_who_may_not_spend_pays_nothing_and_launches_nothing(address: str) -> None:
    assert needs_by_address()[address].changing == Right.SPEND
    assert {role for role, rights in ROLES.items() if Right.SPEND not in rights} >= {"viewer", "organizer"}


def test_nothing_of_a_lab_is_there_for_somebody_of_another(campaign: Campaign) -> None:
    outsider = browser(factories.member(factories.lab("Elsewhere"), "admin"))
    nobody = Client()
    walked = addresses(campaign)
    before = present()

    for address in walked:
        for method in ("GET", "POST"):
            right = right_needed(resolve(address.path), method)
            if right == Right.PUBLIC:
                continue
            answer = nobody.generic(method, address.path)
            assert answer.status_code == 302 and answer.headers["Location"].startswith("/login/"), address
            if address.names_a_thing and right != Right.SIGNED_IN:
                assert outsider.generic(method, address.path).status_code in (404, 405), (address, method)

    assert present() == before


def test_a_refusal_names_the_role_and_whom_to_ask(campaign: Campaign) -> None:
    viewer = browser(factories.member(campaign.lab, "viewer"))
    answer = viewer.post(f"/campaigns/{campaign.pk}/state/", {"to": "closed"})
    assert "is viewer, so you cannot create and change collections" in answer.text
    assert "Ask the person who runs this site" in answer.text

    factories.member(campaign.lab, "admin", "Agnes")
    assert "Ask Agnes" in viewer.post(f"/campaigns/{campaign.pk}/state/", {"to": "closed"}).text
    campaign.refresh_from_db()
    assert campaign.state == "open"


def test_a_form_offers_only_labs_where_somebody_has_the_right(campaign: Campaign) -> None:
    vera = factories.member(campaign.lab, "viewer", "vera")
    lab = factories.lab("Vera's lab", vera)

    page = browser(vera).get("/collections/new/")

    assert list(page.context["form"].fields["lab"].queryset) == [lab]
    sent = browser(vera).post("/runs/new/", {"collection": campaign.collection_id})
    assert sent.status_code == 400 and "collection" in sent.context["form"].errors


def test_docs_have_the_same_table() -> None:
    rows = re.findall(r"(?m)^\| ([^|]+?) \| (.+) \|$", Path(REPOSITORY, "docs/roles.md").read_text())
    head, *body = [(what, re.split(r" \| ", cells)) for what, cells in rows]
    columns = [str(role) for role in head[1]]
    roles = {what: {role for role, cell in zip(columns, cells, strict=True) if cell == "yes"} for what, cells in body}

    assert columns == [str(role) for role in ROLES]
    assert roles == {
        str(words): {str(role) for role, rights in ROLES.items() if right in rights}
        for right, words in WORDS.items()
        if right != Right.SITE
    }


# --- the last admin


@pytest.fixture
def agnes(lab: Lab) -> User:
    """The only admin of Rita's lab."""
    return factories.member(lab, "admin", "agnes")


def test_the_last_admin_of_a_lab_stays_one_until_there_is_another(lab: Lab, agnes: User) -> None:
    membership = lab.memberships.get(user=agnes)
    with pytest.raises(LastAdmin, match="only admin of the lab"):
        role_set(membership=membership, role="viewer")
    with pytest.raises(LastAdmin, match="only admin of the lab"):
        membership_end(membership=membership)
    assert lab.memberships.get(user=agnes).role == "admin"

    role_set(membership=lab.memberships.exclude(user=agnes).get(), role="admin")
    membership_end(membership=membership)
    assert not lab.memberships.filter(user=agnes).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core_lab_members SET role = 'viewer' WHERE user_id = %s",
        "DELETE FROM core_lab_members WHERE user_id = %s",
        "UPDATE core_user SET is_active = false WHERE id = %s",
    ],
)
def test_the_database_keeps_the_last_admin_of_a_lab(agnes: User, statement: str) -> None:
    with pytest.raises(IntegrityError, match="would lose its last admin"), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(statement, [agnes.pk])
        connection.check_constraints()


@pytest.mark.parametrize("change", ["is_active = false", "is_staff = false", "is_superuser = false"])
def test_the_database_keeps_the_last_admin_of_the_site(ada: User, change: str) -> None:
    with pytest.raises(IntegrityError, match="the site would lose its last admin"), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE core_user SET {change} WHERE id = %s", [ada.pk])
        connection.check_constraints()


def test_a_lab_without_anything_can_be_deleted_with_its_admin(agnes: User, lab: Lab) -> None:
    lab.delete()
    connection.check_constraints()
    agnes.delete()
    connection.check_constraints()
    assert not Membership.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_remove_each_other_one_remains() -> None:
    lab = factories.lab()
    users = [factories.member(lab, "admin", name) for name in ("agnes", "astrid")]
    both_have_written = threading.Barrier(2, timeout=30)
    refused = []

    def remove(user: User) -> None:
        try:
            with transaction.atomic():
                Membership.objects.filter(user=user).delete()
                both_have_written.wait()
        except IntegrityError as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=[user]) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(refused) == 1 and "would lose its last admin" in refused[0]
    assert lab.memberships.filter(role="admin").count() == 1


def test_the_admin_site_keeps_the_last_admins(client: Client, ada: User, lab: Lab, agnes: User) -> None:
    client.force_login(ada)
    membership = lab.memberships.get(user=agnes)

    changed = client.post(
        f"/admin/core/membership/{membership.pk}/change/", {"lab": lab.pk, "user": agnes.pk, "role": "viewer"}
    )

    assert "This is the only admin of the lab" in changed.text
    assert client.get(f"/admin/core/membership/{membership.pk}/delete/").status_code == 403
    assert client.get(f"/admin/core/user/{agnes.pk}/delete/").status_code == 403
    assert lab.memberships.get(user=agnes).role == "admin"
