from django.db import migrations

# The audit in partitions by month, so that what has become old goes with its partition. What there is by now becomes
# the partition of all months until this one, as it is: no row is copied. A partition's name says its last month.
PARTITIONS = """
    DO $$
    DECLARE month text := to_char(now() AT TIME ZONE 'UTC', '"y"YYYY"m"MM');
        following timestamptz := (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC';
        earlier text := 'core_auditentry_' || month; last bigint; name text;
    BEGIN
        SELECT coalesce(max(id), 0) INTO last FROM core_auditentry;
        DROP TRIGGER audit_append_only ON core_auditentry;
        DROP TRIGGER audit_never_emptied ON core_auditentry;
        ALTER TABLE core_auditentry DROP CONSTRAINT core_auditentry_pkey;
        ALTER TABLE core_auditentry ALTER id DROP IDENTITY;
        EXECUTE format('ALTER TABLE core_auditentry RENAME TO %I', earlier);
        FOREACH name IN ARRAY ARRAY['lab', 'campaign', 'worker'] LOOP
            EXECUTE format('ALTER INDEX audit_of_%s RENAME TO %I', name, earlier || '_of_' || name);
        END LOOP;
        EXECUTE format('ALTER INDEX audit_by_time RENAME TO %I', earlier || '_by_time');

        EXECUTE format('CREATE TABLE core_auditentry (LIKE %I) PARTITION BY RANGE (at)', earlier);
        EXECUTE format('CREATE SEQUENCE core_auditentry_id_seq OWNED BY core_auditentry.id START %s', last + 1);
        ALTER TABLE core_auditentry ALTER id SET DEFAULT nextval('core_auditentry_id_seq'), ADD PRIMARY KEY (id, at);
        CREATE INDEX audit_of_lab ON core_auditentry (lab_id, id DESC);
        CREATE INDEX audit_of_campaign ON core_auditentry (campaign_id, id DESC);
        CREATE INDEX audit_of_worker ON core_auditentry (worker_id) WHERE worker_id IS NOT NULL;
        CREATE INDEX audit_by_time ON core_auditentry (at);
        EXECUTE format(
            'ALTER TABLE core_auditentry ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', earlier, following
        );
        CREATE TABLE core_auditentry_other PARTITION OF core_auditentry DEFAULT;
        CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON core_auditentry
            FOR EACH ROW EXECUTE FUNCTION core_audit_keep();
        CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON core_auditentry
            FOR EACH STATEMENT EXECUTE FUNCTION core_audit_keep();
        EXECUTE format(
            'CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON %I
             FOR EACH STATEMENT EXECUTE FUNCTION core_audit_keep()', earlier
        );
        CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON core_auditentry_other
            FOR EACH STATEMENT EXECUTE FUNCTION core_audit_keep();
    END $$;

    -- Partitions for the months to come. What came too early for its own is in that of all others, and stays there: such
    -- a month gets none.
    CREATE FUNCTION core_audit_prepare(at timestamptz) RETURNS integer LANGUAGE plpgsql SET timezone = 'UTC' AS $$
    DECLARE month timestamptz; partition text; made integer := 0;
    BEGIN
        FOR ahead IN 0..2 LOOP
            month := date_trunc('month', at) + ahead * interval '1 month';
            partition := to_char(month, '"core_auditentry_y"YYYY"m"MM');
            CONTINUE WHEN to_regclass(partition) IS NOT NULL OR EXISTS (
                SELECT FROM core_auditentry_other other
                WHERE other.at >= month AND other.at < month + interval '1 month'
            );
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF core_auditentry FOR VALUES FROM (%L) TO (%L);
                 CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON %1$I
                 FOR EACH STATEMENT EXECUTE FUNCTION core_audit_keep()',
                partition, month, month + interval '1 month'
            );
            made := made + 1;
        END LOOP;
        RETURN made;
    END $$;

    -- Months that are over as a whole, and older than that, with all their entries. How many entries. Whoever writes an
    -- entry waits for it, so it waits itself for no more than a moment, and otherwise leaves them for the next time.
    CREATE FUNCTION core_audit_drop(before timestamptz) RETURNS bigint LANGUAGE plpgsql
    SET timezone = 'UTC' SET lock_timeout = '1s' AS $$
    DECLARE partition text; entries bigint; removed bigint := 0;
    BEGIN
        IF before > clock_timestamp() - interval '30 days' THEN
            RAISE EXCEPTION 'entries of the audit are kept for 30 days at least';
        END IF;
        FOR partition IN
            SELECT inhrelid::regclass::text FROM pg_inherits
            WHERE inhparent = 'core_auditentry'::regclass AND inhrelid::regclass::text ~ '_y\\d+m\\d\\d$'
                AND to_date(right(inhrelid::regclass::text, 7), 'YYYY"m"MM') + interval '1 month' <= before
        LOOP
            LOCK TABLE core_auditentry IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('SELECT count(*) FROM %I', partition) INTO entries;
            EXECUTE format('DROP TABLE %I', partition);
            removed := removed + entries;
        END LOOP;
        RETURN removed;
    EXCEPTION WHEN lock_not_available THEN RETURN 0;
    END $$;

    SELECT core_audit_prepare(now());
"""


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0002_lease'),
    ]

    operations = [
        migrations.RunSQL(PARTITIONS),
    ]
