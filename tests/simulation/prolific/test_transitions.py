"""How a submission moves at the double is what is known of Prolific, and everything else is refused."""

import itertools
import json
from pathlib import Path

import pytest

from simulation.prolific import commands, money, studies, submissions
from simulation.prolific.errors import ApiError
from simulation.prolific.store import Row, Store
from simulation.prolific.transitions import STEPS, Who

# What Prolific's API description lists, and its help pages and users tell, beside what may never be.
STATUSES = {
    *("RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED", "RETURNED"),
    *("TIMED-OUT", "SCREENED OUT"),
}
EVENTS = {
    "open": lambda store, row: submissions.submission_open(store, row),
    "come back": lambda store, row: submissions.submission_complete(store, row, "WRONG"),
    "screen out": lambda store, row: submissions.submission_complete(store, row, "OUT"),
    "return": lambda store, row: submissions.submission_return(store, row),
    "time out": lambda store, row: submissions.submission_time_out(store, row),
    "approve": lambda store, row: submissions.submission_approve(store, row),
    "reject": lambda store, row: submissions.submission_reject(store, row, "x" * 100, "OTHER"),
    "ask for a return": lambda store, row: submissions.submission_ask_return(store, row, ["Why"]),
    "refuse to return": lambda store, row: submissions.submission_refuse_return(
        store, submissions.submission_ask_return(store, row, ["Why"])
    ),
    "end": lambda store, row: submissions.submission_end(store, row, "END", None),
    "pay a share": lambda store, row: submissions.submission_end(store, row, "PART", {"percentage_of_reward": 50}),
    "approve by hand": lambda store, row: commands.approve(store, submission=row["id"]),
    "reject by hand": lambda store, row: commands.reject(store, submission=row["id"]),
    "reverse": lambda store, row: commands.reverse(store, submission=row["id"]),
}
CODES = [
    {"code": "AUTO", "code_type": "OTHER", "actions": [{"action": "AUTOMATICALLY_APPROVE"}]},
    {
        "code": "OUT",
        "code_type": "FIXED_SCREENOUT",
        "actions": [{"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 1000}],
    },
    {"code": "PART", "code_type": "OTHER", "actor": "researcher", "actions": [{"action": "DYNAMIC_PAYMENT"}]},
    {"code": "END", "code_type": "OTHER", "actor": "researcher", "actions": [{"action": "MANUALLY_REVIEW"}]},
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A double's rows, without its server: a study of one place after another."""
    store = Store(tmp_path / "double.sqlite3")
    store.set_settings({"hooks_off": True})
    money.deposit(store, 1_000_000)
    body = {
        "external_study_url": "https://lab.example.org/", "is_external_study_url_secure": False, "reward": 200,
        "total_available_places": 1000, "completion_codes": CODES, "submissions_config": {}, "filters": [],
        "maximum_allowed_time": 60, "metadata": "",
    }  # fmt: skip
    store.insert("study", id="s", body=json.dumps(body), status="ACTIVE", created_at=0.0)
    return store


def somebody(store: Store, status: str) -> Row:
    """A submission that is in this state, whichever way it came there."""
    person = commands.participant_get(store, commands.participant(store, name="Pat"))
    row = submissions.submission_reserve(store, studies.study_get(store, "s"), person)
    store.do("UPDATE submission SET status = ? WHERE id = ?", status, row["id"])
    return submissions.submission_get(store, row["id"])


def test_each_event_moves_a_submission_as_the_table_says_and_no_other_way(store: Store) -> None:
    table = {(step.before, step.event): step.after for step in STEPS}
    for before, (event, act) in itertools.product(sorted(STATUSES), EVENTS.items()):
        row = somebody(store, before)
        again = (event, before) in {
            ("approve", "APPROVED"), ("approve by hand", "APPROVED"), ("reject", "REJECTED"),
            ("reject by hand", "REJECTED"),
        }  # fmt: skip
        if (before, event) in table or again:
            act(store, row)
        else:
            with pytest.raises(ApiError):
                act(store, row)
        after = submissions.submission_get(store, row["id"])["status"]
        assert after == table.get((before, event), before), (before, event)
        paid = store.number("SELECT COUNT(*) FROM ledger WHERE submission = ?", row["id"])
        pays = (before, event) in table and after in ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT")
        assert paid == pays, (before, event)


def test_the_clock_and_codes_move_a_submission_as_the_table_says(store: Store) -> None:
    active, waiting, coded = somebody(store, "ACTIVE"), somebody(store, "ACTIVE"), somebody(store, "ACTIVE")
    submissions.submission_complete(store, waiting, None)
    assert submissions.submission_complete(store, coded, "AUTO")["status"] == "APPROVED"
    store.set_settings({"clock": 22 * 86_400.0})
    submissions.submissions_tick(store)
    states = [submissions.submission_get(store, row["id"])["status"] for row in (active, waiting)]
    assert states == ["TIMED-OUT", "APPROVED"]


def test_a_return_is_refused_once_it_was_asked_for_and_the_work_waits_as_before(store: Store) -> None:
    row = somebody(store, "AWAITING REVIEW")
    with pytest.raises(ApiError, match="Nobody asked"):
        submissions.submission_refuse_return(store, row)
    submission = submissions.submission_refuse_return(store, submissions.submission_ask_return(store, row, ["Why"]))
    assert (submission["status"], submission["return_requested"]) == ("AWAITING REVIEW", None)


def test_the_table_says_what_is_known_of_prolific() -> None:
    moves = {(step.before, step.after, step.who) for step in STEPS}
    assert {state for step in STEPS for state in (step.before, step.after)} == STATUSES | {""}
    # Over the time allowed, participants can complete still; timed-out or returned ones can be approved by hand.
    assert ("TIMED-OUT", "AWAITING REVIEW", Who.PARTICIPANT) in moves
    assert {("RETURNED", "APPROVED", Who.HAND), ("TIMED-OUT", "APPROVED", Who.HAND)} <= moves
    assert {("REJECTED", "APPROVED", Who.HAND), ("REJECTED", "AWAITING REVIEW", Who.HAND)} <= moves
    # By the API, only what waits for review is approved or rejected.
    decided = [step for step in STEPS if step.who == Who.PROGRAM and step.after in ("APPROVED", "REJECTED")]
    assert {step.before for step in decided} == {"AWAITING REVIEW"}
    # What is paid stays so, and whether something is returned is the participant's to say.
    assert not [step for step in STEPS if step.before in ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT")]
    assert {step.who for step in STEPS if step.after == "RETURNED"} == {Who.PARTICIPANT}
