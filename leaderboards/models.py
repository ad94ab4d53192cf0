"""Leaderboards: boards and their policies, seasons, keys, teams, submissions, scores, and who looked at what."""

import secrets
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from core.comparing import ComparedField, ComparedModel
from core.models import Lab, Retried
from core.recorded import Audit, Group
from evaluation.boards import sealing
from evaluation.boards.checking import latest_embargo
from pools.models import Campaign, QrelsVersion
from runs.models import Collection

PERSON = settings.AUTH_USER_MODEL


def new_public_id() -> str:
    """What a submission is called in addresses and files: 16 characters that say nothing about it (64 bits)."""
    return secrets.token_hex(8)


def part_path(row: "SeasonFile", filename: str) -> str:
    """Files of a season lie under random names: whoever knows one knows no other."""
    return f"boards/seasons/{secrets.token_hex(16)}/{filename}"


def package_path(row: "Submission", filename: str) -> str:
    """Sealed packages lie under random names."""
    return f"boards/packages/{secrets.token_hex(16)}.sealed"


def opened_path(row: models.Model, filename: str) -> str:
    """What the evaluation keeps of a submission, sealed for this site."""
    return f"boards/artifacts/{secrets.token_hex(16)}/{filename}"


class Board(models.Model):
    """A leaderboard over a collection. What it measures is fixed by its first entry; its policy has versions.

    `measures` are names as ir_measures writes them, such as `RR@10`; the first ranks the entries.
    """

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="boards")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="boards")
    slug = models.SlugField(max_length=50, unique=True, help_text=_("Its name in addresses."))
    name = models.CharField(max_length=100)
    about = models.TextField(blank=True, help_text=_("What it measures, and what it does not."))
    measures = models.JSONField()
    hits = models.PositiveIntegerField(validators=[MinValueValidator(1)], help_text=_("What is beyond is cut."))
    fewer_refused = models.BooleanField(default=False, help_text=_("Otherwise it is only a warning."))
    order = models.CharField(max_length=5, choices=Campaign.Order, default=Campaign.Order.RANK)
    types = models.JSONField(help_text=_("What an entry's type may be."))
    is_public = models.BooleanField(default=False, help_text=_("Also without an account: its page, files and feed."))
    season_months = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(120)],
        help_text=_("After which the next season takes over, once its queries are there; 0: seasons have dates alone."),
    )
    publishes_qrels = models.BooleanField(
        default=False, help_text=_("Whether the eval qrels of a season become public by themselves when it closes.")
    )
    spot_checks = models.PositiveSmallIntegerField(
        default=2,
        validators=[MaxValueValidator(50)],
        help_text=_("How many entries are drawn each month for a closer look; 0: none."),
    )
    correction = models.CharField(
        max_length=10,
        choices=Campaign.Correction,
        default=Campaign.Correction.BONFERRONI,
        help_text=_("How bands correct for their many tests."),
    )
    created_by = models.ForeignKey(PERSON, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()

    audit = Audit(
        Group.BOARDS,
        insert=_("created the leaderboard %(thing)s"),
        update=_("changed the leaderboard %(thing)s: %(fields)s"),
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lab", "name"], name="board_name_once_per_lab")]

    def __str__(self) -> str:
        return self.name

    @property
    def ranking_measure(self) -> str:
        """The measure that orders the entries."""
        return str(self.measures[0])

    def season_due(self, at: datetime) -> datetime | None:
        """When the season that runs has run its months, and the next is to take over; None where none is due ever."""
        season = self.seasons.filter(opens_at__lte=at).order_by("-number").first()
        if not self.season_months or season is None or season.closes_at is not None:
            return None
        day = latest_embargo(season.opens_at.astimezone(UTC).date(), self.season_months) + timedelta(days=1)
        return datetime.combine(day, season.opens_at.astimezone(UTC).time(), UTC)

    def policy_at(self, at: datetime) -> "PolicyVersion":
        """The policy that holds at a time: before the first one begins, that one."""
        policy = self.policies.filter(begins_at__lte=at).order_by("-number").first()
        return policy or self.policies.earliest("number")


class PolicyVersion(models.Model):
    """A board's policy from a date on: its text and its numbers. Append-only, and never in force backwards.

    A submission is judged by the version that it accepted.
    """

    class Rule(models.TextChoices):
        PLAIN = "plain", _("every score")
        LADDER = "ladder", _("Ladder: a score that improves on the team's best by more than a step")
        BOOTSTRAP = "bootstrap", _("bootstrap Ladder: the same, on resampled queries")
        TESTED = "tested", _("tested Ladder: the same, the stricter the more looks the team has had")

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="policies")
    number = models.PositiveIntegerField()
    text = models.TextField()
    begins_at = models.DateTimeField()
    why = models.TextField(blank=True)
    quota_runs = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    quota_days = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    embargo_months = models.PositiveIntegerField(
        validators=[MaxValueValidator(60)], help_text=_("How long an entry may be anonymous; 0: not at all.")
    )
    release_rule = models.CharField(max_length=9, choices=Rule, default=Rule.TESTED)
    release_step = models.DecimalField(
        max_digits=6,
        decimal_places=5,
        null=True,
        blank=True,
        help_text=_(
            "Under every rule but “every score”. Empty: the standard error of the difference for the "
            "Ladder, and any gain that passes the test for the other two."
        ),
    )
    auto_publish = models.BooleanField(default=False)
    promised_days = models.PositiveIntegerField()
    choice_days = models.PositiveSmallIntegerField(
        default=0, validators=[MaxValueValidator(365)], help_text=_("0: every evaluated run counts.")
    )
    alike_threshold = models.DecimalField(
        max_digits=4,
        decimal_places=3,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("Rank-biased overlap of the top 10."),
    )
    made_by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    audit = Audit(Group.BOARDS, insert=_("wrote the policy of a leaderboard: %(thing)s"))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="policy_number_once"),
            models.CheckConstraint(condition=Q(begins_at__gte=F("made_at")), name="policy_acts_forward"),
            models.CheckConstraint(
                condition=Q(release_step__isnull=True) | Q(release_step__gt=0), name="policy_step_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"policy {self.number} of {self.board_id}"


class BoardKey(models.Model):
    """A key pair that packages are sealed for. A retired one still opens what was sealed for it."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="keys")
    public_pem = models.TextField()
    private_sealed = models.TextField(help_text=_("core.sealing"))
    fingerprint = models.CharField(max_length=100, unique=True)
    made_by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)

    audit = Audit(
        Group.BOARDS,
        insert=_("made a key of a leaderboard: %(thing)s"),
        update=_("retired a key of a leaderboard: %(thing)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["board"], condition=Q(retired_at=None), name="board_key_one_in_use")
        ]

    def __str__(self) -> str:
        """The fingerprint as the command prints it."""
        return sealing.spaced(self.fingerprint)


class Season(models.Model):
    """A period of a board with queries of its own. What comes after its end is listed apart, without ranks."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="seasons")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=100)
    opens_at = models.DateTimeField()
    closes_at = models.DateTimeField(null=True, blank=True)
    eval_qrels_published_at = models.DateTimeField(null=True, blank=True)

    audit = Audit(
        Group.BOARDS,
        insert=_("added the season %(thing)s to a leaderboard"),
        update=_("changed the season %(thing)s of a leaderboard: %(changes)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="season_number_once"),
            models.UniqueConstraint(fields=["board", "name"], name="season_name_once"),
            models.CheckConstraint(
                condition=Q(closes_at__isnull=True) | Q(closes_at__gt=F("opens_at")), name="season_opens_before_closing"
            ),
            models.CheckConstraint(
                condition=Q(eval_qrels_published_at__isnull=True)
                | Q(closes_at__isnull=False, eval_qrels_published_at__gte=F("closes_at")),
                name="season_closed_before_qrels_are_public",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def is_open(self, at: datetime) -> bool:
        """Whether entries that come now get ranks."""
        return self.opens_at <= at and (self.closes_at is None or at < self.closes_at)


class SeasonFile(models.Model):
    """A file of a season. The eval qrels are never served while the season's are not published."""

    class Part(models.TextChoices):
        DEV_QUERIES = "dev_queries", _("dev queries")
        DEV_QRELS = "dev_qrels", _("dev qrels")
        EVAL_QUERIES = "eval_queries", _("eval queries")
        EVAL_QRELS = "eval_qrels", _("eval qrels")
        DEV_CANDIDATES = "dev_candidates", _("candidates for reranking, dev")
        EVAL_CANDIDATES = "eval_candidates", _("candidates for reranking, eval")
        DEV_GROUPS = "dev_groups", _("groups of dev queries")

    season = models.ForeignKey(Season, on_delete=models.PROTECT, related_name="files")
    part = models.CharField(max_length=15, choices=Part)
    file = models.FileField(upload_to=part_path, max_length=255)
    name = models.CharField(max_length=255, help_text=_("As it is downloaded."))
    size = models.PositiveBigIntegerField(help_text=_("In bytes."))
    sha256 = models.CharField(max_length=64)
    counts = models.JSONField(
        default=dict, help_text=_("Queries and lines; of queries their words, of qrels the relevant ones.")
    )
    added_at = models.DateTimeField()

    audit = Audit(Group.BOARDS, insert=_("added a file to a season of a leaderboard: %(thing)s"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["season", "part"], name="season_file_once_per_part")]

    def __str__(self) -> str:
        return f"{self.get_part_display()} of {self.season_id}"


class Team(ComparedModel):
    """A group of an organization that takes part in a lab's boards. Two groups of one organization are two teams."""

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="teams")
    public_id = models.CharField(max_length=16, unique=True, default=new_public_id)
    organization = models.CharField(max_length=100)
    organization_key = ComparedField(of="organization")
    group = models.CharField(max_length=100)
    group_key = ComparedField(of="group")
    contributors = models.TextField(blank=True)
    created_by = models.ForeignKey(PERSON, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(PERSON, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    merged_into = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="merged")

    audit = Audit(
        Group.BOARDS, insert=_("registered the team %(thing)s"), update=_("changed the team %(thing)s: %(changes)s")
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["lab", "organization_key", "group_key"], name="team_once_per_lab"),
            models.CheckConstraint(
                condition=Q(merged_into__isnull=True) | ~Q(merged_into=F("id")), name="team_merged_into_another"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group}, {self.organization}"


class TeamMember(models.Model):
    """Somebody who may submit for a team, and see what became of it."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="members")
    user = models.ForeignKey(PERSON, on_delete=models.CASCADE, related_name="team_memberships")
    joined_at = models.DateTimeField()

    audit = Audit(Group.BOARDS, insert=_("added %(person)s to a team"), delete=_("removed %(person)s from a team"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="team_member_once")]

    def __str__(self) -> str:
        return f"{self.user_id} of {self.team_id}"


class FormerMember(models.Model):
    """Somebody who left a team: what the team was shown until then still counts for them. Append-only."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="former_members")
    user = models.ForeignKey(PERSON, on_delete=models.CASCADE, related_name="former_teams")
    left_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user_id}, once of {self.team_id}"


class TeamInvitation(models.Model):
    """A link that lets somebody take part: into a team, or (without one) to found one. Once used, it has no address.

    Without `invited_by`, somebody asked for it on the board's page.
    """

    board = models.ForeignKey(Board, on_delete=models.CASCADE, related_name="invitations")
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(blank=True)
    invited_by = models.ForeignKey(PERSON, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(PERSON, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(revoked_at=None) | Q(accepted_at=None), name="team_invitation_revoked_or_accepted"
            )
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} to {self.board_id}"


class Submission(Retried):
    """A run that a team sent to a board, or an entry of an imported board, which has no run.

    It is an entry once it is published. Order, ties, trophies, quota and embargo go by `arrived_at`, then by key.
    """

    class State(models.TextChoices):
        RECEIVED = "received", _("received")
        CHECKED = "checked", _("checked")
        REFUSED = "refused", _("refused by the check")
        EVALUATING = "evaluating", _("being evaluated")
        FAILED = "failed", _("evaluation failed")
        CHOOSING = "choosing", _("waiting for its team")
        WAITING = "waiting", _("waiting for the organizers")
        PUBLISHED = "published", _("published")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")
        CANCELED = "canceled", _("canceled")

    class Origin(models.TextChoices):
        SITE = "site", _("submitted here")
        IMPORTED = "imported", _("imported")

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="submissions")
    season = models.ForeignKey(Season, on_delete=models.PROTECT, related_name="submissions")
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT, related_name="submissions")
    public_id = models.CharField(max_length=16, unique=True, default=new_public_id)
    run_id = models.CharField(max_length=60, help_text=_("yyyymmdd-name, once in each board, for ever."))
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.SITE)
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    arrived_at = models.DateTimeField(help_text=_("By this server; of an imported entry its date, at midnight UTC."))
    submitted_by = models.ForeignKey(PERSON, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.ForeignKey(PolicyVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    # what it says about itself
    type = models.CharField(max_length=50)
    team_words = models.TextField(help_text=_("What the entry calls its team."))
    description = models.TextField()
    paper = models.TextField(blank=True)
    code = models.TextField(blank=True)
    link = models.TextField(blank=True, help_text=_("Of an imported entry: where it was announced."))
    metadata = models.JSONField(default=dict, help_text=_("All that its metadata says, unknown fields too."))
    embargo_until = models.DateField(null=True, blank=True, help_text=_("It is anonymous until 00:00 UTC of that day."))
    is_baseline = models.BooleanField(default=False, help_text=_("The organizers' own; it gets no trophy."))
    flag = models.TextField(blank=True, help_text=_("What the organizers say about a published entry, for everybody."))

    # the package, and what was done with it
    package = models.FileField(upload_to=package_path, max_length=255, blank=True)
    package_size = models.PositiveBigIntegerField(default=0)
    package_sha256 = models.CharField(max_length=64, blank=True)
    key = models.ForeignKey(BoardKey, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    diagnostics = models.JSONField(default=dict, help_text=_("What the check said: evaluation.boards.checking."))
    alike = models.JSONField(
        default=list, help_text=_("Entries that it resembles, for organizers: evaluation.boards.alike.")
    )
    begun_at = models.DateTimeField(null=True, blank=True, help_text=_("The last attempt."))
    evaluated_at = models.DateTimeField(null=True, blank=True)
    waiting_since = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    audit = Audit(
        Group.BOARDS, insert=_("submitted the run %(thing)s"), update=_("changed the submission %(thing)s: %(fields)s")
    )

    class Meta:
        constraints = [
            models.UniqueConstraint("board", Lower("run_id"), name="submission_id_once_for_ever"),
            # the same bytes sent again, under whatever id
            models.UniqueConstraint(
                fields=["board", "package_sha256"], condition=~Q(package_sha256=""), name="submission_package_once"
            ),
            models.CheckConstraint(
                condition=Q(origin="imported") | Q(team__isnull=False, policy__isnull=False),
                name="submission_has_team_and_policy",
            ),
            models.CheckConstraint(
                condition=~Q(state="published") | Q(published_at__isnull=False), name="submission_published_at_a_time"
            ),
            models.CheckConstraint(
                condition=~Q(state="withdrawn") | Q(withdrawn_at__isnull=False), name="submission_withdrawn_at_a_time"
            ),
        ]
        indexes = [
            # leaderboards.selectors.entries(): a board in order of arrival
            models.Index(fields=["board", "arrived_at", "id"], name="submission_by_arrival"),
            # leaderboards.jobs.evaluate
            models.Index(
                fields=["id"],
                condition=Q(state__in=["received", "checked", "evaluating"]),
                name="submission_to_evaluate",
            ),
        ]

    def __str__(self) -> str:
        return self.run_id

    @property
    def promised_at(self) -> datetime | None:
        """By when the organizers promised to decide, by the policy that it accepted; None while it does not wait."""
        if self.waiting_since is None or self.policy is None:
            return None
        return self.waiting_since + timedelta(days=self.policy.promised_days)

    @property
    def choose_by(self) -> datetime | None:
        """By when its team says whether it counts; None while it is not asked."""
        if self.state != self.State.CHOOSING or self.evaluated_at is None or self.policy is None:
            return None
        return self.evaluated_at + timedelta(days=self.policy.choice_days)

    def is_hidden(self, at: datetime) -> bool:
        """Whether it is under embargo: from 00:00 UTC of `embargo_until` on it is not."""
        return self.embargo_until is not None and at.astimezone(UTC).date() < self.embargo_until


class Part(models.TextChoices):
    """Which queries a score or a file is about."""

    DEV = "dev", _("dev")
    EVAL = "eval", _("eval")


class Artifact(models.Model):
    """The top of a submission's run (evaluation.files.artifact), sealed for this site: leaderboards.artifacts.

    `top` has the few passages of each query that RR looks at, once more (evaluation.files.tops): each version of the
    qrels reads all entries. It is empty where ids do not fit into one, and of older runs until it is first needed.
    """

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="artifacts")
    part = models.CharField(max_length=4, choices=Part)
    file = models.FileField(upload_to=opened_path, max_length=255)
    top = models.FileField(upload_to=opened_path, max_length=255, blank=True)
    size = models.PositiveBigIntegerField(help_text=_("In bytes, sealed."))
    sha256 = models.CharField(max_length=64, help_text=_("Of what is sealed in it."))
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "part"], name="artifact_once_per_part")]

    def __str__(self) -> str:
        return f"{self.part} of {self.submission_id}"


class Score(models.Model):
    """What a submission scores by one measure. Without a `version`, on the season's qrels.

    `fraction` is the exact mean, as `numerator/denominator`; of an imported entry, the number as it was published.
    `per_query` has a float for each query, sealed for this site, in the order of the season's qrels. `groups`: on dev,
    by group of the season's queries, the exact mean and of how many queries (`fraction`, `queries`).
    """

    class Origin(models.TextChoices):
        COMPUTED = "computed", _("computed here")
        PUBLISHED = "published", _("as published elsewhere")

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="scores")
    part = models.CharField(max_length=4, choices=Part)
    measure = models.CharField(max_length=50)
    version = models.ForeignKey(
        QrelsVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="board_scores"
    )
    origin = models.CharField(max_length=9, choices=Origin, default=Origin.COMPUTED)
    fraction = models.TextField()
    value = models.FloatField(help_text=_("The same, to sort and to draw by."))
    query_count = models.PositiveIntegerField(null=True, help_text=_("Of the mean; not known of imported ones."))
    per_query = models.FileField(upload_to=opened_path, max_length=255, blank=True)
    groups = models.JSONField(default=dict, blank=True)
    software = models.CharField(max_length=50, blank=True)
    scored_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "part", "measure", "version", "origin"], name="score_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.measure} ({self.part}) of {self.submission_id}"


class Release(models.Model):
    """What the release rule let be shown of a submission's eval score, and why. Append-only.

    Not shown means: no gain over `reference`, the team's own last published best, or that of its people elsewhere.
    """

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="release")
    is_shown = models.BooleanField()
    fraction = models.TextField(blank=True, help_text=_("What is shown, as Score has it; empty if nothing is."))
    rule = models.CharField(max_length=9, choices=PolicyVersion.Rule)
    why = models.TextField(help_text=_("evaluation.boards.ladder.Release"))
    reference = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(is_shown=True) & ~Q(fraction="") | Q(is_shown=False, fraction="", reference__isnull=False),
                name="release_shows_a_score_or_names_a_reference",
            )
        ]

    def __str__(self) -> str:
        return f"release of {self.submission_id}"


class Look(models.Model):
    """An answer of the release rule that was shown: it counts for person, team and organization. Append-only."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="looks")
    season = models.ForeignKey(Season, on_delete=models.PROTECT, related_name="+")
    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="look")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="looks")
    organization = models.CharField(max_length=100, help_text=_("The team's then, in lower case."))
    person = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        # leaderboards.selectors.looks_of(): how many a person and an organization had
        indexes = [
            models.Index(fields=["board", "organization"], name="look_of_organization"),
            models.Index(fields=["board", "person"], name="look_of_person"),
        ]

    def __str__(self) -> str:
        return f"a look at {self.submission_id}"


class Opening(models.Model):
    """Somebody, or a job, opened something sealed of a submission. Append-only, and shown to its team."""

    class What(models.TextChoices):
        PACKAGE = "package", _("the sealed package")
        ARTIFACT = "artifact", _("the top of the run")
        PER_QUERY = "per_query", _("the scores of each query")
        EXPORT = "export", _("everything, for an export")
        SCORES = "scores", _("the eval scores")

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="openings")
    what = models.CharField(max_length=9, choices=What)
    by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    job = models.CharField(max_length=100, blank=True, help_text=_("The job that did it, if no person."))
    why = models.TextField()
    at = models.DateTimeField()

    audit = Audit(Group.BOARDS, insert=_("opened %(thing)s of a submission"))

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(by__isnull=False) | ~Q(job=""), name="opening_by_somebody"),
            models.CheckConstraint(condition=~Q(why=""), name="opening_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.what} of {self.submission_id}"


class OrderCheck(models.Model):
    """How sure the order of a season's entries was at a moment: intervals, bands, and ranks on resampled queries.

    `entries` has an object for each, as leaderboards.order_checks.Line, the best mean first. Append-only.
    """

    season = models.ForeignKey(Season, on_delete=models.PROTECT, related_name="order_checks")
    part = models.CharField(max_length=4, choices=Part)
    is_public = models.BooleanField(help_text=_("Whether the release rule lets everybody see it."))
    queries = models.PositiveIntegerField()
    draws = models.PositiveIntegerField(help_text=_("How often the queries were drawn anew."))
    seed = models.PositiveIntegerField()
    correction = models.CharField(
        max_length=10,
        choices=Campaign.Correction,
        default=Campaign.Correction.BONFERRONI,
        help_text=_("How its bands correct for their many tests."),
    )
    entries = models.JSONField()
    made_by = models.ForeignKey(
        PERSON,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("Nobody: the monthly one."),
    )
    made_at = models.DateTimeField()

    class Meta:
        # leaderboards.order_checks.checks_of()
        indexes = [models.Index(fields=["season", "part", "-made_at"], name="order_check_newest")]

    def __str__(self) -> str:
        return f"order of {self.season_id} on {self.part}"


class SeasonCheck(models.Model):
    """What was found when the entries of a season were last looked at: whether the gap of dev and eval grows, and
    whether each new best was significantly better than the best before it.

    `side`: the scores that rise faster than the others by more than chance explains, "eval" or "dev"; empty for none.
    `bests`: by public id, p of the paired t-test by part, of the parts on which everybody may compare the two.
    """

    season = models.OneToOneField(Season, on_delete=models.CASCADE, related_name="check_of_entries")
    checked_at = models.DateTimeField()
    bests = models.JSONField(default=dict)
    side = models.CharField(max_length=4, choices=Part, blank=True)
    since = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(side="", since__isnull=True) | (~Q(side="") & Q(since__isnull=False)),
                name="gap_grows_since_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"check of {self.season_id}"


class SpotCheck(models.Model):
    """An entry that was drawn at random for a closer look, and what an organizer found. `month`: its first day."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="drawn_checks")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="spot_checks")
    month = models.DateField()
    drawn_at = models.DateTimeField()
    note = models.TextField(blank=True)
    done_by = models.ForeignKey(PERSON, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    done_at = models.DateTimeField(null=True, blank=True)

    audit = Audit(
        Group.BOARDS,
        insert=_("drew an entry of a leaderboard for a spot check: %(thing)s"),
        update=_("made a spot check of an entry: %(thing)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["board", "month", "submission"], name="spot_check_once_a_month"),
            models.CheckConstraint(
                condition=Q(done_at=None, note="") | (Q(done_at__isnull=False) & ~Q(note="")),
                name="spot_check_done_with_a_note",
            ),
        ]

    def __str__(self) -> str:
        return f"spot check of {self.submission_id}, {self.month:%Y-%m}"


class SubmissionEvent(models.Model):
    """A submission came into a state. Append-only."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="events")
    state = models.CharField(max_length=10, choices=Submission.State)
    by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    note = models.TextField(blank=True, help_text=_("What the participant is told about it."))
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.submission_id}: {self.state}"


class Decision(models.Model):
    """What an organizer ruled on a submission or a team, with a reason. Append-only."""

    class Kind(models.TextChoices):
        PUBLISH = "publish", _("published")
        REJECT = "reject", _("rejected")
        FLAG = "flag", _("flagged")
        UNFLAG = "unflag", _("flag taken away")
        BASELINE = "baseline", _("marked as the organizers' baseline")
        REEVALUATE = "reevaluate", _("evaluated again")
        EXTEND = "extend", _("embargo extended")
        VARIANT = "variant", _("marked as a variant")
        CONFIRM = "confirm", _("team confirmed")
        MERGE = "merge", _("teams merged")
        EXEMPT = "exempt", _("exempted from the quota")
        METADATA = "metadata", _("metadata decided on")

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="decisions")
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="decisions"
    )
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT, related_name="decisions")
    kind = models.CharField(max_length=10, choices=Kind)
    details = models.JSONField(default=dict, help_text=_("What it changed, before and after."))
    reason = models.TextField()
    by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    audit = Audit(Group.BOARDS, insert=_("decided on a leaderboard: %(thing)s"))

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="board_decision_has_a_reason"),
            models.CheckConstraint(
                condition=Q(submission__isnull=False) | Q(team__isnull=False), name="board_decision_about_something"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.submission_id or self.team_id}"


class SubmissionMessage(models.Model):
    """What a participant and the organizers wrote to each other at a submission. Append-only."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="messages")
    by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    is_organizers = models.BooleanField(help_text=_("Whether it is from the organizers."))
    text = models.TextField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"message at {self.submission_id}"


class MetadataRequest(models.Model):
    """A team asks for other metadata of a submission: what it says now and what it is to say, side by side."""

    class Kind(models.TextChoices):
        LINKS = "links", _("links")
        TYPO = "typo", _("a typo")
        DESCRIPTION = "description", _("a clearer description")
        TEAM = "team", _("the team's name")
        COSTS = "costs", _("what the run costs")
        OLD_KEY = "old_key", _("new metadata under the old key")

    class State(models.TextChoices):
        OPEN = "open", _("open")
        ACCEPTED = "accepted", _("accepted")
        REFUSED = "refused", _("refused")
        TAKEN_BACK = "taken_back", _("taken back")

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="metadata_requests")
    kind = models.CharField(max_length=11, choices=Kind)
    before = models.JSONField()
    after = models.JSONField()
    why = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    asked_by = models.ForeignKey(PERSON, null=True, on_delete=models.SET_NULL, related_name="+")
    asked_at = models.DateTimeField()
    decided_by = models.ForeignKey(PERSON, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    audit = Audit(
        Group.BOARDS,
        insert=_("asked for other metadata of a submission: %(thing)s"),
        update=_("decided on other metadata of a submission: %(thing)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["submission"], condition=Q(state="open"), name="metadata_request_one_open")
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.submission_id}"


class DevScoring(models.Model):
    """A run on the dev queries that a participant wants scored, at will: no entry comes of it.

    With an `entry`, an imported one, the organizers add its run: the scores become that entry's, beside the published.
    Its run on the eval queries may be scored too, for the organizers' eyes.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused by the check")
        FAILED = "failed", _("failed")

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="dev_scorings")
    part = models.CharField(max_length=4, choices=Part, default=Part.DEV, db_default=Part.DEV)
    entry = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="dev_scorings")
    asked_by = models.ForeignKey(PERSON, on_delete=models.CASCADE, related_name="dev_scorings")
    asked_at = models.DateTimeField()
    name = models.CharField(max_length=255, help_text=_("As the sender called the file."))
    file = models.FileField(upload_to=opened_path, max_length=255, blank=True)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    diagnostics = models.JSONField(default=dict)
    scores = models.JSONField(default=dict, help_text=_("By measure, the exact mean as numerator/denominator."))
    tries = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["id"], condition=Q(state="waiting"), name="dev_scoring_waiting")]
        constraints = [
            models.CheckConstraint(condition=Q(part="dev") | Q(entry__isnull=False), name="eval_is_scored_of_an_entry")
        ]

    def __str__(self) -> str:
        return self.name


class Upkeep(models.Model):
    """How a board's best known answers are kept current, if they are: what starts by itself, and what it may cost."""

    board = models.OneToOneField(Board, on_delete=models.PROTECT, related_name="upkeep")
    is_on = models.BooleanField(default=False)
    runs_itself = models.BooleanField(
        default=False, help_text=_("Whether campaigns start without anybody's approval, within the budget.")
    )
    covers_eval = models.BooleanField(
        default=False, help_text=_("Whether workers also compare passages of the eval queries.")
    )
    template = models.ForeignKey(
        "pools.CampaignTemplate",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Settings, wording and platform of the campaigns."),
    )
    tests_from = models.ForeignKey(
        Campaign,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Whose confirmed test pairs the campaigns use."),
    )
    fewest = models.PositiveIntegerField(default=10, validators=[MinValueValidator(1)])
    every_days = models.PositiveIntegerField(default=14, validators=[MaxValueValidator(366)])
    campaign_dollars = models.DecimalField(max_digits=9, decimal_places=2, default=100)
    year_dollars = models.DecimalField(max_digits=9, decimal_places=2, default=1000)
    changed_by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField()

    audit = Audit(
        Group.BOARDS,
        insert=_("set the upkeep of the leaderboard %(thing)s"),
        update=_("changed the upkeep of the leaderboard %(thing)s: %(changes)s"),
    )

    class Meta:
        verbose_name_plural = "upkeep"
        constraints = [
            models.CheckConstraint(
                condition=Q(campaign_dollars__gte=0, year_dollars__gte=0), name="upkeep_budget_not_negative"
            )
        ]

    def __str__(self) -> str:
        return f"upkeep of {self.board_id}"


class VersionEntry(models.Model):
    """That an entry was scored on a version of the preference qrels, and searched for challengers of it.

    `error` is why it could not be, most likely since file storage was away: it is tried again.
    """

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="version_entries")
    version = models.ForeignKey(QrelsVersion, on_delete=models.PROTECT, related_name="board_entries")
    error = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "version entries"
        constraints = [models.UniqueConstraint(fields=["submission", "version"], name="version_entry_once")]

    def __str__(self) -> str:
        return f"{self.submission_id} on {self.version_id}"


class UpkeepRound(Retried):
    """One small campaign in which challengers are judged: proposed, approved, set up, judged, and what came of it.

    `version` is what it made of the preference qrels, if anything changed.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", _("waiting for approval")
        APPROVED = "approved", _("being set up")
        JUDGING = "judging", _("being judged")
        DONE = "done", _("done")
        DECLINED = "declined", _("ended without a version")

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="upkeep_rounds")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    dollars = models.DecimalField(max_digits=9, decimal_places=2, help_text=_("What it may cost, by its bill."))
    spent = models.DecimalField(max_digits=9, decimal_places=2, null=True, help_text=_("What it cost."))
    proposed_at = models.DateTimeField()
    decided_by = models.ForeignKey(PERSON, null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True, help_text=_("Why it was approved, or ended."))
    campaign = models.OneToOneField(
        Campaign, null=True, on_delete=models.SET_NULL, related_name="upkeep_round", help_text=_("Made when approved.")
    )
    version = models.ForeignKey(QrelsVersion, null=True, on_delete=models.PROTECT, related_name="upkeep_rounds")
    obstacle = models.TextField(blank=True, help_text=_("Why it does not go on at the moment."))
    nobody_qualifies = models.BooleanField(
        default=False, help_text=_("Whether the obstacle is that no active worker may take its campaign.")
    )
    although_nobody_qualifies = models.BooleanField(
        default=False, help_text=_("Whether somebody wants its campaign published even so.")
    )
    ended_at = models.DateTimeField(null=True)

    audit = Audit(
        Group.BOARDS,
        insert=_("proposed a round of upkeep: %(thing)s"),
        update=_("took a round of upkeep further, %(thing)s: %(changes)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="upkeep_round_number_once"),
            models.UniqueConstraint(fields=["board"], condition=Q(ended_at=None), name="upkeep_round_one_open"),
            models.CheckConstraint(
                condition=Q(state__in=["done", "declined"], ended_at__isnull=False)
                | Q(state__in=["proposed", "approved", "judging"], ended_at__isnull=True),
                name="upkeep_round_ends_once",
            ),
            models.CheckConstraint(
                condition=~Q(state="judging") | Q(campaign__isnull=False), name="upkeep_round_judges_in_a_campaign"
            ),
        ]

    def __str__(self) -> str:
        return f"round {self.number} of {self.board_id}"


class Challenger(models.Model):
    """A passage that entries rank first for a query, and that was never judged against its best known answers.

    `first` is the entry that brought it first, as far as it was scored then. Once it has an `outcome`, that stays:
    nothing came of `undecided` ones in several rounds, and only withdrawn entries had the `dropped` ones.
    """

    class Outcome(models.TextChoices):
        OPEN = "", _("waiting")
        WON = "won", _("replaced an answer")
        TIED = "tied", _("tied with the answers")
        LOST = "lost", _("lost")
        KNOWN = "known", _("considered before, under this or another id")
        UNDECIDED = "undecided", _("undecided")
        DROPPED = "dropped", _("withdrawn before it was judged")

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="challengers")
    query = models.ForeignKey("runs.Query", on_delete=models.PROTECT, related_name="+")
    part = models.CharField(max_length=4, choices=Part)
    pid = models.TextField()
    first = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="challengers_first")
    submissions = models.ManyToManyField(Submission, related_name="challengers")
    found_at = models.DateTimeField()
    round = models.ForeignKey(
        UpkeepRound, null=True, on_delete=models.PROTECT, related_name="challengers", help_text=_("The last one.")
    )
    rounds = models.PositiveSmallIntegerField(default=0)
    dollars = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text=_("Its share of what its rounds cost.")
    )
    outcome = models.CharField(max_length=9, choices=Outcome, default=Outcome.OPEN, blank=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["board", "query", "pid"], name="challenger_once")]
        # leaderboards.upkeep.rounds: those that wait
        indexes = [models.Index(fields=["board", "id"], condition=Q(outcome=""), name="challenger_waiting")]

    def __str__(self) -> str:
        return f"{self.pid} for {self.query_id}"
