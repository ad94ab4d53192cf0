"""The audit: one append-only table, and triggers that write into it whatever way a row is changed."""

from django.db import migrations, models

# Which fields changed: {field: [before, after]}. Of secrets, and of what names or describes a person, only that they did.
# Long texts are cut. Fields without a value are left out of what is said about a row that comes or goes.
RECORD = """
    CREATE FUNCTION core_audit_short(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN length(value #>> '{}') > 300 THEN to_jsonb(left(value #>> '{}', 300) || '…') ELSE value END
    $$;

    CREATE FUNCTION core_audit_changes(before jsonb, after jsonb, ignored text[], told text[]) RETURNS jsonb
    LANGUAGE sql IMMUTABLE AS $$
        SELECT coalesce(jsonb_object_agg(field, CASE
            WHEN field = ANY (told) OR field ~ '(password|secret|token|_key|sealed)' OR field IN ('link', 'reference')
            THEN NULL
            ELSE jsonb_build_array(core_audit_short(before -> field), core_audit_short(after -> field))
        END), '{}')
        FROM jsonb_object_keys(coalesce(before, after)) AS field
        WHERE field <> ALL (ignored) AND before -> field IS DISTINCT FROM after -> field
            AND coalesce(before ->> field, '') || coalesce(after ->> field, '') NOT IN ('', '[]', '{}')
    $$;

    -- Arguments: a query for (lab, campaign, campaign's name, worker, name of the thing) of a row given as $1 in JSON,
    -- the fields that are ignored, those of which only is told that they changed, the field that says why, and whether
    -- a new row's fields are wanted.
    CREATE FUNCTION core_audit_record() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        before jsonb; after jsonb; changes jsonb; about record;
        told text[] := string_to_array(TG_ARGV[2], ' ');
        said jsonb := nullif(current_setting('bestknown.audit', true), '');
    BEGIN
        IF TG_OP <> 'INSERT' THEN before := to_jsonb(OLD); END IF;
        IF TG_OP <> 'DELETE' THEN after := to_jsonb(NEW); END IF;
        -- What a new row holds is in the row, and each change of it will say what was there before.
        changes := CASE WHEN TG_OP = 'INSERT' AND TG_ARGV[4] = '' THEN '{}'
            ELSE core_audit_changes(before, after, string_to_array(TG_ARGV[1] || ' id', ' '), told) END;
        IF TG_OP = 'UPDATE' AND changes = '{}' THEN RETURN NULL; END IF;
        EXECUTE TG_ARGV[0] INTO about USING coalesce(after, before);
        INSERT INTO core_auditentry (
            at, subject, key, thing, action, changes, lab_id, campaign_id, campaign, worker_id, actor_kind, actor_id,
            actor_name, address, request_id, why
        ) VALUES (
            clock_timestamp(), TG_TABLE_NAME, coalesce(after, before) ->> 'id',
            coalesce(left(about.thing, 200), ''), lower(TG_OP), changes,
            about.lab, about.campaign, coalesce(about.campaign_name, ''), about.worker,
            coalesce(said ->> 'kind', 'database'), (said ->> 'person')::bigint,
            CASE WHEN said IS NULL THEN session_user::text ELSE coalesce(said ->> 'name', '') END,
            coalesce(said ->> 'address', ''), coalesce(said ->> 'request', ''),
            coalesce(nullif(after ->> TG_ARGV[3], ''), said ->> 'why', '')
        );
        RETURN NULL;
    END $$;
"""
# Entries are added, and nothing else. What has become old goes through core_audit_expire(), and what was said about a
# worker through core_audit_forget(): the call stack shows it, so that no setting opens the table. Its lines are in the
# server's language; statements in them, which may say anything, stand in quotes.
KEEP = """
    CREATE FUNCTION core_audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mcore_audit_expire\\(' THEN RETURN OLD; END IF;
        IF TG_OP = 'UPDATE' AND stack ~ '(^|\\n)[^"\\n]*\\mcore_audit_forget\\(' THEN RETURN NEW; END IF;
        RAISE EXCEPTION 'entries of the audit are never changed or deleted'
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;
    CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON core_auditentry
        FOR EACH ROW EXECUTE FUNCTION core_audit_keep();
    CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON core_auditentry
        FOR EACH STATEMENT EXECUTE FUNCTION core_audit_keep();

    -- With a lab, its entries alone.
    CREATE FUNCTION core_audit_expire(before timestamptz, most integer, of_lab bigint) RETURNS integer
    LANGUAGE plpgsql AS $$
    DECLARE removed integer;
    BEGIN
        IF before > clock_timestamp() - interval '30 days' THEN
            RAISE EXCEPTION 'entries of the audit are kept for 30 days at least';
        END IF;
        DELETE FROM core_auditentry WHERE id IN (
            SELECT id FROM core_auditentry WHERE at < before AND (of_lab IS NULL OR lab_id = of_lab)
            ORDER BY at LIMIT most FOR UPDATE SKIP LOCKED
        );
        GET DIAGNOSTICS removed = ROW_COUNT;
        RETURN removed;
    END $$;

    -- What remains says that something was done about a worker, when and by whom, and nothing of what was said.
    CREATE FUNCTION core_audit_forget(worker bigint) RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE changed integer;
    BEGIN
        UPDATE core_auditentry SET why = '', thing = '',
            address = CASE WHEN actor_kind = 'visitor' THEN '' ELSE address END, changes = (
            SELECT coalesce(jsonb_object_agg(field, NULL), '{}') FROM jsonb_object_keys(changes) AS field
        ) WHERE worker_id = worker AND (why <> '' OR thing <> '' OR changes <> '{}');
        GET DIAGNOSTICS changed = ROW_COUNT;
        RETURN changed;
    END $$;
"""
_OF_LAB = "SELECT ($1->>'lab_id')::bigint AS lab, NULL::bigint AS campaign, NULL AS campaign_name, NULL::bigint AS worker, {} AS thing"
_OF_COLLECTION = (
    "SELECT lab_id AS lab, NULL::bigint AS campaign, NULL AS campaign_name, NULL::bigint AS worker, {} AS thing "
    "FROM pools_collection WHERE id = ($1->>'collection_id')::bigint"
)
_OF_CAMPAIGN = (
    "SELECT lab_id AS lab, id AS campaign, name AS campaign_name, ($1->>'worker_id')::bigint AS worker, {} AS thing "
    "FROM pools_campaign WHERE id = ($1->>'campaign_id')::bigint"
)
_OF_PUBLICATION = (
    "SELECT c.lab_id AS lab, c.id AS campaign, c.name AS campaign_name, {} AS worker, {} AS thing "
    "FROM platforms_publication p JOIN pools_campaign c ON c.id = p.campaign_id "
    "WHERE p.id = ($1->>'publication_id')::bigint"
)
_WORKER_OF_SUBMISSION = "(SELECT worker_id FROM tasks_assignment WHERE id = ($1->>'assignment_id')::bigint)"
_NAME = "$1->>'name'"
# table: (events, condition, where it belongs, ignored fields, fields of which only is told that they changed, why,
# and whether a new row's fields are recorded)
TRIGGERS = {
    "core_user": (
        "INSERT OR UPDATE OR DELETE", "", _OF_LAB.format("''"), "last_login last_seen_at", "username first_name last_name email", "",
    ),
    "core_lab": (
        "INSERT OR UPDATE OR DELETE", "", _OF_LAB.replace("lab_id", "id", 1).format(_NAME), "", "", "",
    ),
    "core_lab_members": (
        "INSERT OR UPDATE OR DELETE", "", _OF_LAB.format("$1->>'user_id'"), "lab_id user_id", "", "", "fields",
    ),
    "core_memberinvitation": (
        "INSERT OR UPDATE OR DELETE", "", _OF_LAB.format("''"), "lab_id invited_by_id invited_at mailed_at", "email",
        "", "fields",
    ),
    "pools_collection": ("INSERT OR UPDATE OR DELETE", "", _OF_LAB.format(_NAME), "", "", ""),
    "pools_preferenceimport": ("INSERT OR DELETE", "", _OF_COLLECTION.format(_NAME), "", "", ""),
    "pools_outsidescores": (
        "INSERT OR UPDATE OR DELETE", "", _OF_COLLECTION.format("$1->>'source'"), "scores", "", "",
    ),
    "pools_run": (
        "INSERT OR UPDATE OR DELETE", "", _OF_LAB.format(_NAME), "census metadata scores original artifact", "", "",
    ),
    "pools_campaign": (
        "INSERT OR UPDATE OR DELETE", "",
        "SELECT ($1->>'lab_id')::bigint AS lab, ($1->>'id')::bigint AS campaign, $1->>'name' AS campaign_name, "
        "NULL::bigint AS worker, $1->>'name' AS thing",
        "revision finished_revision pool_histogram champion_split untexted_count pair_count reused_pair_count "
        "sampled_from", "", "",
    ),
    "pools_qrelsversion": ("INSERT", "", _OF_COLLECTION.format("name || ' ' || ($1->>'number')"), "", "", "why"),
    "tasks_consenttext": ("INSERT OR UPDATE OR DELETE", "", _OF_CAMPAIGN.format("$1->>'version'"), "", "", ""),
    "tasks_worker": (
        "UPDATE OR DELETE", "", _OF_LAB.replace("NULL::bigint AS worker", "($1->>'id')::bigint AS worker").format("''"),
        "", "label external_id joined_with", "",
    ),
    "platforms_publication": (
        "INSERT OR UPDATE OR DELETE", "", _OF_CAMPAIGN.format("$1->>'platform'"),
        "next_call_at finished_revision hit_type_id exclusion_id", "", "",
    ),
    "platforms_termsversion": (
        "INSERT", "", _OF_PUBLICATION.format("NULL::bigint", "$1->>'version'"), "hit_type_id", "", "",
    ),
    "platforms_submission": (
        "UPDATE", "WHEN (NEW.decided_by_id IS NOT NULL AND NEW.decision IS DISTINCT FROM OLD.decision)",
        _OF_PUBLICATION.format(_WORKER_OF_SUBMISSION, "''"), "status", "platform_assignment_id platform_worker_id receipt",
        "reason",
    ),
    "platforms_payment": (
        "UPDATE", "WHEN (NEW.state IN ('paid', 'refused') AND NEW.state IS DISTINCT FROM OLD.state)",
        _OF_PUBLICATION.format(_WORKER_OF_SUBMISSION, "($1->>'purpose') || ' ' || ($1->>'amount')"), "evidence", "", "",
    ),
    "judgments_decision": (
        "INSERT", "WHEN (NEW.by_id IS NOT NULL)", _OF_CAMPAIGN.format("$1->>'kind'"), "why by_id", "", "why",
    ),
    "judgments_pairdecision": ("INSERT", "", _OF_CAMPAIGN.format("$1->>'kind'"), "why by_id", "", "why"),
}


def _create(table):
    events, condition, about, *arguments = TRIGGERS[table]
    arguments += [""] * (4 - len(arguments))
    given = ", ".join("'" + text.replace("'", "''") + "'" for text in (about, *arguments))
    return (
        f"CREATE TRIGGER audit AFTER {events} ON {table} FOR EACH ROW {condition} "
        f"EXECUTE FUNCTION core_audit_record({given})"
    )



class Migration(migrations.Migration):

    dependencies = [
        ('core', '0003_people'),
        ('pools', '0017_trials'),
        ('tasks', '0005_held_work'),
        ('platforms', '0004_alarm_kinds'),
        ('judgments', '0003_pair_reports'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('subject', models.CharField(help_text='The table, or what a note is about.', max_length=63)),
                ('key', models.CharField(blank=True, max_length=40)),
                ('thing', models.CharField(blank=True, help_text='Its name then.', max_length=200)),
                ('action', models.CharField(help_text='insert, update, delete, or what a note says.', max_length=20)),
                ('changes', models.JSONField(help_text='By field, before and after; null where only that it changed.')),
                ('lab_id', models.BigIntegerField(null=True)),
                ('campaign_id', models.BigIntegerField(null=True)),
                ('campaign', models.CharField(blank=True, help_text="The campaign's name then.", max_length=100)),
                ('worker_id', models.BigIntegerField(null=True)),
                ('actor_kind', models.CharField(choices=[('person', 'a person'), ('visitor', 'a visitor'), ('job', 'a background job'), ('command', 'a command'), ('database', 'a user of the database')], max_length=10)),
                ('actor_id', models.BigIntegerField(help_text='The person who did it, or asked for the job.', null=True)),
                ('actor_name', models.CharField(blank=True, help_text='The job or command.', max_length=200)),
                ('address', models.CharField(blank=True, help_text='The network that it came from.', max_length=50)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('why', models.TextField(blank=True)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'indexes': [models.Index(fields=['lab_id', '-id'], name='audit_of_lab'), models.Index(fields=['campaign_id', '-id'], name='audit_of_campaign'), models.Index(condition=models.Q(('worker_id__isnull', False)), fields=['worker_id'], name='audit_of_worker'), models.Index(fields=['at'], name='audit_by_time')],
            },
        ),
        migrations.RunSQL(
            RECORD,
            "DROP FUNCTION core_audit_record; DROP FUNCTION core_audit_changes; DROP FUNCTION core_audit_short",
        ),
        migrations.RunSQL(
            KEEP,
            "DROP TRIGGER audit_append_only ON core_auditentry; DROP TRIGGER audit_never_emptied ON core_auditentry; "
            "DROP FUNCTION core_audit_keep; DROP FUNCTION core_audit_expire; DROP FUNCTION core_audit_forget",
        ),
        *(migrations.RunSQL(_create(table), f"DROP TRIGGER audit ON {table}") for table in TRIGGERS),
    ]
