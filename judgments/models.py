"""What workers preferred, what was decided about their work, and which judgments count."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Campaign, Pair
from tasks.models import Assignment, Item, Worker


class Judgment(models.Model):
    """What one worker preferred on one item of one assignment. Append-only: a changed mind is a newer row."""

    class Side(models.TextChoices):
        LEFT = "left", _("left")
        RIGHT = "right", _("right")

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="judgments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judgments")
    preferred = models.CharField(max_length=5, choices=Side)
    shown_at = models.DateTimeField()
    made_at = models.DateTimeField()

    class Meta:
        # judgments.selectors.effective(): the newest row of each (assignment, item)
        indexes = [models.Index(fields=["assignment", "item", "-id"], name="judgment_newest_first")]
        constraints = [
            models.CheckConstraint(condition=models.Q(preferred__in=["left", "right"]), name="judgment_left_or_right"),
            models.CheckConstraint(
                condition=models.Q(made_at__gte=models.F("shown_at")), name="judgment_shown_before_made"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.preferred} on {self.item_id} in {self.assignment_id}"

    @property
    def prefers_a(self) -> bool:
        """Whether the pair's a (a test pair's relevant passage) was preferred, wherever it stood."""
        return (self.preferred == self.Side.LEFT) == self.item.a_left


class Acceptance(models.Model):
    """A judgment that counts: it fills one of the `overlap` slots of its pair.

    The constraints hold what a campaign promises: no pair has more accepted judgments than slots, and no two of
    them are one worker's.
    """

    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="acceptances")
    slot = models.PositiveSmallIntegerField()
    judgment = models.OneToOneField(Judgment, on_delete=models.PROTECT, related_name="acceptance")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="+")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="acceptances")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "slot"], name="acceptance_one_per_slot"),
            models.UniqueConstraint(fields=["pair", "worker"], name="acceptance_one_per_worker"),
        ]

    def __str__(self) -> str:
        return f"{self.judgment_id} for {self.pair_id}"


class Decision(models.Model):
    """A decision about an assignment's data, or about a worker's further HITs, by the rule or a person. Append-only."""

    class Kind(models.TextChoices):
        EXCLUDED = "excluded", _("data excluded")
        RESTORED = "restored", _("data used again")
        BARRED = "barred", _("worker barred")
        UNBARRED = "unbarred", _("worker welcome again")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="decisions")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="decisions")
    assignment = models.ForeignKey(Assignment, null=True, on_delete=models.PROTECT, related_name="decisions")
    kind = models.CharField(max_length=10, choices=Kind)
    why = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", help_text=_("Empty: the rule.")
    )
    at = models.DateTimeField()

    class Meta:
        # judgments.selectors.decisions(): a campaign's decisions, newest first
        indexes = [models.Index(fields=["campaign", "-id"], name="decision_newest_first")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"
