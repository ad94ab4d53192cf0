"""The researcher's pages about a campaign at a platform, against a real marketplace; and its notifications."""

import csv
import hashlib
import hmac
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from pytest_django import DjangoCaptureOnCommitCallbacks

from core.alarms import alarm_raise
from core.models import Alarm, User
from judgments import services as judgment_services
from platforms import jobs as platform_jobs
from platforms.demands import PAPER, Demands
from platforms.forms import TermsForm
from platforms.models import Operation, Payment, PlatformAlarm, Publication, Submission
from platforms.mturk.requirements import demands_of, requirements_of
from platforms.publishing.publications import publication_stop
from platforms.reviewing.compensations import compensations_find
from platforms.syncing import publication_sync
from platforms.terms import publication_unsaved, publication_write
from platforms.views import notifications
from platforms.views.state import ADVICE
from pools.models import Campaign
from runs.models import Collection
from tests import factories
from tests.core.test_lists import rows_of
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.platforms import arrive, drain, finish, judge, published_hit_of, settle, work
from tests.rows import fresh

POST_ONLY = ("extend", "listen", "compare", "ask_for_money")
ACTS = ("pause", "resume", "expire", "stop")


def at(name: str, campaign: Campaign, *more: object) -> str:
    """The address of a page of the campaign."""
    return reverse(f"platforms:{name}", args=[campaign.pk, *more])


def text_of(page: Client, address: str, status: int = 200) -> str:
    answer = page.get(address)
    assert answer.status_code == status, answer.content.decode()
    return str(answer.content.decode())


def typed(campaign: Campaign, **changes: object) -> dict[str, object]:
    """The terms form as a browser sends it unchanged, but for some fields."""
    form = TermsForm(publication=publication_unsaved(campaign), requirements=[])
    return {name: form[name].value() or "" for name in form.fields} | changes


def unmatched(publication: Publication, worker: Worker) -> Submission:
    """Work that the platform has, with a receipt that is not ours."""
    assignment = arrive(publication, worker)
    factories.judge(assignment)
    ended = judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert worker.submit(ended.platform_assignment_id, receipt="another").status_code == 200
    settle(publication)
    return publication.submissions.get()


# --- who, and how


@pytest.mark.parametrize("whose", ["the same lab's", "another lab's"])
def test_a_campaigns_pages_reach_nothing_of_another_publication(
    page: Client, published: Publication, tmp_path: Path, whose: str
) -> None:
    lab = published.campaign.lab if whose == "the same lab's" else factories.lab("Another lab")
    tops = {"red": {"q1": ["p1"]}, "green": {"q1": ["p2"]}}
    collection = factories.collection(tmp_path, in_lab=lab, name="other", qrels={"q1": ["p1"]}, tops=tops)
    other = publication_unsaved(factories.campaign(collection, "other"))
    other.state = Publication.State.OPEN
    other.save()
    now = timezone.now()
    published_hit = other.published_hits.create(
        hit=other.campaign.hits.get(), max_assignments=1, platform_hit_id="3THEIRS"
    )
    fields = {"platform_assignment_id": "3A", "platform_worker_id": "A1", "status": "Submitted", "submitted_at": now}
    submission = other.submissions.create(published_hit=published_hit, **fields)
    money = {"amount": Decimal("1.00"), "fee": Decimal("0.20"), "owed_at": now}
    payment = other.payments.create(submission=submission, purpose="compensation", **money)
    operation = other.operations.create(kind="exclusion-type", state="refused", next_try=now)
    alarm = alarm_raise(of=other, kind=PlatformAlarm.FUNDS, text="Empty", at=now)
    things = {
        "submission": submission,
        "retry": operation,
        "set_aside": alarm,
        "compensate": payment,
        "decline": payment,
    }
    for name, thing in things.items():
        for decision in ("approve", "reject"):
            answer = page.post(at(name, published.campaign, thing.pk), {"why": "because", "decision": decision})
            assert answer.status_code == 404, name
        before = type(thing).objects.filter(pk=thing.pk).values().get()
        assert before == {field: getattr(thing, field) for field in before}, name
    assert page.get(at("submission", published.campaign, submission.pk)).status_code == 404
    assert list(other.operations.all()) == [operation]
    assert not other.operations.exclude(state="refused").exists()


def test_nothing_is_changed_by_opening_an_address(page: Client, published: Publication) -> None:
    campaign = published.campaign
    for name in POST_ONLY:
        assert page.get(at(name, campaign)).status_code == 405
    for name in ("retry", "set_aside", "compensate"):
        assert page.get(at(name, campaign, 1)).status_code == 405
    for name in ACTS:
        page.get(at(name, campaign))
    published.refresh_from_db()
    assert published.state == "open"
    assert not published.operations.filter(kind="expire").exists()


def test_before_anything_is_published_the_pages_lead_to_the_terms(page: Client, campaign: Campaign) -> None:
    assert page.get(at("publication", campaign))["Location"] == at("terms", campaign)
    assert page.get(at("publish", campaign))["Location"] == at("terms", campaign)
    for name in ("submissions", "compensations", "ledger", "ledger_csv"):
        assert at("terms", campaign) in text_of(page, at(name, campaign), 409)
    assert page.post(at("stop", campaign)).status_code == 409


# --- terms


def test_a_draft_has_its_terms_and_its_bill_before_anything_is_frozen_and_is_published_only_once_packed(
    page: Client, collection: Collection, requester: Requester
) -> None:
    draft = factories.campaign(collection, "draft", start=False, pairs_per_hit=3)
    assert "With these terms, the bill is <strong>$9.60</strong>" in text_of(page, at("terms", draft))
    assert page.post(at("terms", draft), typed(draft)).status_code == 303
    text = text_of(page, at("publish", draft))
    assert "The campaign is a draft. Start it" in text
    assert "$9.60" in text
    assert press_publish(page, Publication.objects.get()).status_code == 409
    assert Publication.objects.get().state == "draft"
    assert page.post(reverse("campaigns:campaign_delete", args=[draft.pk])).status_code == 303
    assert not Campaign.objects.filter(pk=draft.pk).exists()


def test_looking_at_the_terms_stores_nothing(page: Client, campaign: Campaign, requester: Requester) -> None:
    text = text_of(page, at("terms", campaign))
    assert 'value="10000"' not in text
    assert not Publication.objects.exists()


def test_every_term_is_saved_and_nothing_is_sent(page: Client, campaign: Campaign, requester: Requester) -> None:
    changes = {
        "platform": "mturk-sandbox", "pay": "full-on-exit", "base": "0.25", "title": "Compare",
        "description": "Two texts.", "keywords": "a, b", "countries": "us gb", "approved": "500", "percent": "",
        "lifetime": "2.5", "assignment_duration": "45", "auto_approval": "4", "approve_after": "12", "rate": "2",
        "others": '[{"QualificationTypeId": "3ABC", "Comparator": "Exists"}]',
    }  # fmt: skip
    answer = page.post(at("terms", campaign), typed(campaign, **changes))
    assert (answer.status_code, answer["Location"]) == (303, at("publish", campaign))
    saved = Publication.objects.get()
    assert (saved.platform, saved.pay, saved.base, saved.title) == (
        "mturk-sandbox",
        "full-on-exit",
        Decimal("0.25"),
        "Compare",
    )
    assert (saved.description, saved.keywords, saved.rate, saved.state) == ("Two texts.", "a, b", 2.0, "draft")
    assert (saved.lifetime, saved.assignment_duration) == (timedelta(days=2, hours=12), timedelta(minutes=45))
    assert (saved.auto_approval, saved.approve_after) == (timedelta(days=4), timedelta(hours=12))
    other = {"QualificationTypeId": "3ABC", "Comparator": "Exists"}
    assert demands_of(saved.requirements) == Demands(("US", "GB"), 500, None, (other,))
    assert not Operation.objects.exists()
    text = text_of(page, at("terms", campaign))
    assert all(f'value="{value}"' in text for value in ("US, GB", "2.5", "45", "500"))


def test_every_requirement_can_be_removed(page: Client, campaign: Campaign, requester: Requester) -> None:
    page.post(at("terms", campaign), typed(campaign, countries="US", approved="10000", percent="97"))
    assert Publication.objects.get().requirements == requirements_of(PAPER)
    page.post(at("terms", campaign), typed(campaign))
    assert Publication.objects.get().requirements == []


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("base", "0.001", "an amount in whole cents"),
        ("base", "2.01", "at most the campaign's reward, $2.00"),
        ("title", "x" * 129, "at most 128 characters"),
        ("title", "", "at most 128 characters"),
        ("countries", "USA", "two-letter ISO 3166 codes"),
        ("countries", "US, UK", "Great Britain is GB"),
        ("countries", "ZZ", "two-letter ISO 3166 codes"),
        ("approved", "-1", "from 0 to 1,000,000"),
        ("percent", "101", "from 0 to 100"),
        ("others", '{"a": 1}', "a JSON list"),
        ("lifetime", "366", "days from 0.001 to 365"),
        ("assignment_duration", "soon", "minutes from 0.5 to 525,600"),
        ("auto_approval", "2", "days from 3 to 30"),
        ("auto_approval", "nan", "days from 3 to 30"),
        ("approve_after", "145", "at most 144 hours"),
        ("rate", "0", "from 0.01 to 1,000"),
    ],
)
def test_a_bad_term_is_refused_at_its_field_with_what_was_seen_and_expected(
    page: Client, campaign: Campaign, requester: Requester, field: str, value: str, expected: str
) -> None:
    answer = page.post(at("terms", campaign), typed(campaign, pay="base-and-bonus", **{field: value}))
    assert answer.status_code == 400
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    text = errors[field][0]
    assert expected in text
    assert (f"“{value[:100]}”" if value else "No value was given") in text
    assert not Publication.objects.exists()


def test_platform_and_pay_are_fixed_once_published(page: Client, published: Publication) -> None:
    campaign = published.campaign
    text = text_of(page, at("terms", campaign))
    assert all(
        words in text
        for words in ("its platform and pay can no longer be changed", "14 days", "60 minutes", "7 days", "0 hours")
    )
    answer = page.post(at("terms", campaign), typed(campaign, pay="full-on-exit", base="1.00", rate="1000"))
    assert answer.status_code == 303  # of all that was sent, nothing can be changed, and nothing differs
    published.refresh_from_db()
    assert (published.pay, published.base) == ("base-and-bonus", Decimal("0.10"))
    assert published.terms.count() == 1


def test_requirements_go_to_the_form_and_back_as_they_were() -> None:
    paper = requirements_of(PAPER)
    assert demands_of(paper) == PAPER
    assert [row["Comparator"] for row in paper] == ["EqualTo", "GreaterThan", "GreaterThanOrEqualTo"]
    odd = [{**paper[0], "LocaleValues": [{"Country": "US", "Subdivision": "NY"}]}, {**paper[1], "Comparator": "In"}]
    assert demands_of(odd).others == tuple(odd)
    assert requirements_of(demands_of([*odd, *paper])) == [*paper, *odd]


# --- an account that lacks money


@pytest.fixture
def poor(marketplace: Marketplace, requester: Requester, monkeypatch: pytest.MonkeyPatch) -> Requester:
    """Our account at the marketplace, with less than a campaign costs."""
    account = marketplace.requester("5.00")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account.secret)
    return account


def test_one_press_asks_the_marketplaces_operator_for_what_is_missing(
    page: Client, publication: Publication, marketplace: Marketplace, poor: Requester
) -> None:
    campaign = publication.campaign
    platform_jobs.look_at_balance(publication.pk)
    for name in ("terms", "publish"):
        text = text_of(page, at(name, campaign))
        assert "Ask the operator for $4.60" in text
        assert "python -m" not in text
    open_requests = "SELECT amount, reason FROM marketplace_depositrequest WHERE closed_at IS NULL AND reason LIKE %s"

    for _press in range(2):
        assert page.post(at("ask_for_money", campaign))["Location"] == at("publish", campaign)

    ((amount, reason),) = marketplace.sql(open_requests, f"%{publication.reference}%")
    assert (amount, reason.startswith(campaign.name)) == (Decimal("4.60"), True)
    assert "The operator was last asked for $4.60" in text_of(page, at("publish", campaign))
    marketplace.run("deposit", poor.account_id, "4.60")
    platform_jobs.look_at_balance(publication.pk)
    assert "Ask the operator" not in text_of(page, at("publish", campaign))
    assert page.post(at("ask_for_money", campaign)).status_code == 409


def test_the_step_platform_of_a_draft_is_not_done_while_money_is_missing(
    page: Client, collection: Collection, marketplace: Marketplace, poor: Requester
) -> None:
    draft = factories.campaign(collection, "draft", start=False, pairs_per_hit=3)
    page.post(at("terms", draft), typed(draft))
    publication, address = Publication.objects.get(campaign=draft), reverse("campaigns:campaign", args=[draft.pk])
    assert page.get(address).context["steps"][-1].is_done  # nothing is known yet
    assert platform_jobs.look_at_balance(publication.pk) == "asked"
    platform = page.get(address).context["steps"][-1]
    assert (platform.key, platform.is_done) == ("platform", False)
    assert "$4.60 was missing" in platform.detail

    marketplace.run("deposit", poor.account_id, "4.60")
    assert not page.get(address).context["steps"][-1].is_done
    platform_jobs.look_at_balance(publication.pk)

    assert page.get(address).context["steps"][-1].is_done


def test_opening_a_draft_asks_no_platform_but_has_a_job_ask_once(
    page: Client,
    collection: Collection,
    poor: Requester,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    draft = factories.campaign(collection, "draft", start=False, pairs_per_hit=3)
    publication = publication_write(campaign=draft)
    calls: list[int] = []
    monkeypatch.setattr(platform_jobs.look_at_balance, "delay", calls.append)
    monkeypatch.setattr(
        "platforms.money.account.adapter_of", lambda _publication: pytest.fail("a page asks the platform")
    )
    with django_capture_on_commit_callbacks(execute=True):
        for _visit in range(3):
            assert page.get(reverse("campaigns:campaign", args=[draft.pk])).status_code == 200
    assert calls == [publication.pk]


def test_the_terms_and_the_dry_run_ask_no_platform_and_say_what_a_job_heard_and_when(
    page: Client,
    publication: Publication,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(platform_jobs.look_at_balance, "delay", calls.append)
    names = ("terms", "publish")
    with monkeypatch.context() as patch, django_capture_on_commit_callbacks(execute=True):
        patch.setattr(
            "platforms.money.account.balance_look", lambda _publication: pytest.fail("a page asks the platform")
        )
        for text in (text_of(page, at(name, publication.campaign)) for name in names):
            assert "is being asked for" in text or "Publish for up to" in text
    assert calls == [publication.pk]
    platform_jobs.look_at_balance(publication.pk)
    for text in (text_of(page, at(name, publication.campaign)) for name in names):
        assert "$1,000.00" in text and "UTC" in text


def test_a_platform_that_does_not_answer_leaves_the_balance_as_it_was_and_another_platform_has_none(
    page: Client, publication: Publication, requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform_jobs.look_at_balance(publication.pk)
    publication.refresh_from_db()
    asked_at = publication.balance_at
    assert (publication.balance, asked_at is not None) == (Decimal("1000.00"), True)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "access key" in platform_jobs.look_at_balance(publication.pk)
    publication.refresh_from_db()
    assert (publication.balance, publication.balance_at) == (Decimal("1000.00"), asked_at)
    assert publication_write(campaign=publication.campaign, platform="mturk-sandbox").balance is None


# --- a platform that cannot be asked


@pytest.mark.parametrize("case", ["no keys", "wrong key", "nobody there", "no address", "not an address"])
def test_without_an_answer_of_the_platform_the_pages_say_why(
    page: Client, publication: Publication, monkeypatch: pytest.MonkeyPatch, settings: Any, case: str
) -> None:
    expected = "access key"
    if case == "no keys":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    elif case == "wrong key":
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    elif case == "nobody there":
        settings.MARKETPLACE_URL, expected = "http://127.0.0.1:9", "does not answer at the moment"
    elif case == "no address":
        settings.MARKETPLACE_URL, expected = "", "Set MARKETPLACE_URL"
    else:
        settings.MARKETPLACE_URL, expected = "elsewhere", "address is not valid"
    campaign = publication.campaign
    platform_jobs.look_at_balance(publication.pk)
    for name in ("terms", "publish"):
        text = text_of(page, at(name, campaign))
        assert expected in text
        assert "Publish for up to" not in text
    answer = page.post(at("publish", campaign), {"seen": "x"})
    assert answer.status_code in (400, 409)
    assert fresh(publication).state == "draft"


# --- dry run and publishing


def test_the_dry_run_shows_the_exact_requests_and_the_bill(page: Client, publication: Publication) -> None:
    platform_jobs.look_at_balance(publication.pk)
    text = text_of(page, at("publish", publication.campaign))
    for words in ("CreateQualificationType", "CreateHITType", "CreateHITWithHITType", "ExternalQuestion"):
        assert words in text
    assert escape(f'"RequesterAnnotation": "bestknown {publication.reference} 1/1"') in text
    assert "made 3 times" in text
    # three HITs: $0.10 listed, $1.90 as bonuses, and fees of $0.40 each; one of them done again
    assert all(amount in text for amount in ("$0.30", "$5.70", "$1.20", "$2.40", "$9.60", "$1,000.00"))
    assert not Operation.objects.exists()


def press_publish(page: Client, publication: Publication, **fields: str) -> Any:
    """Look, then press the button."""
    address = at("publish", publication.campaign)
    digest = page.get(address).context["seen"]
    return page.post(address, {"seen": digest} | fields)


def test_publishing_twice_is_publishing_once(page: Client, publication: Publication, requester: Requester) -> None:
    address = at("publish", publication.campaign)
    digest = page.get(address).context["seen"]
    for _time in range(2):
        answer = page.post(address, {"seen": digest})
        assert (answer.status_code, answer["Location"]) == (303, at("publication", publication.campaign))
    drain(publication)
    assert publication.state == "open"
    assert Operation.objects.filter(kind="create").count() == 3
    assert len(requester.client.list_hits()["HITs"]) == 3


def test_what_was_not_looked_at_is_not_published(page: Client, publication: Publication) -> None:
    address = at("publish", publication.campaign)
    digest = page.get(address).context["seen"]
    Publication.objects.update(pay="full-on-exit")
    answer = page.post(address, {"seen": digest})
    assert answer.status_code == 409
    assert "have changed since you opened this page" in answer.content.decode()
    publication.refresh_from_db()
    assert publication.state == "draft"
    assert press_publish(page, publication).status_code == 303


def test_an_account_that_does_not_hold_all_of_the_bill_publishes_nothing(
    page: Client, publication: Publication, marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = marketplace.requester(deposit="9.59")  # a cent less than everything, fees included
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", poor.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", poor.secret)
    platform_jobs.look_at_balance(publication.pk)
    text = text_of(page, at("publish", publication.campaign))
    assert "has $9.59, but the bill is $9.60: $0.01 is missing. The operator of the marketplace adds money" in text
    assert "Publish for up to" not in text
    answer = press_publish(page, publication)
    assert answer.status_code == 409
    assert "has $9.59, but the campaign may cost $9.60" in answer.content.decode()
    assert fresh(publication).state == "draft"


def test_a_campaign_that_is_not_open_is_not_published(page: Client, publication: Publication) -> None:
    Campaign.objects.update(state="paused")
    assert "The campaign is not open" in text_of(page, at("publish", publication.campaign))
    assert press_publish(page, publication).status_code == 409


def test_production_asks_for_the_campaigns_name(page: Client, publication: Publication, requester: Requester) -> None:
    Publication.objects.update(platform="mturk")
    answer = press_publish(page, publication, typed_name="pilo")
    assert answer.status_code == 400
    assert "“pilo” was given. It must be “pilot”." in answer.content.decode()
    assert fresh(publication).state == "draft"


# --- state


def test_the_state_is_counted(page: Client, published: Publication, wanda: Worker, will: Worker) -> None:
    work(published, wanda, 1)
    work(published, will, 2, fail_tests=True)
    publication_sync(publication=published, at=timezone.now(), everything=True)
    standing = page.get(at("publication", published.campaign)).context["status"]
    assert standing == (3, 3, 3, 2, 2, 0, 0, 2, 0, 0)
    settle(published)
    platform_jobs.requeue()
    standing = page.get(at("publication", published.campaign)).context["status"]
    assert standing._asdict() == {
        "hits": 3, "planned": 3, "published": 3, "ended": 1, "submitted": 2, "approved": 2, "rejected": 0,
        "waiting": 0, "for_a_person": 0, "redone": 1,
    }  # fmt: skip
    text = text_of(page, at("publication", published.campaign))
    assert "3 of 3 HITs are at our own marketplace" in text
    assert "Counted at" in text


def test_what_has_no_open_hits_and_needs_none_offers_neither_more_time_nor_an_end(
    page: Client, published: Publication
) -> None:
    address = at("publication", published.campaign)
    for words in ("Extend</button>", "Pause</button>", "End all open HITs…"):
        assert words in page.get(address).content.decode()
    published.published_hits.update(expires_at=timezone.now())
    text = page.get(address).content.decode()
    assert "Extend</button>" in text and "End all open HITs…" not in text
    published.campaign.hits.update(needed=0)
    text = page.get(address).content.decode()
    for words in ("Extend</button>", "Pause</button>", "End all open HITs…"):
        assert words not in text
    assert "there is nothing to pause" in text and "Stop all spending" in text


def test_pause_resume_extend_expire_and_stop_can_be_repeated(page: Client, published: Publication) -> None:
    campaign = published.campaign

    def post(name: str, **fields: str) -> int:
        for _time in range(2):
            assert page.post(at(name, campaign), fields).status_code == 303
        drain(published)
        return published.operations.filter(kind__in=["expire", "reopen"]).count()

    assert (post("pause"), published.state) == (3, "paused")
    assert (post("resume"), published.state) == (6, "open")
    day = (timezone.now() + timedelta(days=40)).date()
    assert (post("extend", until=day.isoformat()), published.state) == (9, "open")
    assert {hit.expires_at.date() for hit in published.published_hits.all() if hit.expires_at} == {day}
    assert (post("expire"), published.state) == (12, "open")
    assert "No HITs are open at the platform now" in text_of(page, at("publication", campaign))
    assert (post("stop"), published.state) == (12, "stopped")
    assert (post("pause"), published.state) == (12, "stopped")  # a pause does not lift the kill switch
    assert "nobody is paid" in text_of(page, at("publication", campaign))
    assert page.post(at("extend", campaign), {"until": day.isoformat()}).status_code == 409


@pytest.mark.parametrize("day", ["", "2020-01-01", "9999-12-31", "soon"])
def test_a_day_that_cannot_be_is_refused(page: Client, published: Publication, day: str) -> None:
    assert page.post(at("extend", published.campaign), {"until": day}).status_code == 400
    assert not published.operations.filter(kind="reopen").exists()


def test_stopping_is_asked_for_on_a_page_that_says_what_it_does(page: Client, published: Publication) -> None:
    text = text_of(page, at("stop", published.campaign))
    assert "3 open HITs are ended at the platform" in text
    assert "stays owed until you resume" in text
    published.published_hits.filter(hit__number=1).update(max_assignments=0)  # as once all have been submitted
    assert "2 open HITs are ended at the platform" in text_of(page, at("stop", published.campaign))
    assert fresh(published).state == "open"


def test_a_refused_call_is_shown_and_tried_again(page: Client, published: Publication) -> None:
    campaign = published.campaign
    operation = published.operations.filter(kind="create").first()
    assert operation is not None
    Operation.objects.filter(pk=operation.pk).update(state="refused", error="InvalidParameterValue: no <b>.")
    alarm_raise(of=published, kind=PlatformAlarm.REFUSED, about=operation, text="Refused.", at=timezone.now())
    text = text_of(page, at("publication", campaign))
    assert "InvalidParameterValue: no &lt;b&gt;." in text
    assert "Try again" in text
    for _time in range(2):
        assert page.post(at("retry", campaign, operation.pk)).status_code == 303
    assert fresh(operation).state == "planned"
    assert not published.alarms.filter(settled_at=None).exists()
    assert page.post(at("retry", campaign, 0)).status_code == 404


def test_pausing_a_campaign_pauses_its_publication_and_resuming_opens_its_hits_again(
    page: Client, published: Publication
) -> None:
    address = reverse("platforms:move", args=[published.campaign_id])
    hits = published.published_hits.count()

    assert page.post(address, {"to": "paused"}).status_code == 303
    published.refresh_from_db()
    assert published.state == "paused"
    assert published.operations.filter(kind="expire", state="planned").count() == hits > 0

    assert page.post(address, {"to": "open"}).status_code == 303
    published.refresh_from_db()
    assert published.state == "open"
    assert published.operations.filter(kind="reopen", state="planned").count() == hits


def test_resuming_a_campaign_does_not_lift_the_kill_switch(page: Client, published: Publication) -> None:
    publication_stop(publication=published, at=timezone.now())
    for state in ("paused", "open"):
        assert page.post(reverse("platforms:move", args=[published.campaign_id]), {"to": state}).status_code == 303
    published.refresh_from_db()
    assert (published.state, published.campaign.state) == ("stopped", "open")


def test_every_kind_of_alarm_says_what_to_do() -> None:
    assert set(ADVICE) == set(PlatformAlarm)
    assert all(str(advice.text) for advice in ADVICE.values())


def test_only_alarms_that_nothing_else_ends_can_be_set_aside(page: Client, published: Publication) -> None:
    campaign, now = published.campaign, timezone.now()
    funds = alarm_raise(of=published, kind=PlatformAlarm.FUNDS, text="No money.", at=now)
    ledger = alarm_raise(of=published, kind=PlatformAlarm.LEDGER, text="A cent.", at=now)
    assert text_of(page, at("publication", campaign)).count("Dismiss") == 1
    assert page.post(at("set_aside", campaign, funds.pk)).status_code == 303
    assert page.post(at("set_aside", campaign, ledger.pk)).status_code == 409
    assert list(Alarm.objects.filter(settled_at=None)) == [ledger]


def test_an_alarm_about_a_worker_leads_to_the_worker(page: Client, published: Publication) -> None:
    campaign = published.campaign
    worker = factories.worker(campaign, "Alice")
    alarm_raise(of=published, kind=PlatformAlarm.LEAVES, about=worker, text="Often.", at=timezone.now())
    text = text_of(page, at("publication", campaign))
    assert text.count(reverse("review:worker", args=[campaign.pk, worker.pk])) == 1


def test_admins_can_look_at_the_rows_and_change_none(ada: User, published: Publication, wanda: Worker) -> None:
    work(published, wanda)
    settle(published)
    alarm_raise(of=published, kind=PlatformAlarm.FUNDS, text="No money.", at=timezone.now())
    browser = Client()
    browser.force_login(ada)
    names = ("publication", "publishedhit", "submission", "payment", "operation")
    for name in (*(f"platforms_{name}" for name in names), "core_alarm"):
        page = browser.get(reverse(f"admin:{name}_changelist"))
        assert page.status_code == 200, name
        row = page.context["cl"].result_list[0]
        change = reverse(f"admin:{name}_change", args=[row.pk])
        assert browser.get(change).status_code == 200, name
        assert browser.post(change, {}).status_code == 403, name
        assert browser.get(reverse(f"admin:{name}_add")).status_code == 403, name


# --- submissions


def test_unmatched_work_is_shown_beside_ours_and_approved_once(
    page: Client, rita: User, published: Publication, wanda: Worker, requester: Requester
) -> None:
    row, campaign = unmatched(published, wanda), published.campaign
    address = at("submission", campaign, row.pk)
    assert address in text_of(page, at("publication", campaign))  # from the alarm
    assert address in text_of(page, at("submissions", campaign))
    text = text_of(page, address)
    ours = campaign.assignments.get()
    assert all(
        words in text for words in (ours.receipt, "another", wanda.id, row.platform_assignment_id, row.why_unmatched)
    )
    assert reverse("review:assignment", args=[campaign.pk, ours.pk]) in text
    assert page.post(address, {"why": " ", "decision": "approve"}).status_code == 400
    assert page.post(address, {"why": "They wrote to us.", "decision": "nothing"}).status_code == 400
    for _time in range(2):
        assert page.post(address, {"why": "They wrote to us.", "decision": "approve"}).status_code == 303
    drain(published)
    row.refresh_from_db()
    assert (row.decision, row.decided_by, row.reason, row.status) == ("approve", rita, "They wrote to us.", "Approved")
    assert requester.assignment(row.platform_assignment_id)["AssignmentStatus"] == "Approved"
    assert list(Payment.objects.values_list("purpose", "amount", "state")) == [("reward", Decimal("0.10"), "paid")]
    assert page.post(address, {"why": "No.", "decision": "reject"}).status_code == 409
    assert not Operation.objects.filter(kind="reject").exists()


def test_a_rejection_needs_a_reason_and_pays_nothing(
    page: Client, published: Publication, wanda: Worker, requester: Requester
) -> None:
    row, campaign = unmatched(published, wanda), published.campaign
    address = at("submission", campaign, row.pk)
    assert "has a rejection on their record" in text_of(page, address)
    assert page.post(address, {"decision": "reject"}).status_code == 400
    assert page.post(address, {"why": "No work is here.", "decision": "reject"}).status_code == 303
    drain(published)
    answer = requester.assignment(row.platform_assignment_id)
    assert (answer["AssignmentStatus"], answer["RequesterFeedback"]) == ("Rejected", "No work is here.")
    assert not Payment.objects.exists()
    assert address in text_of(page, at("submissions", campaign) + "?show=rejected")
    assert address not in text_of(page, at("submissions", campaign))
    assert page.get(at("submission", campaign, 0)).status_code == 404


def test_matched_work_waits_for_nobody(page: Client, published: Publication, wanda: Worker) -> None:
    work(published, wanda)
    settle(published)
    campaign, row = published.campaign, published.submissions.get()
    address = at("submission", campaign, row.pk)
    assert address not in text_of(page, at("submissions", campaign))
    assert address in text_of(page, at("submissions", campaign) + "?show=all")
    text = text_of(page, address)
    assert all(words in text for words in ("the same", "$1.90", "Approved automatically"))


# --- compensations


def test_nothing_is_compensated_that_the_platform_could_not_be_asked_about(
    published: Publication, wanda: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(published, wanda)
    later = timezone.now() + timedelta(hours=3)

    def fail(**_facts: object) -> int:
        raise ValueError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr("platforms.syncing.published_hit_poll", fail)
        publication_sync(publication=published, at=later, everything=True)
    assert compensations_find(publication=published, at=later) == 0
    publication_sync(publication=published, at=later, everything=True)
    assert compensations_find(publication=published, at=later) == 1


def test_a_compensation_is_offered_once(page: Client, published: Publication, wanda: Worker) -> None:
    campaign = published.campaign
    assignment = arrive(published, wanda)
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())  # and never submitted there
    later = timezone.now() + timedelta(hours=3)
    assert compensations_find(publication=published, at=later) == 0  # the platform was not asked yet: it may be there
    publication_sync(publication=published, at=later, everything=True)
    compensations_find(publication=published, at=later)
    payment = Payment.objects.get(purpose="compensation")
    assert "not offered" in text_of(page, at("compensations", campaign))
    for _time in range(2):
        assert page.post(at("compensate", campaign, payment.pk)).status_code == 303
    assert Operation.objects.filter(kind="compensate").count() == 1
    drain(published)
    text = text_of(page, at("compensations", campaign))
    assert 'data-head="State">offered</td>' in text
    assert "Offer $2.00" not in text
    published_hit = published.published_hits.get(hit=None)
    wanda.do(published_hit.platform_hit_id, compensation="taken")
    settle(published)
    assert 'data-head="State">paid</td>' in text_of(page, at("compensations", campaign))
    assert page.post(at("compensate", campaign, 0)).status_code == 404


def test_a_compensation_for_made_up_ids_is_declined_with_a_reason(
    page: Client, published: Publication, wanda: Worker
) -> None:
    campaign = published.campaign
    judge(published, wanda)
    later = timezone.now() + timedelta(hours=3)
    publication_sync(publication=published, at=later, everything=True)
    compensations_find(publication=published, at=later)
    payment = Payment.objects.get(purpose="compensation")
    assert page.post(at("decline", campaign, payment.pk), {"why": " "}).status_code == 400
    for _time in range(2):
        assert page.post(at("decline", campaign, payment.pk), {"why": "never accepted"}).status_code == 303
    payment.refresh_from_db()
    assert (payment.state, payment.evidence["declined"]) == ("refused", "never accepted")
    assert page.post(at("compensate", campaign, payment.pk)).status_code == 409
    assert not published.alarms.filter(settled_at=None).exists()
    assert compensations_find(publication=published, at=later) == 0


def test_lists_of_a_publication_come_as_csv_without_an_id_or_word_of_a_worker(
    page: Client, published: Publication, wanda: Worker
) -> None:
    row, campaign = unmatched(published, wanda), published.campaign
    assignment = campaign.assignments.get()
    money = {"amount": Decimal("2.00"), "fee": Decimal("0.40"), "owed_at": timezone.now()}
    Payment.objects.get_or_create(publication=published, assignment=assignment, purpose="compensation", defaults=money)
    published.messages.create(
        worker=assignment.worker, state="received", subject="From Wanda", text="I am Wanda", at=timezone.now()
    )

    files = {name: rows_of(page, at(name, campaign)) for name in ("submissions", "compensations", "messages")}
    files["terms"] = rows_of(page, at("terms", campaign), csv="versions")

    assert [row["submission"] for row in files["submissions"]] == [str(row.pk)]
    [compensation] = files["compensations"]
    assert (compensation["amount"], compensation["offer"]) == ("2.00", "not offered")
    assert [(row["state"], row["worker"]) for row in files["messages"]] == [("received", str(assignment.worker_id))]
    assert json.loads(files["terms"][0]["values"])["title"] == published.title
    everything = [value for rows in files.values() for row in rows for value in row.values()]
    assert not any("Wanda" in value or row.platform_worker_id in value for value in everything)


def test_work_that_may_have_been_submitted_after_all_is_pointed_out(
    page: Client, published: Publication, wanda: Worker
) -> None:
    row, campaign = unmatched(published, wanda), published.campaign
    Payment.objects.get_or_create(
        publication=published,
        assignment=campaign.assignments.get(),
        purpose="compensation",
        defaults={"amount": Decimal("2.00"), "fee": Decimal("0.40"), "owed_at": timezone.now()},
    )
    assert f"submission {row.pk} may be this work" in text_of(page, at("compensations", campaign))


# --- the ledger


def test_the_ledger_adds_up_and_is_compared(
    page: Client, published: Publication, wanda: Worker, requester: Requester
) -> None:
    work(published, wanda)
    settle(published)
    campaign = published.campaign
    answer = page.get(at("ledger", campaign))
    assert [tuple(row) for row in answer.context["sums"]] == [
        ("reward", "paid", 1, Decimal("0.10"), Decimal("0.02")),
        ("bonus", "paid", 1, Decimal("1.90"), Decimal("0.38")),
    ]
    assert "They are compared every six hours" in answer.content.decode()
    assert platform_jobs.compare(published.pk) == "differences: 0"
    text = text_of(page, at("ledger", campaign))
    assert "The two agree, HIT by HIT" in text
    assert f"The account had ${requester.money()[0]}" in text
    assert wanda.id not in text


def test_a_difference_is_named(page: Client, published: Publication, wanda: Worker) -> None:
    work(published, wanda)
    settle(published)
    Payment.objects.filter(purpose="bonus").update(amount=Decimal("1.89"))
    assert platform_jobs.compare(published.pk) == "differences: 1"
    text = text_of(page, at("ledger", published.campaign))
    assert "differ on 1 HIT" in text
    assert "bonuses of $1.89, the platform $0.10 and $1.90" in text
    assert at("ledger", published.campaign) in text_of(page, at("publication", published.campaign))  # from the alarm


def test_a_comparison_is_asked_of_the_background(
    page: Client, published: Publication, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(platform_jobs.compare, "delay", calls.append)
    assert page.post(at("compare", published.campaign)).status_code == 303
    assert calls == [published.pk]

    from kombu.exceptions import OperationalError

    def unreachable(_pk: int) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(platform_jobs.compare, "delay", unreachable)
    assert page.post(at("compare", published.campaign)).status_code == 303


def test_the_csv_has_every_payment_no_worker_of_the_platform_and_no_formula(
    page: Client, published: Publication, wanda: Worker
) -> None:
    work(published, wanda)
    settle(published)
    campaign = published.campaign
    bonus = Payment.objects.get(purpose="bonus")
    Payment.objects.filter(pk=bonus.pk).update(
        evidence={"=cmd|' /C calc'!A0": f"{wanda.id} said", "BonusPayment": {"WorkerId": wanda.id}}
    )
    Submission.objects.update(platform_assignment_id="=1+1")
    answer = page.get(at("ledger_csv", campaign))
    assert answer.streaming
    assert answer["Content-Disposition"] == 'attachment; filename="pilot-payments.csv"'
    written = b"".join(answer.streaming_content).decode()  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [(row["purpose"], row["amount"], row["fee"]) for row in rows] == [
        ("reward", "0.10", "0.02"),
        ("bonus", "1.90", "0.38"),
    ]
    assert wanda.id not in written
    assert rows[1]["evidence"] == "'=cmd|' /C calc'!A0=… said"
    assert rows[1]["platform_assignment"] == "'=1+1"
    assert rows[1]["worker"] == str(campaign.assignments.get().worker_id)


# --- notifications

SECRET = "the secret of an access key"


@pytest.fixture
def listening(settings: Any, published: Publication) -> Iterator[None]:
    """The site takes notifications that are signed with SECRET. By itself it asks about no HIT for an hour."""
    settings.MARKETPLACE_NOTIFICATION_SECRET = SECRET
    published.published_hits.update(next_poll_at=timezone.now() + timedelta(hours=1))
    cache.clear()
    yield
    cache.clear()


def message(*platform_hit_ids: str) -> bytes:
    """A notification's body as the marketplace writes it."""
    events = [
        {"EventType": "AssignmentSubmitted", "EventTimestamp": "2026-01-01T00:00:00Z", "HITTypeId": "3T", "HITId": key}
        for key in platform_hit_ids
    ]
    inner = {"EventDocId": "3E", "EventDocVersion": "2014-08-15", "CustomerId": "A1", "Events": events}
    return json.dumps({"Type": "Notification", "MessageId": "3E", "Message": json.dumps(inner)}).encode()


def tell(
    publication: Publication, body: bytes, *, secret: str = SECRET, late: float = 0, header: str | None = None
) -> int:
    """Post a notification, signed so. The status."""
    stamp = str(int(timezone.now().timestamp() - late))
    key = hmac.digest(secret.encode(), b"notifications", "sha256")
    proof = hmac.new(key, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    signed = f"key=MKP1,t={stamp},v1={proof}" if header is None else header
    address = reverse("platforms:notifications", args=[publication.reference])
    client = Client(enforce_csrf_checks=True)
    return client.post(
        address, body, content_type="application/json", headers={"X-Marketplace-Signature": signed}
    ).status_code


def due(publication: Publication) -> set[int]:
    """The numbers of the HITs that are asked about now."""
    return set(
        publication.published_hits.filter(next_poll_at__lte=timezone.now()).values_list("hit__number", flat=True)
    )


def test_a_signed_notification_has_its_hits_asked_about_next(published: Publication, listening: None) -> None:
    assert due(published) == set()
    body = message(published_hit_of(published, 2).platform_hit_id, "3NOTOURS")
    assert tell(published, body) == 204
    assert due(published) == {2}
    assert tell(published, body) == 204  # twice is as once
    assert due(published) == {2}


@pytest.mark.parametrize(
    "how",
    [
        {"secret": "guessed"},
        {"late": 301},
        {"late": -600},  # still in the future when a slow machine reads it
        {"header": ""},
        {"header": "t=1767225600,v1=abc"},
        {"header": "t=²,v1=ä"},
    ],
)
def test_what_is_forged_or_stale_is_refused(published: Publication, listening: None, how: dict[str, Any]) -> None:
    assert tell(published, message(published_hit_of(published, 1).platform_hit_id), **how) == 403
    assert due(published) == set()


def test_a_signature_holds_for_its_own_body_alone(published: Publication, listening: None) -> None:
    stamp = str(int(timezone.now().timestamp()))
    key = hmac.digest(SECRET.encode(), b"notifications", "sha256")
    proof = hmac.new(key, f"{stamp}.".encode() + message("3OTHER"), hashlib.sha256).hexdigest()
    body = message(published_hit_of(published, 1).platform_hit_id)
    assert tell(published, body, header=f"t={stamp},v1={proof}") == 403
    assert due(published) == set()


def test_without_a_secret_there_is_no_such_address(published: Publication) -> None:
    assert django_settings.MARKETPLACE_NOTIFICATION_SECRET == ""
    assert tell(published, message("3H"), secret="") == 404


def test_only_small_notifications_of_known_publications_that_can_be_read_are_taken(
    published: Publication, listening: None
) -> None:
    assert tell(published, b" " * 70_000) == 413
    for body in (b"", b"[]", b"{}", b'{"Message": "[1]"}', b'{"Message": "{\\"Events\\": [1]}"}', b"[" * 10_000):
        assert tell(published, body) == 400
    assert tell(Publication(reference="elsewhere"), message("3H")) == 404
    address = reverse("platforms:notifications", args=[published.reference])
    assert Client().get(address).status_code == 405


def test_a_flood_is_refused(
    published: Publication, listening: None, limits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "HEARD_RATE", "5/m")
    assert {tell(published, b"{}", secret="guessed") for _time in range(12)} == {403, 429}


def test_the_marketplaces_own_notification_is_understood(
    live_server: Any,
    page: Client,
    published: Publication,
    wanda: Worker,
    requester: Requester,
    marketplace: Marketplace,
    settings: Any,
) -> None:
    settings.SITE_URL = live_server.url
    assert page.post(at("listen", published.campaign)).status_code == 409
    settings.MARKETPLACE_NOTIFICATION_SECRET = requester.secret
    for _time in range(2):
        assert page.post(at("listen", published.campaign)).status_code == 303
    work(published, wanda, 2)
    assert due(published) == set()
    marketplace.test("deliver")
    assert due(published) == {2}
    finish(arrive(published, wanda, 3), wanda)
    marketplace.test("faults", script=[{"kind": "notification_doubled"}])
    marketplace.test("deliver")
    assert due(published) == {2, 3}
