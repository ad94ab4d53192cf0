"""Machine judges: a machine's answers about a collection's pairs, kept apart from everything that people judged."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, cast

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.copying import copy_into
from core.errors import Refused
from core.models import User
from core.progress import Report, ReportedFile, silent
from evaluation.errors import BadInput
from evaluation.files.answers import Answer, numbered_answers
from evaluation.files.textfiles import quote_value
from machines.models import MachineAnswer, MachineJudge
from runs import selectors as run_selectors
from runs.background import Sent, job_ask
from runs.models import Collection, Job, Upload

ANSWERS = 1_000_000  # that one file may hold
NAMED = 10  # unknown ids in a message
READ = 10_000  # rows at a time


@transaction.atomic
def machine_judge_import(
    *,
    collection: Collection,
    name: str,
    source: BinaryIO,
    filename: str,
    model: str,
    prompt: str,
    by: User | None,
    at: datetime,
    report: Report | None = None,
) -> MachineJudge:
    """Store a machine's answers from lines `query a b preferred`, where `preferred` may be = or !.

    Queries must be the collection's, and passages too, unless they are near the top of one of its runs. Raises BadInput
    naming file and line, Refused if the collection has these answers or this name already; then nothing is stored.
    """
    report = report or silent()
    digest = hashlib.sha256()

    def rows(file: BinaryIO) -> Iterator[tuple[int, str, str, str, str]]:
        for count, (line, answer) in enumerate(numbered_answers(file, name=filename), 1):
            if count > ANSWERS:
                raise BadInput(filename, line, _("more than %(most)s answers.") % {"most": f"{ANSWERS:,}"})
            digest.update("\t".join(answer).encode() + b"\n")
            yield line, *answer

    reading = ReportedFile(source, filename, _("Reading %(name)s") % {"name": filename}, report)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE staged_answers (line integer, query text, a text, b text, sign text) ON COMMIT DROP"
        )
        answers = copy_into('"staged_answers" ("line", "query", "a", "b", "sign")', rows(cast(BinaryIO, reading)))
        cursor.execute("ANALYZE staged_answers")
        Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        _check_new(collection, name, digest.hexdigest())
        report(_("Storing the answers"))
        _check_known(collection, filename)
        cursor.execute("SELECT count(DISTINCT (query, least(a, b), greatest(a, b))) FROM staged_answers")
        judge = MachineJudge(
            collection=collection,
            name=name,
            model=model,
            prompt=prompt,
            sha256=digest.hexdigest(),
            answer_count=answers,
            pair_count=cursor.fetchone()[0],
            imported_by=by,
            imported_at=at,
        )
        try:
            judge.full_clean()
        except ValidationError as error:
            raise Refused(" ".join(error.messages)) from error
        judge.save()
        cursor.execute(
            "INSERT INTO machines_machineanswer (judge_id, line, query, a, b, sign) "
            "SELECT %s, line, query, a, b, sign FROM staged_answers ORDER BY line",
            [judge.pk],
        )
        cursor.execute("DROP TABLE staged_answers")
    return judge


def _check_new(collection: Collection, name: str, sha256: str) -> None:
    """Raise Refused where the collection has these answers, or a judge of this name."""
    judges = MachineJudge.objects.filter(collection=collection)
    if same := judges.filter(sha256=sha256).first():
        text = _("These very answers have already been imported, as %(name)s. They were not stored again.")
        raise Refused(text % {"name": same.name})
    if judges.filter(name=name).exists():
        raise Refused(_("The collection already has a machine judge called %(name)s.") % {"name": name})


def _check_known(collection: Collection, filename: str) -> None:
    """Raise BadInput at the first line with an id that the collection does not know, naming all such ids."""
    queries = _lines_of(
        "SELECT s.query, min(s.line) FROM staged_answers s LEFT JOIN runs_query q "
        "ON q.collection_id = %s AND q.qid = s.query WHERE q.id IS NULL GROUP BY s.query ORDER BY 2, 1",
        collection,
    )
    passages = _lines_of(
        "SELECT s.pid, min(s.line) FROM (SELECT a AS pid, line FROM staged_answers "
        "UNION ALL SELECT b, line FROM staged_answers) s LEFT JOIN runs_passage p "
        "ON p.collection_id = %s AND p.pid = s.pid WHERE p.id IS NULL GROUP BY s.pid ORDER BY 2, 1",
        collection,
    )
    if passages:
        pooled = run_selectors.wanted_passages(collection, run_selectors.ARTIFACT_DEPTH)
        passages = {pid: line for pid, line in passages.items() if pid not in pooled}
    problems = []
    if queries:
        text = ngettext(
            "%(count)s query is not in the collection: %(ids)s.",
            "%(count)s queries are not in the collection: %(ids)s.",
            len(queries),
        )
        problems.append(text % {"count": f"{len(queries):,}", "ids": _named(queries)})
    if passages:
        text = ngettext(
            "%(count)s passage is neither in the collection nor among the first %(depth)d of its runs: %(ids)s.",
            "%(count)s passages are neither in the collection nor among the first %(depth)d of its runs: %(ids)s.",
            len(passages),
        )
        depth = run_selectors.ARTIFACT_DEPTH
        problems.append(text % {"count": f"{len(passages):,}", "depth": depth, "ids": _named(passages)})
    if problems:
        raise BadInput(filename, min([*queries.values(), *passages.values()]), " ".join(problems))


def _lines_of(sql: str, collection: Collection) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [collection.pk])
        return dict(cursor.fetchall())


def _named(ids: dict[str, int]) -> str:
    return ", ".join(quote_value(name) for name in list(ids)[:NAMED]) + (" …" if len(ids) > NAMED else "")


@transaction.atomic
def machine_judge_delete(*, judge: MachineJudge) -> None:
    """Delete a machine judge with its answers and comparisons, and nothing else."""
    judge.delete()


def answers_of(judge: MachineJudge) -> Iterator[Answer]:
    """A judge's answers, as they were in its file."""
    rows = MachineAnswer.objects.filter(judge=judge).order_by("line").values_list("query", "a", "b", "sign")
    return (Answer(*row) for row in rows.iterator(chunk_size=READ))


def job_do(job: Job, report: Report) -> None:
    """Do a job of this kind (runs.background)."""
    assert job.collection is not None
    upload = job.uploads.get(part=Upload.Part.MACHINE)
    with default_storage.open(str(upload.file.name)) as file:
        judge = machine_judge_import(
            collection=job.collection,
            name=job.name,
            source=cast(BinaryIO, file),
            filename=upload.name,
            by=job.asked_by,
            at=timezone.now(),
            report=report,
            **job.request,
        )
    job.counts = {"answers": judge.answer_count, "machine_pairs": judge.pair_count}


def machine_ask(
    *, collection: Collection, file: Sent, name: str, model: str, prompt: str, by: User | None, at: datetime
) -> Job:
    """Store a file of a machine's answers, and ask for it to be imported. Raises FileAway if it cannot be stored."""
    request = {"model": model, "prompt": prompt}
    job = Job(lab=collection.lab, kind=Job.Kind.MACHINE, name=name, collection=collection, request=request)
    return job_ask(job, {Upload.Part.MACHINE: file}, by, at)
