from decimal import Decimal

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.comparing
from core.audit.triggers import CAMPAIGN, CHANGES, LAB, WORKER, record_changes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
        ('pools', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ConsentText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consent_texts', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Hit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('needed', models.PositiveSmallIntegerField()),
                ('wanted', models.PositiveSmallIntegerField(blank=True, help_text='How many judgments each of its pairs is to have in all, where more are asked than the campaign.', null=True)),
                ('is_held', models.BooleanField(db_default=False, default=False, help_text="Whether it is held back until the campaign's pilot has ended.")),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hits', to='pools.campaign')),
            ],
            options={
                'verbose_name': 'HIT',
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('layout', models.PositiveSmallIntegerField(db_default=0, default=0, help_text="Which of the HIT's layouts it shows.")),
                ('state', models.CharField(choices=[('active', 'being judged'), ('submitted', 'finished'), ('left', 'left early')], default='active', max_length=10)),
                ('verdict', models.CharField(choices=[('pending', 'not yet checked'), ('accepted', 'accepted'), ('excluded', 'excluded'), ('unchecked', 'left before its test pairs were judged'), ('held', 'waiting: many pairs reported, or an unproven test pair failed')], default='pending', max_length=10)),
                ('taken_at', models.DateTimeField()),
                ('leased_until', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
                ('judged', models.PositiveSmallIntegerField(default=0, help_text='Items judged when it was finished or left.')),
                ('owed', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=8)),
                ('receipt', models.CharField(blank=True, max_length=20)),
                ('platform_assignment_id', models.TextField(blank=True, default='', help_text="The assignment's id at the platform. After a return, the platform may give it to another worker.")),
                ('came_from', models.CharField(blank=True, default='', help_text='A keyed digest of the address that a frame was opened from.', max_length=16)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='pools.campaign')),
                ('hit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='tasks.hit')),
            ],
        ),
        migrations.CreateModel(
            name='OutsidePanel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=20, validators=[django.core.validators.RegexValidator('^[^:]+$', 'A name has no colon.')])),
                ('person_parameter', models.CharField(default='participantId', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', "A parameter's name has letters, digits, dots, hyphens and underscores only.")])),
                ('session_parameter', models.CharField(default='assignmentId', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', "A parameter's name has letters, digits, dots, hyphens and underscores only.")])),
                ('finished_exit', models.CharField(max_length=500, validators=[django.core.validators.RegexValidator('^(https://\\S+|[^\\s:/]+)$', 'Enter a code without spaces, or an address that begins with https://.')])),
                ('failed_exit', models.CharField(blank=True, max_length=500, validators=[django.core.validators.RegexValidator('^(https://\\S+|[^\\s:/]+)$', 'Enter a code without spaces, or an address that begins with https://.')])),
                ('no_consent_exit', models.CharField(blank=True, max_length=500, validators=[django.core.validators.RegexValidator('^(https://\\S+|[^\\s:/]+)$', 'Enter a code without spaces, or an address that begins with https://.')])),
                ('nothing_left_exit', models.CharField(blank=True, max_length=500, validators=[django.core.validators.RegexValidator('^(https://\\S+|[^\\s:/]+)$', 'Enter a code without spaces, or an address that begins with https://.')])),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='outside_panel', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='PayWords',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('how', models.TextField(blank=True, max_length=2000)),
                ('asked', models.CharField(blank=True, help_text='What they are asked for so that they can be paid. Empty: nothing.', max_length=200)),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='pay_words', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='TestPair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.TextField()),
                ('relevant_text', models.TextField()),
                ('off_topic_text', models.TextField()),
                ('state', models.CharField(choices=[('suggested', 'suggested'), ('confirmed', 'confirmed'), ('declined', 'declined'), ('dropped', 'dropped: it says nothing about workers')], default='suggested', max_length=10)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('why_dropped', models.TextField(blank=True, db_default='', default='')),
                ('proven_at', models.DateTimeField(blank=True, help_text='Since when it decides about work.', null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='test_pairs', to='pools.campaign')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('off_topic', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('proven_by', models.ForeignKey(blank=True, help_text='Who passed it in a trial; empty if workers did.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('query', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.query')),
                ('relevant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
            ],
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('layout', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('position', models.PositiveSmallIntegerField()),
                ('a_left', models.BooleanField()),
                ('hit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='tasks.hit')),
                ('pair', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='pools.pair')),
                ('test', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='tasks.testpair')),
            ],
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(choices=[('link', 'a link'), ('panel', 'a panel'), ('marketplace', 'our own marketplace'), ('mturk-sandbox', 'the sandbox of Mechanical Turk'), ('mturk', 'Mechanical Turk'), ('prolific', 'Prolific'), ('import', 'an import')], default='link', max_length=16)),
                ('label', models.CharField(blank=True, help_text="A panel member's name or address; never exported.", max_length=100)),
                ('label_key', core.comparing.ComparedField(db_default='', of='label')),
                ('joined_with', models.CharField(editable=False, max_length=32, null=True, unique=True)),
                ('external_id', models.CharField(blank=True, help_text="The worker's id at the platform; never exported.", max_length=64)),
                ('came_at', models.DateTimeField(auto_now_add=True)),
                ('barred_at', models.DateTimeField(blank=True, null=True)),
                ('erased_at', models.DateTimeField(blank=True, editable=False, help_text='Since then nothing here says who it is.', null=True)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='workers', to='core.lab')),
            ],
        ),
        migrations.CreateModel(
            name='Practice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('active', 'being done'), ('done', 'done'), ('skipped', 'skipped'), ('passed', 'passed'), ('failed', 'not passed')], default='active', max_length=10)),
                ('answers', models.JSONField(default=dict)),
                ('right', models.PositiveSmallIntegerField(default=0)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='practices', to='tasks.assignment')),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='practices', to='pools.campaign')),
                ('worker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='practices', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='PayDetail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sealed', models.TextField(help_text='Never exported with judgments.')),
                ('at', models.DateTimeField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pay_details', to='pools.campaign')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pay_details', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='PanelVisit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session', models.CharField(max_length=64)),
                ('came_at', models.DateTimeField()),
                ('is_taken_over', models.BooleanField(default=False, help_text='Whether a later session of the same person went on with its work.')),
                ('assignment', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='visit', to='tasks.assignment')),
                ('panel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='visits', to='tasks.outsidepanel')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='visits', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='pools.campaign')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('given_at', models.DateTimeField(auto_now_add=True)),
                ('text', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='tasks.consenttext')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='tasks.worker')),
            ],
        ),
        migrations.AddField(
            model_name='assignment',
            name='worker',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='tasks.worker'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('campaign', 'version'), name='consent_version_once'),
        ),
        migrations.AddIndex(
            model_name='hit',
            index=models.Index(condition=models.Q(('needed__gt', 0)), fields=['campaign', 'number'], name='hit_waiting'),
        ),
        migrations.AddIndex(
            model_name='hit',
            index=models.Index(condition=models.Q(('is_held', True)), fields=['campaign'], name='hit_held_back'),
        ),
        migrations.AddConstraint(
            model_name='hit',
            constraint=models.UniqueConstraint(fields=('campaign', 'number'), name='hit_number_once'),
        ),
        migrations.AddConstraint(
            model_name='hit',
            constraint=models.CheckConstraint(condition=models.Q(('is_held', False), ('needed', 0), _connector='OR'), name='hit_held_back_needs_no_work'),
        ),
        migrations.AddConstraint(
            model_name='outsidepanel',
            constraint=models.CheckConstraint(condition=models.Q(('person_parameter', models.F('session_parameter')), _negated=True), name='outside_panel_has_two_parameters'),
        ),
        migrations.AddConstraint(
            model_name='testpair',
            constraint=models.UniqueConstraint(fields=('campaign', 'query', 'relevant', 'off_topic'), name='test_pair_once_per_campaign'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('hit', 'layout', 'position'), name='item_position_once'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('pair__isnull', True), ('test__isnull', False)), models.Q(('pair__isnull', False), ('test__isnull', True)), _connector='OR'), name='item_is_pair_or_test'),
        ),
        migrations.AddConstraint(
            model_name='worker',
            constraint=models.UniqueConstraint(condition=models.Q(('label_key', ''), _negated=True), fields=('lab', 'label_key'), name='worker_label_once_per_lab'),
        ),
        migrations.AddConstraint(
            model_name='worker',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('lab', 'platform', 'external_id'), name='worker_external_id_once_per_lab'),
        ),
        migrations.AddIndex(
            model_name='practice',
            index=models.Index(fields=['worker', 'campaign'], name='practice_of_worker'),
        ),
        migrations.AddIndex(
            model_name='practice',
            index=models.Index(fields=['campaign', 'state'], name='practice_of_campaign'),
        ),
        migrations.AddConstraint(
            model_name='practice',
            constraint=models.UniqueConstraint(fields=('assignment', 'number'), name='practice_once'),
        ),
        migrations.AddConstraint(
            model_name='practice',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'active')), models.Q(models.Q(('state', 'active'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='practice_ended_has_a_time'),
        ),
        migrations.AddConstraint(
            model_name='paydetail',
            constraint=models.UniqueConstraint(fields=('worker', 'campaign'), name='pay_detail_once'),
        ),
        migrations.AddConstraint(
            model_name='panelvisit',
            constraint=models.UniqueConstraint(fields=('panel', 'worker', 'session'), name='panel_visit_once'),
        ),
        migrations.AddConstraint(
            model_name='panelvisit',
            constraint=models.CheckConstraint(condition=models.Q(('is_taken_over', False), ('assignment__isnull', True), _connector='OR'), name='panel_visit_has_its_work_or_not'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(fields=('campaign', 'worker'), name='invitation_once'),
        ),
        migrations.AddConstraint(
            model_name='consent',
            constraint=models.UniqueConstraint(fields=('worker', 'text'), name='consent_once'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('verdict', 'pending')), fields=['hit', 'leased_until'], name='assignment_leases'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('state', 'active')), fields=['leased_until'], name='assignment_going_on'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['campaign', '-id'], name='assignment_newest_first'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('verdict', 'held')), fields=['campaign'], name='assignment_held'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['worker', 'campaign', 'hit'], name='assignment_of_worker'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('platform_assignment_id', ''), _negated=True), fields=('hit', 'worker', 'platform_assignment_id'), name='assignment_platform_id_once_per_worker'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('platform_assignment_id', '')), fields=('hit', 'worker'), name='assignment_once_per_worker'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('platform_assignment_id', ''), ('state', 'active')), fields=('campaign', 'worker'), name='assignment_one_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('state', 'active')), models.Q(models.Q(('state', 'active'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='assignment_finished_has_a_time'),
        ),
        record_changes("tasks_paywords", CHANGES, CAMPAIGN, new_fields=True, ignored="campaign_id"),
        record_changes("tasks_consenttext", CHANGES, CAMPAIGN, "$1->>'version'", worker=WORKER),
        record_changes("tasks_outsidepanel", CHANGES, CAMPAIGN, "$1->>'name'", ignored="campaign_id"),
        record_changes(
            "tasks_testpair",
            "UPDATE",
            CAMPAIGN,
            "left($1->>'question', 200)",
            when="NEW.state IS DISTINCT FROM OLD.state",
            ignored="decided_by_id decided_at",
        ),
        record_changes(
            "tasks_worker",
            "UPDATE OR DELETE",
            LAB,
            worker="($1->>'id')::bigint",
            ignored="label_key",
            unsaid="label external_id joined_with",
        ),
    ]
