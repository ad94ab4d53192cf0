"""Weighing judgments: what counts on pairs whose judgments disagree, on pages, in exports and in results."""

import csv
import io
import json
from pathlib import Path
from random import Random

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import Lab, User
from judgments import quality, summarizing
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.weighing import weighed_pairs
from pools.models import Campaign, Pair, Pool
from pools.selectors import version_answers
from results.findings import findings
from results.inputs import inputs_of
from results.sections.stored import to_json
from results.sections.whole import compute, read
from results.versions import version_add
from review import adjudicating
from tests import factories
from tests.evaluation.command import run_cli

QUERIES = 24


@pytest.fixture
def uneven(lab: Lab, tmp_path: Path) -> Campaign:
    """24 queries with a pair each. Dee and Eve prefer the first passage of every pair; three others guess."""
    tops = {
        "red": {f"q{number:02}": [f"a{number:02}"] for number in range(QUERIES)},
        "green": {f"q{number:02}": [f"b{number:02}"] for number in range(QUERIES)},
    }
    qrels = {qid: ranked[:1] for qid, ranked in tops["green"].items()}
    collection = factories.collection(tmp_path, in_lab=lab, qrels=qrels, tops=tops, name="uneven")
    campaign = factories.campaign(
        collection, "uneven", overlap=5, pairs_per_hit=8, tests_per_hit=2, weighing="dawid-skene"
    )
    chance = Random(7)
    for name in ("Dee", "Eve", "Lou", "Lee", "Leo"):
        by = factories.worker(campaign, name)
        for _hit in range(QUERIES // 8):
            assignment = factories.take(by, campaign)
            for item in assignment.items.order_by("position"):
                prefer = chance.choice("ab") if name.startswith("L") else "a"
                factories.judge(assignment, only=[item.position], prefer=prefer)
            judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    summarizing.campaign_summarize(campaign=campaign)
    return campaign


def firsts(of: Campaign) -> int:
    """Of how many queries the passage is the best known answer that the careful ones prefer."""
    return sum(pid.startswith("a") for _qid, pid in Evidence(of).derived.qrels)


def weighing(of: Campaign, how: str) -> Campaign:
    """The campaign, as if it had been made with this setting."""
    Campaign.objects.filter(pk=of.pk).update(weighing=how)
    return Campaign.objects.get(pk=of.pk)


@pytest.mark.parametrize("model", ["dawid-skene", "mace"])
def test_who_agrees_with_others_outweighs_a_majority_that_does_not(uneven: Campaign, model: str) -> None:
    same = weighing(uneven, "same")
    assert weighed_pairs(same) == {}
    assert firsts(same) < QUERIES
    weighed = weighing(uneven, model)
    assert firsts(weighed) == QUERIES
    outvoted = QUERIES - firsts(same)
    assert len(weighed_pairs(weighed)) > outvoted > 0
    for pool in Pool.objects.filter(campaign=weighed):
        alone = Evidence(weighed, pool).derived
        assert [pid[0] for _qid, pid in alone.qrels] == ["a"]
        every = weighed_pairs(weighed).items()
        assert weighed_pairs(weighed, pool) == {pair: pid for pair, pid in every if pair[0] == pool.query.qid}


def test_weights_of_a_pool_follow_what_is_excluded(uneven: Campaign, rita: User) -> None:
    pool = Pool.objects.filter(campaign=uneven, pairs__disagreement__isnull=False).order_by("pk").first()
    assert pool is not None
    before = weighed_pairs(uneven, pool)
    assert before and weighed_pairs(uneven, pool) == before
    for assignment in uneven.assignments.filter(worker__label__in=["Dee", "Eve"]):
        quality.assignment_exclude(assignment=assignment, why="gone", by=rita, at=timezone.now())
    uneven.refresh_from_db()
    every = weighed_pairs(uneven)
    assert weighed_pairs(uneven, pool) == {pair: pid for pair, pid in every.items() if pair[0] == pool.query.qid}
    cache.clear()
    assert weighed_pairs(uneven, pool) == {pair: pid for pair, pid in every.items() if pair[0] == pool.query.qid}


def test_what_a_person_decides_comes_first(uneven: Campaign, rita: User) -> None:
    pair = Pair.objects.filter(pool__campaign=uneven, disagreement__isnull=False).order_by("pk").first()
    assert pair is not None
    adjudicating.pair_adjudicate(campaign=uneven, pair=pair, choice="b", expected=0, by=rita, at=timezone.now())
    assert firsts(uneven) == QUERIES - 1


def test_exports_results_and_the_command_tell_the_same(uneven: Campaign, tmp_path: Path) -> None:
    files = factories.exported(uneven)
    manifest = json.loads(files["manifest.json"])
    heavier = weighed_pairs(uneven)
    assert manifest["settings"]["weighing"] == "dawid-skene"
    assert manifest["counts"]["pairs weighed"] == len(heavier)
    for name in ("pairs.tsv", "judged-pairs.tsv"):
        rows = list(csv.DictReader(io.StringIO(files[name].decode()), delimiter="\t"))
        assert {(row["query"], row["a"], row["b"]): row["a" if row["weighed"] == "a" else "b"]
                for row in rows if row["weighed"]} == heavier  # fmt: skip
        if name == "judged-pairs.tsv":
            assert {row["preferred"] for row in rows if row["weighed"]} == {"a"}
    path = tmp_path / "counted.txt"
    path.write_bytes(files["counted-preferences.txt"])
    assert run_cli("qrels", str(path)).out.encode() == files["preference-qrels.txt"]
    judgments = tmp_path / "judgments.tsv"
    judgments.write_bytes(files["judgments.tsv"])
    assert (
        run_cli("workers", "--judgments", str(judgments), "--weigh", "dawid-skene").out.encode()
        == files["counted-preferences.txt"]
    )

    data = to_json(compute(inputs_of(uneven)))
    assert data["weighed"] == len(heavier)
    text = " ".join(str(line) for finding in findings(read(data)) for line in finding.sentences)
    assert f"{len(heavier)} pairs whose judgments disagreed count as those say that weigh more" in text
    version = version_add(campaign=uneven, by=None, why="First.", at=timezone.now())
    assert {pids[0][0] for pids in version_answers(version).values()} == {"a"}


def test_the_setting_is_asked_for_and_a_querys_page_says_what_weighs_more(page: Client, uneven: Campaign) -> None:
    assert (
        "by how often each worker is right (Dawid–Skene)"
        in page.get(reverse("campaigns:settings", args=[uneven.pk])).text
    )
    pool = Pool.objects.filter(campaign=uneven, pairs__disagreement__isnull=False).order_by("pk").first()
    assert pool is not None
    assert "weighs more: passage 1" in page.get(reverse("results:query", args=[uneven.pk, pool.pk])).text
    form = page.get(reverse("campaigns:campaign_new"), {"collection": uneven.collection_id}).text
    assert 'name="weighing"' in form
