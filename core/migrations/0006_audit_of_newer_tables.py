"""The audit also records decisions about many, test pairs, messages, tokens, factors, addresses and choices of alarms."""

from django.db import migrations

_OF_PERSON = (
    "SELECT NULL::bigint AS lab, NULL::bigint AS campaign, NULL AS campaign_name, NULL::bigint AS worker, "
    "$1->>'user_id' AS thing"
)
_OF_CAMPAIGN = (
    "SELECT lab_id AS lab, id AS campaign, name AS campaign_name, NULL::bigint AS worker, {} AS thing "
    "FROM pools_campaign WHERE id = ($1->>'campaign_id')::bigint"
)
_OF_PUBLICATION = (
    "SELECT c.lab_id AS lab, c.id AS campaign, c.name AS campaign_name, ($1->>'worker_id')::bigint AS worker, {} AS thing "
    "FROM platforms_publication p JOIN pools_campaign c ON c.id = p.campaign_id "
    "WHERE p.id = ($1->>'publication_id')::bigint"
)
_SET_ASIDE_BY_A_PERSON = (
    "WHEN (NEW.settled_at IS NOT NULL AND OLD.settled_at IS NULL "
    "AND nullif(current_setting('bestknown.audit', true), '')::jsonb ->> 'kind' = 'person')"
)
_MESSAGE = ("subject text error platform_message_id", "", "", "")
# table: ((name of the trigger, events, condition, where it belongs, ignored fields, fields of which only is told that
# they changed, why, whether a new row's fields are recorded), …), as core_audit_record() takes them
TRIGGERS = {
    "api_token": [
        ("audit", "INSERT OR UPDATE OR DELETE", "", _OF_PERSON, "user_id start digest last_used_at created_at", "", "", "fields"),
    ],
    "account_emailaddress": [("audit", "INSERT OR UPDATE OR DELETE", "", _OF_PERSON, "user_id", "email", "", "")],
    "mfa_authenticator": [
        ("audit", "INSERT OR DELETE", "", _OF_PERSON, "user_id data created_at last_used_at", "", "", "fields"),
    ],
    "socialaccount_socialaccount": [
        ("audit", "INSERT OR DELETE", "", _OF_PERSON, "user_id last_login date_joined", "uid extra_data", "", "fields"),
    ],
    "core_user_groups": [("audit", "INSERT OR DELETE", "", _OF_PERSON, "user_id", "", "", "fields")],
    "core_user_user_permissions": [("audit", "INSERT OR DELETE", "", _OF_PERSON, "user_id", "", "", "fields")],
    "tasks_testpair": [
        (
            "audit", "UPDATE", "WHEN (NEW.state IS DISTINCT FROM OLD.state)", _OF_CAMPAIGN.format("left($1->>'question', 200)"),
            "decided_by_id decided_at", "", "", "",
        ),
    ],
    "platforms_message": [
        ("audit", "INSERT", "WHEN (NEW.by_id IS NOT NULL)", _OF_PUBLICATION.format("''"), *_MESSAGE),
        (
            "audit_set_aside", "UPDATE", "WHEN (NEW.state = 'set-aside' AND OLD.state <> 'set-aside')",
            _OF_PUBLICATION.format("''"), *_MESSAGE,
        ),
    ],
    "platforms_alarm": [
        (
            "audit", "UPDATE", _SET_ASIDE_BY_A_PERSON,
            _OF_PUBLICATION.format("$1->>'kind'"), "text failures retry_at", "", "", "",
        ),
    ],
    "judgments_bulkdecision": [
        (
            "audit", "INSERT OR UPDATE", "", _OF_CAMPAIGN.format("$1->>'action'"),
            "campaign_id by_id undone_by_id why at", "", "why", "fields",
        ),
    ],
    "judgments_alarmchoice": [("audit", "INSERT OR UPDATE OR DELETE", "", _OF_PERSON, "user_id", "", "", "fields")],
}

def _create(table, trigger):
    name, events, condition, *arguments = trigger
    given = ", ".join("'" + text.replace("'", "''") + "'" for text in arguments)
    return (
        f"CREATE TRIGGER {name} AFTER {events} ON {table} FOR EACH ROW {condition} "
        f"EXECUTE FUNCTION core_audit_record({given})"
    )


class Migration(migrations.Migration):

    dependencies = [
        ("core", "0005_pay_floor"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
        ("tasks", "0010_held_work_index"),
        ("platforms", "0006_messages"),
        ("judgments", "0008_notes_read"),
        ("api", "0001_tokens"),
    ]

    operations = [
        *(
            migrations.RunSQL(_create(table, trigger), f"DROP TRIGGER {trigger[0]} ON {table}")
            for table, triggers in TRIGGERS.items()
            for trigger in triggers
        ),
    ]
