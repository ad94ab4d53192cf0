from decimal import Decimal

import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models

import pools.models
import pools.settings
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
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('design', models.CharField(choices=[('all_pairs', 'all pairs'), ('champion_check', 'champion check'), ('challengers', 'challengers'), ('rounds', 'rounds')], default='all_pairs', help_text='All pairs: every two passages of a pool. Champion check: one run against the qrels, one pair per query. Challengers: only passages that runs newly rank first, against the best known answers of a version. Rounds: for large pools, a few pairs of each passage round after round, then all pairs of those that are left.', max_length=20, verbose_name='Pairing design')),
                ('selection', models.CharField(choices=[('all', 'all queries'), ('list', 'a list of queries'), ('sample', 'a sample of the queries with a pool of two or more')], default='all', max_length=10, verbose_name='Queries')),
                ('sample_size', models.PositiveIntegerField(blank=True, help_text='How many queries to draw. For “a sample” only.', null=True, verbose_name='Sample size')),
                ('query_list', models.TextField(blank=True, help_text='Query ids, separated by spaces or line breaks. For “a list of queries” only.', verbose_name='List of queries')),
                ('order', models.CharField(choices=[('score', 'by score (ties by passage id, descending)'), ('rank', 'by the rank column')], default='score', help_text='Which column of a run decides the order. In many runs, the two columns disagree.', max_length=10, verbose_name='Order of the runs')),
                ('depth', models.PositiveSmallIntegerField(default=1, help_text='How many top passages each run contributes to a pool. The method uses 1.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Depth')),
                ('qrel_policy', models.CharField(choices=[('first', 'the first qrel of each query'), ('all', 'all qrels'), ('none', 'no qrel')], default='first', help_text='Which relevant passages are added to those of the runs.', max_length=10, verbose_name='Original qrels in the pools')),
                ('champion_qrel', models.CharField(choices=[('first', 'the first in the file'), ('highest', 'the one that the run ranks highest'), ('each', 'each, with a comparison for every one')], default='first', help_text='For queries with several qrels. The paper takes the first. If the run has none of them in its first 100, the first in the file is the highest.', max_length=10, verbose_name='Qrel that a champion check compares')),
                ('min_grade', models.IntegerField(default=1, help_text='An original qrel with this grade or a higher one counts as relevant.', verbose_name='Lowest relevant grade')),
                ('seed', models.BigIntegerField(default=1, help_text='The same seed gives the same sample, HITs, order and sides.', verbose_name='Seed')),
                ('method', models.CharField(choices=[('tournament', 'tournament'), ('most-wins', 'most wins'), ('bradley-terry', 'Bradley–Terry')], default='tournament', max_length=15, verbose_name='How winners are found')),
                ('weighing', models.CharField(choices=[('same', 'all the same'), ('dawid-skene', 'by how often each worker is right (Dawid–Skene)'), ('mace', 'by how rarely each worker guesses (MACE)')], db_default='same', default='same', help_text='Where the judgments of a pair disagree, all of them count as those say that weigh more. How far a worker can be relied on is told by the pairs that others judged, too: without several judgments of each pair, this changes nothing. What a person decides comes first.', max_length=15, verbose_name='How judgments weigh')),
                ('partners', models.PositiveSmallIntegerField(db_default=7, default=7, help_text='With how many others each passage is compared in a round; those that win more than half stay. 7 is usual, 5 is cheaper.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Partners in a round')),
                ('finalists', models.PositiveSmallIntegerField(db_default=9, default=9, help_text='When at most so many are left, all their pairs are compared. 9 is usual.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Finalists')),
                ('rounds_wait', models.BooleanField(db_default=False, default=False, help_text="Each round after the first waits until somebody asks it on the campaign's page.", verbose_name='Look before each round')),
                ('rounds_budget', models.DecimalField(blank=True, decimal_places=2, help_text='For all rounds together, in the currency of the pay. A round that would cost more waits for a person. Leave empty for no limit.', max_digits=9, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='Budget of the rounds')),
                ('confirmations', models.PositiveSmallIntegerField(db_default=3, default=3, help_text='A challenger that wins its first comparison is compared again, by other people, until most of so many say the same; 1 for none.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(9)], verbose_name='Judgments that confirm a challenger')),
                ('confirm_level', models.DecimalField(blank=True, decimal_places=3, default=Decimal('0.900'), help_text='Asking again ends once it is this probable which of the two is better, by earlier judgments and the pair’s own, or once a challenger neither leads nor is likelier. Leave empty for the majority alone.', max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.5')), django.core.validators.MaxValueValidator(Decimal('0.999'))], verbose_name='Probability that confirms a challenger')),
                ('overlap', models.PositiveSmallIntegerField(default=1, help_text='How many different workers judge each pair.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='Judgments per pair')),
                ('repeats', models.PositiveSmallIntegerField(db_default=30, default=30, help_text='A second person judges about so many pairs, in three HITs or more, which shows how often people err. Not of challengers, and only where each pair is judged once; 0 for none.', verbose_name='Pairs judged twice')),
                ('reuse', models.CharField(choices=[('nothing', 'none: ask about every pair'), ('campaigns', "of the collection's campaigns that ask the same question"), ('all', "of the collection's campaigns that ask the same question, and imported preferences")], default='campaigns', help_text='A pair that has enough judgments already is not asked about again, and costs nothing. Choose none to have it judged afresh. Include imported preferences only if they answer the question below.', max_length=10, verbose_name='Earlier judgments to reuse')),
                ('pairs_per_hit', models.PositiveSmallIntegerField(default=10, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Pairs per HIT')),
                ('tests_per_hit', models.PositiveSmallIntegerField(default=3, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='Test pairs per HIT')),
                ('minutes_per_hit', models.PositiveIntegerField(default=60, help_text='After this time, a HIT can go to another worker. Late work is still saved.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(43200)], verbose_name='Minutes per HIT')),
                ('fill_last_hit', models.BooleanField(default=False, help_text='Repeat pairs from other HITs so that the last HIT is as long as the rest.', verbose_name='Fill the last HIT')),
                ('hits_per_worker', models.PositiveIntegerField(blank=True, help_text='Leave empty for no limit.', null=True, verbose_name='Maximum HITs per worker')),
                ('leaves_per_worker', models.PositiveIntegerField(blank=True, default=5, help_text='A worker who has left this many HITs, and more than they have finished, gets no more. Leave empty for no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Maximum HITs that a worker can leave')),
                ('exclusion', models.CharField(choices=[('assignment', 'the assignment that failed'), ('worker', "all of the worker's assignments in the campaign")], default='assignment', max_length=10, verbose_name='A failed test pair excludes')),
                ('partial', models.CharField(choices=[('checked', 'if all its test pairs were judged and passed'), ('never', 'never')], default='checked', max_length=10, verbose_name='Use work that was left early')),
                ('report_share', models.DecimalField(decimal_places=3, default=Decimal('0.250'), help_text='Workers can say that something is wrong with a pair. Work that reports more than this share waits for you. It is paid like any other.', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('1'))], verbose_name='Share of pairs that a worker can report')),
                ('reports_per_pair', models.PositiveSmallIntegerField(default=2, help_text='When this many workers have reported a pair, nobody else is asked about it, and its query has no result until you decide.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Reports that set a pair aside')),
                ('practice', models.CharField(choices=[('nothing', 'none'), ('optional', 'practice that workers can skip'), ('required', 'practice for everybody'), ('check', 'a comprehension check, with a second try')], db_default='nothing', default='nothing', help_text='A few pairs with a known answer, and after each what is right and why. They are never counted as judgments, and come once for each worker. A worker who fails the check twice gets no HIT.', max_length=10, verbose_name="Before a worker's first HIT")),
                ('practice_right', models.PositiveSmallIntegerField(blank=True, help_text='Leave empty if all answers must be right. For “a comprehension check” only.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Right answers that pass the check')),
                ('practice_pairs', models.TextField(blank=True, db_default='', default='', help_text="One pair on each line, as a spreadsheet copies it: question, better passage, worse passage, and why it is better, with tabs between. You can also write them one by one, or choose test pairs, on the draft's page “Practice”.", verbose_name='Practice pairs')),
                ('error_rate', models.DecimalField(blank=True, decimal_places=3, help_text='How often one judgment is wrong. How certain ranks and best known answers are follows from it. Leave it empty to learn it from all judgments: pairs that were judged several times say most.', max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('0.5'))], verbose_name='Wrong judgments')),
                ('compare_depth', models.PositiveSmallIntegerField(default=10, help_text='The k of RR@k, and how far down a passage counts as found, where two runs are compared. The paper takes 100. The leaderboard stays at 10.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='Compare runs down to rank')),
                ('comparisons', models.CharField(choices=[('all', 'every two runs'), ('baseline', 'each run with a baseline'), ('chain', 'each run with the best of those imported before it'), ('pairs', 'chosen pairs of runs')], default='all', help_text='Which runs are compared two by two. The tests share a level of 0.05, so with fewer comparisons, smaller differences are significant.', max_length=10, verbose_name='Compare')),
                ('baseline', models.CharField(blank=True, help_text='The name of a run. For “each run with a baseline” only.', max_length=100, verbose_name='Baseline')),
                ('compared_pairs', models.TextField(blank=True, help_text='On each line, the names of two runs, separated by a space or tab. For “chosen pairs of runs” only.', verbose_name='Chosen pairs of runs')),
                ('teams_apart', models.BooleanField(default=False, help_text='Runs without a team are compared with all others.', verbose_name='Do not compare runs of the same team')),
                ('rank_by', models.CharField(choices=[('esl-wsr', 'mean search length, signed-rank test'), ('esl-t', 'mean search length, t-test'), ('rr-wsr', 'mean RR@k, signed-rank test'), ('rr-t', 'mean RR@k, t-test')], default='esl-wsr', help_text='Which of two runs ranks better where both find a relevant passage. This is the second part of a verdict; the first is which run finds one for more queries.', max_length=10, verbose_name='Compare ranking by')),
                ('correction', models.CharField(choices=[('bonferroni', 'Bonferroni'), ('holm', 'Holm'), ('bh', 'Benjamini-Hochberg'), ('none', 'nothing')], default='bonferroni', help_text='How many tests share the level of 0.05: Bonferroni, as in the paper, and Holm bound the chance of any false finding; Benjamini-Hochberg bounds their share.', max_length=10, verbose_name='Correct for many tests by')),
                ('margin', models.DecimalField(decimal_places=3, default=Decimal('0'), help_text='How much worse a run that does no harm may be, in the share of queries found or in mean RR, as a test must show. 0, as in the paper: it is not significantly worse.', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('0.5'))], verbose_name='Margin of no harm')),
                ('measures', models.CharField(blank=True, default='nDCG@10, Judged@10', help_text='What the runs are scored by besides RR@10: names as in ir_measures, with commas between, such as nDCG@10, Judged@10, Success@1, P@5, R@100, AP@100, Compat(p=0.9)@100 or RR(rel=2)@10. Each needs a cutoff of at most 100: that much is kept of a run.', max_length=200, validators=[pools.settings.check_measures], verbose_name='Other measures')),
                ('reward', models.DecimalField(decimal_places=2, default=Decimal('2.00'), help_text='For a whole HIT. A worker who leaves early is owed a share. It is in dollars, unless the campaign goes to a platform where the lab’s account is in another currency.', max_digits=8, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='Reward per HIT')),
                ('fee_rate', models.DecimalField(blank=True, decimal_places=3, help_text="What a platform charges on top of the reward. Leave empty for the fees of our own marketplace and Mechanical Turk; enter 0 if workers come by a link. Once the campaign has terms at a platform, that platform's fees apply.", max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('9.99'))], verbose_name='Fee')),
                ('redo_rate', models.DecimalField(decimal_places=3, default=Decimal('0.100'), help_text='How many of a hundred HITs you expect to be done again. It only affects the bill.', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('9'))], verbose_name='Done again')),
                ('language', models.CharField(blank=True, help_text="Its code, such as en, ar or pt-BR. Leave empty for the collection's language.", max_length=35, verbose_name='Language of the texts below')),
                ('title', models.CharField(default='Compare answers to questions', help_text='What workers see first.', max_length=128, verbose_name='Title')),
                ('question', models.CharField(default='Which passage best answers the question?', help_text='Shown above every two passages.', max_length=300, verbose_name='Question')),
                ('instructions', models.TextField(blank=True, help_text='Shown before the first comparison, with a worked example. Can be empty.', verbose_name='Instructions')),
                ('name', models.CharField(help_text='For your own use. Workers do not see it.', max_length=100, verbose_name='Name')),
                ('state', models.CharField(choices=[('draft', 'draft'), ('packing', 'being packed'), ('open', 'open'), ('paused', 'paused'), ('closed', 'closed')], default='draft', max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sampled_from', models.PositiveIntegerField(editable=False, help_text='How many queries a sample was drawn from: those with a pool of two or more.', null=True)),
                ('currency', models.CharField(choices=[('USD', 'US dollars'), ('GBP', 'pounds sterling')], db_default='USD', default='USD', editable=False, help_text="Of the reward and all other amounts: that of the account at the campaign's platform.", max_length=3)),
                ('example_query', models.TextField(blank=True, verbose_name='Question of the example')),
                ('example_better', models.TextField(blank=True, verbose_name='Better passage')),
                ('example_worse', models.TextField(blank=True, verbose_name='Worse passage')),
                ('example_why', models.TextField(blank=True, help_text='One or two sentences to the worker. The better passage is shown as B.', verbose_name='Why it is better')),
                ('origin', models.JSONField(blank=True, editable=False, help_text='Where imported judgments come from: judgments.importing. Empty if people judge here.', null=True)),
                ('pair_count', models.PositiveIntegerField(default=0, editable=False)),
                ('reused_pair_count', models.PositiveIntegerField(default=0, editable=False, help_text='Pairs that nobody is asked about: set when the campaign is packed.')),
                ('further_judgments', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='How many judgments were asked for beyond the design, where answers were not certain.')),
                ('pool_histogram', models.JSONField(default=dict, editable=False, help_text='How many pools there are of each size; sizes as text.')),
                ('champion_split', models.JSONField(default=dict, editable=False, help_text='For a champion check, the comparisons of category `a` and of `b`.')),
                ('untexted_count', models.PositiveIntegerField(default=0, editable=False, help_text='Passages in pools of several that had no text to compare when the pools were made.')),
                ('error_model', models.JSONField(editable=False, help_text='How people judge, of challengers: as learned, when their pairs were planned, from what was judged.', null=True)),
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
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='runs.collection')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='core.lab')),
                ('runs', models.ManyToManyField(related_name='campaigns', to='runs.run')),
            ],
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pools', to='pools.campaign')),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pools', to='runs.query')),
            ],
        ),
        migrations.CreateModel(
            name='Pair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_reused', models.BooleanField(db_default=False, default=False, help_text='Whether all its judgments were made before: set when the campaign is packed.')),
                ('is_set_aside', models.BooleanField(db_default=False, default=False, help_text='Whether nobody is asked about it any more, because workers reported it or a person decided so.')),
                ('a', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('b', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='pools.pool')),
            ],
        ),
        migrations.CreateModel(
            name='Candidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='candidacies', to='runs.passage')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='pools.pool')),
            ],
        ),
        migrations.CreateModel(
            name='AlikePair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('share', models.FloatField()),
                ('a', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('b', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('campaign', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='alike_pairs', to='pools.campaign')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='pools.pool')),
            ],
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
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='runs.collection')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='campaign',
            name='base_version',
            field=models.ForeignKey(blank=True, help_text="The challengers are compared with this version's best known answers. For “challengers” only.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='challenges', to='pools.qrelsversion', verbose_name='Version to challenge'),
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
        ),
        migrations.CreateModel(
            name='RoundPool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('begun', models.JSONField(help_text='A list for each of its rounds, with the ids of the passages.')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rounds', to='pools.pool')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='played', to='pools.round')),
            ],
        ),
        migrations.CreateModel(
            name='Twin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('candidate', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='twins', to='pools.candidate')),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
            ],
        ),
        migrations.CreateModel(
            name='VersionQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('added', 'added'), ('changed', 'changed'), ('confirmed', 'confirmed')], max_length=9)),
                ('before', models.JSONField()),
                ('after', models.JSONField()),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.query')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='settled', to='pools.qrelsversion')),
            ],
        ),
        migrations.CreateModel(
            name='CampaignTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('values', models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, help_text='Columns of Campaign by name: campaigns.templating.KEPT.')),
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
            model_name='pair',
            constraint=models.UniqueConstraint(fields=('pool', 'a', 'b'), name='pair_once_per_pool'),
        ),
        migrations.AddConstraint(
            model_name='pair',
            constraint=models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='pair_of_two_passages'),
        ),
        migrations.AddConstraint(
            model_name='candidate',
            constraint=models.UniqueConstraint(fields=('pool', 'passage'), name='candidate_once_per_pool'),
        ),
        migrations.AddIndex(
            model_name='alikepair',
            index=models.Index(fields=['campaign', 'id'], name='alike_pair_in_order'),
        ),
        migrations.AddConstraint(
            model_name='qrelsversion',
            constraint=models.UniqueConstraint(fields=('collection', 'number'), name='version_number_once'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.UniqueConstraint(fields=('lab', 'name'), name='campaign_name_once_per_lab'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('overlap__gte', 1)), name='campaign_overlap_at_least_one'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('pairs_per_hit__gte', 1), ('tests_per_hit__gte', 1)), name='campaign_hits_hold_pairs_and_tests'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('reward__gte', 0)), name='campaign_reward_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('base_version__isnull', False), ('design', 'challengers')), models.Q(models.Q(('design', 'challengers'), _negated=True), ('base_version__isnull', True)), _connector='OR'), name='campaign_challenges_a_version'),
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.UniqueConstraint(fields=('campaign', 'number'), name='round_number_once'),
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.UniqueConstraint(condition=models.Q(('asked_at', None)), fields=('campaign',), name='round_one_waits'),
        ),
        migrations.AddConstraint(
            model_name='roundpool',
            constraint=models.UniqueConstraint(fields=('round', 'pool'), name='round_pool_once'),
        ),
        migrations.AddConstraint(
            model_name='twin',
            constraint=models.UniqueConstraint(fields=('candidate', 'passage'), name='twin_once_per_candidate'),
        ),
        migrations.AddIndex(
            model_name='versionquery',
            index=models.Index(condition=models.Q(('kind', 'confirmed'), _negated=True), fields=['version', 'query'], name='version_query_changed'),
        ),
        migrations.AddConstraint(
            model_name='versionquery',
            constraint=models.UniqueConstraint(fields=('version', 'query'), name='version_query_once'),
        ),
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION refuse_version_change() CASCADE"),
        record_changes(
            "pools_campaign",
            CHANGES,
            ITSELF,
            "$1->>'name'",
            ignored="revision finished_revision pool_histogram champion_split untexted_count pair_count reused_pair_count resumed_at sampled_from",
        ),
        record_changes("pools_campaigntemplate", CHANGES, LAB, "$1->>'name'", ignored="lab_id changed_at"),
        record_changes("pools_qrelsversion", "INSERT", COLLECTION, "name || ' ' || ($1->>'number')", why="why"),
        record_changes(
            "pools_round",
            "INSERT OR UPDATE",
            CAMPAIGN,
            "$1->>'number'",
            ignored="asked_by_id",
            why="obstacle",
        ),
    ]
