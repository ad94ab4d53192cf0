"""Words between requesters, workers and the operator, and notifications to requesters' programs."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from marketplace.models.accounts import AccessKey, Requester, Worker
from marketplace.models.hits import Assignment, Hit, HitType


class Message(models.Model):
    """One message between a requester and a worker, shown on the site; addresses are never exchanged."""

    class Direction(models.TextChoices):
        TO_WORKER = "worker", _("to the worker")
        TO_REQUESTER = "requester", _("to the requester")

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="messages")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="messages")
    direction = models.CharField(max_length=9, choices=Direction)
    hit = models.ForeignKey(Hit, null=True, blank=True, on_delete=models.PROTECT, related_name="messages")
    subject = models.CharField(max_length=200)
    text = models.TextField()
    sent_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["worker", "-id"], name="message_of_worker"),
            models.Index(fields=["requester", "-id"], name="message_of_requester"),
        ]

    def __str__(self) -> str:
        return self.subject


class Dispute(models.Model):
    """A worker asks the operator to look at a rejection."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        UPHELD = "upheld", _("the rejection stands")
        OVERTURNED = "overturned", _("approved after all")

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="dispute")
    text = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", closed_at=None) | (~Q(state="open") & Q(closed_at__isnull=False)),
                name="dispute_closed_at",
            )
        ]

    def __str__(self) -> str:
        return f"dispute {self.pk}"


class NotificationSubscription(models.Model):
    """Where a requester's program wants to hear of events of a HIT type. Signed with the key that asked for it."""

    hit_type = models.OneToOneField(HitType, on_delete=models.PROTECT, related_name="subscription")
    key = models.ForeignKey(AccessKey, on_delete=models.PROTECT, related_name="+")
    destination = models.URLField(max_length=1000)
    transport = models.CharField(max_length=5)
    version = models.CharField(max_length=20)
    events = ArrayField(models.CharField(max_length=30))
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.destination


class Notification(models.Model):
    """One event to deliver. Written with the event, delivered afterwards: at least once, or given up."""

    key = models.ForeignKey(AccessKey, on_delete=models.PROTECT, related_name="+")
    destination = models.URLField(max_length=1000)
    body = models.JSONField()
    made_at = models.DateTimeField()
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True, help_text=_("none: delivered, or given up"))
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            # services.delivery: what is due, for each key in turn
            models.Index(
                fields=["key", "next_try_at"], condition=Q(next_try_at__isnull=False), name="notification_due_of_key"
            )
        ]

    def __str__(self) -> str:
        return f"notification {self.pk}"
