"""Asking where it helps: what is offered, what is asked, and what it comes to."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import AuditEntry, User
from judgments.evidence import Evidence
from judgments.models import Acceptance
from platforms.money.bills import further_bill, remaining_bill
from platforms.publishing.publications import unposted
from platforms.terms import publication_likely, publication_write
from pools.models import Campaign, Pair
from results import asking, refreshing
from results.finishing import campaigns_finish
from results.models import Result
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Hit
from tests import factories
from tests.api.conftest import Program
from tests.evaluation.command import run_cli

WISH: dict[str, Any] = {"budget": Decimal(1000), "judgments": 3, "wanted": 1}


@pytest.fixture
def open_campaign(collection: Collection) -> Campaign:
    """Seven pairs, each judged once, with results: no answer is certain."""
    return judge_once(collection, pairs_per_hit=4)


def judge_once(collection: Collection, pairs_per_hit: int) -> Campaign:
    campaign = factories.campaign(collection, pairs_per_hit=pairs_per_hit, tests_per_hit=2)
    by = factories.worker(campaign, "Ann")
    for _hit in range(campaign.hits.count()):
        factories.do(by, campaign)
    refreshing.result_refresh(campaign=campaign)
    return campaign


def take(campaign: Campaign, **wish: Any) -> asking.Offer:
    wished = WISH | wish
    last = asking.offer_for(campaign, **wished).seen
    return asking.further_ask(campaign=campaign, **wished, seen=last)


def test_an_offer_names_queries_with_larger_sets_and_its_bill_is_within_the_budget(open_campaign: Campaign) -> None:
    stability = Result.objects.get().data["stability"]
    larger = {row["qid"] for row in stability if len(row["set"]) > 1}
    offer = asking.offer_for(open_campaign, **WISH)
    assert offer.open == len(larger) > 1 and {*offer.queries} <= larger and offer.obstacle == ""
    assert offer.settled == pytest.approx(
        sum(row["further"]["3"]["chances"][0] for row in stability if row["qid"] in offer.queries)
    )
    pairs = sum(len(row["set"]) * (len(row["set"]) - 1) // 2 for row in stability if row["qid"] in offer.queries)
    assert offer.bill.total == further_bill(publication_likely(open_campaign), {2: pairs}).total
    assert offer.bill.assignments == 2 * -(-pairs // 4)
    less = asking.offer_for(open_campaign, **WISH | {"budget": offer.bill.total - Decimal("0.01")})
    assert less.bill.total < offer.bill.total and {*less.queries} < {*offer.queries}
    nothing = asking.offer_for(open_campaign, **WISH | {"budget": Decimal("0.01")})
    assert (nothing.queries, nothing.bill.total, nothing.settled) == ([], 0, 0)
    assert not Hit.objects.filter(wanted__isnull=False).exists()


def test_the_site_asks_the_pairs_that_the_command_settle_names(collection: Collection, tmp_path: Path) -> None:
    open_campaign = judge_once(collection, pairs_per_hit=1)
    pools = Evidence(open_campaign).pools
    (tmp_path / "pools").write_text("".join(f"{query} {pid}\n" for query, pool in pools.items() for pid in pool))
    (tmp_path / "judged").write_bytes(factories.exported(open_campaign)["preferences.txt"])
    whole = asking.offer_for(open_campaign, **WISH).bill.total
    for budget, judgments in [(whole, 3), (whole - Decimal("0.01"), 3), (Decimal(1000), 5)]:
        offer = asking.offer_for(open_campaign, budget=budget, judgments=judgments)
        lacking = {pk: group.needed for group in offer.groups for keys in group.pairs_by_query for pk in keys}
        assert lacking
        names = Pair.objects.in_bulk(lacking)
        pairs = Counter(
            {
                " ".join((pair.pool.query.qid, *sorted((pair.a.pid, pair.b.pid)))): lacking[pk]
                for pk, pair in names.items()
            }
        )
        where = ["--pools", str(tmp_path / "pools"), "--judgments", str(tmp_path / "judged")]
        few = ["--again", str(judgments), "--budget", str(pairs.total()), "--seed", str(open_campaign.seed)]
        assert Counter(run_cli("settle", "next", *where, *few).out.splitlines()) == pairs


def test_what_is_asked_is_judged_by_other_people_counts_and_makes_answers_surer(open_campaign: Campaign) -> None:
    before = {row["qid"]: row for row in Result.objects.get().data["stability"]}
    answers = Evidence(open_campaign).derived.qrels
    offer = take(open_campaign)
    hits = Hit.objects.filter(wanted__isnull=False)
    assert hits.count() == offer.bill.hits and {*hits.values_list("wanted", "needed")} == {(3, 2)}
    assert remaining_bill(publication_likely(open_campaign)).total == offer.bill.total
    pairs = {*Pair.objects.filter(items__hit__wanted=3).values_list("pk", flat=True)}
    # The answers stay while the judgments are made.
    assert Evidence(open_campaign).derived.qrels == answers
    ann = open_campaign.assignments.earliest("id").worker
    with pytest.raises(task_services.NoWork):
        factories.take(ann, open_campaign)
    for name in ("Ben", "Cat"):
        by = factories.worker(open_campaign, name)
        for _hit in range(offer.bill.hits):
            factories.do(by, open_campaign)
    with pytest.raises(task_services.NoWork):
        factories.take(factories.worker(open_campaign, "Dan"), open_campaign)
    for pair in Pair.objects.filter(pool__campaign=open_campaign):
        workers = [*Acceptance.objects.filter(pair=pair).values_list("worker", flat=True)]
        assert len(workers) == len({*workers}) == (3 if pair.pk in pairs else 1)
    assert factories.overfull_pairs(open_campaign) == 0
    refreshing.result_refresh(campaign=open_campaign)
    after = {row["qid"]: row for row in Result.objects.get().data["stability"]}
    for query in offer.queries:
        assert after[query]["best"] == before[query]["best"]  # everybody prefers the same
        assert after[query]["share"] > before[query]["share"]
        assert len(after[query]["set"]) < len(before[query]["set"])
    assert not {*asking.offer_for(open_campaign, **WISH).queries} & {
        query for query in offer.queries if len(after[query]["set"]) == 1
    }


def test_pressing_twice_asks_once_and_what_is_asked_is_not_offered_again(open_campaign: Campaign) -> None:
    last = asking.offer_for(open_campaign, **WISH).seen
    first = asking.further_ask(campaign=open_campaign, **WISH, seen=last)
    count = Hit.objects.count()
    with pytest.raises((NotNow, Refused)):
        asking.further_ask(campaign=open_campaign, **WISH, seen=last)
    assert Hit.objects.count() == count
    again = asking.offer_for(open_campaign, **WISH)
    assert again.asked == len(first.queries) and not {*again.queries} & {*first.queries}


def test_a_stale_page_asks_for_nothing(open_campaign: Campaign) -> None:
    offer = asking.offer_for(open_campaign, **WISH)
    with pytest.raises(NotNow, match="in the meantime"):
        asking.further_ask(campaign=open_campaign, **WISH, seen=offer.seen - 1)
    assert not Hit.objects.filter(wanted__isnull=False).exists()


def test_excluded_work_on_what_was_asked_is_redone_and_a_finished_campaign_reopens(open_campaign: Campaign) -> None:
    campaigns_finish(at=timezone.now())
    take(open_campaign)
    open_campaign.refresh_from_db()
    assert not open_campaign.is_finished and open_campaign.further_judgments > 0
    careless = factories.worker(open_campaign, "Ben")
    hit = factories.do(careless, open_campaign, fail_tests=True).hit
    hit.refresh_from_db()
    assert (hit.wanted, hit.needed) == (3, 2)
    publication = publication_write(campaign=open_campaign, platform="marketplace")
    assert hit.number in {*unposted(publication).values_list("number", flat=True)}


def test_nothing_is_asked_of_a_closed_campaign_or_of_imported_judgments(open_campaign: Campaign) -> None:
    Campaign.objects.update(state=Campaign.State.CLOSED)
    open_campaign.refresh_from_db()
    assert "Open it again" in asking.offer_for(open_campaign, **WISH).obstacle
    with pytest.raises(Refused, match="Open it again"):
        asking.further_ask(campaign=open_campaign, **WISH, seen=2)


def test_the_page_shows_the_bill_first_and_asks_once(client: Client, open_campaign: Campaign) -> None:
    rita = User.objects.get(username="rita")
    client.force_login(rita)
    where = reverse("results:ask", args=[open_campaign.pk])
    sentence = client.get(reverse("results:offer", args=[open_campaign.pk])).text
    assert "more:" in sentence and where in sentence
    assert (
        reverse("results:offer", args=[open_campaign.pk])
        in client.get(reverse("campaigns:campaign", args=[open_campaign.pk])).text
    )
    answer = client.get(where, {"budget": "1000", "judgments": "3", "wanted": "1"})
    offer = answer.context["offer"]
    assert f"up to ${offer.bill.total}" in answer.text and "The bill" in answer.text
    sent = {"budget": "1000", "judgments": "3", "wanted": "1", "seen": str(offer.seen)}
    assert client.post(where, sent | {"judgments": "4"}).status_code == 400
    assert not Hit.objects.filter(wanted__isnull=False).exists()
    text = client.post(where, sent, follow=True).text
    assert "More judgments are asked for" in text and "asked for before" in text
    count = Hit.objects.count()
    client.post(where, sent)
    assert Hit.objects.count() == count
    entries = AuditEntry.objects.filter(subject="pools_campaign", actor_kind="person", actor_id=rita.pk)
    assert [entry for entry in entries if "further_judgments" in entry.changes]


def test_a_program_gets_the_same_offer(open_campaign: Campaign, rita: User) -> None:
    program, address = Program(rita), f"campaigns/{open_campaign.pk}/results/further/"
    offer = program.get(address + "?budget=1000").json()
    ours = asking.offer_for(open_campaign, **WISH)
    assert (offer["queries"], offer["total"], offer["hits"]) == (
        len(ours.queries), f"{ours.bill.total:.2f}", ours.bill.hits,
    )  # fmt: skip
    assert program.get(address + "?wanted=9").status_code == 400
    assert not Hit.objects.filter(wanted__isnull=False).exists()
    answer = program.post(address, {"budget": "1000", "seen": offer["seen"]})
    assert answer.json()["hits"] == Hit.objects.filter(wanted=3).count() == ours.bill.hits
    assert program.post(address, {"budget": "1000", "seen": offer["seen"]}).status_code == 409
