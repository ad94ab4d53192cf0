"""A database of an earlier version, with data, becomes one of this version, and nothing in it is lost."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import execute, rows_of_tables, schema
from tests.marketplace.people import OPERATOR, Person
from tests.marketplace.server import Marketplace, database_migrate, database_with_tables
from tests.marketplace.upgrades import KEPT, restored


class Upgraded(Marketplace):
    """A marketplace whose database is an earlier version's, upgraded. Its clock shows the time of the dump."""

    def __init__(self, folder: Path, dump: Path) -> None:
        self._dump = dump
        super().__init__(folder, workers=1)

    def make_database(self, name: str) -> str:
        """Restore the dump, as it was left, and migrate it."""
        address = restored(self._dump, name)
        self.before = rows_of_tables(address, ("marketplace_",))
        ((moment,),) = execute(address, "SELECT max(at) FROM marketplace_auditevent")
        database_migrate(address)
        execute(address, "INSERT INTO testing_clock (id, ahead) SELECT 1, %s - now()", moment)
        return address


@pytest.fixture(scope="module", params=KEPT, ids=lambda dump: dump.stem)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """A marketplace on each earlier version's database."""
    running = Upgraded(tmp_path_factory.mktemp("upgraded"), request.param)
    yield running
    running.stop()


def test_an_upgraded_database_has_the_schema_of_a_new_one(upgraded: Upgraded) -> None:
    new = database_with_tables(f"marketplace_new_{os.getpid()}")

    assert schema(upgraded.database) == schema(new)


def test_an_upgrade_keeps_every_row_and_the_books(upgraded: Upgraded) -> None:
    after = rows_of_tables(upgraded.database, ("marketplace_",))

    assert {table: after[table] for table in upgraded.before} == upgraded.before
    ((entries,),) = upgraded.sql("SELECT count(*) FROM marketplace_entry")
    assert entries > 20
    printed = upgraded.run("verify_ledger")
    assert f"{entries} entries of 2 requesters. Deposited $110.00:" in printed
    assert "The books are right." in printed


def test_people_and_programs_go_on_after_an_upgrade(upgraded: Upgraded) -> None:
    ((key_id,),) = upgraded.sql("SELECT key_id FROM marketplace_accesskey WHERE label = 'a second key'")
    secret = upgraded.run("shell", "--no-imports", "-c", SECRET.format(key_id=key_id))
    client = upgraded.client(key_id, secret)

    balance = client.get_account_balance()
    titles = {hit["Title"] for hit in client.list_hits(MaxResults=100)["HITs"]}

    assert (balance["AvailableBalance"], balance["OnHoldBalance"]) == ("91.00", "6.00")
    assert titles == {"Compare", "At work", "Waits for a decision", "Given back", "For readers"}
    worker = Person(upgraded, "wanda1@example.org")
    assert "$1.50" in worker.get("/earnings").text
    assert "More soon" in worker.get("/messages").text
    olga = Person(upgraded, OPERATOR)
    audit = olga.get("/operator/audit").text
    assert len(re.findall(f"<td[^>]*>{OPERATOR}</td>", audit)) == 8  # who did it, and twice on whom
    assert "account 1" not in audit
    assert "$0.50" in olga.get("/operator/books").text


SECRET = """
from marketplace.models import AccessKey
from marketplace.services.keys import key_secret
print(key_secret(AccessKey.objects.get(key_id='{key_id}')))
"""
