"""Judgments and rulings are append-only: the database itself refuses to change or delete one."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: add a newer row instead', TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER judgment_append_only BEFORE UPDATE OR DELETE ON judgments_judgment
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ruling_append_only BEFORE UPDATE OR DELETE ON judgments_ruling
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
"""
BACKWARD = """
DROP TRIGGER ruling_append_only ON judgments_ruling;
DROP TRIGGER judgment_append_only ON judgments_judgment;
DROP FUNCTION refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("judgments", "0002_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
