"""Judgments that were made elsewhere, as a campaign of their own: with tournaments, agreement and results like any
other, but nobody can judge in it, and it cannot be published.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import BinaryIO, cast

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.copying import copy_rows
from core.errors import Refused
from core.models import User
from core.progress import Report, ReportedFile, silent
from evaluation.errors import BadInput
from evaluation.files.judgments import Made, in_time, read_judgments
from evaluation.files.preferences import TIE, Preference
from evaluation.files.textfiles import quote_value
from evaluation.judging.pooling import canonical
from judgments.models import Acceptance, Judgment
from pools import reuse
from pools import services as pool_services
from pools.models import Campaign, Candidate, Pair, Pool
from runs import selectors as run_selectors
from runs import services as run_services
from runs.background import Sent, job_ask
from runs.models import Collection, Job, Upload
from tasks.models import Assignment, Hit, Item, Platform, Worker

JUDGMENTS = 1_000_000  # that one import takes
PAIRS_AT_ONCE = 100  # of one worker, which are shown as one assignment

IdPair = tuple[str, str, str]  # query, a, b, in canonical order


@dataclass
class _Work:
    """What one worker judged, pair by pair in the order of their first judgment, each with all judgments in order."""

    by_pair: dict[IdPair, list[Made]] = field(default_factory=lambda: defaultdict(list))


@transaction.atomic
def judgments_import(
    *,
    collection: Collection,
    name: str,
    source: BinaryIO,
    filename: str,
    note: str,
    question: str = "",
    by: User | None,
    at: datetime,
    report: Report | None = None,
) -> Campaign:
    """A closed campaign with the judgments of a file, in any format of `evaluation.files.judgments`.

    Its pools are the passages that were compared. A worker is whoever has the same name in the file, and becomes a new
    worker of the lab without that name; judgments without a name are each by somebody else. Where a worker judged a
    pair again, the last judgment counts. A tie is half a win for both passages. `question` is what was asked, by which
    other campaigns know whether they may reuse the judgments.

    Raises BadInput naming file and line, Refused if the collection has these judgments already, imported or its own,
    or cannot take them.
    """
    report = report or silent()
    if not collection.runs.exists():
        raise Refused(_("The collection has no runs yet. Results compare runs, so add at least one first."))
    reading = cast(BinaryIO, ReportedFile(source, filename, _("Reading %(name)s") % {"name": filename}, report))
    read = read_judgments(reading, name=filename)
    rows: list[Made] = []
    for judgment in read.made:
        rows.append(judgment)
        if len(rows) > JUDGMENTS:
            raise BadInput(filename, judgment.line, f"more than {JUDGMENTS:,} judgments.")
    if not rows:
        raise BadInput(filename, None, _("there is no judgment in it."))
    digest = _digest(rows)
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    if same := collection.campaigns.filter(origin__sha256=digest).first():
        text = _(
            "These very judgments have already been imported, as the campaign %(name)s. They were not stored again."
        )
        raise Refused(text % {"name": same.name})
    reuse.refuse_own(
        collection, Counter(Preference(row.query, *canonical(row.a, row.b), row.preferred) for row in rows)
    )
    report(_("Storing the judgments"))
    queries, passages = _known(collection, rows, filename)
    works = _by_worker(rows)
    fullest = _most_of_a_pair(works)
    campaign = Campaign(
        lab=collection.lab,
        collection=collection,
        name=name,
        created_by=by,
        state=Campaign.State.CLOSED,
        language=collection.language,
        reuse=Campaign.Reuse.NOTHING,
        overlap=fullest,
        reward=0,
        origin={
            "format": read.format,
            "file": filename,
            "note": note,
            "sha256": digest,
            "judgments": len(rows),
            "workers": len(works),
            "left_out": read.left_out,
        },
    )
    if question:
        campaign.question = question
    try:
        campaign.full_clean(exclude=["overlap"])
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    campaign.save()
    campaign.runs.set(collection.runs.all())
    pairs = _store_pools(campaign, works, queries, passages)
    _store_work(campaign, works, pairs, at, report)
    pool_services.campaigns_mark_changed(campaigns=collection.campaigns.all())
    campaign.refresh_from_db()
    return campaign


def job_do(job: Job, report: Report) -> None:
    """Do a job of this kind (runs.background)."""
    assert job.collection is not None
    upload = job.uploads.get(part=Upload.Part.JUDGMENTS)
    with default_storage.open(str(upload.file.name)) as file:
        campaign = judgments_import(
            collection=job.collection,
            name=job.name,
            source=cast(BinaryIO, file),
            filename=upload.name,
            by=job.asked_by,
            at=timezone.now(),
            report=report,
            **job.request,
        )
    job.outcome_id = campaign.pk


def _digest(rows: Sequence[Made]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        preferred = TIE if row.preferred is None else row.preferred
        digest.update("\t".join([row.query, row.a, row.b, preferred, row.worker, str(row.at)]).encode() + b"\n")
    return digest.hexdigest()


def _known(collection: Collection, rows: Sequence[Made], filename: str) -> tuple[dict[str, int], dict[str, int]]:
    """The keys of the queries and passages, by id. Passages that the collection lacks are made, without a text.

    Raises BadInput for an unknown query, and where most passages are unknown: the file is about another collection.
    """
    queries = dict(collection.queries.values_list("qid", "id"))
    unknown = dict.fromkeys(row.query for row in rows if row.query not in queries)
    if unknown:
        line = next(row.line for row in rows if row.query not in queries)
        text = _("query %(id)s is not in the collection.") % {"id": quote_value(next(iter(unknown)))}
        raise BadInput(filename, line, text + _more(len(unknown) - 1))
    pooled = run_selectors.wanted_passages(collection, run_selectors.ARTIFACT_DEPTH)
    pids = dict.fromkeys(pid for row in rows for pid in (row.a, row.b))
    unknown = dict.fromkeys(pid for pid in pids if pid not in pooled)
    if 2 * len(unknown) > len(pids):
        line = next(row.line for row in rows if row.a in unknown or row.b in unknown)
        text = _("passage %(id)s is not in the collection, and none of its runs has it among the first %(depth)d.")
        text = text % {"id": quote_value(next(iter(unknown))), "depth": run_selectors.ARTIFACT_DEPTH}
        raise BadInput(filename, line, text + _more(len(unknown) - 1))
    return queries, run_services.passages_ensure(collection=collection, pids=pids)


def _more(others: int) -> str:
    if not others:
        return ""
    return " " + ngettext("%(count)d more id is unknown.", "%(count)d more ids are unknown.", others) % {
        "count": others
    }


def _by_worker(rows: Sequence[Made]) -> list[_Work]:
    """What each worker judged, in the order in which they began. The nth nameless judgment of a pair is that of the
    nth nameless worker.
    """
    works: dict[tuple[str, int], _Work] = defaultdict(_Work)
    nameless: dict[IdPair, count[int]] = defaultdict(lambda: count(1))
    for row in in_time(rows):
        pair = (row.query, *canonical(row.a, row.b))
        worker = (row.worker, 0) if row.worker else ("", next(nameless[pair]))
        works[worker].by_pair[pair].append(row)
    return list(works.values())


def _most_of_a_pair(works: Sequence[_Work]) -> int:
    counts: dict[IdPair, int] = defaultdict(int)
    for work in works:
        for pair in work.by_pair:
            counts[pair] += 1
    return max(counts.values())


def _store_pools(
    campaign: Campaign, works: Sequence[_Work], queries: dict[str, int], passages: dict[str, int]
) -> dict[IdPair, Pair]:
    judged = sorted({pair for work in works for pair in work.by_pair})
    pooled: dict[str, set[str]] = defaultdict(set)
    for query, a, b in judged:
        pooled[query].update((a, b))
    pools = {query: Pool(campaign=campaign, query_id=queries[query]) for query in sorted(pooled)}
    Pool.objects.bulk_create(pools.values(), batch_size=5_000)
    candidates = (
        Candidate(pool=pools[query], passage_id=passages[pid]) for query in pools for pid in sorted(pooled[query])
    )
    Candidate.objects.bulk_create(candidates, batch_size=5_000)
    pairs = {(query, a, b): Pair(pool=pools[query], a_id=passages[a], b_id=passages[b]) for query, a, b in judged}
    Pair.objects.bulk_create(pairs.values(), batch_size=5_000)
    histogram: dict[str, int] = defaultdict(int)
    for pids in pooled.values():
        histogram[str(len(pids))] += 1
    campaign.pair_count, campaign.pool_histogram = len(pairs), dict(histogram)
    campaign.save(update_fields=["pair_count", "pool_histogram"])
    return pairs


def _store_work(
    campaign: Campaign, works: Sequence[_Work], pairs: dict[IdPair, Pair], at: datetime, report: Report
) -> None:
    """Workers, and their judgments in assignments of up to 100 pairs; the last judgment of each pair fills a slot."""
    workers = [Worker(lab=campaign.lab, platform=Platform.IMPORT) for _work in works]
    Worker.objects.bulk_create(workers, batch_size=5_000)
    hits: list[Hit] = []
    assignments: list[Assignment] = []
    parts: list[list[tuple[IdPair, list[Made]]]] = []
    for worker, work in zip(workers, works, strict=True):
        judged = list(work.by_pair.items())
        for start in range(0, len(judged), PAIRS_AT_ONCE):
            part = judged[start : start + PAIRS_AT_ONCE]
            times = [row.at or at for _pair, rows in part for row in rows]
            hits.append(Hit(campaign=campaign, number=len(hits) + 1, needed=0))
            parts.append(part)
            assignments.append(
                Assignment(
                    campaign=campaign,
                    hit=hits[-1],
                    worker=worker,
                    state=Assignment.State.SUBMITTED,
                    taken_at=min(times),
                    leased_until=max(times) + timedelta(microseconds=1),
                    finished_at=max(times),
                    judged=len(part),
                )
            )
    Hit.objects.bulk_create(hits, batch_size=5_000)
    Assignment.objects.bulk_create(assignments, batch_size=5_000)
    items: list[Item] = []
    judgments: list[Judgment] = []
    last: list[tuple[IdPair, Judgment, Assignment]] = []
    for assignment, part in zip(assignments, parts, strict=True):
        for position, (pair, rows) in enumerate(part, 1):
            item = Item(hit=assignment.hit, position=position, pair=pairs[pair], a_left=rows[0].a == pair[1])
            items.append(item)
            for row in rows:
                moment = row.at or at
                side = None
                if row.preferred is not None:
                    is_left = (row.preferred == pair[1]) == item.a_left
                    side = Judgment.Side.LEFT if is_left else Judgment.Side.RIGHT
                judgments.append(
                    Judgment(assignment=assignment, item=item, preferred=side, shown_at=moment, made_at=moment)
                )
            last.append((pair, judgments[-1], assignment))
    Item.objects.bulk_create(items, batch_size=5_000)
    step = _("Storing the judgments")
    for start in range(0, len(judgments), 5_000):
        Judgment.objects.bulk_create(judgments[start : start + 5_000])
        report(step, min(start + 5_000, len(judgments)), len(judgments), "rows")
    slots: dict[IdPair, count[int]] = defaultdict(lambda: count(1))
    acceptances = (
        (pairs[pair].pk, next(slots[pair]), judgment.pk, assignment.worker_id, assignment.pk)
        for pair, judgment, assignment in last
    )
    copy_rows(Acceptance, ["pair", "slot", "judgment", "worker", "assignment"], acceptances)
    campaign.assignments.update(verdict=Assignment.Verdict.ACCEPTED)  # now that its judgments can be counted


def judgments_ask(
    *, collection: Collection, file: Sent, name: str, question: str, note: str, by: User | None, at: datetime
) -> Job:
    """Store a file of judgments, and ask for a campaign of them. Raises FileAway if it cannot be stored."""
    request = {"question": question, "note": note}
    job = Job(lab=collection.lab, kind=Job.Kind.JUDGMENTS, name=name, collection=collection, request=request)
    return job_ask(job, {Upload.Part.JUDGMENTS: file}, by, at)
