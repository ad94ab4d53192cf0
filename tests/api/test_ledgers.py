"""Through the API, at a real marketplace: calls in trouble, alarms, reach, ledgers, adjusted pay, costs."""

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.alarms import alarm_raise
from core.models import User
from judgments import quality
from platforms import jobs as platform_jobs
from platforms.models import Operation, Payment, PlatformAlarm, Publication, Submission
from platforms.publishing.publications import publication_extend
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from pools.models import Campaign
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.marketplace.server import Requester, Worker
from tests.platforms.conftest import marketplace, publication, published, requester, wanda  # noqa: F401
from tests.platforms.platforms import Clock, drain, published_hit_of, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def base(published: Publication) -> str:  # noqa: F811
    """The address of a published campaign's publication."""
    return f"campaigns/{published.campaign_id}/publication/"


def test_a_refused_call_is_read_tried_again_and_its_alarm_dismissed(
    published: Publication,  # noqa: F811
    requester: Requester,  # noqa: F811
    base: str,
    program: Program,
    viewer: Program,
) -> None:
    clock, hit = Clock(), published_hit_of(published, 1)
    requester.client.update_expiration_for_hit(HITId=hit.platform_hit_id, ExpireAt=0)
    requester.client.delete_hit(HITId=hit.platform_hit_id)
    publication_extend(publication=published, until=clock() + timedelta(days=60), at=clock())
    drain(published, clock)
    call = published.operations.get(state="refused")
    alarm = published.alarms.get(kind="refused", settled_at=None)

    [refused] = viewer.get(f"{base}calls/?state=refused").json()["results"]
    assert (refused["id"], refused["hit"], refused["error"]) == (call.pk, hit.hit_id, call.error)
    assert viewer.get(f"{base}calls/?state=unknown").json()["results"] == []
    assert_problem(viewer.get(f"{base}calls/?state=odd"), 400, field="state")
    browser = Client()
    browser.force_login(viewer.user)
    page = browser.get(reverse("platforms:publication", args=[published.campaign_id]), {"csv": "calls"})
    [row] = csv.DictReader(b"".join(page.streaming_content).decode().splitlines())  # type: ignore[attr-defined]
    assert (row["kind"], row["state"], row["error"]) == ("reopen", "refused", call.error)
    assert_problem(program.post(f"{base}calls/{10**9}/retry/"), 404)
    assert program.post(f"{base}calls/{call.pk}/retry/").json()["state"] == "planned"
    alarm.refresh_from_db()
    assert alarm.settled_at is not None

    again = alarm_raise(of=published, kind=PlatformAlarm.UNSEEN, text="Nobody comes.", at=clock())
    stays = alarm_raise(of=published, kind=PlatformAlarm.LEDGER, text="A cent.", at=clock())
    assert program.post(f"{base}alarms/{again.pk}/dismiss/").status_code == 204
    assert_problem(program.post(f"{base}alarms/{stays.pk}/dismiss/"), 409, says="once its cause is gone")
    assert [row["id"] for row in program.get(f"{base}alarms/").json()["results"]] == [stays.pk]


def test_a_call_in_doubt_that_is_never_made_again_is_decided_with_a_reason(
    published: Publication,  # noqa: F811
    base: str,
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = published.operations.latest("id")
    Operation.objects.filter(pk=call.pk).update(state="unknown", error="No answer.")
    handler = "platforms.outbox.handler_of"
    [row] = program.get(f"{base}calls/").json()["results"]
    assert (row["state"], row["may_be_decided"]) == ("unknown", False)
    decide = f"{base}calls/{call.pk}/decide/"
    assert_problem(program.post(decide, {"was_done": False}), 400, field="why")
    assert program.post(decide, {"was_done": False, "why": "Looked."}).json()["state"] == "unknown"  # it repeats itself

    class Once:
        """What may never be done twice."""

        def may_repeat(self, _call: Operation) -> bool:
            return False

        def comes_until(self, _call: Operation) -> None:
            """Nothing comes later."""

    monkeypatch.setattr(handler, lambda *_about: Once())
    [row] = program.get(f"{base}calls/").json()["results"]
    assert row["may_be_decided"] is True
    decided = program.post(decide, {"was_done": False, "why": "Looked there."}).json()
    assert (decided["state"], decided["error"]) == ("planned", "Looked there.")


def test_the_ledger_is_summed_compared_and_costs_are_those_of_the_page(
    published: Publication,  # noqa: F811
    wanda: Worker,  # noqa: F811
    base: str,
    program: Program,
    viewer: Program,
    stranger: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert program.get(f"{base}ledger/").json()["compared"] is None
    clock = Clock()
    work(published, wanda)
    monkeypatch.setattr("django.db.transaction.on_commit", lambda do: do())

    def ask(job: Any, address: str) -> None:
        keys: list[int] = []
        monkeypatch.setattr(job, "delay", keys.append)
        assert program.post(address).json() == {"asked_for": True}
        assert keys == [published.pk]
        job(published.pk)

    ask(platform_jobs.sync_whole, f"{base}sync/")
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=published, at=clock())
    drain(published, clock)
    ask(platform_jobs.compare, f"{base}ledger/compare/")
    platform_jobs.reconcile()

    ledger = viewer.get(f"{base}ledger/").json()
    assert ledger["paid"] == "2.00" and ledger["owed"] == "0.00"
    assert {(row["purpose"], row["amount"]) for row in ledger["sums"]} == {("reward", "0.10"), ("bonus", "1.90")}
    assert ledger["compared"]["agree"] is True and ledger["compared"]["platform_bonuses"] == "1.90"

    [cost] = viewer.get("costs/").json()["results"]
    assert (cost["campaign"], cost["platform"], cost["paid"], cost["bonuses"]) == (
        *(published.campaign_id, "marketplace"),
        *("2.00", "1.90"),
    )
    assert cost["expected"] == str(program.get(f"campaigns/{published.campaign_id}/bill/").json()["total"])
    assert program.get("costs/?platform=mturk").json()["results"] == []
    assert stranger.get("costs/").json()["results"] == []


def test_pay_is_raised_once_as_it_was_seen(
    published: Publication,  # noqa: F811
    wanda: Worker,  # noqa: F811
    base: str,
    program: Program,
    viewer: Program,
) -> None:
    address = f"{base}adjustment/"
    assert_problem(program.get(f"{address}?hourly=15"), 409, says="time is known")
    assert_problem(program.get(address), 400, field="hourly")
    assert_problem(program.get(f"{address}?hourly=much"), 400, field="hourly")
    clock = Clock()
    work(published, wanda)
    publication_sync(publication=published, at=clock(), everything=True)
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=published, at=clock())
    drain(published, clock)

    Submission.objects.update(seconds_there=1800)
    offer = viewer.get(f"{address}?hourly=6").json()
    assert (offer["people"], offer["to"], offer["amount"]) == (1, "3.00", "1.00")
    confirmed = {"hourly": "6", "seen": offer["seen"], "why": "It took longer."}
    assert_problem(program.post(address, confirmed | {"seen": "0" * 64}), 409, says="Check the amounts")
    assert not Payment.objects.filter(purpose="adjustment").exists()
    assert program.post(address, confirmed, Idempotency_Key="raise").json() == {"raised": 1}
    assert program.post(address, confirmed, Idempotency_Key="raise").json() == {"raised": 1}
    assert program.post(address, confirmed).json() == {"raised": 0}
    assert str(Payment.objects.get(purpose="adjustment").amount) == offer["amount"]


def test_reach_is_asked_of_the_platform_and_says_why_it_is_not_known(
    campaign: Campaign,
    requester: Requester,  # noqa: F811
    viewer: Program,
    settings: Any,
) -> None:
    address = f"campaigns/{campaign.pk}/reach/"
    reach = viewer.get(address).json()
    assert 1 <= reach["qualified"] <= reach["active"] and "of the marketplace" in reach["sentence"]
    settings.MARKETPLACE_URL = "http://127.0.0.1:1"
    reach = viewer.get(address).json()
    assert (reach["qualified"], reach["active"]) == (None, None) and "not known" in reach["sentence"]


def test_the_marketplace_is_asked_to_notify_where_a_secret_is_set(
    published: Publication,  # noqa: F811
    base: str,
    program: Program,
    settings: Any,
) -> None:
    address = f"{base}listen/"
    settings.MARKETPLACE_NOTIFICATION_SECRET = ""
    assert_problem(program.post(address), 409, says="MARKETPLACE_NOTIFICATION_SECRET")
    settings.MARKETPLACE_NOTIFICATION_SECRET = "a secret of the two"
    assert [program.post(address).status_code for _time in range(2)] == [204, 204]


def test_a_draft_has_no_calls_and_no_ledger(campaign: Campaign, rita: User, program: Program) -> None:
    for what in ("calls/", "ledger/", "adjustment/"):
        assert_problem(program.get(f"campaigns/{campaign.pk}/publication/{what}"), 404, says="platform")
