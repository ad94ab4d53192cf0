import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.audit.triggers import CAMPAIGN, COLLECTION, record_changes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('pools', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='MachineReply',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64, unique=True)),
                ('sign', models.CharField(max_length=1)),
                ('reply', models.CharField(max_length=200)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='MachineJudge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=200)),
                ('prompt', models.TextField(max_length=20000)),
                ('sha256', models.CharField(max_length=64)),
                ('answer_count', models.PositiveIntegerField()),
                ('pair_count', models.PositiveIntegerField()),
                ('imported_at', models.DateTimeField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='machine_judges', to='runs.collection')),
                ('imported_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='MachineAsking',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=200)),
                ('prompt', models.TextField(help_text='With {query}, {first} and {second}.', max_length=20000)),
                ('budget', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('asking', 'being asked'), ('done', 'done'), ('spent', 'budget used up'), ('stopped', 'stopped'), ('failed', 'failed')], default='asking', max_length=10)),
                ('questions', models.PositiveIntegerField(help_text='Two for each pair.')),
                ('sent', models.PositiveIntegerField(db_default=0, default=0)),
                ('tokens', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('asked_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.TextField(blank=True, db_default='', default='', help_text='What went wrong last.')),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='machine_askings', to='pools.campaign')),
                ('judge', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='askings', to='machines.machinejudge')),
            ],
        ),
        migrations.CreateModel(
            name='MachineAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('query', models.TextField()),
                ('a', models.TextField()),
                ('b', models.TextField()),
                ('sign', models.TextField()),
                ('judge', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='machines.machinejudge')),
            ],
        ),
        migrations.AddConstraint(
            model_name='machinejudge',
            constraint=models.UniqueConstraint(fields=('collection', 'name'), name='machine_judge_name_once'),
        ),
        migrations.AddConstraint(
            model_name='machinejudge',
            constraint=models.UniqueConstraint(fields=('collection', 'sha256'), name='machine_judge_file_once'),
        ),
        migrations.AddIndex(
            model_name='machineasking',
            index=models.Index(condition=models.Q(('state', 'asking')), fields=['id'], name='machine_asking_open'),
        ),
        migrations.AddConstraint(
            model_name='machineasking',
            constraint=models.CheckConstraint(condition=models.Q(('sent__lte', models.F('budget'))), name='machine_asking_in_budget'),
        ),
        migrations.AddConstraint(
            model_name='machineanswer',
            constraint=models.UniqueConstraint(fields=('judge', 'line'), name='machine_answer_once_per_line'),
        ),
        record_changes(
            "machines_machineasking",
            "INSERT OR UPDATE",
            CAMPAIGN,
            "$1->>'name'",
            ignored="asked tokens tries retry_at error ended_at judge_id asked_by_id",
            unsaid="prompt",
        ),
        record_changes("machines_machinejudge", "INSERT OR DELETE", COLLECTION, "$1->>'name'", ignored="prompt"),
    ]
