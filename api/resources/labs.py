"""Labs: their names, people and invitations, audit, and accounts at platforms."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, IsoDateTimeFilter
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from api import people_shapes, platform_shapes, shapes
from api.filters import KeyFilter
from api.frame import Resource, get, operation, post, refusals_of
from core import people
from core.audit import logins
from core.audit import selectors as audit
from core.audit.lists import AuditFilter as WordsFilter
from core.errors import NotYours
from core.labs import lab_create, lab_rename
from core.models import Membership
from core.roles import Right, labs_of, require, roles_of
from platforms.models import LabAccount
from platforms.money import lab_accounts
from platforms.registry import accounts_at


class AuditFilter(WordsFilter):
    """As on the page: by words, who, kind of thing and campaign; and by table, and time to the second."""

    campaign = KeyFilter(field_name="campaign_id")
    subject = CharFilter()
    since = IsoDateTimeFilter(field_name="at", lookup_expr="gte")
    until = IsoDateTimeFilter(field_name="at", lookup_expr="lt")


class Labs(Resource):
    """Your labs."""

    tags = ["Account"]

    @operation(shapes.LabShape(many=True), name="labs")
    def list(self, request: Request) -> Any:
        """Your labs, and your role in each."""
        return self.page_of(labs_of(self.user), roles=roles_of(self.user))

    @operation(people_shapes.MadeLab, Right.SITE, name="lab_create", takes=people_shapes.NewLab)
    def create(self, request: Request) -> Any:
        """Make a lab. You are its first admin, unless you have somebody invited to be that: nothing is mailed, so hand
        over the link of the answer."""
        require(self.user, None, Right.SITE)
        sent = self.sent
        invited = sent["email"] if sent["invite_admin"] else None
        with refusals_of("name"):
            creation = lab_create(name=sent["name"], invited=invited, **self.signed)
        content = {"id": creation.lab.pk, "name": creation.lab.name, "invitation": creation.invitation}
        invitation = self.answer(content).data["invitation"]
        return self.answer_once(content, {"invitation": invitation and invitation | {"link": None}})

    @operation(shapes.LabShape, name="lab")
    def retrieve(self, request: Request, pk: int) -> Any:
        """One lab, and your role in it."""
        return self.answer(self.lab, roles=roles_of(self.user))

    @operation(shapes.LabShape, Right.MANAGE, name="lab_rename", takes=people_shapes.LabName)
    def partial_update(self, request: Request, pk: int) -> Any:
        """Give a lab another name, which no other lab has."""
        lab, sent = self.lab, self.sent
        with refusals_of("name"):
            lab_rename(lab=lab, name=sent["name"])
        return self.answer(lab, roles=roles_of(self.user))

    @get("audit", people_shapes.AuditShape(many=True), Right.MANAGE, filterset_class=AuditFilter, tags=["Audit"])
    def audit(self, request: Request, pk: int) -> Any:
        """Who did what in a lab, when and why, newest first."""
        entries = audit.entries_of(self.user).filter(lab_id=self.lab.pk)
        return self.page_of(entries, audit.lines)


class People(Resource):
    """The people of a lab."""

    tags = ["People"]
    lookup_url_kwarg = "membership_pk"

    def get_queryset(self) -> QuerySet[Membership]:
        return self.lab.memberships.select_related("lab", "user")

    @operation(people_shapes.MemberShape(many=True), name="people")
    def list(self, request: Request, pk: int) -> Any:
        """Who belongs to a lab, and in which role."""
        return self.get_queryset()

    @operation(people_shapes.MemberShape, name="person")
    def retrieve(self, request: Request, pk: int, membership_pk: int) -> Any:
        """One person's role in a lab."""
        return self.get_object()

    @operation(people_shapes.MemberShape, Right.MANAGE, name="person_change", takes=people_shapes.RoleChange)
    def partial_update(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Give a member another role. The last admin of a lab keeps theirs."""
        return people.role_set(membership=self.get_object(), role=self.sent["role"])

    @operation(right=Right.MANAGE, name="person_remove")
    def destroy(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Take a member out of a lab. What they made stays."""
        people.membership_end(membership=self.get_object())

    @post("disable", people_shapes.MemberShape, Right.SITE)
    def person_disable(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Keep somebody from logging in, from the next request on, and from using tokens. The last admin of a lab or of
        the site is refused (409)."""
        people.user_disable(user=self.get_object().user)
        return self.get_object()

    @post("enable", people_shapes.MemberShape, Right.SITE)
    def person_enable(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Let somebody log in again."""
        people.user_enable(user=self.get_object().user)
        return self.get_object()

    @post("reset-link", people_shapes.ResetLink, Right.SITE)
    def person_reset_link(self, request: Request, pk: int, membership_pk: int) -> Any:
        """A link with which a member chooses a new password, for where no mail is set up. The audit keeps that it was
        made."""
        return self.answer_once({"link": logins.reset_link(user=self.get_object().user)}, {"link": None})


class Invitations(Resource):
    """Who is invited to a lab."""

    tags = ["People"]
    lookup_url_kwarg = "invitation_pk"

    @operation(people_shapes.InvitationShape(many=True), Right.MANAGE, name="invitations")
    def list(self, request: Request, pk: int) -> Any:
        """The invitations that can still be accepted."""
        return people.open_invitations(timezone.now()).filter(lab=self.lab)

    @operation(people_shapes.InvitationShape, Right.MANAGE, name="invite", takes=people_shapes.NewInvitation)
    def create(self, request: Request, pk: int) -> Any:
        """Invite somebody to a lab. Nothing is mailed: hand over the link of the answer."""
        return self.answer_once(people.invitation_add(lab=self.lab, **self.signed, **self.sent), {"link": None})

    @operation(right=Right.MANAGE, name="invitation_revoke")
    def destroy(self, request: Request, pk: int, invitation_pk: int) -> Any:
        """Take an invitation back. Its link no longer works."""
        invitation = get_object_or_404(self.lab.member_invitations, pk=invitation_pk)
        people.invitation_revoke(invitation=invitation, at=timezone.now())


class PlatformAccounts(Resource):
    """A lab's accounts at platforms."""

    tags = ["Labs"]
    lookup_url_kwarg = "platform"
    lookup_value_converter = "slug"

    @property
    def about(self) -> dict[str, Any]:
        """The lab and the platform, where labs have accounts of their own there. Raises NotYours and NotAllowed."""
        lab, platform = self.lab, self.kwargs["platform"]
        accounts_at(platform)
        return {"lab": lab, "platform": platform}

    @operation(platform_shapes.PlatformAccountShape, Right.MANAGE, name="platform_account")
    def retrieve(self, request: Request, pk: int, platform: str) -> Any:
        """A lab's account at a platform where each lab has its own, such as `prolific`. Its token is never shown."""
        stored = LabAccount.objects.select_related("by").filter(**self.about).first()
        if stored is None:
            raise NotYours(_("The lab has no account at this platform yet."))
        return stored

    @operation(
        platform_shapes.PlatformAccountShape,
        Right.MANAGE,
        name="platform_account_set",
        takes=platform_shapes.NewAccount,
    )
    def update(self, request: Request, pk: int, platform: str) -> Any:
        """Ask the platform about a token, and store it encrypted, in place of the one before."""
        lab_accounts.lab_account_store(**self.about, **self.signed, **self.sent)
        return LabAccount.objects.select_related("by").get(**self.about)

    @operation(right=Right.MANAGE, name="platform_account_remove")
    def destroy(self, request: Request, pk: int, platform: str) -> Any:
        """Delete the token. Refused (409) while a campaign of the lab is published there."""
        lab_accounts.lab_account_remove(**self.about)
