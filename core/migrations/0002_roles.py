"""Members of labs get roles; neither a lab nor the site loses its last admin."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Members who are admins of the site manage their labs' people already. All others keep what they may do.
NAME_ADMINS = """
    UPDATE core_lab_members SET role = 'admin'
    FROM core_user WHERE core_user.id = user_id AND is_staff AND is_superuser
"""
# Checked when a transaction ends, so that a lab can be deleted whole, and two people can change roles in one step. The
# lock lets one transaction look at a time: of two that each remove another of two admins, the later one fails.
KEEP_ADMINS = """
    CREATE FUNCTION core_keep_lab_admin(lab bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM core_lab WHERE id = lab FOR NO KEY UPDATE;
        IF FOUND AND NOT EXISTS (
            SELECT FROM core_lab_members JOIN core_user ON core_user.id = user_id
            WHERE lab_id = lab AND role = 'admin' AND is_active
        ) THEN
            RAISE EXCEPTION 'lab % would lose its last admin', lab USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END $$;

    CREATE FUNCTION core_keep_lab_admin_of_membership() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM core_keep_lab_admin(OLD.lab_id);
        RETURN NULL;
    END $$;

    CREATE FUNCTION core_keep_admins_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.is_staff AND OLD.is_superuser THEN
            PERFORM pg_advisory_xact_lock(hashtext('core_keep_site_admin'));
            IF NOT EXISTS (SELECT FROM core_user WHERE is_active AND is_staff AND is_superuser) THEN
                RAISE EXCEPTION 'the site would lose its last admin' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
        END IF;
        PERFORM core_keep_lab_admin(lab_id) FROM (
            SELECT lab_id FROM core_lab_members WHERE user_id = OLD.id AND role = 'admin' ORDER BY lab_id
        ) AS labs;
        RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER core_keep_lab_admin AFTER UPDATE OR DELETE ON core_lab_members
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.role = 'admin')
        EXECUTE FUNCTION core_keep_lab_admin_of_membership();
    CREATE CONSTRAINT TRIGGER core_keep_admins AFTER UPDATE OF is_active, is_staff, is_superuser ON core_user
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.is_active)
        EXECUTE FUNCTION core_keep_admins_of_user();
    CREATE CONSTRAINT TRIGGER core_keep_admins_deleted AFTER DELETE ON core_user
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.is_active)
        EXECUTE FUNCTION core_keep_admins_of_user();
"""


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Membership",
                    fields=[
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("lab", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="core.lab")),
                        ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        "db_table": "core_lab_members",
                        "unique_together": {("lab", "user")},
                        "verbose_name": "membership",
                        "verbose_name_plural": "memberships",
                    },
                ),
                migrations.AlterField(
                    model_name="lab",
                    name="members",
                    field=models.ManyToManyField(blank=True, related_name="labs", through="core.Membership", to=settings.AUTH_USER_MODEL),
                ),
            ],
        ),
        migrations.AddField(
            model_name="membership",
            name="role",
            field=models.CharField(
                choices=[("viewer", "viewer"), ("researcher", "researcher"), ("organizer", "organizer"), ("admin", "admin")],
                default="researcher",
                max_length=10,
            ),
        ),
        migrations.RunSQL(NAME_ADMINS, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["viewer", "researcher", "organizer", "admin"])), name="membership_role_known"
            ),
        ),
        migrations.RunSQL(
            KEEP_ADMINS,
            "DROP FUNCTION core_keep_admins_of_user CASCADE; DROP FUNCTION core_keep_lab_admin_of_membership CASCADE; "
            "DROP FUNCTION core_keep_lab_admin CASCADE",
        ),
    ]
