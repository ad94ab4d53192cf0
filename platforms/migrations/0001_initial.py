import datetime
from decimal import Decimal

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import pools.models
from core.audit.triggers import CAMPAIGN, CHANGES, LAB, WORKER, Owner, record_changes

PUBLICATION = Owner(
    "c.lab_id",
    "c.id",
    "c.name",
    "FROM platforms_publication p JOIN pools_campaign c ON c.id = p.campaign_id WHERE p.id = ($1->>'publication_id')::bigint",
)

WORKER_OF_ASSIGNMENT = "(SELECT worker_id FROM tasks_assignment WHERE id = ($1->>'assignment_id')::bigint)"


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
        ('pools', '0001_initial'),
        ('tasks', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LabAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('marketplace', 'our own marketplace'), ('mturk-sandbox', 'the sandbox of Mechanical Turk'), ('mturk', 'Mechanical Turk'), ('prolific', 'Prolific')], max_length=16)),
                ('sealed', models.TextField()),
                ('workspace_id', models.CharField(max_length=64)),
                ('workspace', models.CharField(max_length=200)),
                ('project_id', models.CharField(max_length=64)),
                ('fee_share', models.DecimalField(decimal_places=6, max_digits=8)),
                ('currency', models.CharField(choices=[('USD', 'US dollars'), ('GBP', 'pounds sterling')], db_default='USD', default='USD', help_text='The currency of the account’s balance, and of everything that is paid from it.', max_length=3)),
                ('offers', models.JSONField(blank=True, db_default=[], default=list, help_text='What only some accounts there have, and this one has.')),
                ('at', models.DateTimeField(help_text='When the token was stored.')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='platform_accounts', to='core.lab')),
            ],
        ),
        migrations.CreateModel(
            name='AccountHook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.CharField(default=pools.models.new_token, editable=False, max_length=32, unique=True)),
                ('sealed', models.TextField(blank=True)),
                ('address', models.TextField(blank=True)),
                ('trouble', models.TextField(blank=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('heard_at', models.DateTimeField(help_text='When a notification last came, to the minute.', null=True)),
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='hook', to='platforms.labaccount')),
            ],
        ),
        migrations.CreateModel(
            name='MessageCursor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('marketplace', 'our own marketplace'), ('mturk-sandbox', 'the sandbox of Mechanical Turk'), ('mturk', 'Mechanical Turk'), ('prolific', 'Prolific')], max_length=16)),
                ('message_id', models.CharField(max_length=64)),
                ('lab', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='core.lab')),
            ],
        ),
        migrations.CreateModel(
            name='Publication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('marketplace', 'our own marketplace'), ('mturk-sandbox', 'the sandbox of Mechanical Turk'), ('mturk', 'Mechanical Turk'), ('prolific', 'Prolific')], default='marketplace', max_length=16)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('open', 'published'), ('paused', 'paused'), ('stopped', 'stopped: no spending')], default='draft', max_length=8)),
                ('reference', models.CharField(default=pools.models.new_token, editable=False, max_length=32, unique=True)),
                ('pay', models.CharField(choices=[('base-and-bonus', 'a small base, and a bonus for work beyond it'), ('full-on-exit', 'the full reward, even for leaving early'), ('return-and-compensate', 'a worker who leaves early returns the HIT and is compensated')], default='base-and-bonus', max_length=24)),
                ('base', models.DecimalField(decimal_places=2, default=Decimal('0.10'), max_digits=8, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))])),
                ('requirements', models.JSONField(blank=True, default=list, help_text="What workers must have: the API's QualificationRequirements.")),
                ('title', models.CharField(max_length=128)),
                ('description', models.CharField(max_length=2000)),
                ('keywords', models.CharField(blank=True, max_length=1000)),
                ('lifetime', models.DurationField(default=datetime.timedelta(days=14))),
                ('assignment_duration', models.DurationField(default=datetime.timedelta(seconds=3600))),
                ('auto_approval', models.DurationField(default=datetime.timedelta(days=7))),
                ('approve_after', models.DurationField(default=datetime.timedelta(0), help_text='How long submitted work waits for a person before it is approved.')),
                ('rate', models.FloatField(default=5.0, help_text='Calls per second.', validators=[django.core.validators.MinValueValidator(0.01), django.core.validators.MaxValueValidator(1000)])),
                ('hit_type_id', models.TextField(blank=True)),
                ('exclusion_id', models.TextField(blank=True, help_text='The qualification of workers who get no more HITs.')),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('resumed_at', models.DateTimeField(blank=True, editable=False, help_text='After the last pause; empty without one.', null=True)),
                ('finished_revision', models.PositiveBigIntegerField(blank=True, editable=False, help_text="The campaign's revision when everything here was settled and the ledgers agreed.", null=True)),
                ('next_call_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('test_study_id', models.TextField(blank=True, db_default='', default='', editable=False, help_text='The study of the test run that is open now, if there is one.')),
                ('test_study_address', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('balance', models.DecimalField(blank=True, decimal_places=2, editable=False, help_text='What the account could spend when a job last asked; empty before.', max_digits=12, null=True)),
                ('balance_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('money_asked', models.DecimalField(blank=True, decimal_places=2, editable=False, help_text='What whoever adds money to the account was last asked for.', max_digits=10, null=True)),
                ('money_asked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='publication', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='PayRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('submissions', models.PositiveIntegerField()),
                ('hourly_there', models.DecimalField(decimal_places=2, max_digits=12, null=True)),
                ('hourly_here', models.DecimalField(decimal_places=2, max_digits=12, null=True)),
                ('seconds_there', models.FloatField(null=True)),
                ('seconds_here', models.FloatField(null=True)),
                ('at', models.DateTimeField()),
                ('publication', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='pay_rate', to='platforms.publication')),
            ],
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('received', 'received'), ('answered', 'answered'), ('set-aside', 'needs no answer'), ('planned', 'to be sent'), ('sending', 'being sent'), ('sent', 'sent'), ('failed', 'not sent')], max_length=10)),
                ('platform_message_id', models.CharField(blank=True, max_length=64)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('at', models.DateTimeField(help_text='When it was written.')),
                ('error', models.TextField(blank=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('hit', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks.hit')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='tasks.worker')),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='platforms.publication')),
            ],
        ),
        migrations.CreateModel(
            name='LedgerComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('began_at', models.DateTimeField()),
                ('made_at', models.DateTimeField()),
                ('is_full', models.BooleanField(help_text='Every HIT was asked about, and not only those that could still change.')),
                ('differences', models.PositiveIntegerField(help_text='All of them; the content has the first in words.')),
                ('content', models.JSONField()),
                ('publication', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='comparison', to='platforms.publication')),
            ],
        ),
        migrations.CreateModel(
            name='PublishedHit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('round', models.PositiveSmallIntegerField(default=1)),
                ('max_assignments', models.PositiveIntegerField(help_text='Assignments requested, including requests on their way.')),
                ('added', models.PositiveIntegerField(default=0, help_text='Of these, those asked for after it was published.')),
                ('platform_hit_id', models.TextField(blank=True)),
                ('hit_type_id', models.TextField(blank=True, help_text='The HIT type that the platform has it under.')),
                ('posted_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('turn', models.PositiveIntegerField(default=0)),
                ('next_poll_at', models.DateTimeField(help_text='Empty if nothing more can arrive.', null=True)),
                ('asked_at', models.DateTimeField(help_text='When the platform last said what was submitted on it.', null=True)),
                ('compare_due', models.BooleanField(default=False, help_text='The comparison that is going on is yet to ask.')),
                ('compared_at', models.DateTimeField(null=True)),
                ('listed_reward', models.DecimalField(decimal_places=2, help_text='What the platform lists; empty if it was not said.', max_digits=8, null=True)),
                ('ours_rewards', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('ours_bonuses', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('platform_rewards', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('platform_bonuses', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=10)),
                ('difference', models.TextField(blank=True, help_text='How the ledgers differed, in words; empty if they agreed.')),
                ('settled_at', models.DateTimeField(help_text='When the ledgers agreed on it, with nothing more to come: it is not asked about again.', null=True)),
                ('hit', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='published_hits', to='tasks.hit')),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='published_hits', to='platforms.publication')),
            ],
        ),
        migrations.CreateModel(
            name='RunningComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began_at', models.DateTimeField()),
                ('is_full', models.BooleanField(help_text='Every HIT is asked about, and not only those that can still change.')),
                ('strays', models.JSONField(help_text='HITs at the platform that are unknown here; empty until the platform was asked.', null=True)),
                ('publication', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='running_comparison', to='platforms.publication')),
            ],
        ),
        migrations.CreateModel(
            name='StudySync',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('counts', models.JSONField(default=dict)),
                ('is_quiet', models.BooleanField(db_default=False, default=False)),
                ('unreturned', models.PositiveIntegerField(db_default=0, default=0)),
                ('full_at', models.DateTimeField()),
                ('publication', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='study_sync', to='platforms.publication')),
            ],
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform_assignment_id', models.TextField()),
                ('platform_worker_id', models.TextField()),
                ('status', models.CharField(choices=[('Submitted', 'submitted'), ('Approved', 'approved'), ('Rejected', 'rejected'), ('Returned', 'returned')], max_length=10)),
                ('submitted_at', models.DateTimeField()),
                ('auto_approval_at', models.DateTimeField(null=True)),
                ('seconds_there', models.FloatField(help_text="From accepting to submitting, by the platform's clock; empty if it was not said.", null=True)),
                ('receipt', models.CharField(blank=True, max_length=64)),
                ('why_unmatched', models.TextField(blank=True)),
                ('decision', models.CharField(blank=True, choices=[('', 'not yet'), ('approve', 'approve'), ('reject', 'reject'), ('return', 'none: its worker has returned it')], default='', max_length=8)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('rejection_category', models.CharField(blank=True, db_default='', default='', help_text="The platform's word for why it was rejected.", max_length=30)),
                ('return_reason', models.CharField(blank=True, db_default='', default='', help_text="Why its worker was asked to return it, where that is one of the platform's own reasons.", max_length=60)),
                ('assignment', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='submission', to='tasks.assignment')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='platforms.publication')),
                ('published_hit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='platforms.publishedhit')),
                ('return_asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('reward', 'reward'), ('bonus', 'bonus'), ('compensation', 'compensation'), ('extra', 'extra bonus'), ('adjustment', 'adjustment of the pay')], max_length=12)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=8)),
                ('fee', models.DecimalField(decimal_places=2, max_digits=8)),
                ('token', models.CharField(default=pools.models.new_token, editable=False, max_length=64, unique=True)),
                ('state', models.CharField(choices=[('owed', 'owed'), ('sent', 'on its way'), ('paid', 'paid'), ('refused', 'refused')], default='owed', max_length=8)),
                ('evidence', models.JSONField(blank=True, default=dict)),
                ('why', models.TextField(blank=True, db_default='', default='', help_text='What the worker reads about an extra bonus or an adjustment.')),
                ('owed_at', models.DateTimeField()),
                ('paid_at', models.DateTimeField(blank=True, null=True)),
                ('assignment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='tasks.assignment')),
                ('by', models.ForeignKey(blank=True, help_text='Who granted an extra bonus or an adjustment.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='platforms.publication')),
                ('submission', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='platforms.submission')),
            ],
        ),
        migrations.CreateModel(
            name='Operation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('exclusion-type', 'create the exclusion qualification'), ('hit-type', 'create the HIT type'), ('create', 'publish a HIT'), ('retype', 'move a HIT to the new terms'), ('extend', 'request more assignments'), ('expire', 'end a HIT'), ('reopen', 'reopen a HIT'), ('approve', 'approve'), ('reject', 'reject'), ('ask-return', 'ask a worker to return work'), ('bonus', 'pay a bonus'), ('extra-bonus', 'pay an extra bonus'), ('adjust', 'pay an adjustment'), ('compensate', 'offer a compensation'), ('exclude', 'exclude a worker'), ('readmit', 'readmit a worker')], max_length=16)),
                ('turn', models.PositiveIntegerField(default=0, help_text="Which of several such calls this is: of a HIT's ends and reopenings its turn, of its moves and of the offers of a payment their number, of requests for more assignments how many the HIT has then.")),
                ('until', models.DateTimeField(help_text='How long a HIT is to stay open.', null=True)),
                ('barred_at', models.DateTimeField(help_text='Since when the worker who is excluded was barred.', null=True)),
                ('token', models.CharField(default=pools.models.new_token, editable=False, max_length=64, unique=True)),
                ('state', models.CharField(choices=[('planned', 'planned'), ('sent', 'sent'), ('done', 'done'), ('refused', 'refused'), ('unknown', 'outcome unknown')], default='planned', max_length=8)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_try', models.DateTimeField()),
                ('first_sent_at', models.DateTimeField(help_text='The platform knows the token for 24 hours from then.', null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('request', models.JSONField(default=dict)),
                ('result', models.JSONField(default=dict)),
                ('error', models.TextField(blank=True)),
                ('worker', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='tasks.worker')),
                ('payment', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='platforms.payment')),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='platforms.publication')),
                ('published_hit', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='platforms.publishedhit')),
                ('submission', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='platforms.submission')),
            ],
        ),
        migrations.CreateModel(
            name='TermsVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('values', models.JSONField(help_text='Each term by its name, lengths of time in seconds.')),
                ('hit_type_id', models.TextField(blank=True)),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('publication', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='terms', to='platforms.publication')),
            ],
        ),
        migrations.AddField(
            model_name='operation',
            name='terms',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='platforms.termsversion'),
        ),
        migrations.CreateModel(
            name='HandPayment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField(help_text="Of the assignment's rows, from 1.")),
                ('amount', models.DecimalField(decimal_places=2, max_digits=8)),
                ('paid_on', models.DateField(help_text='The day on which it was paid, as the lab says.')),
                ('note', models.CharField(blank=True, help_text='Such as the number of a transfer.', max_length=200)),
                ('at', models.DateTimeField()),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hand_payments', to='tasks.assignment')),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hand_payments', to='pools.campaign')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('assignment', 'number'), name='hand_payment_number_once'), models.CheckConstraint(condition=models.Q(('amount', 0), _negated=True), name='hand_payment_of_something')],
            },
        ),
        migrations.AddConstraint(
            model_name='labaccount',
            constraint=models.UniqueConstraint(fields=('lab', 'platform'), name='lab_account_once_per_platform'),
        ),
        migrations.AddConstraint(
            model_name='labaccount',
            constraint=models.CheckConstraint(condition=models.Q(('fee_share__gte', 0)), name='lab_account_fee_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='messagecursor',
            constraint=models.UniqueConstraint(fields=('platform', 'lab'), name='message_cursor_once_per_account', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='publication',
            constraint=models.CheckConstraint(condition=models.Q(('auto_approval__gte', datetime.timedelta(days=3)), ('auto_approval__lte', datetime.timedelta(days=30))), name='publication_auto_approval_from_3_to_30_days'),
        ),
        migrations.AddConstraint(
            model_name='publication',
            constraint=models.CheckConstraint(condition=models.Q(('base__gt', 0), ('rate__gt', 0)), name='publication_base_and_rate_positive'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('state__in', ['received', 'planned'])), fields=['publication'], name='message_waiting'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('platform_message_id', ''), _negated=True), fields=('publication', 'platform_message_id'), name='message_received_once'),
        ),
        migrations.AddIndex(
            model_name='publishedhit',
            index=models.Index(condition=models.Q(('next_poll_at__isnull', False)), fields=['publication', 'next_poll_at'], name='published_hit_to_poll'),
        ),
        migrations.AddIndex(
            model_name='publishedhit',
            index=models.Index(condition=models.Q(('compare_due', True)), fields=['publication', 'id'], name='published_hit_to_compare'),
        ),
        migrations.AddConstraint(
            model_name='publishedhit',
            constraint=models.UniqueConstraint(fields=('publication', 'hit', 'round'), name='published_hit_once_per_round'),
        ),
        migrations.AddConstraint(
            model_name='publishedhit',
            constraint=models.UniqueConstraint(condition=models.Q(('platform_hit_id', ''), _negated=True), fields=('publication', 'platform_hit_id'), name='published_hit_platform_id_once'),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(condition=models.Q(('decision', '')), fields=['publication', 'submitted_at'], name='to_decide'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.UniqueConstraint(fields=('publication', 'platform_assignment_id', 'platform_worker_id'), name='submission_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(fields=('assignment', 'purpose'), name='payment_once_per_assignment'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(fields=('submission', 'purpose'), name='payment_once_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('assignment__isnull', False), ('submission__isnull', False), _connector='OR'), name='payment_is_for_something'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0), ('fee__gte', 0)), name='payment_of_something'),
        ),
        migrations.AddConstraint(
            model_name='termsversion',
            constraint=models.UniqueConstraint(fields=('publication', 'version'), name='terms_version_once'),
        ),
        migrations.AddIndex(
            model_name='operation',
            index=models.Index(condition=models.Q(('state__in', ['planned', 'sent', 'unknown'])), fields=['publication', 'next_try'], name='operation_to_send'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'exclusion-type')), fields=('publication', 'kind'), name='operation_once_per_publication'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'hit-type')), fields=('terms', 'kind'), name='operation_once_per_terms'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('published_hit__isnull', False)), fields=('published_hit', 'kind', 'turn'), name='operation_once_per_turn_of_a_hit'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('submission__isnull', False)), fields=('submission', 'kind'), name='operation_once_per_submission'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'compensate')), fields=('payment', 'kind', 'turn'), name='operation_once_per_offer'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('worker__isnull', False)), fields=('publication', 'worker', 'kind', 'barred_at'), name='operation_once_per_barring'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.CheckConstraint(condition=models.Q(('kind', 'exclusion-type'), models.Q(('kind', 'hit-type'), ('terms__isnull', False)), models.Q(('kind__in', ['create', 'extend', 'expire']), ('published_hit__isnull', False)), models.Q(('kind', 'reopen'), ('published_hit__isnull', False), ('until__isnull', False)), models.Q(('kind', 'retype'), ('published_hit__isnull', False), ('terms__isnull', False)), models.Q(('kind', 'compensate'), ('payment__isnull', False), ('published_hit__isnull', False)), models.Q(('kind', 'approve'), ('submission__isnull', False)), models.Q(('kind', 'reject'), ('submission__isnull', False)), models.Q(('kind', 'ask-return'), ('submission__isnull', False)), models.Q(('kind__in', ['bonus', 'extra-bonus', 'adjust']), ('payment__isnull', False), ('submission__isnull', False)), models.Q(('barred_at__isnull', False), ('kind__in', ['exclude', 'readmit']), ('worker__isnull', False)), _connector='OR'), name='operation_says_what_it_is_about'),
        ),
        record_changes("platforms_labaccount", CHANGES, LAB, "$1->>'platform'", ignored="lab_id sealed by_id at", new_fields=True),
        migrations.RunSQL(
            """
            CREATE FUNCTION platforms_hand_payment_kept() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND NEW.note = '' AND to_jsonb(NEW) - 'note' = to_jsonb(OLD) - 'note' THEN
                    RETURN NEW;  -- its worker is erased
                END IF;
                RAISE EXCEPTION 'payments that a lab made itself are never changed or deleted';
            END $$;
            CREATE TRIGGER hand_payment_append_only BEFORE UPDATE OR DELETE ON platforms_handpayment
                FOR EACH ROW EXECUTE FUNCTION platforms_hand_payment_kept();
            """,
            "DROP FUNCTION platforms_hand_payment_kept() CASCADE",
        ),
        record_changes(
            "platforms_handpayment", "INSERT", CAMPAIGN, "$1->>'amount'", worker=WORKER_OF_ASSIGNMENT, unsaid="note",
        ),
        record_changes(
            "platforms_message", "INSERT", PUBLICATION, worker=WORKER, when="NEW.by_id IS NOT NULL",
            ignored="subject text error platform_message_id",
        ),
        record_changes(
            "platforms_payment", "UPDATE", PUBLICATION, "($1->>'purpose') || ' ' || ($1->>'amount')",
            worker=WORKER_OF_ASSIGNMENT,
            when="NEW.state IN ('paid', 'refused') AND NEW.state IS DISTINCT FROM OLD.state", ignored="evidence",
        ),
        record_changes(
            "platforms_publication", CHANGES, CAMPAIGN, "$1->>'platform'", worker=WORKER,
            ignored="next_call_at finished_revision hit_type_id resumed_at exclusion_id balance balance_at",
        ),
        record_changes(
            "platforms_submission", "UPDATE", PUBLICATION, worker=WORKER_OF_ASSIGNMENT,
            when="NEW.decided_by_id IS NOT NULL AND NEW.decision IS DISTINCT FROM OLD.decision", ignored="status",
            unsaid="platform_assignment_id platform_worker_id receipt", why="reason",
        ),
        record_changes("platforms_termsversion", "INSERT", PUBLICATION, "$1->>'version'", ignored="hit_type_id"),
        record_changes(
            "platforms_message", "UPDATE", PUBLICATION, worker=WORKER,
            when="NEW.state = 'set-aside' AND OLD.state <> 'set-aside'",
            ignored="subject text error platform_message_id", name="audit_set_aside",
        ),
    ]
