"""The bill: its lines add up, it is what the platform charges, and every page and command shows the same one."""

import re
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from core.models import User
from core.money import dollars
from judgments.quality import confirmed_check_all
from platforms.models import Publication
from platforms.money.bills import Bill, campaign_bill, hits_bill, remaining_bill, rounds_bills
from platforms.mturk.endpoints import bonus_fee, reward_fee
from platforms.publishing.publications import publication_publish
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from platforms.terms import publication_likely, publication_unsaved, publication_write
from pools.models import Campaign
from runs.models import Collection
from tests import factories
from tests.marketplace.server import Requester, Worker
from tests.platforms.platforms import Clock, drain, work


def adds_up(bill: Bill) -> bool:
    """Whether each line is its count times its price, and the total their sum, in whole cents."""
    products = [line.each is None or line.each * line.assignments == line.amount for line in bill.lines]
    cents = all(line.amount == line.amount.quantize(Decimal("0.01")) for line in bill.lines)
    return all(products) and cents and bill.total == sum(line.amount for line in bill.lines)


@pytest.mark.parametrize("reward", ["0.00", "0.02", "0.13", "0.37", "1.13", "2.00"])
@pytest.mark.parametrize("pay", Publication.Pay.values)
@pytest.mark.parametrize("overlap", [1, 9, 10])
def test_the_lines_add_up_and_the_fees_are_those_of_the_platform(
    campaign: Campaign, reward: str, pay: str, overlap: int
) -> None:
    campaign.reward, campaign.redo_rate = Decimal(reward), Decimal("0.150")
    terms = publication_unsaved(campaign)
    terms.pay = pay
    bill = campaign_bill(terms, overlap=overlap)
    fee = reward_fee(terms.listed, overlap) + bonus_fee(campaign.reward - terms.listed)
    assert adds_up(bill)
    assert (bill.hits, bill.assignments, bill.fee_each) == (3, 3 * overlap, fee)
    assert bill.redone == -(-3 * overlap * 15 // 100)
    assert bill.total == (campaign.reward + fee) * (bill.assignments + bill.redone)


def test_ten_judgments_a_pair_cost_twice_the_fee_on_rewards(campaign: Campaign) -> None:
    campaign.redo_rate = Decimal(0)
    terms = publication_unsaved(campaign)
    terms.pay = Publication.Pay.FULL_ON_EXIT
    assert campaign_bill(terms, overlap=9).fee_each == Decimal("0.40")
    assert campaign_bill(terms, overlap=10).fee_each == Decimal("0.80")
    assert "ten assignments" in campaign_bill(terms, overlap=10).fees_detail


def test_a_researchers_own_fee_rate_counts_until_a_platform_is_chosen(campaign: Campaign, settings: object) -> None:
    settings.MARKETPLACE_URL = "http://localhost:8100"  # type: ignore[attr-defined]
    Campaign.objects.update(state="draft")
    campaign.refresh_from_db()
    assert campaign_bill(publication_likely(campaign)).fees == Decimal("1.20")
    Campaign.objects.update(fee_rate="0.05")
    campaign.refresh_from_db()
    bill = campaign_bill(publication_likely(campaign))
    assert (bill.fees, bill.total) == (Decimal("0.30"), Decimal("8.40"))
    assert adds_up(bill)
    Campaign.objects.update(fee_rate="0")
    campaign.refresh_from_db()
    assert campaign_bill(publication_likely(campaign)).total == Decimal("8.00")
    publication_write(campaign=campaign)
    assert campaign_bill(publication_likely(campaign)).fees == Decimal("1.20")


def test_people_who_come_by_a_link_cost_no_fees_once_the_campaign_has_started(
    campaign: Campaign, client: Client, rita: User
) -> None:
    bill = campaign_bill(publication_likely(campaign))
    assert (bill.fees, bill.total) == (0, Decimal("8.00")) and adds_up(bill)
    client.force_login(rita)
    page = client.get(reverse("campaigns:plan", args=[campaign.pk])).content.decode()
    assert "none for people who come by a link or from a panel" in page and "20% of each payment" not in page
    assert client.get(reverse("platforms:costs")).context["rows"][0].amounts.expected == bill.total
    terms = client.get(reverse("platforms:terms", args=[campaign.pk])).context["bill"]
    assert terms.fees == Decimal("1.20")  # where it would be published


def test_the_fee_of_an_assignment_is_named_where_nobody_is_asked(campaign: Campaign) -> None:
    bill = hits_bill(publication_unsaved(campaign), [])
    assert (bill.total, bill.fee_each) == (0, Decimal("0.40"))


def test_without_a_platform_a_campaign_costs_the_same_while_it_is_packed_and_once_it_is_open(
    campaign: Campaign,
) -> None:
    likely = campaign_bill(publication_likely(campaign))
    Campaign.objects.update(state="packing")
    campaign.refresh_from_db()
    assert campaign_bill(publication_likely(campaign)) == likely


def test_pools_too_large_for_a_tournament_have_the_bills_of_rounds_beside_their_own(
    collection: Collection, client: Client, rita: User
) -> None:
    draft = factories.campaign(collection, "deep", start=False, pairs_per_hit=10)
    # Of 16 passages, seven partners each are 56 pairs. Of the 28 of the final among half of them, 7 in 15 were asked.
    draft.pool_histogram, draft.pair_count = {"16": 10, "4": 5, "1": 3}, 10 * 120 + 5 * 6
    draft.save(update_fields=["pool_histogram", "pair_count"])
    likely = publication_likely(draft)
    full, k7, k5 = rounds_bills(likely)
    assert (full.design, full.pairs, full.rounds, full.bill) == ("all pairs", 1230, 1, campaign_bill(likely))
    assert (k7.design, k7.pairs, k7.rounds) == ("K7F9", round(10 * (56 + 28 * 8 / 15) + 30), 2)
    assert (k5.design, k5.pairs, k5.rounds) == ("K5F9", round(10 * (40 + 28 * 10 / 15) + 30), 2)
    assert (k7.bill.hits, k5.bill.hits) == (74, 62)
    assert adds_up(k7.bill) and k5.bill.total < k7.bill.total < campaign_bill(likely).total

    client.force_login(rita)
    page = client.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page.partition('id="rounds"')[2])
    cells = {name: re.findall(r">([^<>]+)</td>", cells) for name, cells in rows[:3]}
    assert cells == {
        "all pairs": ["1,230", "1", "1", dollars(campaign_bill(likely).total)],
        "K7F9": ["739", "2", "2", dollars(k7.bill.total)],
        "K5F9": ["617", "2", "2", dollars(k5.bill.total)],
    }


def test_pools_in_which_rounds_save_nothing_have_no_bill_of_rounds(collection: Collection, page: Client) -> None:
    draft = factories.campaign(collection, "shallow", start=False)
    draft.pool_histogram = {"12": 1}
    assert [row.design for row in rounds_bills(publication_unsaved(draft))] == ["all pairs", "K5F9"]
    draft.pool_histogram = {"11": 1, "0": 2}
    assert rounds_bills(publication_unsaved(draft)) == []
    draft.pool_histogram, draft.design = {"30": 1}, "champion_check"
    assert rounds_bills(publication_unsaved(draft)) == []
    assert 'id="rounds"' not in page.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()


def test_the_draft_the_dry_run_the_plan_and_the_commands_say_the_same_to_the_cent(
    page: Client, collection: Collection, requester: Requester
) -> None:
    settings = {"reward": "1.13", "redo_rate": "0.25", "overlap": 3, "pairs_per_hit": 3, "tests_per_hit": 2}
    campaign = factories.campaign(collection, start=False, **settings)
    pages = ["campaigns:plan", "results:plan", "platforms:terms"]

    def shown() -> set[Decimal]:
        """The total of each page that has one now."""
        totals = set()
        for name in pages:
            answer = page.get(reverse(name, args=[campaign.pk]))
            assert answer.status_code == 200, name
            context = answer.context
            bills = [row.bill for row in context["plan"].rows if row.overlap == 3] if "plan" in context else []
            (bill,) = bills or [context["bill"]]
            assert dollars(bill.total) in answer.content.decode(), name
            assert adds_up(bill)
            totals.add(bill.total)
        return totals

    # nine assignments, and three done again, each $1.13 and 2 + 21 cents in fees
    expected = Decimal("1.36") * 12
    assert shown() == {expected}
    publication_write(campaign=campaign)
    pages.append("platforms:publish")
    assert shown() == {expected}
    factories.begin(campaign)
    assert shown() == {expected}
    Campaign.objects.filter(pk=campaign.pk).update(state="paused")
    assert shown() == {expected}


def test_work_that_was_done_is_not_on_the_bill_of_what_remains(
    campaign: Campaign, requester: Requester, wanda: Worker
) -> None:
    publication = publication_write(campaign=campaign, rate=1000)
    assert remaining_bill(publication) == campaign_bill(publication)
    factories.do(factories.worker(campaign, "Alice"), campaign)
    left = remaining_bill(publication)
    assert (left.hits, left.assignments, left.redone) == (2, 2, 1)
    assert adds_up(left)
    assert campaign_bill(publication).assignments == 3


def test_hits_that_need_different_numbers_of_workers_have_different_fees(collection: Collection) -> None:
    campaign = factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2, overlap=10)
    terms = publication_unsaved(campaign)
    terms.pay = Publication.Pay.FULL_ON_EXIT
    factories.do(factories.worker(campaign, "Alice"), campaign)
    bill = remaining_bill(terms)
    # one HIT needs nine more, below the ten that double the fee
    assert (bill.assignments, bill.fee_each, bill.fees) == (29, None, Decimal("0.80") * 20 + Decimal("0.40") * 9)
    assert adds_up(bill)


def test_what_the_bill_expects_is_what_the_platform_takes(
    campaign: Campaign, requester: Requester, wanda: Worker, will: Worker
) -> None:
    Campaign.objects.update(reward="1.13", redo_rate="0")
    campaign.refresh_from_db()
    publication = publication_write(campaign=campaign, rate=1000)
    expected = remaining_bill(publication).total
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    drain(publication, clock)
    for number in (1, 2, 3):
        work(publication, wanda, number)
    publication_sync(publication=publication, at=clock(), everything=True)
    confirmed_check_all(at=clock())
    publication_settle(publication=publication, at=clock())
    drain(publication, clock)
    available, on_hold = requester.money()
    assert Decimal(1000) - Decimal(available) - Decimal(on_hold) == expected


def test_the_bill_of_a_campaign_in_rounds_is_of_all_its_expected_pairs(collection: Collection) -> None:
    draft = factories.campaign(collection, "deep", start=False, pairs_per_hit=10, design="rounds")
    draft.pool_histogram, draft.pair_count = {"16": 10, "4": 5, "1": 3}, 10 * 56 + 5 * 6
    draft.save(update_fields=["pool_histogram", "pair_count"])
    likely = publication_likely(draft)
    full, adaptive = rounds_bills(likely)
    assert (full.pairs, adaptive.pairs, adaptive.rounds) == (1230, round(10 * (56 + 28 * 8 / 15) + 30), 2)
    assert adaptive.bill == campaign_bill(likely) and adaptive.bill.hits == 74
    draft.pair_count = 800  # more than expected were asked
    assert campaign_bill(likely).hits == 80
