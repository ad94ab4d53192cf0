"""What the API shows and takes of a campaign before it starts, beside its settings."""

from typing import Any

from rest_framework import serializers

from api.shapes import Key
from pools.models import Campaign


class TrialShape(serializers.Serializer[Any]):
    """A link to a trial, which needs no account."""

    address = serializers.URLField(help_text="Whoever has it can try the tasks. Each reading makes another link.")
    until = serializers.DateTimeField(help_text="How long the link works, unless links are revoked.")
    obstacle = serializers.CharField(help_text="Why there is nothing to try yet; empty if there is.")


class TrialWords(serializers.Serializer[Any]):
    """Words to try."""

    title = serializers.CharField(max_length=Campaign._meta.get_field("title").max_length, required=False)
    question = serializers.CharField(max_length=Campaign._meta.get_field("question").max_length, required=False)
    instructions = serializers.CharField(max_length=50_000, required=False)
    consent = serializers.CharField(max_length=50_000, required=False)


class TestPairSource(serializers.Serializer[Any]):
    """Where test pairs are copied from."""

    __test__ = False  # although a name for pytest

    source = Key(help_text="A campaign of the same lab.")  # type: ignore[assignment]  # a field, not where it is from


class ReachShape(serializers.Serializer[Any]):
    """Of a platform's active workers, those who could take the HITs."""

    qualified = serializers.IntegerField(allow_null=True, help_text="Null where it is not known.")
    active = serializers.IntegerField(allow_null=True)
    sentence = serializers.CharField()
