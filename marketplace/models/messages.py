"""Messages between requesters and workers, and disputes that the operator decides."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from marketplace.models.accounts import Requester, Worker
from marketplace.models.hits import Assignment, Hit


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
        UPHELD = "upheld", _("rejection upheld")
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
