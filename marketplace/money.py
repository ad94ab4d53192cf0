"""Amounts and fees. Dollars as Decimal with two places; a float never touches them. Pure."""

import re
from decimal import ROUND_HALF_UP, Decimal

from marketplace.errors import InvalidValue

CENT = Decimal("0.01")
ZERO = Decimal("0.00")
# Of each reward and each bonus.
FEE_SHARE = Decimal("0.20")
# Of each reward, on top, where a HIT asks for LARGE_HIT assignments or more.
LARGE_HIT_SHARE = Decimal("0.20")
LARGE_HIT = 10
SMALLEST_FEE = CENT
_BONUS_KEYWORD = re.compile(r"(?:^|,)\s*bonus-up-to-([0-9]{1,5}\.[0-9]{2})\s*(?:,|$)")
_TIME_KEYWORD = re.compile(r"(?:^|,)\s*takes-([1-9][0-9]{0,3})-minutes?\s*(?:,|$)")
TOO_MUCH = Decimal(100_000)
# The most that an account can hold, and a HIT can cost: what a row of the ledger takes.
LARGEST = Decimal("9999999999.99")


def to_cents(amount: Decimal) -> Decimal:
    """Rounded half up to whole cents."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def amount_read(text: str) -> Decimal:
    """An amount as the API writes it ("2", "2.", "2.5", "2.50"), which has been checked against its pattern.

    Raises InvalidValue if it is more than anybody can mean.
    """
    amount = Decimal(text.rstrip("."))
    if amount >= TOO_MUCH:
        raise InvalidValue(f"An amount of ${text[:40]} is more than this marketplace takes.")
    return amount.quantize(CENT)


def bonus_read(keywords: str) -> Decimal:
    """What a requester says may come on top of a reward, by the keyword `bonus-up-to-1.90`. 0 without it."""
    keyword = _BONUS_KEYWORD.search(keywords)
    return Decimal(keyword[1]) if keyword else ZERO


def minutes_read(keywords: str) -> int | None:
    """How long a requester says a task takes, by the keyword `takes-8-minutes`. None without it."""
    keyword = _TIME_KEYWORD.search(keywords)
    return int(keyword[1]) if keyword else None


def reward_fee(reward: Decimal, assignments: int) -> Decimal:
    """The fee for one assignment of a HIT of that many assignments. At least a cent, if anything is paid."""
    share = FEE_SHARE + (LARGE_HIT_SHARE if assignments >= LARGE_HIT else ZERO)
    return _fee(reward, share)


def bonus_fee(bonus: Decimal) -> Decimal:
    """The marketplace's fee for a bonus."""
    return _fee(bonus, FEE_SHARE)


def _fee(amount: Decimal, share: Decimal) -> Decimal:
    return max(to_cents(amount * share), SMALLEST_FEE) if amount else ZERO
