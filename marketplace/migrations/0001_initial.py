"""The marketplace's database, and what Django cannot say of it: rows that stay, and counts that may be lost."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.text
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


APPEND_ONLY = ["marketplace_entry", "marketplace_auditevent"]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AccessKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key_id', models.CharField(max_length=64, unique=True)),
                ('sealed_secret', models.TextField(editable=False)),
                ('label', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assignment_id', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('Accepted', 'Accepted'), ('Submitted', 'Submitted'), ('Approved', 'Approved'), ('Rejected', 'Rejected'), ('Returned', 'Returned'), ('Abandoned', 'Abandoned')], default='Accepted', max_length=10)),
                ('reward', models.DecimalField(decimal_places=2, max_digits=10)),
                ('fee', models.DecimalField(decimal_places=2, max_digits=10)),
                ('auto_approval_seconds', models.PositiveIntegerField()),
                ('accepted_at', models.DateTimeField()),
                ('deadline', models.DateTimeField()),
                ('left_at', models.DateTimeField(blank=True, help_text='returned or abandoned', null=True)),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('auto_approval_at', models.DateTimeField(blank=True, null=True)),
                ('approved_at', models.DateTimeField(blank=True, null=True)),
                ('approved_by_clock', models.BooleanField(default=False)),
                ('rejected_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.TextField(blank=True, help_text='a QuestionFormAnswers document')),
                ('feedback', models.TextField(blank=True)),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('state', 'Accepted')), fields=['deadline'], name='assignment_to_abandon'),
                    models.Index(condition=models.Q(('state', 'Submitted')), fields=['auto_approval_at'], name='assignment_to_approve'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state__in', ['Accepted', 'Submitted', 'Approved', 'Rejected'])), fields=('assignment_id',), name='assignment_id_held_by_one'),
                    models.CheckConstraint(condition=models.Q(models.Q(('left_at', None), ('state', 'Accepted'), ('submitted_at', None)), models.Q(('left_at__isnull', False), ('state__in', ['Returned', 'Abandoned']), ('submitted_at', None)), models.Q(('approved_at', None), ('rejected_at', None), ('state', 'Submitted'), ('submitted_at__isnull', False)), models.Q(('approved_at__isnull', False), ('state', 'Approved'), ('submitted_at__isnull', False)), models.Q(('approved_at', None), ('rejected_at__isnull', False), ('state', 'Rejected'), ('submitted_at__isnull', False)), _connector='OR'), name='assignment_times_fit_state'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DailyRun',
            fields=[
                ('name', models.CharField(choices=[('books', 'check the books'), ('forget', 'forget what is old')], max_length=20, primary_key=True, serialize=False)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('ok', models.BooleanField(default=True)),
                ('report', models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='Hit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hit_id', models.CharField(max_length=64, unique=True)),
                ('question', models.TextField()),
                ('annotation', models.CharField(blank=True, max_length=255)),
                ('max_assignments', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('expired', models.BooleanField(default=False, help_text='the expiry has been acted on')),
                ('status', models.CharField(choices=[('Assignable', 'Assignable'), ('Unassignable', 'Unassignable'), ('Reviewable', 'Reviewable'), ('Reviewing', 'Reviewing'), ('Disposed', 'Disposed')], default='Assignable', max_length=12)),
                ('reviewable_at', models.DateTimeField(blank=True, null=True)),
                ('n_accepted', models.PositiveIntegerField(default=0)),
                ('n_submitted', models.PositiveIntegerField(default=0)),
                ('n_approved', models.PositiveIntegerField(default=0)),
                ('n_rejected', models.PositiveIntegerField(default=0)),
                ('held', models.DecimalField(decimal_places=2, default=Decimal('0.00'), help_text="the sum of its entries' on_hold", max_digits=12)),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('expired', False)), fields=['expires_at'], name='hit_to_expire'),
                    models.Index(condition=models.Q(('status', 'Disposed'), _negated=True), fields=['reviewable_at'], name='hit_to_dispose'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('max_assignments__gte', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('n_accepted'), '+', models.F('n_submitted')), '+', models.F('n_approved')), '+', models.F('n_rejected')))), name='hit_never_overbooked'),
                    models.CheckConstraint(condition=models.Q(('max_assignments__gte', 1)), name='hit_wants_somebody'),
                    models.CheckConstraint(condition=models.Q(('held__gte', 0)), name='hit_held'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HitType',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type_id', models.CharField(max_length=64, unique=True)),
                ('group_id', models.CharField(max_length=64, unique=True)),
                ('fingerprint', models.CharField(help_text='SHA-256 of all values below', max_length=64)),
                ('title', models.CharField(max_length=128)),
                ('description', models.CharField(max_length=2000)),
                ('keywords', models.CharField(blank=True, max_length=1000)),
                ('reward', models.DecimalField(decimal_places=2, max_digits=10)),
                ('bonus_up_to', models.DecimalField(decimal_places=2, default=Decimal('0.00'), help_text='what the requester says may come on top, by the keyword bonus-up-to-1.90', max_digits=7)),
                ('assignment_seconds', models.PositiveIntegerField()),
                ('auto_approval_seconds', models.PositiveIntegerField()),
                ('requirements', models.JSONField(default=list, help_text='as requirements.requirement_read gives them')),
                ('created_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(blank=True, help_text='a qualification type it needs was deleted', null=True)),
            ],
            options={
                'indexes': [
                    django.contrib.postgres.indexes.GinIndex(fields=['requirements'], name='hit_type_by_requirement'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('reward__gte', 0)), name='hit_type_reward'),
                    models.CheckConstraint(condition=models.Q(('assignment_seconds__range', (30, 31536000))), name='hit_type_duration'),
                    models.CheckConstraint(condition=models.Q(('auto_approval_seconds__range', (0, 2592000))), name='hit_type_auto_approval'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PayoutList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.CharField(max_length=200, unique=True)),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Requester',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('account_id', models.CharField(max_length=64, unique=True)),
                ('name', models.CharField(max_length=100, unique=True)),
                ('email', models.EmailField(blank=True, help_text="where workers' messages can be forwarded to", max_length=254)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField()),
            ],
        ),
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
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('email', models.EmailField(max_length=254, unique=True, verbose_name='email address')),
                ('is_operator', models.BooleanField(default=False)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='account_email_small')],
            },
        ),
        migrations.CreateModel(
            name='BonusPayment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=10)),
                ('fee', models.DecimalField(decimal_places=2, max_digits=10)),
                ('reason', models.TextField()),
                ('granted_at', models.DateTimeField()),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bonuses', to='marketplace.assignment')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bonuses', to='marketplace.requester')),
            ],
            options={
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('amount__gt', 0), ('fee__gte', 0)), name='bonus_is_something'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DueFailure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(choices=[('abandon', 'abandon'), ('approve', 'approve'), ('expire', 'expire'), ('dispose', 'dispose')], max_length=20)),
                ('error', models.CharField(max_length=1000)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('first_at', models.DateTimeField()),
                ('retry_at', models.DateTimeField()),
                ('hit', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='due_failure', to='marketplace.hit')),
            ],
        ),
        migrations.AddField(
            model_name='assignment',
            name='hit',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='marketplace.hit'),
        ),
        migrations.AddField(
            model_name='hit',
            name='hit_type',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hits', to='marketplace.hittype'),
        ),
        migrations.CreateModel(
            name='NotificationSubscription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('destination', models.URLField(max_length=1000)),
                ('transport', models.CharField(choices=[('SNS', 'SNS')], max_length=5)),
                ('version', models.CharField(max_length=20)),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('AssignmentAccepted', 'Assignment Accepted'), ('AssignmentAbandoned', 'Assignment Abandoned'), ('AssignmentReturned', 'Assignment Returned'), ('AssignmentSubmitted', 'Assignment Submitted'), ('AssignmentApproved', 'Assignment Approved'), ('AssignmentRejected', 'Assignment Rejected'), ('HITCreated', 'Hit Created'), ('HITExtended', 'Hit Extended'), ('HITExpired', 'Hit Expired'), ('HITReviewable', 'Hit Reviewable'), ('HITDisposed', 'Hit Disposed'), ('Ping', 'Ping')], max_length=30), size=None)),
                ('active', models.BooleanField(default=True)),
                ('hit_type', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='subscription', to='marketplace.hittype')),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='marketplace.accesskey')),
            ],
        ),
        migrations.CreateModel(
            name='QualificationType',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type_id', models.CharField(max_length=64, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('keywords', models.CharField(blank=True, max_length=1000)),
                ('description', models.CharField(max_length=2000)),
                ('status', models.CharField(choices=[('Active', 'Active'), ('Inactive', 'Inactive')], max_length=8)),
                ('retry_seconds', models.PositiveBigIntegerField(blank=True, help_text='none: one request only', null=True)),
                ('auto_granted', models.BooleanField(default=False)),
                ('auto_value', models.IntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='qualification_types', to='marketplace.requester')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('retired_at', None)), fields=('requester', 'name'), name='qualification_name_once'),
                ],
            },
        ),
        migrations.AddField(
            model_name='hittype',
            name='requester',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hit_types', to='marketplace.requester'),
        ),
        migrations.AddField(
            model_name='hit',
            name='requester',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hits', to='marketplace.requester'),
        ),
        migrations.AddField(
            model_name='accesskey',
            name='requester',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='keys', to='marketplace.requester'),
        ),
        migrations.CreateModel(
            name='UniqueRequestToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('operation', models.CharField(max_length=64)),
                ('token', models.CharField(max_length=64)),
                ('made_at', models.DateTimeField()),
                ('subject', models.CharField(blank=True, help_text='the HIT id, or the id of the request', max_length=64)),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='marketplace.requester')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['made_at'], name='request_token_to_forget'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('requester', 'operation', 'token'), name='request_token_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker_id', models.CharField(max_length=64, unique=True)),
                ('status', models.CharField(choices=[('active', 'active'), ('suspended', 'suspended'), ('closed', 'closed')], default='active', max_length=10)),
                ('country', models.CharField(help_text='ISO 3166 code, such as US', max_length=2)),
                ('subdivision', models.CharField(blank=True, help_text='ISO 3166-2 code, such as WA', max_length=3)),
                ('adult_content', models.BooleanField(default=False, help_text='agreed to see adult content')),
                ('is_master', models.BooleanField(default=False, help_text='granted Masters by the operator')),
                ('vouched_approved', models.PositiveIntegerField(default=0)),
                ('vouched_rejected', models.PositiveIntegerField(default=0)),
                ('registered_at', models.DateTimeField()),
                ('erased_at', models.DateTimeField(blank=True, help_text='since then nothing here says who it is', null=True)),
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='worker', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('country__regex', '^[A-Z]{2}$')), name='worker_country_code'),
                    models.CheckConstraint(condition=models.Q(('worker_id__regex', '^A[A-Z0-9]+$')), name='worker_id_form'),
                ],
            },
        ),
        migrations.CreateModel(
            name='QualificationRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request_id', models.CharField(max_length=64, unique=True)),
                ('state', models.CharField(choices=[('pending', 'pending'), ('granted', 'granted'), ('rejected', 'rejected')], default='pending', max_length=8)),
                ('submitted_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('qualification_type', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='marketplace.qualificationtype')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='qualification_requests', to='marketplace.worker')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state', 'pending')), fields=('qualification_type', 'worker'), name='one_pending_request'),
                    models.CheckConstraint(condition=models.Q(models.Q(('decided_at', None), ('state', 'pending')), models.Q(models.Q(('state', 'pending'), _negated=True), ('decided_at__isnull', False)), _connector='OR'), name='request_decided_at'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Qualification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.IntegerField(blank=True, null=True)),
                ('status', models.CharField(choices=[('Granted', 'Granted'), ('Revoked', 'Revoked')], default='Granted', max_length=7)),
                ('granted_at', models.DateTimeField()),
                ('reason', models.TextField(blank=True, help_text='why it was revoked; the worker sees it')),
                ('qualification_type', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='qualifications', to='marketplace.qualificationtype')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='qualifications', to='marketplace.worker')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('qualification_type', 'worker'), name='qualification_once_per_worker'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('direction', models.CharField(choices=[('worker', 'to the worker'), ('requester', 'to the requester')], max_length=9)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('sent_at', models.DateTimeField()),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('hit', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='marketplace.hit')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='marketplace.requester')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='marketplace.worker')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['worker', '-id'], name='message_of_worker'),
                    models.Index(fields=['requester', '-id'], name='message_of_requester'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(blank=True, help_text='if set, only this address may register with it', max_length=254)),
                ('token_digest', models.CharField(max_length=64, unique=True)),
                ('note', models.CharField(blank=True, max_length=200)),
                ('vouched_approved', models.PositiveIntegerField(default=0)),
                ('vouched_rejected', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('used_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='invitation', to='marketplace.worker')),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('kind', models.CharField(choices=[('deposit', 'deposit'), ('withdrawal', 'withdrawal'), ('hold', 'held for a HIT'), ('release', 'released'), ('reward', 'reward'), ('fee', 'fee'), ('bonus', 'bonus'), ('bonus fee', 'fee for a bonus'), ('payout', 'payout to a worker'), ('bounce', 'payout that came back')], max_length=10)),
                ('number', models.PositiveBigIntegerField(blank=True, null=True)),
                ('available', models.DecimalField(decimal_places=2, default=0, max_digits=12)),
                ('on_hold', models.DecimalField(decimal_places=2, default=0, max_digits=12)),
                ('available_after', models.DecimalField(blank=True, decimal_places=2, max_digits=14, null=True)),
                ('on_hold_after', models.DecimalField(blank=True, decimal_places=2, max_digits=14, null=True)),
                ('earned', models.DecimalField(decimal_places=2, default=0, max_digits=12)),
                ('note', models.CharField(blank=True, help_text='of a deposit; why a payout came back', max_length=200)),
                ('assignment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='marketplace.assignment')),
                ('bonus', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='marketplace.bonuspayment')),
                ('payout', models.OneToOneField(blank=True, help_text='the payout that came back; the worker is owed it again', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bounce', to='marketplace.entry')),
                ('hit', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='marketplace.hit')),
                ('payout_list', models.ForeignKey(blank=True, help_text='of a payout', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payouts', to='marketplace.payoutlist')),
                ('requester', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='marketplace.requester')),
                ('worker', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='marketplace.worker')),
            ],
            options={
                'verbose_name_plural': 'entries',
                'indexes': [
                    models.Index(fields=['requester', '-number'], name='entry_balance'),
                    models.Index(fields=['worker', '-id'], name='entry_of_worker'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('requester', 'number'), name='entry_number_once'),
                    models.UniqueConstraint(condition=models.Q(('kind__in', ['reward', 'fee'])), fields=('assignment', 'kind'), name='reward_paid_once'),
                    models.UniqueConstraint(condition=models.Q(('bonus__isnull', False)), fields=('bonus', 'kind'), name='bonus_entered_once'),
                    models.CheckConstraint(condition=models.Q(('available_after__gte', 0), ('available_after', None), _connector='OR'), name='entry_no_overdraft'),
                    models.CheckConstraint(condition=models.Q(('on_hold_after__gte', 0), ('on_hold_after', None), _connector='OR'), name='entry_hold_covered'),
                    models.CheckConstraint(condition=models.Q(models.Q(('available_after__isnull', False), ('number__isnull', False), ('on_hold_after__isnull', False), ('requester__isnull', False)), models.Q(('available', 0), ('kind__in', ['payout', 'bounce']), ('number', None), ('on_hold', 0), ('requester', None), ('worker__isnull', False)), _connector='OR'), name='entry_belongs_to_somebody'),
                    models.CheckConstraint(condition=models.Q(models.Q(('kind', 'bounce'), ('payout__isnull', False)), models.Q(models.Q(('kind', 'bounce'), _negated=True), ('payout', None)), _connector='OR'), name='entry_bounces_a_payout'),
                    models.CheckConstraint(condition=models.Q(models.Q(('kind', 'payout'), ('payout_list__isnull', False)), models.Q(models.Q(('kind', 'payout'), _negated=True), ('payout_list', None)), _connector='OR'), name='entry_pays_from_a_list'),
                    models.CheckConstraint(condition=models.Q(('earned', 0), ('worker__isnull', False), _connector='OR'), name='entry_earned_by_somebody'),
                ],
            },
        ),
        migrations.CreateModel(
            name='DepositRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=10)),
                ('reason', models.CharField(max_length=200)),
                ('asked_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('entry', models.OneToOneField(blank=True, help_text='the deposit, if it was granted', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='deposit_request', to='marketplace.entry')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deposit_requests', to='marketplace.requester')),
            ],
            options={
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='deposit_request_is_something'),
                    models.CheckConstraint(condition=models.Q(('entry', None), ('closed_at__isnull', False), _connector='OR'), name='deposit_request_granted_is_closed'),
                    models.UniqueConstraint(condition=models.Q(('closed_at', None)), fields=('requester', 'reason'), name='deposit_request_open_once'),
                ],
            },
        ),
        migrations.AddField(
            model_name='assignment',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='marketplace.worker'),
        ),
        migrations.CreateModel(
            name='WorkerBlock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('blocked_at', models.DateTimeField()),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='blocks', to='marketplace.requester')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='blocks', to='marketplace.worker')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('requester', 'worker'), name='worker_blocked_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ApiCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('operation', models.CharField(max_length=64)),
                ('request_id', models.CharField(max_length=36)),
                ('subject', models.CharField(blank=True, help_text='the id of what it was about', max_length=64)),
                ('outcome', models.CharField(blank=True, help_text='empty: done; else the code of the error', max_length=100)),
                ('key', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='marketplace.accesskey')),
            ],
            options={
                'indexes': [models.Index(fields=['key', '-id'], name='api_call_of_key'), django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='api_call_to_forget')],
            },
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('command', models.CharField(blank=True, help_text='what was run, where nobody was logged in', max_length=50)),
                ('action', models.CharField(choices=[('create operator', 'create operator'), ('create requester', 'create requester'), ('deactivate requester', 'deactivate requester'), ('reactivate requester', 'reactivate requester'), ('issue key', 'issue key'), ('revoke key', 'revoke key'), ('deposit', 'deposit'), ('decline deposit', 'decline deposit'), ('answer message', 'answer message'), ('approve for requester', 'approve for requester'), ('invite worker', 'invite worker'), ('worker active', 'worker active'), ('worker suspended', 'worker suspended'), ('worker closed', 'worker closed'), ('erase worker', 'erase worker'), ('move worker', 'move worker'), ('issue password link', 'issue password link'), ('overturn rejection', 'overturn rejection'), ('uphold rejection', 'uphold rejection'), ('pay out', 'pay out'), ('fetch payouts', 'fetch payouts'), ('payout came back', 'payout came back'), ('lapse', 'lapse')], max_length=50)),
                ('subject', models.CharField(blank=True, help_text='the public id of what it was about', max_length=100)),
                ('details', models.JSONField(default=dict)),
                ('account', models.ForeignKey(blank=True, help_text='whose account it was about, where that has no public id', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audited_acts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['-at'], name='audit_newest_first')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('actor__isnull', False), ('command', '')), models.Q(('actor', None), models.Q(('command', ''), _negated=True)), _connector='OR'), name='audit_names_who_did_it')],
            },
        ),
        migrations.CreateModel(
            name='Dispute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('state', models.CharField(choices=[('open', 'open'), ('upheld', 'rejection upheld'), ('overturned', 'approved after all')], default='open', max_length=10)),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.TextField(blank=True)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='dispute', to='marketplace.assignment')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('closed_at', None), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('closed_at__isnull', False)), _connector='OR'), name='dispute_closed_at')],
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('destination', models.URLField(max_length=1000)),
                ('body', models.JSONField()),
                ('made_at', models.DateTimeField()),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(blank=True, help_text='none: delivered, or given up', null=True)),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='marketplace.accesskey')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('next_try_at__isnull', False)), fields=['key', 'next_try_at'], name='notification_due_of_key')],
            },
        ),
        migrations.AddConstraint(
            model_name='hittype',
            constraint=models.UniqueConstraint(condition=models.Q(('retired_at', None)), fields=('requester', 'fingerprint'), name='hit_type_once_per_requester'),
        ),
        migrations.AddIndex(
            model_name='hit',
            index=models.Index(fields=['requester', '-id'], name='hit_newest_first'),
        ),
        migrations.AddIndex(
            model_name='hit',
            index=models.Index(fields=['requester', 'status', 'id'], name='hit_by_status'),
        ),
        migrations.AddIndex(
            model_name='hit',
            index=models.Index(condition=models.Q(('status', 'Assignable')), fields=['hit_type', 'id'], name='hit_findable'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['hit', 'submitted_at', 'id'], name='assignment_in_order'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['worker', 'state', '-id'], name='assignment_of_worker'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(fields=('assignment_id', 'worker'), name='assignment_id_once_per_worker'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['Accepted', 'Submitted', 'Approved', 'Rejected'])), fields=('hit', 'worker'), name='hit_once_per_worker'),
        ),
        # Entries of the ledger and of the audit are never changed, deleted, or emptied away (TRUNCATE fires no triggers
        # of rows).
        migrations.RunSQL(
            """
            CREATE FUNCTION marketplace_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME;
            END $$;
            """,
            "DROP FUNCTION marketplace_append_only()",
        ),
        *(
            migrations.RunSQL(
                f"""
                CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}
                    FOR EACH ROW EXECUTE FUNCTION marketplace_append_only();
                CREATE TRIGGER never_emptied BEFORE TRUNCATE ON {table}
                    FOR EACH STATEMENT EXECUTE FUNCTION marketplace_append_only();
                """,
                f"DROP TRIGGER append_only ON {table}; DROP TRIGGER never_emptied ON {table};",
            )
            for table in APPEND_ONLY
        ),
        # Counts of tries may be forgotten, so counting waits for no disk.
        migrations.RunSQL(
            "ALTER TABLE marketplace_tries SET UNLOGGED", "ALTER TABLE marketplace_tries SET LOGGED"
        ),
    ]
