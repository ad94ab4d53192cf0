import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import pools.models
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

from core.audit.triggers import CAMPAIGN, CHANGES, COLLECTION, LAB, Owner, record_changes

# Versions and what they say are append-only: the database itself refuses to change or delete a row.
APPEND_ONLY = """
CREATE FUNCTION refuse_version_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: add a newer version instead', TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER version_append_only BEFORE UPDATE OR DELETE ON pools_qrelsversion
  FOR EACH ROW EXECUTE FUNCTION refuse_version_change();
CREATE TRIGGER version_query_append_only BEFORE UPDATE OR DELETE ON pools_versionquery
  FOR EACH ROW EXECUTE FUNCTION refuse_version_change();
"""
ITSELF = Owner("($1->>'lab_id')::bigint", "($1->>'id')::bigint", "$1->>'name'")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('language', models.CharField(blank=True, default='en', help_text='BCP 47 tag of the texts; empty if mixed.', max_length=35)),
                ('dataset', models.CharField(blank=True, help_text='Its id in ir_datasets, if it comes from there: pools.catalogue.', max_length=200)),
                ('statistics', models.JSONField(blank=True, default=dict, help_text='Of queries, original qrels and corpus, counted when their files are read: pools.services.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collections', to='core.lab')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('lab', 'name'), name='collection_name_once_per_lab'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('packing', 'being packed'), ('open', 'open'), ('paused', 'paused'), ('closed', 'closed')], default='draft', max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('order', models.CharField(choices=[('score', 'by score (ties by passage id, descending)'), ('rank', 'by the rank column')], default='score', max_length=10)),
                ('depth', models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('min_grade', models.IntegerField(default=1)),
                ('qrel_policy', models.CharField(choices=[('first', 'the first qrel of each query'), ('all', 'all qrels'), ('none', 'no qrel')], default='first', max_length=10)),
                ('design', models.CharField(choices=[('all_pairs', 'all pairs'), ('champion_check', 'champion check'), ('challengers', 'challengers'), ('rounds', 'rounds')], default='all_pairs', max_length=20)),
                ('champion_qrel', models.CharField(choices=[('first', 'the first in the file'), ('highest', 'the one that the run ranks highest'), ('each', 'each, with a comparison for every one')], default='first', max_length=10)),
                ('partners', models.PositiveSmallIntegerField(db_default=7, default=7, help_text='Of rounds: with how many others a passage is compared in each.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('finalists', models.PositiveSmallIntegerField(db_default=9, default=9, help_text='Of rounds: how many passages are compared pair by pair at the end, at most.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('rounds_wait', models.BooleanField(db_default=False, default=False, help_text='Whether a person looks before each round after the first.')),
                ('rounds_budget', models.DecimalField(blank=True, decimal_places=2, help_text='What all rounds may cost by their bills. Empty: no limit.', max_digits=9, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('selection', models.CharField(choices=[('all', 'all queries'), ('list', 'a list of queries'), ('sample', 'a sample of the queries with a pool of two or more')], default='all', max_length=10)),
                ('query_list', models.TextField(blank=True)),
                ('sample_size', models.PositiveIntegerField(blank=True, null=True)),
                ('sampled_from', models.PositiveIntegerField(editable=False, help_text='How many queries a sample was drawn from: those with a pool of two or more.', null=True)),
                ('seed', models.BigIntegerField(default=1, help_text='For the sample, the packing, the order of items and the sides.')),
                ('overlap', models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)])),
                ('repeats', models.PositiveSmallIntegerField(db_default=30, default=30, help_text='Pairs that a second person judges too, where each is judged once: so many, in three HITs or more.')),
                ('confirmations', models.PositiveSmallIntegerField(db_default=3, default=3, help_text='Judgments by which a challenger is confirmed before it replaces an answer; 1 for none.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(9)])),
                ('pairs_per_hit', models.PositiveSmallIntegerField(default=10, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('tests_per_hit', models.PositiveSmallIntegerField(default=3, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)])),
                ('fill_last_hit', models.BooleanField(default=False)),
                ('hits_per_worker', models.PositiveIntegerField(blank=True, null=True)),
                ('leaves_per_worker', models.PositiveIntegerField(blank=True, default=5, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('report_share', models.DecimalField(decimal_places=3, default=Decimal('0.250'), help_text='Work that reports more than this share of its items waits for a person.', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))])),
                ('reports_per_pair', models.PositiveSmallIntegerField(default=2, help_text='Workers who report a pair before nobody else is asked about it.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('minutes_per_hit', models.PositiveIntegerField(default=60, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(43200)])),
                ('practice', models.CharField(choices=[('nothing', 'none'), ('optional', 'practice that workers can skip'), ('required', 'practice for everybody'), ('check', 'a comprehension check, with a second try')], db_default='nothing', default='nothing', help_text='What workers do before their first HIT. It is never counted as judgments.', max_length=10)),
                ('practice_right', models.PositiveSmallIntegerField(blank=True, help_text='How many answers must be right to pass a comprehension check. Empty: all.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('practice_pairs', models.TextField(blank=True, db_default='', default='', help_text='On each line, with tabs between: question, better passage, worse passage, why (tasks.practice).')),
                ('exclusion', models.CharField(choices=[('assignment', 'the assignment that failed'), ('worker', "all of the worker's assignments in the campaign")], default='assignment', max_length=10)),
                ('partial', models.CharField(choices=[('checked', 'if all its test pairs were judged and passed'), ('never', 'never')], default='checked', max_length=10)),
                ('method', models.CharField(choices=[('tournament', 'tournament'), ('most-wins', 'most wins'), ('bradley-terry', 'Bradley–Terry')], default='tournament', max_length=15)),
                ('weighing', models.CharField(choices=[('same', 'all the same'), ('dawid-skene', 'by how often each worker is right (Dawid–Skene)'), ('mace', 'by how rarely each worker guesses (MACE)')], db_default='same', default='same', help_text='What counts on a pair whose judgments disagree, unless a person decides.', max_length=15)),
                ('reuse', models.CharField(choices=[('nothing', 'none: ask about every pair'), ('campaigns', "of the collection's campaigns that ask the same question"), ('all', "of the collection's campaigns that ask the same question, and imported preferences")], default='campaigns', max_length=10)),
                ('error_rate', models.DecimalField(blank=True, decimal_places=3, help_text='How often one judgment is wrong. Empty: as repeated judgments say, or 0.3 if they are too few.', max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('0.5'))])),
                ('compare_depth', models.PositiveSmallIntegerField(default=10, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('comparisons', models.CharField(choices=[('all', 'every two runs'), ('baseline', 'each run with a baseline'), ('chain', 'each run with the best of those imported before it'), ('pairs', 'chosen pairs of runs')], default='all', max_length=10)),
                ('baseline', models.CharField(blank=True, help_text='The name of the run that each other one is compared with.', max_length=100)),
                ('compared_pairs', models.TextField(blank=True, help_text='The chosen pairs: on each line the names of two runs, with a space or tab between.')),
                ('teams_apart', models.BooleanField(default=False, help_text='Whether runs of one team are not compared.')),
                ('rank_by', models.CharField(choices=[('esl-wsr', 'mean search length, signed-rank test'), ('esl-t', 'mean search length, t-test'), ('rr-wsr', 'mean RR@k, signed-rank test'), ('rr-t', 'mean RR@k, t-test')], default='esl-wsr', max_length=10)),
                ('correction', models.CharField(choices=[('bonferroni', 'Bonferroni'), ('holm', 'Holm'), ('bh', 'Benjamini-Hochberg'), ('none', 'nothing')], default='bonferroni', help_text='How the level of 0.05 is shared by the tests of many pairs of runs.', max_length=10)),
                ('margin', models.DecimalField(decimal_places=3, default=Decimal('0'), help_text='How much worse a run that does no harm may be. 0: not significantly worse is enough.', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('0.5'))])),
                ('measures', models.CharField(blank=True, default='nDCG@10, Judged@10', help_text='By what runs are scored beside RR@10: names as in ir_measures, with commas between.', max_length=200, validators=[pools.models.check_measures])),
                ('reward', models.DecimalField(decimal_places=2, default=Decimal('2.00'), max_digits=8, validators=[django.core.validators.MinValueValidator(Decimal('0'))])),
                ('currency', models.CharField(choices=[('USD', 'US dollars'), ('GBP', 'pounds sterling')], db_default='USD', default='USD', editable=False, help_text="Of the reward and all other amounts: that of the account at the campaign's platform.", max_length=3)),
                ('fee_rate', models.DecimalField(blank=True, decimal_places=3, help_text="What a platform charges on top, as a share of the reward. Empty for the platform's own fees.", max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0'))])),
                ('redo_rate', models.DecimalField(decimal_places=3, default=Decimal('0.100'), help_text='Share of HITs expected to be judged again: an assumption, for the estimate only.', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('9'))])),
                ('language', models.CharField(blank=True, help_text='BCP 47 tag of question, instructions and consent.', max_length=35)),
                ('title', models.CharField(default='Compare answers to questions', max_length=128)),
                ('question', models.CharField(default='Which passage best answers the question?', max_length=300)),
                ('instructions', models.TextField(blank=True)),
                ('example_query', models.TextField(blank=True, help_text='Of the worked example. Empty for ours, as are the next.')),
                ('example_better', models.TextField(blank=True)),
                ('example_worse', models.TextField(blank=True)),
                ('example_why', models.TextField(blank=True)),
                ('origin', models.JSONField(blank=True, editable=False, help_text='Where imported judgments come from: judgments.importing. Empty if people judge here.', null=True)),
                ('pair_count', models.PositiveIntegerField(default=0, editable=False)),
                ('reused_pair_count', models.PositiveIntegerField(default=0, editable=False, help_text='Pairs that nobody is asked about: set when the campaign is packed.')),
                ('further_judgments', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='How many judgments were asked for beyond the design, where answers were not certain.')),
                ('pool_histogram', models.JSONField(default=dict, editable=False, help_text='How many pools there are of each size; sizes as text.')),
                ('champion_split', models.JSONField(default=dict, editable=False, help_text='For a champion check, the comparisons of category `a` and of `b`.')),
                ('untexted_count', models.PositiveIntegerField(default=0, editable=False, help_text='Passages in pools of several that had no text to compare when the pools were made.')),
                ('revision', models.PositiveBigIntegerField(default=0, editable=False, help_text='Grows whenever what results and exports are made of has changed.')),
                ('resumed_at', models.DateTimeField(blank=True, editable=False, help_text='After the last pause; empty without one.', null=True)),
                ('archived_at', models.DateTimeField(blank=True, help_text='Since then it is listed only for those who ask for the archive.', null=True)),
                ('rounds_revision', models.PositiveBigIntegerField(editable=False, help_text='The revision at which no further round was left to plan.', null=True)),
                ('fixed_runs', models.JSONField(blank=True, editable=False, help_text='Keys of the runs that results score, fixed when it first finished. Empty: all of the collection.', null=True)),
                ('finished_revision', models.PositiveBigIntegerField(blank=True, editable=False, help_text='The revision at which no work could come any more, and nothing was left to do.', null=True)),
                ('link', models.CharField(default=pools.models.new_token, editable=False, max_length=32, unique=True)),
                ('pilot_hits', models.PositiveIntegerField(blank=True, editable=False, help_text='With how many HITs it began. Empty if with all.', null=True)),
                ('trials_revoked', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='How often links to trials were revoked.')),
                ('pseudonym_key', models.BinaryField(default=pools.models.new_key, max_length=32)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='core.lab')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='pools.collection')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('lab', 'name'), name='campaign_name_once_per_lab'),
                    models.CheckConstraint(condition=models.Q(('overlap__gte', 1)), name='campaign_overlap_at_least_one'),
                    models.CheckConstraint(condition=models.Q(('pairs_per_hit__gte', 1), ('tests_per_hit__gte', 1)), name='campaign_hits_hold_pairs_and_tests'),
                    models.CheckConstraint(condition=models.Q(('reward__gte', 0)), name='campaign_reward_not_negative'),
                ],
            },
        ),
        migrations.CreateModel(
            name='OutsideScores',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(help_text='Where they come from, and of which measure they are.', max_length=100)),
                ('scores', models.JSONField()),
                ('filename', models.CharField(max_length=255)),
                ('uploaded_at', models.DateTimeField()),
                ('collection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='outside_scores', to='pools.collection')),
                ('uploaded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'outside scores',
            },
        ),
        migrations.CreateModel(
            name='Passage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pid', models.TextField()),
                ('text', models.TextField(blank=True)),
                ('text_key', models.UUIDField(editable=False, help_text='The same for equal texts: evaluation.judging.equal_texts.', null=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='pools.collection')),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('text', '')), fields=['collection'], name='passage_without_text'),
                    models.Index(condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.functions.text.Length('text'), 3000)), fields=['collection'], name='passage_with_long_text'),
                    models.Index(condition=models.Q(('text_key__isnull', False)), fields=['text_key', 'collection'], name='passage_by_text'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('collection', 'pid'), name='passage_once_per_collection'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pools', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Pair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_reused', models.BooleanField(db_default=False, default=False, help_text='Whether all its judgments were made before: set when the campaign is packed.')),
                ('is_set_aside', models.BooleanField(db_default=False, default=False, help_text='Whether nobody is asked about it any more, because workers reported it or a person decided so.')),
                ('a', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
                ('b', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='pools.pool')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('pool', 'a', 'b'), name='pair_once_per_pool'),
                    models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='pair_of_two_passages'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Candidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='candidacies', to='pools.passage')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='pools.pool')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('pool', 'passage'), name='candidate_once_per_pool'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AlikePair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('share', models.FloatField()),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='alike_pairs', to='pools.campaign')),
                ('a', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
                ('b', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='pools.pool')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['campaign', 'id'], name='alike_pair_in_order'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PreferenceImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('note', models.TextField(blank=True, help_text='Where the judgments come from, and what was asked.')),
                ('sha256', models.CharField(max_length=64)),
                ('judgment_count', models.PositiveIntegerField()),
                ('pair_count', models.PositiveIntegerField()),
                ('imported_at', models.DateTimeField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='preference_imports', to='pools.collection')),
                ('imported_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('collection', 'name'), name='preference_import_name_once'),
                    models.UniqueConstraint(fields=('collection', 'sha256'), name='preference_import_file_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='QrelsVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('revision', models.PositiveBigIntegerField(help_text="The campaign's at that moment.")),
                ('made_at', models.DateTimeField()),
                ('why', models.TextField()),
                ('software', models.CharField(max_length=50)),
                ('added', models.PositiveIntegerField(help_text='Queries that had no best known answer before.')),
                ('changed', models.PositiveIntegerField(help_text='Queries with other best known answers than before.')),
                ('unchanged', models.PositiveIntegerField(help_text='Queries with the same ones, whether judged again or not.')),
                ('overtaken', models.PositiveIntegerField(db_default=0, default=0, help_text='Queries of the campaign whose challenged answers other campaigns had replaced.')),
                ('unsettled', models.PositiveIntegerField(help_text='Queries of the campaign that lacked judgments.')),
                ('held_back', models.PositiveIntegerField(help_text='Queries left as they were, as only a run that is not for release brought an answer.')),
                ('adjudicated', models.PositiveIntegerField(db_default=0, default=0, help_text='Pairs that a person decided, since their judgments disagreed, of the queries that it settles.')),
                ('expected_wrong', models.FloatField(help_text='How many of the replaced answers are expected to be the better ones, by all judgments.', null=True)),
                ('qrels', models.PositiveIntegerField(help_text='Lines of its qrels file.')),
                ('sha256', models.CharField(help_text='Of its qrels file in TREC format.', max_length=64)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='pools.campaign')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='pools.collection')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('collection', 'number'), name='version_number_once'),
                ],
            },
        ),
        migrations.AddField(
            model_name='campaign',
            name='base_version',
            field=models.ForeignKey(blank=True, help_text='Whose best known answers are challenged.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='challenges', to='pools.qrelsversion'),
        ),
        migrations.CreateModel(
            name='Query',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('qid', models.TextField()),
                ('text', models.TextField(blank=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='queries', to='pools.collection')),
            ],
            options={
                'verbose_name_plural': 'queries',
                'indexes': [
                    models.Index(condition=models.Q(('text', '')), fields=['collection'], name='query_without_text'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('collection', 'qid'), name='query_once_per_collection'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Qrel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('grade', models.IntegerField()),
                ('position', models.PositiveIntegerField(help_text="Its position in the file: a query's first qrel is the one with the lowest.")),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qrels', to='pools.collection')),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qrels', to='pools.passage')),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qrels', to='pools.query')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['collection', 'position'], name='qrel_in_file_order'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('query', 'passage'), name='qrel_once_per_passage'),
                ],
            },
        ),
        migrations.AddField(
            model_name='pool',
            name='query',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pools', to='pools.query'),
        ),
        migrations.CreateModel(
            name='ImportedPreference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('prefers_a', models.BooleanField(help_text='Empty for a tie.', null=True)),
                ('a', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
                ('b', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='preferences', to='pools.preferenceimport')),
                ('query', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.query')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['query', 'a', 'b'], name='imported_preference_of_pair'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('source', 'line'), name='imported_preference_once_per_line'),
                    models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='imported_preference_of_two_passages'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Round',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('planned_at', models.DateTimeField()),
                ('pools', models.PositiveIntegerField(help_text='Those that play in it.')),
                ('passages', models.PositiveIntegerField(help_text='Those that are left in these pools.')),
                ('pairs', models.PositiveIntegerField(help_text='Those that nobody has judged.')),
                ('unsettled', models.PositiveIntegerField(help_text='Pools whose round before kept everybody or nobody, so that all of it is in the final.')),
                ('obstacle', models.TextField(blank=True, help_text='Why it was not asked by itself.')),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('hits', models.PositiveIntegerField(default=0)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rounds', to='pools.campaign')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('campaign', 'number'), name='round_number_once'),
                    models.UniqueConstraint(condition=models.Q(('asked_at', None)), fields=('campaign',), name='round_one_waits'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RoundPool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('begun', models.JSONField(help_text='A list for each of its rounds, with the ids of the passages.')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rounds', to='pools.pool')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='played', to='pools.round')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('round', 'pool'), name='round_pool_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('team', models.CharField(blank=True, max_length=100)),
                ('notes', models.TextField(blank=True)),
                ('models_used', models.CharField(blank=True, db_default='', default='', help_text='Names of the language models that it uses, separated by commas.', max_length=300)),
                ('described_at', models.DateTimeField(editable=False, help_text='When these names last changed.', null=True)),
                ('original', models.FileField(max_length=255, upload_to=pools.models.run_path)),
                ('artifact', models.FileField(max_length=255, upload_to=pools.models.run_path)),
                ('sha256', models.CharField(max_length=64)),
                ('census', models.JSONField(help_text='What the check counted: evaluation.files.runs.Census.')),
                ('metadata', models.JSONField(blank=True, default=dict, help_text="What the file's ir_metadata header says: evaluation.files.metadata.")),
                ('scores', models.JSONField(blank=True, default=dict, help_text='On the original qrels: mean `rr` at 10, and over how many `queries`.')),
                ('is_released', models.BooleanField(default=True, help_text='Whether exports may have passages that only this run brought into a pool.')),
                ('imported_at', models.DateTimeField(auto_now_add=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='pools.collection')),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='core.lab')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('collection', 'name'), name='run_name_once_per_collection'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('run', 'a run'), ('collection', 'files of a collection'), ('campaign', 'a campaign'), ('preference', 'imported preferences'), ('judgments', 'imported judgments'), ('machine', 'a machine judge')], max_length=10)),
                ('state', models.CharField(choices=[('receiving', 'being received'), ('waiting', 'in progress'), ('done', 'done'), ('refused', 'refused'), ('failed', 'failed')], default='waiting', max_length=10)),
                ('name', models.CharField(help_text='Of the run, collection, campaign or import.', max_length=100)),
                ('request', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder, help_text='What the form said, as services take it.')),
                ('asked_at', models.DateTimeField()),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('begun_at', models.DateTimeField(blank=True, help_text='The last attempt.', null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.TextField(blank=True, help_text='Why it was refused, or what went wrong in the last attempt.')),
                ('complaints', models.JSONField(blank=True, default=dict, help_text='Errors of a run by line: evaluation.files.runs.RunCheck.')),
                ('counts', models.JSONField(blank=True, default=dict, help_text='What was added to a collection, and how many files were refused.')),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='jobs', to='pools.campaign')),
                ('collection', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='pools.collection')),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='core.lab')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='jobs', to='pools.run')),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('state', 'waiting')), fields=['id'], name='job_waiting'),
                ],
            },
        ),
        migrations.AddField(
            model_name='campaign',
            name='runs',
            field=models.ManyToManyField(related_name='campaigns', to='pools.run'),
        ),
        migrations.CreateModel(
            name='Twin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('candidate', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='twins', to='pools.candidate')),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.passage')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('candidate', 'passage'), name='twin_once_per_candidate'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('run', 'run'), ('queries', 'queries'), ('qrels', 'qrels'), ('passages', 'passages'), ('preference', 'preferences'), ('judgments', 'judgments'), ('machine', "a machine's answers"), ('none', 'leave out')], max_length=10)),
                ('name', models.CharField(help_text='As the sender called it.', max_length=255)),
                ('size', models.PositiveBigIntegerField(help_text='In bytes.')),
                ('file', models.FileField(blank=True, max_length=255, upload_to=pools.models.upload_path)),
                ('seen', models.CharField(blank=True, help_text='What its first lines look like: evaluation.files.recognizing.', max_length=200)),
                ('is_stored', models.BooleanField(blank=True, help_text='Whether its content is in the collection.', null=True)),
                ('error', models.TextField(blank=True, help_text='Why it is not.')),
                ('complaints', models.JSONField(blank=True, default=dict, help_text='Errors of a run by line: evaluation.files.runs.RunCheck.')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to='pools.job')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='pools.run')),
            ],
        ),
        migrations.CreateModel(
            name='VersionQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('added', 'added'), ('changed', 'changed'), ('confirmed', 'confirmed')], max_length=9)),
                ('before', models.JSONField()),
                ('after', models.JSONField()),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='pools.query')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='settled', to='pools.qrelsversion')),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('kind', 'confirmed'), _negated=True), fields=['version', 'query'], name='version_query_changed'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'query'), name='version_query_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CampaignTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('values', models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, help_text='Columns of Campaign by name: pools.templating.KEPT.')),
                ('consent', models.TextField(blank=True, help_text='Empty for the usual text.')),
                ('terms', models.JSONField(blank=True, help_text='At a platform, by name, lengths of time in seconds. Empty: none are set.', null=True)),
                ('is_default', models.BooleanField(default=False, help_text='Whether new campaigns of the lab begin with it.')),
                ('changed_at', models.DateTimeField()),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='templates', to='core.lab')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('lab', 'name'), name='template_name_once_per_lab'), models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('lab',), name='template_one_default_per_lab')],
            },
        ),
        migrations.AddConstraint(
            model_name='pool',
            constraint=models.UniqueConstraint(fields=('campaign', 'query'), name='pool_once_per_query'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('base_version__isnull', False), ('design', 'challengers')), models.Q(models.Q(('design', 'challengers'), _negated=True), ('base_version__isnull', True)), _connector='OR'), name='campaign_challenges_a_version'),
        ),
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION refuse_version_change() CASCADE"),
        record_changes(
            "pools_campaign", CHANGES, ITSELF, "$1->>'name'",
            ignored="revision finished_revision pool_histogram champion_split untexted_count pair_count reused_pair_count resumed_at sampled_from",
        ),
        record_changes("pools_campaigntemplate", CHANGES, LAB, "$1->>'name'", ignored="lab_id changed_at"),
        record_changes("pools_collection", CHANGES, LAB, "$1->>'name'"),
        record_changes("pools_outsidescores", CHANGES, COLLECTION, "$1->>'source'", ignored="scores"),
        record_changes("pools_preferenceimport", "INSERT OR DELETE", COLLECTION, "$1->>'name'"),
        record_changes("pools_qrelsversion", "INSERT", COLLECTION, "name || ' ' || ($1->>'number')", why="why"),
        record_changes(
            "pools_round", "INSERT OR UPDATE", CAMPAIGN, "$1->>'number'", ignored="asked_by_id", why="obstacle",
        ),
        record_changes("pools_run", CHANGES, LAB, "$1->>'name'", ignored="census metadata scores original artifact described_at"),
    ]
