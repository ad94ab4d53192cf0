"""TRUNCATE runs no trigger for the rows it removes, so it would empty an audited table without a trace: it is refused."""

from django.db import migrations

REFUSE = """
    CREATE FUNCTION core_audit_not_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'rows of % are audited: delete them, as TRUNCATE would leave no trace', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    DO $$
    DECLARE audited regclass;
    BEGIN
        FOR audited IN SELECT DISTINCT tgrelid::regclass FROM pg_trigger WHERE tgfoid = 'core_audit_record'::regproc LOOP
            EXECUTE format('CREATE TRIGGER audit_not_emptied BEFORE TRUNCATE ON %s FOR EACH STATEMENT '
                'EXECUTE FUNCTION core_audit_not_emptied()', audited);
        END LOOP;
    END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("core", "0008_audit_of_lab_accounts"),
        ("api", "0003_webhooks_held"),
        ("judgments", "0014_asking_machines"),
        ("leaderboards", "0015_season_checks"),
        ("platforms", "0013_returns"),
        ("pools", "0036_rounds_end_with_most_wins"),
        ("tasks", "0018_alarm_about_rounds"),
    ]

    operations = [migrations.RunSQL(REFUSE, "DROP FUNCTION core_audit_not_emptied CASCADE")]
