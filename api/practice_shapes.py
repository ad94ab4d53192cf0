"""What the API shows and takes of a campaign's practice."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from api.shapes import Key
from pools.models import Campaign
from pools.practice import MOST


class NewPracticePair(serializers.Serializer[Any]):
    """A comparison whose better passage is known, and why it is better. White space is reduced to single spaces."""

    question = serializers.CharField()
    better = serializers.CharField(help_text="The better passage.")
    worse = serializers.CharField(help_text="The other one.")
    why = serializers.CharField(
        help_text="Shown to workers after they have chosen. Do not mention A or B: the sides are random."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a passage that is compared with itself."""
        if attrs["better"].split() == attrs["worse"].split():
            raise serializers.ValidationError({"worse": [_("The two passages are the same.")]})
        return attrs


class PracticePairShape(NewPracticePair):
    """A practice pair. Numbers go from 1, in the order in which workers see them."""

    number = serializers.IntegerField()


class PracticeCounts(serializers.Serializer[Any]):
    """How many workers got how far; each is counted once, at the furthest point reached."""

    active = serializers.IntegerField(help_text="Workers who have not finished.")
    done = serializers.IntegerField(help_text="Workers who finished the practice.")
    skipped = serializers.IntegerField(help_text="Workers who skipped it.")
    passed = serializers.IntegerField(help_text="Workers who passed the check.")
    failed_once = serializers.IntegerField(help_text="Workers who failed the check once and may try again.")
    refused = serializers.IntegerField(help_text="Workers who failed the check for the last time.")


class PracticeShape(serializers.Serializer[Any]):
    """What a campaign's workers do before their first HIT, and how they did."""

    practice = serializers.ChoiceField(choices=Campaign.Practice.choices)
    practice_right = serializers.IntegerField(allow_null=True)
    needed = serializers.IntegerField(help_text="Right answers that pass the check; 0 where there is none.")
    pairs = serializers.IntegerField()
    minutes = serializers.IntegerField(help_text="How long practice takes, rounded up.")
    obstacles = serializers.ListField(
        child=serializers.CharField(), help_text="What prevents the campaign from starting, one sentence each."
    )
    workers = PracticeCounts(allow_null=True, help_text="Null without practice.")


class PracticeChange(serializers.Serializer[Any]):
    """What a draft's workers will do before their first HIT."""

    practice = serializers.ChoiceField(choices=Campaign.Practice.choices, required=False)
    practice_right = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        allow_null=True,
        help_text="How many right answers pass a comprehension check. Null: all. Ignored without a check.",
    )


class TakenTestPair(serializers.Serializer[Any]):
    """A confirmed test pair to use for practice, and why its better passage is better."""

    test_pair = Key()
    why = serializers.CharField()
