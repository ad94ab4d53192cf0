"""Test pairs, packed HITs, and the workers who take them."""

from decimal import Decimal

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.comparing import ComparedField, ComparedModel
from core.models import AlarmKind, AlarmTopic, Lab
from core.recorded import Audit, Changes, Group, value_after
from pools.counting import Counted, rows_counted
from pools.models import Campaign, Pair
from runs.models import Passage, Query


class TestPair(models.Model):
    """A known relevant against an obviously off-topic passage. Packed into HITs only once a person confirmed it, and
    decides about nobody's work before it is proven: passed in a trial, or by several careful workers.

    The row holds the texts, so what a worker was tested on never changes afterwards.
    """

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    class State(models.TextChoices):
        SUGGESTED = "suggested", _("suggested")
        CONFIRMED = "confirmed", _("confirmed")
        DECLINED = "declined", _("declined")
        DROPPED = "dropped", _("dropped: it says nothing about workers")

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
    why_dropped = models.TextField(blank=True, default="", db_default="")
    proven_at = models.DateTimeField(null=True, blank=True, help_text=_("Since when it decides about work."))
    proven_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Who passed it in a trial; empty if workers did."),
    )

    audit = Audit(Group.WORDING, update=_("decided on a test pair of %(campaign)s: %(changes)s"))

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

    audit = Audit(
        Group.WORDING,
        insert=_("wrote version %(thing)s of the consent text of %(campaign)s"),
        update=_("changed version %(thing)s of the consent text of %(campaign)s"),
        delete=_("deleted version %(thing)s of the consent text of %(campaign)s"),
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="consent_version_once")]

    def __str__(self) -> str:
        return f"version {self.version}"


class Platform(models.TextChoices):
    """Where workers come from."""

    LINK = "link", _("a link")
    PANEL = "panel", _("a panel")
    MARKETPLACE = "marketplace", _("our own marketplace")
    MTURK_SANDBOX = "mturk-sandbox", _("the sandbox of Mechanical Turk")
    MTURK = "mturk", _("Mechanical Turk")
    PROLIFIC = "prolific", _("Prolific")
    IMPORT = "import", _("an import")


def _name_update(changes: Changes) -> Promise | None:
    """What the audit calls barring a worker."""
    if set(changes) != {"barred_at"}:
        return None
    return (
        _("barred worker %(worker)s") if value_after(changes, "barred_at") else _("lifted the bar of worker %(worker)s")
    )


class Worker(ComparedModel):
    """Somebody who judges for a lab, known by a signed personal link. Barred by a failed test pair, or a person."""

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="workers")
    platform = models.CharField(max_length=16, choices=Platform, default=Platform.LINK)
    label = models.CharField(
        max_length=100, blank=True, help_text=_("A panel member's name or address; never exported.")
    )
    label_key = ComparedField(of="label", db_default="")
    # The form that they joined with: sent twice, it is one worker. Unique, so absence must be NULL.
    joined_with = models.CharField(max_length=32, unique=True, null=True, editable=False)  # noqa: DJ001
    external_id = models.CharField(
        max_length=64, blank=True, help_text=_("The worker's id at the platform; never exported.")
    )
    came_at = models.DateTimeField(auto_now_add=True)
    barred_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("Since then nothing here says who it is.")
    )

    audit = Audit(
        Group.DECISIONS,
        update=_("changed worker %(worker)s: %(fields)s"),
        delete=_("deleted worker %(worker)s"),
        name_update=_name_update,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "label_key"], condition=~Q(label_key=""), name="worker_label_once_per_lab"
            ),
            models.UniqueConstraint(
                fields=["lab", "platform", "external_id"],
                condition=~Q(external_id=""),
                name="worker_external_id_once_per_lab",
            ),
        ]
        indexes = [
            # platforms.money.pay_desk: what is written off
            models.Index(fields=["lab"], condition=Q(erased_at__isnull=False), name="worker_erased"),
            # tasks.selectors.progress(): how many of a campaign's workers are barred
            models.Index(fields=["lab"], condition=Q(barred_at__isnull=False), name="worker_barred"),
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


_A_PARAMETER = RegexValidator(
    r"^[A-Za-z0-9_.-]+$", _("A parameter's name has letters, digits, dots, hyphens and underscores only.")
)
_AN_EXIT = RegexValidator(
    r"^(https://\S+|[^\s:/]+)$", _("Enter a code without spaces, or an address that begins with https://.")
)


class OutsidePanel(models.Model):
    """Somebody else's panel that has no programming interface here, such as CloudResearch Connect.

    Its people open the campaign's link with ids of theirs and of their session in the address, do one HIT, and leave
    with a code, or by an address, that says how it ended. Nobody confirms the ids.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="outside_panel")
    name = models.CharField(max_length=20, validators=[RegexValidator(r"^[^:]+$", _("A name has no colon."))])
    person_parameter = models.CharField(max_length=40, default="participantId", validators=[_A_PARAMETER])
    session_parameter = models.CharField(max_length=40, default="assignmentId", validators=[_A_PARAMETER])
    finished_exit = models.CharField(max_length=500, validators=[_AN_EXIT])
    failed_exit = models.CharField(max_length=500, blank=True, validators=[_AN_EXIT])
    no_consent_exit = models.CharField(max_length=500, blank=True, validators=[_AN_EXIT])
    nothing_left_exit = models.CharField(max_length=500, blank=True, validators=[_AN_EXIT])

    audit = Audit(
        Group.PLATFORMS,
        insert=_("set up %(thing)s as an outside panel of %(campaign)s"),
        update=_("changed the outside panel %(thing)s of %(campaign)s: %(fields)s"),
        delete=_("deleted the outside panel %(thing)s of %(campaign)s"),
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(person_parameter=F("session_parameter")), name="outside_panel_has_two_parameters"
            )
        ]

    def __str__(self) -> str:
        return self.name


class PanelVisit(models.Model):
    """One session of somebody from an outside panel, and the assignment that it got; none where nothing was left."""

    panel = models.ForeignKey(OutsidePanel, on_delete=models.CASCADE, related_name="visits")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="visits")
    session = models.CharField(max_length=64)
    came_at = models.DateTimeField()
    assignment = models.OneToOneField("Assignment", null=True, on_delete=models.PROTECT, related_name="visit")
    is_taken_over = models.BooleanField(
        default=False, help_text=_("Whether a later session of the same person went on with its work.")
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["panel", "worker", "session"], name="panel_visit_once"),
            models.CheckConstraint(
                condition=Q(is_taken_over=False) | Q(assignment__isnull=True), name="panel_visit_has_its_work_or_not"
            ),
        ]

    def __str__(self) -> str:
        return self.session


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
    """A packed task. `needed` is how many more accepted assignments its pairs wait for, less those that wait for a
    person; none while it is held back.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="hits")
    number = models.PositiveIntegerField()
    needed = models.PositiveSmallIntegerField()
    wanted = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text=_("How many judgments each of its pairs is to have in all, where more are asked than the campaign."),
    )
    is_held = models.BooleanField(
        default=False, db_default=False, help_text=_("Whether it is held back until the campaign's pilot has ended.")
    )

    tallies = [rows_counted("hits", "tasks_hit", "concat_ws('/', needed, coalesce(wanted, 0), is_held::int)")]

    class Meta:
        verbose_name = "HIT"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="hit_number_once"),
            models.CheckConstraint(condition=Q(is_held=False) | Q(needed=0), name="hit_held_back_needs_no_work"),
        ]
        # tasks.services.assignment_take(): the first HITs that still wait for work
        indexes = [
            models.Index(fields=["campaign", "number"], condition=Q(needed__gt=0), name="hit_waiting"),
            # tasks.pilots: what is held back, which is mostly nothing
            models.Index(fields=["campaign"], condition=Q(is_held=True), name="hit_held_back"),
        ]

    def __str__(self) -> str:
        return f"HIT {self.number}"


class Item(models.Model):
    """One comparison of a HIT: a pair, or a test pair, at a stored place with a stored side.

    `a_left` says whether the pair's a (a test pair's relevant passage) is on the left. Where pairs are judged more than
    once, a HIT has its items in several layouts, each whole: an assignment shows one of them, and its judgments are on
    the items of that one.
    """

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="items")
    layout = models.PositiveSmallIntegerField(default=0, db_default=0)
    position = models.PositiveSmallIntegerField()
    pair = models.ForeignKey(Pair, null=True, on_delete=models.PROTECT, related_name="items")
    test = models.ForeignKey(TestPair, null=True, on_delete=models.PROTECT, related_name="items")
    a_left = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "layout", "position"], name="item_position_once"),
            models.CheckConstraint(
                condition=Q(pair__isnull=True, test__isnull=False) | Q(pair__isnull=False, test__isnull=True),
                name="item_is_pair_or_test",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.hit_id}/{self.layout}/{self.position}"


class Assignment(models.Model):
    """One worker's attempt at one HIT, leased until a time; late work is still accepted."""

    class State(models.TextChoices):
        ACTIVE = "active", _("being judged")
        SUBMITTED = "submitted", _("finished")
        LEFT = "left", _("left early")

    class Verdict(models.TextChoices):
        PENDING = "pending", _("not yet checked")
        ACCEPTED = "accepted", _("accepted")
        EXCLUDED = "excluded", _("excluded")
        UNCHECKED = "unchecked", _("left before its test pairs were judged")
        HELD = "held", _("waiting: many pairs reported, or an unproven test pair failed")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    # The only index that begins with the worker is assignment_of_worker, so the planner cannot choose a worse one.
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    layout = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text=_("Which of the HIT's layouts it shows.")
    )
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    verdict = models.CharField(max_length=10, choices=Verdict, default=Verdict.PENDING)
    taken_at = models.DateTimeField()
    leased_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    judged = models.PositiveSmallIntegerField(default=0, help_text=_("Items judged when it was finished or left."))
    owed = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal(0))
    is_booked = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text=_("Whether its pay is in its platform's ledger, or its lab has marked all of it as paid."),
    )
    is_submitted = models.BooleanField(
        default=False, db_default=False, editable=False, help_text=_("Whether the platform said that it was submitted.")
    )
    receipt = models.CharField(max_length=20, blank=True)
    platform_assignment_id = models.TextField(
        blank=True,
        default="",
        help_text=_("The assignment's id at the platform. After a return, the platform may give it to another worker."),
    )
    # Until the platform confirms whose work it is, only what came from the same place is held against a worker.
    came_from = models.CharField(
        max_length=16,
        blank=True,
        default="",
        help_text=_("A keyed digest of the address that a frame was opened from."),
    )

    # Those that a platform pays are counted apart. What is summed up is what is owed for work that has ended.
    tallies = [
        rows_counted(
            "work",
            "tasks_assignment",
            "concat_ws('/', state, verdict, (platform_assignment_id <> '')::int)",
            amount="CASE WHEN finished_at IS NULL THEN 0 ELSE owed END",
        ),
        Counted(
            "workers",
            "SELECT '', count(DISTINCT worker_id), 0, 0 FROM tasks_assignment WHERE campaign_id = %(campaign)s "
            "HAVING count(*) > 0",
        ),
    ]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hit", "worker", "platform_assignment_id"],
                condition=~Q(platform_assignment_id=""),
                name="assignment_platform_id_once_per_worker",
            ),
            # At a platform, anyone can type a worker's ids, so each assignment id has its own row.
            models.UniqueConstraint(
                fields=["hit", "worker"], condition=Q(platform_assignment_id=""), name="assignment_once_per_worker"
            ),
            # A platform lets its workers hold several tasks, and counts them itself.
            models.UniqueConstraint(
                fields=["campaign", "worker"],
                condition=Q(state="active", platform_assignment_id=""),
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
            # judgments.selectors.abandoned()
            models.Index(fields=["leased_until"], condition=Q(state="active"), name="assignment_going_on"),
            # judgments.selectors: a campaign's assignments, newest first
            models.Index(fields=["campaign", "-id"], name="assignment_newest_first"),
            # judgments.watching, judgments.alarm_checks: what was checked last
            models.Index(
                fields=["campaign", "-finished_at", "-id"],
                condition=Q(verdict__in=["accepted", "excluded"]),
                name="assignment_checked_last",
            ),
            # judgments.watching: what waits for a person, which is mostly nothing
            models.Index(fields=["campaign"], condition=Q(verdict="held"), name="assignment_held"),
            # platforms.money.pay_desk: ended work that is owed and not booked
            models.Index(
                fields=["campaign", "finished_at"],
                condition=Q(is_booked=False, finished_at__isnull=False, owed__gt=0),
                name="assignment_unbooked",
            ),
            # platforms.attention: what was taken last
            models.Index(fields=["campaign", "taken_at"], name="assignment_taken"),
            # platforms.finishing, platforms.reviewing.compensations: what may still be submitted, or never was
            models.Index(
                fields=["campaign", "finished_at"],
                condition=Q(is_submitted=False) & ~Q(platform_assignment_id=""),
                name="assignment_unsubmitted",
            ),
            # tasks.next_hit: whether a worker has taken a HIT, and their last ones
            models.Index(fields=["worker", "campaign", "hit"], name="assignment_of_worker"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"

    @property
    def state_in_words(self) -> str:
        """Its state, as people are told."""
        if self.state == self.State.ACTIVE and self.leased_until <= timezone.now():
            return str(_("not finished in time"))
        return self.get_state_display()

    @property
    def items(self) -> models.QuerySet[Item]:
        """What it shows: the items of its layout, in no order."""
        return Item.objects.filter(hit_id=self.hit_id, layout=self.layout)


class PayWords(models.Model):
    """What people who come by a link or from a panel read about their pay, in the researcher's words."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="pay_words")
    how = models.TextField(blank=True, max_length=2000)
    asked = models.CharField(
        max_length=200, blank=True, help_text=_("What they are asked for so that they can be paid. Empty: nothing.")
    )

    audit = Audit(
        Group.WORDING,
        insert=_("wrote how people are paid for %(campaign)s"),
        update=_("changed how people are paid for %(campaign)s: %(fields)s"),
        delete=_("deleted how people are paid for %(campaign)s"),
    )

    def __str__(self) -> str:
        return f"pay of {self.campaign_id}"


class PayDetail(models.Model):
    """What somebody left so that they can be paid for a campaign. Sealed: the database cannot tell it."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="pay_details")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="pay_details")
    sealed = models.TextField(help_text=_("Never exported with judgments."))
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["worker", "campaign"], name="pay_detail_once")]

    def __str__(self) -> str:
        return f"for paying {self.worker_id}"


class Practice(models.Model):
    """One go of a worker at a campaign's practice pairs, begun at an assignment. Never judgments, never exported.

    `answers` are sides by position (from "1"); the first answer to a pair stands. `number` counts the worker's goes.
    """

    class State(models.TextChoices):
        ACTIVE = "active", _("being done")
        DONE = "done", _("done")
        SKIPPED = "skipped", _("skipped")
        PASSED = "passed", _("passed")
        FAILED = "failed", _("not passed")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="practices", db_index=False)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="practices", db_index=False)
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="practices")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    answers = models.JSONField(default=dict)
    right = models.PositiveSmallIntegerField(default=0)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "number"], name="practice_once"),
            models.CheckConstraint(
                condition=Q(state="active", ended_at__isnull=True) | (~Q(state="active") & Q(ended_at__isnull=False)),
                name="practice_ended_has_a_time",
            ),
        ]
        indexes = [
            # judgments.selectors.shown_item(): whether a worker has practised; tasks.practice.goes_of()
            models.Index(fields=["worker", "campaign"], name="practice_of_worker"),
            # tasks.practice.practice_counts()
            models.Index(fields=["campaign", "state"], name="practice_of_campaign"),
        ]

    def __str__(self) -> str:
        return f"practice {self.pk}"


class CampaignAlarm(AlarmKind):
    """What a person must look at in a campaign and its jobs."""

    PACKING = "packing", _("packing the HITs")
    RESULTS = "results", _("computing the results")
    EXPORTS = "exports", _("making the export files")
    FILES = "files", _("deleting replaced files")
    SUMMARY = "summary", _("counting the work")
    WATCH = "watch", _("looking for problems")
    FAILING = "failing", AlarmTopic.QUALITY, _("many fail test pairs")
    FAST = "fast", AlarmTopic.QUALITY, _("many judge faster than anybody reads")
    TESTS = "tests", AlarmTopic.QUALITY, _("test pairs were set aside")
    STALLED = "stalled", AlarmTopic.STALLED, _("no work is accepted")
    NOBODY = "nobody", AlarmTopic.NOBODY, _("nobody comes")
    BUNDLE = "bundle", _("making the release bundle")
    ERASING = "erasing", _("erasing the whole campaign")
    ROUND = "round", _("the next round")


# --- what is at a platform that speaks the Mechanical Turk API
