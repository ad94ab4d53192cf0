"""What workers preferred, what was decided about their work, and which judgments count."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.recorded import Audit, Group
from pools.counting import Counted, rows_counted
from pools.models import Campaign, Pair
from runs.models import ImportedPreference, PreferenceImport
from tasks.models import Assignment, Item, Worker


class Judgment(models.Model):
    """What one worker preferred on one item of one assignment. Append-only: a changed mind is a newer row."""

    class Side(models.TextChoices):
        LEFT = "left", _("left")
        RIGHT = "right", _("right")

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="judgments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judgments")
    preferred = models.CharField(  # noqa: DJ001 - as null it is neither left nor right, in SQL too
        max_length=5, choices=Side, null=True, help_text=_("Empty for a tie, which only an imported one can be.")
    )
    shown_at = models.DateTimeField()
    made_at = models.DateTimeField()
    is_translated = models.BooleanField(
        default=False, db_default=False, help_text=_("Whether a browser had translated the page.")
    )

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
    def prefers_a(self) -> bool | None:
        """Whether the pair's a (a test pair's relevant passage) was preferred, on whichever side it was shown; None for
        a tie.
        """
        return is_for_a(self.preferred, self.item.a_left)


def is_for_a(preferred: str | None, a_left: bool) -> bool | None:
    """Whether whoever preferred this side preferred the pair's a, which was shown left or not; None for a tie."""
    return None if preferred is None else (preferred == Judgment.Side.LEFT) == a_left


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
            )
        ]

    def __str__(self) -> str:
        return f"{self.reason} on {self.item_id} in {self.assignment_id}"


class WorkerNote(models.Model):
    """What a worker wrote to the research group about an assignment, and what a person answered, which the worker reads
    with the receipt: an objection, a question, or that they were not paid, or too little.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="notes")
    text = models.TextField(help_text=_("Never exported."))
    made_at = models.DateTimeField()
    read_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    read_at = models.DateTimeField(null=True, help_text=_("Empty while it waits for a person."))
    about_pay = models.BooleanField(default=False, db_default=False)
    answer = models.TextField(blank=True, default="", db_default="", help_text=_("Never exported."))
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    answered_at = models.DateTimeField(null=True)

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

    audit = Audit(Group.DECISIONS, insert=_("decided on a reported pair in %(campaign)s: %(thing)s"))

    class Meta:
        # the newest of a pair
        indexes = [models.Index(fields=["pair", "-id"], name="pair_decision_newest_first")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


class Adjudication(models.Model):
    """What a person decided on a pair whose judgments disagree. It stands beside the judgments and changes none.

    While it stands, the pair counts as decided here, and not as its judgments say. Deciding again takes it back.
    """

    class Choice(models.TextChoices):
        A = "a", _("passage A")
        B = "b", _("passage B")
        TIE = "tie", _("equally good")
        UNSURE = "unsure", _("cannot say")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="adjudications")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="adjudications")
    choice = models.CharField(max_length=6, choices=Choice, help_text=_("“Cannot say” leaves the judgments to count."))
    note = models.TextField(blank=True, help_text=_("Exported with the decision."))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    undone_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    undone_at = models.DateTimeField(null=True, help_text=_("Empty while it stands."))

    audit = Audit(
        Group.DECISIONS,
        insert=_("settled a disagreement in %(campaign)s: %(thing)s"),
        update=_("took back how a disagreement in %(campaign)s was settled"),
        delete=_("deleted how a disagreement in %(campaign)s was settled"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pair"], condition=models.Q(undone_at__isnull=True), name="adjudication_stands_once"
            ),
            models.CheckConstraint(
                condition=models.Q(choice__in=["a", "b", "tie", "unsure"]), name="adjudication_choice"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.choice} on {self.pair_id}"


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

    tallies = [
        rows_counted(
            "accepted",
            "judgments_acceptance",
            "''",
            where="assignment_id IN (SELECT id FROM tasks_assignment WHERE campaign_id = %(campaign)s)",
        ),
        # pairs that have all the accepted judgments that they need
        Counted(
            "full",
            """SELECT '', count(*), 0, 0 FROM (
              SELECT FROM judgments_acceptance acceptance
                JOIN pools_pair pair ON pair.id = acceptance.pair_id
                JOIN pools_pool pool ON pool.id = pair.pool_id
                JOIN pools_campaign campaign ON campaign.id = pool.campaign_id
              WHERE campaign.id = %(campaign)s
              GROUP BY pair.id, campaign.id
              HAVING count(*) >= CASE WHEN campaign.origin IS NULL THEN campaign.overlap ELSE 1 END) pairs
            HAVING count(*) > 0""",
        ),
        # items of accepted work that were judged and are not reported
        Counted(
            "good",
            """SELECT '', count(*), 0, 0 FROM (
              SELECT DISTINCT judgment.assignment_id, judgment.item_id
              FROM tasks_assignment assignment
                JOIN judgments_judgment judgment ON judgment.assignment_id = assignment.id
                JOIN tasks_item item ON item.id = judgment.item_id
              WHERE assignment.campaign_id = %(campaign)s AND assignment.verdict = 'accepted'
                AND item.pair_id IS NOT NULL AND NOT EXISTS (
                  SELECT FROM judgments_pairreport report WHERE report.assignment_id = assignment.id
                    AND report.item_id = item.id AND report.withdrawn_at IS NULL)) good
            HAVING count(*) > 0""",
        ),
    ]

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
    prefers_a = models.BooleanField(null=True, help_text=_("Empty for a tie, which only an imported one can be."))

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
        BUNDLE = "bundle", _("release bundle")
        KEPT = "kept", _("report of earlier results")

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
                fields=["campaign", "kind", "name"], condition=models.Q(state="current"), name="stored_file_one_current"
            )
        ]
        # judgments.stored_files.replaced_delete()
        indexes = [models.Index(fields=["made_at"], condition=~models.Q(state="current"), name="stored_file_to_delete")]

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

    audit = Audit(Group.DECISIONS, insert=_("decided on work in %(campaign)s: %(thing)s"))

    class Meta:
        # judgments.selectors.decisions(): a campaign's decisions, newest first
        indexes = [models.Index(fields=["campaign", "-id"], name="decision_newest_first")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


# --- what a job counts for pages


class Summarized(models.Model):
    """What was seen of some work: over the newest judgment of each item, sides and times over pairs alone.

    `agreed` of `compared` times, an accepted judgment of another worker on the same pair was the same.
    """

    median_seconds = models.FloatField(null=True, help_text=_("Of one pair."))
    left_share = models.FloatField(null=True, help_text=_("How often the passage on the left was preferred."))
    pairs = models.PositiveIntegerField(default=0, help_text=_("Pairs judged."))
    tests = models.PositiveIntegerField(default=0, help_text=_("Test pairs judged."))
    passed = models.PositiveIntegerField(default=0)
    compared = models.PositiveIntegerField(default=0)
    agreed = models.PositiveIntegerField(default=0)
    translated = models.PositiveIntegerField(default=0, help_text=_("Judged on a page that a browser translated."))
    pass_share = models.FloatField(null=True, help_text=_("Of the test pairs judged."))
    agreement = models.FloatField(null=True, help_text=_("The share agreed of those compared."))

    class Meta:
        abstract = True


class AssignmentSummary(Summarized):
    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="summary")

    def __str__(self) -> str:
        return f"summary of assignment {self.assignment_id}"


class WorkerSummary(Summarized):
    """What was seen of one worker in one campaign."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="worker_summaries")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="summaries")
    correct_share = models.FloatField(null=True, help_text=_("How often they are right, by Dawid–Skene."))
    unguessed_share = models.FloatField(null=True, help_text=_("Judgments that are no guesses, by MACE."))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["worker", "campaign"], name="worker_summary_once")]

    def __str__(self) -> str:
        return f"summary of worker {self.worker_id} in {self.campaign_id}"


class CampaignSummary(Summarized):
    """What was seen of the accepted work of a campaign, when it was counted, and from what. Test pairs are those of
    excluded work too. `compared` are any two workers whose judgments of one pair count.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="summary")
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    newest_judgment = models.BigIntegerField(help_text=_("The key of the newest of work that went on; 0 without any."))
    made_at = models.DateTimeField()
    rests_until = models.DateTimeField(help_text=_("It is not counted again before."))

    def __str__(self) -> str:
        return f"summary of campaign {self.campaign_id}"

    @property
    def failed_share(self) -> float | None:
        """Of the test pairs judged."""
        return None if self.pass_share is None else 1 - self.pass_share


class Disagreement(models.Model):
    """A pair whose accepted judgments disagree: how many are for its a, and how many for its b."""

    pair = models.OneToOneField(Pair, on_delete=models.CASCADE, related_name="disagreement")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="disagreements", db_index=False)
    for_a = models.PositiveIntegerField()
    for_b = models.PositiveIntegerField()

    class Meta:
        # review.adjudicating.disagreements(): a campaign's, in the order of its pairs
        indexes = [models.Index(fields=["campaign", "pair"], name="disagreement_of_campaign")]

    def __str__(self) -> str:
        return f"{self.for_a} to {self.for_b} on {self.pair_id}"


# --- mails about alarms


class AlarmEpisode(models.Model):
    """A campaign has one kind of problem, from when it was noticed until it is gone."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="alarm_episodes")
    kind = models.CharField(max_length=30, help_text=_("Of an alarm of the campaign, or of its publication."))
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True, help_text=_("When everybody who wants to know was told."))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "kind"], condition=models.Q(ended_at=None), name="alarm_episode_one_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.campaign_id}"
