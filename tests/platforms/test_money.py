"""Amounts are exact: rounded half up to cents, never away."""

from decimal import Decimal

import pytest

from core.money import dollars, owed


@pytest.mark.parametrize(("judged", "amount"), [(0, "0.00"), (1, "0.15"), (6, "0.92"), (12, "1.85"), (13, "2.00")])
def test_what_is_owed_for_part_of_a_hit(judged: int, amount: str) -> None:
    assert owed(Decimal("2.00"), judged, 13) == Decimal(amount)


def test_half_a_cent_is_rounded_up() -> None:
    assert owed(Decimal("0.01"), 1, 2) == Decimal("0.01")


def test_amounts_are_written_with_cents() -> None:
    assert dollars(Decimal("34053.6")) == "$34,053.60"
