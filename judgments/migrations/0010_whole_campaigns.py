"""A closed campaign's judgments and decisions can be deleted, all of them, by one function and in no other way."""

from django.db import migrations

ERASE = """
    CREATE FUNCTION judgments_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mjudgments_erase_campaign\\(' THEN RETURN OLD; END IF;
        RAISE EXCEPTION '% is append-only: add a newer row instead', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    CREATE OR REPLACE FUNCTION judgments_keep_decision() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'UPDATE' AND stack ~ '(^|\\n)[^"\\n]*\\mjudgments_forget_reasons\\(' THEN RETURN NEW; END IF;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mjudgments_erase_campaign\\(' THEN RETURN OLD; END IF;
        RAISE EXCEPTION '% is append-only: add a newer row instead', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    CREATE FUNCTION judgments_erase_campaign(campaign bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM pools_campaign WHERE id = campaign AND state <> 'closed') THEN
            RAISE EXCEPTION 'campaign % is not closed', campaign USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        DELETE FROM judgments_judgment WHERE assignment_id IN (
            SELECT id FROM tasks_assignment WHERE campaign_id = campaign
        );
        DELETE FROM judgments_decision WHERE campaign_id = campaign;
        DELETE FROM judgments_pairdecision WHERE campaign_id = campaign;
        DELETE FROM judgments_adjudication WHERE campaign_id = campaign;
    END $$;

    DROP TRIGGER judgment_append_only ON judgments_judgment;
    CREATE TRIGGER judgment_append_only BEFORE UPDATE OR DELETE ON judgments_judgment
        FOR EACH ROW EXECUTE FUNCTION judgments_keep();
    DROP TRIGGER pair_decision_append_only ON judgments_pairdecision;
    CREATE TRIGGER pair_decision_append_only BEFORE UPDATE OR DELETE ON judgments_pairdecision
        FOR EACH ROW EXECUTE FUNCTION judgments_keep();
    DROP TRIGGER adjudication_kept ON judgments_adjudication;
    CREATE TRIGGER adjudication_kept BEFORE DELETE OR UPDATE OF campaign_id, pair_id, choice, note, by_id, at
        ON judgments_adjudication FOR EACH ROW EXECUTE FUNCTION judgments_keep();
"""
KEEP = """
    DROP FUNCTION judgments_erase_campaign;
    DROP TRIGGER judgment_append_only ON judgments_judgment;
    CREATE TRIGGER judgment_append_only BEFORE UPDATE OR DELETE ON judgments_judgment
        FOR EACH ROW EXECUTE FUNCTION refuse_change();
    DROP TRIGGER pair_decision_append_only ON judgments_pairdecision;
    CREATE TRIGGER pair_decision_append_only BEFORE UPDATE OR DELETE ON judgments_pairdecision
        FOR EACH ROW EXECUTE FUNCTION refuse_change();
    DROP TRIGGER adjudication_kept ON judgments_adjudication;
    CREATE TRIGGER adjudication_kept BEFORE DELETE OR UPDATE OF campaign_id, pair_id, choice, note, by_id, at
        ON judgments_adjudication FOR EACH ROW EXECUTE FUNCTION refuse_change();
    DROP FUNCTION judgments_keep;
"""


class Migration(migrations.Migration):

    dependencies = [("judgments", "0009_adjudications"), ("tasks", "0010_held_work_index")]

    operations = [migrations.RunSQL(ERASE, KEEP)]
