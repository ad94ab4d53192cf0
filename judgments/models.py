"""What workers preferred, what was decided about their work, and which judgments count."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Campaign, ImportedPreference, Pair, PreferenceImport
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
        """Whether the pair's a (a test pair's relevant passage) was preferred, on whichever side it was shown."""
        return (self.preferred == self.Side.LEFT) == self.item.a_left


class PairReport(models.Model):
    """A worker's word that something is wrong with one item. It is no judgment, and never counts against the worker.

    A report stands until the worker judges the item after all. While it stands, the item counts as answered for the
    worker's pay, no judgment of theirs on it counts, and a test pair is neither passed nor failed.
    """

    class Reason(models.TextChoices):
        LANGUAGE = "language", _("It is not in the language of this task")
        BROKEN = "broken", _("The text is broken or cut off")
        SAME = "same", _("Both passages say the same")
        UPSETTING = "upsetting", _("It is offensive or upsetting")
        OTHER = "other", _("Something else")

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="pair_reports")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="reports")
    reason = models.CharField(max_length=10, choices=Reason)
    note = models.TextField(blank=True, help_text=_("In the worker's words; never exported."))
    made_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True, help_text=_("When the worker judged it after all."))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "item"],
                condition=models.Q(withdrawn_at__isnull=True),
                name="pair_report_stands_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason} on {self.item_id} in {self.assignment_id}"


class WorkerNote(models.Model):
    """What a worker wrote to the research group from an assignment's receipt: an objection, or a question."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="notes")
    text = models.TextField(help_text=_("Never exported."))
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"note {self.pk} on {self.assignment_id}"


class PairDecision(models.Model):
    """What a person decided about a reported pair: to set it aside, or to ask about it again. Append-only.

    The newest decision holds, and reports made before it no longer count towards setting the pair aside.
    """

    class Kind(models.TextChoices):
        SET_ASIDE = "set_aside", _("set aside")
        ASKED_AGAIN = "asked", _("asked about again")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="pair_decisions")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="decisions")
    kind = models.CharField(max_length=10, choices=Kind)
    why = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        # the newest of a pair
        indexes = [models.Index(fields=["pair", "-id"], name="pair_decision_newest_first")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


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


class Reuse(models.Model):
    """What a campaign reuses of one source, another campaign or an import: fixed when the campaign is packed."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="reuses")
    source = models.ForeignKey(Campaign, null=True, on_delete=models.PROTECT, related_name="reused_by")
    imported = models.ForeignKey(PreferenceImport, null=True, on_delete=models.PROTECT, related_name="reused_by")
    judgment_count = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "source"], name="reuse_once_per_campaign"),
            models.UniqueConstraint(fields=["campaign", "imported"], name="reuse_once_per_import"),
            models.CheckConstraint(
                condition=models.Q(source__isnull=True, imported__isnull=False)
                | models.Q(source__isnull=False, imported__isnull=True),
                name="reuse_of_campaign_or_import",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judgment_count} in {self.campaign_id}"


class ReusedJudgment(models.Model):
    """A judgment made before, in another campaign or imported, that fills a slot of a pair. Never changed.

    A pair has as many of them as slots, or none. What becomes of the source later changes nothing here.
    """

    reuse = models.ForeignKey(Reuse, on_delete=models.PROTECT, related_name="judgments")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="reused", db_index=False)
    slot = models.PositiveSmallIntegerField()
    judgment = models.ForeignKey(Judgment, null=True, on_delete=models.PROTECT, related_name="reused")
    imported = models.ForeignKey(ImportedPreference, null=True, on_delete=models.PROTECT, related_name="reused")
    worker = models.ForeignKey(
        Worker, null=True, on_delete=models.PROTECT, related_name="+", help_text=_("Empty if it was imported.")
    )
    prefers_a = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "slot"], name="reused_judgment_one_per_slot"),
            models.UniqueConstraint(fields=["pair", "worker"], name="reused_judgment_one_per_worker"),
            models.UniqueConstraint(fields=["pair", "imported"], name="reused_judgment_imported_once"),
            models.CheckConstraint(
                condition=models.Q(judgment__isnull=True, worker__isnull=True, imported__isnull=False)
                | models.Q(judgment__isnull=False, worker__isnull=False, imported__isnull=True),
                name="reused_judgment_made_or_imported",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judgment_id or self.imported_id} for {self.pair_id}"


class StoredFile(models.Model):
    """A file that a job made from a campaign's judgments, in file storage: an export, a table, a figure, the report.

    All current files of a kind were made at one moment. Those that were replaced stay for a while, for whoever is
    downloading one.
    """

    class Kind(models.TextChoices):
        EXPORT = "export", _("export")
        RESULT = "result", _("result")

    class State(models.TextChoices):
        WRITING = "writing", _("being written")
        CURRENT = "current", _("current")
        REPLACED = "replaced", _("replaced")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="files")
    kind = models.CharField(max_length=6, choices=Kind)
    name = models.CharField(max_length=100)
    state = models.CharField(max_length=8, choices=State, default=State.WRITING)
    file = models.FileField(max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's, when it was made."))
    made_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "kind", "name"],
                condition=models.Q(state="current"),
                name="stored_file_one_current",
            )
        ]
        # judgments.stored_files.replaced_delete()
        indexes = [
            models.Index(fields=["made_at"], condition=~models.Q(state="current"), name="stored_file_to_delete"),
        ]

    def __str__(self) -> str:
        return self.name


class Export(models.Model):
    """When and from what a campaign's export files were last made, and what was counted at that moment."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="export")
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    software = models.CharField(max_length=50)
    newest_assignment = models.BigIntegerField(help_text=_("The key of the campaign's newest one; 0 without any."))
    newest_judgment = models.BigIntegerField(help_text=_("The key of the newest of work that went on; 0 without any."))
    counts = models.JSONField(help_text=_("judgments.selectors.Counts."))
    made_at = models.DateTimeField()
    seconds = models.FloatField(help_text=_("How long it took."))
    rests_until = models.DateTimeField(help_text=_("By itself it is not made again before."))

    def __str__(self) -> str:
        return f"exports of {self.campaign_id}"


class Decision(models.Model):
    """A decision about an assignment's data, or about a worker's further HITs, by the rule or a person. Append-only."""

    class Kind(models.TextChoices):
        EXCLUDED = "excluded", _("data excluded")
        RESTORED = "restored", _("data used again")
        BARRED = "barred", _("worker barred")
        UNBARRED = "unbarred", _("bar lifted")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="decisions")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="decisions")
    assignment = models.ForeignKey(Assignment, null=True, on_delete=models.PROTECT, related_name="decisions")
    kind = models.CharField(max_length=10, choices=Kind)
    why = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("Empty if the rule decided."),
    )
    at = models.DateTimeField()

    class Meta:
        # judgments.selectors.decisions(): a campaign's decisions, newest first
        indexes = [models.Index(fields=["campaign", "-id"], name="decision_newest_first")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"
