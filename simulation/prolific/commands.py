"""What tests tell the double to do, at /_double/NAME: the clock, people, money, settings, and what it has seen."""

import json
from collections.abc import Callable
from typing import Any

from . import filters, messages, money, studies, submissions
from .errors import missing
from .store import Row, Store, dicts, new_id

COMMANDS: dict[str, Callable[..., Any]] = {}


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command by the function's name."""
    COMMANDS[function.__name__] = function
    return function


@command
def settings(store: Store, **values: Any) -> dict[str, Any]:
    """Change the account: currency, fee, vat, features, bonus_seconds, publishing_seconds, hook_…"""
    store.set_settings(values)
    return {"workspace": store.setting("workspace"), "project": store.setting("project")}


@command
def advance(store: Store, *, seconds: float) -> float:
    """Move the clock."""
    store.set_settings({"clock": store.setting("clock") + seconds})
    return store.now()


@command
def deposit(store: Store, *, cents: int) -> int:
    """Put money into the account. The balance afterwards."""
    money.deposit(store, cents)
    return money.total(store)


@command
def participant(store: Store, *, name: str, **attributes: Any) -> str:
    """A new person: country, languages, sex, age, approval_rate, approvals. Their id."""
    unknown = set(attributes) - set(filters.NEW_PERSON)
    if unknown:
        raise ValueError(f"A person has no {', '.join(sorted(unknown))}.")
    participant_id = new_id()
    store.insert("participant", id=participant_id, name=name, attributes=json.dumps(attributes))
    return participant_id


@command
def open_studies(store: Store, *, participant: str) -> list[str]:
    """The ids of the studies that somebody sees."""
    person = participant_get(store, participant)
    rows = store.all("SELECT * FROM study ORDER BY created_at")
    return [study["id"] for study in rows if submissions.is_open(store, study, person)]


@command
def reserve(store: Store, *, study: str, participant: str) -> str:
    """Take a place; the submission's id."""
    row = studies.study_get(store, study)
    reserved: str = submissions.submission_reserve(store, row, participant_get(store, participant))["id"]
    return reserved


@command
def begin(store: Store, *, submission: str) -> str:
    """Open the study: its address, with this person's parameters."""
    return submissions.submission_open(store, submissions.submission_get(store, submission))


@command
def sign(store: Store, *, claims: dict[str, Any]) -> str:
    """A token with these claims, as Prolific would sign them."""
    return submissions.sign(store, claims)


@command
def replace_key(store: Store) -> None:
    """Sign tokens with another key from now on."""
    submissions.key_replace(store)


@command
def complete(store: Store, *, submission: str, code: str | None) -> str:
    """Come back with a code, or end without one; the state afterwards."""
    row = submissions.submission_get(store, submission)
    status: str = submissions.submission_complete(store, row, code)["status"]
    return status


@command
def give_back(store: Store, *, submission: str) -> str:
    """Return a submission; the state afterwards."""
    status: str = submissions.submission_return(store, submissions.submission_get(store, submission))["status"]
    return status


@command
def time_out(store: Store, *, submission: str) -> str:
    """End somebody's time; the state afterwards."""
    status: str = submissions.submission_time_out(store, submissions.submission_get(store, submission))["status"]
    return status


@command
def approve(store: Store, *, submission: str) -> str:
    """Approve a submission at Prolific's own pages; the state afterwards."""
    row = submissions.submission_get(store, submission)
    status: str = submissions.submission_approve(store, row, "approve by hand")["status"]
    return status


@command
def reject(store: Store, *, submission: str) -> str:
    """Reject a submission at Prolific's own pages; the state afterwards."""
    row, why = submissions.submission_get(store, submission), "Rejected by hand. ".ljust(submissions.SHORTEST_MESSAGE)
    status: str = submissions.submission_reject(store, row, why, "OTHER", "reject by hand")["status"]
    return status


@command
def reverse(store: Store, *, submission: str) -> str:
    """Take back a rejection or a return at Prolific's own pages; the state afterwards."""
    row = submissions.submission_get(store, submission)
    status: str = submissions.submission_reverse(store, row)["status"]
    return status


@command
def write(store: Store, *, participant: str, body: str, study: str | None = None) -> str:
    """A participant writes to the account; the message's id."""
    participant_get(store, participant)
    return messages.message_send(store, participant, [store.setting("user")], body, study)[0]


@command
def sql(store: Store, *, statement: str) -> int:
    """Change the double's rows behind everybody's back; how many."""
    return store.do(statement)


@command
def pause(store: Store, *, study: str) -> None:
    """Pause a study from Prolific's side, as used-up slots do."""
    studies.study_move(store, study, "PAUSED")


@command
def ledger(store: Store) -> list[dict[str, Any]]:
    """Every movement of money, oldest first: kind, amount, fee and vat in cents, study, submission, batch."""
    return dicts(store.all("SELECT * FROM ledger ORDER BY id"))


@command
def balance(store: Store) -> dict[str, Any]:
    """The balance, as the API shows it."""
    return money.balance(store)


@command
def rows(store: Store, *, table: str) -> list[dict[str, Any]]:
    """All rows of a table: study, submission, participant, event, batch, payment, subscription."""
    if not store.number("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?", table):
        raise ValueError(f"There is no table {table}.")
    return dicts(store.all(f"SELECT * FROM {table}"))


def participant_get(store: Store, participant_id: str) -> Row:
    person = store.one("SELECT * FROM participant WHERE id = ?", participant_id)
    if person is None:
        raise missing(f"The participant {participant_id}")
    return person
