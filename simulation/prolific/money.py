"""The account's money, in whole cents: what is paid, what Prolific takes for it, and what running studies hold.

The fee is a share of what a participant gets, the tax a share of the fee; both are rounded half up for each payment,
so that a study's cost is its places times the cost of one.
"""

import json
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from .store import Row, Store

PENDING = ("RESERVED", "ACTIVE", "AWAITING REVIEW")
NOT_TAKEN = ("RETURNED", "TIMED-OUT", "SCREENED OUT")  # these leave their place to somebody else
SPENDING = ("PUBLISHING", "ACTIVE", "PAUSED", "AWAITING REVIEW", "SCHEDULED")  # studies that hold money


class Price(NamedTuple):
    """What one payment costs, in cents."""

    amount: int
    fee: int
    vat: int

    @property
    def total(self) -> int:
        """What leaves the account."""
        return self.amount + self.fee + self.vat


def price(store: Store, amount: int) -> Price:
    """What it costs to pay a participant an amount, in cents."""
    fee = _share(amount, store.setting("fee"))
    return Price(amount, fee, _share(fee, store.setting("vat")))


def pay(store: Store, kind: str, submission: Row, amount: int, batch: str | None = None) -> None:
    """Pay a participant. `kind` is reward, partial, screen-out or bonus."""
    cost = price(store, amount)
    if is_test(store, submission["study"]):
        return
    store.insert(
        "ledger", at=store.now(), kind=kind, study=submission["study"], submission=submission["id"],
        participant=submission["participant"], batch=batch, amount=amount, fee=cost.fee, vat=cost.vat,
    )  # fmt: skip


def deposit(store: Store, cents: int) -> None:
    """Put money into the account."""
    store.insert("ledger", at=store.now(), kind="deposit", amount=cents)


def is_test(store: Store, study: str) -> bool:
    """Whether a study is a test run, which pays nobody."""
    return bool(store.number("SELECT is_test FROM study WHERE id = ?", study))


def total(store: Store) -> int:
    """The balance, in cents, with what is held for studies and bonuses on their way."""
    return store.number("SELECT SUM(CASE kind WHEN 'deposit' THEN amount ELSE -(amount + fee + vat) END) FROM ledger")


def held(store: Store) -> int:
    """What running studies and bonuses on their way will still take, in cents."""
    owed = 0
    for study in store.all("SELECT * FROM study WHERE is_test = 0"):
        body = json.loads(study["body"])
        marks = ", ".join("?" * len(PENDING))
        places = store.number(
            f"SELECT COUNT(*) FROM submission WHERE study = ? AND status IN ({marks})", study["id"], *PENDING
        )
        if study["status"] in SPENDING:
            places += max(0, int(body["total_available_places"]) - places_taken(store, study["id"]))
        owed += places * price(store, int(body["reward"])).total
    coming = "SELECT SUM(amount + fees + vat) FROM payment JOIN batch ON batch.id = batch WHERE is_done = 0"
    return owed + store.number(coming)


def places_taken(store: Store, study_id: str) -> int:
    """How many places are taken, by those who are at work or done."""
    marks = ", ".join("?" * len(NOT_TAKEN))
    query = f"SELECT COUNT(*) FROM submission WHERE study = ? AND status NOT IN ({marks})"
    return store.number(query, study_id, *NOT_TAKEN)


def available(store: Store) -> int:
    """What can be spent, in cents."""
    return total(store) - held(store)


def balance(store: Store) -> dict[str, Any]:
    """The workspace's balance, as the API shows it."""
    whole, free = total(store), available(store)
    return {
        "currency_code": store.setting("currency"),
        "total_balance": whole,
        "balance_breakdown": _parts(store, whole),
        "available_balance": free,
        "available_balance_breakdown": _parts(store, free),
    }


def settle_bonuses(store: Store) -> None:
    """Pay the batches whose time has come. A batch that was sent twice is here twice, and is paid twice."""
    for order in store.all("SELECT * FROM payment WHERE is_done = 0 AND due_at <= ?", store.now()):
        for line in store.all("SELECT * FROM batch_line WHERE batch = ?", order["batch"]):
            submission = store.one("SELECT * FROM submission WHERE id = ?", line["submission"])
            if submission is not None:
                pay(store, "bonus", submission, line["amount"], order["batch"])
        store.do("UPDATE payment SET is_done = 1 WHERE id = ?", order["id"])


def cost_of_study(store: Store, study: Row, is_projected: bool) -> dict[str, Any]:
    """What a study has cost, or will have, as the API shows it."""
    rewards = _sums(store, study["id"], "kind IN ('reward', 'partial', 'screen-out')")
    if is_projected:
        body = json.loads(study["body"])
        unit, places = price(store, int(body["reward"])), int(body["total_available_places"])
        rewards = Price(unit.amount * places, unit.fee * places, unit.vat * places)
    return {
        "rewards": _costs(store, rewards),
        "bonuses": _costs(store, _sums(store, study["id"], "kind = 'bonus'")),
        "_links": {},
    }


def _sums(store: Store, study: str, condition: str) -> Price:
    row = store.one(f"SELECT SUM(amount), SUM(fee), SUM(vat) FROM ledger WHERE study = ? AND {condition}", study)
    return Price(*(int(value or 0) for value in row or (0, 0, 0)))


def _costs(store: Store, cost: Price) -> dict[str, Any]:
    amounts = {"rewards": cost.amount, "fees": cost.fee, "tax": cost.vat}
    return {name: {"amount": cents, "currency": store.setting("currency")} for name, cents in amounts.items()}


def _parts(store: Store, cents: int) -> dict[str, int]:
    """How a balance divides into rewards, fees and tax at the account's rates."""
    unit = price(store, 1_000_000)
    rewards, fees = cents * unit.amount // unit.total, cents * unit.fee // unit.total
    return {"rewards": rewards, "fees": fees, "vat": cents - rewards - fees}


def _share(cents: int, hundredths_of_percent: int) -> int:
    return int((Decimal(cents) * hundredths_of_percent / 10_000).to_integral_value(ROUND_HALF_UP))
