from django.db import migrations

from pools.counting import keep_counts

# How many slots a pair has filled is counted with the locks of its HITs held, so one transaction does at a time. What
# was judged in work does not change any more once a verdict can be accepted, or stops being it.
COUNTS = """
    INSERT INTO pools_countchange (campaign_id, name, kind, count)
    SELECT campaign, 'full', '', count(*) FROM (
        SELECT campaign.id AS campaign FROM judgments_acceptance acceptance
            JOIN pools_pair pair ON pair.id = acceptance.pair_id
            JOIN pools_pool pool ON pool.id = pair.pool_id
            JOIN pools_campaign campaign ON campaign.id = pool.campaign_id
        GROUP BY pair.id, campaign.id
        HAVING count(*) >= CASE WHEN campaign.origin IS NULL THEN campaign.overlap ELSE 1 END
    ) pairs GROUP BY 1;

    INSERT INTO pools_countchange (campaign_id, name, kind, count)
    SELECT campaign_id, 'good', '', count(*) FROM (
        SELECT DISTINCT assignment.campaign_id, judgment.assignment_id, judgment.item_id
        FROM tasks_assignment assignment
            JOIN judgments_judgment judgment ON judgment.assignment_id = assignment.id
            JOIN tasks_item item ON item.id = judgment.item_id
        WHERE assignment.verdict = 'accepted' AND item.pair_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM judgments_pairreport report WHERE report.assignment_id = assignment.id
                AND report.item_id = item.id AND report.withdrawn_at IS NULL)
    ) good GROUP BY 1;

    CREATE FUNCTION judgments_count_full() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    BEGIN
        INSERT INTO pools_countchange (campaign_id, name, kind, count)
        SELECT campaign, 'full', '', sum((slots >= needed)::int - (slots - sign * number >= needed)::int) FROM (
            SELECT pool.campaign_id AS campaign, changed.number,
                CASE WHEN campaign.origin IS NULL THEN campaign.overlap ELSE 1 END AS needed,
                (SELECT count(*) FROM judgments_acceptance slot WHERE slot.pair_id = pair.id) AS slots
            FROM (SELECT pair_id, count(*) AS number FROM changed_rows GROUP BY 1) changed
                JOIN pools_pair pair ON pair.id = changed.pair_id
                JOIN pools_pool pool ON pool.id = pair.pool_id
                JOIN pools_campaign campaign ON campaign.id = pool.campaign_id
        ) pairs
        GROUP BY 1 HAVING sum((slots >= needed)::int - (slots - sign * number >= needed)::int) <> 0;
        RETURN NULL;
    END $$;
    CREATE TRIGGER keep_full_insert AFTER INSERT ON judgments_acceptance REFERENCING NEW TABLE AS changed_rows
        FOR EACH STATEMENT EXECUTE FUNCTION judgments_count_full();
    CREATE TRIGGER keep_full_delete AFTER DELETE ON judgments_acceptance REFERENCING OLD TABLE AS changed_rows
        FOR EACH STATEMENT EXECUTE FUNCTION judgments_count_full();

    CREATE FUNCTION judgments_count_good() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO pools_countchange (campaign_id, name, kind, count)
        SELECT NEW.campaign_id, 'good', '', CASE NEW.verdict WHEN 'accepted' THEN 1 ELSE -1 END * count(DISTINCT item.id)
        FROM judgments_judgment judgment JOIN tasks_item item ON item.id = judgment.item_id
        WHERE judgment.assignment_id = NEW.id AND item.pair_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM judgments_pairreport report WHERE report.assignment_id = NEW.id
                AND report.item_id = item.id AND report.withdrawn_at IS NULL);
        RETURN NULL;
    END $$;
    CREATE TRIGGER keep_good AFTER UPDATE ON tasks_assignment FOR EACH ROW
        WHEN (OLD.verdict <> NEW.verdict AND 'accepted' IN (OLD.verdict, NEW.verdict))
        EXECUTE FUNCTION judgments_count_good();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('judgments', '0001_initial'),
        ('tasks', '0002_counts'),
    ]

    operations = [
        keep_counts(
            "accepted",
            "judgments_acceptance",
            "''",
            campaign="(SELECT campaign_id FROM tasks_assignment WHERE id = assignment_id)",
        ),
        migrations.RunSQL(
            COUNTS, "DROP FUNCTION judgments_count_full() CASCADE; DROP FUNCTION judgments_count_good() CASCADE"
        ),
    ]
