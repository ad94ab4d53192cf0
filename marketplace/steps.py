"""How an assignment moves: every step from one state to another, and who takes it. No other is taken."""

from typing import NamedTuple


class Step(NamedTuple):
    """From one state to another. No state before: there was no assignment."""

    before: str
    after: str
    who: str


STEPS = frozenset(
    {
        Step("", "Accepted", "worker"),
        Step("Accepted", "Submitted", "worker"),
        Step("Accepted", "Returned", "worker"),
        Step("Accepted", "Abandoned", "clock"),
        Step("Submitted", "Approved", "requester"),
        Step("Submitted", "Approved", "clock"),
        Step("Submitted", "Rejected", "requester"),
        Step("Rejected", "Approved", "requester"),  # by OverrideRejection, or as the operator decides on a dispute
    }
)
MOVES = frozenset((step.before, step.after) for step in STEPS)
