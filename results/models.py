"""Stored results."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Campaign


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
