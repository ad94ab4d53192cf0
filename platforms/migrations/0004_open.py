import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# A submission is of one assignment, and each has one at most, so nothing but that submission says it.
KEEP_SUBMITTED = """
    CREATE FUNCTION platforms_keep_submitted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE tasks_assignment SET is_submitted = false WHERE id = OLD.assignment_id AND is_submitted;
        UPDATE tasks_assignment SET is_submitted = true WHERE id = NEW.assignment_id AND NOT is_submitted;
        RETURN NULL;
    END $$;
    CREATE TRIGGER keep_submitted AFTER INSERT OR DELETE OR UPDATE OF assignment_id ON platforms_submission
        FOR EACH ROW EXECUTE FUNCTION platforms_keep_submitted();
    UPDATE tasks_assignment work SET is_submitted = true
    WHERE EXISTS (SELECT FROM platforms_submission WHERE assignment_id = work.id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('platforms', '0003_booked'),
        ('tasks', '0005_submitted'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='operation',
            name='publication',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='platforms.publication'),
        ),
        migrations.AlterField(
            model_name='payment',
            name='publication',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='platforms.publication'),
        ),
        migrations.AlterField(
            model_name='submission',
            name='publication',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='platforms.publication'),
        ),
        migrations.AddIndex(
            model_name='operation',
            index=models.Index(fields=['publication', 'ended_at'], name='operation_ended'),
        ),
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(fields=['publication', 'paid_at'], name='payment_paid'),
        ),
        migrations.AddIndex(
            model_name='publishedhit',
            index=models.Index(condition=models.Q(('hit__isnull', False), ('platform_hit_id', '')), fields=['publication'], name='published_hit_unposted'),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(condition=models.Q(('status', 'Submitted')), fields=['publication'], name='submission_open'),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(fields=['publication', 'decided_at'], name='submission_decided'),
        ),
        migrations.RunSQL(KEEP_SUBMITTED, "DROP FUNCTION platforms_keep_submitted() CASCADE"),
    ]
