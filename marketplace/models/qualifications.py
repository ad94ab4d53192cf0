"""What requesters attest to workers. System qualifications are computed, not stored: see selectors.qualifying."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from marketplace.models.accounts import Requester, Worker


class QualificationType(models.Model):
    """A kind of qualification that one requester grants."""

    class Status(models.TextChoices):
        ACTIVE = "Active"
        INACTIVE = "Inactive"

    type_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="qualification_types")
    name = models.CharField(max_length=200)
    keywords = models.CharField(max_length=1000, blank=True)
    description = models.CharField(max_length=2000)
    status = models.CharField(max_length=8, choices=Status)
    retry_seconds = models.PositiveBigIntegerField(null=True, blank=True, help_text=_("none: one request only"))
    auto_granted = models.BooleanField(default=False)
    auto_value = models.IntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "name"], condition=Q(retired_at=None), name="qualification_name_once"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Qualification(models.Model):
    """A worker has it, or had it. A score is optional."""

    class Status(models.TextChoices):
        GRANTED = "Granted"
        REVOKED = "Revoked"

    qualification_type = models.ForeignKey(QualificationType, on_delete=models.PROTECT, related_name="qualifications")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="qualifications")
    value = models.IntegerField(null=True, blank=True)
    status = models.CharField(max_length=7, choices=Status, default=Status.GRANTED)
    granted_at = models.DateTimeField()
    reason = models.TextField(blank=True, help_text=_("why it was revoked; the worker sees it"))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["qualification_type", "worker"], name="qualification_once_per_worker")
        ]

    def __str__(self) -> str:
        return f"{self.qualification_type_id} of {self.worker_id}"


class QualificationRequest(models.Model):
    """A worker asks for a qualification."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        GRANTED = "granted", _("granted")
        REJECTED = "rejected", _("rejected")

    request_id = models.CharField(max_length=64, unique=True)
    qualification_type = models.ForeignKey(QualificationType, on_delete=models.PROTECT, related_name="requests")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="qualification_requests")
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    submitted_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["qualification_type", "worker"], condition=Q(state="pending"), name="one_pending_request"
            ),
            models.CheckConstraint(
                condition=Q(state="pending", decided_at=None) | (~Q(state="pending") & Q(decided_at__isnull=False)),
                name="request_decided_at",
            ),
        ]

    def __str__(self) -> str:
        return self.request_id
