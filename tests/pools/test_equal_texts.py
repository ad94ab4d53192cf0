"""Passages with one text under several ids: one candidate, judged once, exported and scored by all ids."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core import alarms
from core.errors import Refused
from core.models import Lab, User
from evaluation.cli.main import main
from evaluation.files.preferences import read_preferences
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign, Pair, Twin
from results import versions
from results.inputs import inputs_of
from results.models import Result
from results.refreshing import result_refresh
from results.sections.stored import to_json
from results.sections.whole import compute
from runs import services as run_services
from runs.models import Collection, Passage
from tasks import services as task_services
from tests import factories
from tests.judgments.judged import judge_all
from tests.worlds import lay_out

NEARLY = "The snail is a small animal that carries its house on its back wherever it goes in the garden at night"
TEXTS = {
    "p1": "A snail lives for two or three years.",
    "p2": "Snails are slow.",
    "p3": "A snail  lives for two or three years. ",
    "p4": "A snail\tlives for two or three years.",
    "p6": NEARLY,
    "p7": NEARLY + " alone",
    "p9": "A snail lives for two or three years.",
}
QRELS = "q1 0 p3 1\nq2 0 p6 1\n"
RUNS: dict[str, dict[str, list[str]]] = {
    "red": {"q1": ["p1", "p3"], "q2": ["p7"]},
    "green": {"q1": ["p2"], "q2": ["p7"]},
    "blue": {"q1": ["p4"], "q2": ["p6"]},
    "late": {"q1": ["p9"], "q2": ["p6"]},
}
POOLED = ("blue", "green", "red")


class World:
    """A collection from files, which the command line can be given too."""

    def __init__(self, folder: Path, lab: Lab) -> None:
        self.folder, self.lab = folder, lab
        self.write("queries.tsv", "q1\thow long does a snail live\nq2\twhat is a snail\n")
        self.write("qrels.txt", QRELS)
        self.write(
            "passages.jsonl", "".join(json.dumps({"id": pid, "text": text}) + "\n" for pid, text in TEXTS.items())
        )
        for name, lists in RUNS.items():
            lines = [
                f"{query} Q0 {pid} {rank} {9 - rank} {name}\n"
                for query, pids in lists.items()
                for rank, pid in enumerate(pids, start=1)
            ]
            self.write(f"{name}.txt", "".join(lines))
        lay_out("snails", self.store)
        self.collection = Collection.objects.get(lab=lab, name="snails")

    def store(self) -> None:
        paths = {"queries": self.path("queries.tsv"), "qrels": self.path("qrels.txt")}
        collection = run_services.collection_import(lab=self.lab, name="snails", **paths).collection  # type: ignore[arg-type]
        for name, lists in RUNS.items():
            factories.run(collection, name, lists)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def write(self, name: str, content: str) -> None:
        (self.folder / name).write_text(content)

    def import_texts(self) -> None:
        run_services.collection_import(lab=self.lab, name="snails", passages=self.path("passages.jsonl"), keep="all")


@pytest.fixture
def world(tmp_path: Path, lab: Lab) -> World:
    return World(tmp_path, lab)


def candidates_of(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    return Evidence(campaign).pools


def twins_of(campaign: Campaign) -> dict[str, dict[str, str]]:
    return pool_selectors.twins_of(campaign)


def alike_of(campaign: Campaign) -> list[tuple[str, str, str, float]]:
    return [
        (pair.pool.query.qid, pair.a.pid, pair.b.pid, round(pair.share, 4))
        for pair in pool_selectors.alike_pairs(campaign)
    ]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def computed(campaign: Campaign) -> dict[str, Any]:
    result_refresh(campaign=campaign)
    data: dict[str, Any] = Result.objects.get(campaign=campaign).data
    return data


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode()), delimiter="\t"))


# --- pools


def test_equal_texts_of_a_pool_are_one_candidate_and_all_other_ids_of_the_text_its_twins(world: World) -> None:
    world.import_texts()
    campaign = factories.campaign(world.collection, runs=POOLED)
    assert candidates_of(campaign) == {"q1": ("p1", "p2"), "q2": ("p6", "p7")}
    assert list(judgment_selectors.asked_pairs(campaign)) == [("q1", "p1", "p2"), ("q2", "p6", "p7")]
    assert (campaign.pair_count, campaign.pool_histogram) == (2, {"2": 2})
    assert twins_of(campaign) == {"q1": {"p3": "p1", "p4": "p1", "p9": "p1"}}
    assert alike_of(campaign) == [("q2", "p6", "p7", 0.95)]


def test_pools_are_those_that_the_command_makes_of_the_same_files(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.import_texts()
    campaign = factories.campaign(world.collection, runs=POOLED)
    arguments = ["pool", "--qrels", world.path("qrels.txt"), "--passages", world.path("passages.jsonl")]
    arguments += ["--pairs", world.path("pairs.tsv"), *(world.path(f"{name}.txt") for name in POOLED)]
    output = json.loads(printed(capsys, *arguments))
    assert_same_pools(campaign, output, (world.folder / "pairs.tsv").read_text())
    for _hit in range(campaign.hits.count()):
        factories.do(factories.worker(campaign, f"judge {_hit}"), campaign)
    assert_same_qrels(campaign, world.folder, world.path("passages.jsonl"), capsys)


def assert_same_pools(campaign: Campaign, output: dict[str, Any], pairs: str) -> None:
    assert campaign.pair_count == output["pairs"]
    assert {size: count for size, count in campaign.pool_histogram.items() if count} == output["sizes"]["histogram"]
    stored = Pair.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "a__pid", "b__pid")
    assert sorted(stored) == [tuple(line.split("\t")) for line in pairs.splitlines()]
    pooled = {
        (row["query"], min(row["passages"])): set(row["passages"]) - {min(row["passages"])} for row in output["equal"]
    }
    twins: dict[tuple[str, str], set[str]] = {}
    for query, candidates in twins_of(campaign).items():
        for twin, candidate in candidates.items():
            twins.setdefault((query, candidate), set()).add(twin)
    assert all(ids <= twins[key] for key, ids in pooled.items())
    near = [(row["query"], row["a"], row["b"], row["share"]) for row in output["nearly_equal"]]
    assert alike_of(campaign) == near


def assert_same_qrels(campaign: Campaign, folder: Path, passages: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The exported qrels are what the command makes of the exported preferences."""
    files = factories.exported(campaign)
    (folder / "preferences.txt").write_bytes(files["preferences.txt"])
    arguments = ["qrels", "--pools", str(folder / "pairs.tsv"), "--passages", passages]
    qrels = printed(capsys, *arguments, str(folder / "preferences.txt")).splitlines()
    queries = {line.split()[0] for line in (folder / "pairs.tsv").read_text().splitlines()}
    exported = files["preference-qrels.txt"].decode().splitlines()
    assert [line for line in exported if line.split()[0] in queries] == qrels
    return exported


@pytest.mark.timeout(400)
def test_pools_and_qrels_of_whole_runs_are_those_of_the_commands(
    data: Path, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {"queries": data / "queries.tsv", "qrels": data / "sparse-qrels.txt"}
    collection = run_services.collection_import(lab=lab, name="whole", **paths).collection
    runs = sorted((data / "runs").glob("*.gz"))[::3]
    for path in runs:
        with path.open("rb") as file:
            run_services.run_import(collection=collection, name=path.name, source=file, filename=path.name)
    run_services.collection_import(lab=lab, name="whole", passages=data / "passages.tsv.gz", keep="all")
    campaign = factories.campaign(collection)
    factories.analyze()
    arguments = ["pool", "--qrels", str(data / "sparse-qrels.txt"), "--passages", str(data / "passages.tsv.gz")]
    output = json.loads(printed(capsys, *arguments, "--pairs", str(tmp_path / "pairs.tsv"), *map(str, runs)))
    pairs, best_with_twin, queries = {"made-up": (403, 20, 53), "trec-dl-2021": (548, 18, 61)}[data.name]
    assert output["pairs"] == pairs
    assert_same_pools(campaign, output, (tmp_path / "pairs.tsv").read_text())
    judge_all(campaign, read_preferences(data / "oracle-preferences.txt.gz"))
    factories.analyze()
    exported = assert_same_qrels(campaign, tmp_path, str(data / "passages.tsv.gz"), capsys)
    best = Evidence(campaign).derived.qrels
    with_twin = {(query, candidate) for query, twins in twins_of(campaign).items() for candidate in twins.values()}
    assert len(exported) > len(best)
    assert (len(with_twin.intersection(best)), len(best)) == (best_with_twin, queries)


# --- texts that come later


def test_texts_that_come_after_the_campaign_was_created_merge_the_pools_of_a_draft(world: World) -> None:
    draft = factories.campaign(world.collection, runs=POOLED, start=False, selection="list", query_list="q1")
    other = factories.campaign(world.collection, "other", runs=["green"], start=False)
    assert candidates_of(draft) == {"q1": ("p1", "p2", "p3", "p4")}
    assert (draft.pair_count, draft.untexted_count, twins_of(draft)) == (6, 4, {})
    world.import_texts()
    for campaign in (draft, other):
        campaign.refresh_from_db()
        assert campaign.untexted_count == 0
    assert candidates_of(draft) == {"q1": ("p1", "p2")}  # the same queries
    assert (draft.pair_count, draft.pool_histogram) == (1, {"2": 1})
    assert twins_of(draft) == {"q1": {"p3": "p1", "p4": "p1", "p9": "p1"}}
    assert alike_of(other) == [("q2", "p6", "p7", 0.95)]


def test_what_was_not_compared_before_is_when_the_campaign_is_packed(world: World) -> None:
    """As if texts had been imported while the campaign was being created."""
    draft = factories.campaign(world.collection, runs=POOLED, start=False)
    Campaign.objects.filter(pk=draft.pk).update(untexted_count=0)
    world.import_texts()
    assert draft.pools.count() == 2
    assert Pair.objects.filter(pool__campaign=draft).count() == 7
    Campaign.objects.filter(pk=draft.pk).update(untexted_count=4)
    factories.begin(draft)
    assert draft.state == "open"
    assert candidates_of(draft) == {"q1": ("p1", "p2"), "q2": ("p6", "p7")}
    assert draft.hits.count() == 1


def test_a_campaign_that_turns_out_to_have_nothing_to_judge_is_a_draft_again(world: World) -> None:
    draft = factories.campaign(world.collection, runs=["blue", "red"], start=False, selection="list", query_list="q1")
    Campaign.objects.filter(pk=draft.pk).update(untexted_count=0)
    world.import_texts()
    Campaign.objects.filter(pk=draft.pk).update(untexted_count=3)
    task_services.campaign_launch(campaign=draft)
    assert not task_services.campaign_pack(campaign_id=draft.pk)
    draft.refresh_from_db()
    assert (draft.state, draft.hits.count()) == ("draft", 0)
    (alarm,) = alarms.alarms_raised(draft)
    assert "every pool has only one passage" in alarm.text


def test_a_sample_says_what_it_was_drawn_from_though_texts_that_come_later_merge_its_pools(
    world: World, rita: User, client: Client
) -> None:
    draft = factories.campaign(world.collection, runs=["blue", "red"], start=False, selection="sample", sample_size=2)
    world.import_texts()
    draft.refresh_from_db()
    assert (draft.pool_histogram, draft.sampled_from) == ({"1": 1, "2": 1}, 2)
    client.force_login(rita)
    page = client.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()
    assert "The queries are a random sample: 2 of the 2 that had a pool of two or more when it was drawn." in page


def test_a_draft_that_is_left_with_no_challenger_does_not_hold_up_an_import(
    world: World, rita: User, client: Client
) -> None:
    world.import_texts()
    judged_before = factories.campaign(world.collection, runs=["green"])
    factories.do(factories.worker(judged_before, "judge"), judged_before)
    versions.version_add(campaign=judged_before, why="First.", by=None, at=timezone.now())
    considered = candidates_of(judged_before)["q1"]
    factories.run(world.collection, "new", {"q1": ["p10"]})
    draft = factories.campaign(world.collection, "draft", runs=["new"], start=False, design="challengers")
    assert (draft.pair_count, draft.untexted_count) == (1, 1)
    same = Passage.objects.get(collection=world.collection, pid=considered[0]).text
    world.write("more.jsonl", json.dumps({"id": "p10", "text": same}) + "\n")
    run_services.collection_import(lab=world.lab, name="snails", passages=world.path("more.jsonl"), keep="all")
    assert Passage.objects.get(collection=world.collection, pid="p10").text == same
    draft.refresh_from_db()
    assert (draft.pair_count, draft.untexted_count, draft.pools.count()) == (0, 0, 0)
    client.force_login(rita)
    page = client.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()
    assert "the runs bring nothing new" in page
    with pytest.raises(Refused, match="the runs bring nothing new"):
        task_services.campaign_launch(campaign=draft)
    with pytest.raises(Refused, match="No run brings anything new"):
        factories.campaign(world.collection, "again", runs=["new"], start=False, design="challengers")


def test_a_draft_whose_run_file_is_missing_waits_for_packing_and_does_not_hold_up_an_import(world: World) -> None:
    broken = factories.campaign(world.collection, "broken", runs=["blue", "red"], start=False)
    whole = factories.campaign(world.collection, "whole", runs=["green", "late"], start=False)
    before = broken.untexted_count
    artifact = world.collection.runs.get(name="blue").artifact
    artifact.storage.delete(artifact.name)
    world.import_texts()
    broken.refresh_from_db()
    whole.refresh_from_db()
    assert (broken.untexted_count, whole.untexted_count) == (before, 0)
    assert broken.pools.count() == 2
    assert Passage.objects.get(collection=world.collection, pid="p1").text == TEXTS["p1"]


def test_texts_that_come_once_the_campaign_is_open_change_nothing(world: World) -> None:
    world.import_texts()
    campaign = factories.campaign(world.collection, runs=POOLED)
    world.write("more.jsonl", json.dumps({"id": "p10", "text": TEXTS["p1"]}) + "\n")
    run_services.collection_import(lab=world.lab, name="snails", passages=world.path("more.jsonl"), keep="all")
    assert Passage.objects.filter(text_key=Passage.objects.get(pid="p1").text_key).count() == 5
    assert twins_of(campaign) == {"q1": {"p3": "p1", "p4": "p1", "p9": "p1"}}


# --- results and exports


@pytest.fixture
def judged(world: World) -> Campaign:
    """Both pairs judged for `a`: p1 and p6."""
    world.import_texts()
    campaign = factories.campaign(world.collection, runs=POOLED)
    factories.do(factories.worker(campaign, "judge"), campaign)
    return campaign


def test_every_id_of_a_winning_text_is_exported_and_files_of_pairs_name_the_twins(judged: Campaign) -> None:
    files = factories.exported(judged)
    assert files["preference-qrels.txt"].decode() == "q1 0 p1 1\nq1 0 p3 1\nq1 0 p4 1\nq1 0 p9 1\nq2 0 p6 1\n"
    merged = files["original-and-preference-qrels.txt"].decode().splitlines()
    assert merged == ["q1 0 p3 1", "q2 0 p6 1", "q1 0 p1 1", "q1 0 p4 1", "q1 0 p9 1"]
    assert files["preferences.txt"].decode() == "q1 p1 p2 p1\nq2 p6 p7 p6\n"
    named = [(row["query"], row["passage"], row["also"]) for row in rows(files["equal-texts.tsv"])]
    assert named == [("q1", "p1", "p3"), ("q1", "p1", "p4"), ("q1", "p1", "p9")]
    row, other = rows(files["judged-pairs.tsv"])
    assert (other["a_also"], other["b_also"], row["b_also"]) == ("", "", "")
    assert (row["qrel"], row["preferred"], row["a_also"]) == ("a", "a", "p3 p4 p9")  # the qrel is p3
    assert json.loads(files["judged-pairs.jsonl"].splitlines()[0])["a_also"] == ["p3", "p4", "p9"]
    manifest = json.loads(files["manifest.json"])
    assert (manifest["ids of equal texts"], manifest["counts"]["qrels"]["single"]) == (3, 2)


def test_ids_that_only_a_confidential_run_brought_are_held_back_each_by_itself(judged: Campaign) -> None:
    run_services.run_release(run=judged.runs.get(name="blue"), is_released=False)
    files = factories.exported(judged)
    assert files["preference-qrels.txt"].decode() == "q1 0 p1 1\nq1 0 p3 1\nq1 0 p9 1\nq2 0 p6 1\n"
    assert rows(files["judged-pairs.tsv"])[0]["a_also"] == "p3 p9"
    assert not any(b"p4" in content for content in files.values())


def test_a_passage_that_is_held_back_does_not_leave_under_another_id_of_its_text(judged: Campaign) -> None:
    candidate = judged.pools.get(query__qid="q2").candidates.get(passage__pid="p6")
    twin = Passage.objects.create(collection=judged.collection, pid="p66", text=candidate.passage.text)
    Twin.objects.create(candidate=candidate, passage=twin)
    assert b"q2 0 p66 1" in factories.exported(judged)["preference-qrels.txt"]
    judged.collection.qrels.filter(query__qid="q2").delete()
    run_services.run_release(run=judged.runs.get(name="blue"), is_released=False)
    assert not any(b"p66" in content or b"p6\t" in content for content in factories.exported(judged).values())


def test_runs_score_with_any_id_of_a_text_and_original_qrels_stay_as_they_are(judged: Campaign) -> None:
    results = computed(judged)
    scores = {row["run"]: (row["original"]["mean"], row["preference"]["mean"]) for row in results["leaderboard"]}
    # On the original qrels, only p3 counts in q1; on the preference qrels, every id of the text.
    assert scores == {"red": (0.25, 0.5), "green": (0.0, 0.0), "blue": (0.5, 1.0), "late": (0.5, 1.0)}
    assert results["perfect"]["preference"]["mean"] == 1.0
    assert (results["changed"], results["preference_qrels"], results["twins"]) == (0, 2, 3)
    assert results["pairings"]["original"] == {"won": 2.0, "of": 2, "share": 1.0}


def test_tops_with_one_text_do_not_differ_and_are_nobodys_own(judged: Campaign) -> None:
    results = computed(judged)
    wins = results["wins"]
    at = {name: number for number, name in enumerate(wins["names"])}
    assert wins["of"][at["red"]][at["blue"]] == 1  # p7 and p6; p1 and p4 are one text
    # What came later was not pooled, and stands apart: p9 and p4 are one text, and so are p6 and p6.
    assert [row["run"] for row in wins["apart"]] == ["late"] and "late" not in at
    assert {row["run"]: row["own"] for row in results["contributions"]} == {"red": 0, "green": 1, "blue": 0}
    tops = Result.objects.get(campaign=judged).tops
    assert tops["q1"] == {"p1": ["blue", "late", "red"], "p2": ["green"]}


def test_a_run_orders_a_text_by_whatever_id_it_has(judged: Campaign) -> None:
    factories.run(judged.collection, "deep", {"q1": ["p4", "p2", "p3"], "q2": ["p7", "p6"]})
    agreed = {row["run"]: row for row in computed(judged)["order_agreement"]}
    # p1 was preferred to p2, of which p4 and p3 are other ids; p6 to p7.
    assert (agreed["deep"]["judged"], agreed["deep"]["both"], agreed["deep"]["alike"]) == (2, 2, 1)
    assert agreed["red"]["both"] == 0


@pytest.mark.parametrize("confidential", [None, "blue"])
def test_scores_are_those_of_the_exported_qrels(
    judged: Campaign, world: World, capsys: pytest.CaptureFixture[str], confidential: str | None
) -> None:
    """By each measure, with several ids of a text in one list, and where only some of the ids may leave."""
    measures = ["nDCG@10", "Judged@10", "P@2", "R@10", "AP@10", "Success@1", "Compat@10"]
    pool_services.campaign_read_results(campaign=judged, measures=", ".join(measures))
    if confidential:
        run_services.run_release(run=judged.runs.get(name=confidential), is_released=False)
    inputs = inputs_of(judged)
    results = to_json(compute(inputs, inputs.held_back(inputs.withheld), is_release=True))
    world.write("preference-qrels.txt", factories.exported(judged)["preference-qrels.txt"].decode())
    arguments = ["leaderboard", "--qrels", world.path("qrels.txt"), "--json", "--seed", str(judged.seed)]
    arguments += ["--preference-qrels", world.path("preference-qrels.txt")]
    output = json.loads(printed(capsys, *arguments, *(world.path(f"{name}.txt") for name in RUNS)))
    for row in results["leaderboard"]:
        for qrels in ("original", "preference"):
            assert row[qrels]["mean"] == output["runs"][row["run"]][qrels]["mean"]
            assert row[f"place_{qrels}"] == output["runs"][row["run"]][qrels]["place"]
    assert results["perfect"]["preference"]["mean"] == output["perfect"]
    assert results["tau"] == output["tau"]
    options = [part for name in measures for part in ("--measure", name)]
    arguments = ["score", "--qrels", world.path("preference-qrels.txt"), *options]
    scored = json.loads(printed(capsys, *arguments, *(world.path(f"{name}.txt") for name in RUNS)))
    for row in results["measures"]["runs"]:
        means = {name: values["preference"]["mean"] for name, values in zip(measures, row["scores"], strict=True)}
        assert means == {name: values["mean"] for name, values in scored["runs"][row["run"]].items()}


def test_pages_show_other_ids_and_nearly_equal_texts(judged: Campaign, client: Client, rita: User) -> None:
    client.force_login(rita)
    page = client.get(reverse("campaigns:plan", args=[judged.pk])).text
    assert "3 passages of the collection have the text of a pooled passage under another id." in page
    pool = judged.pools.get(query__qid="q2")
    assert f'<a href="/campaigns/{judged.pk}/queries/{pool.pk}/">q2</a>' in page
    assert '<td class="code">p6</td><td class="code">p7</td><td class="number">95%</td>' in page
    pool = judged.pools.get(query__qid="q1")
    page = client.get(f"/campaigns/{judged.pk}/queries/{pool.pk}/").content.decode()
    assert "The same text is also in the collection as p3, p4, p9." in page
    assert page.count("The same text is also") == 1
    assert "original qrel, grade 1" in page


# --- the champion check


def champion(world: World, run: str, name: str = "check", **settings: Any) -> Campaign:
    world.import_texts()
    return factories.campaign(world.collection, name, runs=[run], design="champion_check", **settings)


def test_a_run_that_puts_the_qrels_text_first_agrees_with_it_and_its_next_text_is_compared(world: World) -> None:
    world.collection.runs.get(name="late")
    factories.run(world.collection, "same", {"q1": ["p1", "p4", "p2"], "q2": ["p7"]})
    campaign = champion(world, "same")
    assert campaign.champion_split == {"a": 1, "b": 1}
    assert list(judgment_selectors.asked_pairs(campaign)) == [("q1", "p1", "p2"), ("q2", "p6", "p7")]
    assert [(row.query, row.category) for row in pool_selectors.champion_asked(campaign)] == [
        ("q1", "a"), ("q2", "b"),
    ]  # fmt: skip
    factories.do(factories.worker(campaign, "judge"), campaign)
    categories = {row["query"]: row["category"] for row in rows(factories.exported(campaign)["judged-pairs.tsv"])}
    assert categories == {"q1": "A", "q2": "B"}
    results = computed(campaign)["champion"]
    assert (results["a"]["for_qrel"], results["b"]["for_qrel"], results["unjudged"]) == (1, 1, 0)


def test_the_split_is_shown_before_anybody_judges(world: World, client: Client, rita: User) -> None:
    world.import_texts()
    campaign = factories.campaign(
        world.collection, "check", runs=["red"], design="champion_check", champion_qrel="each", start=False
    )
    client.force_login(rita)
    page = client.get(f"/campaigns/{campaign.pk}/").content.decode()
    assert "compared with the run's second passage: 0." in page
    assert "Category B, where the top passage is another one, which is compared with the qrel: 1." in page
    settings = client.get(reverse("campaigns:settings", args=[campaign.pk])).text
    assert "each, with a comparison for every one" in settings
