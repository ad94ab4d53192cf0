"""Alarms about how a campaign goes, and mails about them: one for each kind of problem, to who wants to know."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core import alarms
from core.jobs import send_mails
from core.models import AlarmChoice, AlarmTopic, Lab, User
from judgments import alarm_mails
from judgments import jobs as judgment_jobs
from judgments.alarm_checks import campaign_check
from judgments.models import AlarmEpisode
from platforms.models import Publication
from platforms.publishing.publications import publication_pause, publication_resume
from platforms.terms import publication_write
from pools.models import Campaign
from review import jobs as review_jobs
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests import factories

LOCAL = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def ours(campaign: Campaign, rita: User, settings: Any) -> Campaign:
    """Rita's campaign, on a site that sends mail."""
    settings.EMAIL_BACKEND, settings.SITE_URL, settings.HAS_MAIL = LOCAL, "https://judge.example.org", True
    rita.email = "rita@example.org"
    rita.save()
    Campaign.objects.filter(pk=campaign.pk).update(created_by=rita)
    campaign.refresh_from_db()
    return campaign


def test_a_campaign_that_fails_stands_still_or_is_not_found_raises_an_alarm_and_settles_it(
    collection: Collection, settings: Any
) -> None:
    campaign = factories.campaign(collection, "watched", pairs_per_hit=1, tests_per_hit=1, exclusion="assignment")
    now = timezone.now()
    judgment_jobs.summarize()
    assert campaign_check(campaign=campaign, at=now) == []
    assert campaign_check(campaign=campaign, at=now + timedelta(hours=5)) == ["nobody"]
    for number in range(11):
        factories.do(factories.worker(campaign, f"worker {number}"), campaign, fail_tests=number > 2)
    assert campaign_check(campaign=campaign, at=now) == ["failing"]
    assert "8 of the last 11 assignments" in campaign.alarms.get(kind="failing").text
    settings.ALARM_FAILING_SHARE = 0.9
    assert campaign_check(campaign=campaign, at=now + timedelta(hours=25)) == ["stalled"]
    Campaign.objects.filter(pk=campaign.pk).update(state="paused")
    campaign.refresh_from_db()
    assert campaign_check(campaign=campaign, at=now + timedelta(hours=25)) == []
    assert not alarms.alarms_raised(campaign).exists()


def test_work_that_is_too_fast_to_be_read_raises_an_alarm_also_once_all_is_done(
    collection: Collection, settings: Any
) -> None:
    campaign = factories.campaign(collection, "hurried", pairs_per_hit=1, tests_per_hit=1, overlap=2)
    while campaign.hits.filter(needed__gt=0).exists():
        number = campaign.assignments.count()
        seconds = 1 if number % 2 else 9
        factories.do(factories.worker(campaign, f"worker {number}"), campaign, seconds=seconds)
    judgment_jobs.summarize()
    assert campaign_check(campaign=campaign, at=timezone.now()) == ["fast"]
    settings.ALARM_FAILING_SHARE, settings.ALARM_FAST_SHARE = 0.3, 0.6
    assert campaign_check(campaign=campaign, at=timezone.now()) == []
    settings.ALARM_FAILING_SHARE, settings.ALARM_FAST_SHARE = 0.9, 0.5
    assert campaign_check(campaign=campaign, at=timezone.now()) == ["fast"]
    text = campaign.alarms.get(kind="fast", settled_at=None).text
    assert text.startswith("7 of the last 14 assignments were judged faster than anybody can read the passages.")
    Campaign.objects.filter(pk=campaign.pk).update(state="closed")
    campaign.refresh_from_db()
    assert campaign_check(campaign=campaign, at=timezone.now()) == []


def test_one_mail_tells_of_a_problem_while_it_lasts_and_another_when_it_comes_again(ours: Campaign) -> None:
    def raise_alarm() -> None:
        text = "Worker A1B2 broke it."
        alarms.alarm_raise(of=ours, kind="exports", text=text, at=timezone.now())

    raise_alarm()
    assert review_jobs.watch() == "mails to send: 1"
    raise_alarm()
    assert review_jobs.watch() == "mails to send: 0"
    send_mails()
    (sent,) = mail.outbox
    assert sent.to == ["rita@example.org"]
    assert f"https://judge.example.org/campaigns/{ours.pk}/" in sent.body
    assert "A1B2" not in sent.subject + str(sent.body)  # nothing about workers
    alarms.alarm_settle(of=ours, kind="exports", at=timezone.now())
    assert review_jobs.watch() == "mails to send: 0"
    raise_alarm()
    assert review_jobs.watch() == "mails to send: 1"
    assert AlarmEpisode.objects.count() == 2


def test_who_has_an_address_only_later_hears_of_what_still_lasts(ours: Campaign, rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(email="")
    alarms.alarm_raise(of=ours, kind="exports", text="It broke.", at=timezone.now())
    assert review_jobs.watch() == "mails to send: 0"
    User.objects.filter(pk=rita.pk).update(email="rita@example.org")
    assert review_jobs.watch() == "mails to send: 1"
    assert review_jobs.watch() == "mails to send: 0"


def test_who_gets_a_mail_is_each_persons_choice(ours: Campaign, lab: Lab, rita: User, client: Client) -> None:
    anna = factories.user("anna", email="anna@example.org")
    lab.members.add(anna)
    assert alarm_mails.recipients(ours, "failing") == [rita]
    client.force_login(anna)
    address = reverse("core:alarm_choice")
    assert b'value="own"' in client.get(address).content
    assert client.post(address, {"reach": "all", "topics": ["quality"]}).status_code == 303
    assert alarm_mails.recipients(ours, "failing") == [rita, anna]
    assert alarm_mails.recipients(ours, "funds") == [rita]
    alarms.choice_set(user=rita, reach=AlarmChoice.Reach.NONE, topics=AlarmTopic.values)
    assert alarm_mails.recipients(ours, "failing") == [anna]
    assert client.post(address, {"reach": "everything"}).status_code == 400
    lab.members.remove(anna)
    assert alarm_mails.recipients(ours, "failing") == []


def test_everybody_who_wants_to_know_gets_one_mail(ours: Campaign, lab: Lab) -> None:
    anna = factories.user("anna", email="anna@example.org")
    lab.members.add(anna)
    alarms.choice_set(user=anna, reach=AlarmChoice.Reach.ALL, topics=["errors"])
    alarms.alarm_raise(of=ours, kind="exports", text="No.", at=timezone.now())
    assert review_jobs.watch() == "mails to send: 2" and review_jobs.watch() == "mails to send: 0"
    assert send_mails() == "sent: 2"
    assert [sent.to for sent in mail.outbox] == [["rita@example.org"], ["anna@example.org"]]


def test_without_a_mail_server_nothing_is_sent_and_the_page_says_so(
    ours: Campaign, page: Client, settings: Any
) -> None:
    settings.HAS_MAIL = False
    alarms.alarm_raise(of=ours, kind="exports", text="No.", at=timezone.now())
    assert review_jobs.watch() == "no mail is set up"
    assert not mail.outbox
    assert b"has not set up a mail server" in page.get(reverse("core:alarm_choice")).content


def test_work_that_is_accepted_ends_a_standstill(ours: Campaign) -> None:
    at = timezone.now() + timedelta(hours=30)
    assignment = factories.do(factories.worker(ours, "Alice"), ours)
    assert campaign_check(campaign=ours, at=at) == ["stalled"]
    Assignment.objects.filter(pk=assignment.pk).update(finished_at=at)
    assert campaign_check(campaign=ours, at=at) == []


@pytest.mark.parametrize("where", ["here", "at the platform"])
def test_the_time_of_a_pause_is_no_standstill(campaign: Campaign, alice: Worker, where: str) -> None:
    factories.do(alice, campaign)
    now = timezone.now()
    campaign.assignments.update(taken_at=now - timedelta(hours=31), finished_at=now - timedelta(hours=30))
    published = publication_write(campaign=campaign)
    Publication.objects.filter(pk=published.pk).update(state="open")
    assert campaign_check(campaign=campaign, at=now) == ["stalled"]
    if where == "here":
        for state in ("paused", "open"):
            task_services.campaign_move(campaign=campaign, to=state)
    else:
        publication_pause(publication=published, at=now)
        assert campaign_check(campaign=campaign, at=now) == []
        publication_resume(publication=published, at=now)
    campaign.refresh_from_db()
    assert campaign_check(campaign=campaign, at=now) == []
    assert campaign_check(campaign=campaign, at=now + timedelta(hours=25)) == ["stalled"]


def test_the_choice_of_mails_is_found_from_the_account_and_from_a_campaign(campaign: Campaign, page: Client) -> None:
    for address in (reverse("core:account"), reverse("campaigns:campaign", args=[campaign.pk])):
        assert f'href="{reverse("core:alarm_choice")}"' in page.get(address).text
