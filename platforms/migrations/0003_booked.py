from django.db import migrations, models

# Work is booked from its platform's first payment on, or once its lab has marked all of it as paid. It is locked before
# its payments are looked at, so that of several who book and take back at once, the last sees what the others did.
KEEP_BOOKED = """
    CREATE FUNCTION platforms_is_booked(work tasks_assignment) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT CASE work.platform_assignment_id
            WHEN '' THEN work.owed > 0 AND work.owed <= (
                SELECT coalesce(sum(amount), 0) FROM platforms_handpayment WHERE assignment_id = work.id)
            ELSE EXISTS (SELECT FROM platforms_payment WHERE assignment_id = work.id) END
    $$;
    CREATE FUNCTION platforms_keep_booked() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM tasks_assignment WHERE id IN (OLD.assignment_id, NEW.assignment_id) ORDER BY id FOR NO KEY UPDATE;
        UPDATE tasks_assignment work SET is_booked = NOT is_booked
        WHERE id IN (OLD.assignment_id, NEW.assignment_id) AND is_booked <> platforms_is_booked(work);
        RETURN NULL;
    END $$;
    CREATE TRIGGER keep_booked AFTER INSERT OR DELETE OR UPDATE OF assignment_id ON platforms_payment
        FOR EACH ROW EXECUTE FUNCTION platforms_keep_booked();
    CREATE TRIGGER keep_booked AFTER INSERT OR DELETE ON platforms_handpayment
        FOR EACH ROW EXECUTE FUNCTION platforms_keep_booked();
    UPDATE tasks_assignment work SET is_booked = true WHERE platforms_is_booked(work);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('platforms', '0002_counts'),
        ('tasks', '0003_booked'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(condition=models.Q(('state__in', ['owed', 'sent'])), fields=['publication'], name='payment_unpaid'),
        ),
        migrations.RunSQL(
            KEEP_BOOKED,
            "DROP FUNCTION platforms_keep_booked() CASCADE; DROP FUNCTION platforms_is_booked(tasks_assignment)",
        ),
    ]
