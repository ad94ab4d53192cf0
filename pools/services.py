"""Writing collections, runs and campaigns. Whatever is refused leaves everything as it was."""

import hashlib
import io
import logging
from collections import Counter
from collections.abc import Collection as Some
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, NamedTuple, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Manager, ProtectedError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.copying import copy_into, copy_rows
from core.errors import NotNow, Refused
from core.models import Lab, User
from core.progress import Report, ReportedFile, silent
from evaluation.errors import BadInput
from evaluation.files.about_runs import read_outside, read_run_pairs
from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.notes import judged_notes
from evaluation.files.preferences import TIE, Preference, numbered_preferences
from evaluation.files.preferences import Pair as IdPair
from evaluation.files.qrels import Entry, Policy, Qrels, read_qrels
from evaluation.files.runs import RunCheck, check_run
from evaluation.files.textfiles import Source, name_of, quote_value
from evaluation.files.texts import Lengths, read_passages, read_queries
from evaluation.judging.challengers import challenge_pairs, find_challengers, settle_challenges
from evaluation.judging.equal_texts import (
    Alike,
    Merged,
    judge_merged,
    merge_equal,
    name_once,
    nearly_equal,
    relevant_once,
    text_key,
)
from evaluation.judging.pooling import (
    ChampionQrel,
    Tops,
    all_pairs,
    canonical,
    champion_pairs,
    pool_queries,
    pool_sizes,
)
from evaluation.judging.rounds import Settings as RoundSettings
from evaluation.judging.rounds import estimate_pairs, replay
from evaluation.judging.settling import learn_from
from evaluation.statistics.ranks import ranks_of
from pools import reuse
from pools import selectors as pool_selectors
from pools.models import (
    AlikePair,
    Campaign,
    Candidate,
    Collection,
    OutsideScores,
    Pair,
    Passage,
    Pool,
    PreferenceImport,
    Qrel,
    Query,
    Run,
)
from pools.practice import practice_check
from pools.settings import ReadingSettings, names_in

ARTIFACT = "artifact.npz"
KEEP_DEPTH = 10
SCORED_DEPTH = 10
QUERIES_AT_ONCE = 500  # whose passages' texts are in memory
log = logging.getLogger(__name__)


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


# --- collections


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
        collection_mark_changed(collection=collection)
    passage_count = _import_passages(collection, passages, keep, depth, also, is_corpus, report) if passages else 0
    missing = Passage.objects.filter(collection=collection, text="").order_by("pid")
    return Imported(collection, query_count, qrel_count, passage_count, list(missing.values_list("pid", flat=True)))


def collection_name_dataset(*, collection: Collection, dataset: str) -> None:
    """Keep which dataset a collection comes from, so that its passages can be fetched later."""
    if collection.dataset != dataset:
        collection.dataset = dataset
        collection.save(update_fields=["dataset"])


@contextmanager
def _opened(source: Source, report: Report) -> Iterator[BinaryIO]:
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
    with _opened(source, report) as file:
        count = _stage((query.id, query.text, None) for query in read_queries(file))
    report(_("Storing the queries"))
    clash = _first(
        "SELECT q.qid FROM pools_query q JOIN staged s ON s.id = q.qid "
        "WHERE q.collection_id = %s AND q.text <> '' AND q.text <> s.text LIMIT 1",
        collection.pk,
    )
    if clash:
        raise BadInput(
            name_of(source), None, _("query %(id)s already has a different text in the collection.") % {"id": clash}
        )
    _execute(
        "INSERT INTO pools_query (collection_id, qid, text) SELECT %s, id, text FROM staged "
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
    with _opened(source, report) as file:
        rows = list(read_qrels(file).entries())
    step = _("Storing the qrels")
    report(step, 0, len(rows), "rows")
    query_ids = _keys(Query, "qid", collection, dict.fromkeys(row.query for row in rows))
    passage_ids = _keys(Passage, "pid", collection, dict.fromkeys(row.passage for row in rows))
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
        _compare_with_qrels(run, pool_selectors.load_artifact(run), qrels)
        run.save(update_fields=["scores", "census"])
    return copied_rows


def _import_passages(
    collection: Collection, source: Source, keep: str, depth: int, also: Some[str], is_corpus: bool, report: Report
) -> int:
    needed = None if keep == "all" else pool_selectors.wanted_passages(collection, depth).union(also)
    lengths = Lengths()
    with _opened(source, report) as file:
        _stage(
            (passage.id, passage.text, text_key(passage.text) if passage.text else None)
            for passage in (lengths.counted(read_passages(file)) if is_corpus else read_passages(file))
            if needed is None or passage.id in needed
        )
    report(_("Storing the passages"))
    double = _first("SELECT id FROM staged GROUP BY id HAVING min(text) <> max(text) LIMIT 1")
    if double:
        raise BadInput(name_of(source), None, _("passage %(id)s appears twice, with different texts.") % {"id": double})
    clash = _first(
        "SELECT p.pid FROM pools_passage p JOIN staged s ON s.id = p.pid "
        "WHERE p.collection_id = %s AND p.text <> '' AND p.text <> s.text LIMIT 1",
        collection.pk,
    )
    if clash:
        raise BadInput(
            name_of(source), None, _("passage %(id)s already has a different text in the collection.") % {"id": clash}
        )
    count = _execute(
        "INSERT INTO pools_passage (collection_id, pid, text, text_key) "
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
    drafts = collection.campaigns.filter(state=Campaign.State.DRAFT, untexted_count__gt=0)
    for campaign in drafts.select_for_update().order_by("id"):
        try:
            campaign_compare_texts(campaign=campaign, report=report)
        except Refused as error:  # packing compares its texts, and tells the draft's researcher what it lacks
            log.warning("Campaign %s keeps its pools while texts are imported: %s", campaign.pk, error)
    if count:  # which pairs were judged before goes by their texts
        drafts = collection.campaigns.filter(state=Campaign.State.DRAFT)
        for campaign_id in drafts.order_by("id").values_list("id", flat=True):
            campaign_mark_changed(campaign_id=campaign_id)
    return count


def _stage(rows: Iterable[tuple[str, str, UUID | None]]) -> int:
    """Copy `(id, text, key of the text)` rows into a temporary table of this transaction."""
    _execute("DROP TABLE IF EXISTS staged")
    _execute("CREATE TEMPORARY TABLE staged (id text NOT NULL, text text NOT NULL, text_key uuid) ON COMMIT DROP")
    return copy_into('"staged" ("id", "text", "text_key")', rows)


def _keys(model: type[Query] | type[Passage], field: str, collection: Collection, ids: Iterable[str]) -> dict[str, int]:
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
    return _keys(Passage, "pid", collection, pids)


def _execute(sql: str, *arguments: int | str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return int(cursor.rowcount)


def _first(sql: str, *arguments: int | str) -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        row = cursor.fetchone()
    return None if row is None else str(row[0])


# --- judgments that were made elsewhere


@transaction.atomic
def preferences_import(
    *,
    collection: Collection,
    name: str,
    source: BinaryIO,
    filename: str,
    note: str,
    by: User | None,
    at: datetime,
    report: Report | None = None,
) -> PreferenceImport:
    """Store judgments from a file of lines `query a b preferred`, where `preferred` may be = for a tie. Campaigns may
    reuse them; results never change.

    Queries must be the collection's; passages too, unless they are near the top of one of its runs. Raises BadInput
    naming file and line, Refused if the collection has these lines or this name already, or a campaign of it
    these judgments; then nothing is stored.
    """
    report = report or silent()
    digest = hashlib.sha256()

    def rows(file: BinaryIO) -> Iterator[tuple[int, str, str, str, bool | None]]:
        for line, (query, *passages, preferred) in numbered_preferences(file, name=filename, ties=True):
            a, b = canonical(*passages)
            digest.update(f"{query}\t{a}\t{b}\t{TIE if preferred is None else preferred}\n".encode())
            yield line, query, a, b, None if preferred is None else preferred == a

    _execute(
        "CREATE TEMPORARY TABLE staged_preferences "
        "(line integer, query text, a text, b text, prefers_a boolean) ON COMMIT DROP"
    )
    with _opened(source, report) as file:
        judgments = copy_into('"staged_preferences" ("line", "query", "a", "b", "prefers_a")', rows(file))
    _execute("ANALYZE staged_preferences")
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    imports = PreferenceImport.objects.filter(collection=collection)
    if same := imports.filter(sha256=digest.hexdigest()).first():
        text = _("These very judgments have already been imported, as %(name)s. They were not stored again.")
        raise Refused(text % {"name": same.name})
    if imports.filter(name=name).exists():
        raise Refused(_("The collection already has imported preferences called %(name)s.") % {"name": name})
    reuse.refuse_own(collection, _staged())
    report(_("Storing the preferences"))
    _check_preferences(collection, filename)
    pairs = _first("SELECT count(*) FROM (SELECT DISTINCT query, a, b FROM staged_preferences) pairs")
    imported = PreferenceImport(
        collection=collection,
        name=name,
        note=note,
        sha256=digest.hexdigest(),
        judgment_count=judgments,
        pair_count=int(pairs or 0),
        imported_by=by,
        imported_at=at,
    )
    try:
        imported.full_clean()
    except ValidationError as error:
        raise Refused(_in_words(error)) from error
    imported.save()
    _execute(
        "INSERT INTO pools_importedpreference (source_id, line, query_id, a_id, b_id, prefers_a) "
        "SELECT %s, s.line, q.id, a.id, b.id, s.prefers_a FROM staged_preferences s "
        "JOIN pools_query q ON q.collection_id = %s AND q.qid = s.query "
        "JOIN pools_passage a ON a.collection_id = %s AND a.pid = s.a "
        "JOIN pools_passage b ON b.collection_id = %s AND b.pid = s.b ORDER BY s.line",
        imported.pk,
        *[collection.pk] * 3,
    )
    _execute("DROP TABLE staged_preferences")
    return imported


def _staged() -> Counter[Preference]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT query, a, b, CASE WHEN prefers_a THEN a WHEN NOT prefers_a THEN b END, count(*) "
            "FROM staged_preferences GROUP BY 1, 2, 3, 4"
        )
        return Counter({Preference(*row): count for *row, count in cursor.fetchall()})


def _check_preferences(collection: Collection, filename: str) -> None:
    """Raise BadInput at the first line with an unknown id; passages that only runs have so far are made."""
    unknown = _lines_of(
        "SELECT s.query, min(s.line) FROM staged_preferences s LEFT JOIN pools_query q "
        "ON q.collection_id = %s AND q.qid = s.query WHERE q.id IS NULL GROUP BY s.query",
        collection.pk,
    )
    if unknown:
        qid = min(unknown, key=unknown.__getitem__)
        text = _("query %(id)s is not in the collection.") % {"id": quote_value(qid)}
        raise BadInput(filename, unknown[qid], text + _more(len(unknown) - 1))
    missing = _lines_of(
        "SELECT s.pid, min(s.line) FROM (SELECT a AS pid, line FROM staged_preferences "
        "UNION ALL SELECT b, line FROM staged_preferences) s LEFT JOIN pools_passage p "
        "ON p.collection_id = %s AND p.pid = s.pid WHERE p.id IS NULL GROUP BY s.pid",
        collection.pk,
    )
    if not missing:
        return
    needed = pool_selectors.wanted_passages(collection, pool_selectors.ARTIFACT_DEPTH)
    unknown = {pid: line for pid, line in missing.items() if pid not in needed}
    if unknown:
        pid = min(unknown, key=unknown.__getitem__)
        text = _("passage %(id)s is not in the collection, and none of its runs has it among the first %(depth)d.")
        text = text % {"id": quote_value(pid), "depth": pool_selectors.ARTIFACT_DEPTH}
        raise BadInput(filename, unknown[pid], text + _more(len(unknown) - 1))
    _keys(Passage, "pid", collection, missing)


def _more(count: int) -> str:
    return (
        " " + ngettext("%(count)d more id is unknown.", "%(count)d more ids are unknown.", count) % {"count": count}
        if count
        else ""
    )


def _lines_of(sql: str, *arguments: int) -> dict[str, int]:
    """What a statement gives as `(id, line)`."""
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return dict(cursor.fetchall())


@transaction.atomic
def preference_import_delete(*, preference_import: PreferenceImport) -> None:
    """Delete imported preferences that nothing has used. Raises NotNow naming the campaigns that reuse them, or whose
    challenges were decided with them.
    """
    imported = PreferenceImport.objects.select_for_update().filter(pk=preference_import.pk).first()
    if imported is None:
        return
    # What campaigns reuse is known further up; here only the name of the relation is.
    users = list(Campaign.objects.filter(reuses__imported=imported).order_by("name").values_list("name", flat=True))
    if users:
        text = _("The imported preferences cannot be deleted, because campaigns reuse them: %(names)s.")
        raise NotNow(text % {"names": ", ".join(users)})
    challenges = Campaign.objects.filter(
        collection=imported.collection_id,
        design=Campaign.Design.CHALLENGERS,
        reuse=Campaign.Reuse.ALL,
        created_at__gt=imported.imported_at,
        pools__query__in=imported.preferences.values("query"),
    ).exclude(state=Campaign.State.DRAFT)
    if names := list(challenges.order_by("name").values_list("name", flat=True).distinct()):
        text = _(
            "The imported preferences cannot be deleted, because these campaigns of challengers were decided with what "
            "was judged before them: %(names)s."
        )
        raise NotNow(text % {"names": ", ".join(names)})
    try:
        imported.delete()
    except ProtectedError as error:
        raise NotNow(_("The imported preferences cannot be deleted, because they have been used.")) from error


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
        raise Refused(_in_words(error)) from error
    outside, _new = OutsideScores.objects.update_or_create(collection=collection, defaults=content)
    _mark_changed(collection)
    return OutsideStored(outside, len(scores) - len(names))


@transaction.atomic
def outside_scores_delete(*, collection: Collection) -> None:
    """Delete how the collection's runs score elsewhere. Does nothing where that is not stored."""
    if OutsideScores.objects.filter(collection=collection).delete()[0]:
        _mark_changed(collection)


# --- runs


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
            _keys(Passage, "pid", collection, {pid for top in tops for pids in top for pid in pids})
            _mark_runs_changed(collection)
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
        depth=pool_selectors.ARTIFACT_DEPTH,
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


def _mark_changed(collection: Collection) -> None:
    """Mark that what results are made of has changed, for all campaigns of a collection."""
    for campaign_id in collection.campaigns.order_by("id").values_list("id", flat=True):
        campaign_mark_changed(campaign_id=campaign_id)


def _mark_runs_changed(collection: Collection) -> None:
    """Mark that the runs to score have changed, for the campaigns of a collection whose runs are not fixed."""
    for campaign_id in collection.campaigns.order_by("id").values_list("id", flat=True):
        Campaign.objects.filter(pk=campaign_id, fixed_runs__isnull=True).update(revision=F("revision") + 1)


def _original_qrels(collection: Collection) -> Qrels:
    return Qrels.of(Entry(*row) for row in pool_selectors.collection_qrels(collection))


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
    for campaign_id in run.campaigns.order_by("id").values_list("id", flat=True):
        campaign_mark_changed(campaign_id=campaign_id)
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
    scored = Campaign.objects.filter(fixed_runs__contains=[run.pk]).order_by("name").values_list("name", flat=True)
    if names := ", ".join(scored):
        text = _("The run cannot be deleted, because the results of finished campaigns score it: %(names)s.")
        raise NotNow(text % {"names": names})
    files = [file for file in (run.original, run.artifact) if file.name]
    run.delete()
    _mark_runs_changed(run.collection)

    def delete_files() -> None:
        for file in files:
            file.storage.delete(str(file.name))

    transaction.on_commit(delete_files)


@transaction.atomic
def later_runs_score(*, campaign: Campaign) -> int:
    """Have the results of a campaign whose runs are fixed score all runs of its collection. How many are new.

    The results so far are kept beside the new ones. Raises NotNow without new runs.
    """
    locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    later = list(pool_selectors.later_runs(locked).values_list("pk", flat=True))
    if locked.fixed_runs is None or not later:
        raise NotNow(_("There is no run that these results do not score."))
    locked.fixed_runs = sorted([*locked.fixed_runs, *later])
    locked.save(update_fields=["fixed_runs"])
    campaign_mark_changed(campaign_id=campaign.pk)
    return len(later)


# --- campaigns


@dataclass(frozen=True)
class Plan:
    """The pools of a campaign and the pairs that its design asks about, by id, in canonical order.

    `contested`: how many queries have a pool of two or more, before the campaign chooses among them. Equal texts are
    one candidate, as far as the texts are there: `untexted` passages of pools of several have none. `alike` are the
    pairs of passages with nearly the same text. `split`: for a champion check, how many comparisons each category has.
    """

    pools: Mapping[str, tuple[str, ...]]
    pairs: Mapping[str, tuple[IdPair, ...]]
    contested: int
    alike: Sequence[Alike] = ()
    untexted: int = 0
    split: Mapping[str, int] = field(default_factory=dict)


@transaction.atomic
def campaign_create(
    *,
    lab: Lab,
    collection: Collection,
    runs: Iterable[Run],
    name: str,
    created_by: User | None = None,
    report: Report | None = None,
    **settings: Any,
) -> Campaign:
    """A draft campaign with its pools and pairs, from runs and settings (the columns of Campaign, by name).

    Raises Refused if the settings do not fit each other, or name queries that the collection does not have.
    """
    runs = list(runs)
    campaign = Campaign(lab=lab, collection=collection, name=name, created_by=created_by, **settings)
    campaign_check(campaign, runs)
    report = report or silent()
    plan = campaign_plan(campaign, runs, report)
    campaign.sampled_from = plan.contested if campaign.selection == Campaign.Selection.SAMPLE else None
    campaign.save()
    campaign.runs.set(runs)
    _store_plan(campaign, plan, report)
    return campaign


def campaign_check(campaign: Campaign, runs: Sequence[Run]) -> None:
    """Fill in what follows from other settings. Raises Refused if settings and runs do not fit each other."""
    if not campaign.language:
        campaign.language = campaign.collection.language
    if campaign.design == Campaign.Design.CHALLENGERS:
        _set_base(campaign)
    if campaign.design == Campaign.Design.ROUNDS:
        if campaign.method == Campaign.Method.BRADLEY_TERRY:
            raise Refused(_("In this design, the winners are the passages with the most wins in the final."))
        campaign.method = Campaign.Method.MOST_WINS
    try:
        campaign.full_clean()
    except ValidationError as error:
        raise Refused(_in_words(error)) from error
    if not runs:
        raise Refused(_("Choose at least one run."))
    if any(run.collection_id != campaign.collection_id for run in runs):
        raise Refused(_("Every run must belong to the collection."))
    _check_comparisons_of(campaign)
    practice_check(campaign)


def _set_base(campaign: Campaign) -> None:
    """Challenge the newest version, unless another was chosen. Raises Refused where the settings do not fit."""
    if campaign.base_version is None:
        campaign.base_version = pool_selectors.newest_version(campaign.collection)
    if campaign.base_version is None:
        raise Refused(
            _(
                "The collection has no version of its preference qrels, so there is nothing to challenge. Make one "
                "from the results of a campaign first."
            )
        )
    if campaign.base_version.collection_id != campaign.collection_id:
        raise Refused(_("The version to challenge must belong to the collection."))
    if campaign.depth != 1:
        raise Refused(_("A challenger is a passage that a run ranks first, so the depth of this design is 1."))
    if campaign.method != Campaign.Method.TOURNAMENT:
        raise Refused(_("In this design, winners are found by tournament."))


@transaction.atomic
def campaign_rename(*, campaign: Campaign, name: str) -> Campaign:
    """Give a campaign another name. Exports that name it, also as a source of judgments, are made anew.

    Raises Refused if the lab has a campaign of this name, and without a name.
    """
    campaign.name = name.strip()
    refusal = Refused(_("The lab already has a campaign with this name."))
    if Campaign.objects.filter(lab=campaign.lab_id, name=campaign.name).exclude(pk=campaign.pk).exists():
        raise refusal
    try:
        campaign.full_clean(exclude={field.name for field in Campaign._meta.fields} - {"name", "lab"})
    except ValidationError as error:
        raise Refused(_in_words(error)) from error
    try:
        with transaction.atomic():
            campaign.save(update_fields=["name"])
    except IntegrityError as error:  # somebody was faster
        raise refusal from error
    collection_mark_changed(collection=campaign.collection)
    return campaign


@transaction.atomic
def campaign_archive(*, campaign: Campaign, at: datetime) -> Campaign:
    """Leave a campaign out of lists, unless somebody asks for the archive. Nothing else changes.

    Raises NotNow while people can work on it.
    """
    campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
    if campaign.state not in (Campaign.State.DRAFT, Campaign.State.CLOSED) and not campaign.is_finished:
        raise NotNow(_("People can still work on this campaign. Close it first; then it can be archived."))
    campaign.archived_at = campaign.archived_at or at
    campaign.save(update_fields=["archived_at"])
    return campaign


def campaign_unarchive(*, campaign: Campaign) -> None:
    """List a campaign again."""
    Campaign.objects.filter(pk=campaign.pk).update(archived_at=None)


@transaction.atomic
def campaign_reword(*, campaign: Campaign, title: str, question: str, instructions: str) -> Campaign:
    """Change what the workers of a draft will read. What they read once it has started is fixed."""
    campaign = draft_lock(
        campaign, _("The campaign has started, so its title, question and instructions can no longer be changed.")
    )
    campaign.title, campaign.question = title.strip(), question.strip()
    campaign.instructions = instructions.replace("\r\n", "\n").strip()
    try:
        campaign.clean_fields(exclude={field.name for field in Campaign._meta.fields} - {"title", "question"})
    except ValidationError as error:
        raise Refused(_in_words(error)) from error
    campaign.save(update_fields=["title", "question", "instructions"])
    return campaign


@transaction.atomic
def campaign_set_example(
    *, campaign: Campaign, example_query: str, example_better: str, example_worse: str, example_why: str
) -> Campaign:
    """Give a draft a worked example of its own, or, with nothing but empty texts, the general one again."""
    campaign = draft_lock(campaign, _("The campaign has started, so its example can no longer be changed."))
    example = {
        "example_query": example_query,
        "example_better": example_better,
        "example_worse": example_worse,
        "example_why": example_why,
    }
    example = {name: text.replace("\r\n", "\n").strip() for name, text in example.items()}
    if any(example.values()) and not all(example.values()):
        raise Refused(_("An example needs all four texts. Leave all of them empty for the general example."))
    for name, text in example.items():
        setattr(campaign, name, text)
    campaign.save(update_fields=list(example))
    return campaign


@transaction.atomic
def campaign_read_results(*, campaign: Campaign, **settings: Any) -> Campaign:
    """Change how the results are read: any of ReadingSettings, by name.

    Raises Refused where a value is none, or the comparisons cannot be made.
    """
    if unknown := set(settings).difference(names_in(ReadingSettings)):
        raise TypeError(f"not how results are read: {', '.join(sorted(unknown))}")
    for name, value in settings.items():
        setattr(campaign, name, value)
    try:
        campaign.clean_fields(exclude={field.name for field in Campaign._meta.fields}.difference(settings))
    except ValidationError as error:
        raise Refused(_in_words(error)) from error
    _check_comparisons_of(campaign)
    campaign.save(update_fields=[*settings])
    campaign_mark_changed(campaign_id=campaign.pk)
    return campaign


def _check_comparisons_of(campaign: Campaign) -> None:
    check_comparisons(
        collection=campaign.collection,
        comparisons=campaign.comparisons,
        baseline=campaign.baseline,
        compared_pairs=campaign.compared_pairs,
    )


def check_comparisons(*, collection: Collection, comparisons: str, baseline: str, compared_pairs: str) -> None:
    """Raise Refused if a baseline or a chosen pair, where these are asked for, is not of the collection's runs."""
    if comparisons == Campaign.Comparisons.BASELINE:
        if not collection.runs.filter(name=baseline).exists():
            text = _("Enter the name of one of the collection's runs; there is none called “%(name)s”.")
            raise Refused(text % {"name": baseline})
    elif comparisons == Campaign.Comparisons.PAIRS:
        if not compared_pairs.strip():
            raise Refused(_("Enter at least one pair of runs."))
        names = dict.fromkeys(collection.runs.order_by("name").values_list("name", flat=True))
        try:
            read_run_pairs(io.BytesIO(compared_pairs.encode()), names, name=_("Chosen pairs of runs"))
        except BadInput as error:
            raise Refused(str(error)) from error


@transaction.atomic
def campaign_delete(*, campaign: Campaign) -> None:
    """Delete a draft with its pools, pairs and test pairs. A campaign that has started is closed instead."""
    campaign = draft_lock(campaign, _("The campaign has started, so it cannot be deleted. Close it instead."))
    try:
        campaign.delete()
    except ProtectedError as error:
        raise NotNow(_("This campaign already has decisions or judgments, so it cannot be deleted.")) from error


def campaign_mark_changed(*, campaign_id: int) -> None:
    """Mark that what a campaign's results and exports are made of has changed, so that they are made again.

    The last thing that a transaction does: until it ends, nobody else can mark this campaign.
    """
    Campaign.objects.filter(pk=campaign_id).update(revision=F("revision") + 1)


def collection_mark_changed(*, collection: Collection) -> None:
    """Mark that what all campaigns of a collection are made of has changed."""
    Campaign.objects.filter(collection=collection).update(revision=F("revision") + 1)


def campaign_reopen(*, campaign_id: int) -> None:
    """Let the jobs look after a finished campaign again, although what its results are made of is the same."""
    Campaign.objects.filter(pk=campaign_id, finished_revision__isnull=False).update(finished_revision=None)


def draft_lock(campaign: Campaign, otherwise: str) -> Campaign:
    """The campaign, locked, if it is a draft; else NotNow with this sentence."""
    draft = Campaign.objects.select_for_update().filter(pk=campaign.pk, state=Campaign.State.DRAFT).first()
    if draft is None:
        raise NotNow(otherwise)
    return draft


def campaign_plan(
    campaign: Campaign, runs: Iterable[Run], report: Report | None = None, queries: Some[str] | None = None
) -> Plan:
    """The pools and pairs of a campaign that need not be stored yet: from artifacts, qrels, texts and settings alone,
    and for challengers from the version that they challenge and what was judged before.

    Pools cover the queries that have a qrel of the asked grade, as the mean reciprocal rank does; of challengers, those
    that have one. `queries` are those that were chosen before, if they were. Passages of a pool with equal texts are
    one candidate.
    """
    report = report or silent()
    planned = pools_plan(campaign, list(runs), report, queries)
    alike, untexted = _compare_texts(campaign.collection, planned.pools, report)
    return replace(planned, alike=alike, untexted=untexted)


def pools_plan(
    campaign: Campaign,
    runs: Sequence[Run],
    report: Report,
    queries: Some[str] | None = None,
    among: Some[str] | None = None,
) -> Plan:
    """The same without looking for passages of nearly equal texts, and for no other queries than those `among`."""
    is_champion_check = campaign.design == Campaign.Design.CHAMPION_CHECK
    depth = pool_selectors.champion_depth(campaign) if is_champion_check else campaign.depth
    tops: list[dict[str, tuple[str, ...]]] = []
    for number, run in enumerate(runs):
        report(_("Reading the top of the runs"), number, len(runs))
        top = pool_selectors.load_artifact(run).top(cast(Order, campaign.order), depth)
        tops.append(top if among is None else {query: top[query] for query in among if query in top})
    report(_("Building pools and pairs"))
    rows = pool_selectors.collection_qrels(campaign.collection)
    qrels = Qrels.of(Entry(*row) for row in rows if among is None or row[0] in among)
    split: Mapping[str, Mapping[str, int]] = {}
    if is_champion_check:
        if len(tops) != 1:
            raise Refused(_("The champion check compares one run with the qrels: choose exactly one run."))
        pools, pairs, split = _plan_champion_check(campaign, tops[0], qrels)
    elif campaign.design == Campaign.Design.CHALLENGERS:
        pools, pairs = _plan_challenge(campaign, tops)
        if not pools and queries is None:
            assert campaign.base_version is not None
            raise Refused(
                _(
                    "No run brings anything new: for every query of version %(number)d, the passage that each chosen "
                    "run ranks first has been considered before."
                )
                % {"number": campaign.base_version.number}
            )
    else:
        pools = pool_queries(tops, qrels, cast(Policy, campaign.qrel_policy), min_grade=campaign.min_grade)
        pools = merge_equal(pools, pool_selectors.text_keys(campaign.collection, pools.values())).pools
        pairs = {query: _first_pairs(campaign, query, pool) for query, pool in pools.items()}
    if queries is None:
        chosen = _select_queries(campaign, pools)
    else:  # a challenger whose text came later may turn out to be nothing new
        chosen = sorted(query for query in queries if query in pools)
    contested = sum(len(pool) > 1 for pool in pools.values())
    return Plan(
        {query: pools[query] for query in chosen},
        {query: pairs[query] for query in chosen},
        contested,
        split={name: sum(split[query][name] for query in chosen if query in split) for name in "ab"} if split else {},
    )


def _first_pairs(campaign: Campaign, query: str, pool: tuple[str, ...]) -> tuple[IdPair, ...]:
    """What is asked about a pool from the start: all its pairs, or in rounds those of the first."""
    if campaign.design != Campaign.Design.ROUNDS:
        return tuple(all_pairs(query, pool))
    requests = replay(query, pool, (), round_settings(campaign)).requests
    return tuple(sorted(IdPair(query, *canonical(a, b)) for a, b in requests))


def round_settings(campaign: Campaign) -> RoundSettings:
    return RoundSettings(campaign.partners, campaign.finalists, campaign.seed % 2**63)


class Expected(NamedTuple):
    """What rounds are expected to ask, where judgments are right: so many pairs, in so many rounds with the final."""

    pairs: int
    rounds: int


def expected_pairs(campaign: Campaign, sizes: Mapping[int, int] | None = None) -> Expected:
    """Of a campaign in rounds, or of so many pools of each size by its settings."""
    sizes = {int(size): count for size, count in campaign.pool_histogram.items()} if sizes is None else sizes
    return expected_of(round_settings(campaign), sizes)


def expected_of(settings: RoundSettings, sizes: Mapping[int, int]) -> Expected:
    """The same of so many pools of each size."""
    estimates = {size: estimate_pairs(size, settings) for size in sizes}
    pairs = round(sum(count * estimates[size][0] for size, count in sizes.items()))
    return Expected(pairs, max((rounds for _pairs, rounds in estimates.values()), default=0))


@transaction.atomic
def pairs_add(*, campaign: Campaign, pairs: Iterable[IdPair]) -> dict[IdPair, int]:
    """Store more pairs of a campaign's pools, which have none of them. Their keys.

    The caller holds the campaign's lock.
    """
    pairs = list(pairs)
    pools = dict(Pool.objects.filter(campaign=campaign).values_list("query__qid", "id"))
    passages = _keys(Passage, "pid", campaign.collection, {pid for _query, a, b in pairs for pid in (a, b)})
    copy_rows(Pair, ["pool", "a", "b"], ((pools[query], passages[a], passages[b]) for query, a, b in pairs))
    Campaign.objects.filter(pk=campaign.pk).update(pair_count=F("pair_count") + len(pairs))
    rows = Pair.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "a__pid", "b__pid", "id")
    unique = set(pairs)
    return {pair: pk for *names, pk in rows if (pair := IdPair(*names)) in unique}


def _plan_champion_check(
    campaign: Campaign, top: Mapping[str, tuple[str, ...]], qrels: Qrels
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[IdPair, ...]], dict[str, Counter[str]]]:
    """Pools, pairs, and how many of a query's comparisons are in each category."""
    relevant = {query: pids for query, pids in qrels.relevant("all", campaign.min_grade).items() if pids}
    pooled = {query: {*pids, *top.get(query, ())} for query, pids in relevant.items()}
    stands_for = merge_equal(pooled, pool_selectors.text_keys(campaign.collection, pooled.values())).stands_for
    once = relevant_once(stands_for, qrels, campaign.min_grade)
    pools = {query: set(pids) for query, pids in once.relevant("first", campaign.min_grade).items() if pids}
    pairs: dict[str, list[IdPair]] = {query: [] for query in pools}
    split: dict[str, Counter[str]] = {query: Counter() for query in pools}
    for row in champion_pairs(
        name_once(stands_for, top),
        once,
        min_grade=campaign.min_grade,
        choice=cast(ChampionQrel, campaign.champion_qrel),
    ):
        if not pairs[row.query]:
            pools[row.query] = set()
        pools[row.query].update((row.qrel, row.other))
        pairs[row.query].append(row.pair)
        split[row.query][row.category] += 1
    return (
        {query: tuple(sorted(pool)) for query, pool in pools.items()},
        {query: tuple(sorted(of_query)) for query, of_query in pairs.items()},
        split,
    )


def _compare_texts(
    collection: Collection, pools: Mapping[str, tuple[str, ...]], report: Report
) -> tuple[list[Alike], int]:
    """The pairs of passages with nearly the same text, the most alike first, and how many passages have none."""
    several = [query for query, pool in pools.items() if len(pool) > 1]
    alike: list[Alike] = []
    untexted: set[str] = set()
    for start in range(0, len(several), QUERIES_AT_ONCE):
        report(_("Comparing the texts"), start, len(several))
        part = {query: pools[query] for query in several[start : start + QUERIES_AT_ONCE]}
        pids = {pid for pool in part.values() for pid in pool}
        _queries, texts = pool_selectors.texts_of(collection, qids=(), pids=pids)
        texts = {pid: text for pid, text in texts.items() if text}
        untexted |= pids - texts.keys()
        alike += nearly_equal(part, texts)
    return sorted(alike, key=lambda row: (-row.share, row.pair)), len(untexted)


def _plan_challenge(
    campaign: Campaign, tops: Sequence[Tops]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[IdPair, ...]]]:
    """Pools and pairs of the queries that have a challenger: each against the best known answers, and whatever else is
    missing by what was judged before. A text that was considered under another id is not new.
    """
    assert campaign.base_version is not None
    answers = pool_selectors.version_answers(campaign.base_version)
    considered = pool_selectors.considered_passages(campaign.base_version)
    firsts = find_challengers(tops, {query: considered.get(query, set()) | {*pids} for query, pids in answers.items()})
    pooled = {query: {*answers[query], *considered.get(query, ()), *pids} for query, pids in firsts.items()}
    keys = pool_selectors.text_keys(campaign.collection, pooled.values())
    challengers, standing = {}, {}
    stands_for: dict[str, dict[str, str]] = {}
    for query, pids in firsts.items():
        # Earlier candidates before other ids of their texts, so that what was judged of them is found.
        earlier = considered.get(query, set())
        ordered = sorted(pooled[query], key=lambda p: (p in pids, p not in answers[query], p not in earlier, p))
        by_text: dict[str, str] = {}
        stands_for[query] = {pid: by_text.setdefault(keys.get(pid, f"id {pid}"), pid) for pid in ordered}
        new = {stands_for[query][pid] for pid in pids}.intersection(pids)
        if new:
            challengers[query] = tuple(sorted(new))
            standing[query] = tuple(sorted({stands_for[query][pid] for pid in answers[query]}))
    judged = judge_merged(Merged({}, stands_for, {}), reuse.known_preferences(campaign))
    chosen = {*challenge_pairs(standing, challengers)}
    for challenge in settle_challenges(standing, challengers, judged):
        chosen.update(challenge.missing)
    pairs: dict[str, list[IdPair]] = {}
    for pair in sorted(chosen):
        pairs.setdefault(pair.query, []).append(pair)
    pools = {query: tuple(sorted({*standing[query], *pids})) for query, pids in challengers.items()}
    return pools, {query: tuple(pairs[query]) for query in pools}


def _select_queries(campaign: Campaign, pools: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Ids of the queries that the campaign's selection names, sorted."""
    everything = sorted(pools)
    if campaign.selection == Campaign.Selection.ALL:
        return everything
    if campaign.selection == Campaign.Selection.LIST:
        qids = campaign.query_list.split()
        unknown = [qid for qid in qids if qid not in pools]
        if unknown:
            raise Refused(
                _("%(count)d of the listed queries have no pool, or no qrel: %(ids)s.")
                % {"count": len(unknown), "ids": ", ".join(unknown[:10])}
            )
        if not qids:
            raise Refused(_("The list of queries is empty."))
        return sorted(set(qids))
    contested = [query for query in everything if len(pools[query]) > 1]
    size = campaign.sample_size or 0
    if not 1 <= size <= len(contested):
        raise Refused(
            _("The sample must have between 1 and %(most)d queries (those with a pool of two or more), not %(size)d.")
            % {"most": len(contested), "size": size}
        )
    return sorted(Random(campaign.seed).sample(contested, size))


@transaction.atomic
def campaign_compare_texts(*, campaign: Campaign, report: Report | None = None) -> None:
    """Make the pools and pairs of a locked draft, or of a campaign that is being packed, again over the same queries.

    For texts that came after its pools were made: only those that were there could be compared. A query whose
    challengers turn out to be nothing new has no pool any more.
    """
    report = report or silent()
    queries = campaign.pools.values_list("query__qid", flat=True)
    plan = campaign_plan(campaign, campaign.runs.order_by("name"), report, queries=list(queries))
    pools_replace(campaign=campaign, plan=plan, report=report)


def pools_replace(*, campaign: Campaign, plan: Plan, report: Report) -> None:
    """Store other pools and pairs in place of a campaign's own. The caller holds the transaction."""
    AlikePair.objects.filter(campaign=campaign).delete()
    Pair.objects.filter(pool__campaign=campaign).delete()
    Candidate.objects.filter(pool__campaign=campaign).delete()
    Pool.objects.filter(campaign=campaign).delete()
    _store_plan(campaign, plan, report)


def twins_store(*, campaign: Campaign) -> None:
    """Store which passages of the collection have the text of a candidate. What is stored already stays.

    "+ 0" leaves one index, that of the texts. Right after an import PostgreSQL may take a collection for empty, find
    other indexes as good, and read all its passages for each candidate.
    """
    _execute(
        "INSERT INTO pools_twin (candidate_id, passage_id) "
        "SELECT candidate.id, twin.id FROM pools_pool pool "
        "JOIN pools_candidate candidate ON candidate.pool_id = pool.id "
        "JOIN pools_passage passage ON passage.id = candidate.passage_id "
        "JOIN pools_passage twin ON twin.text_key = passage.text_key "
        "AND twin.collection_id + 0 = passage.collection_id AND twin.id <> passage.id "
        "WHERE pool.campaign_id = %s ON CONFLICT (candidate_id, passage_id) DO NOTHING",
        campaign.pk,
    )


def _store_plan(campaign: Campaign, plan: Plan, report: Report) -> None:
    report(_("Storing the pools"))
    query_keys = _keys(Query, "qid", campaign.collection, plan.pools)
    pids = dict.fromkeys(pid for pool in plan.pools.values() for pid in pool)
    passage_keys = _keys(Passage, "pid", campaign.collection, pids)
    copy_rows(Pool, ["campaign", "query"], ((campaign.pk, query_keys[query]) for query in plan.pools))
    pool_keys = dict(Pool.objects.filter(campaign=campaign).values_list("query__qid", "id"))
    copy_rows(
        Candidate,
        ["pool", "passage"],
        ((pool_keys[query], passage_keys[pid]) for query, pool in plan.pools.items() for pid in pool),
    )
    campaign.pair_count = sum(map(len, plan.pairs.values()))
    step = _("Storing the pairs")
    copy_rows(
        Pair,
        ["pool", "a", "b"],
        (
            (pool_keys[query], passage_keys[a], passage_keys[b])
            for pairs in plan.pairs.values()
            for query, a, b in pairs
        ),
        lambda copied: report(step, copied, campaign.pair_count, "rows"),
    )
    copy_rows(
        AlikePair,
        ["campaign", "pool", "a", "b", "share"],
        (
            (campaign.pk, pool_keys[pair.query], passage_keys[pair.a], passage_keys[pair.b], share)
            for pair, share in plan.alike
        ),
    )
    twins_store(campaign=campaign)
    campaign.pool_histogram = {str(size): count for size, count in pool_sizes(plan.pools).histogram.items()}
    campaign.champion_split, campaign.untexted_count = dict(plan.split), plan.untexted
    if campaign.design == Campaign.Design.CHALLENGERS:
        campaign.error_model = learn_from(reuse.known_preferences(campaign)).rows
    campaign.save(update_fields=["pair_count", "pool_histogram", "champion_split", "untexted_count", "error_model"])


def _in_words(error: ValidationError) -> str:
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    return " ".join(
        f"{field.replace('_', ' ')}: {' '.join(messages)}" if field != "__all__" else " ".join(messages)
        for field, messages in error.message_dict.items()
    )
