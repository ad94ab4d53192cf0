import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0002_counts'),
        ('tasks', '0004_worker_barred'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='is_submitted',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='Whether the platform said that it was submitted.'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='campaign',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='pools.campaign'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['campaign', 'taken_at'], name='assignment_taken'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('is_submitted', False), models.Q(('platform_assignment_id', ''), _negated=True)), fields=['campaign', 'finished_at'], name='assignment_unsubmitted'),
        ),
    ]
