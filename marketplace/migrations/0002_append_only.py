"""Entries of the ledger and of the audit cannot be changed or deleted, by anybody."""

from django.db import migrations

TABLES = ["marketplace_entry", "marketplace_auditevent"]


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
            CREATE FUNCTION marketplace_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME;
            END $$
            """,
            "DROP FUNCTION marketplace_append_only()",
        ),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION marketplace_append_only()",
                f"DROP TRIGGER append_only ON {table}",
            )
            for table in TABLES
        ),
    ]
