"""The results of a campaign: the same as from the exported files, in step with the judgments, computed once."""

import csv
import io
import json
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from core import locks
from core.errors import Refused
from core.models import User
from evaluation.files.runs import run_name
from evaluation.measures.named import KINDS
from judgments import exports, quality
from judgments import services as judgment_services
from judgments.models import Acceptance, StoredFile
from pools import services as pool_services
from pools.models import Campaign
from pools.services import campaign_read_results
from results import jobs as result_jobs
from results import refreshing
from results.findings import findings
from results.inputs import inputs_of
from results.models import Result
from results.sections import whole
from results.sections.stored import to_json
from results.sections.whole import compute, read
from results.selectors import whole_data
from results.writing import as_csv, shown
from runs import services as run_services
from runs.models import Collection
from tasks.models import Assignment, Worker
from tests import factories
from tests.evaluation.command import json_of, run_cli
from tests.judgments.judged import DEMO, judge_all
from tests.rows import fresh

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def printed(tmp_path: Path) -> Run:
    """What `python -m evaluation` prints, for the exported files of a campaign and the demo's runs."""

    def run(campaign: Campaign, command: str, *options: str, runs: Sequence[str] = ()) -> dict[str, Any]:
        if not (tmp_path / "exported").exists():
            exports.export_to(campaign, tmp_path / "exported")
        files = {run_name(str(path)): str(path) for path in sorted((DEMO / "runs").iterdir())}
        words = [option.format(demo=DEMO, files=tmp_path / "exported") for option in options]
        output: dict[str, Any] = json_of(command, *words, "--json", *(files[name] for name in runs or files))
        output.pop("warnings", None)  # pages say these in their own way
        return output

    return run


def computed(campaign: Campaign) -> dict[str, Any]:
    """The results, computed now."""
    refreshing.result_refresh(campaign=campaign)
    return stored(campaign)


def stored(campaign: Campaign) -> dict[str, Any]:
    """The results, as computed."""
    data = whole_data(campaign)
    assert data is not None
    return data


# --- the same as from the files


def test_the_leaderboard_is_that_of_the_exported_files(demo: Campaign, printed: Run) -> None:
    data = stored(demo)
    names = ("--qrels", "{demo}/qrels.txt", "--preference-qrels", "{files}/preference-qrels.txt")
    board = printed(
        demo, "leaderboard", *names, "--preferences", "{files}/preferences.txt", "--seed", str(demo.seed)
    )  # fmt: skip
    assert len(data["leaderboard"]) == len(board["runs"]) == 11
    for row in data["leaderboard"]:
        scores = board["runs"][row["run"]]
        for qrels in ("original", "preference"):
            assert row[qrels] == {name: scores[qrels][name] for name in ("mean", "t", "bootstrap")}
            assert row[f"place_{qrels}"] == scores[qrels]["place"]
    assert (data["tau"], data["tau_ap"]) == (board["tau"], board["tau_ap"])
    assert data["neighbours"] == board["neighbours"]
    assert data["significance"] == {name: board[name] for name in ("alpha", "correction", "family", "threshold")}
    assert data["perfect"]["preference"]["mean"] == board["perfect"]
    for qrels, pairing in board["pairings"].items():
        assert data["pairings"][qrels] == {"won": pairing["wins"], "of": pairing["pairings"], "share": pairing["share"]}
    assert {row["run"]: row for row in data["order_agreement"]} == {row["run"]: row for row in board["order_agreement"]}
    assert [row["run"] for row in data["order_agreement"]] == [row["run"] for row in data["leaderboard"]]
    assert (data["queries"], data["answered"], data["incomplete"], data["judgments"]) == (27, 27, 0, 128)
    assert data["best"] == {"1": 25, "3": 2}
    assert data["changed"] == 12  # as demo/README.md says


def test_scores_by_other_measures_are_those_of_the_exported_files(demo: Campaign, printed: Run) -> None:
    names = [f"{kind}@10" for kind in KINDS]
    names += ["nDCG(dcg='exp-log2')@10", "Judged@5", "Compat(p=0.9)@50", "RR(rel=2)@100", "AP(rel=2)@100"]
    campaign_read_results(campaign=demo, measures=", ".join(names))
    data = computed(demo)
    other = data["measures"]
    assert other["names"] == names
    assert [row["run"] for row in other["runs"]] == [row["run"] for row in data["leaderboard"]]
    options = [part for name in names for part in ("--measure", name)]
    scored = printed(demo, "score", "--qrels", "{demo}/qrels.txt", *options)
    for row in other["runs"]:
        theirs = scored["runs"][row["run"]]
        assert [cell["original"]["mean"] for cell in row["scores"]] == [theirs[name]["mean"] for name in names]
    # On preference qrels, of grade 1, every answer is relevant.
    plain = [name.replace("(rel=2)", "") for name in names]
    options = [part for name in plain for part in ("--measure", name)]
    scored = printed(demo, "score", "--qrels", "{files}/preference-qrels.txt", *options)
    table = whole.table(read(data), "measures")
    assert table is not None
    filed = {line["run"]: line for line in csv.DictReader(io.StringIO(as_csv(table)))}
    keys = [column.key for column in table.columns if column.label in names]
    for row, standing in zip(other["runs"], data["leaderboard"], strict=True):
        means = [scored["runs"][row["run"]][name]["mean"] for name in plain]
        assert [cell["preference"]["mean"] for cell in row["scores"]] == means
        assert [float(filed[row["run"]][key]) for key in keys] == means
        assert row["scores"][0]["preference"] == {
            **{name: standing["preference"][name] for name in ("mean", "t")},
            "queries": data["answered"],
        }
    assert {row["measure"] for row in other["tests"]} == {name for name in names if not name.startswith("Judged")}
    by_rr = [row for row in other["tests"] if row["measure"] == "RR@10"]
    assert [row["changed"] for row in by_rr] == [pair["changed"] for pair in data["neighbours"]]
    assert [row["significant"] for row in by_rr] == [pair["significant"] for pair in data["neighbours"]]
    assert [row["wsr"] for row in by_rr] == pytest.approx([pair["preference_p"] for pair in data["neighbours"]])
    assert len(by_rr) == 10


def test_by_compat_the_table_says_how_many_queries_each_run_has(demo: Campaign, printed: Run) -> None:
    campaign_read_results(campaign=demo, measures="Compat(p=0.9)@50, nDCG@10")
    data = computed(demo)
    scored = printed(demo, "score", "--qrels", "{files}/preference-qrels.txt", "--measure", "Compat(p=0.9)@50")
    table, measures = whole.table(read(data), "measures"), data["measures"]
    assert table is not None
    keys = [column.key for column in table.columns]
    assert [key for key in keys if key.endswith("_queries")] == ["measure1_queries", "measure1_before_queries"]
    assert {row[0]: row[keys.index("measure1_queries")] for row in table.rows} == {
        run: score["shared"] for run, score in scored["runs"].items()
    }
    assert "the queries are those with a relevant passage that the run has; others count 0" in table.about
    for row in measures["runs"]:
        assert row["scores"][0]["preference"]["mean"] == scored["runs"][row["run"]]["mean"]


def test_without_other_measures_there_are_none(demo: Campaign) -> None:
    campaign_read_results(campaign=demo, measures="")
    data = computed(demo)
    assert data["measures"] is None
    assert not {"measures", "measure-tests"} & set(whole.tables(read(data)))


def test_intransitive_triples_are_those_of_the_exported_files(demo: Campaign, tmp_path: Path) -> None:
    exports.export_to(demo, tmp_path)
    output = json.loads(run_cli("qrels", str(tmp_path / "preferences.txt"), "--json").err)
    assert stored(demo)["triples"] == {name: output[name] for name in ("triples", "intransitive")}
    assert output["triples"] > output["intransitive"] > 0


def test_comparisons_are_those_of_the_exported_files(demo: Campaign, printed: Run) -> None:
    data = stored(demo)
    best_first = [row["run"] for row in data["leaderboard"]]
    for name, qrels in (("compare", "{files}/preference-qrels.txt"), ("compare_original", "{demo}/qrels.txt")):
        output = printed(demo, "compare", "--qrels", qrels, "--k", "10", runs=best_first)
        assert len(output["pairs"]) == 55
        assert data[name] == output


@pytest.mark.parametrize(
    ("reading", "options", "pairs"),
    [
        ({"comparisons": "baseline", "baseline": "bm25"}, ["--baseline", "bm25"], 10),
        ({"comparisons": "chain", "rank_by": "rr-wsr"}, ["--chain", "--rank-by", "rr-wsr"], 10),
        ({"comparisons": "chain", "teams_apart": True}, ["--chain", "--groups", "{groups}"], None),
        (
            {"comparisons": "pairs", "compared_pairs": "bm25 lsa\r\nminilm\tbm25\r\n", "rank_by": "esl-t"},
            ["--pairs", "{pairs}", "--rank-by", "esl-t"],
            2,
        ),
        ({"teams_apart": True, "rank_by": "rr-t"}, ["--groups", "{groups}", "--rank-by", "rr-t"], 52),
    ],
)
def test_chosen_comparisons_are_those_of_the_command(
    demo: Campaign, printed: Run, tmp_path: Path, reading: dict[str, Any], options: list[str], pairs: int | None
) -> None:
    demo.collection.runs.filter(name__in=["bm25", "lsa", "minilm"]).update(team="ours")
    pool_services.campaign_read_results(campaign=demo, **reading)
    files = {"groups": tmp_path / "groups.txt", "pairs": tmp_path / "chosen.txt"}
    files["groups"].write_text("bm25 ours\nlsa ours\nminilm ours\n")
    files["pairs"].write_text("bm25 lsa\nminilm bm25\n")
    options = [option.format(**files) for option in options]
    data = to_json(compute(inputs_of(demo)))
    runs = [row["run"] for row in data["leaderboard"]]
    if demo.comparisons == "chain":
        runs = list(demo.collection.runs.order_by("imported_at").values_list("name", flat=True))
    for name, qrels in (("compare", "{files}/preference-qrels.txt"), ("compare_original", "{demo}/qrels.txt")):
        output = printed(demo, "compare", "--qrels", qrels, "--k", "10", *options, runs=runs)
        assert data[name] == output
        assert output["family"] == len(output["pairs"]) == (pairs or output["family"]) > 0
        assert output["rank_by"] == demo.rank_by
    both = [(pair["a"], pair["b"]) for pair in data["compare"]["pairs"]]
    if demo.teams_apart:
        assert not any({a, b} <= {"bm25", "lsa", "minilm"} for a, b in both)


def test_a_baseline_that_is_no_longer_there_is_said_and_stops_nothing(demo: Campaign) -> None:
    with pytest.raises(Refused, match="there is none called “gone”"):
        pool_services.campaign_read_results(campaign=demo, comparisons="baseline", baseline="gone")
    assert fresh(demo).comparisons == "all"
    Campaign.objects.update(comparisons="baseline", baseline="gone")
    demo.refresh_from_db()
    data = to_json(compute(inputs_of(demo)))
    assert (data["compare"]["pairs"], data["comparisons"]["missing"]) == ([], ["gone"])
    text = " ".join(sentence for finding in findings(read(data)) for sentence in finding.sentences)
    assert "no two runs are compared." in text
    assert "but that are not scored: gone." in text
    assert "pairs" not in whole.tables(read(data))
    Campaign.objects.update(comparisons="pairs", compared_pairs="bm25 gone\nlsa bm25\n")
    demo.refresh_from_db()
    data = to_json(compute(inputs_of(demo)))
    assert [(pair["a"], pair["b"]) for pair in data["compare"]["pairs"]] == [("lsa", "bm25")]
    assert data["comparisons"]["missing"] == ["gone"]


def test_win_ratios_are_those_of_the_exported_files(demo: Campaign, printed: Run) -> None:
    wins = stored(demo)["wins"]
    output = printed(demo, "wins", "--qrels", "{demo}/qrels.txt", "--preferences", "{files}/preferences.txt")
    assert wins["names"][-1] == "perfect"
    assert (wins["threshold"], wins["family"]) == (output["threshold"], output["family"])
    at = {name: number for number, name in enumerate(wins["names"][:-1])} | {"perfect ranking": len(wins["names"]) - 1}
    for pair in output["pairs"]:
        a, b = at[pair["a"]], at[pair["b"]]
        assert (wins["won"][a][b], wins["won"][b][a]) == (pair["a_wins"], pair["b_wins"])
        assert wins["of"][a][b] == wins["of"][b][a] == pair["a_wins"] + pair["b_wins"]
        assert wins["p"][a][b] == pair["p"]
    assert {row["name"]: row["beats"] for row in wins["row"][:-1]} == {
        name: count for name, count in output["wins"].items() if name != "perfect ranking"
    }


def test_places_and_best_known_answers_come_with_their_certainty(demo: Campaign, printed: Run) -> None:
    data = stored(demo)
    # as every pair was judged once, and nothing is known of errors
    assert (data["error_source"], data["error_compared"]) == ("assumed", 0)
    assert 0 < data["error_rate"] < 0.5
    assert [row["run"] for row in data["ranks"]] == [row["run"] for row in data["leaderboard"]]
    assert sum(row["first"] for row in data["ranks"]) == pytest.approx(1)
    for row in data["ranks"]:
        assert 1 <= row["low"] <= row["median"] <= row["high"] <= 11
    qrels = factories.exported(demo)["preference-qrels.txt"].decode().split()
    best = sorted(zip(qrels[::4], qrels[2::4], strict=True))
    answers = [(row["qid"], pid) for row in data["stability"] for pid in row["best"]]
    assert answers == best
    assert all(0.05 < row["share"] <= 1 for row in data["stability"])
    names = [row["run"] for row in data["leaderboard"]]
    arguments = ["--preferences", "{files}/preferences.txt", "--seed", str(demo.seed)]
    output = printed(demo, "certainty", *arguments, runs=names)
    assert {row["qid"]: row["share"] for row in data["stability"]} == {
        row["query"]: row["share"] for row in output["queries"]
    }
    assert (output["error_rate"], output["error_source"]) == (data["error_rate"], "assumed")
    for ours, theirs in zip(data["stability"], output["queries"], strict=True):
        for name in ("fragility", "exact", "set", "passages"):
            assert ours[name] == theirs[name]
    sizes = [len(row["set"]) for row in data["stability"]]
    assert data["resampled"]["settled"] == sizes.count(1)
    assert data["resampled"]["fragile"] == [row["fragility"] for row in data["stability"]].count(1) > 0
    assert [(row["low"], row["median"], row["high"], row["first"]) for row in data["ranks"]] == [
        (row["first_place"], row["middle_place"], row["last_place"], row["first"]) for row in output["runs"]
    ]
    Campaign.objects.update(method=Campaign.Method.MOST_WINS, revision=demo.revision + 1)
    demo.refresh_from_db()
    assert (computed(demo)["ranks"], computed(demo)["stability"]) == (None, None)


def test_results_say_what_would_survive_if_judgments_were_reversed(demo: Campaign) -> None:
    data = stored(demo)
    robust, names = data["reversed"], [row["run"] for row in data["leaderboard"]]
    means = {row["run"]: row["preference"]["mean"] for row in data["leaderboard"]}
    assert (robust["share"], robust["answers"]) == (0.05, 27)
    rows = {(row["kind"], row["upper"], row["lower"]): row["share"] for row in robust["conclusions"]}
    assert [key for key in rows if key[0] == "first"] == [("first", names[0], None)]
    assert [key[1:] for key in rows if key[0] == "order"] == [
        (upper, lower) for upper, lower in pairwise(names) if means[upper] > means[lower]
    ]
    assert {key[1:] for key in rows if key[0] == "changed"} == {
        (pair["lower"], pair["upper"]) for pair in data["neighbours"] if pair["changed"]
    }
    # Whoever is further ahead stays ahead more often, and whoever is first is ahead of the second.
    orders = {key[1:]: share for key, share in rows.items() if key[0] == "order"}
    widest = max(orders, key=lambda pair: means[pair[0]] - means[pair[1]])
    assert orders[widest] == max(orders.values()) > 0.9
    assert 0.1 < rows["first", names[0], None] <= rows["order", names[0], names[1]] + 0.05
    shares = [row["survives"] for row in data["stability"]]
    assert robust["answers_survive"] == sum(share >= 0.95 for share in shares)
    assert min(shares) < 0.9 < max(shares)
    for query in data["stability"]:
        pairs = len(query["passages"]) * (len(query["passages"]) - 1) // 2
        assert query["survives"] >= 0.95**pairs - 0.06  # at least where no judgment is reversed
    for row in data["leaderboard"]:
        low, high = row["with_judges"]
        assert 0 <= low <= row["preference"]["mean"] <= high <= 1
        assert high - low > 0.05
    text = " ".join(sentence for finding in findings(read(data)) for sentence in finding.sentences)
    assert f"{names[0]} would still be first in" in text and "of 27 would survive it." in text


def test_judgments_that_are_repeated_say_how_often_one_is_wrong(collection: Any, printed: Run) -> None:
    campaign = factories.campaign(collection, "thrice", overlap=5, pairs_per_hit=7)
    for name, side in zip(("One", "Two", "Three", "Four", "Five"), "aaaab", strict=True):
        factories.do(factories.worker(campaign, name), campaign, prefer=side)
    data = computed(campaign)
    # Of the ten ways to take two of five judgments of each of 7 pairs, six agree: a rate of 28%, by these alone.
    assert (data["error_rate"], data["error_source"]) == (pytest.approx(0.28, abs=0.08), "repeated")
    assert data["error_compared"] == 70
    output = printed(
        campaign, "certainty", "--preferences", "{files}/preferences.txt", "--seed", str(campaign.seed), runs=[]
    )
    assert (output["error_rate"], output["error_source"]) == (data["error_rate"], "repeated")
    assert {row["query"]: row["passages"] for row in output["queries"]} == {
        row["qid"]: row["passages"] for row in data["stability"]
    }
    Campaign.objects.update(error_rate=Decimal("0.05"), revision=campaign.revision + 1)
    campaign.refresh_from_db()
    surer = computed(campaign)
    assert (surer["error_rate"], surer["error_source"]) == (0.05, "given")
    for after, before in zip(surer["stability"], data["stability"], strict=True):
        assert after["share"] > before["share"]


# --- in step, and once


def test_the_same_inputs_give_the_same_bytes(demo: Campaign) -> None:
    first = json.dumps(stored(demo), sort_keys=True)
    Result.objects.all().delete()
    assert json.dumps(computed(demo), sort_keys=True) == first


def revision_of(campaign: Campaign) -> int:
    return Campaign.objects.get(pk=campaign.pk).revision


def test_results_are_computed_again_only_when_something_changed(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    factories.do(alice, campaign)
    assert result_jobs.compute_results() == "results computed: 1"
    first = Result.objects.get()
    Result.objects.update(rests_until=timezone.now())
    assert result_jobs.compute_results() == "results computed: 0"
    factories.do(bob, campaign, prefer="b")
    assert revision_of(campaign) > first.revision
    assert result_jobs.compute_results(campaign.pk) == "results computed: 1"
    second = Result.objects.get()
    assert second.data["judgments"] > first.data["judgments"]


def test_excluding_work_and_using_it_again_leads_back_to_the_same_results(
    campaign: Campaign, alice: Worker, rita: Any
) -> None:
    work = factories.do(alice, campaign)
    before, revision = computed(campaign), revision_of(campaign)
    quality.assignment_exclude(assignment=work, why="look", by=rita, at=timezone.now())
    assert revision_of(campaign) > revision
    assert computed(campaign)["judgments"] == 0
    quality.assignment_restore(assignment=Assignment.objects.get(), why="fine", by=rita, at=timezone.now())
    assert computed(campaign) == before


def test_excluding_work_that_filled_no_slot_makes_the_results_stale(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User
) -> None:
    early = factories.take(alice, campaign, timezone.now() - timedelta(hours=3))
    factories.do(bob, campaign)
    factories.judge(early, prefer="b")
    late = judgment_services.assignment_finish(assignment=early, at=timezone.now())
    assert not Acceptance.objects.filter(assignment=late).exists()
    before, revision = computed(campaign), revision_of(campaign)
    quality.assignment_exclude(assignment=late, by=rita, why="late, and careless", at=timezone.now())
    assert revision_of(campaign) > revision
    after = computed(campaign)
    assert after != before
    assert after["judgments"] == before["judgments"]


def test_what_is_not_accepted_yet_changes_nothing(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    factories.do(alice, campaign)
    revision = revision_of(campaign)
    factories.judge(factories.take(bob, campaign), only=[1, 2])
    assert revision_of(campaign) == revision


def test_results_rest_while_judgments_come_in(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    factories.do(alice, campaign)
    refreshing.result_refresh(campaign=campaign)
    Result.objects.update(rests_until=timezone.now() + timedelta(minutes=1))
    factories.do(bob, campaign)
    assert result_jobs.compute_results() == "results computed: 0"
    Result.objects.update(rests_until=timezone.now())
    assert result_jobs.compute_results() == "results computed: 1"


def test_results_of_a_closed_campaign_do_not_rest(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    factories.do(alice, campaign)
    refreshing.result_refresh(campaign=campaign)
    Result.objects.update(rests_until=timezone.now() + timedelta(minutes=1))
    factories.do(bob, campaign)
    assert result_jobs.compute_results() == "results computed: 0"
    Campaign.objects.update(state=Campaign.State.CLOSED)
    assert result_jobs.compute_results() == "results computed: 1"


def test_nobody_computes_what_another_process_computes(
    transactional_db: None, campaign: Campaign, alice: Worker
) -> None:
    factories.do(alice, campaign)
    computed: list[bool] = []

    def other() -> None:
        computed.append(refreshing.result_refresh(campaign=campaign))
        connection.close()

    with locks.alone(f"results of campaign {campaign.pk}") as ours:
        assert ours
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert computed == [False]
    assert not Result.objects.exists()
    assert refreshing.result_refresh(campaign=campaign)


def test_a_campaign_that_nobody_has_judged_has_no_results(campaign: Campaign) -> None:
    assert result_jobs.compute_results() == "results computed: 0"
    assert not Result.objects.exists()


def test_a_run_whose_file_is_away_keeps_no_other_campaign_waiting(
    campaign: Campaign, collection: Collection, alice: Worker
) -> None:
    factories.do(alice, campaign)
    other = factories.campaign(collection, "second", pairs_per_hit=3, tests_per_hit=2)
    other.runs.set(collection.runs.exclude(name="red"))
    factories.do(factories.worker(other, "Olga"), other)
    collection.runs.get(name="red").artifact.delete(save=False)
    assert result_jobs.compute_results() == "results computed: 1"
    result = Result.objects.get()
    assert result.campaign == other
    assert result.data["unreadable"] == ["red"]
    assert "red" not in [row["run"] for row in result.data["leaderboard"]]


def test_all_runs_of_the_collection_are_scored_and_only_pooled_ones_brought_something(
    collection: Collection, tmp_path: Path
) -> None:
    campaign = factories.campaign(collection, "two runs", pairs_per_hit=3, tests_per_hit=2, runs=["blue", "red"])
    judge_all(campaign, [])
    pooled = set(campaign.runs.values_list("name", flat=True))
    others = set(collection.runs.values_list("name", flat=True)) - pooled
    assert len(pooled) == 2 and others
    before = computed(campaign)
    assert {row["run"]: row["pooled"] for row in before["leaderboard"]} == dict.fromkeys(pooled, True) | dict.fromkeys(
        others, False
    )
    assert {row["run"] for row in before["contributions"]} == pooled
    assert set(before["wins"]["names"]) == pooled | {"perfect"}
    assert {row["run"] for row in before["wins"]["apart"]} == others
    assert {row["run"]: row["pooled"] for row in before["order_agreement"]}.keys() == pooled | others
    apart = whole.table(read(before), "wins-apart")
    assert apart is not None and {row[0] for row in apart.rows} == others
    lines = [sentence for finding in findings(read(before)) for sentence in finding.sentences]
    assert not any(f"{run} agrees most often" in sentence for run in others for sentence in lines)
    assert any("only 2 of the 3 runs were pooled, which favours those" in sentence for sentence in lines)

    revision = revision_of(campaign)
    factories.run(collection, "late", {"q1": ["p2", "p1"], "q2": ["p5"], "q3": ["p7"], "q4": ["p9"]})  # as red
    assert revision_of(campaign) > revision
    after = computed(campaign)
    late, red = ({row["run"]: row for row in after["leaderboard"]}[name] for name in ("late", "red"))
    assert not late["pooled"] and late["preference"]["mean"] == red["preference"]["mean"]
    assert [{**row, "place": 0, "place_without": 0} for row in after["contributions"]] == [
        {**row, "place": 0, "place_without": 0} for row in before["contributions"]
    ]
    run_services.run_delete(run=collection.runs.get(name="late"))
    assert computed(campaign) == before


# --- what is there, and what is not yet


def test_scores_from_elsewhere_are_those_of_the_command(demo: Campaign, printed: Run, tmp_path: Path) -> None:
    assert stored(demo)["outside"] is None
    lines = ["bm25 0.31 7", "lsa\t0.4\t2", "minilm .5", "fusion 4.5e-1 1", "stranger 0.9 3"]
    (tmp_path / "outside.txt").write_text("\n".join(lines))
    scores = run_services.outside_scores_set(
        collection=demo.collection, source="Elsewhere, MRR@10", file=str(tmp_path / "outside.txt"),
        filename="outside.txt", by=None, at=timezone.now(),
    )  # fmt: skip
    assert scores.foreign == 1
    demo.refresh_from_db()
    data = computed(demo)
    names = ("--qrels", "{demo}/qrels.txt", "--preference-qrels", "{files}/preference-qrels.txt")
    output = printed(demo, "leaderboard", *names, "--outside", str(tmp_path / "outside.txt"))
    assert data["outside"] == {"source": "Elsewhere, MRR@10", "tau": output["outside"]["tau"]}
    assert output["outside"]["tau"]["runs"] == 4
    assert {
        row["run"]: {"score": row["outside"], "rank": row["outside_rank"]}
        for row in data["leaderboard"]
        if row["outside"] is not None
    } == output["outside"]["runs"]
    assert {row["run"]: row["original_all"] for row in data["leaderboard"]} == output["all_queries"]["means"]
    table = whole.table(read(data), "leaderboard")
    assert table is not None
    ordered = table.sorted_by("-outside").rows
    assert [row[table.at("run")] for row in ordered][:4] == ["minilm", "fusion", "lsa", "bm25"]
    assert shown(table.columns[table.at("outside")], ordered[4][table.at("outside")]) == "–"
    assert len(table.foot[0]) == len(table.columns)
    assert [",0.5,," in line for line in as_csv(table).splitlines() if ",minilm," in line] == [True]
    assert any("(Elsewhere, MRR@10)" in sentence for finding in findings(read(data)) for sentence in finding.sentences)
    files = set(StoredFile.objects.filter(campaign=demo).values_list("name", flat=True))
    assert {"figures/scatter-outside.svg", "figures/scatter-outside.pdf"} <= files
    run_services.outside_scores_delete(collection=demo.collection)
    demo.refresh_from_db()
    data = computed(demo)
    assert data["outside"] is None
    assert "outside" not in [column.key for column in whole.table(read(data), "leaderboard").columns]  # type: ignore[union-attr]


def test_a_sample_is_set_beside_all_queries(collection: Collection) -> None:
    campaign = factories.campaign(
        collection, "sample", pairs_per_hit=3, tests_per_hit=2, selection=Campaign.Selection.SAMPLE, sample_size=2
    )
    judge_all(campaign, [])
    data = computed(campaign)
    assert (data["queries_all"], data["compare"]["queries"]) == (4, 2)
    # red returns p2, p1 for q1 and p5 for q2, whose qrels are p1 and p4, and the qrel for q3 and q4
    row = next(row for row in data["leaderboard"] if row["run"] == "red")
    assert row["original_all"] == pytest.approx((1 / 2 + 0 + 1 + 1) / 4)
    assert (data["queries"], data["sampled_from"]) == (2, campaign.sampled_from)
    lines = [sentence for finding in findings(read(data)) for sentence in finding.sentences]
    drawn = f"2 of the {campaign.sampled_from} that had a pool of two or more when it was drawn."
    population = f"The queries are a random sample: {drawn}"
    assert any(population in sentence for sentence in lines)


def test_waiting_queries_stay_out_of_the_scores(campaign: Campaign, alice: Worker) -> None:
    factories.do(alice, campaign)
    data = computed(campaign)
    assert data["incomplete"] == 4 - data["answered"] > 0
    assert data["compare"]["queries"] == data["answered"]
    assert data["judgments"] == 3


def test_a_single_run_has_a_leaderboard_of_one(lab: Any, tmp_path: Path) -> None:
    collection = factories.collection(
        tmp_path, in_lab=lab, qrels={"q1": ["p1"], "q2": ["p4"]}, tops={"only": {"q1": ["p2"], "q2": ["p4", "p5"]}}
    )
    campaign = factories.campaign(collection)
    judge_all(campaign, [])
    data = computed(campaign)
    assert [row["run"] for row in data["leaderboard"]] == ["only"]
    assert data["neighbours"] == data["compare"]["pairs"] == []
    assert data["tau"] is None
    assert len(data["wins"]["names"]) == 2


def test_how_the_crowd_judged(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    factories.do(alice, campaign, fail_tests=True)
    factories.do(bob, campaign)
    quality = computed(campaign)["quality"]
    assert (quality["tests"], quality["tests_passed"]) == (4, 2)
    assert quality["seconds_median"] == 9.0
    assert [position for position, _share, _seconds in quality["positions"]] == [1, 2, 3, 4, 5]
    tests = [share for _position, share, _seconds in quality["positions"] if share is not None]
    assert 2 <= len(tests) <= 4
    preferred = Assignment.objects.get(worker=bob).acceptances.values_list("judgment__preferred", flat=True)
    assert quality["left_share"] == list(preferred).count("left") / 3
