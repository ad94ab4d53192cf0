"""A workspace whose money is pounds: terms, bill, study, payments, ledgers and pages. Nothing is converted."""

import re
from decimal import Decimal

import pytest
from django.test import Client as Browser
from django.urls import reverse

from core.errors import NotNow, Refused
from core.models import User
from judgments import services as judgment_services
from leaderboards.models import Upkeep
from leaderboards.upkeep import rounds
from platforms import jobs
from platforms.ledger_comparison import comparison_make
from platforms.models import LabAccount, Payment, Publication, Submission
from platforms.money.lab_accounts import lab_account_store
from platforms.publishing.costs import costs_by_platform
from platforms.reviewing.deciding import bonus_grant
from platforms.reviewing.fairness import adjustment_of, hourly_at_first, least_hourly, pay_rate_check
from platforms.reviewing.protocol import Ending
from platforms.terms import publication_write
from pools.models import Campaign
from tasks import services as task_services
from tasks.consent import default_consent
from tasks.selectors import current_consent, expected_pace, lab_floor_of
from tests import factories
from tests.platforms.platforms import Clock, drain, settle
from tests.platforms.prolific.test_work import begin, finish, go_back, work
from tests.rows import fresh
from tests.simulation.prolific import Double


@pytest.fixture
def currency() -> str:
    return "GBP"


def words_of(client: Browser, name: str, *keys: object) -> str:
    """What a page says."""
    page = client.get(reverse(name, args=keys))
    assert page.status_code == 200
    return page.content.decode()


def test_pounds_from_the_terms_to_the_last_penny(
    published: Publication, prolific: Double, rita: User, page: Browser
) -> None:
    campaign, clock = published.campaign, Clock()
    campaign.refresh_from_db()
    assert campaign.currency == "GBP" and campaign.money(campaign.reward) == "£2.00"
    place, _ = work(published, prolific)
    second = prolific.take(published.hit_type_id, prolific.participant("Second"))
    offered = Browser().get(second.url.removeprefix("http://localhost:8000")).content.decode()
    assert "£2.00" in offered and "$" not in offered
    prolific.give_back(second.submission)
    _place, left = begin(published, prolific, "Left")
    factories.judge(left, only=range(1, 3))
    judgment_services.assignment_leave(assignment=left, at=clock())
    go_back(published, prolific, left.platform_assignment_id, Ending.LEFT)
    settle(published, clock)
    bonus_grant(submission=Submission.objects.get(), amount=Decimal("2.30"), by=rita, why="Thanks", at=clock())
    drain(published, clock)
    prolific.advance(3600)
    drain(published, clock)
    assert prolific.requests("bonus-payments/")[0]["body"]["csv_bonuses"] == f"{place.submission},2.30\n"
    assert [row["amount"] for row in prolific.ledger() if row["kind"] != "deposit"] == [200, 230]
    assert set(Payment.objects.values_list("state", flat=True)) == {"paid"}
    assert comparison_make(publication=published, at=clock()).agree
    for name in ("terms", "publication", "ledger", "submissions"):
        words = words_of(page, f"platforms:{name}", campaign.pk)
        assert "$" not in words, f"dollars on {name}"
    assert "£4.30" in words_of(page, "platforms:ledger", campaign.pk)
    assert "£2.30" in words_of(page, "platforms:submission", campaign.pk, Submission.objects.get().pk)
    assert "£2.00" in words_of(page, "campaigns:settings", campaign.pk)
    assert "£4.30" in words_of(page, "platforms:costs")


def test_the_bill_and_the_request_are_in_the_accounts_currency(publication: Publication, page: Browser) -> None:
    jobs.look_at_balance(publication.pk)
    words = words_of(page, "platforms:publish", publication.campaign_id)
    assert "£1,000.00" in words and "$" not in words
    other = words_of(page, "platforms:terms", publication.campaign_id)
    assert re.search(r"£\d", other) and "$" not in other


def test_a_draft_takes_the_currency_of_its_platform_and_its_text_says_the_pay_in_it(
    campaign: Campaign, account: LabAccount, rita: User, prolific: Double
) -> None:
    task_services.consent_write(campaign=campaign, text=default_consent(campaign))
    publication_write(campaign=campaign, platform="prolific")
    campaign.refresh_from_db()
    consent = current_consent(campaign)
    assert campaign.currency == "GBP" and consent is not None and "£2.00" in consent.text
    publication_write(campaign=campaign, platform="mturk", pay="base-and-bonus")
    campaign.refresh_from_db()
    assert campaign.currency == "USD"
    publication_write(campaign=campaign, platform="prolific", pay="return-and-compensate")
    prolific.settings(currency="USD")
    lab_account_store(
        lab=campaign.lab, platform="prolific", token=prolific.token, workspace_id="", by=rita, at=Clock()()
    )
    assert fresh(campaign).currency == "USD"


def test_an_account_that_pays_a_published_campaign_keeps_its_currency(
    published: Publication, account: LabAccount, prolific: Double, rita: User
) -> None:
    prolific.settings(currency="USD")
    with pytest.raises(NotNow, match="GBP, not USD"):
        lab_account_store(
            lab=account.lab, platform="prolific", token=prolific.token, workspace_id="", by=rita, at=Clock()()
        )
    assert fresh(account).currency == "GBP"


def test_floors_are_those_of_the_currency(published: Publication, prolific: Double) -> None:
    campaign, clock = published.campaign, Clock()
    campaign.lab.pay_floor = Decimal("20.00")
    assert (least_hourly(published), hourly_at_first(published)) == (Decimal("6.00"), Decimal("9.00"))
    assert lab_floor_of(campaign) is None
    pace = expected_pace(campaign)
    assert pace is not None and (pace.site_floor, pace.lab_floor) == (Decimal("6.00"), None)
    for name in ("Pat", "Kim", "Lee"):
        finish(published, prolific, begin(published, prolific, name)[1])
    settle(published, clock)
    with pytest.raises(Exception, match=r"between £0\.01 and £200\.00"):
        adjustment_of(published, Decimal(201))


def test_the_pages_and_commands_say_that_the_labs_floor_in_dollars_does_not_hold(
    published: Publication, prolific: Double, rita: User, client: Browser
) -> None:
    clock, lab = Clock(), published.campaign.lab
    lab.pay_floor = Decimal("20.00")
    lab.save()
    for name in ("Pat", "Kim", "Lee"):
        finish(published, prolific, begin(published, prolific, name)[1])
    settle(published, clock)
    pay_rate_check(publication=published, at=clock())
    client.force_login(rita)
    page = client.get(reverse("platforms:publication", args=[published.campaign_id])).text
    words = "pay floor of $20.00 an hour does not hold"
    assert words in page and "pounds sterling" in page
    lab.pay_floor = None
    lab.save()
    assert words not in client.get(reverse("platforms:publication", args=[published.campaign_id])).text


def test_sums_of_two_currencies_are_not_added(published: Publication) -> None:
    campaign = published.campaign
    dollars = factories.campaign(campaign.collection, "in dollars")
    Campaign.objects.filter(pk=dollars.pk).update(state="open")
    rows = costs_by_platform(Campaign.objects.all())
    assert [(row.name, row.campaigns, row.currency) for row in rows] == [
        ("Link or panel", 1, "USD"),
        ("Prolific", 1, "GBP"),
    ]


def test_an_upkeep_whose_budgets_are_in_dollars_asks_for_nothing_that_pays_pounds(publication: Publication) -> None:
    campaign = Campaign.objects.get(pk=publication.campaign_id)
    with pytest.raises(Refused, match="budgets of an upkeep are in dollars"):
        rounds._check_bill(campaign, Upkeep(campaign_dollars=Decimal(100_000)))


def test_the_terms_begin_at_the_platform_where_the_lab_has_an_account_and_in_its_currency(
    campaign: Campaign, account: LabAccount, page: Browser
) -> None:
    words = words_of(page, "platforms:terms", campaign.pk)
    assert re.search(r'value="prolific"\s+selected', words)
    assert "£" in words and "$" not in words and "AWS" not in words
    campaign.refresh_from_db()
    assert campaign.currency == "USD" and not Publication.objects.exists()  # looking changes nothing
    publication_write(campaign=factories.campaign(campaign.collection, "Elsewhere"), platform="marketplace")
    assert re.search(r'value="marketplace"\s+selected', words_of(page, "platforms:terms", campaign.pk))
