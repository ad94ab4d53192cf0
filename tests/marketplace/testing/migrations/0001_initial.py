import datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Fault',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('operation', models.CharField(blank=True, help_text='empty: any', max_length=64)),
                ('kind', models.CharField(choices=[('before_commit', 'a ServiceFault, and nothing was done'), ('after_commit', 'a ServiceFault, and it was done'), ('reply_dropped', 'the connection is closed without an answer, and it was done'), ('throttled', 'a ThrottlingException, and nothing was done'), ('slow', 'the answer takes `seconds` longer'), ('not_ready', 'approving and rejecting fail as they do within minutes of a submission'), ('notification_lost', 'a notification counts as delivered, and was not sent'), ('notification_doubled', 'a notification is sent twice')], max_length=30)),
                ('seconds', models.FloatField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='FaultDone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('operation', models.CharField(max_length=64)),
                ('kind', models.CharField(choices=[('before_commit', 'a ServiceFault, and nothing was done'), ('after_commit', 'a ServiceFault, and it was done'), ('reply_dropped', 'the connection is closed without an answer, and it was done'), ('throttled', 'a ThrottlingException, and nothing was done'), ('slow', 'the answer takes `seconds` longer'), ('not_ready', 'approving and rejecting fail as they do within minutes of a submission'), ('notification_lost', 'a notification counts as delivered, and was not sent'), ('notification_doubled', 'a notification is sent twice')], max_length=30)),
                ('at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Clock',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('ahead', models.DurationField(default=datetime.timedelta(0))),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='one_clock')],
            },
        ),
        migrations.CreateModel(
            name='Storm',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('seed', models.CharField(max_length=100)),
                ('chances', models.JSONField(default=dict, help_text='kind to probability')),
                ('operations', models.JSONField(default=list, help_text='empty: all')),
                ('seconds', models.FloatField(default=0.05)),
                ('drawn', models.PositiveBigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='one_storm')],
            },
        ),
    ]
