"""The pages about people: a lab's people, joining by invitation, and one's own account."""

from typing import Any

from allauth.account import views as accounts
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import get_adapter as get_social_adapter
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_ratelimit.decorators import ratelimit

from core import people as lab_people
from core.audit import logins
from core.errors import NotYours, Refused
from core.forms import EditForm
from core.http import Request, edits, lab_of, membership_of, refuse_in, see_other
from core.joining import invited_page
from core.lists import Listing, render_lists
from core.login import TooManyTries
from core.mail import mail_send
from core.models import Lab, MemberInvitation, Membership, User
from core.roles import Right, labs_of, may, needs

SORTS = {"name": "user__username", "role": "role", "seen": "user__last_seen_at"}
OPEN = 20  # invitations on a page


class InviteForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("E-mail address"),
        required=False,
        max_length=254,
        help_text=gettext_lazy("Leave it empty if you hand over the link yourself."),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"), choices=Membership.Role.choices, initial=Membership.Role.RESEARCHER
    )


class RoleForm(EditForm, forms.Form):
    """A member's role."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Membership.Role.choices)

    def __init__(self, data: Any = None, *, membership: Membership) -> None:
        super().__init__(data, initial={"role": membership.role}, auto_id=False)
        field = self.fields["role"]
        field.widget.attrs["aria-label"] = field.label = _("Role of %(name)s") % {"name": membership.user}


# --- a lab's people


@needs(Right.SIGNED_IN)
@require_GET
def labs(request: Request) -> HttpResponse:
    """The labs whose people somebody may see; where there is one, its people, but for whoever may make others."""
    listing = Listing(request, labs_of(request.user).order_by("name"))
    if listing.page.paginator.count == 1 and not may(request.user, None, Right.SITE):
        return see_other("core:people", listing.page.object_list[0].pk)
    return render(request, "core/labs.html", {"listing": listing})


@needs(Right.SEE, changing=Right.MANAGE)
@require_http_methods(["GET", "POST"])
def people(request: Request, pk: int) -> HttpResponseBase:
    """A lab's people, and who is invited. POST invites somebody."""
    lab, form, status = lab_of(request, pk), InviteForm(), 200
    if request.method == "POST":
        form, status = InviteForm(request.POST), 400
        if form.is_valid():
            try:
                invitation = lab_people.invitation_add(lab=lab, by=request.user, at=timezone.now(), **form.cleaned_data)
            except Refused as refused:
                status = refuse_in(form, refused)
            else:
                invitation_send(request, invitation)
                return see_other("core:people", pk, fragment="invitations")
    return _show_people(request, lab, form, status)


def _show_people(
    request: Request,
    lab: Lab,
    form: InviteForm,
    status: int,
    membership: Membership | None = None,
    changed: RoleForm | None = None,
) -> HttpResponseBase:
    """A lab's people; `changed` is what somebody chose for one of them in vain."""
    at = timezone.now()
    manages = may(request.user, lab, Right.MANAGE)
    invitations = lab_people.open_invitations(at).filter(lab=lab if manages else None).order_by("-pk")
    invited = Listing(request, invitations.select_related("invited_by"), key="invitations", size=OPEN)
    listing = Listing(
        request,
        lab.memberships.select_related("user").order_by("user__username"),
        sorts=SORTS,
        columns={"person": "user", "name": lambda row: row.user.get_full_name(), "role": "role"},
    )
    context = {
        "lab": lab,
        "listing": listing,
        "members": [
            (row, changed if changed and row == membership else RoleForm(membership=row)) for row in listing.page
        ],
        "changed": changed,
        "manages": manages,
        "invitations": invited,
        "addresses": [(row, lab_people.invitation_address(row)) for row in invited.page],
        "form": form,
        "has_mail": settings.HAS_MAIL,
    }
    return render_lists(request, "core/people.html", context, status=status)


def invitation_send(request: Request, invitation: MemberInvitation) -> None:
    """Mail an invitation where that is possible, and say what is to be done."""
    email = invitation.email
    if not email or not settings.HAS_MAIL:
        messages.success(request, _("The invitation is ready. Copy its link below and send it."))
        return
    try:
        lab_people.invitation_mail(invitation=invitation)
    except OSError as error:
        text = _("The invitation is ready, but the mail was not accepted (%(error)s). Copy its link below and send it.")
        messages.warning(request, text % {"error": error})
    else:
        messages.success(request, _("The invitation has been sent to %(email)s.") % {"email": email})


@needs(Right.MANAGE)
@require_POST
def invitation_revoke(request: Request, pk: int, invitation_pk: int) -> HttpResponse:
    """Take an invitation back."""
    invitation = lab_of(request, pk).member_invitations.filter(pk=invitation_pk).first()
    if invitation is None:
        raise NotYours(_("The lab has no such invitation."))
    lab_people.invitation_revoke(invitation=invitation, at=timezone.now())
    messages.success(request, _("The invitation has been revoked. Its link no longer works."))
    return see_other("core:people", pk, fragment="invitations")


@needs(Right.MANAGE)
@require_POST
@edits
def role(request: Request, pk: int, membership_pk: int) -> HttpResponseBase:
    """Give a member another role."""
    membership = membership_of(request, pk, membership_pk)
    form = RoleForm(request.POST, membership=membership)
    if form.errors:
        raise Refused(_("Choose one of the four roles."))
    if form.conflicts:
        return _show_people(request, membership.lab, InviteForm(), 400, membership, form)
    changed = lab_people.role_set(membership=membership, role=form.cleaned_data["role"])
    text = _("The role of %(name)s is now %(role)s.")
    messages.success(request, text % {"name": changed.user, "role": changed.get_role_display()})
    return see_other("core:people", pk)


@needs(Right.MANAGE)
@require_POST
def remove(request: Request, pk: int, membership_pk: int) -> HttpResponse:
    """Take a member out of the lab."""
    membership = membership_of(request, pk, membership_pk)
    lab_people.membership_end(membership=membership)
    messages.success(request, _("%(name)s is no longer a member of this lab.") % {"name": membership.user})
    return see_other("core:people", pk)


@needs(Right.SITE)
@require_POST
def disable(request: Request, pk: int, membership_pk: int) -> HttpResponse:
    """Keep somebody from logging in, or let them again; for admins of the site."""
    user = membership_of(request, pk, membership_pk).user
    if user.is_active:
        lab_people.user_disable(user=user)
        messages.success(request, _("%(name)s can no longer log in.") % {"name": user})
    else:
        lab_people.user_enable(user=user)
        messages.success(request, _("%(name)s can log in again.") % {"name": user})
    return see_other("core:people", pk)


@needs(Right.SITE)
@require_POST
def reset_link(request: Request, pk: int, membership_pk: int) -> HttpResponse:
    """A link with which a member chooses a new password; for admins of the site."""
    membership = membership_of(request, pk, membership_pk)
    address = logins.reset_link(user=membership.user)
    text = _(
        "Give this link to %(name)s, and to nobody else. Whoever opens it can choose a new password for this account. "
        "It works once, for three days. The present password stays until then."
    )
    people = reverse("core:people", args=[pk])
    page = {
        "title": _("Link for a new password"),
        "crumbs": [(membership.lab, people)],
        "about": [text % {"name": membership.user}],
        "shown": address,
        "back": (_("Back to the people"), people, "button"),
    }
    return render(request, "core/form.html", page)


# --- joining


@needs(Right.PUBLIC)
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "POST"])
@ratelimit(key="ip", rate="20/m", block=False)  # type: ignore[untyped-decorator]
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """Where an invitation leads: choose a name and a password, or, logged in, join with one press."""
    if getattr(request, "limited", False):
        raise TooManyTries(_("There have been too many attempts. Please wait a minute and try again."))
    at = timezone.now()
    invitation, by_mail = lab_people.invitation_at(token, at)

    def accept(user: User) -> str:
        is_new = user.pk is None
        lab_people.invitation_accept(invitation=invitation, user=user, at=at)
        if is_new:
            return reverse("core:account")
        messages.success(request, _("You are now a member of “%(lab)s”.") % {"lab": invitation.lab})
        return reverse("campaigns:campaigns")

    # An address counts once it is proven: by this mail, or later by another (Your account).
    email = invitation.email if by_mail else ""
    words = {
        "title": _("Join") + " · Bestknown",
        "heading": _("Join %(lab)s") % {"lab": invitation.lab},
        "lead": _("You are invited as %(role)s.") % {"role": invitation.get_role_display()},
        "button": _("Join as %(name)s") % {"name": request.user},
    }
    return invited_page(request, words, email=email, accept=accept)


@needs(Right.PUBLIC)
@require_http_methods(["GET", "POST"])
def password_forgotten(request: HttpRequest) -> HttpResponseBase:
    """Ask for a link by mail; where the site sends none, whom to ask."""
    if not settings.HAS_MAIL:
        page = {
            "title": _("New password") + " · Bestknown",
            "heading": _("New password"),
            "notice": _("This site sends no mail, so it cannot send you a link for a new password."),
            "notice_kind": " look",
            "about": [
                _(
                    "Ask an admin of your lab, or the person who runs this site: an admin of the site can make such a "
                    "link for you under People."
                )
            ],
            "back": (_("Back to your account"), reverse("core:account"))
            if request.user.is_authenticated
            else (_("Back to the log-in"), reverse("login")),
        }
        return render(request, "core/entrance.html", page)
    answer: HttpResponseBase = accounts.password_reset(request)
    return answer


# --- one's own account


@needs(Right.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def address_change(request: Request) -> HttpResponseBase:
    """Change one's address, once the link that is mailed there was followed; where the site sends no mail, none can be
    confirmed.
    """
    if not settings.HAS_MAIL:
        return render(request, "account/email_change.html")
    answer: HttpResponseBase = accounts.email(request)
    return answer


@needs(Right.SIGNED_IN)
@require_GET
def account(request: Request) -> HttpResponse:
    """Your account: name, labs, password, second factor, sessions; for an admin of the site, mail."""
    factors = Authenticator.objects.filter(user=request.user).values_list("type", flat=True)
    context = {
        "memberships": request.user.memberships.select_related("lab").order_by("lab__name")[:50],
        "has_codes": Authenticator.Type.TOTP in factors,
        "has_passkey": Authenticator.Type.WEBAUTHN in factors,
        "has_mail": settings.HAS_MAIL,
        "has_oidc": bool(get_social_adapter().list_apps(request)),
    }
    return render(request, "core/account.html", context)


@needs(Right.SIGNED_IN)
@require_POST
def session_end(request: Request, pk: int) -> HttpResponse:
    """End one of one's own sessions elsewhere: that browser is logged out with its next request."""
    session = UserSession.objects.filter(user=request.user, pk=pk).first()
    if session is None:
        raise NotYours(_("There is no such session, or it has ended."))
    logins.session_end(session=session)
    messages.success(request, _("The session has ended. That browser is no longer logged in."))
    return see_other("usersessions_list")


@needs(Right.SITE)
@require_POST
def test_mail(request: Request) -> HttpResponse:
    """Send a test mail to oneself; for admins of the site."""
    address = request.user.email
    if not settings.HAS_MAIL:
        raise Refused(_("No mail is set up: set EMAIL_URL where this site runs, and restart it."))
    if not address:
        raise Refused(_("Your account has no e-mail address. Add one first."))
    try:
        text = _("Mail works: this was sent by %(site)s.") % {"site": settings.SITE_URL}
        mail_send(to=address, subject=_("Test mail of Bestknown"), text=text)
    except OSError as error:
        raise Refused(_("The mail was not accepted: %(error)s") % {"error": error}) from error
    messages.success(request, _("A test mail has been sent to %(address)s.") % {"address": address})
    return see_other("core:account")
