"""Stored results."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.recorded import Audit, Group
from machines.models import MachineJudge
from pools.models import Campaign, QrelsVersion
from runs.models import Run


class Result(models.Model):
    """What a campaign's preferences say about its runs, as last computed: derived, and made again at any time.

    The same judgments and settings give the same `data`, `figures` (SVG by name), their `marks`, and `tops`:
    by query, the runs that put each passage of its pool first. Of long lists, `data` has the beginning; they are
    ResultList rows.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="result")
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    software = models.CharField(max_length=50)
    computed_at = models.DateTimeField()
    seconds = models.FloatField(help_text=_("How long it took to compute."))
    rests_until = models.DateTimeField(help_text=_("By itself it is not computed again before."))
    final_at = models.DateTimeField(null=True, help_text=_("When the campaign finished with these results."))
    data = models.JSONField()
    figures = models.JSONField()
    marks = models.JSONField(default=dict, db_default={})
    tops = models.JSONField()

    def __str__(self) -> str:
        return f"results of {self.campaign_id}"


def make_token() -> str:
    """What nobody guesses: 192 random bits."""
    return secrets.token_urlsafe(24)


class ShownResults(models.Model):
    """A page of a campaign's results that everybody can read who has its address. It ends with its row."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="shown_results")
    token = models.CharField(max_length=32, unique=True, default=make_token, editable=False)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    made_at = models.DateTimeField()

    audit = Audit(
        Group.FILES,
        insert=_("made a page of the results of %(campaign)s for people without an account"),
        delete=_("ended the page of the results of %(campaign)s for people without an account"),
    )

    def __str__(self) -> str:
        return f"page of {self.campaign_id}"


class EarlierResult(models.Model):
    """Results that were final until others took their place, since runs were added or judgments or settings changed.

    Numbered from 1 in each campaign; what is current has the next number. Their report is a stored file. `data` is
    whole, in the format of the software that computed it.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="earlier_results")
    number = models.PositiveIntegerField()
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    software = models.CharField(max_length=50)
    computed_at = models.DateTimeField()
    final_at = models.DateTimeField()
    replaced_at = models.DateTimeField()
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="earlier_result_number_once")]

    def __str__(self) -> str:
        return f"result {self.number} of {self.campaign_id}"

    @property
    def report(self) -> str:
        """The name of its report among the stored files."""
        return f"result-{self.number}/report.zip"


class ResultList(models.Model):
    """A long list of the results, whole: see results.apart."""

    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="lists")
    name = models.CharField(max_length=20)
    rows = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["result", "name"], name="result_list_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.result_id}"


class MachineComparison(models.Model):
    """A machine's answers beside what people preferred in a campaign: derived, and made again at any time.

    `data` is what `results.machines` counts, `runs` the mean RR of each run by people and by the machine, `scores`
    those that people's judgments correct (`evaluation.statistics.machine_scores`), and `qrels` the winners by the
    machine's answers alone, as TREC qrels: empty where the campaign's design has no such winners.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="machine_comparisons")
    judge = models.ForeignKey(MachineJudge, on_delete=models.CASCADE, related_name="comparisons")
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    software = models.CharField(max_length=50)
    computed_at = models.DateTimeField()
    data = models.JSONField()
    runs = models.JSONField()
    scores = models.JSONField(default=dict)
    qrels = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "judge"], name="machine_comparison_once")]

    def __str__(self) -> str:
        return f"{self.judge_id} beside {self.campaign_id}"


class VersionRequest(models.Model):
    """A version that somebody asked for on a page, with why. The row is the queue; in the end a version, or a refusal.

    `parent` is the number of the version that they took for the newest one, 0 for none.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="version_requests")
    why = models.TextField()
    parent = models.PositiveIntegerField()
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    version = models.ForeignKey(QrelsVersion, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    refused = models.TextField(blank=True, help_text=_("Why no version was made."))
    tries = models.PositiveSmallIntegerField(default=0, db_default=0, help_text=_("How often it was begun."))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign"], condition=Q(ended_at=None), name="version_request_one_open")
        ]

    def __str__(self) -> str:
        return f"a version from {self.campaign_id}"


class VersionScore(models.Model):
    """A run's mean RR@10 on a version of the preference qrels, and on the original ones over the same queries.

    `low` and `high` bound the 95% interval over queries by t, `found` counts the queries with an answer in the top 10.
    `others` has by name what the run scores by other measures (`results.scoring`): those that the version's campaign
    named when it was scored, `measures`.
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
    measures = models.CharField(max_length=200, blank=True, db_default="", default="")
    others = models.JSONField(default=dict, db_default={})

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "run"], name="version_score_once")]

    def __str__(self) -> str:
        return f"{self.run_id} on {self.version_id}"
