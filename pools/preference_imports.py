"""Preferences that were made elsewhere: importing them into a collection, and deleting them."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import connection, transaction
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.copying import copy_into
from core.errors import NotNow, Refused, validation_in_words
from core.models import User
from core.progress import Report, silent
from evaluation.errors import BadInput
from evaluation.files.preferences import TIE, Preference, numbered_preferences
from evaluation.files.textfiles import quote_value
from evaluation.judging.designs import designs_that
from evaluation.judging.pooling import canonical
from pools import reuse
from pools.models import Campaign
from runs import selectors as run_selectors
from runs.models import Collection, Job, Passage, PreferenceImport, Upload
from runs.services import execute, first_value, keys_by_id, opened

if TYPE_CHECKING:  # the class takes a parameter in its stubs alone
    Sent = UploadedFile[Any]
else:
    Sent = UploadedFile
from runs.background import job_ask


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

    execute(
        "CREATE TEMPORARY TABLE staged_preferences "
        "(line integer, query text, a text, b text, prefers_a boolean) ON COMMIT DROP"
    )
    with opened(source, report) as file:
        judgments = copy_into('"staged_preferences" ("line", "query", "a", "b", "prefers_a")', rows(file))
    execute("ANALYZE staged_preferences")
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
    pairs = first_value("SELECT count(*) FROM (SELECT DISTINCT query, a, b FROM staged_preferences) pairs")
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
        raise Refused(validation_in_words(error)) from error
    imported.save()
    execute(
        "INSERT INTO runs_importedpreference (source_id, line, query_id, a_id, b_id, prefers_a) "
        "SELECT %s, s.line, q.id, a.id, b.id, s.prefers_a FROM staged_preferences s "
        "JOIN runs_query q ON q.collection_id = %s AND q.qid = s.query "
        "JOIN runs_passage a ON a.collection_id = %s AND a.pid = s.a "
        "JOIN runs_passage b ON b.collection_id = %s AND b.pid = s.b ORDER BY s.line",
        imported.pk,
        *[collection.pk] * 3,
    )
    execute("DROP TABLE staged_preferences")
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
        "SELECT s.query, min(s.line) FROM staged_preferences s LEFT JOIN runs_query q "
        "ON q.collection_id = %s AND q.qid = s.query WHERE q.id IS NULL GROUP BY s.query",
        collection.pk,
    )
    if unknown:
        qid = min(unknown, key=unknown.__getitem__)
        text = _("query %(id)s is not in the collection.") % {"id": quote_value(qid)}
        raise BadInput(filename, unknown[qid], text + _more(len(unknown) - 1))
    missing = _lines_of(
        "SELECT s.pid, min(s.line) FROM (SELECT a AS pid, line FROM staged_preferences "
        "UNION ALL SELECT b, line FROM staged_preferences) s LEFT JOIN runs_passage p "
        "ON p.collection_id = %s AND p.pid = s.pid WHERE p.id IS NULL GROUP BY s.pid",
        collection.pk,
    )
    if not missing:
        return
    needed = run_selectors.wanted_passages(collection, run_selectors.ARTIFACT_DEPTH)
    unknown = {pid: line for pid, line in missing.items() if pid not in needed}
    if unknown:
        pid = min(unknown, key=unknown.__getitem__)
        text = _("passage %(id)s is not in the collection, and none of its runs has it among the first %(depth)d.")
        text = text % {"id": quote_value(pid), "depth": run_selectors.ARTIFACT_DEPTH}
        raise BadInput(filename, unknown[pid], text + _more(len(unknown) - 1))
    keys_by_id(Passage, "pid", collection, missing)


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
        design__in=designs_that("challenges"),
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


def preferences_ask(*, collection: Collection, file: Sent, name: str, note: str, by: User | None, at: datetime) -> Job:
    """Store a file of preferences, and ask for it to be imported. Raises FileAway if it cannot be stored."""
    job = Job(lab=collection.lab, kind=Job.Kind.PREFERENCES, name=name, collection=collection, request={"note": note})
    return job_ask(job, {Upload.Part.PREFERENCES: file}, by, at)


def job_do(job: Job, report: Report) -> None:
    """Import the preferences that a job holds. Raises Refused and BadInput."""
    assert job.collection is not None
    upload = job.uploads.get(part=Upload.Part.PREFERENCES)
    with default_storage.open(str(upload.file.name)) as file:
        imported = preferences_import(
            collection=job.collection,
            name=job.name,
            source=cast(BinaryIO, file),
            filename=upload.name,
            by=job.asked_by,
            at=timezone.now(),
            report=report,
            **job.request,
        )
    job.counts = {"judgments": imported.judgment_count, "pairs": imported.pair_count}
