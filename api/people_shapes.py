"""What the API shows and takes of a lab's people and its audit."""

from typing import Any

from rest_framework import serializers

from api.shapes import Why, example
from core.models import Lab, MemberInvitation, Membership
from core.people import invitation_address


@example({"id": 4, "user": "rita", "name": "Rita Reader", "role": "researcher", "is_active": True})
class MemberShape(serializers.ModelSerializer[Membership]):
    """Somebody's role in a lab."""

    user = serializers.CharField(source="user.username", help_text="The name that they log in with.")
    name = serializers.CharField(source="user.get_full_name")
    is_active = serializers.BooleanField(source="user.is_active", help_text="Whether they can log in.")

    class Meta:
        model = Membership
        fields = ["id", "user", "name", "role", "is_active"]


@example({"link": "https://judge.example.org/account/password/new/4-c8k2x1-3f9a1c/"})
class ResetLink(serializers.Serializer[Any]):
    """A link with which somebody chooses a new password, once."""

    link = serializers.URLField(
        allow_null=True, help_text="Hand it over. Null in an answer that is repeated for its Idempotency-Key."
    )


@example({"role": "viewer", "why": "She has left the group."})
class RoleChange(Why):
    """Another role, and why."""

    role = serializers.ChoiceField(choices=Membership.Role.choices)


@example(
    {
        "id": 7,
        "email": "anna@example.org",
        "role": "researcher",
        "invited_at": "2026-11-22T10:00:00Z",
        "expires_at": "2026-12-06T10:00:00Z",
        "link": "https://judge.example.org/invited/eyJ…/",
    }
)
class InvitationShape(serializers.ModelSerializer[MemberInvitation]):
    """An offer to join a lab, which its link takes once."""

    link = serializers.SerializerMethodField(
        help_text="Hand it over: whoever opens it first joins the lab. Null in an answer that is repeated for its "
        "Idempotency-Key."
    )

    class Meta:
        model = MemberInvitation
        fields = ["id", "email", "role", "invited_at", "expires_at", "link"]

    def get_link(self, invitation: MemberInvitation) -> str:
        """As the page shows it."""
        return invitation_address(invitation)


@example({"role": "researcher", "email": "anna@example.org"})
class NewInvitation(serializers.Serializer[Any]):
    """Whom to invite, and as what."""

    role = serializers.ChoiceField(choices=Membership.Role.choices)
    email = serializers.EmailField(max_length=254, default="", allow_blank=True)


@example(
    {
        "id": 812,
        "at": "2026-11-22T12:00:00Z",
        "who": "Rita Reader",
        "what": "paused the campaign pilot",
        "why": "",
        "address": "192.0.2.0/24",
        "subject": "pools_campaign",
        "key": "3",
        "action": "update",
        "campaign": 3,
        "changes": {"state": ["open", "paused"]},
    }
)
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


@example({"name": "Search lab"})
class LabName(serializers.Serializer[Any]):
    """What a lab is called."""

    name = serializers.CharField(max_length=Lab._meta.get_field("name").max_length)


@example({"name": "Search lab", "invite_admin": True, "email": "anna@example.org"})
class NewLab(LabName):
    """A lab, and whether you are its first admin or somebody is invited to be that."""

    invite_admin = serializers.BooleanField(default=False)
    email = serializers.EmailField(
        max_length=254, default="", allow_blank=True, help_text="Of whom is invited; may be empty."
    )

    def validate(self, sent: dict[str, Any]) -> dict[str, Any]:
        """An address is for an invitation."""
        if sent["email"] and not sent["invite_admin"]:
            raise serializers.ValidationError({"email": ["Set invite_admin, or leave this empty."]})
        return sent


INVITED = {
    "id": 7,
    "email": "anna@example.org",
    "role": "admin",
    "invited_at": "2026-11-22T10:00:00Z",
    "expires_at": "2026-12-06T10:00:00Z",
    "link": "https://judge.example.org/invited/eyJ…/",
}


@example({"id": 4, "name": "Search lab", "invitation": INVITED})
class MadeLab(serializers.ModelSerializer[Lab]):
    """A new lab, and the invitation of its first admin."""

    invitation = InvitationShape(allow_null=True, help_text="Null if you are its first admin.")

    class Meta:
        model = Lab
        fields = ["id", "name", "invitation"]
