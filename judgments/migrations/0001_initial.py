import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.audit.triggers import CAMPAIGN, CHANGES, NOBODY, WORKER, record_changes

# For tables from which nothing is ever deleted.
REFUSE_CHANGE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: add a newer row instead', TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""

# Judgments and decisions are append-only, and of adjudications only taking one back is written into its row: the
# database itself refuses anything else. A closed campaign's can be deleted, all of them, by one function; and the reason
# of a decision, which may say things about a worker, goes with the worker, by another.
APPEND_ONLY = """
    CREATE FUNCTION judgments_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mjudgments_erase_campaign\\(' THEN RETURN OLD; END IF;
        RAISE EXCEPTION '% is append-only: add a newer row instead', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    CREATE FUNCTION judgments_keep_decision() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE stack text;
    BEGIN
        GET DIAGNOSTICS stack = PG_CONTEXT;
        IF TG_OP = 'UPDATE' AND stack ~ '(^|\\n)[^"\\n]*\\mjudgments_forget_reasons\\(' THEN RETURN NEW; END IF;
        IF TG_OP = 'DELETE' AND stack ~ '(^|\\n)[^"\\n]*\\mjudgments_erase_campaign\\(' THEN RETURN OLD; END IF;
        RAISE EXCEPTION '% is append-only: add a newer row instead', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    CREATE FUNCTION judgments_erase_campaign(campaign bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM pools_campaign WHERE id = campaign AND state <> 'closed') THEN
            RAISE EXCEPTION 'campaign % is not closed', campaign USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        DELETE FROM judgments_judgment WHERE assignment_id IN (
            SELECT id FROM tasks_assignment WHERE campaign_id = campaign
        );
        DELETE FROM judgments_decision WHERE campaign_id = campaign;
        DELETE FROM judgments_pairdecision WHERE campaign_id = campaign;
        DELETE FROM judgments_adjudication WHERE campaign_id = campaign;
    END $$;

    CREATE FUNCTION judgments_forget_reasons(worker bigint) RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE changed integer;
    BEGIN
        UPDATE judgments_decision SET why = '' WHERE worker_id = worker AND by_id IS NOT NULL AND why <> '';
        GET DIAGNOSTICS changed = ROW_COUNT;
        RETURN changed;
    END $$;

    CREATE TRIGGER judgment_append_only BEFORE UPDATE OR DELETE ON judgments_judgment
        FOR EACH ROW EXECUTE FUNCTION judgments_keep();
    CREATE TRIGGER pair_decision_append_only BEFORE UPDATE OR DELETE ON judgments_pairdecision
        FOR EACH ROW EXECUTE FUNCTION judgments_keep();
    CREATE TRIGGER adjudication_kept BEFORE DELETE OR UPDATE OF campaign_id, pair_id, choice, note, by_id, at
        ON judgments_adjudication FOR EACH ROW EXECUTE FUNCTION judgments_keep();
    CREATE TRIGGER decision_append_only BEFORE UPDATE OR DELETE ON judgments_decision
        FOR EACH ROW EXECUTE FUNCTION judgments_keep_decision();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
        ('pools', '0001_initial'),
        ('runs', '0001_initial'),
        ('tasks', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AlarmEpisode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Of an alarm of the campaign, or of its publication.', max_length=30)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('mailed_at', models.DateTimeField(help_text='When everybody who wants to know was told.', null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alarm_episodes', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='AssignmentSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('median_seconds', models.FloatField(help_text='Of one pair.', null=True)),
                ('left_share', models.FloatField(help_text='How often the passage on the left was preferred.', null=True)),
                ('pairs', models.PositiveIntegerField(default=0, help_text='Pairs judged.')),
                ('tests', models.PositiveIntegerField(default=0, help_text='Test pairs judged.')),
                ('passed', models.PositiveIntegerField(default=0)),
                ('compared', models.PositiveIntegerField(default=0)),
                ('agreed', models.PositiveIntegerField(default=0)),
                ('translated', models.PositiveIntegerField(default=0, help_text='Judged on a page that a browser translated.')),
                ('pass_share', models.FloatField(help_text='Of the test pairs judged.', null=True)),
                ('agreement', models.FloatField(help_text='The share agreed of those compared.', null=True)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='summary', to='tasks.assignment')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='CampaignSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('median_seconds', models.FloatField(help_text='Of one pair.', null=True)),
                ('left_share', models.FloatField(help_text='How often the passage on the left was preferred.', null=True)),
                ('pairs', models.PositiveIntegerField(default=0, help_text='Pairs judged.')),
                ('tests', models.PositiveIntegerField(default=0, help_text='Test pairs judged.')),
                ('passed', models.PositiveIntegerField(default=0)),
                ('compared', models.PositiveIntegerField(default=0)),
                ('agreed', models.PositiveIntegerField(default=0)),
                ('translated', models.PositiveIntegerField(default=0, help_text='Judged on a page that a browser translated.')),
                ('pass_share', models.FloatField(help_text='Of the test pairs judged.', null=True)),
                ('agreement', models.FloatField(help_text='The share agreed of those compared.', null=True)),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's at that moment.")),
                ('newest_judgment', models.BigIntegerField(help_text='The key of the newest of work that went on; 0 without any.')),
                ('made_at', models.DateTimeField()),
                ('rests_until', models.DateTimeField(help_text='It is not counted again before.')),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='summary', to='pools.campaign')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('excluded', 'data excluded'), ('restored', 'data used again'), ('barred', 'worker barred'), ('unbarred', 'bar lifted')], max_length=10)),
                ('why', models.TextField()),
                ('at', models.DateTimeField()),
                ('assignment', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='tasks.assignment')),
                ('by', models.ForeignKey(help_text='Empty if the rule decided.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='pools.campaign')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='Disagreement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('for_a', models.PositiveIntegerField()),
                ('for_b', models.PositiveIntegerField()),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='disagreements', to='pools.campaign')),
                ('pair', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='disagreement', to='pools.pair')),
            ],
        ),
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's at that moment.")),
                ('software', models.CharField(max_length=50)),
                ('newest_assignment', models.BigIntegerField(help_text="The key of the campaign's newest one; 0 without any.")),
                ('newest_judgment', models.BigIntegerField(help_text='The key of the newest of work that went on; 0 without any.')),
                ('counts', models.JSONField(help_text='judgments.selectors.Counts.')),
                ('made_at', models.DateTimeField()),
                ('seconds', models.FloatField(help_text='How long it took.')),
                ('rests_until', models.DateTimeField(help_text='By itself it is not made again before.')),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='export', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Judgment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('preferred', models.CharField(choices=[('left', 'left'), ('right', 'right')], help_text='Empty for a tie, which only an imported one can be.', max_length=5, null=True)),
                ('shown_at', models.DateTimeField()),
                ('made_at', models.DateTimeField()),
                ('is_translated', models.BooleanField(db_default=False, default=False, help_text='Whether a browser had translated the page.')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='tasks.assignment')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='tasks.item')),
            ],
        ),
        migrations.CreateModel(
            name='Acceptance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slot', models.PositiveSmallIntegerField()),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='acceptances', to='tasks.assignment')),
                ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='acceptances', to='pools.pair')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks.worker')),
                ('judgment', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='acceptance', to='judgments.judgment')),
            ],
        ),
        migrations.CreateModel(
            name='PairDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('set_aside', 'set aside'), ('asked', 'asked about again')], max_length=10)),
                ('why', models.TextField()),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pair_decisions', to='pools.campaign')),
                ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='pools.pair')),
            ],
        ),
        migrations.CreateModel(
            name='PairReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(choices=[('language', 'It is not in the language of this task'), ('broken', 'The text is broken or cut off'), ('same', 'Both passages say the same'), ('upsetting', 'It is offensive or upsetting'), ('other', 'Something else')], max_length=10)),
                ('note', models.TextField(blank=True, help_text="In the worker's words; never exported.")),
                ('made_at', models.DateTimeField()),
                ('withdrawn_at', models.DateTimeField(blank=True, help_text='When the worker judged it after all.', null=True)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pair_reports', to='tasks.assignment')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='tasks.item')),
            ],
        ),
        migrations.CreateModel(
            name='Reuse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('judgment_count', models.PositiveIntegerField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reuses', to='pools.campaign')),
                ('imported', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reused_by', to='runs.preferenceimport')),
                ('source', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reused_by', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='ReusedJudgment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slot', models.PositiveSmallIntegerField()),
                ('prefers_a', models.BooleanField(help_text='Empty for a tie, which only an imported one can be.', null=True)),
                ('imported', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reused', to='runs.importedpreference')),
                ('judgment', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reused', to='judgments.judgment')),
                ('pair', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='reused', to='pools.pair')),
                ('reuse', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='judgments.reuse')),
                ('worker', models.ForeignKey(help_text='Empty if it was imported.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('export', 'export'), ('result', 'result'), ('bundle', 'release bundle'), ('kept', 'report of earlier results')], max_length=6)),
                ('name', models.CharField(max_length=100)),
                ('state', models.CharField(choices=[('writing', 'being written'), ('current', 'current'), ('replaced', 'replaced')], default='writing', max_length=8)),
                ('file', models.FileField(max_length=255, upload_to='')),
                ('size', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's, when it was made.")),
                ('made_at', models.DateTimeField()),
                ('replaced_at', models.DateTimeField(blank=True, null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='WorkerNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(help_text='Never exported.')),
                ('made_at', models.DateTimeField()),
                ('read_at', models.DateTimeField(help_text='Empty while it waits for a person.', null=True)),
                ('about_pay', models.BooleanField(db_default=False, default=False)),
                ('answer', models.TextField(blank=True, db_default='', default='', help_text='Never exported.')),
                ('answered_at', models.DateTimeField(null=True)),
                ('answered_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='notes', to='tasks.assignment')),
                ('read_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='WorkerSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('median_seconds', models.FloatField(help_text='Of one pair.', null=True)),
                ('left_share', models.FloatField(help_text='How often the passage on the left was preferred.', null=True)),
                ('pairs', models.PositiveIntegerField(default=0, help_text='Pairs judged.')),
                ('tests', models.PositiveIntegerField(default=0, help_text='Test pairs judged.')),
                ('passed', models.PositiveIntegerField(default=0)),
                ('compared', models.PositiveIntegerField(default=0)),
                ('agreed', models.PositiveIntegerField(default=0)),
                ('translated', models.PositiveIntegerField(default=0, help_text='Judged on a page that a browser translated.')),
                ('pass_share', models.FloatField(help_text='Of the test pairs judged.', null=True)),
                ('agreement', models.FloatField(help_text='The share agreed of those compared.', null=True)),
                ('correct_share', models.FloatField(help_text='How often they are right, by Dawid–Skene.', null=True)),
                ('unguessed_share', models.FloatField(help_text='Judgments that are no guesses, by MACE.', null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='worker_summaries', to='pools.campaign')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='summaries', to='tasks.worker')),
            ],
        ),
        migrations.CreateModel(
            name='Adjudication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('choice', models.CharField(choices=[('a', 'passage A'), ('b', 'passage B'), ('tie', 'equally good'), ('unsure', 'cannot say')], help_text='“Cannot say” leaves the judgments to count.', max_length=6)),
                ('note', models.TextField(blank=True, help_text='Exported with the decision.')),
                ('at', models.DateTimeField()),
                ('undone_at', models.DateTimeField(help_text='Empty while it stands.', null=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='pools.campaign')),
                ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='pools.pair')),
                ('undone_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('undone_at__isnull', True)), fields=('pair',), name='adjudication_stands_once'), models.CheckConstraint(condition=models.Q(('choice__in', ['a', 'b', 'tie', 'unsure'])), name='adjudication_choice')],
            },
        ),
        migrations.AddConstraint(
            model_name='alarmepisode',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('campaign', 'kind'), name='alarm_episode_one_at_a_time'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(fields=['campaign', '-id'], name='decision_newest_first'),
        ),
        migrations.AddIndex(
            model_name='disagreement',
            index=models.Index(fields=['campaign', 'pair'], name='disagreement_of_campaign'),
        ),
        migrations.AddIndex(
            model_name='judgment',
            index=models.Index(fields=['assignment', 'item', '-id'], name='judgment_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('preferred__in', ['left', 'right'])), name='judgment_left_or_right'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('made_at__gte', models.F('shown_at'))), name='judgment_shown_before_made'),
        ),
        migrations.AddConstraint(
            model_name='acceptance',
            constraint=models.UniqueConstraint(fields=('pair', 'slot'), name='acceptance_one_per_slot'),
        ),
        migrations.AddConstraint(
            model_name='acceptance',
            constraint=models.UniqueConstraint(fields=('pair', 'worker'), name='acceptance_one_per_worker'),
        ),
        migrations.AddIndex(
            model_name='pairdecision',
            index=models.Index(fields=['pair', '-id'], name='pair_decision_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='pairreport',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('assignment', 'item'), name='pair_report_stands_once'),
        ),
        migrations.AddConstraint(
            model_name='reuse',
            constraint=models.UniqueConstraint(fields=('campaign', 'source'), name='reuse_once_per_campaign'),
        ),
        migrations.AddConstraint(
            model_name='reuse',
            constraint=models.UniqueConstraint(fields=('campaign', 'imported'), name='reuse_once_per_import'),
        ),
        migrations.AddConstraint(
            model_name='reuse',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('imported__isnull', False), ('source__isnull', True)), models.Q(('imported__isnull', True), ('source__isnull', False)), _connector='OR'), name='reuse_of_campaign_or_import'),
        ),
        migrations.AddConstraint(
            model_name='reusedjudgment',
            constraint=models.UniqueConstraint(fields=('pair', 'slot'), name='reused_judgment_one_per_slot'),
        ),
        migrations.AddConstraint(
            model_name='reusedjudgment',
            constraint=models.UniqueConstraint(fields=('pair', 'worker'), name='reused_judgment_one_per_worker'),
        ),
        migrations.AddConstraint(
            model_name='reusedjudgment',
            constraint=models.UniqueConstraint(fields=('pair', 'imported'), name='reused_judgment_imported_once'),
        ),
        migrations.AddConstraint(
            model_name='reusedjudgment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('imported__isnull', False), ('judgment__isnull', True), ('worker__isnull', True)), models.Q(('imported__isnull', True), ('judgment__isnull', False), ('worker__isnull', False)), _connector='OR'), name='reused_judgment_made_or_imported'),
        ),
        migrations.AddIndex(
            model_name='storedfile',
            index=models.Index(condition=models.Q(('state', 'current'), _negated=True), fields=['made_at'], name='stored_file_to_delete'),
        ),
        migrations.AddConstraint(
            model_name='storedfile',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'current')), fields=('campaign', 'kind', 'name'), name='stored_file_one_current'),
        ),
        migrations.AddConstraint(
            model_name='workersummary',
            constraint=models.UniqueConstraint(fields=('worker', 'campaign'), name='worker_summary_once'),
        ),
        migrations.RunSQL(REFUSE_CHANGE, "DROP FUNCTION refuse_change() CASCADE"),
        migrations.RunSQL(
            APPEND_ONLY,
            "DROP FUNCTION judgments_keep CASCADE; DROP FUNCTION judgments_keep_decision CASCADE; "
            "DROP FUNCTION judgments_erase_campaign; DROP FUNCTION judgments_forget_reasons",
        ),
        record_changes(
            "judgments_adjudication",
            CHANGES,
            CAMPAIGN,
            "$1->>'choice'",
            ignored="note by_id undone_by_id",
            why="note",
        ),
        record_changes(
            "judgments_decision",
            "INSERT",
            CAMPAIGN,
            "$1->>'kind'",
            worker=WORKER,
            when="NEW.by_id IS NOT NULL",
            ignored="why by_id",
            why="why",
        ),
        record_changes(
            "judgments_pairdecision",
            "INSERT",
            CAMPAIGN,
            "$1->>'kind'",
            worker=WORKER,
            ignored="why by_id",
            why="why",
        ),
    ]
