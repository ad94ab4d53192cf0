"""The operator's commands."""

import re
import subprocess
import sys

import pytest

from tests.marketplace.conftest import refusing
from tests.marketplace.server import REPOSITORY, Marketplace, Requester, Worker


def refused(marketplace: Marketplace, *command: str) -> str:
    """A command that must fail, and what it said."""
    with pytest.raises(AssertionError) as failure:
        marketplace.run(*command)
    assert "Traceback" not in str(failure.value)
    return str(failure.value)


def test_an_operator_sets_a_requester_up(marketplace: Marketplace) -> None:
    account_id = marketplace.run("create_requester", "The reading lab", "--email", "lab@example.org")
    assert re.fullmatch("R[A-Z0-9]{13}", account_id)
    printed = marketplace.run("issue_key", account_id, "--label", "laptop")
    key_id, secret = re.findall(r"aws_\w+ = (\S+)", printed)
    assert "has $250.00 available" in marketplace.run("deposit", "The reading lab", "250", "--note", "invoice 7")
    assert "has $200.00 available" in marketplace.run("deposit", account_id, "-50.00")

    assert marketplace.client(key_id, secret).get_account_balance()["AvailableBalance"] == "200.00"
    assert "There is a requester named" in refused(marketplace, "create_requester", "The reading lab")
    assert "insufficient funds" in refused(marketplace, "deposit", account_id, "-201")
    assert "not an amount" in refused(marketplace, "deposit", account_id, "plenty")
    assert "whole cents" in refused(marketplace, "deposit", account_id, "0.005")
    assert "no requester 'Nobody'" in refused(marketplace, "issue_key", "Nobody")


def test_keys_are_encrypted_anew_and_stay_what_they_are(marketplace: Marketplace) -> None:
    account_id = marketplace.run("create_requester", "A lab that rotates")
    key_id, secret = re.findall(r"aws_\w+ = (\S+)", marketplace.run("issue_key", account_id))
    first, second = "a first key for tests and long enough", "a second key for tests and long enough"

    def stored() -> dict[int, str]:
        return dict(marketplace.sql("SELECT id, sealed_secret FROM marketplace_accesskey"))

    def rotate(*options: str, **environment: str) -> str:
        return marketplace.start("rotate_keys", *options, **environment)

    before = stored()
    assert secret not in before.values()
    with pytest.raises(AssertionError, match="was encrypted with none of MARKETPLACE_ENCRYPTION_KEYS"):
        rotate(MARKETPLACE_ENCRYPTION_KEYS=first, MARKETPLACE_SECRET_KEY="another one")
    count = rotate("--dry-run", MARKETPLACE_ENCRYPTION_KEYS=first)
    assert count == f"{len(before)} would be encrypted with the first key; 0 are already."
    assert stored() == before

    try:
        output = rotate(MARKETPLACE_ENCRYPTION_KEYS=first)
        assert output == f"{len(before)} were encrypted with the first key; 0 are already."
        both = {"MARKETPLACE_ENCRYPTION_KEYS": f"{second},{first}", "MARKETPLACE_SECRET_KEY": "another one"}
        assert rotate(**both) == f"{len(before)} were encrypted with the first key; 0 are already."
        assert rotate(**both) == f"0 were encrypted with the first key; {len(before)} are already."
        read = ("shell", "--no-imports", "-c", SECRET.format(key_id=key_id))
        assert marketplace.start(*read, MARKETPLACE_ENCRYPTION_KEYS=second) == secret
        with refusing("ServiceFault"):  # of servers that have neither
            marketplace.client(key_id, secret).get_account_balance()
        assert f"The secret of the access key {key_id} was encrypted with none" in marketplace.log()
    finally:
        for pk, sealed in before.items():
            marketplace.sql("UPDATE marketplace_accesskey SET sealed_secret = %s WHERE id = %s", sealed, pk)
    assert marketplace.client(key_id, secret).get_account_balance()["AvailableBalance"] == "0.00"


SECRET = """
from marketplace.models import AccessKey
from marketplace.services.keys import key_secret
print(key_secret(AccessKey.objects.get(key_id='{key_id}')))
"""


def test_an_operator_needs_a_good_password(marketplace: Marketplace) -> None:
    strong = {"MARKETPLACE_OPERATOR_PASSWORD": "hard to guess, easy to keep"}

    assert "is an operator" in marketplace.start("create_operator", "op@example.org", **strong)
    with pytest.raises(AssertionError, match="too common"):
        marketplace.start("create_operator", "op2@example.org", MARKETPLACE_OPERATOR_PASSWORD="password")


def test_a_link_to_a_password_is_printed_with_a_reason(marketplace: Marketplace) -> None:
    marketplace.test("worker", email="lost@example.org")

    printed = marketplace.run("reset_password", "Lost@example.org", "--reason", "Asked by letter")

    path = printed.removeprefix(marketplace.url)
    assert re.fullmatch(r"/password/\w+/[\w-]+", path)
    assert marketplace.http.get(path).status_code == 302
    assert "no account" in refused(marketplace, "reset_password", "nobody@example.org", "--reason", "None")
    assert "--reason" in refused(marketplace, "reset_password", "lost@example.org")


def test_tick_does_what_is_due(marketplace: Marketplace, rosa: Requester, wanda: Worker) -> None:
    assignment_id = wanda.do(rosa.hit(AutoApprovalDelayInSeconds=60)["HITId"])
    marketplace.advance(minutes=2)

    assert re.fullmatch(r"[1-9]\d* due", marketplace.run("tick"))
    assert marketplace.run("tick").startswith("0 due")
    assert rosa.assignment(assignment_id)["AssignmentStatus"] == "Approved"


def test_static_files_of_the_two_programs_are_collected_apart(marketplace: Marketplace) -> None:
    def folder(settings: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", f"from {settings} import STATIC_ROOT; print(STATIC_ROOT)"],
            cwd=REPOSITORY,
            env={name: value for name, value in marketplace.environment.items() if name != "STATIC_ROOT"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert folder("marketplace.settings") == str(REPOSITORY / "staticfiles-marketplace")
    assert folder("config.settings") == str(REPOSITORY / "staticfiles")
