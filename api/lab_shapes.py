"""What the API shows and takes of one's own account, and of a lab: its people, audit, templates and pay floor."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from api.fields import ModelShape, of
from api.models import Scope, Token
from api.shapes import TermsShape, Why
from campaigns.templating import KEPT
from core.models import Lab, MemberInvitation, Membership
from core.people import invitation_address
from pools.models import Campaign, CampaignTemplate


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


# --- what campaigns begin with


@of(CampaignTemplate, "id lab name is_default settings consent terms changed_at")
class TemplateShape(ModelShape):
    """What a lab's campaigns can begin with."""

    settings = serializers.DictField(source="values")
    consent = serializers.CharField(help_text="Empty for the usual text.")
    terms = TermsShape(allow_null=True, help_text="At a platform. Null: none are set.")


NAME_LENGTH = CampaignTemplate._meta.get_field("name").max_length


class NewTemplate(serializers.Serializer[Any]):
    """What the template is called."""

    name = serializers.CharField(max_length=NAME_LENGTH)


class Strict(serializers.Serializer[Any]):
    """A part of what is sent in which unknown fields are mistakes, too."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(map(str, set(data) - set(self.fields)))):
            raise serializers.ValidationError({name: [_("There is no such field.")] for name in unknown})
        return super().to_internal_value(data)


@of(Campaign, [*KEPT], optional=KEPT)
class TemplateSettings(Strict, ModelShape):
    """Settings that a template has. What is left out stays. Rates are shares: 0.2 is 20 percent."""


class TemplateTerms(Strict, TermsShape):
    """Terms that a template has. What is left out stays, or is as usual where it has none."""


class TemplateChange(serializers.Serializer[Any]):
    """What is to be different about a template. What is left out stays."""

    name = serializers.CharField(max_length=NAME_LENGTH, required=False)
    is_default = serializers.BooleanField(required=False, help_text="Whether pages begin new campaigns with it.")
    settings = TemplateSettings(required=False)
    consent = serializers.CharField(
        max_length=100_000, required=False, allow_blank=True, help_text="Empty for the usual text."
    )
    terms = TemplateTerms(required=False, allow_null=True, help_text="Null takes them away.")


@of(Lab, "")
class PayFloorShape(ModelShape):
    """Dollars an hour below which none of a lab's campaigns can start; null for no floor."""

    pay_floor = serializers.DecimalField(
        max_digits=6, decimal_places=2, min_value=Decimal("0.01"), allow_null=True, required=True
    )
