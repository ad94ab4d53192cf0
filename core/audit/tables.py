"""Which tables the audit records. The triggers themselves are made by migrations; a test compares the two."""

from functools import cache

from django.apps import apps
from django.utils.translation import gettext_lazy as _

from core.recorded import Audit, Group

# Tables of libraries, whose models cannot say it themselves.
OTHERS = {
    "core_user_groups": Audit(
        Group.PEOPLE,
        insert=_("put the account %(person)s into a group of the admin site"),
        delete=_("took the account %(person)s out of a group of the admin site"),
        names_person=True,
    ),
    "core_user_user_permissions": Audit(
        Group.PEOPLE,
        insert=_("gave %(person)s a permission at the admin site"),
        delete=_("took a permission at the admin site from %(person)s"),
        names_person=True,
    ),
    "account_emailaddress": Audit(
        Group.PEOPLE,
        insert=_("added an e-mail address to the account %(person)s"),
        update=_("changed an e-mail address of the account %(person)s: %(fields)s"),
        delete=_("removed an e-mail address from the account %(person)s"),
        names_person=True,
    ),
    "mfa_authenticator": Audit(
        Group.PEOPLE,
        insert=_("added a second factor to the account %(person)s: %(changes)s"),
        delete=_("removed a second factor from the account %(person)s: %(changes)s"),
        names_person=True,
    ),
    "socialaccount_socialaccount": Audit(
        Group.PEOPLE,
        insert=_("connected the account %(person)s with an institution's"),
        delete=_("disconnected the account %(person)s from an institution's"),
        names_person=True,
    ),
}
# What is noted by services, since it changes no recorded row.
NOTES: dict[str, Group] = {
    "session": Group.LOGINS,
    "export": Group.FILES,
    "alarm": Group.PLATFORMS,
    "audit": Group.FILES,
    "erasure": Group.PROTECTION,
    "personal-data": Group.PROTECTION,
    "release": Group.PROTECTION,
}


@cache
def recorded_tables() -> dict[str, Audit]:
    """By the table's name, what its model says of it in `audit`."""
    declared = {model._meta.db_table: getattr(model, "audit", None) for model in apps.get_models()}
    return {table: audit for table, audit in declared.items() if isinstance(audit, Audit)} | OTHERS


@cache
def tables_of_people() -> frozenset[str]:
    """Those whose entries name the person as what they are about."""
    return frozenset(table for table, audit in recorded_tables().items() if audit.names_person)
