"""What all campaigns cost: the same amounts as on the page of each, by platform and together."""

import csv
import io
import re
from decimal import Decimal

import pytest
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from platforms.models import Payment, Publication
from platforms.money import ledger
from platforms.publishing.costs import Amounts, campaign_costs
from pools.models import Campaign
from runs.models import Collection
from tests import factories
from tests.judgments.judged import judge_all

COSTS = reverse("platforms:costs")
ZERO = Decimal(0)


@pytest.fixture
def campaigns(collection: Collection) -> dict[str, Campaign]:
    """One judged at Mechanical Turk and partly paid, one judged by a link, one that nobody judged, and a draft."""
    campaigns = {
        name: factories.campaign(collection, name, start=name != "draft", reward=Decimal("2.00"))
        for name in ("turked", "linked", "quiet", "draft")
    }
    for name in ("turked", "linked"):
        judge_all(campaigns[name], [])
    turked = campaigns["turked"]
    for assignment in turked.assignments.all():
        turked.assignments.filter(pk=assignment.pk).update(platform_assignment_id=f"3{assignment.pk}")
    publication = Publication.objects.create(campaign=turked, platform="mturk", state="open", title="Compare")
    first = turked.assignments.earliest("id")
    fields = {"publication": publication, "assignment": first, "owed_at": timezone.now()}
    paid = {"state": "paid", "paid_at": timezone.now()}
    Payment.objects.create(purpose="reward", amount=Decimal("0.10"), fee=Decimal("0.02"), **fields, **paid)
    Payment.objects.create(purpose="bonus", amount=Decimal("1.91"), fee=Decimal("0.39"), **fields, **paid)
    Payment.objects.create(purpose="compensation", amount=Decimal("0.07"), fee=Decimal("0.01"), **fields, state="sent")
    return campaigns


def test_each_campaign_costs_what_its_own_pages_say(page: Client, campaigns: dict[str, Campaign]) -> None:
    rows = {row.campaign.name: row for row in page.get(COSTS).context["rows"]}
    assert set(rows) == {"turked", "linked", "quiet"}  # a draft costs nothing yet
    for name, row in rows.items():
        context = page.get(reverse("campaigns:campaign", args=[campaigns[name].pk])).context
        cost, amounts = context["cost"], row.amounts
        bill = page.get(reverse("campaigns:plan", args=[campaigns[name].pk])).context["bill"]
        assert (amounts.expected, amounts.owed, amounts.paid, amounts.outstanding) == (
            bill.total, cost.owed, cost.paid, cost.to_pay
        ), name  # fmt: skip
    totals = ledger.totals(campaigns["turked"].publication)
    sums = rows["turked"].amounts
    assert (sums.paid, sums.fees) == (totals.paid, totals.fees)
    # what is booked and not paid, and what the other assignments have earned and nothing is booked for
    unbooked = campaigns["turked"].assignments.filter(payments=None).aggregate(sum=Sum("owed", default=ZERO))["sum"]
    assert sums[2:] == (Decimal("2.01"), Decimal("1.91"), Decimal("0.41"), totals.owed + unbooked)
    assert (totals.owed, sums.owed) == (Decimal("0.07"), Decimal("2.08") + unbooked)
    linked = rows["linked"].amounts
    assert linked.owed > rows["quiet"].amounts.owed == ZERO
    assert linked[2:] == (ZERO, ZERO, ZERO, linked.owed)  # nobody has been paid yet
    assert rows["quiet"].amounts[2:] == (ZERO, ZERO, ZERO, ZERO)
    assert rows["quiet"].amounts.expected > ZERO


def test_what_is_shown_of_a_campaign_adds_up_to_its_total(page: Client, campaigns: dict[str, Campaign]) -> None:
    listing = page.get(COSTS)
    for row in listing.context["rows"]:
        paid, to_pay, fees, total, *_rest = row.amounts.columns
        assert total == paid + to_pay + fees, row.campaign.name
    heads = re.findall(r'<th scope="col" class="number">([^<]+)</th>', listing.content.decode())
    assert heads[1:6] == ["Paid", "To be paid", "Fees", "Total so far", "Expected"]


def test_sums_are_by_platform_and_together_and_follow_the_filter(page: Client, campaigns: dict[str, Campaign]) -> None:
    context = page.get(COSTS).context
    rows = {row.campaign.name: row.amounts for row in context["rows"]}
    turk, link, together = context["sums"]
    assert [(sum_.name, sum_.campaigns) for sum_ in (turk, link, together)] == [
        ("Mechanical Turk", 1), ("Link or panel", 2), ("Total", 3),
    ]  # fmt: skip
    assert turk.amounts == rows["turked"]
    assert link.amounts == rows["linked"].plus(rows["quiet"])
    assert together.amounts == Amounts(*(sum(column) for column in zip(*rows.values(), strict=True)))
    only = page.get(COSTS, {"platform": "mturk"}).context
    assert ([row.campaign.name for row in only["rows"]], len(only["sums"])) == (["turked"], 1)
    none = page.get(COSTS, {"platform": "null"}).context
    assert {row.campaign.name for row in none["rows"]} == {"linked", "quiet"}


def test_what_a_sandbox_pays_is_not_added_to_real_money(page: Client, campaigns: dict[str, Campaign]) -> None:
    Publication.objects.create(campaign=campaigns["linked"], platform="mturk-sandbox", state="open", title="Trial")
    sums = page.get(COSTS).context["sums"]
    by_name = {sum_.name: sum_ for sum_ in sums}
    together = by_name["Total, without the sandbox's play money"]
    assert sums[-1] == together and together.campaigns == 2
    assert together.amounts == by_name["Mechanical Turk"].amounts.plus(by_name["Link or panel"].amounts)


def test_the_csv_has_the_same_to_the_cent(page: Client, campaigns: dict[str, Campaign]) -> None:
    Campaign.objects.filter(name="quiet").update(name="=1+1")
    answer = page.get(reverse("platforms:costs_csv"), {"sort": "name"})
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [row["campaign"] for row in rows] == ["'=1+1", "linked", "turked"]
    by_name = {row.campaign.name: row for row in page.get(COSTS).context["rows"]}
    for row in rows:
        amounts = by_name[row["campaign"].removeprefix("'")].amounts
        assert {name: Decimal(row[name]) for name in Amounts._fields} == amounts._asdict()
    assert (rows[2]["platform"], rows[2]["paid"], rows[0]["platform"]) == ("mturk", "2.01", "")


def test_nobody_sees_what_another_lab_pays(client: Client, campaigns: dict[str, Campaign]) -> None:
    assert client.get(COSTS).status_code == 302
    stranger = factories.user("sam")
    factories.lab("Another lab", stranger)
    client.force_login(stranger)
    assert "turked" not in client.get(COSTS).content.decode()
    assert client.get(COSTS).context["rows"] == []
    file = client.get(reverse("platforms:costs_csv"))
    assert b"".join(file.streaming_content).count(b"\n") == 1


def test_a_hundred_campaigns_take_as_few_queries_as_one(
    collection: Collection, django_assert_num_queries: object
) -> None:
    campaign = factories.campaign(collection, "one")
    with django_assert_num_queries(4):  # type: ignore[operator]
        assert len(list(campaign_costs([campaign]))) == 1
    with django_assert_num_queries(4):  # type: ignore[operator]
        assert len(list(campaign_costs([campaign] * 100))) == 100
