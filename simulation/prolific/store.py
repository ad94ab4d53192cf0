"""What the double remembers: one SQLite file, a clock that can be moved, and ids as Prolific's look."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS study (
    id TEXT PRIMARY KEY, body TEXT NOT NULL, status TEXT NOT NULL, created_at REAL NOT NULL, published_at REAL,
    active_at REAL, publish_at REAL, is_stopped INTEGER NOT NULL DEFAULT 0, is_test INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS participant (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, attributes TEXT NOT NULL, is_test INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS submission (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, study TEXT NOT NULL, participant TEXT NOT NULL, status TEXT NOT NULL,
    reserved_at REAL NOT NULL, started_at REAL, completed_at REAL, entered_code TEXT, return_requested REAL,
    return_reasons TEXT NOT NULL DEFAULT '', rejection TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS submission_study ON submission (study, number);
CREATE INDEX IF NOT EXISTS submission_status ON submission (study, status);
CREATE INDEX IF NOT EXISTS submission_participant ON submission (study, participant);
CREATE TABLE IF NOT EXISTS participant_group (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT, is_deleted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS membership (
    participant_group TEXT NOT NULL, participant TEXT NOT NULL, created_at REAL NOT NULL,
    PRIMARY KEY (participant_group, participant)
);
CREATE TABLE IF NOT EXISTS batch (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, amount INTEGER NOT NULL, fees INTEGER NOT NULL, vat INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS batch_line (batch TEXT NOT NULL, submission TEXT NOT NULL, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS payment (
    id INTEGER PRIMARY KEY, batch TEXT NOT NULL, due_at REAL NOT NULL, is_done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS ledger (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, study TEXT, submission TEXT, participant TEXT,
    batch TEXT, amount INTEGER NOT NULL, fee INTEGER NOT NULL DEFAULT 0, vat INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS ledger_submission ON ledger (submission);
CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, sender TEXT NOT NULL, recipient TEXT NOT NULL, study TEXT, body TEXT NOT NULL,
    sent_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS secret (id TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS subscription (
    id TEXT PRIMARY KEY, event_type TEXT NOT NULL, target_url TEXT NOT NULL, secret TEXT NOT NULL,
    is_enabled INTEGER NOT NULL DEFAULT 0, failing_since REAL
);
CREATE TABLE IF NOT EXISTS event (
    id TEXT PRIMARY KEY, subscription TEXT NOT NULL, event_type TEXT NOT NULL, resource_id TEXT NOT NULL,
    payload TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL, next_at REAL NOT NULL,
    copies INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'PENDING'
);
CREATE INDEX IF NOT EXISTS event_due ON event (status, next_at);
"""

# What one account is like. Any of these can be changed by command.
SETTINGS: dict[str, Any] = {
    "currency": "USD",
    "fee": 3333,  # of a reward or bonus, in hundredths of a percent
    "vat": 2000,  # of the fee, in hundredths of a percent
    "features": ["dynamic payment", "fixed screen-out", "secure url", "test participants"],
    "bonus_seconds": 0.2,  # until an accepted `pay` moves the money
    "most_rows": 10_000,  # that a page of a list has, whatever was asked for
    "refuses_more": False,  # whether asking for larger pages is refused, and not cut
    "publishing_seconds": 0.0,  # while a study is PUBLISHING
    "hook_copies": 1,  # deliveries of each event
    "hook_delay": 0.0,  # seconds until the first
    "hook_scatter": 0.0,  # further random seconds, so that events overtake each other
    "hooks_off": False,  # events are not made at all
    "clock": 0.0,  # seconds that the double's clock is ahead
}
Row = sqlite3.Row


class Store:
    """The double's rows. One connection: whoever uses it holds the server's lock."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(TABLES)
        self.account()

    def account(self) -> None:
        """The ids of the account, made once."""
        for name in ("user", "workspace", "project"):
            if self.setting(name, "") == "":
                self.set_settings({name: new_id()})

    def empty(self) -> None:
        """Forget everything but the account's ids and its signing key."""
        tables = self.all("SELECT name FROM sqlite_master WHERE type = 'table'")
        for table in tables:
            if table["name"] != "setting":
                self.do(f"DELETE FROM {table['name']}")
        self.do("DELETE FROM setting WHERE name NOT IN ('user', 'workspace', 'project', 'key', 'key number')")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.do("BEGIN")
        try:
            yield
        except BaseException:
            self.do("ROLLBACK")
            raise
        self.do("COMMIT")

    def do(self, statement: str, *values: Any) -> int:
        """Run a statement; how many rows it changed."""
        return self.connection.execute(statement, values).rowcount

    def all(self, query: str, *values: Any) -> list[Row]:
        return self.connection.execute(query, values).fetchall()

    def one(self, query: str, *values: Any) -> Row | None:
        row: Row | None = self.connection.execute(query, values).fetchone()
        return row

    def number(self, query: str, *values: Any) -> int:
        """The first column of the first row; 0 where it is NULL."""
        return int(self.connection.execute(query, values).fetchone()[0] or 0)

    def insert(self, table: str, **values: Any) -> None:
        """Add a row."""
        marks = ", ".join("?" * len(values))
        self.do(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", *values.values())

    def setting(self, name: str, default: Any = None) -> Any:
        """A setting of the account, or what it is where nobody has set it."""
        row = self.one("SELECT value FROM setting WHERE name = ?", name)
        return json.loads(row["value"]) if row else SETTINGS.get(name, default)

    def set_settings(self, values: dict[str, Any]) -> None:
        """Change settings of the account."""
        for name, value in values.items():
            self.do("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", name, json.dumps(value))

    def has_feature(self, name: str) -> bool:
        """Whether the workspace has something that only some have."""
        return name in self.setting("features")

    def now(self) -> float:
        """The double's time, in seconds since 1970."""
        return time.time() + float(self.setting("clock"))


def new_id() -> str:
    """An id of 24 hexadecimal digits."""
    return secrets.token_hex(12)


def iso(at: float | None) -> str | None:
    """A time as the API writes it."""
    return (
        None
        if at is None
        else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def dicts(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [dict(row) for row in rows]
