"""What the API shows and takes of one's own account, of a lab's people, and of its audit."""

from typing import Any

from rest_framework import serializers

from api.fields import ModelShape, of
from api.models import Scope, Token
from api.shapes import Why
from core.models import Lab, MemberInvitation, Membership
from core.people import invitation_address


@of(Membership, "id user name role")
class MemberShape(ModelShape):
    """Somebody's role in a lab."""

    user = serializers.CharField(source="user.username", help_text="The name that they log in with.")
    name = serializers.CharField(source="user.get_full_name")
    is_active = serializers.BooleanField(source="user.is_active", help_text="Whether they can log in.")


class ResetLink(serializers.Serializer[Any]):
    """A link with which somebody chooses a new password, once."""

    link = serializers.URLField(
        allow_null=True, help_text="Hand it over. Null in an answer that is repeated for its Idempotency-Key."
    )


class RoleChange(Why):
    """Another role, and why."""

    role = serializers.ChoiceField(choices=Membership.Role.choices)


@of(MemberInvitation, "id email role invited_at expires_at")
class InvitationShape(ModelShape):
    """An offer to join a lab, which its link takes once."""

    link = serializers.SerializerMethodField(
        help_text="Hand it over: whoever opens it first joins the lab. Null in an answer that is repeated for its "
        "Idempotency-Key."
    )

    def get_link(self, invitation: MemberInvitation) -> str:
        return invitation_address(invitation)


class NewInvitation(serializers.Serializer[Any]):
    """Whom to invite, and as what."""

    role = serializers.ChoiceField(choices=Membership.Role.choices)
    email = serializers.EmailField(max_length=254, default="", allow_blank=True)


class AuditShape(serializers.Serializer[Any]):
    """Who did what, when, from where and why."""

    id = serializers.IntegerField(source="entry.pk")
    at = serializers.DateTimeField(source="entry.at")
    who = serializers.CharField()
    what = serializers.CharField()
    why = serializers.CharField(source="entry.why")
    address = serializers.CharField(
        source="entry.address", help_text="The network that it came from; empty for jobs and commands."
    )
    subject = serializers.CharField(source="entry.subject", help_text="The table, or what a note is about.")
    key = serializers.CharField(source="entry.key")
    action = serializers.CharField(source="entry.action")
    campaign = serializers.IntegerField(source="entry.campaign_id", allow_null=True)
    changes = serializers.DictField(
        source="entry.changes", help_text="By field, before and after; null where only that it changed is kept."
    )


# --- labs


class LabName(serializers.Serializer[Any]):
    """What a lab is called."""

    name = serializers.CharField(max_length=Lab._meta.get_field("name").max_length)


class NewLab(LabName):
    """A lab, and whether you are its first admin or somebody is invited to be that."""

    invite_admin = serializers.BooleanField(default=False)
    email = serializers.EmailField(
        max_length=254, default="", allow_blank=True, help_text="Of whom is invited; may be empty."
    )

    def validate(self, sent: dict[str, Any]) -> dict[str, Any]:
        if sent["email"] and not sent["invite_admin"]:
            raise serializers.ValidationError({"email": ["Set invite_admin, or leave this empty."]})
        return sent


@of(Lab, "id name")
class MadeLab(ModelShape):
    """A new lab, and the invitation of its first admin."""

    invitation = InvitationShape(allow_null=True, help_text="Null if you are its first admin.")


@of(Membership, "lab name role")
class OwnRole(ModelShape):
    """Your role in a lab."""

    name = serializers.CharField(source="lab.name")


class AccountShape(serializers.Serializer[Any]):
    """Whose token it is. A password and second factors are set on the pages, by whoever can show the old ones."""

    user = serializers.CharField(source="user.username", help_text="The name that you log in with.")
    name = serializers.CharField(source="user.get_full_name")
    email = serializers.CharField(source="user.email")
    is_site_admin = serializers.BooleanField()
    has_codes = serializers.BooleanField(help_text="Whether logging in takes a code of an app.")
    has_passkey = serializers.BooleanField()
    labs = OwnRole(many=True)


@of(Token, "id name start scopes created_at expires_at last_used_at")
class OwnToken(ModelShape):
    """A token of yours that has not been revoked."""

    start = serializers.CharField(help_text="Its first characters. The rest is known to nobody but its owner.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    is_this = serializers.SerializerMethodField(help_text="Whether the request has it.")

    def get_is_this(self, token: Token) -> bool:
        return bool(token.pk == self.context["token"].pk)
