"""Stored results."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Campaign, QrelsVersion, Run


class Result(models.Model):
    """What a campaign's preferences say about its runs, as last computed: derived, and made again at any time.

    The same judgments and settings give the same `data`, `figures` (SVG by name), and `tops`: by query, the runs that
    put each passage of its pool first.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="result")
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    software = models.CharField(max_length=50)
    computed_at = models.DateTimeField()
    seconds = models.FloatField(help_text=_("How long it took to compute."))
    rests_until = models.DateTimeField(help_text=_("By itself it is not computed again before."))
    data = models.JSONField()
    figures = models.JSONField()
    tops = models.JSONField()

    def __str__(self) -> str:
        return f"results of {self.campaign_id}"


class VersionScore(models.Model):
    """A run's mean RR@10 on a version of the preference qrels, and on the original ones over the same queries.

    `low` and `high` bound the 95% interval over queries by t, `found` counts the queries with an answer in the top 10.
    With an `error`, there are no scores: the run's file could not be read.
    """

    version = models.ForeignKey(QrelsVersion, on_delete=models.CASCADE, related_name="scores")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="version_scores")
    software = models.CharField(max_length=50)
    scored_at = models.DateTimeField()
    error = models.TextField(blank=True)
    rr = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    found = models.PositiveIntegerField(null=True)
    original = models.FloatField(null=True)
    original_low = models.FloatField(null=True)
    original_high = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "run"], name="version_score_once")]

    def __str__(self) -> str:
        return f"{self.run_id} on {self.version_id}"
