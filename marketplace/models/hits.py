"""What is offered, and who takes it. State moves under the HIT's row lock, through services.holds.hits_settle."""

from decimal import Decimal

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from marketplace.models.accounts import Requester, Worker
from marketplace.money import minutes_read, to_cents
from marketplace.steps import MOVES

_YEAR = 31_536_000
_MONTH = 2_592_000


class HitType(models.Model):
    """What HITs have in common. The same values of one requester are the same HIT type. Never changed."""

    type_id = models.CharField(max_length=64, unique=True)
    group_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="hit_types")
    fingerprint = models.CharField(max_length=64, help_text=_("SHA-256 of all values below"))
    title = models.CharField(max_length=128)
    description = models.CharField(max_length=2000)
    keywords = models.CharField(max_length=1000, blank=True)
    reward = models.DecimalField(max_digits=10, decimal_places=2)
    bonus_up_to = models.DecimalField(
        max_digits=7,
        decimal_places=2,
        default=Decimal("0.00"),
        help_text=_("what the requester says may come on top, by the keyword bonus-up-to-1.90"),
    )
    assignment_seconds = models.PositiveIntegerField()
    auto_approval_seconds = models.PositiveIntegerField()
    requirements = models.JSONField(default=list, help_text=_("as requirements.requirement_read gives them"))
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True, help_text=_("a qualification type it needs was deleted"))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "fingerprint"], condition=Q(retired_at=None), name="hit_type_once_per_requester"
            ),
            models.CheckConstraint(condition=Q(reward__gte=0), name="hit_type_reward"),
            models.CheckConstraint(condition=Q(assignment_seconds__range=(30, _YEAR)), name="hit_type_duration"),
            models.CheckConstraint(
                condition=Q(auto_approval_seconds__range=(0, _MONTH)), name="hit_type_auto_approval"
            ),
        ]
        indexes = [GinIndex(fields=["requirements"], name="hit_type_by_requirement")]  # which HITs need this type

    def __str__(self) -> str:
        return self.title

    @property
    def minutes(self) -> int | None:
        """How long a task takes, as the requester says; None where they do not."""
        return minutes_read(self.keywords)

    @property
    def hourly(self) -> Decimal | None:
        """The pay of an hour in that time, with the bonus."""
        return None if self.minutes is None else to_cents((self.reward + self.bonus_up_to) * 60 / self.minutes)


class Hit(models.Model):
    """One question, offered to `max_assignments` workers until it expires.

    The counts, the status and the money held follow from the assignments and the expiry: hits_settle says how, and is
    the only place that writes them.
    """

    class Status(models.TextChoices):
        ASSIGNABLE = "Assignable"
        UNASSIGNABLE = "Unassignable"
        REVIEWABLE = "Reviewable"
        REVIEWING = "Reviewing"
        DISPOSED = "Disposed"

    hit_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="hits")
    hit_type = models.ForeignKey(HitType, on_delete=models.PROTECT, related_name="hits")
    question = models.TextField()
    annotation = models.CharField(max_length=255, blank=True)
    max_assignments = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    expired = models.BooleanField(default=False, help_text=_("the expiry has been acted on"))
    status = models.CharField(max_length=12, choices=Status, default=Status.ASSIGNABLE)
    reviewable_at = models.DateTimeField(null=True, blank=True)
    n_accepted = models.PositiveIntegerField(default=0)
    n_submitted = models.PositiveIntegerField(default=0)
    n_approved = models.PositiveIntegerField(default=0)
    n_rejected = models.PositiveIntegerField(default=0)
    held = models.DecimalField(
        max_digits=12, decimal_places=2, default=Decimal("0.00"), help_text=_("the sum of its entries' on_hold")
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    max_assignments__gte=F("n_accepted") + F("n_submitted") + F("n_approved") + F("n_rejected")
                ),
                name="hit_never_overbooked",
            ),
            models.CheckConstraint(condition=Q(max_assignments__gte=1), name="hit_wants_somebody"),
            models.CheckConstraint(condition=Q(held__gte=0), name="hit_held"),
        ]
        indexes = [
            # selectors.hits: ListHITs, newest first
            models.Index(fields=["requester", "-id"], name="hit_newest_first"),
            # selectors.hits: ListReviewableHITs
            models.Index(fields=["requester", "status", "id"], name="hit_by_status"),
            # services.due: HITs whose time is over
            models.Index(fields=["expires_at"], condition=Q(expired=False), name="hit_to_expire"),
            models.Index(fields=["reviewable_at"], condition=~Q(status="Disposed"), name="hit_to_dispose"),
            # selectors.tasks: what a worker can find
            models.Index(fields=["hit_type", "id"], condition=Q(status="Assignable"), name="hit_findable"),
        ]

    def __str__(self) -> str:
        return self.hit_id

    @property
    def n_available(self) -> int:
        """How many more workers may accept it, were it not expired."""
        return self.max_assignments - self.n_accepted - self.n_submitted - self.n_approved - self.n_rejected


class Assignment(models.Model):
    """One worker's attempt at one HIT. After a return, its id may be given to another worker's."""

    class State(models.TextChoices):
        ACCEPTED = "Accepted"
        SUBMITTED = "Submitted"
        APPROVED = "Approved"
        REJECTED = "Rejected"
        RETURNED = "Returned"
        ABANDONED = "Abandoned"

    assignment_id = models.CharField(max_length=64)
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=10, choices=State, default=State.ACCEPTED)
    # What was promised when it was accepted: a HIT may change its type later.
    reward = models.DecimalField(max_digits=10, decimal_places=2)
    fee = models.DecimalField(max_digits=10, decimal_places=2)
    auto_approval_seconds = models.PositiveIntegerField()
    accepted_at = models.DateTimeField()
    deadline = models.DateTimeField()
    left_at = models.DateTimeField(null=True, blank=True, help_text=_("returned or abandoned"))
    submitted_at = models.DateTimeField(null=True, blank=True)
    auto_approval_at = models.DateTimeField(null=True, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_by_clock = models.BooleanField(default=False)
    rejected_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(blank=True, help_text=_("a QuestionFormAnswers document"))
    feedback = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment_id", "worker"], name="assignment_id_once_per_worker"),
            models.UniqueConstraint(
                fields=["assignment_id"],
                condition=Q(state__in=["Accepted", "Submitted", "Approved", "Rejected"]),
                name="assignment_id_held_by_one",
            ),
            models.UniqueConstraint(
                fields=["hit", "worker"],
                condition=Q(state__in=["Accepted", "Submitted", "Approved", "Rejected"]),
                name="hit_once_per_worker",
            ),
            models.CheckConstraint(
                condition=Q(state="Accepted", submitted_at=None, left_at=None)
                | Q(state__in=["Returned", "Abandoned"], submitted_at=None, left_at__isnull=False)
                | Q(state="Submitted", submitted_at__isnull=False, approved_at=None, rejected_at=None)
                | Q(state="Approved", submitted_at__isnull=False, approved_at__isnull=False)
                | Q(state="Rejected", submitted_at__isnull=False, approved_at=None, rejected_at__isnull=False),
                name="assignment_times_fit_state",
            ),
        ]
        indexes = [
            # services.due
            models.Index(fields=["deadline"], condition=Q(state="Accepted"), name="assignment_to_abandon"),
            models.Index(fields=["auto_approval_at"], condition=Q(state="Submitted"), name="assignment_to_approve"),
            # selectors.hits: ListAssignmentsForHIT
            models.Index(fields=["hit", "submitted_at", "id"], name="assignment_in_order"),
            # selectors.tasks: a worker's history and record
            models.Index(fields=["worker", "state", "-id"], name="assignment_of_worker"),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id} of {self.worker_id}"

    def move(self, state: str) -> None:
        """Put it into another state; not stored yet. Raises ValueError where no step leads there."""
        if (self.state, state) not in MOVES:
            raise ValueError(f"An assignment that is {self.state} does not become {state}.")
        self.state = state


# States in which an assignment takes up one of its HIT's slots. Submitted work keeps its slot for good.
LIVE_STATES = [
    Assignment.State.ACCEPTED,
    Assignment.State.SUBMITTED,
    Assignment.State.APPROVED,
    Assignment.State.REJECTED,
]


class UniqueRequestToken(models.Model):
    """A request that must not be done twice within 24 hours, and what came of it. Written with its effect."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="+")
    operation = models.CharField(max_length=64)
    token = models.CharField(max_length=64)
    made_at = models.DateTimeField()
    subject = models.CharField(max_length=64, blank=True, help_text=_("the HIT id, or the id of the request"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["requester", "operation", "token"], name="request_token_once")]
        indexes = [models.Index(fields=["made_at"], name="request_token_to_forget")]

    def __str__(self) -> str:
        return self.token


class DueFailure(models.Model):
    """What was due on a HIT failed, and is tried again. Gone once it has succeeded. See services.due."""

    class Step(models.TextChoices):
        ABANDON = "abandon", _("abandon")
        APPROVE = "approve", _("approve")
        EXPIRE = "expire", _("expire")
        DISPOSE = "dispose", _("dispose")

    hit = models.OneToOneField(Hit, on_delete=models.PROTECT, related_name="due_failure")
    step = models.CharField(max_length=20, choices=Step)
    error = models.CharField(max_length=1000)
    tries = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField()
    retry_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.step} of {self.hit_id}"
