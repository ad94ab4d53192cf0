"""The champion check: the site finds what `python -m evaluation champion` finds, whichever qrel is checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.models import Lab
from judgments.selectors import asked_pairs
from pools.models import Campaign
from results import planning
from results.findings import findings
from results.models import Result
from results.refreshing import result_refresh
from results.sections.champion import SLICES
from results.sections.whole import read, table
from results.tables import Table
from tests import factories
from tests.evaluation.command import json_of
from tests.results.sample_results import sample

# By query: the relevant passages in the order of the file, and what the run ranks.
QRELS = {
    "q1": ["p1", "p2", "p3"],
    "q2": ["p4", "p5"],
    "q3": ["p6"],
    "q4": ["p8", "p7"],
    "q5": ["p10"],
    "q6": ["p12", "p13"],
}
RANKED = {
    "q1": ["p2", "p9", "p1"],
    "q2": ["p9", "p5"],
    "q3": ["p6", "p9"],
    "q4": ["p9", "p1", "p7", "p8"],
    "q5": ["p11", "p9"],
    "q6": ["p9"],
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "dense.txt"
    qrels.write_text("".join(f"{query} 0 {pid} 1\n" for query, pids in QRELS.items() for pid in pids))
    run.write_text(
        "".join(
            f"{query} Q0 {pid} {rank} {100 - rank} dense\n"
            for query, pids in RANKED.items()
            for rank, pid in enumerate(pids, start=1)
        )
    )
    return {"qrels": str(qrels), "run": str(run), "preferences": str(tmp_path / "preferences.txt")}


@pytest.mark.parametrize(
    ("choice", "split"), [("first", {"a": 1, "b": 5}), ("highest", {"a": 2, "b": 4}), ("each", {"a": 2, "b": 9})]
)
def test_the_site_finds_what_the_command_finds(
    lab: Lab, tmp_path: Path, files: dict[str, str], choice: str, split: dict[str, int]
) -> None:
    collection = factories.collection(tmp_path, in_lab=lab, qrels=QRELS, tops={"dense": RANKED})
    campaign = factories.campaign(collection, design="champion_check", champion_qrel=choice)
    assert campaign.champion_split == split
    for hit in range(campaign.hits.count()):
        factories.do(factories.worker(campaign, f"judge {hit}"), campaign, prefer="ab"[hit % 2])
    exported = factories.exported(campaign)
    Path(files["preferences"]).write_bytes(exported["preferences.txt"])
    pairs = tmp_path / "pairs.tsv"
    options = ["--qrel", choice, "--json", "--pairs", str(pairs), "--preferences", files["preferences"]]
    output = json_of("champion", "--qrels", files["qrels"], *options, files["run"])
    lines = [line.split("\t") for line in pairs.read_text().splitlines()]
    assert lines == [list(pair) for pair in asked_pairs(campaign)]
    assert output["split"] == split
    categories = [json.loads(line)["category"] for line in exported["judged-pairs.jsonl"].splitlines()]
    assert {name: categories.count(name.upper()) for name in "ab"} == split
    assert json.loads(exported["manifest.json"])["settings"]["champion_qrel"] == choice
    result_refresh(campaign=campaign)
    data = Result.objects.get(campaign=campaign).data
    stored = data["champion"]
    assert (stored["qrel"], stored["split"], stored["unjudged"]) == (choice, split, 0)
    for name in "ab":
        half = output[name]
        assert (stored[name]["for_qrel"], stored[name]["against"], stored[name]["undecided"]) == (
            half["qrel"], half["other"], half["undecided"],
        )  # fmt: skip
        assert (stored[name]["queries"], stored[name]["share"]) == (half["queries"], half["other_share"])
        assert (stored[name]["interval"], stored[name]["p"]) == (half["interval"], half["p"])
    total = sum(output["slices"])
    assert stored["slices"] == [
        {"name": name, "share": count / total} for name, count in zip(SLICES, output["slices"], strict=True)
    ]
    assert stored["crowd_error"] == output["crowd_error"]
    assert_tables(data, output)


def table_of(data: dict[str, Any], name: str) -> Table:
    drawn = table(read(data), name)
    assert drawn is not None
    return drawn


def assert_tables(data: dict[str, Any], output: dict[str, Any]) -> None:
    """Each count has its share, and the totals are those of both categories."""
    sizes = table_of(data, "champion-split")
    total = sum(output["split"].values())
    assert [row[1:] for row in sizes.rows] == [[output["split"][name], output["split"][name] / total] for name in "ab"]
    assert sizes.foot[0][1:] == [total, 1.0]
    preferred = table_of(data, "champion")
    for row, name in zip(preferred.rows, "ab", strict=True):
        half = output[name]
        counts = [half["qrel"], half["other"], half["undecided"]]
        assert row[1] == half["queries"]
        assert row[2:8] == [value for count in counts for value in (count, count / half["queries"])]
    both = [output["a"][kind] + output["b"][kind] for kind in ("qrel", "other", "undecided")]
    assert preferred.foot[0][1:8] == [total, *(value for count in both for value in (count, count / total))]
    assert preferred.foot[0][8:] == [None, None, None]
    slices = table_of(data, "champion-slices")
    assert [row[1] for row in slices.rows] == output["slices"]
    assert slices.foot[0][1] == sum(output["slices"])


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("first", "dense returns the qrel first in 1 of the 6 judged queries (category A)"),
        ("highest", "Of a query's qrels, the one that the run ranks highest was compared."),
        ("each", "Each qrel of a query was compared. Of the 11 judged comparisons, 2 are about a qrel"),
    ],
)
def test_the_sentences_say_which_qrel_was_checked(lab: Lab, tmp_path: Path, choice: str, words: str) -> None:
    collection = factories.collection(tmp_path, in_lab=lab, qrels=QRELS, tops={"dense": RANKED})
    campaign = factories.campaign(collection, design="champion_check", champion_qrel=choice)
    judge(campaign)
    result_refresh(campaign=campaign)
    parts = findings(read(Result.objects.get(campaign=campaign).data))
    assert words in " ".join(sentence for finding in parts for sentence in finding.sentences)


def judge(campaign: Campaign) -> None:
    for hit in range(campaign.hits.count()):
        factories.do(factories.worker(campaign, f"judge {hit}"), campaign)


def test_an_error_rate_to_plan_by_has_its_interval_and_none_is_above_one_half() -> None:
    """Where people prefer another passage more often than not, it is the qrels that err."""
    data = sample(1, champion=True)
    agreed = data["champion"]["a"]
    few = {"crowd_error": 0.75, "a": agreed | {"for_qrel": 1, "against": 3, "interval": [0.19, 0.99]}}
    assert planning._own_error(read(data | {"champion": data["champion"] | few})) is None
    some = {"crowd_error": 0.25, "a": agreed | {"for_qrel": 30, "against": 10, "interval": [0.13, 0.41]}}
    observed = planning._own_error(read(data | {"champion": data["champion"] | some}))
    assert observed is not None and observed[:4] == (0.25, 0.13, 0.41, 40)
    assert planning.likely_error(observed) == 0.25
    assert planning.likely_error(observed._replace(compared=29)) == planning.likely_error(None) == 0.3
