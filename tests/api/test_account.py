"""Through the API: one's own account, and what admins of the site do about others' log-ins."""

import pytest
from django.test import Client

from api.models import StoredAnswer, Token
from core.models import AuditEntry, Lab, User
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def test_ones_account_says_who_one_is(lab: Lab, rita: User, program: Program) -> None:
    account = program.get("account/").json()
    assert account["user"] == "rita" and account["is_site_admin"] is False
    assert account["labs"] == [{"lab": lab.pk, "name": lab.name, "role": "researcher"}]


def test_ones_tokens_are_listed_and_revoked_and_nobody_elses(rita: User, program: Program) -> None:
    assert_problem(Program(rita, "read", "write").get("account/tokens/"), 403, says="manage")
    lost, strangers = Program(rita, "read"), Program(factories.user("olga"))
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

    reset = admin.post(f"{of_rita}reset-link/", Idempotency_Key="once").json()
    assert "password1" in Client().get("/" + reset["link"].split("/", 3)[3], follow=True).text
    assert admin.post(f"{of_rita}reset-link/", Idempotency_Key="once").json() == {"link": None}
    assert StoredAnswer.objects.filter(content={"link": None}).count() == 1
    assert AuditEntry.objects.filter(subject="session", action="reset-link", key=str(rita.pk)).count() == 1
