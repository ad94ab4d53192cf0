"""Campaigns, their pools, pairs and rounds, and the versions of preference qrels."""

import secrets
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.models import Alarm, Lab
from core.money import CURRENCIES, DOLLARS, in_currency, in_local_words
from core.recorded import Audit, Changes, Group, value_after
from evaluation.judging.designs import DESIGNS
from evaluation.judging.designs.base import Design
from pools.settings import (
    ChallengerSettings,
    CostSettings,
    JudgingSettings,
    MaterialSettings,
    PoolSettings,
    PracticeSettings,
    QualitySettings,
    ReadingSettings,
    RoundSettings,
)
from pools.wording import WordingSettings
from runs.models import Collection, Passage, Query, Run

LEAST_REPEATED = 3  # HITs


def new_token() -> str:
    """22 characters that nobody guesses (128 bits)."""
    return secrets.token_urlsafe(16)


def new_key() -> bytes:
    """A 32-byte secret key."""
    return secrets.token_bytes(32)


_WORDING = {"title", "question", "instructions", "language"}


def _name_update(changes: Changes) -> Promise | None:
    """What the audit calls some changes of a campaign."""
    if "archived_at" in changes:
        if value_after(changes, "archived_at"):
            return _("put the campaign %(thing)s into the archive")
        return _("took the campaign %(thing)s out of the archive")
    if set(changes) == {"name"}:
        return _("renamed a campaign: %(changes)s")
    return _("changed the wording of %(thing)s: %(fields)s") if set(changes) <= _WORDING else None


class Campaign(
    MaterialSettings, PoolSettings, RoundSettings, ChallengerSettings, JudgingSettings, QualitySettings,
    PracticeSettings, ReadingSettings, CostSettings, WordingSettings,
):  # fmt: skip
    """One judging effort over a collection: chosen runs and queries, a pairing design, a task design, a crowd.

    Every setting that changes a number is a column here, and is shown and exported. Once the campaign has left
    `draft` its design is fixed.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        PACKING = "packing", _("being packed")
        OPEN = "open", _("open")
        PAUSED = "paused", _("paused")
        CLOSED = "closed", _("closed")

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="campaigns")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="campaigns")
    runs = models.ManyToManyField(Run, related_name="campaigns")
    name = models.CharField(_("Name"), max_length=100, help_text=_("For your own use. Workers do not see it."))
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    alarms = GenericRelation(Alarm, "of_id", "of_type", related_query_name="campaign")

    sampled_from = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text=_("How many queries a sample was drawn from: those with a pool of two or more."),
    )

    currency = models.CharField(
        max_length=3,
        choices=CURRENCIES,
        default=DOLLARS,
        db_default=DOLLARS,
        editable=False,
        help_text=_("Of the reward and all other amounts: that of the account at the campaign's platform."),
    )

    # the worked example that workers see; all empty for the general one
    example_query = models.TextField(_("Question of the example"), blank=True)
    example_better = models.TextField(_("Better passage"), blank=True)
    example_worse = models.TextField(_("Worse passage"), blank=True)
    example_why = models.TextField(
        _("Why it is better"),
        blank=True,
        help_text=_("One or two sentences to the worker. The better passage is shown as B."),
    )

    origin = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("Where imported judgments come from: judgments.importing. Empty if people judge here."),
    )

    # what follows from it
    pair_count = models.PositiveIntegerField(default=0, editable=False)
    reused_pair_count = models.PositiveIntegerField(
        default=0, editable=False, help_text=_("Pairs that nobody is asked about: set when the campaign is packed.")
    )
    further_judgments = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text=_("How many judgments were asked for beyond the design, where answers were not certain."),
    )
    pool_histogram = models.JSONField(
        default=dict, editable=False, help_text=_("How many pools there are of each size; sizes as text.")
    )
    champion_split = models.JSONField(
        default=dict, editable=False, help_text=_("For a champion check, the comparisons of category `a` and of `b`.")
    )
    untexted_count = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text=_("Passages in pools of several that had no text to compare when the pools were made."),
    )
    error_model = models.JSONField(
        null=True,
        editable=False,
        help_text=_(
            "How people judge, of challengers: as learned, when their pairs were planned, from what was judged."
        ),
    )
    revision = models.PositiveBigIntegerField(
        default=0, editable=False, help_text=_("Grows whenever what results and exports are made of has changed.")
    )
    resumed_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("After the last pause; empty without one.")
    )
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Since then it is listed only for those who ask for the archive.")
    )
    rounds_revision = models.PositiveBigIntegerField(
        null=True, editable=False, help_text=_("The revision at which no further round was left to plan.")
    )
    fixed_runs = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("Keys of the runs that results score, fixed when it first finished. Empty: all of the collection."),
    )
    finished_revision = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("The revision at which no work could come any more, and nothing was left to do."),
    )

    link = models.CharField(max_length=32, unique=True, default=new_token, editable=False)
    pilot_hits = models.PositiveIntegerField(
        null=True, blank=True, editable=False, help_text=_("With how many HITs it began. Empty if with all.")
    )
    trials_revoked = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text=_("How often links to trials were revoked.")
    )
    pseudonym_key = models.BinaryField(default=new_key, editable=False, max_length=32)

    audit = Audit(
        Group.CAMPAIGNS,
        insert=_("created the campaign %(thing)s"),
        update=_("changed the campaign %(thing)s: %(fields)s"),
        delete=_("deleted the campaign %(thing)s"),
        states={
            "packing": _("started the campaign %(thing)s"),
            ("paused", "open"): _("resumed the campaign %(thing)s"),
            "open": _("opened the campaign %(thing)s"),
            "paused": _("paused the campaign %(thing)s"),
            "closed": _("closed the campaign %(thing)s"),
        },
        name_update=_name_update,
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "name"], name="campaign_name_once_per_lab"),
            models.CheckConstraint(condition=models.Q(overlap__gte=1), name="campaign_overlap_at_least_one"),
            models.CheckConstraint(
                condition=models.Q(pairs_per_hit__gte=1, tests_per_hit__gte=1),
                name="campaign_hits_hold_pairs_and_tests",
            ),
            models.CheckConstraint(condition=models.Q(reward__gte=0), name="campaign_reward_not_negative"),
            models.CheckConstraint(
                condition=models.Q(design="challengers", base_version__isnull=False)
                | ~models.Q(design="challengers") & models.Q(base_version__isnull=True),
                name="campaign_challenges_a_version",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def money(self, amount: Decimal) -> str:
        """An amount in its currency: `$1,234.50`."""
        return in_currency(amount, self.currency)

    def local_money(self, amount: Decimal) -> str:
        """The same, as the current language writes it."""
        return in_local_words(amount, self.currency)

    @property
    def is_finished(self) -> bool:
        """Whether nothing was left to do, and nothing that counts has changed since (results.finishing)."""
        return self.finished_revision is not None and self.finished_revision == self.revision

    @property
    def is_imported(self) -> bool:
        """Whether its judgments were made elsewhere: nobody can judge in it, and it cannot be published."""
        return self.origin is not None

    @property
    def pool_sizes(self) -> dict[int, int]:
        """How many pools there are of each size."""
        return {int(size): count for size, count in self.pool_histogram.items()}

    @property
    def pairing(self) -> Design:
        """Its pairing design with its settings: ask it what the design does."""
        return DESIGNS[self.design].of(self)

    def repeated_hits(self, hits: int) -> int:
        """How many of so many HITs a second person does, so that the judgments say how often people err."""
        if self.overlap > 1 or not self.repeats or self.pairing.challenges:
            return 0
        return min(hits, max(LEAST_REPEATED, -(-self.repeats // self.pairs_per_hit)))

    @property
    def slots_needed(self) -> int:
        """How many accepted judgments a pair needs. Imported ones are all that there are, `overlap` at most."""
        return 1 if self.is_imported else self.overlap

    @property
    def items_per_hit(self) -> int:
        """Items of a full HIT, test pairs included."""
        return self.pairs_per_hit + self.tests_per_hit


class CampaignTemplate(models.Model):
    """What a lab's campaigns can begin with: settings, wording, pay, and terms at a platform. No runs, and nothing that
    belongs to one collection.
    """

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="templates")
    name = models.CharField(max_length=100)
    values = models.JSONField(
        blank=True, encoder=DjangoJSONEncoder, help_text=_("Columns of Campaign by name: campaigns.templating.KEPT.")
    )
    consent = models.TextField(blank=True, help_text=_("Empty for the usual text."))
    terms = models.JSONField(
        null=True, blank=True, help_text=_("At a platform, by name, lengths of time in seconds. Empty: none are set.")
    )
    is_default = models.BooleanField(default=False, help_text=_("Whether new campaigns of the lab begin with it."))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    changed_at = models.DateTimeField()

    audit = Audit(
        Group.CAMPAIGNS,
        insert=_("created the template %(thing)s"),
        update=_("changed the template %(thing)s: %(fields)s"),
        delete=_("deleted the template %(thing)s"),
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "name"], name="template_name_once_per_lab"),
            models.UniqueConstraint(
                fields=["lab"], condition=models.Q(is_default=True), name="template_one_default_per_lab"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Pool(models.Model):
    """The candidate best answers of one query in one campaign. A pool of one needs no judgment."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="pools")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="pools")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "query"], name="pool_once_per_query")]

    def __str__(self) -> str:
        return f"pool {self.pk}"


class Candidate(models.Model):
    """A passage in a pool."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="candidates")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="candidacies")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pool", "passage"], name="candidate_once_per_pool")]

    def __str__(self) -> str:
        return f"{self.passage_id} in {self.pool_id}"


class Twin(models.Model):
    """A passage that has the text of a candidate, under another id of the collection: exported and scored with it.

    Two passages of one pool that have the same text are one candidate: the smallest id by code point. The other is its
    twin, and so is every other passage of the collection with this text. Fixed when the campaign is packed.
    """

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="twins")
    passage = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["candidate", "passage"], name="twin_once_per_candidate")]

    def __str__(self) -> str:
        return f"{self.passage_id} as {self.candidate_id}"


class AlikePair(models.Model):
    """Two passages of a pool with nearly, but not quite, the same text, stored in order: the most alike first.

    `share` is how much of their sequences of three words they have in common, 1 where all.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="alike_pairs", db_index=False)
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="+")
    a = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")
    b = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")
    share = models.FloatField()

    class Meta:
        # pools.selectors.alike_pairs(): a campaign's, in the order in which they were stored
        indexes = [models.Index(fields=["campaign", "id"], name="alike_pair_in_order")]

    def __str__(self) -> str:
        return f"{self.a_id} and {self.b_id}"


class Pair(models.Model):
    """Two passages of one pool that are to be compared, with a's id before b's (by code point)."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="pairs")
    a = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")
    b = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+")
    is_reused = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Whether all its judgments were made before: set when the campaign is packed."),
    )
    is_set_aside = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Whether nobody is asked about it any more, because workers reported it or a person decided so."),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "a", "b"], name="pair_once_per_pool"),
            models.CheckConstraint(condition=~models.Q(a=models.F("b")), name="pair_of_two_passages"),
        ]

    def __str__(self) -> str:
        return f"{self.a_id} or {self.b_id}"


class Round(models.Model):
    """A round of a campaign in rounds: what was planned when the one before was judged. The first asks itself.

    It waits until it is asked: then its pairs are stored and packed into HITs.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="rounds")
    number = models.PositiveIntegerField()
    planned_at = models.DateTimeField()
    pools = models.PositiveIntegerField(help_text=_("Those that play in it."))
    passages = models.PositiveIntegerField(help_text=_("Those that are left in these pools."))
    pairs = models.PositiveIntegerField(help_text=_("Those that nobody has judged."))
    unsettled = models.PositiveIntegerField(
        help_text=_("Pools whose round before kept everybody or nobody, so that all of it is in the final.")
    )
    obstacle = models.TextField(blank=True, help_text=_("Why it was not asked by itself."))
    asked_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    hits = models.PositiveIntegerField(default=0)

    audit = Audit(
        Group.CAMPAIGNS,
        insert=_("planned round %(thing)s of %(campaign)s"),
        update=_("took round %(thing)s of %(campaign)s further: %(changes)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="round_number_once"),
            models.UniqueConstraint(fields=["campaign"], condition=models.Q(asked_at=None), name="round_one_waits"),
        ]

    def __str__(self) -> str:
        return f"round {self.number} of {self.campaign_id}"


class RoundPool(models.Model):
    """A pool in a round: who played in each of its rounds until then, which stays as it was."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="played")
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="rounds")
    begun = models.JSONField(help_text=_("A list for each of its rounds, with the ids of the passages."))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["round", "pool"], name="round_pool_once")]

    def __str__(self) -> str:
        return f"{self.round_id}: {self.pool_id}"


class QrelsVersion(models.Model):
    """A version of a collection's preference qrels: what one campaign's judgments made of the version before it.

    Numbers count from 1 in each collection, and each version follows the one before. Append-only. It stores what the
    campaign settled (VersionQuery); every other query keeps its answers (`pools.selectors.version_answers`).
    """

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="versions")
    revision = models.PositiveBigIntegerField(help_text=_("The campaign's at that moment."))
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    why = models.TextField()
    software = models.CharField(max_length=50)
    added = models.PositiveIntegerField(help_text=_("Queries that had no best known answer before."))
    changed = models.PositiveIntegerField(help_text=_("Queries with other best known answers than before."))
    unchanged = models.PositiveIntegerField(help_text=_("Queries with the same ones, whether judged again or not."))
    overtaken = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text=_("Queries of the campaign whose challenged answers other campaigns had replaced."),
    )
    unsettled = models.PositiveIntegerField(help_text=_("Queries of the campaign that lacked judgments."))
    held_back = models.PositiveIntegerField(
        help_text=_("Queries left as they were, as only a run that is not for release brought an answer.")
    )
    adjudicated = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text=_("Pairs that a person decided, since their judgments disagreed, of the queries that it settles."),
    )
    expected_wrong = models.FloatField(
        null=True, help_text=_("How many of the replaced answers are expected to be the better ones, by all judgments.")
    )
    qrels = models.PositiveIntegerField(help_text=_("Lines of its qrels file."))
    sha256 = models.CharField(max_length=64, help_text=_("Of its qrels file in TREC format."))

    audit = Audit(Group.DATA, insert=_("made preference qrels of %(thing)s"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "number"], name="version_number_once")]

    def __str__(self) -> str:
        return f"version {self.number} of {self.collection_id}"

    @property
    def queries(self) -> int:
        """How many queries have a best known answer."""
        return self.added + self.changed + self.unchanged


class VersionQuery(models.Model):
    """A query that a version's campaign settled: its best known answers before and after, as sorted passage ids."""

    class Kind(models.TextChoices):
        ADDED = "added", _("added")
        CHANGED = "changed", _("changed")
        CONFIRMED = "confirmed", _("confirmed")

    version = models.ForeignKey(QrelsVersion, on_delete=models.PROTECT, related_name="settled")
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=9, choices=Kind)
    before = models.JSONField()
    after = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "query"], name="version_query_once")]
        # the changes of a version, on its page
        indexes = [
            models.Index(
                fields=["version", "query"], condition=~models.Q(kind="confirmed"), name="version_query_changed"
            )
        ]

    def __str__(self) -> str:
        return f"{self.query_id} in {self.version_id}"


# --- what is kept counted


class CountChange(models.Model):
    """A change of how many rows of a kind a campaign has, and of their sums: what is kept is the sum of the changes
    (pools.counting). Written by triggers, hence a campaign's go with it by the database's own rule.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    name = models.CharField(max_length=20)
    kind = models.CharField(max_length=60)
    count = models.BigIntegerField()
    amount = models.DecimalField(max_digits=14, decimal_places=2, default=0, db_default=0)
    fee = models.DecimalField(max_digits=14, decimal_places=2, default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.count:+} {self.name} {self.kind}"


class Recount(models.Model):
    """When a campaign's counts were last compared with its rows, and how many changes there were then."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="recount")
    changes = models.PositiveIntegerField()
    newest = models.BigIntegerField(help_text=_("The key of the newest change; 0 without any."))
    at = models.DateTimeField()
    rests_until = models.DateTimeField()

    def __str__(self) -> str:
        return f"recount of {self.campaign_id}"
