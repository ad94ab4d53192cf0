"""Writing collections and runs. Whatever is refused leaves everything as it was."""

import hashlib
import io
from collections.abc import Collection as Some
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Manager
from django.utils.translation import gettext as _

from core.copying import copy_into, copy_rows
from core.errors import NotNow, Refused, validation_in_words
from core.models import Lab, User
from core.progress import Report, ReportedFile, silent
from evaluation.errors import BadInput
from evaluation.files.about_runs import read_outside
from evaluation.files.artifact import RunArtifact
from evaluation.files.notes import judged_notes
from evaluation.files.qrels import Entry, Qrels, read_qrels
from evaluation.files.runs import RunCheck, check_run
from evaluation.files.textfiles import Source, name_of
from evaluation.files.texts import Lengths, read_passages, read_queries
from evaluation.judging.equal_texts import text_key
from evaluation.statistics.ranks import ranks_of
from runs import selectors as run_selectors
from runs.changes import collection_changed, release_changed, runs_changed, texts_stored
from runs.models import Collection, OutsideScores, Passage, Qrel, Query, Run

ARTIFACT = "artifact.npz"


KEEP_DEPTH = 10


SCORED_DEPTH = 10


QUERIES_AT_ONCE = 500  # whose passages' texts are in memory


class BadRun(Refused):
    """A run file with errors. `check` has the first hundred, by line."""

    status = 400
    title = "The run has errors"

    def __init__(self, check: RunCheck) -> None:
        super().__init__(check.complaint())
        self.check = check


class AlreadyStored(Refused):
    """The collection has this very file already, as `run`."""

    def __init__(self, run: Run) -> None:
        text = _("The collection already has a run called %(name)s, and it is this very file. It was not stored again.")
        super().__init__(text % {"name": run.name})
        self.run = run


class Imported(NamedTuple):
    """What an import added to a collection, and which of the passages that are wanted still have no text."""

    collection: Collection
    queries: int
    qrels: int
    passages: int
    missing: list[str]


@transaction.atomic
def collection_import(
    *,
    lab: Lab,
    name: str,
    language: str | None = None,
    queries: Source | None = None,
    qrels: Source | None = None,
    passages: Source | None = None,
    keep: str = "pooled",
    depth: int = KEEP_DEPTH,
    also: Some[str] = (),
    is_corpus: bool = True,
    report: Report | None = None,
) -> Imported:
    """Make a collection from files, or add to one: what is there already is kept, and must not be contradicted.

    Of a passage file, which is read as one stream, either all passages are kept (`keep="all"`), or those that pools
    can need: the qrels', the top `depth` of every run imported so far, and `also` (`keep="pooled"`). Import passages
    once more after importing runs: texts that were kept stay. How many passages the file has and how long they are is
    kept, unless it is not the corpus (`is_corpus`) but what was fetched of one, or a larger file was read before.

    Raises BadInput naming file and line; then nothing is stored.
    """
    collection, _new = Collection.objects.get_or_create(lab=lab, name=name, defaults={"language": language or ""})
    if language is not None and collection.language != language:
        collection.language = language
        collection.save(update_fields=["language"])
    report = report or silent()
    query_count = _import_queries(collection, queries, report) if queries else 0
    qrel_count = _import_qrels(collection, qrels, report) if qrels else 0
    if qrel_count:
        collection_changed.send(sender=Collection, collection=collection)
    passage_count = _import_passages(collection, passages, keep, depth, also, is_corpus, report) if passages else 0
    missing = Passage.objects.filter(collection=collection, text="").order_by("pid")
    return Imported(collection, query_count, qrel_count, passage_count, list(missing.values_list("pid", flat=True)))


def collection_name_dataset(*, collection: Collection, dataset: str) -> None:
    """Keep which dataset a collection comes from, so that its passages can be fetched later."""
    if collection.dataset != dataset:
        collection.dataset = dataset
        collection.save(update_fields=["dataset"])


@contextmanager
def opened(source: Source, report: Report) -> Iterator[BinaryIO]:
    """A file that tells how much of it has been read. What is given open stays open."""
    name = name_of(source)
    step = _("Reading %(name)s") % {"name": name}
    if not isinstance(source, str | PathLike):
        yield cast(BinaryIO, ReportedFile(source, name, step, report))
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115 (closed below: only the opening is guarded here)
    except OSError as error:
        raise BadInput(name, None, _("cannot be opened: %(why)s.") % {"why": error.strerror}) from None
    with file:
        yield cast(BinaryIO, ReportedFile(file, name, step, report))


def _import_queries(collection: Collection, source: Source, report: Report) -> int:
    with opened(source, report) as file:
        count = _stage((query.id, query.text, None) for query in read_queries(file))
    report(_("Storing the queries"))
    clash = first_value(
        "SELECT q.qid FROM runs_query q JOIN staged s ON s.id = q.qid "
        "WHERE q.collection_id = %s AND q.text <> '' AND q.text <> s.text LIMIT 1",
        collection.pk,
    )
    if clash:
        raise BadInput(
            name_of(source), None, _("query %(id)s already has a different text in the collection.") % {"id": clash}
        )
    execute(
        "INSERT INTO runs_query (collection_id, qid, text) SELECT %s, id, text FROM staged "
        "ON CONFLICT (collection_id, qid) DO UPDATE SET text = excluded.text",
        collection.pk,
    )
    texts = collection.queries.exclude(text="").values_list("text", flat=True).iterator()
    words = [len(text.split()) for text in texts]
    _keep_statistics(collection, queries={"count": len(words), "mean_words": sum(words) / len(words)})
    return count


def _keep_statistics(collection: Collection, **parts: dict[str, Any]) -> None:
    """Keep what was counted while a file was read, beside what was of others."""
    stored = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    collection.statistics = {**stored.statistics, **parts}
    collection.save(update_fields=["statistics"])


def _import_qrels(collection: Collection, source: Source, report: Report) -> int:
    if Qrel.objects.filter(collection=collection).exists():
        raise Refused(_("The collection already has its original qrels, and they cannot be changed."))
    with opened(source, report) as file:
        rows = list(read_qrels(file).entries())
    step = _("Storing the qrels")
    report(step, 0, len(rows), "rows")
    query_ids = keys_by_id(Query, "qid", collection, dict.fromkeys(row.query for row in rows))
    passage_ids = keys_by_id(Passage, "pid", collection, dict.fromkeys(row.passage for row in rows))
    copied_rows = copy_rows(
        Qrel,
        ["collection", "query", "passage", "grade", "position"],
        (
            (collection.pk, query_ids[row.query], passage_ids[row.passage], row.grade, position)
            for position, row in enumerate(rows)
        ),
        lambda copied: report(step, copied, len(rows), "rows"),
    )
    relevant = sum(row.grade > 0 for row in rows)
    _keep_statistics(
        collection, qrels={"judgments": len(rows), "queries": len({row.query for row in rows}), "relevant": relevant}
    )
    qrels = Qrels.of(rows)
    for run in collection.runs.all():
        _compare_with_qrels(run, run_selectors.load_artifact(run), qrels)
        run.save(update_fields=["scores", "census"])
    return copied_rows


def _import_passages(
    collection: Collection, source: Source, keep: str, depth: int, also: Some[str], is_corpus: bool, report: Report
) -> int:
    needed = None if keep == "all" else run_selectors.wanted_passages(collection, depth).union(also)
    lengths = Lengths()
    with opened(source, report) as file:
        _stage(
            (passage.id, passage.text, text_key(passage.text) if passage.text else None)
            for passage in (lengths.counted(read_passages(file)) if is_corpus else read_passages(file))
            if needed is None or passage.id in needed
        )
    report(_("Storing the passages"))
    double = first_value("SELECT id FROM staged GROUP BY id HAVING min(text) <> max(text) LIMIT 1")
    if double:
        raise BadInput(name_of(source), None, _("passage %(id)s appears twice, with different texts.") % {"id": double})
    clash = first_value(
        "SELECT p.pid FROM runs_passage p JOIN staged s ON s.id = p.pid "
        "WHERE p.collection_id = %s AND p.text <> '' AND p.text <> s.text LIMIT 1",
        collection.pk,
    )
    if clash:
        raise BadInput(
            name_of(source), None, _("passage %(id)s already has a different text in the collection.") % {"id": clash}
        )
    count = execute(
        "INSERT INTO runs_passage (collection_id, pid, text, text_key) "
        "SELECT DISTINCT ON (id) %s, id, text, text_key FROM staged "
        "ON CONFLICT (collection_id, pid) DO UPDATE SET text = excluded.text, text_key = excluded.text_key",
        collection.pk,
    )
    if lengths.texts and lengths.texts >= collection.statistics.get("corpus", {}).get("passages", 0):
        corpus = {
            "file": name_of(source),
            "passages": lengths.texts,
            "mean_words": lengths.mean,
            "median_words": lengths.median,
        }
        _keep_statistics(collection, corpus=corpus)
    texts_stored.send(sender=Collection, collection=collection, count=count, report=report)
    return count


def _stage(rows: Iterable[tuple[str, str, UUID | None]]) -> int:
    """Copy `(id, text, key of the text)` rows into a temporary table of this transaction."""
    execute("DROP TABLE IF EXISTS staged")
    execute("CREATE TEMPORARY TABLE staged (id text NOT NULL, text text NOT NULL, text_key uuid) ON COMMIT DROP")
    return copy_into('"staged" ("id", "text", "text_key")', rows)


def keys_by_id(
    model: type[Query] | type[Passage], field: str, collection: Collection, ids: Iterable[str]
) -> dict[str, int]:
    """The primary keys of queries or passages by their ids; those that are not there yet are made, without a text."""
    ids = list(ids)
    manager: Manager[Any] = model.objects
    manager.bulk_create(
        [model(collection=collection, **{field: value}) for value in ids], ignore_conflicts=True, batch_size=5000
    )
    keys: dict[str, int] = {}
    for start in range(0, len(ids), 5000):
        batch = {f"{field}__in": ids[start : start + 5000]}
        keys.update(manager.filter(collection=collection, **batch).values_list(field, "id"))
    return keys


def passages_ensure(*, collection: Collection, pids: Iterable[str]) -> dict[str, int]:
    """The keys of passages by id; those that the collection does not have yet are made, without a text."""
    return keys_by_id(Passage, "pid", collection, pids)


def execute(sql: str, *arguments: int | str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return int(cursor.rowcount)


def first_value(sql: str, *arguments: int | str) -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        row = cursor.fetchone()
    return None if row is None else str(row[0])


class OutsideStored(NamedTuple):
    """Stored outside scores, and how many of them are of runs that the collection does not have."""

    outside: OutsideScores
    foreign: int


@transaction.atomic
def outside_scores_set(
    *, collection: Collection, source: str, file: Source, filename: str, by: User | None, at: datetime
) -> OutsideStored:
    """Store how the collection's runs score elsewhere, in place of what was stored, from lines `run score [rank]`.

    Raises Refused, by line, where the file cannot be used, and where it names none of the collection's runs.
    """
    try:
        scores = read_outside(file, name=filename)
    except BadInput as error:
        raise Refused(str(error)) from error
    names = set(collection.runs.filter(name__in=list(scores)).values_list("name", flat=True))
    if not names:
        raise Refused(_("%(file)s names none of the collection's runs.") % {"file": filename})
    content = {"source": source, "scores": scores, "filename": filename[-255:], "uploaded_by": by, "uploaded_at": at}
    outside = OutsideScores(collection=collection, **content)
    try:
        outside.clean_fields(exclude=["collection", "scores"])
    except ValidationError as error:
        raise Refused(validation_in_words(error)) from error
    outside, _new = OutsideScores.objects.update_or_create(collection=collection, defaults=content)
    collection_changed.send(sender=Collection, collection=collection)
    return OutsideStored(outside, len(scores) - len(names))


@transaction.atomic
def outside_scores_delete(*, collection: Collection) -> None:
    """Delete how the collection's runs score elsewhere. Does nothing where that is not stored."""
    if OutsideScores.objects.filter(collection=collection).delete()[0]:
        collection_changed.send(sender=Collection, collection=collection)


def run_import(
    *,
    collection: Collection,
    name: str,
    source: BinaryIO,
    filename: str,
    team: str = "",
    notes: str = "",
    models_used: str = "",
    without_query: bool = False,
    stored: str = "",
    report: Report | None = None,
) -> Run:
    """Check a run file and store it: the file as it came, an integer artifact of its top, its census. The collection
    then knows the passages that it ranks first, so that their texts can be missed.

    `without_query` leaves out hits whose passage has the id of their query, as BEIR does. `source` must be seekable. If
    it is in file storage already, `stored` is its name there: the run takes it over, and
    its artifact is put beside it. Raises BadRun if the check finds errors, AlreadyStored if the collection has this
    file, Refused if the name is taken.
    """
    report = report or silent()
    run, artifact = run_check(
        collection=collection,
        name=name,
        source=source,
        filename=filename,
        team=team,
        notes=notes,
        models_used=models_used,
        without_query=without_query,
        report=report,
    )
    report(_("Storing %(name)s") % {"name": filename})
    packed = io.BytesIO()
    artifact.save(packed)
    if stored:
        beside = artifact_beside(stored)
        default_storage.delete(beside)  # what an earlier attempt may have left
        run.original.name, run.artifact.name = stored, default_storage.save(beside, ContentFile(packed.getvalue()))
    else:
        source.seek(0)
        run.original.save(filename, File(source), save=False)
        run.artifact.save(ARTIFACT, ContentFile(packed.getvalue()), save=False)
    try:
        with transaction.atomic():
            Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
            _must_be_free(collection, name, run.sha256)
            run.save()
            tops = (artifact.top(order, 1).values() for order in ("score", "rank"))
            keys_by_id(Passage, "pid", collection, {pid for top in tops for pids in top for pid in pids})
            runs_changed.send(sender=Collection, collection=collection)
    except Exception:
        if not stored:
            run.original.delete(save=False)
        run.artifact.delete(save=False)
        raise
    return run


def run_check(
    *,
    collection: Collection,
    name: str,
    source: BinaryIO,
    filename: str,
    team: str = "",
    notes: str = "",
    models_used: str = "",
    without_query: bool = False,
    report: Report | None = None,
) -> tuple[Run, RunArtifact]:
    """Check a run file as `run_import` does, and store nothing: the run, unsaved and without files, and its top.

    Raises what `run_import` raises.
    """
    report = report or silent()
    digest = _digest(source, filename, report)
    run = Run(lab=collection.lab, collection=collection, name=name, team=team, notes=notes, sha256=digest)
    run.models_used = models_used
    _must_be_free(collection, name, run.sha256)
    query_ids = set(Query.objects.filter(collection=collection).values_list("qid", flat=True))
    checking = cast(BinaryIO, ReportedFile(source, filename, _("Checking %(name)s") % {"name": filename}, report))
    check = check_run(
        checking,
        name=filename,
        queries=query_ids or None,
        depth=run_selectors.ARTIFACT_DEPTH,
        without_query=without_query,
    )
    if check.artifact is None:
        raise BadRun(check)
    qrels = _original_qrels(collection)
    suspicious = [note.as_dict() for note in check.notes(query_ids)]
    run.census, run.metadata = {**check.census.as_dict(), "notes": suspicious}, check.metadata
    _compare_with_qrels(run, check.artifact, qrels)
    try:
        run.full_clean(exclude=["original", "artifact"])
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    return run, check.artifact


def _digest(source: BinaryIO, filename: str, report: Report) -> str:
    """The SHA-256 of a file, which is read from its beginning again afterwards."""
    reading = ReportedFile(source, filename, _("Reading %(name)s") % {"name": filename}, report)
    digest = hashlib.sha256()
    while chunk := reading.read(1 << 20):
        digest.update(chunk)
    source.seek(0)
    return digest.hexdigest()


def artifact_beside(stored: str) -> str:
    """The name of a run's artifact in file storage, beside its original."""
    return f"{stored.rpartition('/')[0]}/{ARTIFACT}"


def _must_be_free(collection: Collection, name: str, sha256: str) -> None:
    """Raise AlreadyStored if the collection has a run of this file, Refused if it has another of this name."""
    runs = Run.objects.filter(collection=collection)
    if same := runs.filter(sha256=sha256).order_by("id").first():
        raise AlreadyStored(same)
    if runs.filter(name=name).exists():
        raise Refused(_("The collection already has a run called %(name)s.") % {"name": name})


def _original_qrels(collection: Collection) -> Qrels:
    return Qrels.of(Entry(*row) for row in run_selectors.collection_qrels(collection))


def _compare_with_qrels(run: Run, artifact: RunArtifact, qrels: Qrels) -> None:
    """Note a run's mean RR@10 on the original qrels, by score, and over how many queries (nothing without qrels), and
    what of its ids makes that suspicious.
    """
    ranks = ranks_of({run.name: artifact}, qrels, SCORED_DEPTH, "score")
    run.scores = {"rr": ranks.means()[run.name], "queries": len(ranks.queries)} if ranks.queries else {}
    notes = [note.as_dict() for note in judged_notes(artifact, qrels)]
    run.census = {**run.census, "notes": [*notes, *run.census.get("notes", [])]}


@transaction.atomic
def run_release(*, run: Run, is_released: bool) -> Run:
    """Let exports have the passages that only this run brought into a pool, or hold these back."""
    run.is_released = is_released
    run.save(update_fields=["is_released"])
    release_changed.send(sender=Run, run=run)
    return run


@transaction.atomic
def run_describe(*, run: Run, models_used: str, at: datetime) -> Run:
    """Say which models a run uses. Machine judges are compared again, and nothing else changes."""
    run.models_used, run.described_at = models_used.strip(), at
    run.save(update_fields=["models_used", "described_at"])
    return run


@transaction.atomic
def run_delete(*, run: Run) -> None:
    """Delete a run that no campaign uses, and its files. Raises NotNow naming the campaigns that use it."""
    users = list(run.campaigns.order_by("name").values_list("name", flat=True))
    if users:
        raise NotNow(_("The run cannot be deleted, because campaigns use it: %(names)s.") % {"names": ", ".join(users)})
    scored = (
        run.collection.campaigns.filter(fixed_runs__contains=[run.pk]).order_by("name").values_list("name", flat=True)
    )
    if names := ", ".join(scored):
        text = _("The run cannot be deleted, because the results of finished campaigns score it: %(names)s.")
        raise NotNow(text % {"names": names})
    files = [file for file in (run.original, run.artifact) if file.name]
    run.delete()
    runs_changed.send(sender=Collection, collection=run.collection)

    def delete_files() -> None:
        for file in files:
            file.storage.delete(str(file.name))

    transaction.on_commit(delete_files)
