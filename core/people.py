"""A lab's people: inviting, giving roles, removing; and who keeps a lab and the site in hand.

Triggers keep the last admin whoever writes (migration 0002); what is here says so before, in words.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from core.comparing import compared
from core.errors import NotNow, NotYours, Refused
from core.mail import mail_send
from core.models import Lab, MemberInvitation, Membership, User

Role = Membership.Role
INVITATION_DAYS = 14
_INVITED = "invited"


class Invited(NamedTuple):
    """What a link says: the invitation, and whether the link was in the mail to its address, and nowhere else."""

    invitation: MemberInvitation
    by_mail: bool


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
    of_user, others = admins.filter(user=user), admins.exclude(user=user)
    return Lab.objects.filter(Exists(of_user), ~Exists(others)).order_by("name")


def why_needed(user: User) -> str:
    """Why somebody can be neither deleted nor disabled: what would lose its last admin; empty if nothing would."""
    if is_last_site_admin(user):
        return _("This is the only admin of the site. Make someone else an admin first.")
    labs = [f"“{lab}”" for lab in labs_without(user)[:5]]
    if not labs:
        return ""
    text = _("This is the only admin of %(labs)s. Make someone else an admin there first.")
    return text % {"labs": get_text_list(labs, _("and"))}


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
    if membership.role == Role.ADMIN != role:
        _revoke_all(Lab.objects.filter(pk=membership.lab_id))
    membership.role = role
    membership.save(update_fields=["role"])
    return membership


@transaction.atomic
def membership_end(*, membership: Membership) -> None:
    """Take a member out of a lab. What they made stays. Raises LastAdmin."""
    _lock(membership.lab_id)
    if why := why_role_needed(membership):
        raise LastAdmin(why)
    if membership.role == Role.ADMIN:
        _revoke_all(Lab.objects.filter(pk=membership.lab_id))
    Membership.objects.filter(pk=membership.pk).delete()


def _lock(lab_id: int) -> None:
    """One change of a lab's people at a time."""
    Lab.objects.select_for_update(no_key=True).filter(pk=lab_id).first()


# --- invitations


def invitation_gone() -> NotYours:
    """What is said of a link that leads nowhere (any more)."""
    return NotYours(_("This invitation is no longer valid: it was used, revoked or has expired. Ask for a new one."))


def invitation_link(name: str, salt: str, key: int, by_mail: bool) -> str:
    """The address of a page for whoever is invited: signed, and worth nothing without the row of this key.

    The one that is mailed is another than the one that is shown, since it proves that whoever opens it reads that mail.
    """
    token = signing.dumps([key, by_mail], salt=salt)
    return f"{settings.SITE_URL.rstrip('/')}{reverse(name, args=[token])}"


def invitation_read(token: str, salt: str) -> tuple[int, bool]:
    """The key in a link, and whether the link was mailed. Raises NotYours for what this site has not signed."""
    try:
        key, by_mail = signing.loads(token, salt=salt)
    except signing.BadSignature as error:
        raise invitation_gone() from error
    return key, bool(by_mail)


def user_add(user: User) -> None:
    """Save somebody who is new, and who has an address only if it is proven theirs."""
    user.save()
    if user.email:
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)


def invitation_address(invitation: MemberInvitation, *, by_mail: bool = False) -> str:
    """The link that lets somebody join."""
    return invitation_link("core:invited", _INVITED, invitation.pk, by_mail)


def invitation_at(token: str, at: datetime) -> Invited:
    """The open invitation of a link. Raises NotYours if it was taken or revoked, has expired, or never was one."""
    key, by_mail = invitation_read(token, _INVITED)
    invitation = open_invitations(at).filter(pk=key).select_related("lab").first()
    if invitation is None:
        raise invitation_gone()
    return Invited(invitation, by_mail)


def open_invitations(at: datetime) -> QuerySet[MemberInvitation]:
    """What can still be accepted."""
    return MemberInvitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=at)


def invitation_add(*, lab: Lab, role: str, email: str, by: User, at: datetime) -> MemberInvitation:
    """Offer somebody a role in a lab. Sends nothing. Raises Refused where an invitation to their address is open."""
    open_ones = open_invitations(at).filter(lab=lab).exclude(email="").values_list("email", flat=True)
    if email and compared(email) in map(compared, open_ones):
        raise Refused(_("This address is already invited. Revoke that invitation to make another."), field="email")
    return MemberInvitation.objects.create(
        lab=lab, role=role, email=email, invited_by=by, invited_at=at, expires_at=at + timedelta(days=INVITATION_DAYS)
    )


def invitation_mail(*, invitation: MemberInvitation) -> None:
    """Send the link to the address of the invitation. Raises OSError where the mail server does not take it."""
    text = _(
        "%(who)s invites you to join the lab “%(lab)s” at Bestknown, as %(role)s.\n\n"
        "Open this link to choose your name and password. It works once, until %(until)s:\n\n%(link)s\n"
    )
    values = {
        "who": invitation.invited_by,
        "lab": invitation.lab,
        "role": invitation.get_role_display(),
        "until": f"{invitation.expires_at:%d %b %Y}",
        "link": invitation_address(invitation, by_mail=True),
    }
    subject = _("Invitation to “%(lab)s” at Bestknown") % values
    mail_send(to=invitation.email, subject=subject, text=text % values)
    MemberInvitation.objects.filter(pk=invitation.pk).update(mailed_at=timezone.now())


def invitation_revoke(*, invitation: MemberInvitation, at: datetime) -> None:
    """Take an invitation back. Again, or once it was accepted, changes nothing."""
    MemberInvitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None).update(revoked_at=at)


def _revoke_all(labs: QuerySet[Lab]) -> None:
    """An admin who goes has seen the links of all open invitations, so they lose their worth."""
    MemberInvitation.objects.filter(lab__in=labs, accepted_at=None, revoked_at=None).update(revoked_at=timezone.now())


@transaction.atomic
def invitation_accept(*, invitation: MemberInvitation, user: User, at: datetime) -> Membership:
    """Join a lab, as a new user (not saved yet, with an address only if it is proven theirs) or as one who is in
    others. Raises NotYours if somebody was faster.
    """
    if user.pk is None:
        user_add(user)
    accepted = open_invitations(at).filter(pk=invitation.pk).update(accepted_at=at, accepted_by=user)
    if not accepted:
        raise invitation_gone()
    _lock(invitation.lab_id)
    membership, is_new_here = Membership.objects.get_or_create(
        lab=invitation.lab, user=user, defaults={"role": invitation.role}
    )
    return membership if is_new_here else role_set(membership=membership, role=invitation.role)


# --- signing in, for admins of the site


def reset_address(user: User) -> str:
    """A link with which somebody chooses a new password; for where no mail is set up. It works once."""
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    path = reverse("account_reset_password_from_key", kwargs=key)
    return f"{settings.SITE_URL}{path}"


@transaction.atomic
def user_disable(*, user: User) -> None:
    """Keep somebody from logging in, from the next request on. Raises LastAdmin."""
    User.objects.select_for_update().get(pk=user.pk)
    if why := why_needed(user):
        raise LastAdmin(why)
    _revoke_all(Lab.objects.filter(memberships__user=user, memberships__role=Role.ADMIN))
    User.objects.filter(pk=user.pk).update(is_active=False)


def user_enable(*, user: User) -> None:
    """Let somebody log in again."""
    User.objects.filter(pk=user.pk).update(is_active=True)
