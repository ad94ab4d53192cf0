"""What the API shows of one query, of machine judges beside people, and of the scores on a version."""

from typing import Any

from rest_framework import serializers

from api.fields import ModelShape, of
from api.shapes import TableShape
from results.models import EarlierResult
from results.pool_detail import PairDetail


class QueryPassage(serializers.Serializer[Any]):
    """A passage of a query's pool."""

    pid = serializers.CharField(source="passage.pid")
    text = serializers.CharField(source="passage.text")
    wins = serializers.IntegerField()
    losses = serializers.IntegerField()
    best = serializers.BooleanField(help_text="Whether it is a best known answer.")
    grade = serializers.IntegerField(allow_null=True, help_text="Of its original qrel; null without one.")
    runs = serializers.ListField(child=serializers.CharField(), help_text="Runs that put it first.")
    twins = serializers.ListField(child=serializers.CharField(), help_text="Other ids of the same text.")
    chance = serializers.FloatField(allow_null=True, help_text="P(best), as of the stored results.")
    likely = serializers.BooleanField(help_text="Whether it is in the confidence set.")


class QueryPair(serializers.Serializer[Any]):
    """A pair of the pool, and what was judged of it."""

    id = serializers.IntegerField(source="pk")
    a = serializers.CharField(source="a.passage.pid")
    b = serializers.CharField(source="b.passage.pid")
    for_a = serializers.IntegerField(help_text="Judgments that count and prefer a.")
    for_b = serializers.IntegerField()
    ties = serializers.IntegerField(help_text="Judgments that count and prefer neither: imported ones.")
    judgments = serializers.SerializerMethodField(help_text="All of them, those that do not count too.")
    reused = serializers.SerializerMethodField(help_text="Judgments that were made before.")
    decided = serializers.CharField(
        source="adjudicated.choice", default=None, allow_null=True, help_text="What a person decided, if that stands."
    )

    def get_judgments(self, pair: PairDetail) -> int:
        return len(pair.judgments)

    def get_reused(self, pair: PairDetail) -> int:
        return len(pair.reused)


class QueryDetail(serializers.Serializer[Any]):
    """A query of a campaign: its pool, who beat whom, and the best known answers."""

    id = serializers.IntegerField(source="pool.pk")
    qid = serializers.CharField(source="pool.query.qid")
    text = serializers.CharField(source="pool.query.text")
    is_complete = serializers.BooleanField(
        source="detail.complete", help_text="Whether all its pairs have the judgments that they need."
    )
    passages = QueryPassage(source="detail.candidates", many=True)
    pairs = QueryPair(source="detail.pairs", many=True)


class MachinesBeside(serializers.Serializer[Any]):
    """Each machine judge of the collection beside the campaign's people, with all that was counted."""

    judges = serializers.ListField(child=serializers.DictField())


@of(EarlierResult, "number computed_at final_at replaced_at software")
class EarlierShape(ModelShape):
    """Results that were final until others took their place."""


class WholeEarlierShape(EarlierShape):
    """Results that were final once, with all that was computed."""

    data = serializers.DictField(help_text="What the site gives as JSON.")  # type: ignore[assignment]


class LaterRuns(serializers.Serializer[Any]):
    """Runs that came after a campaign finished."""

    scored = serializers.IntegerField(help_text="How many are scored from now on.")


class VersionScoresShape(TableShape):
    """The scores of all runs on a version, beside those on other qrels."""

    measure = serializers.CharField(help_text="What the scores are.")
    tau = serializers.FloatField(allow_null=True, help_text="Kendall's, of the two orders.")
    waiting = serializers.IntegerField(help_text="Runs that are not scored yet.")
    unreadable = serializers.DictField(child=serializers.CharField(), help_text="Errors by run.")


class Beside(serializers.Serializer[Any]):
    """Which scores on a version are asked for."""

    beside = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, help_text="Another version; the original qrels if not given."
    )
    measure = serializers.CharField(
        default="", allow_blank=True, help_text="RR@10 if not given, or another that the version's campaign names."
    )
