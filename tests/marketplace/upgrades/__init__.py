"""What installations of earlier versions hold: rows, and from which migration their tables are. make.py writes them."""

import hashlib
from pathlib import Path

from tests.databases import database_create, execute, schema
from tests.marketplace.server import REPOSITORY, database_migrate

KEPT = sorted(Path(__file__).parent.glob("*.sql"))


def restored(rows: Path, name: str) -> str:
    """A new database as an installation of that version left it. Its address."""
    _comment, migration, digest = rows.read_text().partition("\n")[0].split()
    address = database_create(name)
    database_migrate(address, "marketplace", migration)
    assert tables_digest(address) == digest, f"{migration} made other tables when {rows.name} was written"
    execute(address, rows.read_text())
    return address


def newest_migration() -> str:
    return max((REPOSITORY / "marketplace" / "migrations").glob("0*.py")).stem


def tables_digest(address: str) -> str:
    """Another one for other tables, columns, constraints, indexes, triggers or functions of the marketplace."""
    things = [thing for thing in schema(address) if "marketplace_" in thing[1]]
    return hashlib.sha256(repr(things).encode()).hexdigest()[:16]
