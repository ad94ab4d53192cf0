"""The trigger that records the changes of a table, as migrations make it.

Migrations call this, so what they have asked for stays what it is: add parameters, and change no output.
"""

from typing import NamedTuple

from django.db.migrations import RunSQL

CHANGES = "INSERT OR UPDATE OR DELETE"
WORKER = "($1->>'worker_id')::bigint"


class Owner(NamedTuple):
    """Where a row belongs: SQL expressions over the row, which is `$1` in JSON, and over a FROM clause."""

    lab: str = "NULL::bigint"
    campaign: str = "NULL::bigint"
    campaign_name: str = "NULL"
    source: str = ""


NOBODY = Owner()
LAB = Owner(lab="($1->>'lab_id')::bigint")
COLLECTION = Owner(lab="lab_id", source="FROM runs_collection WHERE id = ($1->>'collection_id')::bigint")
CAMPAIGN = Owner("lab_id", "id", "name", "FROM pools_campaign WHERE id = ($1->>'campaign_id')::bigint")


def record_changes(
    table: str,
    events: str,
    owner: Owner,
    thing: str = "''",
    *,
    worker: str = "NULL::bigint",
    when: str = "",
    ignored: str = "",
    unsaid: str = "",
    why: str = "",
    new_fields: bool = False,
    name: str = "audit",
) -> RunSQL:
    """The operation that lets `core_audit_record()` see a table's changes, and refuses to empty the table.

    `thing` and `worker` are SQL, as an owner's parts are, and `when` is a condition. The fields in `ignored` are not
    recorded, of those in `unsaid` only that they changed. `why` is the field that gives the reason. A new row's fields
    are recorded with `new_fields` only: otherwise they are in the row.
    """
    about = (
        f"SELECT {owner.lab} AS lab, {owner.campaign} AS campaign, {owner.campaign_name} AS campaign_name, "
        f"{worker} AS worker, {thing} AS thing {owner.source}"
    ).strip()
    parameters = (about, ignored, unsaid, why, "fields" if new_fields else "")
    arguments = ", ".join("'" + text.replace("'", "''") + "'" for text in parameters)
    condition = f"WHEN ({when}) " if when else ""
    return RunSQL(
        f"CREATE TRIGGER {name} AFTER {events} ON {table} FOR EACH ROW {condition}"
        f"EXECUTE FUNCTION core_audit_record({arguments});"
        f"CREATE OR REPLACE TRIGGER audit_not_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT "
        "EXECUTE FUNCTION core_audit_not_emptied()",
        RunSQL.noop,  # it goes with its table
    )
