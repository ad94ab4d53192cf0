"""The books are checked from outside: what a difference looks like, who checks, and that nobody can empty them."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests.marketplace.server import REPOSITORY, Marketplace


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace whose books tests may damage."""
    running = Marketplace(tmp_path_factory.mktemp("bank"), workers=1)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def history(bank: Marketplace) -> dict[str, str]:
    """Some of everything: held, approved, rejected, overridden, a bonus, a payout that came back."""
    rosa, wanda, will = bank.requester(), bank.worker(), bank.worker()
    hit_id = rosa.hit(Reward="2.00", MaxAssignments=3)["HITId"]
    first, second = wanda.do(hit_id), will.do(hit_id)
    rosa.client.approve_assignment(AssignmentId=first)
    rosa.client.reject_assignment(AssignmentId=second, RequesterFeedback="No")
    rosa.client.approve_assignment(AssignmentId=second, OverrideRejection=True)
    rosa.client.send_bonus(WorkerId=wanda.id, AssignmentId=first, BonusAmount="0.50", Reason="Good")
    waiting = rosa.hit()["HITId"]
    return {
        "account_id": rosa.account_id,
        "hit_id": hit_id,
        "waiting": waiting,
        "assignment_id": first,
        "worker_id": wanda.id,
    }


def verified(bank: Marketplace) -> tuple[int, str, str]:
    """What `verify_ledger` said: its exit code, what it printed, and what it complained of."""
    done = subprocess.run(
        [sys.executable, "-m", "marketplace", "verify_ledger"],
        cwd=REPOSITORY,
        env=bank.environment,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_books_that_are_right_are_said_to_be_right(bank: Marketplace, history: dict[str, str]) -> None:
    code, printed, _ = verified(bank)

    assert code == 0, printed
    assert "The books are right." in printed
    sums = "$991.00 available, $3.60 on hold, $4.50 earned by workers ($0.00 paid out, $4.50 owed), $0.90 in fees."
    assert f"11 entries of 1 requester. Deposited $1,000.00: {sums}" in printed
    assert re.search(r"Fees in \d{4}-\d\d: \$0\.90 \(\$0\.80 of rewards, \$0\.10 of bonuses\)", printed)


class Damage:
    """What somebody with all rights did to the rows, and the sentence that must come of it."""

    def __init__(self, name: str, statement: str, sentence: str) -> None:
        self.name = name
        self.statement = statement
        self.sentence = sentence


DAMAGES = [
    Damage(
        "a row is missing",
        "DELETE FROM marketplace_entry WHERE kind = 'bonus fee'",
        r"Requester R\w+: the entries are numbered from 1 to \d+, and there are \d+\. Rows are missing\.",
    ),
    Damage(
        "a deposit is larger than it was",
        "UPDATE marketplace_entry SET available = available + 100 WHERE kind = 'deposit'",
        r"Requester R\w+, entry 1: \$1000\.00 available and \$0\.00 on hold are noted, .* make \$1100\.00",
    ),
    Damage(
        "a sum is noted that is not one",
        "UPDATE marketplace_entry SET on_hold_after = on_hold_after + 1 WHERE number = 2",
        r"Requester R\w+, entry 2: \$992\.80 available and \$8\.20 on hold are noted",
    ),
    Damage(
        "less than nothing is left",
        "ALTER TABLE marketplace_entry DROP CONSTRAINT entry_no_overdraft;"
        "UPDATE marketplace_entry SET available_after = -1 WHERE number = 2",
        r"entry 2: \$-1\.00 available .* less than nothing",
    ),
    Damage(
        "a reward costs nobody anything",
        "UPDATE marketplace_entry SET on_hold = 0 WHERE kind = 'reward'",
        r"Entry \d+ is a reward, and moves \$0\.00 available, \$0\.00 on hold and \$2\.00 earned, as no reward does\.",
    ),
    Damage(
        "a HIT says that it holds more",
        "UPDATE marketplace_hit SET held = held + 5 WHERE hit_id = %(waiting)s",
        r"HIT \w+ holds \$6\.20 by its own row, and \$1\.20 by its entries\.",
    ),
    Damage(
        "a HIT that is over holds money",
        "UPDATE marketplace_hit SET status = 'Disposed' WHERE hit_id = %(waiting)s",
        r"HIT \w+ \(Disposed\) holds \$1\.20, and \$0 was promised",
    ),
    Damage(
        "work that is not approved was paid",
        "UPDATE marketplace_assignment SET state = 'Submitted', approved_at = NULL"
        " WHERE assignment_id = %(assignment_id)s",
        r"Assignment \w+ is Submitted, for \$2\.00 and a fee of \$0\.40: \$2\.00 and a fee of \$0\.40 are booked\.",
    ),
    Damage(
        "approved work was not paid",
        "UPDATE marketplace_assignment SET reward = 3 WHERE assignment_id = %(assignment_id)s",
        r"Assignment \w+ is Approved, for \$3\.00 and a fee of \$0\.40: \$2\.00 and a fee of \$0\.40 are booked\.",
    ),
    Damage(
        "another worker was paid",
        "UPDATE marketplace_entry SET worker_id = (SELECT max(id) FROM marketplace_worker) WHERE kind = 'reward'",
        r"Assignment \w+ is Approved",
    ),
    Damage(
        "a bonus was not booked as granted",
        "UPDATE marketplace_bonuspayment SET amount = 0.75",
        r"Bonus \d+ is \$0\.75 and a fee of \$0\.10: \$0\.50 and a fee of \$0\.10 are booked\.",
    ),
    Damage(
        "more was paid out than earned",
        "INSERT INTO marketplace_payoutlist (reference, made_at) VALUES ('P', now());"
        "INSERT INTO marketplace_entry (at, kind, available, on_hold, earned, worker_id, note, payout_list_id)"
        " SELECT now(), 'payout', 0, 0, -9, worker.id, '', list.id FROM marketplace_worker worker,"
        " marketplace_payoutlist list WHERE worker_id = %(worker_id)s AND reference = 'P'",
        r"Worker A\w+ was paid out \$6\.50 more than was earned\.",
    ),
    Damage(
        "more came back than was paid out",
        "INSERT INTO marketplace_payoutlist (reference, made_at) VALUES ('P', now());"
        "INSERT INTO marketplace_entry (at, kind, available, on_hold, earned, worker_id, note, payout_list_id)"
        " SELECT now(), 'payout', 0, 0, -1, worker.id, 'P', list.id FROM marketplace_worker worker,"
        " marketplace_payoutlist list WHERE worker_id = %(worker_id)s AND reference = 'P';"
        "INSERT INTO marketplace_entry (at, kind, available, on_hold, earned, worker_id, note, payout_id)"
        " SELECT now(), 'bounce', 0, 0, 2, worker_id, 'R', id FROM marketplace_entry WHERE note = 'P'",
        r"Entry \d+ says that \$2\.00 came back, and the payout was \$1\.00",
    ),
]


@pytest.fixture
def damage(bank: Marketplace, history: dict[str, str]) -> Iterator[Callable[[str], list[str]]]:
    """Does something to the rows with the triggers off, asks for the differences, and takes it all back."""
    connection = psycopg2.connect(bank.database.replace("postgres://", "postgresql://", 1))

    def apply(statement: str) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE marketplace_entry DISABLE TRIGGER append_only")
            cursor.execute(statement, history)
            return differences(cursor)

    yield apply
    connection.rollback()
    connection.close()


def differences(cursor: Any) -> list[str]:
    """What the checks find, asked on the connection that has done the damage and not committed it."""
    from marketplace.selectors.books import CHECKS

    sentences = []
    for check in CHECKS:
        cursor.execute(check.statement)
        sentences += [check.sentence.format(*row) for row in cursor.fetchall()]
    return sentences


@pytest.mark.parametrize("done", DAMAGES, ids=[damage.name for damage in DAMAGES])
def test_each_kind_of_difference_is_said_in_a_sentence(damage: Callable[[str], list[str]], done: Damage) -> None:
    assert damage("SELECT") == []

    problems = damage(done.statement)

    assert any(re.search(done.sentence, sentence) for sentence in problems), problems


def test_a_difference_fails_the_command_is_logged_and_is_shown_to_the_operator(
    bank: Marketplace, history: dict[str, str]
) -> None:
    change = "UPDATE marketplace_hit SET held = held {} 5 WHERE hit_id = %s"
    bank.sql(change.format("+"), history["waiting"])

    code, printed, complaint = verified(bank)

    bank.sql(change.format("-"), history["waiting"])
    assert code == 1
    assert f"HIT {history['waiting']} holds $6.20 by its own row, and $1.20 by its entries." in printed
    assert "The books are wrong in 1 place" in complaint
    assert "The books are wrong: HIT" in complaint
    assert bank.sql("SELECT ok FROM marketplace_dailyrun WHERE name = 'books'") == [(False,)]
    assert verified(bank)[0] == 0
    assert bank.sql("SELECT ok FROM marketplace_dailyrun WHERE name = 'books'") == [(True,)]


def test_tick_checks_the_books_once_a_day(bank: Marketplace, history: dict[str, str]) -> None:
    def checked() -> Any:
        return bank.sql("SELECT ended_at FROM marketplace_dailyrun WHERE name = 'books'")[0][0]

    bank.test("tick")
    first = checked()
    bank.test("tick")
    assert checked() == first

    bank.advance(hours=25)
    bank.test("tick")
    assert checked() > first
    assert bank.sql("SELECT ok, report -> 'totals' ->> 'fees' FROM marketplace_dailyrun WHERE name = 'books'") == [
        (True, "0.90")
    ]


def test_books_that_were_empty_are_checked_again_soon_after_the_first_deposit(tmp_path: Path) -> None:
    bank = Marketplace(tmp_path, workers=1)
    try:
        bank.test("tick")
        checked = "SELECT report -> 'totals' ->> 'entries' FROM marketplace_dailyrun WHERE name = 'books'"
        assert bank.sql(checked) == [("0",)]

        bank.requester()
        bank.test("tick")
        assert bank.sql(checked) == [("1",)]

        bank.requester()
        bank.test("tick")
        assert bank.sql(checked) == [("1",)]  # the next check is tomorrow
    finally:
        bank.stop()


@pytest.mark.parametrize("table", ["marketplace_entry", "marketplace_auditevent", "marketplace_requester"])
def test_the_applications_role_cannot_empty_the_books(bank: Marketplace, history: dict[str, str], table: str) -> None:
    assert bank.sql("SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [(False,)]

    with pytest.raises(psycopg2.DatabaseError, match="never changed or deleted"):
        bank.sql(f"TRUNCATE {table} CASCADE")

    assert bank.sql("SELECT count(*) > 5 FROM marketplace_entry") == [(True,)]
