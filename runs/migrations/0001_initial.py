import django.core.serializers.json
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models

import runs.models
from core.audit.triggers import CHANGES, COLLECTION, LAB, record_changes


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
                ('dataset', models.CharField(blank=True, help_text='Its id in ir_datasets, if it comes from there: runs.catalogue.', max_length=200)),
                ('statistics', models.JSONField(blank=True, default=dict, help_text='Of queries, original qrels and corpus, counted when their files are read: runs.services.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collections', to='core.lab')),
            ],
        ),
        migrations.CreateModel(
            name='OutsideScores',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(help_text='Where they come from, and of which measure they are.', max_length=100)),
                ('scores', models.JSONField()),
                ('filename', models.CharField(max_length=255)),
                ('uploaded_at', models.DateTimeField()),
                ('collection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='outside_scores', to='runs.collection')),
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
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='runs.collection')),
            ],
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
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='preference_imports', to='runs.collection')),
                ('imported_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Query',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('qid', models.TextField()),
                ('text', models.TextField(blank=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='queries', to='runs.collection')),
            ],
            options={
                'verbose_name_plural': 'queries',
            },
        ),
        migrations.CreateModel(
            name='Qrel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('grade', models.IntegerField()),
                ('position', models.PositiveIntegerField(help_text="Its position in the file: a query's first qrel is the one with the lowest.")),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qrels', to='runs.collection')),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qrels', to='runs.passage')),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qrels', to='runs.query')),
            ],
        ),
        migrations.CreateModel(
            name='ImportedPreference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('prefers_a', models.BooleanField(help_text='Empty for a tie.', null=True)),
                ('a', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('b', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.passage')),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='preferences', to='runs.preferenceimport')),
                ('query', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.query')),
            ],
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
                ('original', models.FileField(max_length=255, upload_to=runs.models.run_path)),
                ('artifact', models.FileField(max_length=255, upload_to=runs.models.run_path)),
                ('sha256', models.CharField(max_length=64)),
                ('census', models.JSONField(help_text='What the check counted: evaluation.files.runs.Census.')),
                ('metadata', models.JSONField(blank=True, default=dict, help_text="What the file's ir_metadata header says: evaluation.files.metadata.")),
                ('scores', models.JSONField(blank=True, default=dict, help_text='On the original qrels: mean `rr` at 10, and over how many `queries`.')),
                ('is_released', models.BooleanField(default=True, help_text='Whether exports may have passages that only this run brought into a pool.')),
                ('imported_at', models.DateTimeField(auto_now_add=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='runs.collection')),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='core.lab')),
            ],
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
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('begun_at', models.DateTimeField(blank=True, help_text='The last attempt.', null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.TextField(blank=True, help_text='Why it was refused, or what went wrong in the last attempt.')),
                ('complaints', models.JSONField(blank=True, default=dict, help_text='Errors of a run by line: evaluation.files.runs.RunCheck.')),
                ('counts', models.JSONField(blank=True, default=dict, help_text='What was added to a collection, and how many files were refused.')),
                ('outcome_id', models.BigIntegerField(blank=True, help_text='The campaign that was made or changed.', null=True)),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('collection', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='runs.collection')),
                ('lab', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='core.lab')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='jobs', to='runs.run')),
            ],
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('run', 'run'), ('queries', 'queries'), ('qrels', 'qrels'), ('passages', 'passages'), ('preference', 'preferences'), ('judgments', 'judgments'), ('machine', "a machine's answers"), ('none', 'leave out')], max_length=10)),
                ('name', models.CharField(help_text='As the sender called it.', max_length=255)),
                ('size', models.PositiveBigIntegerField(help_text='In bytes.')),
                ('file', models.FileField(blank=True, max_length=255, upload_to=runs.models.upload_path)),
                ('seen', models.CharField(blank=True, help_text='What its first lines look like: evaluation.files.recognizing.', max_length=200)),
                ('is_stored', models.BooleanField(blank=True, help_text='Whether its content is in the collection.', null=True)),
                ('error', models.TextField(blank=True, help_text='Why it is not.')),
                ('complaints', models.JSONField(blank=True, default=dict, help_text='Errors of a run by line: evaluation.files.runs.RunCheck.')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to='runs.job')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
            ],
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.UniqueConstraint(fields=('lab', 'name'), name='collection_name_once_per_lab'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=models.Index(condition=models.Q(('text', '')), fields=['collection'], name='passage_without_text'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=models.Index(condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.functions.text.Length('text'), 3000)), fields=['collection'], name='passage_with_long_text'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=models.Index(condition=models.Q(('text_key__isnull', False)), fields=['text_key', 'collection'], name='passage_by_text'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.UniqueConstraint(fields=('collection', 'pid'), name='passage_once_per_collection'),
        ),
        migrations.AddConstraint(
            model_name='preferenceimport',
            constraint=models.UniqueConstraint(fields=('collection', 'name'), name='preference_import_name_once'),
        ),
        migrations.AddConstraint(
            model_name='preferenceimport',
            constraint=models.UniqueConstraint(fields=('collection', 'sha256'), name='preference_import_file_once'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(condition=models.Q(('text', '')), fields=['collection'], name='query_without_text'),
        ),
        migrations.AddConstraint(
            model_name='query',
            constraint=models.UniqueConstraint(fields=('collection', 'qid'), name='query_once_per_collection'),
        ),
        migrations.AddIndex(
            model_name='qrel',
            index=models.Index(fields=['collection', 'position'], name='qrel_in_file_order'),
        ),
        migrations.AddConstraint(
            model_name='qrel',
            constraint=models.UniqueConstraint(fields=('query', 'passage'), name='qrel_once_per_passage'),
        ),
        migrations.AddIndex(
            model_name='importedpreference',
            index=models.Index(fields=['query', 'a', 'b'], name='imported_preference_of_pair'),
        ),
        migrations.AddConstraint(
            model_name='importedpreference',
            constraint=models.UniqueConstraint(fields=('source', 'line'), name='imported_preference_once_per_line'),
        ),
        migrations.AddConstraint(
            model_name='importedpreference',
            constraint=models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='imported_preference_of_two_passages'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(fields=('collection', 'name'), name='run_name_once_per_collection'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['id'], name='job_waiting'),
        ),
        record_changes("runs_collection", CHANGES, LAB, "$1->>'name'"),
        record_changes("runs_outsidescores", CHANGES, COLLECTION, "$1->>'source'", ignored="scores"),
        record_changes("runs_preferenceimport", "INSERT OR DELETE", COLLECTION, "$1->>'name'"),
        record_changes(
            "runs_run", CHANGES, LAB, "$1->>'name'", ignored="census metadata scores original artifact described_at"
        ),
    ]
