"""Work that cannot be checked has an alarm of its own, at its publication: those on campaigns are settled."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasks', '0002_assignments_by_worker'),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE tasks_campaignalarm SET settled_at = now() WHERE kind = 'checking' AND settled_at IS NULL",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name='campaignalarm',
            name='kind',
            field=models.CharField(choices=[('packing', 'packing the HITs'), ('results', 'computing the results'), ('exports', 'making the export files'), ('files', 'deleting replaced files')], max_length=10),
        ),
    ]
