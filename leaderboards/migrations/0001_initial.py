import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import core.comparing
import leaderboards.models
from core.audit.triggers import LAB, Owner, record_changes

APPEND_ONLY = (
    "policyversion",
    "score",
    "release",
    "look",
    "opening",
    "submissionevent",
    "decision",
    "submissionmessage",
    "ordercheck",
)

# A submission is never deleted, and what says which one it is, and when it came, stays.
KEEP = """
CREATE FUNCTION leaderboards_keep_submission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND
    (NEW.board_id, NEW.season_id, NEW.public_id, lower(NEW.run_id), NEW.origin, NEW.arrived_at)
    IS NOT DISTINCT FROM
    (OLD.board_id, OLD.season_id, OLD.public_id, lower(OLD.run_id), OLD.origin, OLD.arrived_at)
  THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'a submission stays, and so do its board, season, ids and arrival'
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER submission_stays BEFORE UPDATE OR DELETE ON leaderboards_submission
  FOR EACH ROW EXECUTE FUNCTION leaderboards_keep_submission();
"""

BOARD = Owner(lab="b.lab_id", source="FROM leaderboards_board b WHERE b.id = ($1->>'board_id')::bigint")

SUBMISSION = Owner(
    lab="b.lab_id",
    source="FROM leaderboards_submission s JOIN leaderboards_board b ON b.id = s.board_id WHERE s.id = ($1->>'submission_id')::bigint",
)

SEASON = Owner(
    lab="b.lab_id",
    source="FROM leaderboards_season s JOIN leaderboards_board b ON b.id = s.board_id WHERE s.id = ($1->>'season_id')::bigint",
)

BOARD_AND_SUBMISSION = Owner(
    lab="b.lab_id",
    source="FROM leaderboards_board b JOIN leaderboards_submission s ON s.id = ($1->>'submission_id')::bigint WHERE b.id = ($1->>'board_id')::bigint",
)

TEAM = Owner(lab="t.lab_id", source="FROM leaderboards_team t WHERE t.id = ($1->>'team_id')::bigint")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('judgments', '0001_initial'),
        ('core', '0001_initial'),
        ('pools', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Board',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(help_text='Its name in addresses.', unique=True)),
                ('name', models.CharField(max_length=100)),
                ('about', models.TextField(blank=True, help_text='What it measures, and what it does not.')),
                ('measures', models.JSONField()),
                ('hits', models.PositiveIntegerField(help_text='What is beyond is cut.', validators=[django.core.validators.MinValueValidator(1)])),
                ('fewer_refused', models.BooleanField(default=False, help_text='Otherwise it is only a warning.')),
                ('order', models.CharField(choices=[('score', 'by score (ties by passage id, descending)'), ('rank', 'by the rank column')], default='rank', max_length=5)),
                ('types', models.JSONField(help_text="What an entry's type may be.")),
                ('is_public', models.BooleanField(default=False, help_text='Also without an account: its page, files and feed.')),
                ('season_months', models.PositiveSmallIntegerField(default=0, help_text='After which the next season takes over, once its queries are there; 0: seasons have dates alone.', validators=[django.core.validators.MaxValueValidator(120)])),
                ('publishes_qrels', models.BooleanField(default=False, help_text='Whether the eval qrels of a season become public by themselves when it closes.')),
                ('spot_checks', models.PositiveSmallIntegerField(default=2, help_text='How many entries are drawn each month for a closer look; 0: none.', validators=[django.core.validators.MaxValueValidator(50)])),
                ('correction', models.CharField(choices=[('bonferroni', 'Bonferroni'), ('holm', 'Holm'), ('bh', 'Benjamini-Hochberg'), ('none', 'nothing')], default='bonferroni', help_text='How bands correct for their many tests.', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='boards', to='runs.collection')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='boards', to='core.lab')),
            ],
        ),
        migrations.CreateModel(
            name='BoardKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_pem', models.TextField()),
                ('private_sealed', models.TextField(help_text='core.sealing')),
                ('fingerprint', models.CharField(max_length=100, unique=True)),
                ('made_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='keys', to='leaderboards.board')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='PolicyVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('begins_at', models.DateTimeField()),
                ('why', models.TextField(blank=True)),
                ('quota_runs', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('quota_days', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('embargo_months', models.PositiveIntegerField(help_text='How long an entry may be anonymous; 0: not at all.', validators=[django.core.validators.MaxValueValidator(60)])),
                ('release_rule', models.CharField(choices=[('plain', 'every score'), ('ladder', "Ladder: a score that improves on the team's best by more than a step"), ('bootstrap', 'bootstrap Ladder: the same, on resampled queries'), ('tested', 'tested Ladder: the same, the stricter the more looks the team has had')], default='tested', max_length=9)),
                ('release_step', models.DecimalField(blank=True, decimal_places=5, help_text='Under every rule but “every score”. Empty: the standard error of the difference for the Ladder, and any gain that passes the test for the other two.', max_digits=6, null=True)),
                ('auto_publish', models.BooleanField(default=False)),
                ('promised_days', models.PositiveIntegerField()),
                ('choice_days', models.PositiveSmallIntegerField(default=0, help_text='0: every evaluated run counts.', validators=[django.core.validators.MaxValueValidator(365)])),
                ('alike_threshold', models.DecimalField(decimal_places=3, help_text='Rank-biased overlap of the top 10.', max_digits=4, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('made_at', models.DateTimeField()),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='policies', to='leaderboards.board')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Season',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=100)),
                ('opens_at', models.DateTimeField()),
                ('closes_at', models.DateTimeField(blank=True, null=True)),
                ('eval_qrels_published_at', models.DateTimeField(blank=True, null=True)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='seasons', to='leaderboards.board')),
            ],
        ),
        migrations.CreateModel(
            name='OrderCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('dev', 'dev'), ('eval', 'eval')], max_length=4)),
                ('is_public', models.BooleanField(help_text='Whether the release rule lets everybody see it.')),
                ('queries', models.PositiveIntegerField()),
                ('draws', models.PositiveIntegerField(help_text='How often the queries were drawn anew.')),
                ('seed', models.PositiveIntegerField()),
                ('correction', models.CharField(choices=[('bonferroni', 'Bonferroni'), ('holm', 'Holm'), ('bh', 'Benjamini-Hochberg'), ('none', 'nothing')], default='bonferroni', help_text='How its bands correct for their many tests.', max_length=10)),
                ('entries', models.JSONField()),
                ('made_at', models.DateTimeField()),
                ('made_by', models.ForeignKey(blank=True, help_text='Nobody: the monthly one.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('season', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='order_checks', to='leaderboards.season')),
            ],
        ),
        migrations.CreateModel(
            name='SeasonCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('checked_at', models.DateTimeField()),
                ('bests', models.JSONField(default=dict)),
                ('side', models.CharField(blank=True, choices=[('dev', 'dev'), ('eval', 'eval')], max_length=4)),
                ('since', models.DateTimeField(blank=True, null=True)),
                ('season', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='check_of_entries', to='leaderboards.season')),
            ],
        ),
        migrations.CreateModel(
            name='SeasonFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('dev_queries', 'dev queries'), ('dev_qrels', 'dev qrels'), ('eval_queries', 'eval queries'), ('eval_qrels', 'eval qrels'), ('dev_candidates', 'candidates for reranking, dev'), ('eval_candidates', 'candidates for reranking, eval'), ('dev_groups', 'groups of dev queries')], max_length=15)),
                ('file', models.FileField(max_length=255, upload_to=leaderboards.models.part_path)),
                ('name', models.CharField(help_text='As it is downloaded.', max_length=255)),
                ('size', models.PositiveBigIntegerField(help_text='In bytes.')),
                ('sha256', models.CharField(max_length=64)),
                ('counts', models.JSONField(default=dict, help_text='Queries and lines; of queries their words, of qrels the relevant ones.')),
                ('added_at', models.DateTimeField()),
                ('season', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='files', to='leaderboards.season')),
            ],
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=leaderboards.models.new_public_id, max_length=16, unique=True)),
                ('run_id', models.CharField(help_text='yyyymmdd-name, once in each board, for ever.', max_length=60)),
                ('origin', models.CharField(choices=[('site', 'submitted here'), ('imported', 'imported')], default='site', max_length=8)),
                ('state', models.CharField(choices=[('received', 'received'), ('checked', 'checked'), ('refused', 'refused by the check'), ('evaluating', 'being evaluated'), ('failed', 'evaluation failed'), ('choosing', 'waiting for its team'), ('waiting', 'waiting for the organizers'), ('published', 'published'), ('rejected', 'rejected'), ('withdrawn', 'withdrawn'), ('canceled', 'canceled')], default='received', max_length=10)),
                ('arrived_at', models.DateTimeField(help_text='By this server; of an imported entry its date, at midnight UTC.')),
                ('type', models.CharField(max_length=50)),
                ('team_words', models.TextField(help_text='What the entry calls its team.')),
                ('description', models.TextField()),
                ('paper', models.TextField(blank=True)),
                ('code', models.TextField(blank=True)),
                ('link', models.TextField(blank=True, help_text='Of an imported entry: where it was announced.')),
                ('metadata', models.JSONField(default=dict, help_text='All that its metadata says, unknown fields too.')),
                ('embargo_until', models.DateField(blank=True, help_text='It is anonymous until 00:00 UTC of that day.', null=True)),
                ('is_baseline', models.BooleanField(default=False, help_text="The organizers' own; it gets no trophy.")),
                ('flag', models.TextField(blank=True, help_text='What the organizers say about a published entry, for everybody.')),
                ('package', models.FileField(blank=True, max_length=255, upload_to=leaderboards.models.package_path)),
                ('package_size', models.PositiveBigIntegerField(default=0)),
                ('package_sha256', models.CharField(blank=True, max_length=64)),
                ('diagnostics', models.JSONField(default=dict, help_text='What the check said: evaluation.boards.checking.')),
                ('alike', models.JSONField(default=list, help_text='Entries that it resembles, for organizers: evaluation.boards.alike.')),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('begun_at', models.DateTimeField(blank=True, help_text='The last attempt.', null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('evaluated_at', models.DateTimeField(blank=True, null=True)),
                ('waiting_since', models.DateTimeField(blank=True, null=True)),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='leaderboards.board')),
                ('key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='leaderboards.boardkey')),
                ('policy', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='leaderboards.policyversion')),
                ('season', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='leaderboards.season')),
                ('submitted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SpotCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('month', models.DateField()),
                ('drawn_at', models.DateTimeField()),
                ('note', models.TextField(blank=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='drawn_checks', to='leaderboards.board')),
                ('done_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='spot_checks', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='Score',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('dev', 'dev'), ('eval', 'eval')], max_length=4)),
                ('measure', models.CharField(max_length=50)),
                ('origin', models.CharField(choices=[('computed', 'computed here'), ('published', 'as published elsewhere')], default='computed', max_length=9)),
                ('fraction', models.TextField()),
                ('value', models.FloatField(help_text='The same, to sort and to draw by.')),
                ('query_count', models.PositiveIntegerField(help_text='Of the mean; not known of imported ones.', null=True)),
                ('per_query', models.FileField(blank=True, max_length=255, upload_to=leaderboards.models.opened_path)),
                ('groups', models.JSONField(blank=True, default=dict)),
                ('software', models.CharField(blank=True, max_length=50)),
                ('scored_at', models.DateTimeField()),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='board_scores', to='pools.qrelsversion')),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_shown', models.BooleanField()),
                ('fraction', models.TextField(blank=True, help_text='What is shown, as Score has it; empty if nothing is.')),
                ('rule', models.CharField(choices=[('plain', 'every score'), ('ladder', "Ladder: a score that improves on the team's best by more than a step"), ('bootstrap', 'bootstrap Ladder: the same, on resampled queries'), ('tested', 'tested Ladder: the same, the stricter the more looks the team has had')], max_length=9)),
                ('why', models.TextField(help_text='evaluation.boards.ladder.Release')),
                ('at', models.DateTimeField()),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='leaderboards.policyversion')),
                ('reference', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='leaderboards.submission')),
                ('submission', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='release', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='Opening',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(choices=[('package', 'the sealed package'), ('artifact', 'the top of the run'), ('per_query', 'the scores of each query'), ('export', 'everything, for an export'), ('scores', 'the eval scores')], max_length=9)),
                ('job', models.CharField(blank=True, help_text='The job that did it, if no person.', max_length=100)),
                ('why', models.TextField()),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='MetadataRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('links', 'links'), ('typo', 'a typo'), ('description', 'a clearer description'), ('team', "the team's name"), ('costs', 'what the run costs'), ('old_key', 'new metadata under the old key')], max_length=11)),
                ('before', models.JSONField()),
                ('after', models.JSONField()),
                ('why', models.TextField()),
                ('state', models.CharField(choices=[('open', 'open'), ('accepted', 'accepted'), ('refused', 'refused'), ('taken_back', 'taken back')], default='open', max_length=10)),
                ('asked_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='metadata_requests', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='DevScoring',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('dev', 'dev'), ('eval', 'eval')], db_default='dev', default='dev', max_length=4)),
                ('asked_at', models.DateTimeField()),
                ('name', models.CharField(help_text='As the sender called the file.', max_length=255)),
                ('file', models.FileField(blank=True, max_length=255, upload_to=leaderboards.models.opened_path)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('done', 'done'), ('refused', 'refused by the check'), ('failed', 'failed')], default='waiting', max_length=7)),
                ('diagnostics', models.JSONField(default=dict)),
                ('scores', models.JSONField(default=dict, help_text='By measure, the exact mean as numerator/denominator.')),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='dev_scorings', to=settings.AUTH_USER_MODEL)),
                ('season', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='dev_scorings', to='leaderboards.season')),
                ('entry', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='dev_scorings', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('dev', 'dev'), ('eval', 'eval')], max_length=4)),
                ('file', models.FileField(max_length=255, upload_to=leaderboards.models.opened_path)),
                ('top', models.FileField(blank=True, max_length=255, upload_to=leaderboards.models.opened_path)),
                ('size', models.PositiveBigIntegerField(help_text='In bytes, sealed.')),
                ('sha256', models.CharField(help_text='Of what is sealed in it.', max_length=64)),
                ('made_at', models.DateTimeField()),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='artifacts', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='SubmissionEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('received', 'received'), ('checked', 'checked'), ('refused', 'refused by the check'), ('evaluating', 'being evaluated'), ('failed', 'evaluation failed'), ('choosing', 'waiting for its team'), ('waiting', 'waiting for the organizers'), ('published', 'published'), ('rejected', 'rejected'), ('withdrawn', 'withdrawn'), ('canceled', 'canceled')], max_length=10)),
                ('note', models.TextField(blank=True, help_text='What the participant is told about it.')),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='events', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='SubmissionMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_organizers', models.BooleanField(help_text='Whether it is from the organizers.')),
                ('text', models.TextField()),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='leaderboards.submission')),
            ],
        ),
        migrations.CreateModel(
            name='Team',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=leaderboards.models.new_public_id, max_length=16, unique=True)),
                ('organization', models.CharField(max_length=100)),
                ('organization_key', core.comparing.ComparedField(of='organization')),
                ('group', models.CharField(max_length=100)),
                ('group_key', core.comparing.ComparedField(of='group')),
                ('contributors', models.TextField(blank=True)),
                ('created_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(blank=True, null=True)),
                ('confirmed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='teams', to='core.lab')),
                ('merged_into', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='leaderboards.team')),
            ],
        ),
        migrations.AddField(
            model_name='submission',
            name='team',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='leaderboards.team'),
        ),
        migrations.CreateModel(
            name='Look',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('organization', models.CharField(help_text="The team's then, in lower case.", max_length=100)),
                ('at', models.DateTimeField()),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='looks', to='leaderboards.board')),
                ('person', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('season', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='leaderboards.season')),
                ('submission', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='look', to='leaderboards.submission')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='looks', to='leaderboards.team')),
            ],
        ),
        migrations.CreateModel(
            name='FormerMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('left_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_teams', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='former_members', to='leaderboards.team')),
            ],
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('publish', 'published'), ('reject', 'rejected'), ('flag', 'flagged'), ('unflag', 'flag taken away'), ('baseline', "marked as the organizers' baseline"), ('reevaluate', 'evaluated again'), ('extend', 'embargo extended'), ('variant', 'marked as a variant'), ('confirm', 'team confirmed'), ('merge', 'teams merged'), ('exempt', 'exempted from the quota'), ('metadata', 'metadata decided on')], max_length=10)),
                ('details', models.JSONField(default=dict, help_text='What it changed, before and after.')),
                ('reason', models.TextField()),
                ('at', models.DateTimeField()),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='leaderboards.board')),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('submission', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='leaderboards.submission')),
                ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='leaderboards.team')),
            ],
        ),
        migrations.CreateModel(
            name='TeamInvitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('made_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='leaderboards.board')),
                ('invited_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='leaderboards.team')),
            ],
        ),
        migrations.CreateModel(
            name='TeamMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('joined_at', models.DateTimeField()),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='members', to='leaderboards.team')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='team_memberships', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Upkeep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_on', models.BooleanField(default=False)),
                ('runs_itself', models.BooleanField(default=False, help_text="Whether campaigns start without anybody's approval, within the budget.")),
                ('covers_eval', models.BooleanField(default=False, help_text='Whether workers also compare passages of the eval queries.')),
                ('fewest', models.PositiveIntegerField(default=10, validators=[django.core.validators.MinValueValidator(1)])),
                ('every_days', models.PositiveIntegerField(default=14, validators=[django.core.validators.MaxValueValidator(366)])),
                ('campaign_dollars', models.DecimalField(decimal_places=2, default=100, max_digits=9)),
                ('year_dollars', models.DecimalField(decimal_places=2, default=1000, max_digits=9)),
                ('changed_at', models.DateTimeField()),
                ('board', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='upkeep', to='leaderboards.board')),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('template', models.ForeignKey(blank=True, help_text='Settings, wording and platform of the campaigns.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='pools.campaigntemplate')),
                ('tests_from', models.ForeignKey(blank=True, help_text='Whose confirmed test pairs the campaigns use.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='pools.campaign')),
            ],
            options={
                'verbose_name_plural': 'upkeep',
            },
        ),
        migrations.CreateModel(
            name='UpkeepRound',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('proposed', 'waiting for approval'), ('approved', 'being set up'), ('judging', 'being judged'), ('done', 'done'), ('declined', 'ended without a version')], default='proposed', max_length=8)),
                ('dollars', models.DecimalField(decimal_places=2, help_text='What it may cost, by its bill.', max_digits=9)),
                ('spent', models.DecimalField(decimal_places=2, help_text='What it cost.', max_digits=9, null=True)),
                ('proposed_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(null=True)),
                ('reason', models.TextField(blank=True, help_text='Why it was approved, or ended.')),
                ('obstacle', models.TextField(blank=True, help_text='Why it does not go on at the moment.')),
                ('nobody_qualifies', models.BooleanField(default=False, help_text='Whether the obstacle is that no active worker may take its campaign.')),
                ('although_nobody_qualifies', models.BooleanField(default=False, help_text='Whether somebody wants its campaign published even so.')),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='upkeep_rounds', to='leaderboards.board')),
                ('campaign', models.OneToOneField(help_text='Made when approved.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='upkeep_round', to='pools.campaign')),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='upkeep_rounds', to='pools.qrelsversion')),
            ],
        ),
        migrations.CreateModel(
            name='Challenger',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('dev', 'dev'), ('eval', 'eval')], max_length=4)),
                ('pid', models.TextField()),
                ('found_at', models.DateTimeField()),
                ('rounds', models.PositiveSmallIntegerField(default=0)),
                ('dollars', models.DecimalField(decimal_places=6, default=0, help_text='Its share of what its rounds cost.', max_digits=12)),
                ('outcome', models.CharField(blank=True, choices=[('', 'waiting'), ('won', 'replaced an answer'), ('tied', 'tied with the answers'), ('lost', 'lost'), ('known', 'considered before, under this or another id'), ('undecided', 'undecided'), ('dropped', 'withdrawn before it was judged')], default='', max_length=9)),
                ('settled_at', models.DateTimeField(null=True)),
                ('board', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='challengers', to='leaderboards.board')),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.query')),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='challengers_first', to='leaderboards.submission')),
                ('submissions', models.ManyToManyField(related_name='challengers', to='leaderboards.submission')),
                ('round', models.ForeignKey(help_text='The last one.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='challengers', to='leaderboards.upkeepround')),
            ],
        ),
        migrations.CreateModel(
            name='VersionEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('error', models.TextField(blank=True)),
                ('at', models.DateTimeField()),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='version_entries', to='leaderboards.submission')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='board_entries', to='pools.qrelsversion')),
            ],
            options={
                'verbose_name_plural': 'version entries',
            },
        ),
        migrations.AddConstraint(
            model_name='board',
            constraint=models.UniqueConstraint(fields=('lab', 'name'), name='board_name_once_per_lab'),
        ),
        migrations.AddConstraint(
            model_name='boardkey',
            constraint=models.UniqueConstraint(condition=models.Q(('retired_at', None)), fields=('board',), name='board_key_one_in_use'),
        ),
        migrations.AddConstraint(
            model_name='policyversion',
            constraint=models.UniqueConstraint(fields=('board', 'number'), name='policy_number_once'),
        ),
        migrations.AddConstraint(
            model_name='policyversion',
            constraint=models.CheckConstraint(condition=models.Q(('begins_at__gte', models.F('made_at'))), name='policy_acts_forward'),
        ),
        migrations.AddConstraint(
            model_name='policyversion',
            constraint=models.CheckConstraint(condition=models.Q(('release_step__isnull', True), ('release_step__gt', 0), _connector='OR'), name='policy_step_positive'),
        ),
        migrations.AddConstraint(
            model_name='season',
            constraint=models.UniqueConstraint(fields=('board', 'number'), name='season_number_once'),
        ),
        migrations.AddConstraint(
            model_name='season',
            constraint=models.UniqueConstraint(fields=('board', 'name'), name='season_name_once'),
        ),
        migrations.AddConstraint(
            model_name='season',
            constraint=models.CheckConstraint(condition=models.Q(('closes_at__isnull', True), ('closes_at__gt', models.F('opens_at')), _connector='OR'), name='season_opens_before_closing'),
        ),
        migrations.AddConstraint(
            model_name='season',
            constraint=models.CheckConstraint(condition=models.Q(('eval_qrels_published_at__isnull', True), models.Q(('closes_at__isnull', False), ('eval_qrels_published_at__gte', models.F('closes_at'))), _connector='OR'), name='season_closed_before_qrels_are_public'),
        ),
        migrations.AddIndex(
            model_name='ordercheck',
            index=models.Index(fields=['season', 'part', '-made_at'], name='order_check_newest'),
        ),
        migrations.AddConstraint(
            model_name='seasoncheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('side', ''), ('since__isnull', True)), models.Q(models.Q(('side', ''), _negated=True), ('since__isnull', False)), _connector='OR'), name='gap_grows_since_a_time'),
        ),
        migrations.AddConstraint(
            model_name='seasonfile',
            constraint=models.UniqueConstraint(fields=('season', 'part'), name='season_file_once_per_part'),
        ),
        migrations.AddConstraint(
            model_name='spotcheck',
            constraint=models.UniqueConstraint(fields=('board', 'month', 'submission'), name='spot_check_once_a_month'),
        ),
        migrations.AddConstraint(
            model_name='spotcheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('done_at', None), ('note', '')), models.Q(('done_at__isnull', False), models.Q(('note', ''), _negated=True)), _connector='OR'), name='spot_check_done_with_a_note'),
        ),
        migrations.AddConstraint(
            model_name='score',
            constraint=models.UniqueConstraint(fields=('submission', 'part', 'measure', 'version', 'origin'), name='score_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('is_shown', True), models.Q(('fraction', ''), _negated=True)), models.Q(('fraction', ''), ('is_shown', False), ('reference__isnull', False)), _connector='OR'), name='release_shows_a_score_or_names_a_reference'),
        ),
        migrations.AddConstraint(
            model_name='opening',
            constraint=models.CheckConstraint(condition=models.Q(('by__isnull', False), models.Q(('job', ''), _negated=True), _connector='OR'), name='opening_by_somebody'),
        ),
        migrations.AddConstraint(
            model_name='opening',
            constraint=models.CheckConstraint(condition=models.Q(('why', ''), _negated=True), name='opening_has_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='metadatarequest',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('submission',), name='metadata_request_one_open'),
        ),
        migrations.AddIndex(
            model_name='devscoring',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['id'], name='dev_scoring_waiting'),
        ),
        migrations.AddConstraint(
            model_name='devscoring',
            constraint=models.CheckConstraint(condition=models.Q(('part', 'dev'), ('entry__isnull', False), _connector='OR'), name='eval_is_scored_of_an_entry'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.UniqueConstraint(fields=('submission', 'part'), name='artifact_once_per_part'),
        ),
        migrations.AddConstraint(
            model_name='team',
            constraint=models.UniqueConstraint(fields=('lab', 'organization_key', 'group_key'), name='team_once_per_lab'),
        ),
        migrations.AddConstraint(
            model_name='team',
            constraint=models.CheckConstraint(condition=models.Q(('merged_into__isnull', True), models.Q(('merged_into', models.F('id')), _negated=True), _connector='OR'), name='team_merged_into_another'),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(fields=['board', 'arrived_at', 'id'], name='submission_by_arrival'),
        ),
        migrations.AddIndex(
            model_name='submission',
            index=models.Index(condition=models.Q(('state__in', ['received', 'checked', 'evaluating'])), fields=['id'], name='submission_to_evaluate'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.UniqueConstraint(models.F('board'), django.db.models.functions.text.Lower('run_id'), name='submission_id_once_for_ever'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.UniqueConstraint(condition=models.Q(('package_sha256', ''), _negated=True), fields=('board', 'package_sha256'), name='submission_package_once'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.CheckConstraint(condition=models.Q(('origin', 'imported'), models.Q(('policy__isnull', False), ('team__isnull', False)), _connector='OR'), name='submission_has_team_and_policy'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'published'), _negated=True), ('published_at__isnull', False), _connector='OR'), name='submission_published_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='submission',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'withdrawn'), _negated=True), ('withdrawn_at__isnull', False), _connector='OR'), name='submission_withdrawn_at_a_time'),
        ),
        migrations.AddIndex(
            model_name='look',
            index=models.Index(fields=['board', 'organization'], name='look_of_organization'),
        ),
        migrations.AddIndex(
            model_name='look',
            index=models.Index(fields=['board', 'person'], name='look_of_person'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='board_decision_has_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('submission__isnull', False), ('team__isnull', False), _connector='OR'), name='board_decision_about_something'),
        ),
        migrations.AddConstraint(
            model_name='teaminvitation',
            constraint=models.CheckConstraint(condition=models.Q(('revoked_at', None), ('accepted_at', None), _connector='OR'), name='team_invitation_revoked_or_accepted'),
        ),
        migrations.AddConstraint(
            model_name='teammember',
            constraint=models.UniqueConstraint(fields=('team', 'user'), name='team_member_once'),
        ),
        migrations.AddConstraint(
            model_name='upkeep',
            constraint=models.CheckConstraint(condition=models.Q(('campaign_dollars__gte', 0), ('year_dollars__gte', 0)), name='upkeep_budget_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='upkeepround',
            constraint=models.UniqueConstraint(fields=('board', 'number'), name='upkeep_round_number_once'),
        ),
        migrations.AddConstraint(
            model_name='upkeepround',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('board',), name='upkeep_round_one_open'),
        ),
        migrations.AddConstraint(
            model_name='upkeepround',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ['done', 'declined'])), models.Q(('ended_at__isnull', True), ('state__in', ['proposed', 'approved', 'judging'])), _connector='OR'), name='upkeep_round_ends_once'),
        ),
        migrations.AddConstraint(
            model_name='upkeepround',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'judging'), _negated=True), ('campaign__isnull', False), _connector='OR'), name='upkeep_round_judges_in_a_campaign'),
        ),
        migrations.AddIndex(
            model_name='challenger',
            index=models.Index(condition=models.Q(('outcome', '')), fields=['board', 'id'], name='challenger_waiting'),
        ),
        migrations.AddConstraint(
            model_name='challenger',
            constraint=models.UniqueConstraint(fields=('board', 'query', 'pid'), name='challenger_once'),
        ),
        migrations.AddConstraint(
            model_name='versionentry',
            constraint=models.UniqueConstraint(fields=('submission', 'version'), name='version_entry_once'),
        ),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON leaderboards_{table} "
                "FOR EACH ROW EXECUTE FUNCTION refuse_change()",
                migrations.RunSQL.noop,
            )
            for table in APPEND_ONLY
        ),
        migrations.RunSQL(KEEP, "DROP FUNCTION leaderboards_keep_submission() CASCADE"),
        record_changes("leaderboards_board", "INSERT OR UPDATE", LAB, "$1->>'name'"),
        record_changes("leaderboards_boardkey", "INSERT OR UPDATE", BOARD, "$1->>'fingerprint'"),
        record_changes("leaderboards_decision", "INSERT", BOARD, "$1->>'kind'", why="reason"),
        record_changes(
            "leaderboards_metadatarequest",
            "INSERT OR UPDATE",
            SUBMISSION,
            "$1->>'kind'",
            unsaid="before after",
            why="reason",
        ),
        record_changes("leaderboards_opening", "INSERT", SUBMISSION, "$1->>'what'", why="why"),
        record_changes("leaderboards_policyversion", "INSERT", BOARD, "b.name || ' ' || ($1->>'number')", why="why"),
        record_changes("leaderboards_season", "INSERT OR UPDATE", BOARD, "$1->>'name'"),
        record_changes("leaderboards_seasonfile", "INSERT", SEASON, "$1->>'part'"),
        record_changes(
            "leaderboards_spotcheck",
            "INSERT OR UPDATE",
            BOARD_AND_SUBMISSION,
            "b.name || ' ' || s.run_id",
            ignored="done_at done_by_id",
            why="note",
        ),
        record_changes(
            "leaderboards_submission",
            "INSERT OR UPDATE",
            BOARD,
            "$1->>'run_id'",
            ignored="diagnostics alike tries begun_at retry_at package package_size",
        ),
        record_changes(
            "leaderboards_team",
            "INSERT OR UPDATE",
            LAB,
            "($1->>'group') || ', ' || ($1->>'organization')",
        ),
        record_changes("leaderboards_teammember", "INSERT OR DELETE", TEAM, "$1->>'user_id'"),
        record_changes(
            "leaderboards_upkeep",
            "INSERT OR UPDATE",
            BOARD,
            "b.name",
            ignored="changed_at changed_by_id",
        ),
        record_changes(
            "leaderboards_upkeepround",
            "INSERT OR UPDATE",
            BOARD,
            "b.name || ' ' || ($1->>'number')",
            ignored="obstacle tries retry_at",
            why="reason",
        ),
    ]
