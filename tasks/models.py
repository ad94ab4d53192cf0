"""Test pairs, packed HITs, and the workers who take them."""

from datetime import timedelta
from decimal import Decimal

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pools.models import Campaign, Lab, Pair, Passage, Query, new_token


class TestPair(models.Model):
    """A known relevant against an obviously off-topic passage. Packed into HITs only once a person confirmed it.

    The texts stand in the row: what a worker was tested on never changes behind them.
    """

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    class State(models.TextChoices):
        SUGGESTED = "suggested", _("suggested")
        CONFIRMED = "confirmed", _("confirmed")
        DECLINED = "declined", _("declined")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="test_pairs")
    question = models.TextField()
    relevant_text = models.TextField()
    off_topic_text = models.TextField()
    query = models.ForeignKey(Query, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    relevant = models.ForeignKey(Passage, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    off_topic = models.ForeignKey(Passage, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.SUGGESTED)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "query", "relevant", "off_topic"], name="test_pair_once_per_campaign"
            )
        ]

    def __str__(self) -> str:
        return self.question


class ConsentText(models.Model):
    """One version of what workers of a campaign agree to. Never changed: a new wording is a new version."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="consent_version_once")]

    def __str__(self) -> str:
        return f"version {self.version}"


class Worker(models.Model):
    """Somebody who judges for a lab, known by a signed personal link. Barred by a failed test pair, or a person."""

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="workers")
    crowd = models.CharField(max_length=10, default="link")
    label = models.CharField(
        max_length=100, blank=True, help_text=_("A panel member's name or address; never exported.")
    )
    # The form that they joined with: sent twice, it is one worker. Unique, so absence must be NULL.
    joined_with = models.CharField(max_length=32, unique=True, null=True, editable=False)  # noqa: DJ001
    external_id = models.CharField(max_length=64, blank=True, help_text=_("The venue's id of them; never exported."))
    came_at = models.DateTimeField(auto_now_add=True)
    barred_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["lab", "label"], condition=~Q(label=""), name="worker_label_once_per_lab"),
            models.UniqueConstraint(
                fields=["lab", "crowd", "external_id"],
                condition=~Q(external_id=""),
                name="worker_external_id_once_per_lab",
            ),
        ]

    def __str__(self) -> str:
        return self.label or f"worker {self.pk}"


class Invitation(models.Model):
    """A panel member's personal place in a campaign."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="invitations")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="invitations")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "worker"], name="invitation_once")]

    def __str__(self) -> str:
        return f"{self.worker_id} to {self.campaign_id}"


class Consent(models.Model):
    """A worker's agreement to one version of a campaign's text."""

    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="consents")
    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="consents")
    given_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["worker", "text"], name="consent_once")]

    def __str__(self) -> str:
        return f"{self.worker_id} to {self.text_id}"


class Hit(models.Model):
    """A packed task. `needed` is how many more accepted assignments its pairs wait for."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="hits")
    number = models.PositiveIntegerField()
    needed = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name = "HIT"
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="hit_number_once")]
        # tasks.services.assignment_take(): the first HITs that still wait for work
        indexes = [models.Index(fields=["campaign", "number"], condition=Q(needed__gt=0), name="hit_waiting")]

    def __str__(self) -> str:
        return f"HIT {self.number}"


class Item(models.Model):
    """One comparison of a HIT: a pair, or a test pair, at a stored place with a stored side.

    `a_left` says whether the pair's a (a test pair's relevant passage) stands on the left.
    """

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveSmallIntegerField()
    pair = models.ForeignKey(Pair, null=True, on_delete=models.PROTECT, related_name="items")
    test = models.ForeignKey(TestPair, null=True, on_delete=models.PROTECT, related_name="items")
    a_left = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="item_position_once"),
            models.CheckConstraint(
                condition=Q(pair__isnull=True, test__isnull=False) | Q(pair__isnull=False, test__isnull=True),
                name="item_is_pair_or_test",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.hit_id}/{self.position}"


class Assignment(models.Model):
    """One worker's attempt at one HIT, leased until a time; work that comes later is still taken."""

    class State(models.TextChoices):
        ACTIVE = "active", _("being judged")
        SUBMITTED = "submitted", _("finished")
        LEFT = "left", _("left early")

    class Verdict(models.TextChoices):
        PENDING = "pending", _("not yet checked")
        ACCEPTED = "accepted", _("accepted")
        EXCLUDED = "excluded", _("excluded")
        UNCHECKED = "unchecked", _("left before its test pairs were judged")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="assignments")
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    verdict = models.CharField(max_length=10, choices=Verdict, default=Verdict.PENDING)
    taken_at = models.DateTimeField()
    leased_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    judged = models.PositiveSmallIntegerField(default=0, help_text=_("Items judged when it was finished or left."))
    owed = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal(0))
    receipt = models.CharField(max_length=20, blank=True)
    venue_assignment_id = models.TextField(
        blank=True, default="", help_text=_("The venue's id of it. After a return the venue may give it to another.")
    )
    # Until the platform confirms whose work it is, only what came from the same place is held against a worker.
    came_from = models.CharField(
        max_length=16,
        blank=True,
        default="",
        help_text=_("A keyed digest of the address that a frame was opened from."),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hit", "worker", "venue_assignment_id"],
                condition=~Q(venue_assignment_id=""),
                name="assignment_venue_id_once_per_worker",
            ),
            # At a platform a worker's ids can be typed by anybody: each assignment id has a row of its own.
            models.UniqueConstraint(
                fields=["hit", "worker"], condition=Q(venue_assignment_id=""), name="assignment_once_per_worker"
            ),
            # A venue lets its workers hold several tasks, and counts them itself.
            models.UniqueConstraint(
                fields=["campaign", "worker"],
                condition=Q(state="active", venue_assignment_id=""),
                name="assignment_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(state="active", finished_at__isnull=True)
                | (~Q(state="active") & Q(finished_at__isnull=False)),
                name="assignment_finished_has_a_time",
            ),
        ]
        # tasks.services.assignment_take(): a HIT's leases that still run; judgments.jobs.check(): what waits
        indexes = [
            models.Index(fields=["hit", "leased_until"], condition=Q(verdict="pending"), name="assignment_leases"),
            # judgments.selectors: a campaign's assignments, newest first
            models.Index(fields=["campaign", "-id"], name="assignment_newest_first"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"


class CampaignAlarm(models.Model):
    """Something in a campaign's jobs that a person must look at, once for each kind. `failures` are in a row."""

    class Kind(models.TextChoices):
        PACKING = "packing", _("packing the HITs")
        CHECKING = "checking", _("checking work")
        RESULTS = "results", _("computing the results")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="alarms")
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.TextField()
    failures = models.PositiveIntegerField(default=1)
    raised_at = models.DateTimeField()
    retry_at = models.DateTimeField(null=True, blank=True, help_text=_("Empty: not tried again by itself."))
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "kind"], name="campaign_alarm_once")]

    def __str__(self) -> str:
        return self.text


# --- what is at a venue that speaks the Mechanical Turk API


class Publication(models.Model):
    """A campaign at a venue, and the terms that its workers are told.

    Once it has left `draft`, platform and pay are fixed. The other terms can be replaced: each version is kept in
    `terms`, and its HITs are moved to the new HIT type one by one.
    """

    class Environment(models.TextChoices):
        MARKETPLACE = "marketplace", _("our own marketplace")
        SANDBOX = "sandbox", _("the sandbox of Mechanical Turk")
        PRODUCTION = "production", _("Mechanical Turk")

    class Pay(models.TextChoices):
        BASE_AND_BONUS = "base-and-bonus", _("a small base, and a bonus for what was judged")
        FULL_ON_EXIT = "full-on-exit", _("the full reward, also for leaving early")
        RETURN_AND_COMPENSATE = "return-and-compensate", _("who leaves early returns the HIT, and is compensated")

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("published")
        PAUSED = "paused", _("paused")
        STOPPED = "stopped", _("stopped: nothing that spends is sent")

    # Terms go with a draft that is deleted; once published, the operations and HITs protect both.
    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="publication")
    environment = models.CharField(max_length=12, choices=Environment, default=Environment.MARKETPLACE)
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
    next_call_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(auto_approval__gte=timedelta(days=3), auto_approval__lte=timedelta(days=30)),
                name="publication_auto_approval_from_3_to_30_days",
            ),
            models.CheckConstraint(condition=Q(base__gt=0, rate__gt=0), name="publication_base_and_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id} at {self.environment}"

    @property
    def listed(self) -> Decimal:
        """The reward that the venue lists, and pays when an assignment is approved."""
        reward = self.campaign.reward
        return min(self.base, reward) if self.pay == self.Pay.BASE_AND_BONUS else reward

    @property
    def longest_time(self) -> timedelta:
        """What any of its terms so far gave a worker for a HIT: work keeps the time that it was accepted with."""
        seconds = self.terms.values_list("values__assignment_duration", flat=True)
        return max([self.assignment_duration, *(timedelta(seconds=float(given)) for given in seconds if given)])


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

    class Meta:
        constraints = [models.UniqueConstraint(fields=["publication", "version"], name="terms_version_once")]

    def __str__(self) -> str:
        return f"version {self.version}"


class Posting(models.Model):
    """A HIT of the venue: one of ours, or (`hit` empty) a compensation. `turn` counts its expiries and reopenings.

    A HIT of ours is posted again, as its next `round`, where the venue does not allow more assignments on the last.
    """

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="postings")
    hit = models.ForeignKey(Hit, null=True, on_delete=models.PROTECT, related_name="postings")
    round = models.PositiveSmallIntegerField(default=1)
    places = models.PositiveIntegerField(help_text=_("Assignments asked for, with those that are on their way."))
    venue_hit_id = models.TextField(blank=True)
    hit_type_id = models.TextField(blank=True, help_text=_("The HIT type that the platform has it under."))
    posted_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    turn = models.PositiveIntegerField(default=0)
    next_poll_at = models.DateTimeField(null=True, help_text=_("Empty: nothing more can come."))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["publication", "hit", "round"], name="posting_once_per_round"),
            models.UniqueConstraint(
                fields=["publication", "venue_hit_id"], condition=~Q(venue_hit_id=""), name="posting_venue_hit_once"
            ),
        ]
        # tasks.venue.syncing: what is to be polled now
        indexes = [
            models.Index(
                fields=["publication", "next_poll_at"], condition=Q(next_poll_at__isnull=False), name="posting_to_poll"
            )
        ]

    def __str__(self) -> str:
        return self.venue_hit_id or f"posting {self.pk}"


class Submission(models.Model):
    """Work that the venue says was submitted. Without an assignment of ours it waits for a person."""

    class Status(models.TextChoices):
        SUBMITTED = "Submitted", _("submitted")
        APPROVED = "Approved", _("approved")
        REJECTED = "Rejected", _("rejected")

    class Decision(models.TextChoices):
        NONE = "", _("not yet")
        APPROVE = "approve", _("approve")
        REJECT = "reject", _("reject")

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="submissions")
    posting = models.ForeignKey(Posting, on_delete=models.PROTECT, related_name="submissions")
    assignment = models.OneToOneField(
        Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="submission"
    )
    venue_assignment_id = models.TextField()
    venue_worker_id = models.TextField()
    status = models.CharField(max_length=10, choices=Status)
    submitted_at = models.DateTimeField()
    auto_approval_at = models.DateTimeField(null=True)
    receipt = models.CharField(max_length=64, blank=True)
    why_unmatched = models.TextField(blank=True)
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.NONE, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["publication", "venue_assignment_id", "venue_worker_id"], name="submission_once"
            )
        ]
        # tasks.venue.reviewing: what waits for a decision
        indexes = [models.Index(fields=["publication", "submitted_at"], condition=Q(decision=""), name="to_decide")]

    def __str__(self) -> str:
        return self.venue_assignment_id


class Payment(models.Model):
    """One paid effect, in dollars and cents: written down before it is sent, and only once for each purpose.

    It is for an assignment of ours, or for a submission that none of ours belongs to and that a person (or the
    venue's clock) approved.
    """

    class Purpose(models.TextChoices):
        REWARD = "reward", _("reward")
        BONUS = "bonus", _("bonus")
        COMPENSATION = "compensation", _("compensation")

    class State(models.TextChoices):
        OWED = "owed", _("owed")
        SENT = "sent", _("on its way")
        PAID = "paid", _("paid")
        REFUSED = "refused", _("refused")

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="payments")
    assignment = models.ForeignKey(Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="payments")
    submission = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="payments")
    purpose = models.CharField(max_length=12, choices=Purpose)
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    fee = models.DecimalField(max_digits=8, decimal_places=2)
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    state = models.CharField(max_length=8, choices=State, default=State.OWED)
    evidence = models.JSONField(default=dict, blank=True)
    owed_at = models.DateTimeField()
    paid_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "purpose"], name="payment_once_per_assignment"),
            models.UniqueConstraint(fields=["submission", "purpose"], name="payment_once_per_submission"),
            models.CheckConstraint(
                condition=Q(assignment__isnull=False) | Q(submission__isnull=False), name="payment_is_for_something"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0, fee__gte=0), name="payment_of_something"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.amount}"


class Operation(models.Model):
    """One call to the venue, with its token, committed before it is made: the outbox.

    `sent` is a call that is being made (or whose maker died), `unknown` one whose answer was lost.
    """

    class Kind(models.TextChoices):
        EXCLUSION_TYPE = "exclusion-type", _("make the exclusion qualification")
        HIT_TYPE = "hit-type", _("make the HIT type")
        CREATE = "create", _("publish a HIT")
        RETYPE = "retype", _("put a HIT under the new terms")
        EXTEND = "extend", _("ask for more assignments")
        EXPIRE = "expire", _("end a HIT")
        REOPEN = "reopen", _("open a HIT again")
        APPROVE = "approve", _("approve")
        REJECT = "reject", _("reject")
        BONUS = "bonus", _("pay a bonus")
        COMPENSATE = "compensate", _("offer a compensation")
        EXCLUDE = "exclude", _("exclude a worker")
        READMIT = "readmit", _("readmit a worker")

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")
        SENT = "sent", _("sent")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        UNKNOWN = "unknown", _("outcome unknown")

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="operations")
    kind = models.CharField(max_length=16, choices=Kind)
    subject = models.CharField(max_length=100)
    posting = models.ForeignKey(Posting, null=True, on_delete=models.PROTECT, related_name="operations")
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="operations")
    submission = models.ForeignKey(Submission, null=True, on_delete=models.PROTECT, related_name="operations")
    worker = models.ForeignKey(Worker, null=True, on_delete=models.PROTECT, related_name="operations")
    terms = models.ForeignKey(TermsVersion, null=True, on_delete=models.PROTECT, related_name="operations")
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    state = models.CharField(max_length=8, choices=State, default=State.PLANNED)
    attempts = models.PositiveIntegerField(default=0)
    next_try = models.DateTimeField()
    first_sent_at = models.DateTimeField(null=True, help_text=_("The venue knows the token for 24 hours from then."))
    sent_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    request = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["publication", "kind", "subject"], name="operation_once")]
        # tasks.venue.outbox: what may be sent now
        indexes = [
            models.Index(
                fields=["publication", "next_try"],
                condition=Q(state__in=["planned", "sent", "unknown"]),
                name="operation_to_send",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class LedgerComparison(models.Model):
    """The last comparison of a publication's ledger with the venue's. `version` is that of what `content` holds."""

    publication = models.OneToOneField(Publication, on_delete=models.CASCADE, related_name="comparison")
    version = models.PositiveSmallIntegerField()
    made_at = models.DateTimeField()
    differences = models.PositiveIntegerField(help_text=_("All of them; the content has the first in words."))
    content = models.JSONField()

    def __str__(self) -> str:
        return f"comparison of {self.publication_id}"


class Alarm(models.Model):
    """Something at a venue that a person must look at, once for each kind and subject."""

    publication = models.ForeignKey(Publication, on_delete=models.CASCADE, related_name="alarms")
    kind = models.CharField(max_length=30)
    subject = models.CharField(max_length=100)
    text = models.TextField()
    raised_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["publication", "kind", "subject"], name="alarm_once")]

    def __str__(self) -> str:
        return self.text
