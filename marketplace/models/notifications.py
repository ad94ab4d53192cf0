"""Notifications to requesters' programs."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from marketplace.models.accounts import AccessKey
from marketplace.models.hits import HitType


class EventKind(models.TextChoices):
    """What can happen to a HIT or an assignment, as the API names it."""

    ASSIGNMENT_ACCEPTED = "AssignmentAccepted"
    ASSIGNMENT_ABANDONED = "AssignmentAbandoned"
    ASSIGNMENT_RETURNED = "AssignmentReturned"
    ASSIGNMENT_SUBMITTED = "AssignmentSubmitted"
    ASSIGNMENT_APPROVED = "AssignmentApproved"
    ASSIGNMENT_REJECTED = "AssignmentRejected"
    HIT_CREATED = "HITCreated"
    HIT_EXTENDED = "HITExtended"
    HIT_EXPIRED = "HITExpired"
    HIT_REVIEWABLE = "HITReviewable"
    HIT_DISPOSED = "HITDisposed"
    PING = "Ping"


class NotificationSubscription(models.Model):
    """Where a requester's program wants to hear of events of a HIT type. Signed with the key that asked for it."""

    class Transport(models.TextChoices):
        SNS = "SNS", "SNS"

    hit_type = models.OneToOneField(HitType, on_delete=models.PROTECT, related_name="subscription")
    key = models.ForeignKey(AccessKey, on_delete=models.PROTECT, related_name="+")
    destination = models.URLField(max_length=1000)
    transport = models.CharField(max_length=5, choices=Transport)
    version = models.CharField(max_length=20)
    events = ArrayField(models.CharField(max_length=30, choices=EventKind))
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
