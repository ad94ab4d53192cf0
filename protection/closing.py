"""Closing the account of somebody who leaves: who it was goes, and what was done stays under the number of the account.

Rows that are the person's own (their relation says CASCADE) are deleted; rows of the lab that name a person keep doing
so, and what they name is an account without a name. All of it is one transaction.
"""

from datetime import datetime
from typing import Any, NamedTuple

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import CASCADE, Q, QuerySet
from django.db.models.functions import Lower
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from core.audit.notes import entry_note
from core.audit.origin import because
from core.audit.retention import person_forget
from core.models import AuditEntry, MemberInvitation, User
from core.people import LastAdmin, user_disable, why_needed
from pools.models import Campaign

LISTED = 20  # campaigns that go on, by name


class Plan(NamedTuple):
    """What closing an account would do: `goes` as (key, what, how many), `stays` as (what, how many, why), `goes_on` as
    the campaigns that run without the person, `obstacle` as a sentence or nothing.
    """

    user: User
    goes: list[tuple[str, str, int]]
    stays: list[tuple[str, int, str]]
    goes_on: list[str]
    obstacle: str

    @property
    def is_done(self) -> bool:
        """Whether the account is closed."""
        return self.user.closed_at is not None

    def as_json(self) -> dict[str, Any]:
        """The same for a script."""
        return {
            "account": self.user.pk,
            "closed_at": self.user.closed_at.isoformat() if self.user.closed_at else None,
            "goes": {key: count for key, _what, count in self.goes if count},
            "stays": [{"what": what, "count": count, "why": why} for what, count, why in self.stays if count],
            "goes_on": self.goes_on,
            "obstacle": self.obstacle,
        }


def _relations(is_own: bool) -> list[tuple[type[Any], str]]:
    """The models with rows of a person's own, or with rows that name one, and the field."""
    related = [rel for rel in User._meta.get_fields(include_hidden=True) if rel.one_to_many or rel.one_to_one]
    return [
        (rel.related_model, rel.field.name)  # type: ignore[union-attr,misc]
        for rel in related
        if rel.auto_created and (rel.on_delete is CASCADE) == is_own  # type: ignore[union-attr]
    ]


def _counted(user: User, is_own: bool) -> list[tuple[str, str, int]]:
    """A person's rows by table: its key, such as `core.membership`, what they are called, and how many there are."""
    counts: dict[str, tuple[str, int]] = {}
    for model, field in _relations(is_own):
        name, key = capfirst(str(model._meta.verbose_name_plural)), model._meta.label_lower
        before = counts.get(key, (name, 0))[1]
        counts[key] = (name, before + model._base_manager.filter(**{field: user}).count())
    return [(key, name, count) for key, (name, count) in counts.items()]


def closing_plan(user: User) -> Plan:
    """What closing somebody's account would do now."""
    named = sum(map(bool, (user.username, user.first_name, user.last_name, user.email, user.has_usable_password())))
    goes = [("identity", _("user name, name, e-mail address and password"), 0 if user.closed_at else named)]
    goes += _counted(user, is_own=True)
    goes.append(
        ("invitation_addresses", _("addresses in invitations"), _invitations_to(user).exclude(email="").count())
    )
    acted = AuditEntry.objects.filter(actor_id=user.pk)
    goes.append(
        ("audit_networks", _("networks in the audit that something was done from"), acted.exclude(address="").count())
    )
    theirs = _("They belong to the lab, and show the number of the account instead of a name.")
    stays = [(name, count, theirs) for _key, name, count in _counted(user, is_own=False)]
    why = _("What was done, and when, stays known, under the number of the account.")
    stays.append((_("entries of the audit"), acted.count(), why))
    going_on = Campaign.objects.filter(created_by=user, archived_at=None).exclude(state=Campaign.State.CLOSED)
    names = list(going_on.order_by("name").values_list("name", flat=True)[:LISTED])
    return Plan(user, goes, stays, names, "" if user.closed_at else why_needed(user))


def _invitations_to(user: User) -> QuerySet[MemberInvitation]:
    addresses = {user.email, *EmailAddress.objects.filter(user=user).values_list("email", flat=True)} - {""}
    invitations = MemberInvitation.objects.alias(address=Lower("email"))
    return invitations.filter(Q(accepted_by=user) | Q(address__in={address.lower() for address in addresses}))


@transaction.atomic
def account_close(*, user: User, at: datetime, why: str = "") -> Plan:
    """Erase who somebody is who logs in. Raises LastAdmin. Doing it again changes nothing."""
    user = User.objects.select_for_update().get(pk=user.pk)
    plan = closing_plan(user)
    if plan.is_done:
        return plan
    if plan.obstacle:
        raise LastAdmin(plan.obstacle)
    with because(why):
        user_disable(user=user)
        _invitations_to(user).update(email="")
        about = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk))
        about.update(object_repr="", change_message="")
        for session in UserSession.objects.filter(user=user):
            session.end()
        for model, field in _relations(is_own=True):
            model._base_manager.filter(**{field: user}).delete()
        user.username = _name_after(user)
        user.first_name = user.last_name = user.email = ""
        user.set_unusable_password()
        user.is_active = user.is_staff = user.is_superuser = False
        user.last_login = user.last_seen_at = None
        user.closed_at = at
        user.save()
        entry_note(subject="erasure", action="member", key=user.pk)
        person_forget(person_id=user.pk)
    return plan._replace(user=user)


def _name_after(user: User) -> str:
    """What pages call the account from now on."""
    name = f"closed-{user.pk}"
    return f"{name}-account" if User.objects.filter(username_key=name).exists() else name
