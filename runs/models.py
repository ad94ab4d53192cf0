"""Collections with their queries, passages and qrels, runs, and what people send to be read into them."""

import secrets

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThan
from django.utils.translation import gettext_lazy as _

from core.models import Lab, Retried
from core.recorded import Audit, Group

LONG_TEXT = 3000  # characters: what nobody reads in five minutes


class Collection(models.Model):
    """Queries, passages and original qrels under one name."""

    lab = models.ForeignKey(Lab, on_delete=models.PROTECT, related_name="collections")
    name = models.CharField(max_length=100)
    language = models.CharField(
        max_length=35, default="en", help_text=_("BCP 47 tag of the texts; empty if mixed."), blank=True
    )
    dataset = models.CharField(
        max_length=200, blank=True, help_text=_("Its id in ir_datasets, if it comes from there: runs.catalogue.")
    )
    statistics = models.JSONField(
        default=dict,
        blank=True,
        help_text=_("Of queries, original qrels and corpus, counted when their files are read: runs.services."),
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
            # runs.services.twins_store(): the passages of a collection that have a candidate's text
            models.Index(
                fields=["text_key", "collection"], condition=models.Q(text_key__isnull=False), name="passage_by_text"
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


class Job(Retried):
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
    begun_at = models.DateTimeField(null=True, blank=True, help_text=_("The last attempt."))
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
    outcome_id = models.BigIntegerField(null=True, blank=True, help_text=_("The campaign that was made or changed."))

    class Meta:
        # runs.background.jobs_waiting()
        indexes = [models.Index(fields=["id"], condition=models.Q(state="waiting"), name="job_waiting")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.name}"

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in (Job.State.RECEIVING, Job.State.WAITING)

    @property
    def is_fetching(self) -> bool:
        """Whether its files are being fetched from elsewhere (runs.fetching), and nobody sends any."""
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


def direct_path(_sending: "DirectUpload", filename: str) -> str:
    return f"uploads/{secrets.token_hex(16)}/{filename}"


class DirectUpload(models.Model):
    """A file that somebody sends straight to the bucket: runs.sending. The row goes when a job takes the file over."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=255, help_text=_("As the sender called it."))
    size = models.PositiveBigIntegerField(help_text=_("In bytes."))
    file = models.FileField(upload_to=direct_path, max_length=255)
    upload_id = models.TextField(blank=True, help_text=_("By which the bucket knows the parts that it has."))
    is_whole = models.BooleanField(default=False, help_text=_("Whether the parts have been put together."))
    begun_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
