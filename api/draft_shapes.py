"""What the API shows and takes of a campaign before it starts, beside its settings: trials, reach, and practice."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from api.fields import Key, ModelShape, of
from pools.models import Campaign
from pools.practice import MOST


class TrialShape(serializers.Serializer[Any]):
    """A link to a trial, which needs no account."""

    address = serializers.URLField(help_text="Whoever has it can try the tasks. Each reading makes another link.")
    until = serializers.DateTimeField(help_text="How long the link works, unless links are revoked.")
    obstacle = serializers.CharField(help_text="Why there is nothing to try yet; empty if there is.")


@of(Campaign, "title question")
class TrialWords(ModelShape):
    """Words to try."""

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


class NewPracticePair(serializers.Serializer[Any]):
    """A comparison whose better passage is known, and why it is better. White space is reduced to single spaces."""

    question = serializers.CharField()
    better = serializers.CharField(help_text="The better passage.")
    worse = serializers.CharField(help_text="The other one.")
    why = serializers.CharField(
        help_text="Shown to workers after they have chosen. Do not mention A or B: the sides are random."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
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


@of(Campaign, "practice practice_right", extra_kwargs={"practice_right": {"max_value": MOST}})
class PracticeChange(ModelShape):
    """What a draft's workers will do before their first HIT."""


class TakenTestPair(serializers.Serializer[Any]):
    """A confirmed test pair to use for practice, and why its better passage is better."""

    test_pair = Key()
    why = serializers.CharField()
