"""Campaigns at platforms: publications, their HITs and submissions there, calls, payments and alarms."""

from datetime import timedelta
from decimal import Decimal

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _gettext
from django.utils.translation import gettext_lazy as _

from core.models import Alarm, AlarmKind, AlarmTopic, Lab
from core.money import CURRENCIES, DOLLARS
from core.recorded import Audit, Group
from pools.counting import rows_counted
from pools.models import Campaign, new_token
from tasks.models import Assignment, Hit, Platform, Worker
from tasks.names import pseudonym

# Where campaigns are published to: the platforms with an API of their own.
PUBLISHED_TO = {
    platform.value: platform.label
    for platform in (Platform.MARKETPLACE, Platform.MTURK_SANDBOX, Platform.MTURK, Platform.PROLIFIC)
}


_OF_PUBLICATION = "publication_id IN (SELECT id FROM platforms_publication WHERE campaign_id = %(campaign)s)"


def _once(name: str, *fields: str, when: Q) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=fields, condition=when, name=name)


class LabAccount(models.Model):
    """A lab's account at a platform where each lab has its own. The token is sealed: the database cannot tell it.

    `fee_share` is the platform's fee on a payment as a share of it, taxes included, as it said when it was last asked.
    """

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="platform_accounts")
    platform = models.CharField(max_length=16, choices=PUBLISHED_TO)
    sealed = models.TextField()
    workspace_id = models.CharField(max_length=64)
    workspace = models.CharField(max_length=200)
    project_id = models.CharField(max_length=64)
    fee_share = models.DecimalField(max_digits=8, decimal_places=6)
    currency = models.CharField(
        max_length=3,
        choices=CURRENCIES,
        default=DOLLARS,
        db_default=DOLLARS,
        help_text=_("The currency of the account’s balance, and of everything that is paid from it."),
    )
    offers = models.JSONField(
        default=list, db_default=[], blank=True, help_text=_("What only some accounts there have, and this one has.")
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(help_text=_("When the token was stored."))

    audit = Audit(
        Group.PLATFORMS,
        insert=_("stored a token of the lab %(lab)s at %(thing)s"),
        update=_("stored another token of the lab %(lab)s at %(thing)s"),
        delete=_("deleted the token of the lab %(lab)s at %(thing)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["lab", "platform"], name="lab_account_once_per_platform"),
            models.CheckConstraint(condition=Q(fee_share__gte=0), name="lab_account_fee_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.platform} of lab {self.lab_id}"


class AccountHook(models.Model):
    """The notifications of a lab's account: where the platform sends them, and the secret that signs them, sealed.

    `address` is empty while there is no subscription, and `trouble` unless the platform could not be asked.
    """

    account = models.OneToOneField(LabAccount, on_delete=models.CASCADE, related_name="hook")
    reference = models.CharField(max_length=32, unique=True, default=new_token, editable=False)
    sealed = models.TextField(blank=True)
    address = models.TextField(blank=True)
    trouble = models.TextField(blank=True)
    checked_at = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(null=True, help_text=_("When a notification last came, to the minute."))

    def __str__(self) -> str:
        return f"notifications of {self.account}"


class Publication(models.Model):
    """A campaign at a platform, and the terms that its workers see.

    Once it has left `draft`, platform and pay are fixed. The other terms can be replaced: each version is kept in
    `terms`, and its HITs are moved to the new HIT type one by one.
    """

    class Pay(models.TextChoices):
        BASE_AND_BONUS = "base-and-bonus", _("a small base, and a bonus for work beyond it")
        FULL_ON_EXIT = "full-on-exit", _("the full reward, even for leaving early")
        RETURN_AND_COMPENSATE = (
            "return-and-compensate",
            _("a worker who leaves early returns the HIT and is compensated"),
        )

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("published")
        PAUSED = "paused", _("paused")
        STOPPED = "stopped", _("stopped: no spending")

    # Terms go with a draft that is deleted; once published, the operations and HITs protect both.
    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="publication")
    alarms = GenericRelation(Alarm, "of_id", "of_type", related_query_name="publication")
    platform = models.CharField(max_length=16, choices=PUBLISHED_TO, default=Platform.MARKETPLACE)
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT)
    reference = models.CharField(max_length=32, unique=True, default=new_token, editable=False)

    pay = models.CharField(max_length=24, choices=Pay, default=Pay.BASE_AND_BONUS)
    base = models.DecimalField(
        max_digits=8, decimal_places=2, default=Decimal("0.10"), validators=[MinValueValidator(Decimal("0.01"))]
    )
    requirements = models.JSONField(
        default=list, blank=True, help_text=_("What workers must have: the API's QualificationRequirements.")
    )
    title = models.CharField(max_length=128)
    description = models.CharField(max_length=2000)
    keywords = models.CharField(max_length=1000, blank=True)
    lifetime = models.DurationField(default=timedelta(days=14))
    assignment_duration = models.DurationField(default=timedelta(hours=1))
    auto_approval = models.DurationField(default=timedelta(days=7))
    approve_after = models.DurationField(
        default=timedelta(0), help_text=_("How long submitted work waits for a person before it is approved.")
    )
    rate = models.FloatField(
        default=5.0, validators=[MinValueValidator(0.01), MaxValueValidator(1000)], help_text=_("Calls per second.")
    )

    hit_type_id = models.TextField(blank=True)
    exclusion_id = models.TextField(blank=True, help_text=_("The qualification of workers who get no more HITs."))
    published_at = models.DateTimeField(null=True, blank=True)
    resumed_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("After the last pause; empty without one.")
    )
    finished_revision = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("The campaign's revision when everything here was settled and the ledgers agreed."),
    )
    next_call_at = models.DateTimeField(null=True, blank=True, editable=False)
    test_study_id = models.TextField(
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("The study of the test run that is open now, if there is one."),
    )
    test_study_address = models.TextField(blank=True, default="", db_default="", editable=False)
    balance = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        editable=False,
        help_text=_("What the account could spend when a job last asked; empty before."),
    )
    balance_at = models.DateTimeField(null=True, blank=True, editable=False)
    money_asked = models.DecimalField(
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        editable=False,
        help_text=_("What whoever adds money to the account was last asked for."),
    )
    money_asked_at = models.DateTimeField(null=True, blank=True, editable=False)

    audit = Audit(
        Group.PLATFORMS,
        insert=_("set terms for %(campaign)s at a platform"),
        update=_("changed %(campaign)s at the platform: %(fields)s"),
        delete=_("deleted the terms of %(campaign)s at the platform"),
        states={
            ("paused", "open"): _("resumed %(campaign)s at the platform"),
            "open": _("published %(campaign)s"),
            "paused": _("paused %(campaign)s at the platform"),
            "stopped": _("stopped %(campaign)s at the platform"),
        },
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(auto_approval__gte=timedelta(days=3), auto_approval__lte=timedelta(days=30)),
                name="publication_auto_approval_from_3_to_30_days",
            ),
            models.CheckConstraint(condition=Q(base__gt=0, rate__gt=0), name="publication_base_and_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id} at {self.platform}"

    @property
    def is_finished(self) -> bool:
        """Whether everything was settled, and nothing that counts has changed since (platforms.finishing)."""
        return self.finished_revision is not None and self.finished_revision == self.campaign.revision

    @property
    def listed(self) -> Decimal:
        """The reward that the platform lists, and pays when an assignment is approved."""
        return listed_reward(self.pay, self.base, self.campaign.reward)

    @property
    def longest_time(self) -> timedelta:
        """What any of its terms so far gave a worker for a HIT: work keeps the time that it was accepted with."""
        seconds = self.terms.values_list("values__assignment_duration", flat=True)
        return max([self.assignment_duration, *(timedelta(seconds=float(value)) for value in seconds if value)])

    def is_done(self, assignment: Assignment) -> bool:
        """Whether somebody has finished work here so that what they submit at the platform is paid in full."""
        return assignment.state == Assignment.State.SUBMITTED or (
            assignment.state == Assignment.State.LEFT and self.pay == Publication.Pay.FULL_ON_EXIT
        )


def listed_reward(pay: str, base: Decimal, reward: Decimal) -> Decimal:
    """What a platform lists for HITs of this reward, by a publication's terms."""
    return min(base, reward) if pay == Publication.Pay.BASE_AND_BONUS else reward


class TermsVersion(models.Model):
    """The terms of a publication from one time on. Never changed: other terms are a new version.

    `hit_type_id` is empty until the platform has made the HIT type of these terms.
    """

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="terms")
    version = models.PositiveIntegerField()
    values = models.JSONField(help_text=_("Each term by its name, lengths of time in seconds."))
    hit_type_id = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField()

    audit = Audit(Group.PLATFORMS, insert=_("fixed version %(thing)s of the terms of %(campaign)s"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["publication", "version"], name="terms_version_once")]

    def __str__(self) -> str:
        return f"version {self.version}"


class PublishedHit(models.Model):
    """A HIT of the platform: one of ours, or (`hit` empty) a compensation. `turn` counts its expiries and reopenings.

    A HIT of ours is posted again, as its next `round`, where the platform does not allow more assignments on the last.
    """

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="published_hits")
    hit = models.ForeignKey(Hit, null=True, on_delete=models.PROTECT, related_name="published_hits")
    round = models.PositiveSmallIntegerField(default=1)
    max_assignments = models.PositiveIntegerField(
        help_text=_("Assignments requested, including requests on their way.")
    )
    added = models.PositiveIntegerField(default=0, help_text=_("Of these, those asked for after it was published."))
    platform_hit_id = models.TextField(blank=True)
    hit_type_id = models.TextField(blank=True, help_text=_("The HIT type that the platform has it under."))
    posted_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    turn = models.PositiveIntegerField(default=0)
    next_poll_at = models.DateTimeField(null=True, help_text=_("Empty if nothing more can arrive."))
    asked_at = models.DateTimeField(null=True, help_text=_("When the platform last said what was submitted on it."))

    # What the comparison of the ledgers last saw (platforms.ledger_comparison).
    compare_due = models.BooleanField(default=False, help_text=_("The comparison that is going on is yet to ask."))
    compared_at = models.DateTimeField(null=True)
    listed_reward = models.DecimalField(
        max_digits=8, decimal_places=2, null=True, help_text=_("What the platform lists; empty if it was not said.")
    )
    ours_rewards = models.DecimalField(max_digits=10, decimal_places=2, default=Decimal(0))
    ours_bonuses = models.DecimalField(max_digits=10, decimal_places=2, default=Decimal(0))
    platform_rewards = models.DecimalField(max_digits=10, decimal_places=2, default=Decimal(0))
    platform_bonuses = models.DecimalField(max_digits=10, decimal_places=2, default=Decimal(0))
    difference = models.TextField(blank=True, help_text=_("How the ledgers differed, in words; empty if they agreed."))
    settled_at = models.DateTimeField(
        null=True, help_text=_("When the ledgers agreed on it, with nothing more to come: it is not asked about again.")
    )

    # Those of HITs, by whether it is the first time and whether the platform has it, with the assignments asked for
    # beyond the first plan.
    tallies = [
        rows_counted(
            "published",
            "platforms_publishedhit",
            "concat_ws('/', least(round, 2), (platform_hit_id <> '')::int)",
            where=f"{_OF_PUBLICATION} AND hit_id IS NOT NULL",
            amount="CASE round WHEN 1 THEN added ELSE max_assignments END",
        )
    ]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["publication", "hit", "round"], name="published_hit_once_per_round"),
            _once("published_hit_platform_id_once", "publication", "platform_hit_id", when=~Q(platform_hit_id="")),
        ]
        # platforms.syncing: what is to be polled now
        indexes = [
            models.Index(
                fields=["publication", "next_poll_at"],
                condition=Q(next_poll_at__isnull=False),
                name="published_hit_to_poll",
            ),
            # platforms.ledger_comparison: what is yet to be asked about
            models.Index(fields=["publication", "id"], condition=Q(compare_due=True), name="published_hit_to_compare"),
            # platforms.finishing: what is not at the platform yet
            models.Index(
                fields=["publication"],
                condition=Q(platform_hit_id="", hit__isnull=False),
                name="published_hit_unposted",
            ),
        ]

    def __str__(self) -> str:
        return self.platform_hit_id or f"posting {self.pk}"


class StudySync(models.Model):
    """How far this site is in step with a study: its submissions by state, as the platform `counts` them, when all that
    changed was last stored, and when everything was last read. Empty counts: whatever they are, look again. The
    study `is_quiet` while nobody is at work there and nothing waits for a decision. `unreturned` submissions hold
    places although their people came back without work.
    """

    publication = models.OneToOneField(Publication, on_delete=models.CASCADE, related_name="study_sync")
    counts = models.JSONField(default=dict)
    is_quiet = models.BooleanField(default=False, db_default=False)
    unreturned = models.PositiveIntegerField(default=0, db_default=0)
    full_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"study of {self.publication_id}"


class Submission(models.Model):
    """Work that the platform says was submitted. Without an assignment of ours it waits for a person."""

    class Status(models.TextChoices):
        SUBMITTED = "Submitted", _("submitted")
        APPROVED = "Approved", _("approved")
        REJECTED = "Rejected", _("rejected")
        RETURNED = "Returned", _("returned")

    class Decision(models.TextChoices):
        NONE = "", _("not yet")
        APPROVE = "approve", _("approve")
        REJECT = "reject", _("reject")
        RETURN = "return", _("none: its worker has returned it")

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="submissions", db_index=False)
    published_hit = models.ForeignKey(PublishedHit, on_delete=models.PROTECT, related_name="submissions")
    assignment = models.OneToOneField(
        Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="submission"
    )
    platform_assignment_id = models.TextField()
    platform_worker_id = models.TextField()
    status = models.CharField(max_length=10, choices=Status)
    submitted_at = models.DateTimeField()
    auto_approval_at = models.DateTimeField(null=True)
    seconds_there = models.FloatField(
        null=True, help_text=_("From accepting to submitting, by the platform's clock; empty if it was not said.")
    )
    receipt = models.CharField(max_length=64, blank=True)
    why_unmatched = models.TextField(blank=True)
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.NONE, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)
    rejection_category = models.CharField(
        max_length=30,
        blank=True,
        default="",
        db_default="",
        help_text=_("The platform's word for why it was rejected."),
    )
    return_reason = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text=_("Why its worker was asked to return it, where that is one of the platform's own reasons."),
    )
    return_asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    audit = Audit(Group.DECISIONS, update=_("decided on submitted work in %(campaign)s: %(decision)s"))

    tallies = [  # but for those of compensations
        rows_counted(
            "submissions",
            "platforms_submission",
            "status",
            where=f"{_OF_PUBLICATION} AND EXISTS (SELECT FROM platforms_publishedhit published "
            "WHERE published.id = published_hit_id AND published.hit_id IS NOT NULL)",
        )
    ]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["publication", "platform_assignment_id", "platform_worker_id"], name="submission_once"
            )
        ]
        indexes = [
            # platforms.reviewing.settling: what waits for a decision
            models.Index(fields=["publication", "submitted_at"], condition=Q(decision=""), name="to_decide"),
            # platforms.finishing: what the platform waits for, and what was decided last
            models.Index(fields=["publication"], condition=Q(status="Submitted"), name="submission_open"),
            models.Index(fields=["publication", "decided_at"], name="submission_decided"),
        ]

    def __str__(self) -> str:
        return self.platform_assignment_id


class Payment(models.Model):
    """One paid effect, in whole cents: written down before it is sent, and only once for each purpose.

    It is for an assignment of ours, or for a submission that none of ours belongs to and that a person (or the
    platform's clock) approved.
    """

    class Purpose(models.TextChoices):
        REWARD = "reward", _("reward")
        BONUS = "bonus", _("bonus")
        COMPENSATION = "compensation", _("compensation")
        EXTRA = "extra", _("extra bonus")
        ADJUSTMENT = "adjustment", _("adjustment of the pay")

    class State(models.TextChoices):
        OWED = "owed", _("owed")
        SENT = "sent", _("on its way")
        PAID = "paid", _("paid")
        REFUSED = "refused", _("refused")

    BONUSES = (Purpose.BONUS, Purpose.EXTRA, Purpose.ADJUSTMENT)

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="payments", db_index=False)
    assignment = models.ForeignKey(Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="payments")
    submission = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="payments")
    purpose = models.CharField(max_length=12, choices=Purpose)
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    fee = models.DecimalField(max_digits=8, decimal_places=2)
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    state = models.CharField(max_length=8, choices=State, default=State.OWED)
    evidence = models.JSONField(default=dict, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("Who granted an extra bonus or an adjustment."),
    )
    why = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text=_("What the worker reads about an extra bonus or an adjustment."),
    )
    owed_at = models.DateTimeField()
    paid_at = models.DateTimeField(null=True, blank=True)

    audit = Audit(Group.MONEY, update=_("settled a payment in %(campaign)s (%(thing)s): %(state)s"))

    tallies = [
        rows_counted(
            "payments",
            "platforms_payment",
            "concat_ws('/', purpose, state)",
            where=_OF_PUBLICATION,
            amount="amount",
            fee="fee",
        )
    ]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "purpose"], name="payment_once_per_assignment"),
            models.UniqueConstraint(fields=["submission", "purpose"], name="payment_once_per_submission"),
            models.CheckConstraint(
                condition=Q(assignment__isnull=False) | Q(submission__isnull=False), name="payment_is_for_something"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0, fee__gte=0), name="payment_of_something"),
        ]
        indexes = [
            # platforms.money.pay_desk: what is not paid yet
            models.Index(fields=["publication"], condition=Q(state__in=["owed", "sent"]), name="payment_unpaid"),
            # platforms.finishing: what was paid last
            models.Index(fields=["publication", "paid_at"], name="payment_paid"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.amount}"


class HandPayment(models.Model):
    """What a lab says that it paid somebody itself, whom no platform pays: who came by a link or from a panel.

    Append-only, by a trigger. A payment marked by mistake is taken back by another row, of the opposite amount. What
    is paid for an assignment is the sum of its rows, from nothing to what is owed. Rows stay when a worker is erased,
    and only their notes are emptied.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="hand_payments")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="hand_payments")
    number = models.PositiveSmallIntegerField(help_text=_("Of the assignment's rows, from 1."))
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    paid_on = models.DateField(help_text=_("The day on which it was paid, as the lab says."))
    note = models.CharField(max_length=200, blank=True, help_text=_("Such as the number of a transfer."))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    audit = Audit(Group.MONEY, insert=_("recorded in %(campaign)s what the lab paid a worker itself: %(thing)s"))

    tallies = [rows_counted("marked", "platforms_handpayment", "''", amount="amount")]

    class Meta:
        constraints = [
            # Two who mark the same at once: the second fails, and pays nobody twice.
            models.UniqueConstraint(fields=["assignment", "number"], name="hand_payment_number_once"),
            models.CheckConstraint(condition=~Q(amount=0), name="hand_payment_of_something"),
        ]

    def __str__(self) -> str:
        return f"{self.amount} for {self.assignment_id}"


class Operation(models.Model):
    """One call to the platform, with its token, committed before it is made: the outbox.

    `sent` is a call that is being made (or whose process died), `unknown` one whose answer was lost.
    """

    class Kind(models.TextChoices):
        EXCLUSION_TYPE = "exclusion-type", _("create the exclusion qualification")
        HIT_TYPE = "hit-type", _("create the HIT type")
        CREATE = "create", _("publish a HIT")
        RETYPE = "retype", _("move a HIT to the new terms")
        EXTEND = "extend", _("request more assignments")
        EXPIRE = "expire", _("end a HIT")
        REOPEN = "reopen", _("reopen a HIT")
        APPROVE = "approve", _("approve")
        REJECT = "reject", _("reject")
        ASK_RETURN = "ask-return", _("ask a worker to return work")
        BONUS = "bonus", _("pay a bonus")
        EXTRA_BONUS = "extra-bonus", _("pay an extra bonus")
        ADJUST = "adjust", _("pay an adjustment")
        COMPENSATE = "compensate", _("offer a compensation")
        EXCLUDE = "exclude", _("exclude a worker")
        READMIT = "readmit", _("readmit a worker")

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")
        SENT = "sent", _("sent")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        UNKNOWN = "unknown", _("outcome unknown")

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="operations", db_index=False)
    kind = models.CharField(max_length=16, choices=Kind)
    published_hit = models.ForeignKey(PublishedHit, null=True, on_delete=models.PROTECT, related_name="operations")
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="operations")
    submission = models.ForeignKey(Submission, null=True, on_delete=models.PROTECT, related_name="operations")
    worker = models.ForeignKey(Worker, null=True, on_delete=models.PROTECT, related_name="operations")
    terms = models.ForeignKey(TermsVersion, null=True, on_delete=models.PROTECT, related_name="operations")
    turn = models.PositiveIntegerField(
        default=0,
        help_text=_(
            "Which of several such calls this is: of a HIT's ends and reopenings its turn, of its moves and of the "
            "offers of a payment their number, of requests for more assignments how many the HIT has then."
        ),
    )
    until = models.DateTimeField(null=True, help_text=_("How long a HIT is to stay open."))
    barred_at = models.DateTimeField(null=True, help_text=_("Since when the worker who is excluded was barred."))
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    state = models.CharField(max_length=8, choices=State, default=State.PLANNED)
    attempts = models.PositiveIntegerField(default=0)
    next_try = models.DateTimeField()
    first_sent_at = models.DateTimeField(null=True, help_text=_("The platform knows the token for 24 hours from then."))
    sent_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    request = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)

    tallies = [rows_counted("calls", "platforms_operation", "state", where=_OF_PUBLICATION)]

    class Meta:
        constraints = [
            _once("operation_once_per_publication", "publication", "kind", when=Q(kind="exclusion-type")),
            _once("operation_once_per_terms", "terms", "kind", when=Q(kind="hit-type")),
            _once(
                "operation_once_per_turn_of_a_hit", "published_hit", "kind", "turn", when=Q(published_hit__isnull=False)
            ),
            _once("operation_once_per_submission", "submission", "kind", when=Q(submission__isnull=False)),
            _once("operation_once_per_offer", "payment", "kind", "turn", when=Q(kind="compensate")),
            _once(
                "operation_once_per_barring", "publication", "worker", "kind", "barred_at", when=Q(worker__isnull=False)
            ),
            models.CheckConstraint(
                condition=Q(kind="exclusion-type")
                | Q(kind="hit-type", terms__isnull=False)
                | Q(kind__in=["create", "extend", "expire"], published_hit__isnull=False)
                | Q(kind="reopen", published_hit__isnull=False, until__isnull=False)
                | Q(kind="retype", published_hit__isnull=False, terms__isnull=False)
                | Q(kind="compensate", published_hit__isnull=False, payment__isnull=False)
                | Q(kind="approve", submission__isnull=False)
                | Q(kind="reject", submission__isnull=False)
                | Q(kind="ask-return", submission__isnull=False)
                | Q(kind__in=["bonus", "extra-bonus", "adjust"], submission__isnull=False, payment__isnull=False)
                | Q(kind__in=["exclude", "readmit"], worker__isnull=False, barred_at__isnull=False),
                name="operation_says_what_it_is_about",
            ),
        ]
        # platforms.outbox: what may be sent now
        indexes = [
            models.Index(
                fields=["publication", "next_try"],
                condition=Q(state__in=["planned", "sent", "unknown"]),
                name="operation_to_send",
            ),
            # platforms.finishing: what has not ended, and what ended last
            models.Index(fields=["publication", "ended_at"], name="operation_ended"),
            # platforms.status.calls_in_trouble()
            models.Index(
                fields=["publication"],
                condition=Q(state__in=["planned", "sent"]) & ~Q(error="") | Q(state__in=["unknown", "refused"]),
                name="operation_in_trouble",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def about(self) -> str:
        """What it is about, for people: a HIT, an assignment, a worker, a payment or a version of the terms."""
        if self.submission is not None:
            return self.submission.platform_assignment_id
        if self.published_hit is not None and self.published_hit.hit is not None:
            return _gettext("HIT %(number)d") % {"number": self.published_hit.hit.number}
        if self.payment_id is not None:
            return _gettext("payment %(number)d") % {"number": self.payment_id}
        if self.worker_id is not None:
            return _gettext("worker %(name)s") % {"name": pseudonym(self.publication.campaign, self.worker_id)}
        return str(self.terms or "")


class PayRate(models.Model):
    """What an hour of a publication's work has paid, as a job last computed it.

    `hourly_there` and `hourly_here` are medians over `submissions` that were not rejected and whose time is known, by
    the platform's clock or by ours; `seconds_there` and `seconds_here` the medians of how long they took. Empty without
    any such time.
    """

    publication = models.OneToOneField(Publication, on_delete=models.CASCADE, related_name="pay_rate")
    submissions = models.PositiveIntegerField()
    hourly_there = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    hourly_here = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    seconds_there = models.FloatField(null=True)
    seconds_here = models.FloatField(null=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"pay rate of {self.publication_id}"

    @property
    def lowest(self) -> Decimal | None:
        return min((rate for rate in (self.hourly_there, self.hourly_here) if rate is not None), default=None)


class LedgerComparison(models.Model):
    """The last comparison of a publication's ledger with the platform's. `version` is that of what `content` holds."""

    publication = models.OneToOneField(Publication, on_delete=models.CASCADE, related_name="comparison")
    version = models.PositiveSmallIntegerField()
    began_at = models.DateTimeField()
    made_at = models.DateTimeField()
    is_full = models.BooleanField(help_text=_("Every HIT was asked about, and not only those that could still change."))
    differences = models.PositiveIntegerField(help_text=_("All of them; the content has the first in words."))
    content = models.JSONField()

    def __str__(self) -> str:
        return f"comparison of {self.publication_id}"


class RunningComparison(models.Model):
    """A comparison that is going on, some HITs at a time. Those that it is yet to ask about are `compare_due`."""

    publication = models.OneToOneField(Publication, on_delete=models.CASCADE, related_name="running_comparison")
    began_at = models.DateTimeField()
    is_full = models.BooleanField(help_text=_("Every HIT is asked about, and not only those that can still change."))
    strays = models.JSONField(
        null=True, help_text=_("HITs at the platform that are unknown here; empty until the platform was asked.")
    )

    def __str__(self) -> str:
        return f"comparison of {self.publication_id} since {self.began_at}"


class PlatformAlarm(AlarmKind):
    """What a person must look at in a publication."""

    FUNDS = "funds", AlarmTopic.MONEY, _("the account cannot pay")
    LOW = "low", AlarmTopic.MONEY, _("the account may not last")
    ACCOUNT = "account", _("our access key is not accepted")
    REFUSED = "refused", _("a call was refused")
    DOUBT = "doubt", AlarmTopic.MONEY, _("a call is in doubt")
    JOB = "job", _("a background job failed")
    LEDGER = "ledger", AlarmTopic.MONEY, _("the ledgers differ")
    STOPPED = "stopped", _("stopped")
    UNSEEN = "unseen", AlarmTopic.NOBODY, _("no worker has opened a task")
    EXPIRED = "expired", AlarmTopic.STALLED, _("HITs have expired")
    LEAVES = "leaves", AlarmTopic.QUALITY, _("a worker leaves often")
    UNMATCHED = "unmatched", _("submitted work matches none of ours")
    NO_ANSWERS = "no-answers", _("submitted without an answer")
    FAST = "fast", AlarmTopic.QUALITY, _("judged faster than anybody reads")
    AUTO_APPROVAL = "auto-approval", AlarmTopic.MONEY, _("about to be approved automatically")
    UNDECIDED = "undecided", AlarmTopic.MONEY, _("submitted work could not be decided on")
    UNCHECKED = "unchecked", _("work could not be checked")
    COMPENSATION = "compensation", AlarmTopic.MONEY, _("work done here was not submitted there")
    TWICE = "twice", AlarmTopic.MONEY, _("submitted after it was compensated")
    UNFAIR = "unfair", _("the pay per hour is too low")
    UNRETURNED = "unreturned", AlarmTopic.MONEY, _("assignments were not returned")


class Message(models.Model):
    """One message between the researchers of a publication and a worker at its platform. Pages name the worker by a
    pseudonym, and no export has it.

    What is written is sent once: a call whose answer was lost is not made again, since the platform offers no token.
    """

    class State(models.TextChoices):
        RECEIVED = "received", _("received")
        ANSWERED = "answered", _("answered")
        SET_ASIDE = "set-aside", _("needs no answer")
        PLANNED = "planned", _("to be sent")
        SENDING = "sending", _("being sent")
        SENT = "sent", _("sent")
        FAILED = "failed", _("not sent")

    INCOMING = (State.RECEIVED, State.ANSWERED, State.SET_ASIDE)

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="messages")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="messages")
    hit = models.ForeignKey(Hit, null=True, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State)
    platform_message_id = models.CharField(max_length=64, blank=True)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    at = models.DateTimeField(help_text=_("When it was written."))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.TextField(blank=True)

    audit = Audit(
        Group.DECISIONS,
        insert=_("wrote to worker %(worker)s of %(campaign)s"),
        update=_("set aside a message of worker %(worker)s of %(campaign)s"),
    )

    class Meta:
        constraints = [
            _once("message_received_once", "publication", "platform_message_id", when=~Q(platform_message_id=""))
        ]
        # platforms.messages.conversations: what waits for an answer, or to be sent
        indexes = [
            models.Index(fields=["publication"], condition=Q(state__in=["received", "planned"]), name="message_waiting")
        ]

    def __str__(self) -> str:
        return self.subject

    @property
    def is_incoming(self) -> bool:
        return self.state in self.INCOMING


class MessageCursor(models.Model):
    """Up to where the messages of a platform were read here: of a lab's account there, where each has its own."""

    platform = models.CharField(max_length=16, choices=PUBLISHED_TO)
    lab = models.ForeignKey(Lab, null=True, on_delete=models.CASCADE, related_name="+")
    message_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "lab"], nulls_distinct=False, name="message_cursor_once_per_account"
            )
        ]

    def __str__(self) -> str:
        return f"{self.message_id} of {self.platform}"
