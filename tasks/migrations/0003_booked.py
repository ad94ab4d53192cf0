from django.db import migrations, models

# Of two first assignments of one worker at the same moment, the second waits and counts the first.
COUNT_WORKERS = """
    CREATE OR REPLACE FUNCTION tasks_count_workers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM tasks_worker WHERE id IN (SELECT worker_id FROM new_rows) ORDER BY id FOR NO KEY UPDATE;
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
"""


class Migration(migrations.Migration):

    dependencies = [
        ('tasks', '0002_counts'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='is_booked',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text="Whether its pay is in its platform's ledger, or its lab has marked all of it as paid."),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('finished_at__isnull', False), ('is_booked', False), ('owed__gt', 0)), fields=['campaign', 'finished_at'], name='assignment_unbooked'),
        ),
        migrations.AddIndex(
            model_name='worker',
            index=models.Index(condition=models.Q(('erased_at__isnull', False)), fields=['lab'], name='worker_erased'),
        ),
        migrations.RunSQL(COUNT_WORKERS, migrations.RunSQL.noop),
    ]
