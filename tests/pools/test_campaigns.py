"""From runs to pools, pairs and a bill; and what a campaign refuses to start without."""

from pathlib import Path

import pytest

from core.errors import Refused
from core.models import Lab
from pools import selectors as pool_selectors
from pools.models import Campaign, Candidate, Pair, Pool
from pools.services import campaign_create
from runs.models import Collection
from tasks import services as task_services
from tests import factories


def create(of: Collection, **settings: object) -> Campaign:
    return campaign_create(lab=of.lab, collection=of, runs=of.runs.all(), name="pilot", **settings)


def pairs_of(campaign: Campaign) -> set[tuple[str, str, str]]:
    return set(Pair.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "a__pid", "b__pid"))


def pools_of(campaign: Campaign) -> dict[str, set[str]]:
    pools: dict[str, set[str]] = {}
    for qid, pid in Candidate.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "passage__pid"):
        pools.setdefault(qid, set()).add(pid)
    return pools


def test_a_pool_is_the_distinct_top_passages_and_the_qrel(collection: Collection) -> None:
    campaign = create(collection)
    assert pools_of(campaign) == {"q1": {"p1", "p2", "p3"}, "q2": {"p4", "p5", "p6"}, "q3": {"p7", "p8"}, "q4": {"p9"}}
    assert pairs_of(campaign) == {
        ("q1", "p1", "p2"), ("q1", "p1", "p3"), ("q1", "p2", "p3"),
        ("q2", "p4", "p5"), ("q2", "p4", "p6"), ("q2", "p5", "p6"),
        ("q3", "p7", "p8"),
    }  # fmt: skip
    sizes = pool_selectors.stored_sizes(campaign)
    assert (sizes.queries, sizes.pairs, sizes.histogram) == (4, 7, {1: 1, 2: 1, 3: 2})


def test_the_champion_check_asks_one_pair_a_query(collection: Collection) -> None:
    blue = collection.runs.get(name="blue")
    campaign = campaign_create(
        lab=collection.lab, collection=collection, runs=[blue], name="champion", design="champion_check"
    )
    # q1, q4: top and qrel agree, so top against second; q2, q3: agree, without a second
    assert pairs_of(campaign) == {("q1", "p1", "p3"), ("q4", "p1", "p9")}
    red = collection.runs.get(name="red")
    campaign = campaign_create(
        lab=collection.lab, collection=collection, runs=[red], name="champion of red", design="champion_check"
    )
    assert ("q1", "p1", "p2") in pairs_of(campaign)
    assert ("q2", "p4", "p5") in pairs_of(campaign)


def test_the_champion_check_is_for_one_run(collection: Collection) -> None:
    with pytest.raises(Refused, match="exactly one run"):
        create(collection, design="champion_check")
    assert not Campaign.objects.exists()


def test_the_order_rule_decides_what_stands_on_top(lab: Lab, tmp_path: Path) -> None:
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={})
    import io

    from runs.services import run_import

    content = b"q1 Q0 p2 1 1.0 r\nq1 Q0 p3 2 5.0 r\n"
    run_import(collection=collection, name="odd", source=io.BytesIO(content), filename="odd.txt")
    by_score = campaign_create(lab=lab, collection=collection, runs=collection.runs.all(), name="s", order="score")
    by_rank = campaign_create(lab=lab, collection=collection, runs=collection.runs.all(), name="r", order="rank")
    assert pools_of(by_score) == {"q1": {"p1", "p3"}}
    assert pools_of(by_rank) == {"q1": {"p1", "p2"}}


def test_a_sample_is_of_queries_with_a_pool_of_two_and_comes_from_the_seed(collection: Collection) -> None:
    campaign = create(collection, selection="sample", sample_size=3, seed=7)
    assert set(pools_of(campaign)) == {"q1", "q2", "q3"}
    with pytest.raises(Refused, match=r"between 1 and 3 queries .* not 4"):
        campaign_create(
            lab=collection.lab, collection=collection, runs=collection.runs.all(), name="four",
            selection="sample", sample_size=4,
        )  # fmt: skip


def test_a_list_of_queries_is_taken_at_its_word(collection: Collection) -> None:
    assert set(pools_of(create(collection, selection="list", query_list="q2\nq4"))) == {"q2", "q4"}
    with pytest.raises(Refused, match=r"1 of the listed queries .*: q99"):
        campaign_create(
            lab=collection.lab, collection=collection, runs=collection.runs.all(), name="x",
            selection="list", query_list="q1 q99",
        )  # fmt: skip


def test_without_a_qrel_policy_only_the_runs_speak(collection: Collection) -> None:
    assert pools_of(create(collection, qrel_policy="none"))["q2"] == {"p4", "p5", "p6"}


def test_the_least_grade_of_a_qrel_is_a_setting(lab: Lab, tmp_path: Path) -> None:
    qrels, tops = {"q1": {"p1": 1, "p2": 3}}, {"red": {"q1": ["p9"]}}
    graded = factories.collection(tmp_path, in_lab=lab, qrels=qrels, tops=tops)
    assert pools_of(create(graded)) == {"q1": {"p1", "p9"}}
    Campaign.objects.all().delete()
    assert pools_of(create(graded, min_grade=2)) == {"q1": {"p2", "p9"}}


def test_settings_that_make_no_sense_are_refused_by_name(collection: Collection) -> None:
    with pytest.raises(Refused, match="overlap"):
        create(collection, overlap=0)
    with pytest.raises(Refused, match="design"):
        create(collection, design="roulette")
    assert not Pool.objects.exists()


def test_runs_of_another_collection_are_refused(collection: Collection, lab: Lab, tmp_path: Path) -> None:
    other = factories.collection(tmp_path, in_lab=lab, name="other", qrels={"q1": ["p1"]}, tops={"r": {"q1": ["p2"]}})
    with pytest.raises(Refused, match="belong to the collection"):
        campaign_create(lab=lab, collection=collection, runs=other.runs.all(), name="mixed")


def test_a_campaign_does_not_start_with_too_few_test_pairs(collection: Collection) -> None:
    campaign = factories.campaign(collection, tests=2, start=False)
    with pytest.raises(Refused, match="at least 3 confirmed test pairs but has 2"):
        task_services.campaign_launch(campaign=campaign)
    campaign.refresh_from_db()
    assert campaign.state == "draft"


def test_a_campaign_does_not_start_while_pooled_passages_have_no_text(lab: Lab, tmp_path: Path) -> None:
    bare = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={"run": {"q1": ["p2"]}}, texts=False)
    campaign = factories.campaign(bare, start=False)
    with pytest.raises(Refused, match=r"2 pooled passages have no text \(p1, p2\)"):
        task_services.campaign_launch(campaign=campaign)


def test_a_campaign_without_a_pair_has_nothing_to_start(lab: Lab, tmp_path: Path) -> None:
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={"run": {"q1": ["p1"]}})
    with pytest.raises(Refused, match="nothing to judge"):
        factories.campaign(collection)


def test_packing_gives_the_same_hits_from_the_same_seed(collection: Collection) -> None:
    def plan(campaign: Campaign) -> list[tuple[object, ...]]:
        rows = campaign.hits.order_by("number", "items__position").values_list(
            "number", "items__position", "items__pair__a__pid", "items__pair__b__pid", "items__test__question",
            "items__a_left",
        )  # fmt: skip
        return list(rows)

    first = factories.campaign(collection, "first", seed=3, pairs_per_hit=3)
    second = factories.campaign(collection, "second", seed=3, pairs_per_hit=3)
    third = factories.campaign(collection, "third", seed=4, pairs_per_hit=3)
    assert plan(first) == plan(second) != plan(third)


def test_suggested_test_pairs_wait_for_a_person(collection: Collection) -> None:
    factories.elsewhere(collection)
    campaign = factories.campaign(collection, tests=0, start=False)
    suggested = task_services.test_pairs_suggest(campaign=campaign, count=3, seed=1)
    assert len(suggested) == 3
    for test_pair in suggested:
        assert test_pair.state == "suggested"
        assert test_pair.relevant_text != test_pair.off_topic_text
        assert test_pair.off_topic_id not in Candidate.objects.filter(
            pool__campaign=campaign, pool__query=test_pair.query
        ).values_list("passage", flat=True)
    with pytest.raises(Refused, match="has 0"):
        task_services.campaign_launch(campaign=campaign)
