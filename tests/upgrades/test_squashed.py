"""While each app has one migration, the kept site is what they make."""

import os
import zipfile
from pathlib import Path

from tests.conftest import database_url
from tests.databases import database_create, execute, rows_of_tables, schema
from tests.upgrades import DATABASE


def test_the_kept_site_has_rows_everywhere_and_the_schema_that_the_first_migrations_make(db: None) -> None:
    kept = database_create(f"squashed_{os.getpid()}")
    with zipfile.ZipFile(Path(__file__).parent / "squashed.zip") as archive:
        execute(kept, archive.read(DATABASE).decode())
    assert schema(kept) == schema(database_url())
    assert (
        sum(rows_of_tables(kept, ("runs_", "pools_", "tasks_", "platforms_", "judgments_", "results_")).values()) > 500
    )
