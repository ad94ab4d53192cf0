"""How far ahead the clock is, and which faults come."""

from datetime import timedelta

from django.db import models
from django.db.models import Q


class Clock(models.Model):
    """How far the marketplace's clock is ahead of the machine's. One row at most."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    ahead = models.DurationField(default=timedelta(0))

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_clock")]

    def __str__(self) -> str:
        return str(self.ahead)


class Fault(models.Model):
    """A fault to come: the next request of that operation meets it, and it is gone. Taken in order."""

    class Kind(models.TextChoices):
        BEFORE_COMMIT = "before_commit", "a ServiceFault, and nothing was done"
        AFTER_COMMIT = "after_commit", "a ServiceFault, and it was done"
        REPLY_DROPPED = "reply_dropped", "the connection is closed without an answer, and it was done"
        THROTTLED = "throttled", "a ThrottlingException, and nothing was done"
        SLOW = "slow", "the answer takes `seconds` longer"
        NOT_READY = "not_ready", "approving and rejecting fail as they do within minutes of a submission"
        NOTIFICATION_LOST = "notification_lost", "a notification counts as delivered, and was not sent"
        NOTIFICATION_DOUBLED = "notification_doubled", "a notification is sent twice"

    operation = models.CharField(max_length=64, blank=True, help_text="empty: any")
    kind = models.CharField(max_length=30, choices=Kind)
    seconds = models.FloatField(default=0)

    def __str__(self) -> str:
        return self.kind


class Storm(models.Model):
    """Faults at random, drawn from a seed and the number of the request. One row at most."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    seed = models.CharField(max_length=100)
    chances = models.JSONField(default=dict, help_text="kind to probability")
    operations = models.JSONField(default=list, help_text="empty: all")
    seconds = models.FloatField(default=0.05)
    drawn = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_storm")]

    def __str__(self) -> str:
        return self.seed


class FaultDone(models.Model):
    """A fault that was met, for tests to count."""

    operation = models.CharField(max_length=64)
    kind = models.CharField(max_length=30, choices=Fault.Kind)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} in {self.operation}"
