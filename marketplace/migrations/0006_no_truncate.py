"""Entries of the ledger and of the audit cannot be emptied away either: TRUNCATE fires no triggers of rows."""

from django.db import migrations

TABLES = ["marketplace_entry", "marketplace_auditevent"]


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0005_books_and_calls")]

    operations = [
        migrations.RunSQL(
            f"CREATE TRIGGER never_emptied BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION marketplace_append_only()",
            f"DROP TRIGGER never_emptied ON {table}",
        )
        for table in TABLES
    ]
