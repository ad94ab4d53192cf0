"""Judgments that were made elsewhere become a campaign of their own, whatever tool they come from."""

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import Lab, User
from evaluation.errors import BadInput
from evaluation.files.judgments import Judgments, read_judgments
from evaluation.files.preferences import read_preferences
from evaluation.judging.tournament import derive
from judgments import exports, reusing
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from judgments.importing import judgments_import
from judgments.models import Acceptance, Judgment, WorkerSummary
from judgments.summarizing import campaign_summarize
from pools import preference_imports
from pools.models import Campaign
from results.inputs import inputs_of
from results.sections.stored import to_json
from results.sections.whole import compute
from review.adjudicating import disagreements
from runs import services as run_services
from runs.models import Collection, Job
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests import factories
from tests.evaluation.command import run_cli

LINES = (
    b"query\ta\tb\tpreferred\tworker\ttime\n"
    b"q1\tp2\tp1\tp2\tann\t2021-03-09T21:52:49Z\n"
    b"q1\tp2\tp1\tp1\tbob\t2021-03-09T21:53:00Z\n"
    b"q1\tp1\tp2\tp1\tann\t2021-03-09T22:00:00Z\n"
    b"q2\tp5\tp6\tp6\tann\t2021-03-09T21:54:00Z\n"
)
MTURK = (
    b'"HITId","AssignmentId","WorkerId","AssignmentStatus","SubmitTime","Input.query","Input.qid","Input.a1","Input.b1",'
    b'"Input.a2","Input.b2","Answer.preferred1","Answer.preferred2","Approve","Reject"\n'
    b'"H1","A1","W1","Approved","Fri Mar 05 10:11:12 PST 2021","what, ""is""\nthis","q1","p1","p2","p1","p3","a",'
    b'"right","x",""\n'
    b'"H1","A2","W2","Rejected","Fri Mar 05 10:11:12 PST 2021","what","q1","p1","p2","p1","p3","b","b","","too fast"\n'
    b'"H1","A3","W3","Submitted","Fri Jul 02 10:11:12 PDT 2021","what","q1","p1","p2","","","tie","","",""\n'
)
LABEL_STUDIO = json.dumps(
    [
        {
            "id": 7,
            "data": {"query_id": "q1", "a": "p1", "b": "p2", "text1": "One", "text2": "Two"},
            "annotations": [
                {
                    "completed_by": {"id": 3, "email": "ann@example.org"},
                    "created_at": "2021-03-09T22:16:08.728353Z",
                    "result": [{"type": "pairwise", "value": {"selected": "left"}}],
                },
                {"completed_by": 4, "was_cancelled": True, "result": []},
            ],
        }
    ],
    indent=1,
).encode()
POTATO = (
    b'{"user_id": "ann", "instance_id": "q1|p1|p2", "label_annotations": {"preference": {"B": "true", "A": false}}, '
    b'"behavioral_data": {"timestamp": "2024-01-01T12:00:00Z"}}\n'
    b'{"user_id": "bob", "instance_id": "q1|p1|p2", "label_annotations": {"preference": {"selection": "tie"}}}\n'
)
POTATO_TSV = b"user\tinstance_id\tdisplayed_text\tpreference:::A\tpreference:::B\nann\tq1::p1::p2\tOne\t\ttrue\n"

# What the tools write, column by column: the requester site's batch with the elements of crowd-form, the converter's
# JSON-MIN and CSV, and Potato's files for an annotator, and its exports.
MTURK_FORM = (
    b'"HITId","HITTypeId","Title","Description","Keywords","Reward","CreationTime","MaxAssignments",'
    b'"RequesterAnnotation","AssignmentDurationInSeconds","AutoApprovalDelayInSeconds","Expiration",'
    b'"NumberOfSimilarHITs","LifetimeInSeconds","AssignmentId","WorkerId","AssignmentStatus","AcceptTime","SubmitTime",'
    b'"AutoApprovalTime","ApprovalTime","RejectionTime","RequesterFeedback","WorkTimeInSeconds","LifetimeApprovalRate",'
    b'"Last30DaysApprovalRate","Last7DaysApprovalRate","Input.qid","Input.docid_a","Input.docid_b",'
    b'"Answer.taskAnswers","Approve","Reject"\n'
    + b"".join(
        b'"3X","30","Which answers better?","Read two","reading","$0.10","Mon Nov 09 08:00:00 PST 2020","3",'
        b'"BatchId:1;","3600","259200","Mon Nov 16 08:00:00 PST 2020","","","3A%d","W%d","Submitted",'
        b'"Mon Nov 09 08:01:00 PST 2020","Mon Nov 09 08:02:03 PST 2020","Thu Nov 12 08:02:03 PST 2020","","","","63",'
        b'"0%% (0/0)","0%% (0/0)","0%% (0/0)","q1","p1","p2","%s","",""\n' % (number, number, answer)
        for number, answer in enumerate(
            [
                b'[{""preferred"":{""left"":false,""right"":true}}]',
                b'[{""preferred"":{""label"":""left""},""comment"":""fine""}]',
                b'[{""preferred"":""p2""}]',
                b'[{""preferred"":{""left"":false,""right"":false}}]',
            ]
        )
    )
)
MTURK_CLASSIFIER = (
    b'"HITId","AssignmentId","WorkerId","AssignmentStatus","SubmitTime","Input.qid","Input.a","Input.b",'
    b'"Answer.category.label","Approve","Reject"\n'
    b'"H1","A1","W1","Approved","Mon Nov 09 08:02:03 PST 2020","q1","p1","p2","Passage B","x",""\n'
)
LABEL_STUDIO_MIN = json.dumps(
    [
        {
            "query_id": "q1", "a": "p1", "b": "p2", "text1": "One", "id": 7, "pw": [{"selected": "right"}],
            "annotator": 3, "annotation_id": 11, "created_at": "2021-03-09T22:16:08.728353Z",
            "updated_at": "2021-03-09T22:16:08.728378Z", "lead_time": 4.288,
        },
        {"query_id": "q1", "a": "p1", "b": "p2", "id": 8, "annotator": 4, "annotation_id": 12, "created_at": None},
    ],
).encode()  # fmt: skip
LABEL_STUDIO_CSV = (
    b'"a","annotation_id","annotator","b","created_at","id","lead_time","pw","query_id","text1","updated_at",'
    b'"was_cancelled"\n'
    b'"p1",11,"ann@example.org","p2","2021-03-09T22:16:08.728353Z",7,4.288,"[{""selected"": ""left""}]",'
    b'"q1","One,\ntwo","2021-03-09T22:16:08.728378Z","False"\n'
    b'"p1",12,"bob@example.org","p2","2021-03-09T22:17:08.728353Z",8,1.2,"","q1","One","2021-03-09T22:17:09Z","True"\n'
)
POTATO_FILE = (
    b'{"id": "q1|p1|p2", "displayed_text": "<b>A.</b> One <b>B.</b> Two", "label_annotations": {"better": {"B": "2"}, '
    b'"why": {"text_box": "clearer"}}, "span_annotations": {}, '
    b'"behavioral_data": {"time_string": "Time spent: 0d 0h"}}\n'
)
POTATO_RUNS = (
    b"instance_id,user_id,preference.selection,preference.justification\n"
    b'q1|p1|p2,ann,B,"{""reasons"": [""clear""], ""rationale"": """"}"\nq1|p1|p2,bob,tie,\n'
)
POTATO_JSONL = (
    b'{"instance_id": "q1|p1|p2", "user_id": "ann", "labels": {"degree": {"scale_value": "-2"}}, "spans": {}, '
    b'"links": {}}\n{"instance_id": "q1|p1|p2", "user_id": "bob", "labels": {"degree": {"scale_value": "0"}}, '
    b'"spans": {}, "links": {}}\n'
)


def read(content: bytes) -> tuple[Judgments, list[tuple[str, str, str, str | None, str]]]:
    judgments = read_judgments(io.BytesIO(content), name="old.txt")
    return judgments, [(row.query, row.a, row.b, row.preferred, row.worker) for row in judgments.made]


def store(collection: Collection, content: bytes = LINES, name: str = "old") -> Campaign:
    return judgments_import(
        collection=collection,
        name=name,
        source=io.BytesIO(content),
        filename=f"{name}.txt",
        note="Judged by hand in spring.",
        by=None,
        at=timezone.now(),
    )


@pytest.mark.parametrize(
    ("content", "form", "first", "left_out"),
    [
        (LINES, "query a b preferred", ("q1", "p2", "p1", "p2", "ann"), {}),
        (gzip.compress(b"31_1 M_1 M_2 M_1\n"), "query a b preferred", ("31_1", "M_1", "M_2", "M_1", ""), {}),
        (MTURK, "Mechanical Turk's results", ("q1", "p1", "p2", "p1", "W1"), {"of rejected assignments": 1}),
        (
            LABEL_STUDIO,
            "Label Studio's pairwise export",
            ("q1", "p1", "p2", "p1", "3"),
            {"skipped or without a preference": 1},
        ),
        (POTATO, "Potato's output", ("q1", "p1", "p2", "p2", "ann"), {}),
        (POTATO_TSV, "Potato's output", ("q1", "p1", "p2", "p2", "ann"), {}),
        (MTURK_FORM, "Mechanical Turk's results", ("q1", "p1", "p2", "p2", "W0"), {"without a preference": 1}),
        (MTURK_CLASSIFIER, "Mechanical Turk's results", ("q1", "p1", "p2", "p2", "W1"), {}),
        (
            LABEL_STUDIO_MIN,
            "Label Studio's pairwise export",
            ("q1", "p1", "p2", "p2", "3"),
            {"skipped or without a preference": 1},
        ),
        (
            LABEL_STUDIO_CSV,
            "Label Studio's pairwise export",
            ("q1", "p1", "p2", "p1", "ann@example.org"),
            {"skipped or without a preference": 1},
        ),
        (POTATO_FILE, "Potato's output", ("q1", "p1", "p2", "p2", ""), {}),
        (POTATO_RUNS, "Potato's output", ("q1", "p1", "p2", "p2", "ann"), {}),
        (POTATO_JSONL, "Potato's output", ("q1", "p1", "p2", "p1", "ann"), {}),
    ],
)
def test_formats_are_recognized(content: bytes, form: str, first: tuple[str, ...], left_out: dict[str, int]) -> None:
    judgments, rows = read(content)
    assert (judgments.format, rows[0], judgments.left_out) == (form, first, left_out)


@pytest.mark.parametrize("content", [MTURK, POTATO, POTATO_RUNS, POTATO_JSONL, LINES + b"q1\tp1\tp2\t=\n"])
def test_a_tie_is_a_judgment_and_an_empty_answer_is_none(content: bytes) -> None:
    *decided, (_query, a, b, tied, _worker) = read(content)[1]
    assert (a, b, tied) == ("p1", "p2", None) and all(row[3] for row in decided)
    judgments, _made = read(content.replace(b',"tie",', b',"",').replace(b'"tie"', b'""').replace(b",tie,", b",,"))
    assert judgments.left_out.get("without a preference", 0) == (content in (MTURK, POTATO, POTATO_RUNS))
    with pytest.raises(BadInput, match="line 1: a passage called =, which would be taken for an outcome"):
        read(b"q1 = p2 =\n")


def test_the_answers_of_crowd_form_are_read_in_each_of_their_shapes() -> None:
    _judgments, rows = read(MTURK_FORM)
    assert [(preferred, worker) for *_pair, preferred, worker in rows] == [("p2", "W0"), ("p1", "W1"), ("p2", "W2")]


def test_of_several_comparisons_of_an_instance_the_one_called_preferred_counts() -> None:
    line = b'{"id": "q1|p1|p2", "label_annotations": {"fluent": {"selection": "A"}, "preferred": {"selection": "B"}}}\n'
    assert read(line)[1] == [("q1", "p1", "p2", "p2", "")]
    with pytest.raises(BadInput, match=r"line 1: fluent, overall: more than one comparison"):
        read(line.replace(b'"preferred"', b'"overall"'))


def test_a_hit_of_several_pairs_gives_a_judgment_for_each() -> None:
    judgments = read_judgments(io.BytesIO(MTURK), name="batch.csv")
    rows = list(judgments.made)
    assert [(row.line, row.a, row.b, row.preferred) for row in rows] == [
        *((2, "p1", "p2", "p1"), (2, "p1", "p3", "p3"), (5, "p1", "p2", None))
    ]
    assert rows[0].at == datetime(2021, 3, 5, 18, 11, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (LINES + b"q1\tp1\tp2\n", r"old\.txt, line 6: 3 columns where the first line names 6"),
        (b"q1 p1 p2 p1\nq1 p1 p2\n", r"old\.txt, line 2: 3 columns where judgments have 4 to 6 \(query a b preferred"),
        (LINES + b"q1\tp1\tp1\tp1\tann\n", r"old\.txt, line 6: passage p1 against itself"),
        (LINES + b"q1\tp1\tp2\tp3\tann\n", r"old\.txt, line 6: p3 is preferred, which is neither p1 nor p2"),
        (LINES + b"q1\tp1\tp2\tp2\tann\tlate\n", r"old\.txt, line 6: the time 'late'"),
        (MTURK.replace(b'"right"', b'"maybe"'), r"old\.txt, line 2: the answer 'maybe' is neither"),
        (MTURK.replace(b"Input.a", b"Input.x"), r"old\.txt, line 2: no columns of a comparison"),
        (LABEL_STUDIO.replace(b'"query_id"', b'"topical"'), r"old\.txt: record 1: the data need a query"),
        (POTATO.replace(b"q1|p1|p2", b"item_7"), r"old\.txt, line 1: the instance 'item_7' does not name"),
        (LABEL_STUDIO[:-9], r"old\.txt, line \d+: not JSON"),
        (MTURK_FORM.replace(b'""p2""}]', b'""p2""'), r"old\.txt, line 4: Answer\.taskAnswers is not JSON"),
        (MTURK_FORM.replace(b'""preferred"":""p2""', b'""said"":1'), r"old\.txt, line 4: no columns of a comparison"),
        (LABEL_STUDIO_CSV.replace(b"left", b"up"), r"old\.txt, line 2: the answer 'up' is neither"),
        (POTATO_RUNS.replace(b",B,", b",maybe,"), r"old\.txt, line 2: the answer 'maybe' is neither"),
        (POTATO_JSONL.replace(b'"-2"', b'"far"'), r"old\.txt, line 1: scale_value 'far' is not a number"),
        (POTATO_FILE.replace(b'{"B": "2"}', b'{"Neither one": "9"}'), r"line 1: the answer 'Neither one' is neither"),
    ],
)
def test_what_is_wrong_is_told_by_line(content: bytes, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        read(content)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = b"q1\tp1\tp1\tp1\nq1\tp1\tp2\tp3\nq1\tp1\tp2\tp2\tann\tlate\nq1\tp1\tp2\n"
    with pytest.raises(BadInput) as refusal:
        read(LINES + wrong)
    assert str(refusal.value) == (
        "old.txt, line 6: passage p1 against itself. 3 more faults: line 7: p3 is preferred, which is neither p1 nor "
        "p2; line 8: the time 'late' is neither ISO 8601 nor seconds since 1970; line 9: 3 columns where the first "
        "line names 6 (the columns query, a, b, preferred, worker, time)."
    )
    with pytest.raises(BadInput, match=r"99 more faults at least: line 7: .* line 15: .*; and 90 more\.$"):
        read(LINES + b"q1\tp1\tp1\tp1\n" * 500)
    tasks = [json.loads(LABEL_STUDIO)[0] for _number in range(2)]
    tasks[0]["annotations"][0]["result"][0]["value"]["selected"] = "up"
    tasks[1]["data"] = None
    with pytest.raises(
        BadInput, match=r"^old\.txt: record 1: the answer 'up' is .* 1 more fault: record 2: .*no `data`"
    ):
        read(json.dumps(tasks).encode())
    with pytest.raises(BadInput, match=r"^old\.txt, line 2: .* 1 more fault: line 3: not JSON"):
        read(POTATO_JSONL.splitlines()[0] + b'\n{"instance_id": "q|p"}\nno\n')


def test_imported_judgments_have_winners_agreement_and_results_like_any_other(collection: Collection) -> None:
    campaign = store(collection)
    assert (campaign.state, campaign.pair_count, campaign.overlap) == (Campaign.State.CLOSED, 2, 2)
    assert campaign.origin is not None
    assert (campaign.origin["judgments"], campaign.origin["workers"]) == (4, 2)
    assert Judgment.objects.filter(assignment__campaign=campaign).count() == 4
    assert Acceptance.objects.filter(pair__pool__campaign=campaign).count() == 3, "of a pair again, the last counts"
    outcome = Evidence(campaign).derived
    assert outcome.qrels == (("q1", "p1"), ("q2", "p6")) and not outcome.incomplete
    assert not Worker.objects.filter(label="ann").exists() and not Worker.objects.exclude(external_id="").exists()
    result = to_json(compute(inputs_of(campaign)))
    assert result["agreement"] is not None

    assignment = campaign.assignments.latest("id")
    assert assignment.state == Assignment.State.SUBMITTED and not assignment.hit.needed
    assert judgment_selectors.fast_below(campaign) == 0  # nobody knows how long they took


TIED = (
    b"q1 p1 p2 p1 ann\nq1 p1 p2 = bob\nq1 p1 p3 = ann\nq1 p3 p1 = bob\nq1 p2 p3 p2 ann\nq1 p2 p3 p3 bob\n"
    b"q2 p5 p6 = ann\nq2 p5 p6 p6 bob\nq3 p7 p8 = ann\n"
)


def test_imported_ties_are_half_a_win_for_both_and_exported_as_ties(collection: Collection, tmp_path: Path) -> None:
    campaign = store(collection, TIED)
    assert campaign.origin is not None and campaign.origin["left_out"] == {}
    rows = Judgment.objects.filter(assignment__campaign=campaign)
    assert (rows.count(), rows.filter(preferred=None).count()) == (9, 5)
    derived = Evidence(campaign).derived
    assert derived.qrels == (("q1", "p1"), ("q2", "p6"), ("q3", "p7"), ("q3", "p8"))

    files = {name: content.decode() for name, content in factories.exported(campaign).items()}

    assert files["preferences.txt"].splitlines().count("q1 p1 p3 =") == 2
    (tmp_path / "preferences.txt").write_text(files["preferences.txt"])
    judgments = list(read_preferences(tmp_path / "preferences.txt", ties=True))
    assert sum(row.preferred is None for row in judgments) == 5
    assert derive(Evidence(campaign).pools, judgments).qrels == derived.qrels
    pairs = {row["a"] + row["b"]: row for row in map(json.loads, files["pairs.jsonl"].splitlines())}
    assert [pairs["p1p3"][name] for name in ("a_preferred", "b_preferred", "ties")] == [0, 0, 2]
    again = read(files["judgments.tsv"].encode())[1]
    assert sorted(str(row[3]) for row in again) == ["None"] * 5 + ["p1", "p2", "p3", "p6"]
    with pytest.raises(Refused, match="already been imported, as the campaign old"):
        store(collection, TIED, name="again")
    (tmp_path / "judgments.tsv").write_text(files["judgments.tsv"])
    assert sorted(
        run_cli("workers", "--judgments", str(tmp_path / "judgments.tsv"), "--weigh", "mace").out.splitlines()
    ) == sorted(files["preferences.txt"].splitlines())

    reusing_it = factories.campaign(collection, "reusing", reuse="all", overlap=2)
    reused = judgment_selectors.reused_judgments(reusing_it)
    assert sum(row.prefers_a is None for row in reused) == 4, "those of pairs that two people judged"


def test_annotators_without_a_name_are_each_somebody_else(collection: Collection) -> None:
    (task,) = json.loads(LABEL_STUDIO)
    (chosen, _skipped) = task["annotations"]
    others = [
        chosen | {"completed_by": None, "id": number, "result": [{"type": "pairwise", "value": {"selected": side}}]}
        for number, side in enumerate(("left", "left", "right"))
    ]
    campaign = store(collection, json.dumps([task | {"annotations": others}] * 2).encode())
    assert Evidence(campaign).derived.qrels == (("q1", "p1"),)
    assert campaign.origin is not None
    assert [campaign.origin[name] for name in ("judgments", "workers", "left_out")] == [
        3, 3, {"that the file repeats": 3},
    ]  # fmt: skip


def test_an_imported_tie_counts_for_and_against_nobody(collection: Collection, client: Client) -> None:
    campaign = store(collection, TIED)
    campaign_summarize(campaign=campaign)
    counts = {row.pairs: (row.compared, row.agreed) for row in WorkerSummary.objects.filter(campaign=campaign)}
    assert counts == {5: (1, 0), 4: (1, 0)}, "two of ann's and bob's judgments are on a pair that neither tied"
    (disagreement,) = disagreements(campaign)
    assert (disagreement.pair.a.pid, disagreement.pair.b.pid) == ("p2", "p3")
    result = to_json(compute(inputs_of(campaign)))
    assert result["triples"] == {"triples": 0, "intransitive": 0}, "a tie decides no pair"
    (certain,) = (row for row in result["stability"] if row["qid"] == "q3")
    assert {row["passage"]: row["p"] for row in certain["passages"]} == pytest.approx({"p7": 0.5, "p8": 0.5}, abs=0.01)

    client.force_login(factories.user("ria", is_staff=True))
    pools = {pool.query.qid: pool.pk for pool in campaign.pools.select_related("query")}
    page = " ".join(client.get(reverse("results:query", args=[campaign.pk, pools["q1"]])).content.decode().split())
    assert "1 to 0, 1 tie" in page and "0 to 0, 2 ties" in page and page.count("<td>tie</td>") == 3
    assert page.count('<span class="unit">tie</span></td>') == 2 and "waiting" not in page
    pair = campaign.pools.get(query__qid="q1").pairs.get(a__pid="p1", b__pid="p2")
    page = client.get(reverse("review:disagreement", args=[campaign.pk, pair.pk])).content.decode()
    assert page.count("<td>tie</td>") == 1
    assignment = campaign.assignments.earliest("id")
    page = client.get(reverse("review:assignment", args=[campaign.pk, assignment.pk])).content.decode()
    assert page.count("Preferred neither") == 3


def test_nobody_can_judge_in_an_imported_campaign_or_import_it_twice(collection: Collection) -> None:
    campaign = store(collection)
    with pytest.raises(NotNow, match="made elsewhere"):
        task_services.campaign_move(campaign=campaign, to="open")
    with pytest.raises(Refused, match="already been imported, as the campaign old"):
        store(collection, name="again")
    with pytest.raises(BadInput, match=r"line 2: query q9 is not in the collection"):
        store(collection, b"q1 p1 p2 p1\nq9 p1 p2 p1\n", name="other")
    with pytest.raises(BadInput, match=r"line 1: passage x is not in the collection.* 1 more id"):
        store(collection, b"q1 x y x\n", name="other")
    assert list(Campaign.objects.values_list("name", flat=True)) == ["old"]


def test_what_a_campaign_exported_is_not_imported_into_its_own_collection(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = store(collection)
    accepted = Evidence(campaign).preferences
    lines = "".join(f"{query}\t{b}\t{a}\t{preferred}\n" for query, a, b, preferred in accepted).encode()
    with pytest.raises(Refused, match="are those of the campaign old of this collection"):
        store(collection, lines, name="own")
    with pytest.raises(Refused, match="are those of the campaign old of this collection"):
        preference_imports.preferences_import(
            collection=collection, name="own", source=io.BytesIO(lines), filename="own.txt", note="?", by=None,
            at=timezone.now(),
        )  # fmt: skip
    assert not collection.preference_imports.exists() and collection.campaigns.get() == campaign

    part = lines.splitlines(keepends=True)[0]
    store(collection, part, name="by chance the same")  # so few may be somebody else's
    monkeypatch.setattr(reusing, "NO_CHANCE", 2)
    with pytest.raises(Refused, match="are those of the campaign old"):
        store(collection, b"".join(lines.splitlines(keepends=True)[:2]), name="part")
    store(collection, lines + b"q2 p5 p6 p5\n", name="more")  # with what no campaign has


def test_judgments_come_in_by_the_page(collection: Collection, rita: User, client: Client) -> None:
    client.force_login(rita)
    address = reverse("judgments:judgments_import", args=[collection.pk])
    assert "Potato" in client.get(address).content.decode()
    sent = {"question": "Which is better?", "note": "In spring.", "file": SimpleUploadedFile("old.tsv", LINES)}
    answer = client.post(address, sent, follow=True)
    campaign = Campaign.objects.get(name="old")
    assert answer.redirect_chain[-1] == (reverse("campaigns:campaign", args=[campaign.pk]), 303)
    page = answer.content.decode()
    assert "Imported: 4 judgments of 2 workers, from old.tsv (query a b preferred)." in page
    assert "In spring." in page and "Open again" not in page and "Panel" not in page
    for name in ("review:work", "judgments:queries", "results:results"):
        assert client.get(reverse(name, args=[campaign.pk])).status_code == 200
    bad = client.post(address, sent | {"file": SimpleUploadedFile("bad.tsv", LINES + b"q1 p1\n")}, follow=True)
    assert "bad.tsv, line 6" in bad.content.decode() and Job.objects.latest("id").state == "refused"


def test_people_s_preferences_of_trec_s_passages_become_results(data: Path, lab: Lab) -> None:
    collection = Collection.objects.create(lab=lab, name="trec")
    files = {"queries": data / "queries.tsv", "qrels": data / "qrels.txt.gz", "passages": data / "passages.tsv.gz"}
    run_services.collection_import(lab=collection.lab, name="trec", keep="all", **files)
    runs = sorted((data / "runs").iterdir())[:2]
    for path in runs:
        with path.open("rb") as file:
            run_services.run_import(collection=collection, name=path.name, source=file, filename=path.name)
    lines = gzip.decompress((data / "preferences.txt.gz").read_bytes()).splitlines(keepends=True)
    queries = sorted({line.split()[0] for line in lines})[::4]
    lines = [line for line in lines if line.split()[0] in queries]
    campaign = judgments_import(
        collection=collection, name="people", source=io.BytesIO(gzip.compress(b"".join(lines))),
        filename="preferences.txt.gz", note="", by=None, at=timezone.now(),
    )  # fmt: skip
    assert campaign.origin is not None and campaign.origin["judgments"] == len(lines) > 1500
    factories.analyze()
    outcome = Evidence(campaign).derived
    assert not outcome.incomplete and outcome.single > len(queries) / 2
    assert to_json(compute(inputs_of(campaign)))["agreement"] is not None
    assert exports.Source(campaign).derived.qrels == outcome.qrels
