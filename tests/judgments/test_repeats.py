"""Pairs that a second person judges too, so that the judgments themselves say how often people err."""

from collections import Counter

import pytest

from judgments import jobs as judgment_jobs
from judgments.behaviour import votes_of
from judgments.evidence import Evidence
from judgments.models import Acceptance
from platforms.money.bills import campaign_bill, remaining_bill
from platforms.publishing.publications import unposted
from platforms.terms import publication_unsaved, publication_write
from pools.models import Campaign
from results import jobs as result_jobs
from results.models import Result
from runs.models import Collection
from tasks import pilots
from tasks import services as task_services
from tasks.models import Hit, Item
from tasks.services import NoWork
from tests import factories


def repeated_of(campaign: Campaign) -> set[int]:
    return set(Hit.objects.filter(campaign=campaign, wanted=2).values_list("number", flat=True))


@pytest.fixture
def repeated(collection: Collection) -> Campaign:
    """Seven pairs in seven HITs, of which four are done by two people."""
    return factories.campaign(collection, pairs_per_hit=1, tests_per_hit=1, repeats=4)


def test_some_pairs_are_judged_by_two_people_from_both_sides_and_the_rest_by_one(repeated: Campaign) -> None:
    assert len(repeated_of(repeated)) == repeated.further_judgments == 4
    assert repeated_of(repeated) == pilots.spread(range(1, 8), 4)
    for name, hits in (("ann", 7), ("ben", 4)):
        by = factories.worker(repeated, name)
        for _turn in range(hits):
            factories.do(by, repeated)
    with pytest.raises(NoWork):
        factories.take(factories.worker(repeated, "cat"), repeated)

    pairs = Counter(Acceptance.objects.values_list("pair", flat=True))
    assert sorted(pairs.values()) == [1, 1, 1, 2, 2, 2, 2]
    for pair in (pair for pair, count in pairs.items() if count == 2):
        rows = Acceptance.objects.filter(pair=pair).values_list("worker", "judgment__item__a_left")
        assert len({worker for worker, _left in rows}) == len({left for _worker, left in rows}) == 2
    assert factories.overfull_pairs(repeated) == 0
    # They agree, and count no more than others do.
    merged, accepted = Evidence(repeated).counted, Evidence(repeated).preferences
    assert len(accepted) == 11 and len(merged) == len({(query, a, b) for query, a, b, _preferred in merged}) == 7
    assert set(merged) == set(accepted)
    assert len(votes_of(repeated)) == 11
    for job in (judgment_jobs.make_exports, result_jobs.compute_results, result_jobs.finish_campaigns):
        job()
    assert Campaign.objects.get().is_finished
    assert Result.objects.get().data["error_compared"] == 4


def test_a_pair_on_which_two_people_disagree_counts_as_a_tie(repeated: Campaign) -> None:
    for name, side in (("ann", "a"), ("ben", "b")):
        by = factories.worker(repeated, name)
        for _turn in range(7 if name == "ann" else 4):
            factories.do(by, repeated, prefer=side)
    merged = Evidence(repeated).counted
    assert sorted(preferred is None for _query, _a, _b, preferred in merged) == [False] * 3 + [True] * 4
    assert sum(preferred is None for _query, _a, _b, preferred in Evidence(repeated).preferences) == 0
    for pool in repeated.pools.all():
        assert Evidence(repeated, pool).counted == [row for row in merged if row.query == pool.query.qid]


def test_the_bill_has_them_before_and_after_packing(collection: Collection) -> None:
    draft = factories.campaign(collection, start=False, pairs_per_hit=1, tests_per_hit=1, repeats=4)
    terms = publication_unsaved(draft)
    before = campaign_bill(terms)
    assert (before.hits, before.assignments, before.lines[0].detail) == (7, 11, "4 of them by a second person")
    assert campaign_bill(terms, overlap=2).assignments == 14
    factories.begin(draft)
    assert remaining_bill(terms).total == before.total
    assert unposted(publication_write(campaign=draft, platform="marketplace")).count() == 7


@pytest.mark.parametrize(
    ("chosen", "hits"),
    [
        pytest.param({"repeats": 0}, 0, id="none"),
        pytest.param({"repeats": 30, "overlap": 2}, 0, id="all are judged twice anyway"),
        pytest.param({"repeats": 1, "pairs_per_hit": 1}, 3, id="three at least"),
        pytest.param({"repeats": 5, "pairs_per_hit": 1}, 5, id="as many as have so many pairs"),
        pytest.param({"pairs_per_hit": 1}, 7, id="by default thirty pairs, or all"),
    ],
)
def test_how_many_hits_are_done_twice(collection: Collection, chosen: dict[str, int], hits: int) -> None:
    usual = {} if "repeats" in chosen else {"repeats": Campaign._meta.get_field("repeats").default}
    campaign = factories.campaign(collection, **{"tests_per_hit": 1} | chosen | usual)
    assert len(repeated_of(campaign)) == hits
    assert campaign.further_judgments == hits * campaign.pairs_per_hit
    layouts = Item.objects.filter(layout=1).values("hit").distinct().count()
    assert layouts == (campaign.hits.count() if campaign.overlap > 1 else hits)


@pytest.mark.parametrize(("size", "of_pilot"), [pytest.param(4, 3, id="large"), pytest.param(2, 2, id="small")])
def test_in_a_pilot_they_are_the_pilots_as_far_as_it_goes(collection: Collection, size: int, of_pilot: int) -> None:
    draft = factories.campaign(collection, start=False, pairs_per_hit=1, tests_per_hit=1, repeats=1)
    task_services.campaign_launch(campaign=draft, pilot_hits=size)
    task_services.campaign_pack(campaign_id=draft.pk)
    pilot = pilots.spread(range(1, 8), size)
    assert len(repeated_of(draft)) == 3 and len(repeated_of(draft) & pilot) == of_pilot
    assert pilots.rest_launch(campaign=draft) == 7 - size
    needed = dict(Hit.objects.values_list("number", "needed"))
    assert needed == {number: 1 + (number in repeated_of(draft)) for number in range(1, 8)}
