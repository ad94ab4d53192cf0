"""Which tables the audit records. The triggers themselves are made by migrations; a test compares the two."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Group:
    """What entries are about, as the pages' filter has it."""

    CAMPAIGNS = "campaigns"
    WORDING = "wording"
    PLATFORMS = "platforms"
    DECISIONS = "decisions"
    MONEY = "money"
    DATA = "data"
    FILES = "files"
    PEOPLE = "people"
    LOGINS = "log-ins"
    PROTECTION = "protection"
    WEBHOOKS = "webhooks"
    BOARDS = "leaderboards"


GROUPS: dict[str, Promise] = {
    Group.CAMPAIGNS: _("campaigns"),
    Group.WORDING: _("wording, consent and test pairs"),
    Group.PLATFORMS: _("platforms and terms"),
    Group.DECISIONS: _("decisions on work and workers, and messages"),
    Group.MONEY: _("payments"),
    Group.DATA: _("collections, runs and qrels"),
    Group.FILES: _("exports and downloads"),
    Group.PEOPLE: _("people and labs"),
    Group.LOGINS: _("log-ins"),
    Group.PROTECTION: _("data protection"),
    Group.WEBHOOKS: _("webhooks"),
    Group.BOARDS: _("leaderboards"),
}
TABLES: dict[str, str] = {
    "core_user": Group.PEOPLE,
    "core_lab": Group.PEOPLE,
    "core_lab_members": Group.PEOPLE,
    "core_memberinvitation": Group.PEOPLE,
    "core_user_groups": Group.PEOPLE,
    "core_user_user_permissions": Group.PEOPLE,
    "account_emailaddress": Group.PEOPLE,
    "mfa_authenticator": Group.PEOPLE,
    "socialaccount_socialaccount": Group.PEOPLE,
    "api_token": Group.PEOPLE,
    "pools_collection": Group.DATA,
    "pools_preferenceimport": Group.DATA,
    "pools_outsidescores": Group.DATA,
    "pools_run": Group.DATA,
    "pools_campaign": Group.CAMPAIGNS,
    "pools_campaigntemplate": Group.CAMPAIGNS,
    "pools_round": Group.CAMPAIGNS,
    "pools_qrelsversion": Group.DATA,
    "tasks_consenttext": Group.WORDING,
    "tasks_paywords": Group.WORDING,
    "tasks_testpair": Group.WORDING,
    "tasks_outsidepanel": Group.PLATFORMS,
    "tasks_worker": Group.DECISIONS,
    "platforms_labaccount": Group.PLATFORMS,
    "platforms_publication": Group.PLATFORMS,
    "platforms_termsversion": Group.PLATFORMS,
    "platforms_submission": Group.DECISIONS,
    "platforms_payment": Group.MONEY,
    "platforms_handpayment": Group.MONEY,
    "platforms_message": Group.DECISIONS,
    "platforms_alarm": Group.PLATFORMS,
    "judgments_decision": Group.DECISIONS,
    "judgments_bulkdecision": Group.DECISIONS,
    "judgments_alarmchoice": Group.PEOPLE,
    "judgments_pairdecision": Group.DECISIONS,
    "judgments_adjudication": Group.DECISIONS,
    "judgments_retention": Group.PROTECTION,
    "judgments_machinejudge": Group.DATA,
    "judgments_machineasking": Group.DATA,
    "api_webhook": Group.WEBHOOKS,
    "leaderboards_board": Group.BOARDS,
    "leaderboards_policyversion": Group.BOARDS,
    "leaderboards_boardkey": Group.BOARDS,
    "leaderboards_season": Group.BOARDS,
    "leaderboards_seasonfile": Group.BOARDS,
    "leaderboards_team": Group.BOARDS,
    "leaderboards_teammember": Group.BOARDS,
    "leaderboards_submission": Group.BOARDS,
    "leaderboards_opening": Group.BOARDS,
    "leaderboards_decision": Group.BOARDS,
    "leaderboards_metadatarequest": Group.BOARDS,
    "leaderboards_upkeep": Group.BOARDS,
    "leaderboards_upkeepround": Group.BOARDS,
    "leaderboards_spotcheck": Group.BOARDS,
}
# Those whose entries name the person as what they are about.
OF_PEOPLE = {
    *("core_lab_members", "core_user_groups", "core_user_user_permissions", "account_emailaddress"),
    *("mfa_authenticator", "socialaccount_socialaccount", "api_token", "judgments_alarmchoice"),
}
# What is noted by services, since it changes no recorded row.
NOTES: dict[str, str] = {
    "session": Group.LOGINS,
    "export": Group.FILES,
    "audit": Group.FILES,
    "erasure": Group.PROTECTION,
    "personal-data": Group.PROTECTION,
    "release": Group.PROTECTION,
}
