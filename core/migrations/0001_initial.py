from decimal import Decimal

import django.contrib.auth.validators
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.comparing
from core.audit.triggers import CHANGES, LAB, NOBODY, Owner, record_changes

# Checked when a transaction ends, so that a lab can be deleted whole, and two people can change roles in one step. The
# lock lets one transaction look at a time: of two that each remove another of two admins, the later one fails.
KEEP_ADMINS = """
    CREATE FUNCTION core_keep_lab_admin(lab bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM core_lab WHERE id = lab FOR NO KEY UPDATE;
        IF FOUND AND NOT EXISTS (
            SELECT FROM core_lab_members JOIN core_user ON core_user.id = user_id
            WHERE lab_id = lab AND role = 'admin' AND is_active
        ) THEN
            RAISE EXCEPTION 'lab % would lose its last admin', lab USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END $$;

    CREATE FUNCTION core_keep_lab_admin_of_membership() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM core_keep_lab_admin(OLD.lab_id);
        RETURN NULL;
    END $$;

    CREATE FUNCTION core_keep_admins_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.is_staff AND OLD.is_superuser THEN
            PERFORM pg_advisory_xact_lock(hashtext('core_keep_site_admin'));
            IF NOT EXISTS (SELECT FROM core_user WHERE is_active AND is_staff AND is_superuser) THEN
                RAISE EXCEPTION 'the site would lose its last admin' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
        END IF;
        PERFORM core_keep_lab_admin(lab_id) FROM (
            SELECT lab_id FROM core_lab_members WHERE user_id = OLD.id AND role = 'admin' ORDER BY lab_id
        ) AS labs;
        RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER core_keep_lab_admin AFTER UPDATE OR DELETE ON core_lab_members
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.role = 'admin')
        EXECUTE FUNCTION core_keep_lab_admin_of_membership();
    CREATE CONSTRAINT TRIGGER core_keep_admins AFTER UPDATE OF is_active, is_staff, is_superuser ON core_user
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.is_active)
        EXECUTE FUNCTION core_keep_admins_of_user();
    CREATE CONSTRAINT TRIGGER core_keep_admins_deleted AFTER DELETE ON core_user
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.is_active)
        EXECUTE FUNCTION core_keep_admins_of_user();
"""

# Which fields changed: {field: [before, after]}. Of secrets, and of what names or describes a person, only that they
# did. Long texts are cut. Fields without a value are left out of what is recorded about a row that comes or goes.
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

# Entries are added, and nothing else, but for what has become old and what was said about somebody who is erased: that
# goes through functions of its own. The call stack shows them, so that no setting opens the table. Its lines are in the
# server's language; statements in them, which may say anything, stand in quotes.
KEEP_AUDIT = """
    CREATE FUNCTION core_audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mcore_audit_expire\\(' THEN RETURN OLD; END IF;
        IF TG_OP = 'UPDATE' AND stack ~ '(^|\\n)[^"\\n]*\\mcore_audit_forget(_person)?\\(' THEN RETURN NEW; END IF;
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

# TRUNCATE runs no trigger for the rows it removes, so it would empty an audited table without a trace.
REFUSE_EMPTYING = """
    CREATE FUNCTION core_audit_not_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'rows of % are audited: delete them, as TRUNCATE would leave no trace', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;
"""

ITSELF = Owner(lab="($1->>'id')::bigint")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        migrations.CreateModel(
            name='Lab',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('name_key', core.comparing.ComparedField(of='name', unique=True)),
                ('pay_floor', models.DecimalField(blank=True, decimal_places=2, help_text='Dollars an hour below which none of its campaigns can start. Empty: there is none.', max_digits=6, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))])),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('last_seen_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('closed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('username_key', core.comparing.ComparedField(of='username', unique=True)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
        ),
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
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('researcher', 'researcher'), ('organizer', 'organizer'), ('admin', 'admin')], default='researcher', max_length=10)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='core.lab')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'membership',
                'verbose_name_plural': 'memberships',
                'db_table': 'core_lab_members',
            },
        ),
        migrations.AddField(
            model_name='lab',
            name='members',
            field=models.ManyToManyField(blank=True, related_name='labs', through='core.Membership', to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='MemberInvitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('researcher', 'researcher'), ('organizer', 'organizer'), ('admin', 'admin')], max_length=10)),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('invited_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('invited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='member_invitations', to='core.lab')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('revoked_at', None), ('accepted_at', None), _connector='OR'), name='invitation_revoked_or_accepted')],
            },
        ),
        migrations.CreateModel(
            name='Alarm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('of_id', models.BigIntegerField()),
                ('kind', models.CharField(max_length=14)),
                ('about', models.CharField(blank=True, max_length=16)),
                ('about_id', models.BigIntegerField(blank=True, null=True)),
                ('text', models.TextField()),
                ('raised_at', models.DateTimeField()),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('of_type', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contenttypes.contenttype')),
            ],
            options={
                'indexes': [models.Index(fields=['about_id'], name='alarm_about')],
                'constraints': [models.UniqueConstraint(fields=('of_type', 'of_id', 'kind', 'about', 'about_id'), name='alarm_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='AlarmChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reach', models.CharField(choices=[('own', 'campaigns that I created'), ('all', 'all campaigns of my labs'), ('none', 'no mails')], default='own', max_length=4)),
                ('topics', models.JSONField(default=list)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='alarm_choice', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('made_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('to', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['id'], name='mail_to_send')],
            },
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'researcher', 'organizer', 'admin'])), name='membership_role_known'),
        ),
        migrations.AlterUniqueTogether(
            name='membership',
            unique_together={('lab', 'user')},
        ),
        migrations.RunSQL(
            KEEP_ADMINS,
            "DROP FUNCTION core_keep_admins_of_user CASCADE; DROP FUNCTION core_keep_lab_admin_of_membership CASCADE; "
            "DROP FUNCTION core_keep_lab_admin CASCADE",
        ),
        migrations.RunSQL(
            RECORD, "DROP FUNCTION core_audit_record CASCADE; DROP FUNCTION core_audit_changes; DROP FUNCTION core_audit_short"
        ),
        migrations.RunSQL(
            KEEP_AUDIT,
            "DROP FUNCTION core_audit_keep CASCADE; DROP FUNCTION core_audit_expire; DROP FUNCTION core_audit_forget; "
            "DROP FUNCTION core_audit_forget_person",
        ),
        migrations.RunSQL(REFUSE_EMPTYING, "DROP FUNCTION core_audit_not_emptied CASCADE"),
        record_changes("core_lab", CHANGES, ITSELF, "$1->>'name'", ignored="name_key"),
        record_changes("core_lab_members", CHANGES, LAB, "$1->>'user_id'", ignored="lab_id user_id", new_fields=True),
        record_changes(
            "core_memberinvitation", CHANGES, LAB, ignored="lab_id invited_by_id invited_at mailed_at", unsaid="email",
            new_fields=True,
        ),
        record_changes(
            "core_user", CHANGES, LAB, ignored="last_login last_seen_at username_key",
            unsaid="username first_name last_name email",
        ),
        record_changes(
            "core_user_groups", "INSERT OR DELETE", NOBODY, "$1->>'user_id'", ignored="user_id", new_fields=True,
        ),
        record_changes("core_alarmchoice", CHANGES, NOBODY, "$1->>'user_id'", ignored="user_id", new_fields=True),
        record_changes(
            "core_user_user_permissions", "INSERT OR DELETE", NOBODY, "$1->>'user_id'", ignored="user_id",
            new_fields=True,
        ),
    ]
