"""Limits that all web processes count together, and payouts that came back."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0002_append_only'),
    ]

    operations = [
        migrations.CreateModel(
            name='Tries',
            fields=[
                ('key', models.CharField(help_text='a keyed digest of what is limited, and who', max_length=64, primary_key=True, serialize=False)),
                ('began_at', models.DateTimeField(help_text="the machine's time")),
                ('number', models.PositiveIntegerField()),
            ],
            options={
                'verbose_name_plural': 'tries',
            },
        ),
        # Counts may be forgotten: so counting waits for no disk.
        migrations.RunSQL(
            'ALTER TABLE marketplace_tries SET UNLOGGED', 'ALTER TABLE marketplace_tries SET LOGGED'
        ),
        migrations.RemoveConstraint(
            model_name='entry',
            name='entry_belongs_to_somebody',
        ),
        migrations.AddField(
            model_name='entry',
            name='payout',
            field=models.OneToOneField(blank=True, help_text='the payout that came back; the worker is owed it again', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bounce', to='marketplace.entry'),
        ),
        migrations.AlterField(
            model_name='entry',
            name='kind',
            field=models.CharField(choices=[('deposit', 'deposit'), ('withdrawal', 'withdrawal'), ('hold', 'held for a HIT'), ('release', 'released'), ('reward', 'reward'), ('fee', 'fee'), ('bonus', 'bonus'), ('bonus fee', 'fee for a bonus'), ('payout', 'payout to a worker'), ('bounce', 'payout that came back')], max_length=10),
        ),
        migrations.AlterField(
            model_name='entry',
            name='note',
            field=models.CharField(blank=True, help_text="a payout's reference; why a payout came back", max_length=200),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('kind', 'payout')), fields=['note'], name='entry_of_payout_list'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('available_after__isnull', False), ('number__isnull', False), ('on_hold_after__isnull', False), ('requester__isnull', False)), models.Q(('available', 0), ('kind__in', ['payout', 'bounce']), ('number', None), ('on_hold', 0), ('requester', None), ('worker__isnull', False)), _connector='OR'), name='entry_belongs_to_somebody'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'bounce'), ('payout__isnull', False)), models.Q(models.Q(('kind', 'bounce'), _negated=True), ('payout', None)), _connector='OR'), name='entry_bounces_a_payout'),
        ),
    ]
