"""An alarm before the money runs out: the account's balance against what is still to be published and paid."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from core.jobs import send_mails
from core.models import User
from platforms import jobs as platform_jobs
from platforms import low_balance
from platforms.low_balance import balances_check, cost_to_come
from platforms.models import Payment, Publication
from platforms.money.bills import remaining_bill
from platforms.publishing.publications import balance_of
from platforms.registry import adapter_of
from platforms.terms import publication_write
from pools.models import Campaign
from review import jobs as review_jobs
from tasks.models import Worker
from tests import factories
from tests.marketplace.server import Marketplace, Requester


def test_what_the_platform_keeps_back_is_not_counted_and_what_is_owed_is(published: Publication, alice: Worker) -> None:
    bill, at = remaining_bill(published), timezone.now()
    kept_back = balance_of(published)
    for offered in (True, False):
        if not offered:
            published.published_hits.update(expires_at=at)  # what was free is given back
        assert cost_to_come(published, adapter_of(published), at) == bill.total - offered * (Decimal(1000) - kept_back)
    work = factories.do(alice, published.campaign)
    bill = remaining_bill(published)
    Payment.objects.create(
        publication=published, assignment=work, purpose="compensation", amount="3.00", fee="0.60", owed_at=at
    )
    assert cost_to_come(published, adapter_of(published), at) == bill.total + Decimal("3.60")


def test_a_low_balance_is_told_once_until_there_is_enough_again(
    published: Publication, marketplace: Marketplace, requester: Requester, rita: User, settings: Any
) -> None:
    settings.EMAIL_BACKEND, settings.HAS_MAIL = "django.core.mail.backends.locmem.EmailBackend", True
    User.objects.filter(pk=rita.pk).update(email="rita@example.org")
    Campaign.objects.update(created_by=rita)
    assert balances_check(at=timezone.now()) == 0
    assert review_jobs.watch() == "mails to send: 0"
    Campaign.objects.update(reward="400.00")  # the bonuses of what is open alone are more than the account has
    assert platform_jobs.watch_balances() == "alarms of a low balance: 1"
    alarm = published.alarms.get(kind="low", settled_at=None)
    assert "is expected to cost $1," in alarm.text and "adds money" in alarm.text
    assert [review_jobs.watch() for _turn in range(2)] == ["mails to send: 1", "mails to send: 0"]
    assert balances_check(at=timezone.now()) == 1
    assert published.alarms.get(kind="low").raised_at == alarm.raised_at
    assert review_jobs.watch() == "mails to send: 0"

    marketplace.test("deposit", account_id=requester.account_id, amount="5000.00")
    assert balances_check(at=timezone.now()) == 0
    assert not published.alarms.filter(settled_at=None).exists()
    assert review_jobs.watch() == "mails to send: 0"
    send_mails()
    assert ["may not last" in message.subject for message in mail.outbox] == [True]


def test_a_low_balance_tells_no_lab_what_the_others_spend(
    published: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = factories.small(tmp_path, factories.lab("Another lab", factories.user("olga")))
    campaign = factories.campaign(collection, "others", start=False)
    publication_write(
        campaign=campaign, platform=published.platform, pay="base-and-bonus", base=Decimal("1.50"), title="Compare"
    )
    factories.begin(campaign)
    other = Publication.objects.get(campaign=campaign)
    Publication.objects.filter(pk=other.pk).update(state="open")
    costs = {published.pk: Decimal(300), other.pk: Decimal(9100)}
    monkeypatch.setattr(low_balance, "cost_to_come", lambda publication, _adapter, _at: costs[publication.pk])
    assert balances_check(at=timezone.now()) == 2
    ours, theirs = (each.alarms.get(kind="low").text for each in (published, other))
    assert "Your lab's part is expected to cost $300.00 ($300.00 of it" in ours
    assert "9,100" not in ours and "9,400" not in ours
    assert "Your lab's part is expected to cost $9,100.00" in theirs


def test_a_platform_that_does_not_answer_changes_nothing_and_a_pause_ends_the_alarm(
    published: Publication, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    Campaign.objects.update(reward="400.00")
    assert balances_check(at=timezone.now()) == 1
    with monkeypatch.context() as patch:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        assert balances_check(at=timezone.now()) == 0
    assert published.alarms.filter(kind="low", settled_at=None).exists()
    Publication.objects.update(state="paused")
    assert balances_check(at=timezone.now()) == 0
    assert not published.alarms.filter(settled_at=None).exists()
