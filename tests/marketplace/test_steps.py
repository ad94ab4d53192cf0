"""How an assignment may move at the marketplace is what Mechanical Turk's documentation says."""

from marketplace.steps import MOVES, STEPS


def test_the_table_has_what_is_documented_and_nothing_else() -> None:
    assert {after for _before, after in MOVES} == {
        *("Accepted", "Submitted", "Approved", "Rejected", "Returned", "Abandoned")
    }
    # Submitted becomes Approved or Rejected; Rejected becomes Approved by OverrideRejection, and nothing else returns.
    assert {after for before, after in MOVES if before == "Submitted"} == {"Approved", "Rejected"}
    assert {after for before, after in MOVES if before == "Rejected"} == {"Approved"}
    assert not [before for before, _after in MOVES if before in ("Approved", "Returned", "Abandoned")]
    # What is accepted is submitted or returned by its worker, and abandoned when its time is over.
    assert {(step.after, step.who) for step in STEPS if step.before == "Accepted"} == {
        ("Submitted", "worker"),
        ("Returned", "worker"),
        ("Abandoned", "clock"),
    }
    # Work that nobody decides on is approved by the clock, and never rejected by it.
    assert {step.after for step in STEPS if step.who == "clock"} == {"Abandoned", "Approved"}
