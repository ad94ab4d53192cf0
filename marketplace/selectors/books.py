"""Whether the books are right: the ledger held against itself, and against HITs, assignments and bonuses.

Nothing here trusts the code that writes the ledger: each check is a statement of its own over the rows as they are. Run
them in one snapshot of the database (services.daily does), or movements made meanwhile look like differences.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

# How many of the differences that one check finds are listed one by one.
MOST_SHOWN = 20


class Check(NamedTuple):
    """What must hold; a statement that finds where it does not; a sentence for each row that it finds."""

    rule: str
    statement: str
    sentence: str


class FeeMonth(NamedTuple):
    """What fees of rewards and of bonuses came in, in dollars, in a month such as 2026-11 (UTC)."""

    month: str
    rewards: Decimal
    bonuses: Decimal

    @property
    def amount(self) -> Decimal:
        """Both together."""
        return self.rewards + self.bonuses


class Totals(NamedTuple):
    """The ledger in sums, in dollars. Deposited = available + on hold + earned + fees; earned = paid out + owed."""

    entries: int
    requesters: int
    deposited: Decimal
    available: Decimal
    on_hold: Decimal
    earned: Decimal
    paid_out: Decimal
    fees: Decimal

    @property
    def owed(self) -> Decimal:
        """What workers have earned and not been paid."""
        return self.earned - self.paid_out


CHECKS = (
    Check(
        "Each requester's entries are numbered without a gap",
        """
        SELECT r.account_id, min(e.number), max(e.number), count(*)
        FROM marketplace_entry e JOIN marketplace_requester r ON r.id = e.requester_id
        GROUP BY r.account_id HAVING min(e.number) <> 1 OR max(e.number) <> count(*)
        """,
        "Requester {0}: the entries are numbered from {1} to {2}, and there are {3}. Rows are missing.",
    ),
    Check(
        "The sums beside each entry are the sums of the entries up to it",
        """
        SELECT DISTINCT ON (r.account_id) r.account_id, e.number, available_after, on_hold_after, available, on_hold
        FROM (SELECT requester_id, number, available_after, on_hold_after, sum(available) OVER upto AS available,
                     sum(on_hold) OVER upto AS on_hold
              FROM marketplace_entry WHERE requester_id IS NOT NULL
              WINDOW upto AS (PARTITION BY requester_id ORDER BY number)) e
        JOIN marketplace_requester r ON r.id = e.requester_id
        WHERE (available_after, on_hold_after) IS DISTINCT FROM (available, on_hold)
        ORDER BY r.account_id, e.number
        """,
        "Requester {0}, entry {1}: ${2} available and ${3} on hold are noted, and the rows so far make ${4} and ${5}.",
    ),
    Check(
        "Nothing is overdrawn",
        """
        SELECT r.account_id, e.number, e.available_after, e.on_hold_after
        FROM marketplace_entry e JOIN marketplace_requester r ON r.id = e.requester_id
        WHERE e.available_after < 0 OR e.on_hold_after < 0 ORDER BY e.id
        """,
        "Requester {0}, entry {1}: ${2} available and ${3} on hold are noted, which is less than nothing.",
    ),
    Check(
        "Each entry moves what entries of its kind move",
        """
        SELECT id, kind, available, on_hold, earned FROM marketplace_entry
        WHERE NOT CASE kind
            WHEN 'deposit' THEN available > 0 AND on_hold = 0 AND earned = 0
            WHEN 'withdrawal' THEN available < 0 AND on_hold = 0 AND earned = 0
            WHEN 'hold' THEN on_hold > 0 AND available = -on_hold AND earned = 0 AND hit_id IS NOT NULL
            WHEN 'release' THEN on_hold < 0 AND available = -on_hold AND earned = 0 AND hit_id IS NOT NULL
            WHEN 'reward' THEN earned > 0 AND on_hold = -earned AND available = 0 AND assignment_id IS NOT NULL
            WHEN 'fee' THEN on_hold < 0 AND available = 0 AND earned = 0 AND assignment_id IS NOT NULL
            WHEN 'bonus' THEN earned > 0 AND available = -earned AND on_hold = 0 AND bonus_id IS NOT NULL
            WHEN 'bonus fee' THEN available < 0 AND on_hold = 0 AND earned = 0 AND bonus_id IS NOT NULL
            WHEN 'payout' THEN earned < 0 AND available = 0 AND on_hold = 0
            WHEN 'bounce' THEN earned > 0 AND available = 0 AND on_hold = 0
            ELSE false END
        ORDER BY id
        """,
        "Entry {0} is a {1}, and moves ${2} available, ${3} on hold and ${4} earned, as no {1} does.",
    ),
    Check(
        "Each HIT holds what its entries hold",
        """
        SELECT h.hit_id, h.held, coalesce(e.held, 0)
        FROM marketplace_hit h
        LEFT JOIN (SELECT hit_id, sum(on_hold) AS held FROM marketplace_entry GROUP BY hit_id) e
        ON e.hit_id = h.id WHERE h.held <> coalesce(e.held, 0) ORDER BY h.id
        """,
        "HIT {0} holds ${1} by its own row, and ${2} by its entries.",
    ),
    Check(
        "Each HIT holds what was promised for work on it, and nothing more once it is over",
        """
        SELECT h.hit_id, h.held, coalesce(a.promised, 0), h.status
        FROM marketplace_hit h
        LEFT JOIN (SELECT hit_id, sum(reward + fee) AS promised FROM marketplace_assignment
                   WHERE state IN ('Accepted', 'Submitted') GROUP BY hit_id) a ON a.hit_id = h.id
        WHERE h.held < coalesce(a.promised, 0)
           OR (h.held > coalesce(a.promised, 0)
               AND (h.expired OR h.status IN ('Reviewable', 'Reviewing', 'Disposed')))
        ORDER BY h.id
        """,
        "HIT {0} ({3}) holds ${1}, and ${2} was promised for work that is not decided on.",
    ),
    Check(
        "Approved work is paid, once and as promised, and no other",
        """
        SELECT a.assignment_id, a.state, a.reward, a.fee, coalesce(e.reward, 0), coalesce(e.fee, 0)
        FROM marketplace_assignment a
        LEFT JOIN (SELECT assignment_id, sum(earned) FILTER (WHERE kind = 'reward') AS reward,
                          -sum(on_hold) FILTER (WHERE kind = 'fee') AS fee,
                          min(worker_id) FILTER (WHERE kind = 'reward') AS worker_id
                   FROM marketplace_entry WHERE kind IN ('reward', 'fee') GROUP BY assignment_id) e
        ON e.assignment_id = a.id
        WHERE coalesce(e.reward, 0) <> CASE a.state WHEN 'Approved' THEN a.reward ELSE 0 END
           OR coalesce(e.fee, 0) <> CASE a.state WHEN 'Approved' THEN a.fee ELSE 0 END
           OR e.worker_id <> a.worker_id
        ORDER BY a.id
        """,
        "Assignment {0} is {1}, for ${2} and a fee of ${3}: ${4} and a fee of ${5} are booked.",
    ),
    Check(
        "Each bonus is paid, once and to its worker",
        """
        SELECT b.id, b.amount, b.fee, coalesce(e.amount, 0), coalesce(e.fee, 0)
        FROM marketplace_bonuspayment b JOIN marketplace_assignment a ON a.id = b.assignment_id
        LEFT JOIN (SELECT bonus_id, sum(earned) FILTER (WHERE kind = 'bonus') AS amount,
                          -sum(available) FILTER (WHERE kind = 'bonus fee') AS fee,
                          min(worker_id) FILTER (WHERE kind = 'bonus') AS worker_id
                   FROM marketplace_entry WHERE bonus_id IS NOT NULL GROUP BY bonus_id) e
        ON e.bonus_id = b.id
        WHERE coalesce(e.amount, 0) <> b.amount OR coalesce(e.fee, 0) <> b.fee OR e.worker_id <> a.worker_id
        ORDER BY b.id
        """,
        "Bonus {0} is ${1} and a fee of ${2}: ${3} and a fee of ${4} are booked.",
    ),
    Check(
        "No worker was paid out more than was earned",
        """
        SELECT w.worker_id, -sum(e.earned) FROM marketplace_entry e JOIN marketplace_worker w ON w.id = e.worker_id
        GROUP BY w.worker_id HAVING sum(e.earned) < 0
        """,
        "Worker {0} was paid out ${1} more than was earned.",
    ),
    Check(
        "What came back is what was paid out",
        """
        SELECT b.id, b.earned, -p.earned FROM marketplace_entry b JOIN marketplace_entry p ON p.id = b.payout_id
        WHERE p.kind <> 'payout' OR b.earned <> -p.earned OR b.worker_id <> p.worker_id ORDER BY b.id
        """,
        "Entry {0} says that ${1} came back, and the payout was ${2}, or another worker's.",
    ),
)


def differences() -> list[str]:
    """Where the books are wrong, as sentences. None if they are right."""
    sentences = []
    for check in CHECKS:
        rows = _rows(check.statement)
        sentences += [check.sentence.format(*row) for row in rows[:MOST_SHOWN]]
        if len(rows) > MOST_SHOWN:
            sentences.append(f"{check.rule}: {len(rows) - MOST_SHOWN:,} more places where that is not so.")
    return sentences


def totals() -> Totals:
    """The whole ledger in sums."""
    ((entries, requesters, deposited, available, on_hold, earned, paid_out, fees),) = _rows(
        """
        SELECT count(*), count(DISTINCT requester_id), sum(available) FILTER (WHERE kind IN ('deposit', 'withdrawal')),
               sum(available), sum(on_hold), sum(earned) FILTER (WHERE kind IN ('reward', 'bonus')),
               -sum(earned) FILTER (WHERE kind IN ('payout', 'bounce')),
               -sum(available + on_hold) FILTER (WHERE kind IN ('fee', 'bonus fee'))
        FROM marketplace_entry
        """
    )
    sums = [amount or Decimal("0.00") for amount in (deposited, available, on_hold, earned, paid_out, fees)]
    return Totals(entries, requesters, *sums)


def fee_months() -> list[FeeMonth]:
    """The marketplace's income from fees by month, newest first."""
    return [
        FeeMonth(*row)
        for row in _rows(
            """
            SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM') AS month,
                   coalesce(-sum(on_hold) FILTER (WHERE kind = 'fee'), 0.00),
                   coalesce(-sum(available) FILTER (WHERE kind = 'bonus fee'), 0.00)
            FROM marketplace_entry WHERE kind IN ('fee', 'bonus fee') GROUP BY month ORDER BY month DESC
            """
        )
    ]


def _rows(statement: str) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
