import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.audit.triggers import CHANGES, LAB, NOBODY, record_changes

# Most labs have no webhook, and then nothing is written. What is told holds keys and names of the lab's own things, and
# nothing about workers. Telling a webhook holds it until the end of the transaction, so that nobody deletes it meanwhile.
TELL = """
    CREATE FUNCTION api_tell(lab bigint, event text, data jsonb) RETURNS void LANGUAGE sql AS $$
        INSERT INTO api_delivery (message, webhook_id, event, data, made_at, tries, next_try_at, problem)
        SELECT gen_random_uuid(), id, event, data, clock_timestamp(), 0, clock_timestamp(), ''
        FROM (
            SELECT id FROM api_webhook WHERE lab_id = lab AND disabled_at IS NULL AND events ? event
            ORDER BY id FOR KEY SHARE
        ) AS webhook
    $$;

    CREATE FUNCTION api_campaign(campaign bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
        SELECT jsonb_build_object('id', id, 'name', name, 'state', state) FROM pools_campaign WHERE id = campaign
    $$;

    CREATE FUNCTION api_lab(campaign bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
        SELECT lab_id FROM pools_campaign WHERE id = campaign
    $$;
"""

TOLD = {
    "pools_campaign": (
        "AFTER UPDATE OF state, finished_revision ON pools_campaign FOR EACH ROW WHEN (OLD.state <> NEW.state OR "
        "OLD.finished_revision IS DISTINCT FROM NEW.finished_revision)",
        """
        IF OLD.state <> NEW.state THEN
            event := CASE
                WHEN OLD.state = 'draft' THEN 'campaign.started'
                WHEN NEW.state = 'paused' THEN 'campaign.paused'
                WHEN NEW.state = 'closed' THEN 'campaign.closed'
                WHEN NEW.state = 'open' AND OLD.state <> 'packing' THEN 'campaign.resumed'
            END;
            IF event IS NOT NULL THEN
                PERFORM api_tell(NEW.lab_id, event, jsonb_build_object('campaign', api_campaign(NEW.id)));
            END IF;
        END IF;
        IF NEW.finished_revision = NEW.revision AND OLD.finished_revision IS DISTINCT FROM NEW.finished_revision THEN
            PERFORM api_tell(NEW.lab_id, 'campaign.finished', jsonb_build_object('campaign', api_campaign(NEW.id)));
        END IF;
        """,
    ),
    "platforms_publication": (
        "AFTER UPDATE OF state ON platforms_publication FOR EACH ROW WHEN (OLD.state <> NEW.state)",
        """
        event := CASE NEW.state WHEN 'open' THEN 'publication.opened' WHEN 'paused' THEN 'publication.paused'
            WHEN 'stopped' THEN 'publication.stopped' END;
        IF event IS NOT NULL THEN
            PERFORM api_tell(api_lab(NEW.campaign_id), event, jsonb_build_object(
                'campaign', api_campaign(NEW.campaign_id), 'platform', NEW.platform));
        END IF;
        """,
    ),
    "runs_job": (
        "AFTER UPDATE OF state ON runs_job FOR EACH ROW WHEN (OLD.state <> NEW.state AND "
        "NEW.state IN ('done', 'refused', 'failed'))",
        """
        PERFORM api_tell(NEW.lab_id, CASE NEW.state WHEN 'done' THEN 'job.finished' ELSE 'job.failed' END,
            jsonb_build_object('job', jsonb_build_object('id', NEW.id, 'kind', NEW.kind, 'name', NEW.name,
                'state', NEW.state, 'collection', NEW.collection_id, 'run', NEW.run_id,
                'campaign', NEW.outcome_id)));
        """,
    ),
    "judgments_alarmepisode": (
        "AFTER INSERT ON judgments_alarmepisode FOR EACH ROW",
        """
        PERFORM api_tell(api_lab(NEW.campaign_id), 'alarm.raised', jsonb_build_object(
            'campaign', api_campaign(NEW.campaign_id), 'kind', NEW.kind));
        """,
    ),
    "results_result": (
        "AFTER INSERT OR UPDATE OF computed_at ON results_result FOR EACH ROW",
        """
        PERFORM api_tell(api_lab(NEW.campaign_id), 'results.ready', jsonb_build_object(
            'campaign', api_campaign(NEW.campaign_id), 'revision', NEW.revision));
        """,
    ),
    "pools_qrelsversion": (
        "AFTER INSERT ON pools_qrelsversion FOR EACH ROW",
        """
        PERFORM api_tell(lab_id, 'version.made', jsonb_build_object(
            'collection', jsonb_build_object('id', id, 'name', name), 'number', NEW.number,
            'campaign', api_campaign(NEW.campaign_id))) FROM runs_collection WHERE id = NEW.collection_id;
        """,
    ),
}

def _tell(table):
    when, body = TOLD[table]
    return (
        f"CREATE FUNCTION api_tell_of_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE event text; "
        f"BEGIN {body} RETURN NULL; END $$; "
        f"CREATE TRIGGER tell {when} EXECUTE FUNCTION api_tell_of_{table}()"
    )


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('results', '0001_initial'),
        ('platforms', '0001_initial'),
        ('judgments', '0001_initial'),
        ('socialaccount', '0006_alter_socialaccount_extra_data'),
        ('mfa', '0003_authenticator_type_uniq'),
        ('account', '0009_emailaddress_unique_primary_email'),
        ('core', '0001_initial'),
        ('pools', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message', models.UUIDField(default=uuid.uuid4, help_text='The same however often it is sent.', unique=True)),
                ('event', models.CharField(max_length=30)),
                ('data', models.JSONField()),
                ('made_at', models.DateTimeField()),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('tried_at', models.DateTimeField(null=True)),
                ('next_try_at', models.DateTimeField(null=True)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('problem', models.TextField(blank=True, help_text='Why the last try failed.')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.CreateModel(
            name='StoredAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=255)),
                ('request', models.CharField(help_text='SHA-256 of method, address and content.', max_length=64)),
                ('status', models.PositiveSmallIntegerField()),
                ('location', models.CharField(blank=True, max_length=500)),
                ('content', models.JSONField(null=True)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('start', models.CharField(help_text='Its first characters, to recognize it by.', max_length=16)),
                ('digest', models.CharField(help_text='SHA-256 of the token.', max_length=64, unique=True)),
                ('scopes', models.JSONField(help_text='Values of Scope.')),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(blank=True, help_text='To the minute.', null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500)),
                ('events', models.JSONField(help_text='Values of Event.')),
                ('secret', models.TextField(help_text='Sealed (core.sealing).')),
                ('created_at', models.DateTimeField()),
                ('failing_since', models.DateTimeField(help_text='Empty once it takes something.', null=True)),
                ('disabled_at', models.DateTimeField(null=True)),
                ('disabled_why', models.TextField(blank=True, help_text='Empty if a person did it.')),
            ],
        ),
        migrations.CreateModel(
            name='WorkTold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('submitted', models.PositiveIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name='storedanswer',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='token',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='webhook',
            name='created_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='webhook',
            name='lab',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='core.lab'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='webhook',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='api.webhook'),
        ),
        migrations.AddField(
            model_name='worktold',
            name='campaign',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='pools.campaign'),
        ),
        migrations.AddField(
            model_name='worktold',
            name='webhook',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='api.webhook'),
        ),
        migrations.AddIndex(
            model_name='storedanswer',
            index=models.Index(fields=['at'], name='answer_by_age'),
        ),
        migrations.AddConstraint(
            model_name='storedanswer',
            constraint=models.UniqueConstraint(fields=('user', 'key'), name='answer_once_per_key'),
        ),
        migrations.AddIndex(
            model_name='webhook',
            index=models.Index(fields=['lab', 'id'], name='webhook_of_lab'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('disabled_why', ''), ('disabled_at__isnull', False), _connector='OR'), name='webhook_disabled_why'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('next_try_at__isnull', False)), fields=['webhook', 'next_try_at', 'id'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['webhook', '-id'], name='delivery_newest_first'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['made_at'], name='delivery_by_age'),
        ),
        migrations.AddConstraint(
            model_name='worktold',
            constraint=models.UniqueConstraint(fields=('webhook', 'campaign'), name='work_told_once'),
        ),
        migrations.RunSQL(TELL, "DROP FUNCTION api_tell; DROP FUNCTION api_campaign; DROP FUNCTION api_lab"),
        *(migrations.RunSQL(_tell(table), f"DROP FUNCTION api_tell_of_{table} CASCADE") for table in TOLD),
        record_changes("account_emailaddress", CHANGES, NOBODY, "$1->>'user_id'", ignored="user_id", unsaid="email"),
        record_changes(
            "api_token",
            CHANGES,
            NOBODY,
            "$1->>'user_id'",
            ignored="user_id start digest last_used_at created_at",
            new_fields=True,
        ),
        record_changes(
            "api_webhook",
            CHANGES,
            LAB,
            "substring($1->>'url' from '^https?://([^/?]+)')",
            ignored="lab_id created_at created_by_id failing_since",
            unsaid="url",
            why="disabled_why",
            new_fields=True,
        ),
        record_changes(
            "mfa_authenticator",
            "INSERT OR DELETE",
            NOBODY,
            "$1->>'user_id'",
            ignored="user_id data created_at last_used_at",
            new_fields=True,
        ),
        record_changes(
            "socialaccount_socialaccount",
            "INSERT OR DELETE",
            NOBODY,
            "$1->>'user_id'",
            ignored="user_id last_login date_joined",
            unsaid="uid extra_data",
            new_fields=True,
        ),
    ]
