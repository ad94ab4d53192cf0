"""Decisions on many at once."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.recorded import Audit, Group
from pools.models import Campaign
from tasks.models import Assignment, Worker


class BulkDecision(models.Model):
    """One decision, by a person or the rule, on many assignments or workers at once, carried out row by row."""

    class Action(models.TextChoices):
        EXCLUDE = "exclude", _("exclude the data")
        EXCLUDE_ALL = "exclude-all", _("exclude all data of the workers")
        RESTORE = "restore", _("use the data")
        BAR = "bar", _("bar the workers")
        UNBAR = "unbar", _("lift the bar")
        PAY = "pay", _("approve and pay now")
        BONUS = "bonus", _("pay a bonus")
        REJECT = "reject", _("reject the work")
        MESSAGE = "message", _("write to the workers")

    UNDOABLE = (Action.EXCLUDE, Action.EXCLUDE_ALL, Action.RESTORE, Action.BAR, Action.UNBAR)

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="bulk_decisions")
    action = models.CharField(max_length=12, choices=Action)
    amount = models.DecimalField(max_digits=8, decimal_places=2, null=True, help_text=_("Of each bonus."))
    why = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("Empty if the rule decided."),
    )
    at = models.DateTimeField()
    undone_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    undone_at = models.DateTimeField(null=True)
    by_rule = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Whether restored work becomes what the campaign's rule makes of it now."),
    )

    audit = Audit(
        Group.DECISIONS,
        insert=_("decided on many at once in %(campaign)s: %(thing)s"),
        update=_("undid a decision on many at once in %(campaign)s: %(thing)s"),
    )

    class Meta:
        # review.deciding.bulk_decisions(): a campaign's, newest first
        indexes = [models.Index(fields=["campaign", "-id"], name="bulk_decision_newest_first")]

    def __str__(self) -> str:
        return f"{self.action}: {self.why}"

    @property
    def may_be_undone(self) -> bool:
        """Whether it moved no money, and was not undone before."""
        return self.action in self.UNDOABLE and self.undone_at is None


class BulkRow(models.Model):
    """One assignment, or worker, of a decision on many. What fails keeps no other waiting."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DONE = "done", _("done")
        UNCHANGED = "unchanged", _("was so already")
        FAILED = "failed", _("not possible")
        UNDOING = "undoing", _("waiting to be undone")
        UNDONE = "undone", _("undone")
        KEPT = "kept", _("could not be undone")

    bulk = models.ForeignKey(BulkDecision, on_delete=models.CASCADE, related_name="rows")
    assignment = models.ForeignKey(Assignment, null=True, on_delete=models.PROTECT, related_name="+")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    before = models.CharField(max_length=10, blank=True, help_text=_("The assignment's verdict before."))
    error = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["bulk", "assignment", "worker"], name="bulk_row_once")]
        # review.deciding.bulk_run(): what is to be done next
        indexes = [
            models.Index(
                fields=["bulk", "id"], condition=models.Q(state__in=["waiting", "undoing"]), name="bulk_row_to_do"
            )
        ]

    def __str__(self) -> str:
        return f"{self.bulk_id}: {self.assignment_id or self.worker_id}"
