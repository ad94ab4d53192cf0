from django.db import migrations, models

from pools.counting import keep_counts

# A campaign's workers: somebody comes with their first assignment, and nobody goes. Two first ones at the same moment
# would both count; the job that counts again puts that right.
WORKERS = """
    INSERT INTO pools_countchange (campaign_id, name, kind, count)
    SELECT campaign_id, 'workers', '', count(DISTINCT worker_id) FROM tasks_assignment GROUP BY 1;

    CREATE FUNCTION tasks_count_workers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO pools_countchange (campaign_id, name, kind, count)
        SELECT campaign_id, 'workers', '', count(*)
        FROM (SELECT campaign_id, worker_id, count(*) AS number FROM new_rows GROUP BY 1, 2) came
        WHERE number = (
            SELECT count(*) FROM (
                SELECT FROM tasks_assignment work
                WHERE work.worker_id = came.worker_id AND work.campaign_id = came.campaign_id LIMIT number + 1
            ) few
        )
        GROUP BY campaign_id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER keep_workers AFTER INSERT ON tasks_assignment REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION tasks_count_workers();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0002_counts'),
        ('tasks', '0001_initial'),
    ]

    operations = [
        keep_counts("hits", "tasks_hit", "concat_ws('/', needed, coalesce(wanted, 0), is_held::int)"),
        keep_counts(
            "work",
            "tasks_assignment",
            "concat_ws('/', state, verdict, (platform_assignment_id <> '')::int)",
            amount="CASE WHEN finished_at IS NULL THEN 0 ELSE owed END",
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('verdict__in', ['accepted', 'excluded'])), fields=['campaign', '-finished_at', '-id'], name='assignment_checked_last'),
        ),
        migrations.RunSQL(WORKERS, "DROP FUNCTION tasks_count_workers() CASCADE"),
    ]
