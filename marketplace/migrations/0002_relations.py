"""What was found again by reading a text becomes a relation, or a column of its own.

The audit names people by their accounts, payouts belong to lists, and what a requester says may come on top of a reward
is an amount. The rows of the ledger and of the audit say the same as before: their triggers are off for these statements.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


AUDIT = r"""
    ALTER TABLE marketplace_auditevent DISABLE TRIGGER append_only;
    UPDATE marketplace_auditevent SET actor_id = substring(command FROM '^account (\d+)$')::bigint, command = ''
    WHERE command ~ '^account \d+$';
    UPDATE marketplace_auditevent SET account_id = substring(subject FROM '^account (\d+)$')::bigint, subject = ''
    WHERE subject ~ '^account \d+$';
    ALTER TABLE marketplace_auditevent ENABLE TRIGGER append_only;
"""
PAYOUTS = """
    INSERT INTO marketplace_payoutlist (reference, made_at)
    SELECT coalesce(nullif(note, ''), 'without a reference'), min(at) FROM marketplace_entry WHERE kind = 'payout'
    GROUP BY 1 ORDER BY 2;
    ALTER TABLE marketplace_entry DISABLE TRIGGER append_only;
    UPDATE marketplace_entry e SET payout_list_id = l.id, note = '' FROM marketplace_payoutlist l
    WHERE e.kind = 'payout' AND l.reference = coalesce(nullif(e.note, ''), 'without a reference');
    ALTER TABLE marketplace_entry ENABLE TRIGGER append_only;
"""
BONUS = r"""
    UPDATE marketplace_hittype
    SET bonus_up_to = substring(keywords FROM '(?:^|,)\s*bonus-up-to-([0-9]{1,5}\.[0-9]{2})\s*(?:,|$)')::numeric
    WHERE keywords ~ '(^|,)\s*bonus-up-to-[0-9]{1,5}\.[0-9]{2}\s*(,|$)';
"""


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0001_initial'),
    ]

    operations = [
        # --- the audit
        migrations.RenameField(model_name='auditevent', old_name='actor', new_name='command'),
        migrations.AlterField(
            model_name='auditevent',
            name='command',
            field=models.CharField(blank=True, help_text='what was run, where nobody was logged in', max_length=50),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='actor',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audited_acts', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='account',
            field=models.ForeignKey(blank=True, help_text='whose account it was about, where that has no public id', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='auditevent',
            name='subject',
            field=models.CharField(blank=True, help_text='the public id of what it was about', max_length=100),
        ),
        migrations.RunSQL(AUDIT),
        # --- payouts
        migrations.CreateModel(
            name='PayoutList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.CharField(max_length=200, unique=True)),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.RemoveIndex(
            model_name='entry',
            name='entry_of_payout_list',
        ),
        migrations.AddField(
            model_name='entry',
            name='payout_list',
            field=models.ForeignKey(blank=True, help_text='of a payout', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payouts', to='marketplace.payoutlist'),
        ),
        migrations.RunSQL(PAYOUTS),
        # --- what may come on top of a reward
        migrations.AddField(
            model_name='hittype',
            name='bonus_up_to',
            field=models.DecimalField(decimal_places=2, default=Decimal('0.00'), help_text='what the requester says may come on top, by the keyword bonus-up-to-1.90', max_digits=7),
        ),
        migrations.RunSQL(BONUS),
        # --- choices, which the database does not know of, and constraints
        migrations.AlterField(
            model_name='auditevent',
            name='action',
            field=models.CharField(choices=[('create operator', 'create operator'), ('create requester', 'create requester'), ('deactivate requester', 'deactivate requester'), ('reactivate requester', 'reactivate requester'), ('issue key', 'issue key'), ('revoke key', 'revoke key'), ('deposit', 'deposit'), ('answer message', 'answer message'), ('approve for requester', 'approve for requester'), ('invite worker', 'invite worker'), ('worker active', 'worker active'), ('worker suspended', 'worker suspended'), ('worker closed', 'worker closed'), ('move worker', 'move worker'), ('issue password link', 'issue password link'), ('overturn rejection', 'overturn rejection'), ('uphold rejection', 'uphold rejection'), ('pay out', 'pay out'), ('fetch payouts', 'fetch payouts'), ('payout came back', 'payout came back'), ('lapse', 'lapse')], max_length=50),
        ),
        migrations.AlterField(
            model_name='dailyrun',
            name='name',
            field=models.CharField(choices=[('books', 'check the books'), ('forget', 'forget what is old')], max_length=20, primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='dispute',
            name='state',
            field=models.CharField(choices=[('open', 'open'), ('upheld', 'rejection upheld'), ('overturned', 'approved after all')], default='open', max_length=10),
        ),
        migrations.AlterField(
            model_name='duefailure',
            name='step',
            field=models.CharField(choices=[('abandon', 'abandon'), ('approve', 'approve'), ('expire', 'expire'), ('dispose', 'dispose')], max_length=20),
        ),
        migrations.AlterField(
            model_name='entry',
            name='note',
            field=models.CharField(blank=True, help_text='of a deposit; why a payout came back', max_length=200),
        ),
        migrations.AlterField(
            model_name='fault',
            name='kind',
            field=models.CharField(choices=[('before_commit', 'a ServiceFault, and nothing was done'), ('after_commit', 'a ServiceFault, and it was done'), ('reply_dropped', 'the connection is closed without an answer, and it was done'), ('throttled', 'a ThrottlingException, and nothing was done'), ('slow', 'the answer takes `seconds` longer'), ('not_ready', 'approving and rejecting fail as they do within minutes of a submission'), ('notification_lost', 'a notification counts as delivered, and was not sent'), ('notification_doubled', 'a notification is sent twice')], max_length=30),
        ),
        migrations.AlterField(
            model_name='faultdone',
            name='kind',
            field=models.CharField(choices=[('before_commit', 'a ServiceFault, and nothing was done'), ('after_commit', 'a ServiceFault, and it was done'), ('reply_dropped', 'the connection is closed without an answer, and it was done'), ('throttled', 'a ThrottlingException, and nothing was done'), ('slow', 'the answer takes `seconds` longer'), ('not_ready', 'approving and rejecting fail as they do within minutes of a submission'), ('notification_lost', 'a notification counts as delivered, and was not sent'), ('notification_doubled', 'a notification is sent twice')], max_length=30),
        ),
        migrations.AlterField(
            model_name='hittype',
            name='requirements',
            field=models.JSONField(default=list, help_text='as requirements.requirement_read gives them'),
        ),
        migrations.AlterField(
            model_name='notificationsubscription',
            name='events',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('AssignmentAccepted', 'Assignment Accepted'), ('AssignmentAbandoned', 'Assignment Abandoned'), ('AssignmentReturned', 'Assignment Returned'), ('AssignmentSubmitted', 'Assignment Submitted'), ('AssignmentApproved', 'Assignment Approved'), ('AssignmentRejected', 'Assignment Rejected'), ('HITCreated', 'Hit Created'), ('HITExtended', 'Hit Extended'), ('HITExpired', 'Hit Expired'), ('HITReviewable', 'Hit Reviewable'), ('HITDisposed', 'Hit Disposed'), ('Ping', 'Ping')], max_length=30), size=None),
        ),
        migrations.AlterField(
            model_name='notificationsubscription',
            name='transport',
            field=models.CharField(choices=[('SNS', 'SNS')], max_length=5),
        ),
        migrations.AddConstraint(
            model_name='auditevent',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('actor__isnull', False), ('command', '')), models.Q(('actor', None), models.Q(('command', ''), _negated=True)), _connector='OR'), name='audit_names_who_did_it'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'payout'), ('payout_list__isnull', False)), models.Q(models.Q(('kind', 'payout'), _negated=True), ('payout_list', None)), _connector='OR'), name='entry_pays_from_a_list'),
        ),
    ]
