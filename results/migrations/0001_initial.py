import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import results.models
from core.audit.triggers import CAMPAIGN, record_changes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
        ('judgments', '0001_initial'),
        ('machines', '0001_initial'),
        ('pools', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Result',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's at that moment.")),
                ('software', models.CharField(max_length=50)),
                ('computed_at', models.DateTimeField()),
                ('seconds', models.FloatField(help_text='How long it took to compute.')),
                ('rests_until', models.DateTimeField(help_text='By itself it is not computed again before.')),
                ('final_at', models.DateTimeField(help_text='When the campaign finished with these results.', null=True)),
                ('data', models.JSONField()),
                ('figures', models.JSONField()),
                ('tops', models.JSONField()),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='result', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='EarlierResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's at that moment.")),
                ('software', models.CharField(max_length=50)),
                ('computed_at', models.DateTimeField()),
                ('final_at', models.DateTimeField()),
                ('replaced_at', models.DateTimeField()),
                ('data', models.JSONField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='earlier_results', to='pools.campaign')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'number'), name='earlier_result_number_once')],
            },
        ),
        migrations.CreateModel(
            name='MachineComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's at that moment.")),
                ('software', models.CharField(max_length=50)),
                ('computed_at', models.DateTimeField()),
                ('data', models.JSONField()),
                ('runs', models.JSONField()),
                ('scores', models.JSONField(default=dict)),
                ('qrels', models.TextField(blank=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='machine_comparisons', to='pools.campaign')),
                ('judge', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='machines.machinejudge')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'judge'), name='machine_comparison_once')],
            },
        ),
        migrations.CreateModel(
            name='ResultList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=20)),
                ('rows', models.JSONField()),
                ('result', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lists', to='results.result')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('result', 'name'), name='result_list_once')],
            },
        ),
        migrations.CreateModel(
            name='VersionRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('why', models.TextField()),
                ('parent', models.PositiveIntegerField()),
                ('asked_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('refused', models.TextField(blank=True, help_text='Why no version was made.')),
                ('tries', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='How often it was begun.')),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='version_requests', to='pools.campaign')),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='pools.qrelsversion')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('campaign',), name='version_request_one_open')],
            },
        ),
        migrations.CreateModel(
            name='VersionScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('software', models.CharField(max_length=50)),
                ('scored_at', models.DateTimeField()),
                ('error', models.TextField(blank=True)),
                ('rr', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('found', models.PositiveIntegerField(null=True)),
                ('original', models.FloatField(null=True)),
                ('original_low', models.FloatField(null=True)),
                ('original_high', models.FloatField(null=True)),
                ('measures', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('others', models.JSONField(db_default={}, default=dict)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='version_scores', to='runs.run')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='pools.qrelsversion')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('version', 'run'), name='version_score_once')],
            },
        ),
        migrations.CreateModel(
            name='ShownResults',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=results.models.make_token, editable=False, max_length=32, unique=True)),
                ('made_at', models.DateTimeField()),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='shown_results', to='pools.campaign')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        record_changes("results_shownresults", "INSERT OR DELETE", CAMPAIGN, ignored="id campaign_id token"),
    ]
