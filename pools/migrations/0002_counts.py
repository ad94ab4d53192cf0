import django.db.models.deletion
from django.db import migrations, models


# Arguments: the count's name, and SQL over a row for its campaign, its kind, and what of it is summed up. What an
# update did not change is counted off and on again, and adds nothing.
KEEP_COUNTS = """
    CREATE FUNCTION pools_keep_counts() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE format(
            'INSERT INTO pools_countchange (campaign_id, name, kind, count, amount, fee)
             SELECT campaign, %L, kind, sum(sign), sum(sign * amount), sum(sign * fee)
             FROM (SELECT %s AS campaign, %s AS kind, %s AS amount, %s AS fee, sign FROM (%s) changed) counted
             WHERE campaign IS NOT NULL GROUP BY campaign, kind
             HAVING sum(sign) <> 0 OR sum(sign * amount) <> 0 OR sum(sign * fee) <> 0',
            TG_ARGV[0], TG_ARGV[1], TG_ARGV[2], TG_ARGV[3], TG_ARGV[4], concat_ws(
                ' UNION ALL ',
                CASE WHEN TG_OP <> 'INSERT' THEN 'SELECT -1 AS sign, * FROM old_rows' END,
                CASE WHEN TG_OP <> 'DELETE' THEN 'SELECT 1 AS sign, * FROM new_rows' END
            )
        );
        RETURN NULL;
    END $$;
    ALTER TABLE pools_countchange ADD FOREIGN KEY (campaign_id) REFERENCES pools_campaign ON DELETE CASCADE;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='CountChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=20)),
                ('kind', models.CharField(max_length=60)),
                ('count', models.BigIntegerField()),
                ('amount', models.DecimalField(db_default=0, decimal_places=2, default=0, max_digits=14)),
                ('fee', models.DecimalField(db_default=0, decimal_places=2, default=0, max_digits=14)),
                ('campaign', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pools.campaign')),
            ],
        ),
        migrations.CreateModel(
            name='Recount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('changes', models.PositiveIntegerField()),
                ('newest', models.BigIntegerField(help_text='The key of the newest change; 0 without any.')),
                ('at', models.DateTimeField()),
                ('rests_until', models.DateTimeField()),
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='recount', to='pools.campaign')),
            ],
        ),
        migrations.RunSQL(KEEP_COUNTS, "DROP FUNCTION pools_keep_counts() CASCADE"),
    ]
