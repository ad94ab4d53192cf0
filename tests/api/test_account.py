"""Through the API: one's own account, and what admins of the site do about others' log-ins."""

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.utils import timezone

from api.models import StoredAnswer, Token
from core.models import AuditEntry, Lab, User
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def session_of(user: User) -> UserSession:
    """A browser in which somebody is logged in."""
    browser = Client()
    browser.force_login(user)
    given: dict[str, Any] = {"ip": "203.0.113.7", "user_agent": "Firefox", "last_seen_at": timezone.now()}
    return UserSession.objects.create(user=user, session_key=browser.session.session_key, **given)


def test_ones_account_and_the_mails_about_alarms_that_one_gets(lab: Lab, rita: User, program: Program) -> None:
    account = program.get("account/").json()
    assert account["user"] == "rita" and account["is_site_admin"] is False
    assert account["labs"] == [{"lab": lab.pk, "name": lab.name, "role": "researcher"}]

    address = "account/alarm-mails/"
    first = program.get(address)
    assert first.json()["reach"] == "own" and len(first.json()["topics"]) == 5
    wish = {"reach": "all", "topics": ["money"]}
    assert_problem(Program(rita, "read").put(address, wish), 403, says="write")
    assert_problem(program.put(address, {"reach": "some", "topics": []}), 400, field="reach")
    assert_problem(program.put(address, {"reach": "all", "topics": ["rain"]}), 400, field="topics")
    assert program.put(address, wish, If_Match=first["ETag"]).json() == wish
    assert_problem(program.put(address, wish | {"reach": "none"}, If_Match=first["ETag"]), 412)
    assert program.get(address).json() == wish


def test_ones_sessions_and_tokens_are_listed_and_ended_and_nobody_elses(rita: User, program: Program) -> None:
    other = factories.user("olga")
    own, others = session_of(rita), session_of(other)
    assert_problem(Program(rita, "read", "write").get("account/sessions/"), 403, says="manage")
    [listed] = program.get("account/sessions/").json()["results"]
    assert (listed["id"], listed["ip"]) == (own.pk, "203.0.113.7")
    assert_problem(program.delete(f"account/sessions/{others.pk}/"), 404)
    assert program.delete(f"account/sessions/{own.pk}/").status_code == 204
    assert list(UserSession.objects.all()) == [others]
    assert AuditEntry.objects.filter(subject="session", action="ended", key=str(rita.pk)).exists()

    lost, strangers = Program(rita, "read"), Program(other)
    tokens = {row["id"]: row for row in program.get("account/tokens/").json()["results"]}
    assert tokens[program.token.pk]["is_this"] and not tokens[lost.token.pk]["is_this"]
    assert lost.text not in str(tokens) and lost.text.startswith(tokens[lost.token.pk]["start"])
    assert strangers.token.pk not in tokens
    assert_problem(program.delete(f"account/tokens/{strangers.token.pk}/"), 404)
    assert lost.get("labs/").status_code == 200
    assert program.delete(f"account/tokens/{lost.token.pk}/").status_code == 204
    assert_problem(lost.get("labs/"), 401)
    assert Token.objects.get(pk=strangers.token.pk).revoked_at is None


def test_an_admin_of_the_site_keeps_somebody_out_and_hands_over_a_link_for_a_new_password(
    lab: Lab, ada: User, rita: User, program: Program
) -> None:
    agnes, admin = factories.member(lab, "admin", "agnes"), Program(ada)
    of_rita, of_agnes = (f"labs/{lab.pk}/people/{lab.memberships.get(user=user).pk}/" for user in (rita, agnes))
    for action in ("disable", "enable", "reset-link"):
        assert_problem(Program(agnes).post(f"{of_rita}{action}/"), 403, says="admin of this site")
    assert_problem(admin.post(f"{of_agnes}disable/"), 409, says="only admin")
    assert admin.post(f"{of_rita}disable/").json()["is_active"] is False
    assert_problem(program.get("labs/"), 401)
    assert admin.post(f"{of_rita}enable/").json()["is_active"] is True
    assert program.get("labs/").status_code == 200

    made = admin.post(f"{of_rita}reset-link/", Idempotency_Key="once").json()
    assert "password1" in Client().get("/" + made["link"].split("/", 3)[3], follow=True).text
    assert admin.post(f"{of_rita}reset-link/", Idempotency_Key="once").json() == {"link": None}
    assert StoredAnswer.objects.filter(content={"link": None}).count() == 1
    assert AuditEntry.objects.filter(subject="session", action="reset-link", key=str(rita.pk)).count() == 1
