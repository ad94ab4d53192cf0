"""The audit also records tokens of labs at platforms, without the token."""

from django.db import migrations

_OF_LAB = (
    "SELECT ($1->>''lab_id'')::bigint AS lab, NULL::bigint AS campaign, NULL AS campaign_name, "
    "NULL::bigint AS worker, $1->>''platform'' AS thing"
)


class Migration(migrations.Migration):

    dependencies = [
        ("core", "0007_closed_accounts"),
        ("platforms", "0008_prolific"),
    ]
    operations = [
        migrations.RunSQL(
            "CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON platforms_labaccount FOR EACH ROW "
            f"EXECUTE FUNCTION core_audit_record('{_OF_LAB}', 'lab_id sealed by_id at', '', '')",
            "DROP TRIGGER audit ON platforms_labaccount",
        )
    ]
