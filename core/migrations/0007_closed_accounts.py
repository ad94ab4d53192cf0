"""Accounts can be closed: who it was goes, and their acts stay in the audit under the number of the account."""

from django.db import migrations, models

FORGET = """
    CREATE OR REPLACE FUNCTION core_audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mcore_audit_expire\\(' THEN RETURN OLD; END IF;
        IF TG_OP = 'UPDATE' AND stack ~ '(^|\\n)[^"\\n]*\\mcore_audit_forget(_person)?\\(' THEN RETURN NEW; END IF;
        RAISE EXCEPTION 'entries of the audit are never changed or deleted'
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    -- From which networks somebody acted, or somebody tried their log-in, and what they called their tokens.
    CREATE FUNCTION core_audit_forget_person(person bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE core_auditentry SET address = '' WHERE address <> '' AND (
            actor_id = person OR subject = 'session' AND key = person::text
        );
        UPDATE core_auditentry SET changes = (
            SELECT coalesce(jsonb_object_agg(field, NULL), '{}') FROM jsonb_object_keys(changes) AS field
        ) WHERE subject = 'api_token' AND thing = person::text;
    END $$;
"""


class Migration(migrations.Migration):

    dependencies = [("core", "0006_audit_of_newer_tables")]

    operations = [
        migrations.AddField("user", "closed_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.RunSQL(FORGET, "DROP FUNCTION core_audit_forget_person"),
    ]
