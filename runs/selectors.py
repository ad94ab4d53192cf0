"""What is read of collections, runs and jobs."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, BinaryIO, NamedTuple, cast

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from core.errors import FileAway, FileMissing, NotYours
from core.models import User
from core.roles import Right, labs_of, require
from evaluation.files.artifact import RunArtifact
from runs.models import Collection, Job, OutsideScores, Passage, PreferenceImport, Qrel, Query, Run

# How much of a run its artifact keeps.
ARTIFACT_DEPTH = 100


# How far down a run a champion check looks for a second passage with another text than the first.
SECOND_DEPTH = 10


def collection_for(user: User, key: str | int, right: Right) -> Collection:
    """A collection of the user's labs, for what needs a right. Raises NotYours and NotAllowed."""
    is_key = str(key).isdecimal() and len(str(key)) < 19
    collection = collections_of(user).filter(pk=key).first() if is_key else None
    if collection is None:
        raise NotYours(_("There is no such collection, or it belongs to another lab."))
    require(user, collection.lab, right)
    return collection


def run_for(user: User, key: int, right: Right) -> Run:
    """A run of the user's labs, for what needs a right. Raises NotYours and NotAllowed."""
    run = runs_of(user).filter(pk=key).first()
    if run is None:
        raise NotYours(_("There is no such run, or it belongs to another lab."))
    require(user, run.lab, right)
    return run


def job_for(user: User, key: int, right: Right) -> Job:
    """A job of the user's labs, for what needs a right. Raises NotYours and NotAllowed."""
    job = jobs_of(user).select_related("lab", "run").filter(pk=key).first()
    if job is None:
        raise NotYours(_("There is no such job, or it belongs to another lab."))
    require(user, job.lab, right)
    return job


def jobs_of(user: User) -> QuerySet[Job]:
    """What members of a user's labs have asked for, newest first."""
    return Job.objects.filter(lab__in=labs_of(user)).select_related("collection", "asked_by").order_by("-id")


def jobs_shown(jobs: QuerySet[Job], at: datetime) -> QuerySet[Job]:
    """Those of them that are in progress, or came to nothing within the last day."""
    open_jobs = Q(state__in=[Job.State.RECEIVING, Job.State.WAITING])
    in_vain = Q(state__in=[Job.State.REFUSED, Job.State.FAILED], ended_at__gt=at - timedelta(days=1))
    return jobs.filter(open_jobs | in_vain)


class CollectionRow(NamedTuple):
    """One line of the list of collections."""

    collection: Collection
    queries: int
    runs: int
    campaigns: int


def collection_rows(collections: Iterable[Collection]) -> list[CollectionRow]:
    """Lines for some collections, in their order."""
    collections = list(collections)
    queries, runs = (_counts(model.objects.filter(collection__in=collections)) for model in (Query, Run))
    users = Collection.objects.filter(pk__in=[collection.pk for collection in collections])
    campaigns = dict(users.order_by().values_list("pk").annotate(count=Count("campaigns")))
    return [
        CollectionRow(row, queries.get(row.pk, 0), runs.get(row.pk, 0), campaigns.get(row.pk, 0)) for row in collections
    ]


def _counts(rows: QuerySet[Any]) -> dict[int, int]:
    """How many rows each collection has, by its key."""
    return dict(rows.order_by().values_list("collection").annotate(count=Count("id")))


class CollectionSize(NamedTuple):
    """What a collection holds, and how much of it has no text yet."""

    queries: int
    queries_without_text: int
    qrels: int
    passages: int
    passages_without_text: int
    runs: int


def collection_size(collection: Collection) -> CollectionSize:
    """Count a collection's queries, qrels, passages and runs."""
    queries = collection.queries.aggregate(all=Count("id"), bare=Count("id", filter=Q(text="")))
    passages = collection.passages.aggregate(all=Count("id"), bare=Count("id", filter=Q(text="")))
    return CollectionSize(
        queries["all"],
        queries["bare"],
        collection.qrels.count(),
        passages["all"],
        passages["bare"],
        collection.runs.count(),
    )


def untexted_queries(collection: Collection) -> QuerySet[Query]:
    """The queries that have no text yet, by id."""
    return collection.queries.filter(text="").order_by("qid")


def untexted_passages(collection: Collection) -> QuerySet[Passage]:
    """The passages that have no text yet, by id, each with whether the original qrels name it (`is_in_qrels`)."""
    named = Qrel.objects.filter(passage=OuterRef("pk"))
    return collection.passages.filter(text="").annotate(is_in_qrels=Exists(named)).order_by("pid")


def preference_imports_of(collection: Collection) -> QuerySet[PreferenceImport]:
    """A collection's imported preferences, newest first, each with whether campaigns reuse it (`is_reused`)."""
    users = PreferenceImport.objects.filter(pk=OuterRef("pk"), reused_by__isnull=False)
    return collection.preference_imports.annotate(is_reused=Exists(users)).order_by("-id")


def collections_of(user: User, right: Right = Right.SEE) -> QuerySet[Collection]:
    """The collections in whose labs a user has a right, by name."""
    return Collection.objects.filter(lab__in=labs_of(user, right)).select_related("lab").order_by("name")


def runs_of(user: User) -> QuerySet[Run]:
    """The runs that a user may see, by collection and name."""
    return (
        Run.objects.filter(lab__in=labs_of(user))
        .select_related("collection", "lab")
        .order_by("collection__name", "name")
    )


def load_artifact(run: Run) -> RunArtifact:
    """A run's integer artifact, from file storage. Raises FileMissing where that does not have it, else FileAway."""
    try:
        with run.artifact.open("rb") as file:
            return RunArtifact.load(cast(BinaryIO, file))
    except FileNotFoundError as error:
        text = _("The file of the run %(name)s is missing: file storage has no %(file)s. Run manage.py check_files.")
        raise FileMissing(text % {"name": run.name, "file": run.artifact.name}) from error
    except (OSError, BotoCoreError, ClientError) as error:
        text = _("The file of the run %(name)s cannot be read at the moment: %(error)s")
        raise FileAway(text % {"name": run.name, "error": error}) from error


def file_size(run: Run) -> int | None:
    """Bytes of the run file as it came; None where file storage does not have it."""
    try:
        return int(run.original.size)
    except (OSError, BotoCoreError, ClientError):
        return None


def collection_qrels(collection: Collection) -> Iterator[tuple[str, str, int]]:
    """`(query id, passage id, grade)` of every original qrel, in the order of the file."""
    rows = Qrel.objects.filter(collection=collection).order_by("position")
    return rows.values_list("query__qid", "passage__pid", "grade").iterator(chunk_size=10_000)


def texts_of(
    collection: Collection, *, qids: Iterable[str], pids: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of some queries and of some passages, by id."""
    queries = Query.objects.filter(collection=collection, qid__in=qids).values_list("qid", "text")
    passages = Passage.objects.filter(collection=collection, pid__in=pids).values_list("pid", "text")
    return dict(queries), dict(passages)


def text_keys(collection: Collection, lists: Iterable[Iterable[str]]) -> dict[str, str]:
    """By id, what equal texts among some lists of passages have in common, for those that have a text."""
    pids = list({pid for ids in lists for pid in ids})
    keys: dict[str, str] = {}
    for start in range(0, len(pids), 5000):
        rows = Passage.objects.filter(
            collection=collection, pid__in=pids[start : start + 5000], text_key__isnull=False
        ).values_list("pid", "text_key")
        keys.update((pid, str(key)) for pid, key in rows)
    return keys


def wanted_passages(collection: Collection, depth: int) -> set[str]:
    """Ids of the passages that a pool of this collection can need: its qrels and every run's top `depth`."""
    needed = set(Passage.objects.filter(collection=collection).values_list("pid", flat=True))
    for run in collection.runs.all():
        artifact = load_artifact(run)
        for order in ("score", "rank"):
            for pids in artifact.top(order, depth).values():
                needed.update(pids)
    return needed


def enumerate_ids(ids: Sequence[str], count: int) -> str:
    more = count - len(ids)
    return ", ".join(ids) + (_(" and %(more)d more") % {"more": more} if more > 0 else "")


def outside_scores_of(collection: Collection) -> OutsideScores | None:
    """How the collection's runs score elsewhere; None where that is not stored."""
    return OutsideScores.objects.filter(collection=collection).select_related("uploaded_by").first()
