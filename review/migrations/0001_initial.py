import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.audit.triggers import CAMPAIGN, record_changes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('pools', '0001_initial'),
        ('tasks', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BulkDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('exclude', 'exclude the data'), ('exclude-all', 'exclude all data of the workers'), ('restore', 'use the data'), ('bar', 'bar the workers'), ('unbar', 'lift the bar'), ('pay', 'approve and pay now'), ('bonus', 'pay a bonus'), ('reject', 'reject the work'), ('message', 'write to the workers')], max_length=12)),
                ('amount', models.DecimalField(decimal_places=2, help_text='Of each bonus.', max_digits=8, null=True)),
                ('why', models.TextField()),
                ('at', models.DateTimeField()),
                ('undone_at', models.DateTimeField(null=True)),
                ('by_rule', models.BooleanField(db_default=False, default=False, help_text="Whether restored work becomes what the campaign's rule makes of it now.")),
                ('by', models.ForeignKey(help_text='Empty if the rule decided.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bulk_decisions', to='pools.campaign')),
                ('undone_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='BulkRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('done', 'done'), ('unchanged', 'was so already'), ('failed', 'not possible'), ('undoing', 'waiting to be undone'), ('undone', 'undone'), ('kept', 'could not be undone')], default='waiting', max_length=10)),
                ('before', models.CharField(blank=True, help_text="The assignment's verdict before.", max_length=10)),
                ('error', models.TextField(blank=True)),
                ('assignment', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks.assignment')),
                ('bulk', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='review.bulkdecision')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks.worker')),
            ],
        ),
        migrations.AddIndex(
            model_name='bulkdecision',
            index=models.Index(fields=['campaign', '-id'], name='bulk_decision_newest_first'),
        ),
        migrations.AddIndex(
            model_name='bulkrow',
            index=models.Index(condition=models.Q(('state__in', ['waiting', 'undoing'])), fields=['bulk', 'id'], name='bulk_row_to_do'),
        ),
        migrations.AddConstraint(
            model_name='bulkrow',
            constraint=models.UniqueConstraint(fields=('bulk', 'assignment', 'worker'), name='bulk_row_once'),
        ),
        record_changes(
            "review_bulkdecision",
            "INSERT OR UPDATE",
            CAMPAIGN,
            "$1->>'action'",
            ignored="campaign_id by_id undone_by_id why at",
            why="why",
            new_fields=True,
        ),
    ]
