"""A lab's people, who is invited, and its audit."""

from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, IsoDateTimeFilter
from rest_framework.request import Request
from rest_framework.response import Response

from api import people_shapes
from api.filters import KeyFilter
from api.frame import Endpoint, Pages, checked, operation, user_of
from core import people
from core.audit import logins
from core.audit import selectors as audit
from core.audit.lists import AuditFilter as WordsFilter
from core.errors import NotYours
from core.models import Lab, MemberInvitation, Membership
from core.roles import Right

TAGS = ["People"]


def membership_of(lab: Lab, key: int) -> Membership:
    """A member of a lab. Raises NotYours."""
    membership = lab.memberships.select_related("lab", "user").filter(pk=key).first()
    if membership is None:
        raise NotYours(_("The lab has no such member."))
    return membership


class People(Endpoint):
    """The people of a lab."""

    pagination_class = Pages

    @operation("people", answer=people_shapes.MemberShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """Who belongs to a lab, and in which role."""
        return self.page_of(self.lab(pk).memberships.select_related("user"), people_shapes.MemberShape)


class PersonOne(Endpoint):
    """One person of a lab."""

    @operation("person", answer=people_shapes.MemberShape, tags=TAGS)
    def get(self, request: Request, pk: int, membership_pk: int) -> Response:
        """One person's role in a lab."""
        return Response(people_shapes.MemberShape(membership_of(self.lab(pk), membership_pk)).data)

    @operation(
        "person_change",
        takes=people_shapes.RoleChange,
        answer=people_shapes.MemberShape,
        right=Right.MANAGE,
        tags=TAGS,
    )
    def patch(self, request: Request, pk: int, membership_pk: int) -> Response:
        """Give a member another role. The last admin of a lab keeps theirs."""
        membership, sent = membership_of(self.lab(pk), membership_pk), checked(people_shapes.RoleChange, request)
        changed = people.role_set(membership=membership, role=sent["role"])
        return Response(people_shapes.MemberShape(changed).data)

    @operation("person_remove", status=204, right=Right.MANAGE, tags=TAGS)
    def delete(self, request: Request, pk: int, membership_pk: int) -> Response:
        """Take a member out of a lab. What they made stays."""
        people.membership_end(membership=membership_of(self.lab(pk), membership_pk))
        return Response(status=204)


class _Login(Endpoint):
    def member(self, pk: int, membership_pk: int) -> Membership:
        """A member of the lab, for admins of the site."""
        return membership_of(self.lab(pk), membership_pk)

    def shown(self, membership: Membership) -> Response:
        """The member as they are now."""
        membership.user.refresh_from_db()
        return Response(people_shapes.MemberShape(membership).data)


class PersonDisable(_Login):
    """Keeping somebody from logging in."""

    @operation("person_disable", answer=people_shapes.MemberShape, right=Right.SITE, tags=TAGS)
    def post(self, request: Request, pk: int, membership_pk: int) -> Response:
        """Keep somebody from logging in, from the next request on, and from using tokens. The last admin of a lab or of
        the site is refused (409)."""
        membership = self.member(pk, membership_pk)
        people.user_disable(user=membership.user)
        return self.shown(membership)


class PersonEnable(_Login):
    """Letting somebody log in again."""

    @operation("person_enable", answer=people_shapes.MemberShape, right=Right.SITE, tags=TAGS)
    def post(self, request: Request, pk: int, membership_pk: int) -> Response:
        """Let somebody log in again."""
        membership = self.member(pk, membership_pk)
        people.user_enable(user=membership.user)
        return self.shown(membership)


class PersonResetLink(_Login):
    """A new password."""

    @operation("person_reset_link", answer=people_shapes.ResetLink, right=Right.SITE, tags=TAGS)
    def post(self, request: Request, pk: int, membership_pk: int) -> Response:
        """A link with which a member chooses a new password, for where no mail is set up. The audit keeps that it was
        made."""
        response = Response({"link": logins.reset_link(user=self.member(pk, membership_pk).user)})
        response.kept = {"link": None}  # type: ignore[attr-defined]  # what api.answers stores
        return response


class Invitations(Endpoint):
    """Who is invited to a lab."""

    pagination_class = Pages

    @operation("invitations", answer=people_shapes.InvitationShape(many=True), right=Right.MANAGE, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The invitations that can still be accepted."""
        found = people.open_invitations(timezone.now()).filter(lab=self.lab(pk))
        return self.page_of(found, people_shapes.InvitationShape)

    @operation(
        "invite",
        takes=people_shapes.NewInvitation,
        answer=people_shapes.InvitationShape,
        status=201,
        right=Right.MANAGE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Invite somebody to a lab. Nothing is mailed: hand over the link of the answer."""
        lab, sent = self.lab(pk), checked(people_shapes.NewInvitation, request)
        invitation = people.invitation_add(lab=lab, by=user_of(request), at=timezone.now(), **sent)
        content = people_shapes.InvitationShape(invitation).data
        response = Response(content, status=201)
        response.kept = content | {"link": None}  # type: ignore[attr-defined]  # what api.answers stores
        return response


class InvitationOne(Endpoint):
    """One invitation."""

    def _invitation(self, pk: int, invitation_pk: int) -> MemberInvitation:
        invitation = self.lab(pk).member_invitations.filter(pk=invitation_pk).first()
        if invitation is None:
            raise NotYours(_("The lab has no such invitation."))
        return invitation

    @operation("invitation_revoke", status=204, right=Right.MANAGE, tags=TAGS)
    def delete(self, request: Request, pk: int, invitation_pk: int) -> Response:
        """Take an invitation back. Its link no longer works."""
        people.invitation_revoke(invitation=self._invitation(pk, invitation_pk), at=timezone.now())
        return Response(status=204)


class AuditFilter(WordsFilter):
    """As on the page: by words, who, kind of thing and campaign; and by table, and time to the second."""

    campaign = KeyFilter(field_name="campaign_id")
    subject = CharFilter()
    since = IsoDateTimeFilter(field_name="at", lookup_expr="gte")
    until = IsoDateTimeFilter(field_name="at", lookup_expr="lt")


class Audit(Endpoint):
    """The audit of a lab."""

    pagination_class = Pages
    filterset_class = AuditFilter

    @operation("audit", answer=people_shapes.AuditShape(many=True), right=Right.MANAGE, tags=["Audit"])
    def get(self, request: Request, pk: int) -> Response:
        """Who did what in a lab, when and why, newest first."""
        entries = audit.entries_of(user_of(request)).filter(lab_id=self.lab(pk).pk)
        return self.page_of(entries, people_shapes.AuditShape, audit.lines)
