"""Collections, runs and campaigns, and the pools and pairs that are made from them."""

import secrets
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThan
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.models import Lab
from core.money import CURRENCIES, DOLLARS, in_currency, in_local_words
from core.recorded import Audit, Changes, Group, value_after
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
    WordingSettings,
)

LEAST_REPEATED = 3  # HITs
LONG_TEXT = 3000  # characters: what nobody reads in five minutes


class Collection(models.Model):
    """Queries, passages and original qrels under one name."""

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="collections")
    name = models.CharField(max_length=100)
    language = models.CharField(
        max_length=35, default="en", help_text=_("BCP 47 tag of the texts; empty if mixed."), blank=True
    )
    dataset = models.CharField(
        max_length=200, blank=True, help_text=_("Its id in ir_datasets, if it comes from there: pools.catalogue.")
    )
    statistics = models.JSONField(
        default=dict,
        blank=True,
        help_text=_("Of queries, original qrels and corpus, counted when their files are read: pools.services."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    audit = Audit(
        Group.DATA,
        insert=_("created the collection %(thing)s"),
        update=_("changed the collection %(thing)s: %(fields)s"),
        delete=_("deleted the collection %(thing)s"),
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lab", "name"], name="collection_name_once_per_lab")]

    def __str__(self) -> str:
        return self.name

    @property
    def judgments_per_query(self) -> float | None:
        """Original judgments for each query that has any; None where nothing was counted."""
        return self._per_judged_query("judgments")

    @property
    def relevant_per_query(self) -> float | None:
        """Relevant passages (grade above 0) for each query with original qrels; None where nothing was counted."""
        return self._per_judged_query("relevant")

    def _per_judged_query(self, name: str) -> float | None:
        qrels = self.statistics.get("qrels")
        return qrels[name] / qrels["queries"] if qrels else None


class Query(models.Model):
    """One question of a collection, under its exact id."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="queries")
    qid = models.TextField()
    text = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "queries"
        constraints = [models.UniqueConstraint(fields=["collection", "qid"], name="query_once_per_collection")]
        # pools.selectors.missing_texts()
        indexes = [models.Index(fields=["collection"], condition=models.Q(text=""), name="query_without_text")]

    def __str__(self) -> str:
        return f"{self.qid}: {self.text}"


class Passage(models.Model):
    """One passage of a collection. Its text is empty until a passage file that holds it has been imported."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="passages")
    pid = models.TextField()
    text = models.TextField(blank=True)
    text_key = models.UUIDField(
        null=True, editable=False, help_text=_("The same for equal texts: evaluation.judging.equal_texts.")
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "pid"], name="passage_once_per_collection")]
        indexes = [
            # pools.selectors.missing_texts()
            models.Index(fields=["collection"], condition=models.Q(text=""), name="passage_without_text"),
            # tasks.selectors.lacking_time(): those that can take more than a few minutes to read
            models.Index(
                fields=["collection"],
                condition=models.Q(GreaterThan(Length("text"), LONG_TEXT)),
                name="passage_with_long_text",
            ),
            # pools.services.twins_store(): the passages of a collection that have a candidate's text
            models.Index(
                fields=["text_key", "collection"],
                condition=models.Q(text_key__isnull=False),
                name="passage_by_text",
            ),
        ]

    def __str__(self) -> str:
        return self.pid


class Qrel(models.Model):
    """An original judgment of the collection: this passage, for this query, has this grade."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="qrels")
    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="qrels")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="qrels")
    grade = models.IntegerField()
    position = models.PositiveIntegerField(
        help_text=_("Its position in the file: a query's first qrel is the one with the lowest.")
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["query", "passage"], name="qrel_once_per_passage")]
        # pools.selectors.collection_qrels(): all of a collection, in file order
        indexes = [models.Index(fields=["collection", "position"], name="qrel_in_file_order")]

    def __str__(self) -> str:
        return f"{self.query_id} {self.passage_id} {self.grade}"


class PreferenceImport(models.Model):
    """A file of judgments that were made elsewhere, about a collection's queries and passages. It names no worker.

    `sha256` is that of its lines, `query a b preferred` with tabs between and a's id before b's (by code point),
    however they were written or compressed.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="preference_imports")
    name = models.CharField(max_length=100)
    note = models.TextField(blank=True, help_text=_("Where the judgments come from, and what was asked."))
    sha256 = models.CharField(max_length=64)
    judgment_count = models.PositiveIntegerField()
    pair_count = models.PositiveIntegerField()
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    imported_at = models.DateTimeField()

    audit = Audit(
        Group.DATA,
        insert=_("imported the preferences %(thing)s"),
        delete=_("deleted the imported preferences %(thing)s"),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["collection", "name"], name="preference_import_name_once"),
            models.UniqueConstraint(fields=["collection", "sha256"], name="preference_import_file_once"),
        ]

    def __str__(self) -> str:
        return self.name


class ImportedPreference(models.Model):
    """One line of an imported file: a judgment of two passages, with a's id before b's (by code point)."""

    source = models.ForeignKey(PreferenceImport, on_delete=models.CASCADE, related_name="preferences")
    line = models.PositiveIntegerField()
    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="+", db_index=False)
    a = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+", db_index=False)
    b = models.ForeignKey(Passage, on_delete=models.PROTECT, related_name="+", db_index=False)
    prefers_a = models.BooleanField(null=True, help_text=_("Empty for a tie."))

    class Meta:
        # judgments.reusing: the judgments of a pair
        indexes = [models.Index(fields=["query", "a", "b"], name="imported_preference_of_pair")]
        constraints = [
            models.UniqueConstraint(fields=["source", "line"], name="imported_preference_once_per_line"),
            models.CheckConstraint(condition=~models.Q(a=models.F("b")), name="imported_preference_of_two_passages"),
        ]

    def __str__(self) -> str:
        return f"line {self.line} of {self.source_id}"


class OutsideScores(models.Model):
    """How the runs of a collection score elsewhere, such as on a public leaderboard: the content of one file.

    `scores` are by a run's name, as `[score, rank]`; the rank may be null. They may name runs that the collection does
    not have, or not yet.
    """

    collection = models.OneToOneField(Collection, on_delete=models.CASCADE, related_name="outside_scores")
    source = models.CharField(max_length=100, help_text=_("Where they come from, and of which measure they are."))
    scores = models.JSONField()
    filename = models.CharField(max_length=255)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    uploaded_at = models.DateTimeField()

    audit = Audit(
        Group.DATA,
        insert=_("added the outside scores %(thing)s"),
        update=_("replaced the outside scores %(thing)s"),
        delete=_("deleted the outside scores %(thing)s"),
    )

    class Meta:
        verbose_name_plural = "outside scores"

    def __str__(self) -> str:
        return f"outside scores of {self.collection_id}"


def run_path(run: "Run", filename: str) -> str:
    """Files of a run lie under random names: nobody can guess or overwrite another's."""
    return f"runs/{secrets.token_hex(16)}/{filename}"


class Run(models.Model):
    """One system's ranked lists: the file as it came, an integer artifact of its top, and its census."""

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="runs")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="runs")
    name = models.CharField(max_length=100)
    team = models.CharField(max_length=100, blank=True)
    notes = models.TextField(blank=True)
    models_used = models.CharField(
        max_length=300,
        blank=True,
        db_default="",
        default="",
        help_text=_("Names of the language models that it uses, separated by commas."),
    )
    described_at = models.DateTimeField(null=True, editable=False, help_text=_("When these names last changed."))
    original = models.FileField(upload_to=run_path, max_length=255)
    artifact = models.FileField(upload_to=run_path, max_length=255)
    sha256 = models.CharField(max_length=64)
    census = models.JSONField(help_text=_("What the check counted: evaluation.files.runs.Census."))
    metadata = models.JSONField(
        default=dict, blank=True, help_text=_("What the file's ir_metadata header says: evaluation.files.metadata.")
    )
    scores = models.JSONField(
        default=dict, blank=True, help_text=_("On the original qrels: mean `rr` at 10, and over how many `queries`.")
    )
    is_released = models.BooleanField(
        default=True, help_text=_("Whether exports may have passages that only this run brought into a pool.")
    )
    imported_at = models.DateTimeField(auto_now_add=True)

    audit = Audit(
        Group.DATA,
        insert=_("imported the run %(thing)s"),
        update=_("changed the run %(thing)s: %(changes)s"),
        delete=_("deleted the run %(thing)s"),
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="run_name_once_per_collection")]

    def __str__(self) -> str:
        return self.name

    def uses(self, model: str) -> bool:
        """Whether it uses a model of this name; capitals make no difference."""
        return model.strip().casefold() in [name.strip().casefold() for name in self.models_used.split(",")]


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

    def repeated_hits(self, hits: int) -> int:
        """How many of so many HITs a second person does, so that the judgments say how often people err."""
        if self.overlap > 1 or not self.repeats or self.design == self.Design.CHALLENGERS:
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
        blank=True, encoder=DjangoJSONEncoder, help_text=_("Columns of Campaign by name: pools.templating.KEPT.")
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
        null=True,
        help_text=_("How many of the replaced answers are expected to be the better ones, by all judgments."),
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


class Job(models.Model):
    """Something that a member of a lab asked for and that takes a while: a file to be read, a campaign to be created.

    The row is the queue. A job is done in one transaction that also ends it: all of it, or nothing.
    """

    class Kind(models.TextChoices):
        RUN = "run", _("a run")
        COLLECTION = "collection", _("files of a collection")
        CAMPAIGN = "campaign", _("a campaign")
        PREFERENCES = "preference", _("imported preferences")
        JUDGMENTS = "judgments", _("imported judgments")
        MACHINE = "machine", _("a machine judge")

    class State(models.TextChoices):
        RECEIVING = "receiving", _("being received")
        WAITING = "waiting", _("in progress")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    name = models.CharField(max_length=100, help_text=_("Of the run, collection, campaign or import."))
    request = models.JSONField(
        default=dict, encoder=DjangoJSONEncoder, help_text=_("What the form said, as services take it.")
    )
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField(null=True, blank=True, help_text=_("The last attempt."))
    retry_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    # what came of it
    error = models.TextField(blank=True, help_text=_("Why it was refused, or what went wrong in the last attempt."))
    complaints = models.JSONField(
        default=dict, blank=True, help_text=_("Errors of a run by line: evaluation.files.runs.RunCheck.")
    )
    counts = models.JSONField(
        default=dict, blank=True, help_text=_("What was added to a collection, and how many files were refused.")
    )
    collection = models.ForeignKey(Collection, null=True, blank=True, on_delete=models.CASCADE, related_name="jobs")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs")
    campaign = models.ForeignKey(Campaign, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs")

    class Meta:
        # pools.background.jobs_waiting()
        indexes = [
            models.Index(fields=["id"], condition=models.Q(state="waiting"), name="job_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.name}"

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in (Job.State.RECEIVING, Job.State.WAITING)

    @property
    def is_fetching(self) -> bool:
        """Whether its files are being fetched from elsewhere (pools.fetching), and nobody sends any."""
        return self.state == Job.State.RECEIVING and "dataset" in self.request


def upload_path(upload: "Upload", filename: str) -> str:
    """A run's file stays where it is put, and becomes the run's; the others are read and deleted."""
    if upload.part == Upload.Part.RUN:
        return f"runs/{secrets.token_hex(16)}/{filename}"
    return f"uploads/{secrets.token_hex(16)}/{filename}"


class Upload(models.Model):
    """A file that somebody sent for a job. `file` is empty once the job has ended: it was taken over, or deleted."""

    class Part(models.TextChoices):
        RUN = "run", _("run")
        QUERIES = "queries", _("queries")
        QRELS = "qrels", _("qrels")
        PASSAGES = "passages", _("passages")
        PREFERENCES = "preference", _("preferences")
        JUDGMENTS = "judgments", _("judgments")
        MACHINE = "machine", _("a machine's answers")
        NONE = "none", _("leave out")

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="uploads")
    part = models.CharField(max_length=10, choices=Part)
    name = models.CharField(max_length=255, help_text=_("As the sender called it."))
    size = models.PositiveBigIntegerField(help_text=_("In bytes."))
    file = models.FileField(upload_to=upload_path, max_length=255, blank=True)
    seen = models.CharField(
        max_length=200, blank=True, help_text=_("What its first lines look like: evaluation.files.recognizing.")
    )

    # what came of it
    is_stored = models.BooleanField(null=True, blank=True, help_text=_("Whether its content is in the collection."))
    error = models.TextField(blank=True, help_text=_("Why it is not."))
    complaints = models.JSONField(
        default=dict, blank=True, help_text=_("Errors of a run by line: evaluation.files.runs.RunCheck.")
    )
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    def __str__(self) -> str:
        return self.name
