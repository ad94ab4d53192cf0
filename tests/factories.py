"""Small worlds for tests: a lab with people, a collection with runs, a campaign that is open."""

import io
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Count, F, Max
from django.db.models.functions import Coalesce
from django.utils import timezone

from core.models import Lab, User
from judgments import exports
from judgments import services as judgment_services
from pools import services as pool_services
from pools.models import Campaign, Pair
from runs import services as run_services
from runs.models import Collection, Passage, Qrel, Query, Run
from tasks import services as task_services
from tasks.models import Assignment, Worker

QUERIES = {
    "q1": "how long does a snail live",
    "q2": "what is the capital of australia",
    "q3": "why is the sky blue",
    "q4": "how many strings has a cello",
}


def passage_text(pid: str) -> str:
    """The text of a passage of the tests' collections."""
    return f"Text of passage {pid}: it goes on for a sentence, and ends."


def lab(name: str = "Test lab", *members: User) -> Lab:
    made, _new = Lab.objects.get_or_create(name=name)
    made.members.add(*members)
    return made


def member(of: Lab, role: str, name: str = "") -> User:
    made = user(name or role)
    of.members.add(made, through_defaults={"role": role})
    return made


def user(name: str = "rita", **fields: Any) -> User:
    """Somebody who can log in, with their name as password."""
    return User.objects.create_user(username=name, password=name, **fields)


def collection(
    tmp_path: Path,
    *,
    in_lab: Lab,
    tops: Mapping[str, Mapping[str, Iterable[str]]],
    qrels: Mapping[str, Iterable[str] | Mapping[str, int]],
    name: str = "small",
    texts: bool = True,
) -> Collection:
    """A collection with qrels by query (graded, or all of grade 1), and runs by name, each with its ranked passages by
    query.
    """
    graded = {qid: pids if isinstance(pids, Mapping) else dict.fromkeys(pids, 1) for qid, pids in qrels.items()}
    queries = tmp_path / f"{name}-queries.tsv"
    queries.write_text("".join(f"{qid}\t{QUERIES.get(qid, 'question ' + qid)}\n" for qid in qrels))
    qrels_file = tmp_path / f"{name}-qrels.txt"
    qrels_file.write_text(
        "".join(f"{qid} 0 {pid} {grade}\n" for qid, pids in graded.items() for pid, grade in pids.items())
    )
    made = run_services.collection_import(
        lab=in_lab, name=name, language="en", queries=queries, qrels=qrels_file
    ).collection
    for run_name, ranked in tops.items():
        run(made, run_name, ranked)
    if texts:
        pids = {pid for ranked in tops.values() for listed in ranked.values() for pid in listed}
        pids |= {pid for listed in graded.values() for pid in listed}
        passages = tmp_path / f"{name}-passages.tsv"
        passages.write_text("".join(f"{pid}\t{passage_text(pid)}\n" for pid in sorted(pids)))
        run_services.collection_import(lab=in_lab, name=name, passages=passages, keep="all")
    return made


def small(tmp_path: Path, in_lab: Lab) -> Collection:
    """Four queries, three runs; pools of 3, 3, 2 and 1 passages: seven pairs."""
    return collection(
        tmp_path,
        in_lab=in_lab,
        qrels={"q1": ["p1"], "q2": ["p4"], "q3": ["p7"], "q4": ["p9"]},
        tops={
            "red": {"q1": ["p2", "p1"], "q2": ["p5"], "q3": ["p7"], "q4": ["p9"]},
            "green": {"q1": ["p3", "p2"], "q2": ["p6"], "q3": ["p8"], "q4": ["p9"]},
            "blue": {"q1": ["p1", "p3"], "q2": ["p4"], "q3": ["p7"], "q4": ["p9", "p1"]},
        },
    )


ELSEWHERE = {
    "who wrote the first novel": "The Tale of Genji was written by a lady of the court a thousand years ago in Kyoto.",
    "how is paper made": "Fibres of wood are boiled to a pulp, pressed flat between rollers and dried on hot drums.",
    "where do bananas grow": "Plantations in Ecuador and the Philippines send most of the world's yellow fruit abroad.",
    "what do owls eat": "Mice, voles and other small rodents are swallowed whole by these birds during the night.",
    "when was the zip invented": "Gideon Sundback patented his hookless fastener in 1917, after years of work.",
    "why do ships float": "A hull pushes aside as much water as the vessel weighs, which Archimedes was first to see.",
    "how tall is mount fuji": "At 3,776 metres the volcano near Tokyo is the highest peak of all the Japanese islands.",
    "which metal is liquid": "Mercury melts at 39 degrees below zero, so thermometers were filled with it for long.",
}


def elsewhere(of: Collection) -> None:
    """Give a collection what larger ones have: queries and passages that no run brings together with its others."""
    last = of.qrels.count()
    for number, (question, text) in enumerate(ELSEWHERE.items(), start=1):
        query = Query.objects.create(collection=of, qid=f"e{number}", text=question)
        passage = Passage.objects.create(collection=of, pid=f"e{number}", text=text)
        Qrel.objects.create(collection=of, query=query, passage=passage, grade=1, position=last + number)


def run(of: Collection, name: str, ranked: Mapping[str, Iterable[str]]) -> Run:
    """A stored run from ranked passages by query."""
    lines = [
        f"{qid} Q0 {pid} {rank} {1000 - rank} {name}\n"
        for qid, pids in ranked.items()
        for rank, pid in enumerate(pids, start=1)
    ]
    source = io.BytesIO("".join(lines).encode())
    return run_services.run_import(collection=of, name=name, source=source, filename=f"{name}.txt")


def campaign(
    of: Collection,
    name: str = "pilot",
    *,
    runs: Iterable[str] | None = None,
    tests: int = 6,
    start: bool = True,
    **settings: Any,
) -> Campaign:
    """A campaign over all runs of a collection, or those named; with confirmed test pairs, packed and open, and nothing
    asked twice, unless told otherwise.
    """
    pooled = of.runs.all() if runs is None else of.runs.filter(name__in=runs)
    settings = {"repeats": 0, "confirmations": 1} | settings
    made = pool_services.campaign_create(lab=of.lab, collection=of, runs=pooled, name=name, **settings)
    write_tests(made, tests)
    if start:
        begin(made)
    return made


def write_tests(of: Campaign, count: int = 6) -> None:
    """Give a draft confirmed and proven test pairs."""
    for number in range(count):
        test = task_services.test_pair_write(
            campaign=of,
            question=f"test question {number}",
            relevant_text=f"The relevant passage of test {number}.",
            off_topic_text=f"Something else entirely, number {number}.",
            by=None,
            at=timezone.now(),
        )
        task_services.test_pairs_prove(campaign=of, test_pairs=[test.pk], by=None, at=timezone.now())


def begin(draft: Campaign) -> None:
    """Launch and pack a draft that has its test pairs."""
    task_services.campaign_launch(campaign=draft)
    task_services.campaign_pack(campaign_id=draft.pk)
    draft.refresh_from_db()


def worker(of: Campaign, label: str) -> Worker:
    """A panel member with consent."""
    invitation = task_services.panel_invite(campaign=of, labels=[label])[0]
    text = of.consent_texts.order_by("-version").first()
    if text is not None:
        task_services.consent_give(worker=invitation.worker, text=text)
    return invitation.worker


def take(by: Worker, of: Campaign, at: datetime | None = None) -> Assignment:
    """The worker's next assignment."""
    return task_services.assignment_take(worker=by, campaign=of, at=at or timezone.now())


def judge(
    assignment: Assignment,
    *,
    only: Iterable[int] | None = None,
    fail_tests: bool = False,
    prefer: str = "a",
    at: datetime | None = None,
    seconds: float = 9,
) -> None:
    """Judge items of an assignment in so many seconds each: test pairs right (or wrong), pairs for `a` or `b`."""
    at = at or timezone.now()
    for item in assignment.items.order_by("position"):
        if only is not None and item.position not in only:
            continue
        wants_a = not fail_tests if item.test_id is not None else prefer == "a"
        judgment_services.judgment_save(
            assignment_id=assignment.pk,
            position=item.position,
            preferred="left" if wants_a == item.a_left else "right",
            shown_at=at - timedelta(seconds=seconds),
            at=at,
        )


def do(by: Worker, of: Campaign, **how: object) -> Assignment:
    """Take, judge and finish one HIT."""
    assignment = take(by, of)
    judge(assignment, **how)  # type: ignore[arg-type]
    return judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


def exported(of: Campaign) -> dict[str, bytes]:
    """The export files of a campaign by name, made now."""
    with TemporaryDirectory() as folder:
        return {path.name: path.read_bytes() for path in exports.export_to(of, Path(folder))}


def wrongly_booked() -> list[int]:
    """Keys of work that is marked as booked and is not, or is not marked."""
    wrong = "SELECT id FROM tasks_assignment work WHERE is_booked <> platforms_is_booked(work)"
    return [assignment.pk for assignment in Assignment.objects.raw(wrong)]


def wrongly_submitted() -> list[int]:
    """Keys of work that is marked as submitted at its platform and is not, or is not marked."""
    return [work.pk for work in Assignment.objects.all() if work.is_submitted != hasattr(work, "submission")]


def analyze() -> None:
    """Have the planner know how large all tables are. PostgreSQL does so by itself on a site, but in a test's one large
    transaction it sees empty tables, and joins thousands of rows by nested loops.
    """
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) AND pg_relation_size(oid) > 0", [tables])
        used = ", ".join(f'"{name}"' for (name,) in cursor.fetchall())
        cursor.execute(f"ANALYZE {used}")


def pair_count(of: Campaign) -> int:
    """How many pairs a campaign has."""
    return Pair.objects.filter(pool__campaign=of).count()


def overfull_pairs(campaign: Campaign) -> int:
    """Pairs with more accepted judgments than slots: the database forbids any."""
    return (
        Pair.objects.filter(pool__campaign=campaign)
        .annotate(
            slots=Count("acceptances", distinct=True),
            most=Max(Coalesce("items__hit__wanted", "pool__campaign__overlap")),
        )
        .filter(slots__gt=F("most"))
        .count()
    )
