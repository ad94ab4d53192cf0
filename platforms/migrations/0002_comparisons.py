"""Comparisons of the ledgers go on in parts, and each HIT keeps what was last seen of it.

Those made before are as if they had not asked about every HIT: what is not finished is compared once more.
"""

import datetime
import django.db.models.deletion
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('platforms', '0001_initial'),
        ('tasks', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='RunningComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began_at', models.DateTimeField()),
                ('is_full', models.BooleanField(help_text='Every HIT is asked about, and not only those that can still change.')),
                ('strays', models.JSONField(help_text='HITs at the platform that are unknown here; empty until the platform was asked.', null=True)),
            ],
        ),
        migrations.AddField(
            model_name='ledgercomparison',
            name='began_at',
            field=models.DateTimeField(default=datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='ledgercomparison',
            name='is_full',
            field=models.BooleanField(default=False, help_text='Every HIT was asked about, and not only those that could still change.'),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='compare_due',
            field=models.BooleanField(default=False, help_text='The comparison that is going on is yet to ask.'),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='compared_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='difference',
            field=models.TextField(blank=True, help_text='How the ledgers differed, in words; empty if they agreed.'),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='listed_reward',
            field=models.DecimalField(decimal_places=2, help_text='What the platform lists; empty if it was not said.', max_digits=8, null=True),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='ours_bonuses',
            field=models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='ours_rewards',
            field=models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='platform_bonuses',
            field=models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='platform_rewards',
            field=models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10),
        ),
        migrations.AddField(
            model_name='publishedhit',
            name='settled_at',
            field=models.DateTimeField(help_text='When the ledgers agreed on it, with nothing more to come: it is not asked about again.', null=True),
        ),
        migrations.AddIndex(
            model_name='publishedhit',
            index=models.Index(condition=models.Q(('compare_due', True)), fields=['publication', 'id'], name='published_hit_to_compare'),
        ),
        migrations.AddField(
            model_name='runningcomparison',
            name='publication',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='running_comparison', to='platforms.publication'),
        ),
    ]
