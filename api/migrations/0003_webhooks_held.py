"""Who tells a webhook something holds it until the end of the transaction, so that nobody deletes it meanwhile."""

from django.db import migrations

TELL = """
    CREATE OR REPLACE FUNCTION api_tell(lab bigint, event text, data jsonb) RETURNS void LANGUAGE sql AS $$
        INSERT INTO api_delivery (message, webhook_id, event, data, made_at, tries, next_try_at, problem)
        SELECT gen_random_uuid(), id, event, data, clock_timestamp(), 0, clock_timestamp(), ''
        FROM (
            SELECT id FROM api_webhook WHERE lab_id = lab AND disabled_at IS NULL AND events ? event
            ORDER BY id FOR KEY SHARE
        ) AS webhook
    $$;
"""


class Migration(migrations.Migration):
    dependencies = [("api", "0002_webhooks")]

    operations = [migrations.RunSQL(TELL, migrations.RunSQL.noop)]
