"""The ledger. What anybody has is the sum of rows that nobody can change."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from marketplace.models.accounts import Requester, Worker
from marketplace.models.hits import Assignment, Hit


class BonusPayment(models.Model):
    """Paid to a worker on top of a reward, for a submitted assignment."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="bonuses")
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="bonuses")
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    fee = models.DecimalField(max_digits=10, decimal_places=2)
    reason = models.TextField()
    granted_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(amount__gt=0, fee__gte=0), name="bonus_is_something")]

    def __str__(self) -> str:
        return f"{self.amount} for {self.assignment_id}"


class PayoutList(models.Model):
    """Payouts that were drawn up together, and are paid outside of the marketplace."""

    reference = models.CharField(max_length=200, unique=True)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.reference


class DepositRequest(models.Model):
    """Money that a requester has asked the operator for. Open until it is granted, which books it, or declined."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="deposit_requests")
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    reason = models.CharField(max_length=200)
    asked_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    entry = models.OneToOneField(
        "Entry",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="deposit_request",
        help_text=_("the deposit, if it was granted"),
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="deposit_request_is_something"),
            models.CheckConstraint(
                condition=Q(entry=None) | Q(closed_at__isnull=False), name="deposit_request_granted_is_closed"
            ),
            models.UniqueConstraint(
                fields=["requester", "reason"], condition=Q(closed_at=None), name="deposit_request_open_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} for {self.reason}"


class Entry(models.Model):
    """One movement of money. Append-only, by a trigger.

    Each row says by how much it changes the three sums: what the requester can spend, what is held for its HITs, what
    the worker has earned and not been paid out. `number` counts a requester's entries without a gap, and each row also
    holds the sums after it, so that the newest row is the balance and the database refuses an overdraft.
    """

    class Kind(models.TextChoices):
        DEPOSIT = "deposit", _("deposit")
        WITHDRAWAL = "withdrawal", _("withdrawal")
        HOLD = "hold", _("held for a HIT")
        RELEASE = "release", _("released")
        REWARD = "reward", _("reward")
        FEE = "fee", _("fee")
        BONUS = "bonus", _("bonus")
        BONUS_FEE = "bonus fee", _("fee for a bonus")
        PAYOUT = "payout", _("payout to a worker")
        BOUNCE = "bounce", _("payout that came back")

    at = models.DateTimeField()
    kind = models.CharField(max_length=10, choices=Kind)
    requester = models.ForeignKey(Requester, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    number = models.PositiveBigIntegerField(null=True, blank=True)
    available = models.DecimalField(max_digits=12, decimal_places=2, default=0)
    on_hold = models.DecimalField(max_digits=12, decimal_places=2, default=0)
    available_after = models.DecimalField(max_digits=14, decimal_places=2, null=True, blank=True)
    on_hold_after = models.DecimalField(max_digits=14, decimal_places=2, null=True, blank=True)
    worker = models.ForeignKey(Worker, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    earned = models.DecimalField(max_digits=12, decimal_places=2, default=0)
    hit = models.ForeignKey(Hit, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    assignment = models.ForeignKey(Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    bonus = models.ForeignKey(BonusPayment, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    payout = models.OneToOneField(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="bounce",
        help_text=_("the payout that came back; the worker is owed it again"),
    )
    payout_list = models.ForeignKey(
        PayoutList, null=True, blank=True, on_delete=models.PROTECT, related_name="payouts", help_text=_("of a payout")
    )
    note = models.CharField(max_length=200, blank=True, help_text=_("of a deposit; why a payout came back"))

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(fields=["requester", "number"], name="entry_number_once"),
            models.UniqueConstraint(
                fields=["assignment", "kind"], condition=Q(kind__in=["reward", "fee"]), name="reward_paid_once"
            ),
            models.UniqueConstraint(
                fields=["bonus", "kind"], condition=Q(bonus__isnull=False), name="bonus_entered_once"
            ),
            models.CheckConstraint(
                condition=Q(available_after__gte=0) | Q(available_after=None), name="entry_no_overdraft"
            ),
            models.CheckConstraint(
                condition=Q(on_hold_after__gte=0) | Q(on_hold_after=None), name="entry_hold_covered"
            ),
            models.CheckConstraint(
                condition=Q(
                    requester__isnull=False,
                    number__isnull=False,
                    available_after__isnull=False,
                    on_hold_after__isnull=False,
                )
                | Q(
                    requester=None,
                    number=None,
                    available=0,
                    on_hold=0,
                    kind__in=["payout", "bounce"],
                    worker__isnull=False,
                ),
                name="entry_belongs_to_somebody",
            ),
            models.CheckConstraint(
                condition=Q(kind="bounce", payout__isnull=False) | (~Q(kind="bounce") & Q(payout=None)),
                name="entry_bounces_a_payout",
            ),
            models.CheckConstraint(
                condition=Q(kind="payout", payout_list__isnull=False) | (~Q(kind="payout") & Q(payout_list=None)),
                name="entry_pays_from_a_list",
            ),
            models.CheckConstraint(condition=Q(earned=0) | Q(worker__isnull=False), name="entry_earned_by_somebody"),
        ]
        indexes = [
            models.Index(fields=["requester", "-number"], name="entry_balance"),  # services.ledger: the newest row
            models.Index(fields=["worker", "-id"], name="entry_of_worker"),  # selectors.earnings
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number or self.pk}"

    @property
    def offers_places(self) -> bool:
        """Whether it holds money for workers who may come, and not for one who did."""
        return self.kind == Entry.Kind.HOLD and self.assignment_id is None
