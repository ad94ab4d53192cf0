"""How a submission moves: one table of every step, and who takes it. What is not in it is refused."""

from enum import StrEnum
from typing import NamedTuple

from .errors import bad


class Who(StrEnum):
    """Who takes a step."""

    PARTICIPANT = "the participant"
    CLOCK = "Prolific's clock"
    PROGRAM = "the researcher's program"
    HAND = "the researcher or support, at Prolific's own pages"
    CODE = "what a completion code says"


class Step(NamedTuple):
    """Something happens to a submission in one state, which is in another one then. No state: there was none."""

    before: str
    event: str
    after: str
    who: Who


AT_WORK = ("RESERVED", "ACTIVE")
GIVEN_UP = ("RETURNED", "TIMED-OUT")
_BY_STATE = {
    # event: (who, states before, states after; none: it stays)
    "take": (Who.PARTICIPANT, ("",), ("RESERVED",)),
    # in as many browsers as they like
    "open": (Who.PARTICIPANT, AT_WORK, ("ACTIVE",)),
    # with a code, a wrong one, or none; also once their time is over, from a page that is open still
    "come back": (Who.PARTICIPANT, (*AT_WORK, "TIMED-OUT"), ("AWAITING REVIEW",)),
    "screen out": (Who.CODE, (*AT_WORK, "TIMED-OUT"), ("SCREENED OUT",)),
    "approve by code": (Who.CODE, ("AWAITING REVIEW",), ("APPROVED",)),
    "return": (Who.PARTICIPANT, (*AT_WORK, "AWAITING REVIEW"), ("RETURNED",)),
    "time out": (Who.CLOCK, AT_WORK, ("TIMED-OUT",)),
    "approve by time": (Who.CLOCK, ("AWAITING REVIEW",), ("APPROVED",)),
    "approve": (Who.PROGRAM, ("AWAITING REVIEW",), ("APPROVED",)),
    "reject": (Who.PROGRAM, ("AWAITING REVIEW",), ("REJECTED",)),
    # whether they return it is the participant's to say
    "ask for a return": (Who.PROGRAM, ("ACTIVE", "AWAITING REVIEW"), ()),
    "refuse to return": (Who.PARTICIPANT, ("ACTIVE", "AWAITING REVIEW"), ()),
    "end": (Who.PROGRAM, ("ACTIVE", "AWAITING REVIEW"), ("AWAITING REVIEW",)),
    "pay a share": (Who.PROGRAM, ("ACTIVE", "AWAITING REVIEW"), ("PARTIALLY APPROVED",)),
    "approve by hand": (Who.HAND, ("AWAITING REVIEW", *GIVEN_UP, "REJECTED"), ("APPROVED",)),
    "reject by hand": (Who.HAND, ("AWAITING REVIEW",), ("REJECTED",)),
    "reverse": (Who.HAND, ("REJECTED", "RETURNED"), ("AWAITING REVIEW",)),
}
STEPS = frozenset(
    Step(before, event, after, who)
    for event, (who, states, then) in _BY_STATE.items()
    for before in states
    for after in then or (before,)
)
_MAY = {(step.before, step.event): step.after for step in STEPS}


def step(before: str, event: str) -> str:
    """The state after something happened. Raises the API's refusal where it cannot happen in that state."""
    if (before, event) not in _MAY:
        raise bad(f"A submission that is {before or 'not there'} cannot do this: {event}.")
    return _MAY[before, event]


def may(before: str, event: str) -> bool:
    """Whether something can happen in a state."""
    return (before, event) in _MAY
