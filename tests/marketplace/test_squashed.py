"""While there is one migration, the kept database of the marketplace is what it makes."""

import os
from pathlib import Path

from tests.databases import database_create, execute, rows_of_tables, schema
from tests.marketplace.server import database_migrate, database_with_tables


def test_the_kept_database_has_rows_and_the_schema_that_the_first_migration_makes() -> None:
    url = database_create(f"marketplace_squashed_{os.getpid()}")
    execute(url, (Path(__file__).parent / "upgrades" / "squashed.sql").read_text())
    database_migrate(url, "testing")
    assert schema(url) == schema(database_with_tables(f"marketplace_new_{os.getpid()}"))
    assert sum(rows_of_tables(url, ("marketplace_",)).values()) > 100
