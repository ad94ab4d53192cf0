"""What the API shows and takes of one's own account."""

from typing import Any

from allauth.usersessions.models import UserSession
from rest_framework import serializers

from api.models import Scope, Token
from core.models import Membership
from judgments.models import AlarmChoice


class OwnRole(serializers.ModelSerializer[Membership]):
    """Your role in a lab."""

    name = serializers.CharField(source="lab.name")

    class Meta:
        model = Membership
        fields = ["lab", "name", "role"]


class AccountShape(serializers.Serializer[Any]):
    """Whose token it is. A password and second factors are set on the pages, by whoever can show the old ones."""

    user = serializers.CharField(help_text="The name that you log in with.")
    name = serializers.CharField()
    email = serializers.CharField()
    is_site_admin = serializers.BooleanField()
    has_codes = serializers.BooleanField(help_text="Whether logging in takes a code of an app.")
    has_passkey = serializers.BooleanField()
    labs = OwnRole(many=True)


class AlarmMails(serializers.ModelSerializer[AlarmChoice]):
    """Which alarms you get by mail."""

    reach = serializers.ChoiceField(choices=AlarmChoice.Reach.choices, help_text="Of which campaigns.")
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=AlarmChoice.Topic.choices), max_length=len(AlarmChoice.Topic.values)
    )

    class Meta:
        model = AlarmChoice
        fields = ["reach", "topics"]


class SessionShape(serializers.ModelSerializer[UserSession]):
    """A browser in which you are logged in."""

    class Meta:
        model = UserSession
        fields = ["id", "created_at", "last_seen_at", "ip", "user_agent"]


class OwnToken(serializers.ModelSerializer[Token]):
    """A token of yours that has not been revoked."""

    start = serializers.CharField(help_text="Its first characters. The rest is known to nobody but its owner.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    is_this = serializers.SerializerMethodField(help_text="Whether the request has it.")

    class Meta:
        model = Token
        fields = ["id", "name", "start", "scopes", "created_at", "expires_at", "last_used_at", "is_this"]

    def get_is_this(self, token: Token) -> bool:
        """By its key."""
        return bool(token.pk == self.context["token"].pk)
