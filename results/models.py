"""Stored results."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Campaign


class Result(models.Model):
    """What a campaign's preferences say about its runs, as last computed: derived, and made again at any time.

    `digest` is that of the inputs. The same inputs give the same `data`, `figures` (SVG by name), and `tops`: by query,
    the runs that put each passage of its pool first.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="result")
    digest = models.CharField(max_length=64)
    computed_at = models.DateTimeField()
    seconds = models.FloatField(help_text=_("How long it took to compute."))
    data = models.JSONField()
    figures = models.JSONField()
    tops = models.JSONField()

    def __str__(self) -> str:
        return f"results of {self.campaign_id}"
