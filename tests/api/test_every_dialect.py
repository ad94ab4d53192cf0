"""Files of every tool become the same collection, run and judgments, sent by a program or in a browser."""

from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from core.models import Lab, User
from judgments.evidence import Evidence
from pools.models import Campaign
from runs import background
from runs import selectors as run_selectors
from runs.models import Collection, Job, Passage, Query, Run
from tests.api.conftest import Program
from tests.evaluation import writers
from tests.evaluation.writers import Form, Judged, Made

pytestmark = pytest.mark.django_db

MADE = Made(
    queries={"0012": 'say "hoo", owl', "12": "where do owls sleep", "q#1": "\u00fcber owls"},
    passages={
        "d1": ("Vaccines", "See the full report."),
        "d2": ("Recipes", "See the full report."),
        "00:7": ("", "Owls, mice; and voles."),
        "msmarco_v2.1_doc_00#0_1": ("", "See the full report."),
        "caf\u00e9": ("Vaccines", "See the  full report."),
    },
    qrels={"0012": {"d1": 1, "d2": 0}, "12": {"caf\u00e9": 2, "00:7": 1}, "q#1": {"00:7": 1}},
    run={
        "0012": writers.in_score_order({"d2": 3.5, "d1": 3.5, "msmarco_v2.1_doc_00#0_1": 1e-5}),
        "12": writers.in_score_order({"d1": 2.0, "00:7": 1.0}),
        "q#1": writers.in_score_order({"d2": -1.0, "00:7": -2.5}),
    },
    judgments=[
        Judged("0012", "d1", "d2", "d1", "17"),
        Judged("0012", "d1", "d2", "d2", "23"),
        Judged("0012", "d1", "d2", "d2", "17"),  # a changed mind
        Judged("0012", "d1", "msmarco_v2.1_doc_00#0_1", "d1", "5"),
        Judged("12", "00:7", "d1", "00:7", "5"),
    ],
)
SAME = "These very judgments have already been imported"
FORMS = cycle(
    [Form(), Form(crlf=True), Form(bom=True, pack=".gz"), Form(pack=".zst", joined=True), Form(last_newline=False)]
)
KINDS: Mapping[str, Mapping[str, writers.Writer]] = {
    "queries": writers.QUERIES, "qrels": writers.QRELS, "passages": writers.PASSAGES, "run": writers.RUNS,
}  # fmt: skip


def written(writer: writers.Writer, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, next(FORMS).dress(writer(MADE)))


def do(job: Any) -> Job:
    background.job_do(job_id=job["id"])
    done = Job.objects.get(pk=job["id"])
    assert done.state == Job.State.DONE or SAME in done.error, (done.error, done.complaints)
    return done


def by_program(program: Program, lab: Lab, name: str, dialects: Mapping[str, str]) -> Collection:
    files = {kind: written(KINDS[kind][dialects[kind]], kind) for kind in ("queries", "qrels", "passages")}
    done = do(program.upload("collections/", lab=lab.pk, name=name, keep="all", **files).json())
    assert done.collection is not None
    run = written(KINDS["run"][dialects["run"]], "run.txt")
    do(program.upload("runs/", collection=done.collection.pk, name="run", file=run).json())
    return done.collection


def by_browser(page: Client, lab: Lab, name: str, dialects: Mapping[str, str]) -> Collection:
    """All files at once: the site says what each is."""
    files = [written(KINDS[kind][dialect], f"{kind}.txt") for kind, dialect in dialects.items()]
    sent = {"lab": lab.pk, "name": name, "language": "en", "files": files}
    assert page.post(reverse("runs:collection_new"), sent).status_code == 303
    job = Job.objects.latest("id")
    assert {upload.name.removesuffix(".txt"): upload.part for upload in job.uploads.all()} == {
        kind: kind for kind in dialects
    }, dialects
    parts = {f"part-{upload.pk}": upload.part for upload in job.uploads.all()}
    page.post(reverse("runs:files_read", args=[job.pk]), {"keep": "all", **parts})
    background.job_do(job_id=job.pk)
    return Collection.objects.get(name=name)


def stored(collection: Collection) -> dict[str, Any]:
    """What a collection holds that numbers follow from."""
    run = Run.objects.get(collection=collection)
    texts = Passage.objects.filter(collection=collection).values_list("pid", "text")
    return {
        "queries": dict(Query.objects.filter(collection=collection).values_list("qid", "text")),
        "passages": {pid: " ".join(text.split()) for pid, text in texts},  # headings may be empty
        "equal": Counter(Passage.objects.filter(collection=collection).values_list("text_key", flat=True)),
        "qrels": list(run_selectors.collection_qrels(collection)),
        "top": run_selectors.load_artifact(run).top("score", 3),
        "scores": run.scores,
        "notes": run.census["notes"],
    }


def test_a_collection_is_the_same_from_every_dialect_by_program_and_in_a_browser(
    program: Program, client: Client, rita: User, lab: Lab
) -> None:
    client.force_login(rita)
    first = {kind: next(iter(dialects)) for kind, dialects in KINDS.items()}
    expected = stored(by_program(program, lab, "first", first))
    assert expected["passages"] == {passage: " ".join(MADE.text(passage).split()) for passage in MADE.passages}
    assert expected["scores"] == {"rr": pytest.approx((0.5 + 0.5 + 0.5) / 3), "queries": 3}
    assert sorted(expected["equal"].values()) == [1, 1, 1, 2]  # of titles, too; white space is none
    for number in range(max(map(len, KINDS.values()))):
        dialects = {kind: list(some)[number % len(some)] for kind, some in KINDS.items()}
        if number % 2:
            read = by_program(program, lab, f"of {number}", dialects)
        else:
            read = by_browser(client, lab, f"of {number}", dialects)
        assert stored(read) == expected, dialects


def test_judgments_of_every_dialect_become_the_same_preferences(program: Program, lab: Lab) -> None:
    first = {kind: next(iter(dialects)) for kind, dialects in KINDS.items()}
    collection = by_program(program, lab, "first", first)
    by_dialect: dict[str, Any] = {}
    for number, (dialect, writer) in enumerate(writers.JUDGMENTS.items()):
        address = f"collections/{collection.pk}/judgments/"
        upload = program.upload(address, file=written(writer, f"{number}.txt"), name=dialect, note="Students.")
        # None where all is the same, down to the times.
        campaign = Campaign.objects.filter(pk=do(upload.json()).outcome_id).first()
        if campaign is not None:
            accepted = Counter(Evidence(campaign).preferences)
            by_dialect[dialect] = (accepted, Evidence(campaign).derived.qrels)
    expected = by_dialect["lines"]
    assert sum(expected[0].values()) == 4 and len(by_dialect) > 1
    assert {dialect: numbers for dialect, numbers in by_dialect.items() if numbers != expected} == {}
