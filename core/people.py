"""Who keeps a lab and the site in hand, and giving people roles.

Triggers keep the last admin whoever writes (migration 0002); what is here says so before, in words.
"""

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from core.errors import NotNow
from core.models import Lab, Membership, User

Role = Membership.Role


class LastAdmin(NotNow):
    """A lab, or the site, would have nobody left who manages it."""


def site_admins() -> QuerySet[User]:
    """Who can administer the site."""
    return User.objects.filter(is_active=True, is_staff=True, is_superuser=True)


def is_last_site_admin(user: User) -> bool:
    """Whether somebody is the only one who can administer the site."""
    return site_admins().filter(pk=user.pk).exists() and not site_admins().exclude(pk=user.pk).exists()


def labs_without(user: User) -> QuerySet[Lab]:
    """The labs that have no admin but this person."""
    admins = Membership.objects.filter(lab=OuterRef("pk"), role=Role.ADMIN, user__is_active=True)
    own, others = admins.filter(user=user), admins.exclude(user=user)
    return Lab.objects.filter(Exists(own), ~Exists(others)).order_by("name")


def why_needed(user: User) -> str:
    """Why somebody can be neither deleted nor disabled: what would lose its last admin; empty if nothing would."""
    if is_last_site_admin(user):
        return _("This is the only admin of the site. Make someone else an admin first.")
    labs = [f"“{lab}”" for lab in labs_without(user)[:5]]
    if not labs:
        return ""
    said = _("This is the only admin of %(labs)s. Make someone else an admin there first.")
    return said % {"labs": get_text_list(labs, _("and"))}


def why_role_needed(membership: Membership) -> str:
    """Why somebody must stay an admin of a lab; empty if they need not."""
    if not labs_without(membership.user).filter(pk=membership.lab_id).exists():
        return ""
    return _("This is the only admin of the lab. Make someone else an admin of it first.")


@transaction.atomic
def role_set(*, membership: Membership, role: str) -> Membership:
    """Give a member another role in their lab. Raises LastAdmin."""
    _lock(membership.lab_id)
    membership = Membership.objects.select_related("lab", "user").get(pk=membership.pk)
    if role != Role.ADMIN and (why := why_role_needed(membership)):
        raise LastAdmin(why)
    membership.role = role
    membership.save(update_fields=["role"])
    return membership


@transaction.atomic
def membership_end(*, membership: Membership) -> None:
    """Take a member out of a lab. What they made stays. Raises LastAdmin."""
    _lock(membership.lab_id)
    if why := why_role_needed(membership):
        raise LastAdmin(why)
    Membership.objects.filter(pk=membership.pk).delete()


def _lock(lab_id: int) -> None:
    """One change of a lab's people at a time."""
    Lab.objects.select_for_update(no_key=True).filter(pk=lab_id).first()
