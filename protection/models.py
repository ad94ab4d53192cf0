"""How long a lab keeps what it knows of people, and what its last look removed."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models import Lab
from core.recorded import Audit, Group


class Retention(models.Model):
    """After how many days a lab's personal data go by themselves. Empty: they are kept until somebody erases them."""

    lab = models.OneToOneField(Lab, on_delete=models.CASCADE, related_name="retention")
    worker_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(36_500)],
        help_text=_("From a worker's last work, once all their campaigns are closed and everything is paid."),
    )
    audit_days = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(30), MaxValueValidator(36_500)]
    )

    audit = Audit(
        Group.PROTECTION,
        insert=_("set the periods of the lab %(lab)s: %(changes)s"),
        update=_("changed the periods of the lab %(lab)s: %(changes)s"),
        delete=_("deleted the periods of the lab %(lab)s"),
    )

    def __str__(self) -> str:
        return f"retention of {self.lab_id}"


class RetentionResult(models.Model):
    """What came of a lab's period for workers when it was last kept: how many were erased, and whom it had to leave.

    `kept` has the keys of the first of these workers, each with what stood in the way.
    """

    lab = models.OneToOneField(Lab, on_delete=models.CASCADE, related_name="retention_result")
    at = models.DateTimeField()
    erased = models.PositiveIntegerField()
    kept_count = models.PositiveIntegerField()
    kept = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.erased} erased, {self.kept_count} kept"
