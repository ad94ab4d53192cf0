"""A campaign at Prolific, from the token to the last cent."""

from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import urlsplit

import httpx
import pytest
from django.test import Client as Browser
from django.urls import reverse

from core.errors import BadRequest, NotNow, Refused
from core.models import Alarm, User
from judgments import services as judgment_services
from platforms import jobs
from platforms.finishing import publication_finish
from platforms.ledger_comparison import comparison_make
from platforms.models import LabAccount, Operation, Payment, Publication, StudySync, Submission
from platforms.money.lab_accounts import lab_account_remove, lab_account_store
from platforms.outbox import operation_decide
from platforms.prolific.client import Client
from platforms.publishing.publications import (
    campaign_move,
    dry_run,
    publication_pause,
    publication_publish,
    publication_resume,
)
from platforms.publishing.replacing_terms import publication_replace_terms
from platforms.registry import adapter_of
from platforms.reviewing.compensations import compensation_offer, compensations_find
from platforms.reviewing.deciding import bonus_grant, submission_reject
from platforms.reviewing.protocol import Ending
from platforms.reviewing.requeuing import publication_requeue
from platforms.syncing import finished_end, publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from tasks import links
from tasks.models import Assignment, Worker
from tasks.selectors import current_consent
from tests import factories
from tests.platforms.platforms import Clock, drain, settle
from tests.rows import fresh
from tests.simulation.prolific import Double, Place

DONE = Operation.State.DONE


def visit(place: Place, version: int = 1) -> str:
    """Somebody opens the study's address in a browser and agrees; where they are sent then."""
    parts = urlsplit(place.url)
    answer = Browser().post(f"{parts.path}?{parts.query}", {"version": version})
    return str(answer.headers.get("Location", f"{answer.status_code} {answer.content.decode()}"))


def begin(published: Publication, prolific: Double, name: str = "Pat") -> tuple[Place, Assignment]:
    """Somebody takes a place and begins."""
    place = prolific.take(published.hit_type_id, prolific.participant(name))
    consent = current_consent(published.campaign)
    assert visit(place, consent.version if consent else 1).startswith("/j/")
    return place, Assignment.objects.get(platform_assignment_id=place.submission)


def go_back(published: Publication, prolific: Double, submission: str, ending: str) -> None:
    """They go back to Prolific with the code for this ending."""
    way_back = adapter_of(published).exit_of(published, Ending(ending))
    assert way_back is not None
    prolific.complete(submission, way_back.code)


def finish(published: Publication, prolific: Double, assignment: Assignment) -> None:
    """They judge all, finish, and go back with the code of the last page."""
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=Clock()())
    assignment.refresh_from_db()
    go_back(published, prolific, assignment.platform_assignment_id, "finished")


def work(published: Publication, prolific: Double, name: str = "Pat") -> tuple[Place, Assignment]:
    """Somebody takes a place, judges all of it, and goes back."""
    place, assignment = begin(published, prolific, name)
    finish(published, prolific, assignment)
    return place, assignment


def test_a_campaign_is_one_study_published_once_though_every_answer_is_lost(
    publication: Publication, prolific: Double
) -> None:
    bodies = [request for _name, request in dry_run(publication)]
    assert bodies[1]["reward"] == publication.listed * 100
    for path in ("participant-groups/$", "studies/$", "transition/$"):
        prolific.fault("lost after", method="POST", path=path)
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    (study,) = prolific.rows("study")
    assert (study["status"], len(prolific.rows("participant_group"))) == ("ACTIVE", 1)
    assert publication.published_hits.exclude(platform_hit_id="").count() == 3
    assert not publication.operations.exclude(state=DONE).exists()
    publication_pause(publication=publication, at=clock())
    drain(publication, clock)
    assert prolific.rows("study")[0]["status"] == "PAUSED"
    publication_resume(publication=publication, at=clock())
    drain(publication, clock)
    assert prolific.rows("study")[0]["status"] == "ACTIVE"
    assert finished_end(publication=publication, at=clock()) == 0
    campaign_move(campaign=publication.campaign, to="closed", at=clock())
    assert finished_end(publication=publication, at=clock()) > 0
    drain(publication, clock)
    assert prolific.rows("study")[0]["status"] == "COMPLETED"


def test_work_is_approved_once_and_the_ledgers_agree_to_the_cent(published: Publication, prolific: Double) -> None:
    clock = Clock()
    place, assignment = begin(published, prolific)
    assert visit(place).startswith("/j/") and Assignment.objects.count() == 1  # the same visit goes on
    settle(published, clock)
    assert not Submission.objects.exists()  # at work still
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=clock())
    prolific.complete(place.submission, None)  # matched by its id, without any code
    prolific.fault("still active", path="transition/$", body="APPROVE")
    prolific.fault("lost after", path="transition/$", body="APPROVE")
    settle(published, clock)
    (reward,) = prolific.ledger("reward")
    payment = Payment.objects.get()
    assert (payment.state, reward["amount"]) == ("paid", int(payment.amount * 100))
    assert int(payment.fee * 100) == reward["fee"] + reward["vat"]
    assert comparison_make(publication=published, at=clock()).agree


@pytest.mark.parametrize("lost", ["lost before", "lost after", "broken after"])
def test_a_bonus_whose_answer_is_lost_is_paid_by_one_attempt_ever(
    lost: str, published: Publication, prolific: Double, rita: User
) -> None:
    clock = Clock()
    work(published, prolific)
    settle(published, clock)
    prolific.fault("lost after", path="submissions/bonus-payments/$")  # a batch that nobody pays costs nothing
    prolific.fault(lost, path="/pay/$")
    granted = bonus_grant(
        submission=Submission.objects.get(), amount=Decimal("2.30"), by=rita, why="Thanks", at=clock()
    )
    drain(published, clock, rounds=12)
    prolific.advance(3600)
    drain(published, clock, rounds=12)
    assert len(prolific.requests("/pay/")) == 1
    granted.refresh_from_db()
    if lost == "lost before":
        assert prolific.ledger("bonus") == []
        assert granted.state == "sent" and Alarm.objects.filter(kind="doubt", settled_at=None).exists()
        (call,) = Operation.objects.filter(kind="extra-bonus")
        with pytest.raises(BadRequest):
            operation_decide(operation=call, was_done=False, why=" ", by=rita, at=clock())
        soon = datetime.fromisoformat(call.result["asked_at"]) + timedelta(minutes=59)
        with pytest.raises(NotNow, match="may still do what it was asked for"):
            operation_decide(operation=call, was_done=False, why="Not in the history", by=rita, at=soon)
        page = Browser()
        page.force_login(rita)
        fields = {"was_done": "no", "why": "Not in the history"}
        address = reverse("platforms:retry", args=[published.campaign_id, call.pk])
        assert b"The platform may still do what it was asked for." in page.post(address, fields, follow=True).content
        call.refresh_from_db()
        assert (call.state, "batch" in call.result) == ("unknown", True)
        assert operation_decide(
            operation=call, was_done=False, why="Not in the history", by=rita, at=soon + timedelta(minutes=2)
        )
        assert not operation_decide(operation=call, was_done=False, why="Again", by=rita, at=clock())
        drain(published, clock)
        prolific.advance(3600)
        granted.refresh_from_db()
    (bonus,) = prolific.ledger("bonus")
    assert (granted.state, bonus["amount"]) == ("paid", 230)
    assert int(granted.fee * 100) == bonus["fee"] + bonus["vat"]
    assert comparison_make(publication=published, at=clock()).agree
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_a_process_that_comes_back_late_pays_nothing(published: Publication, prolific: Double, rita: User) -> None:
    clock = Clock()
    work(published, prolific)
    settle(published, clock)
    bonus_grant(submission=Submission.objects.get(), amount=Decimal(1), by=rita, why="Thanks", at=clock())
    call = Operation.objects.get(kind="extra-bonus")
    adapter = adapter_of(published)
    Operation.objects.filter(pk=call.pk).update(state="sent", attempts=2)
    call.attempts, call.sent_at = 1, clock()  # as the first process read it
    with pytest.raises(Exception, match="Another process"):
        adapter.operations["extra-bonus"].make(adapter.client(), call)
    assert prolific.requests("/pay/") == []


def test_a_returned_place_is_free_here_too_and_leaving_early_is_paid_as_a_bonus(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    gone, begun = begin(published, prolific, "Gone")
    prolific.give_back(gone.submission)
    publication_sync(publication=published, at=clock())
    begun.refresh_from_db()
    assert begun.leased_until <= clock()
    _place, left = begin(published, prolific, "Left")
    assert left.hit_id == begun.hit_id
    factories.judge(left, only=range(1, 3))
    judgment_services.assignment_leave(assignment=left, at=clock())
    go_back(published, prolific, left.platform_assignment_id, "left")
    settle(published, clock)
    assert not Submission.objects.exists()  # to be returned
    clock.ahead += published.longest_time + timedelta(hours=2)
    settle(published, clock)
    compensations_find(publication=published, at=clock())
    owed = Payment.objects.get(purpose="compensation")
    compensation_offer(payment=owed, at=clock())
    drain(published, clock, rounds=2)
    assert prolific.requests("bonus-payments") == []  # Prolific may still approve it
    prolific.give_back(left.platform_assignment_id)
    prolific.fault("lost after", path="/pay/$")
    drain(published, clock, rounds=6)
    prolific.advance(3600)
    drain(published, clock)
    owed.refresh_from_db()
    (bonus,) = prolific.ledger("bonus")
    assert (owed.state, bonus["amount"], len(prolific.requests("/pay/"))) == ("paid", int(owed.amount * 100), 1)
    assert prolific.ledger("reward") == []
    assert comparison_make(publication=published, at=clock()).agree


def test_a_place_that_is_not_returned_for_an_hour_is_asked_for_once_more(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place, other = (
        prolific.take(published.hit_type_id, prolific.participant(name)) for name in ("Declines", "Returns")
    )
    for each in (place, other):
        go_back(published, prolific, each.submission, Ending.DECLINED)
    prolific.give_back(other.submission)
    sync = lambda: publication_sync(publication=published, at=clock(), everything=True)  # noqa: E731
    sync()
    assert publication_requeue(publication=published, at=clock()) == 0  # it may be returned at any time
    clock.ahead += timedelta(hours=1)
    sync()
    assert publication_requeue(publication=published, at=clock()) == 1
    assert publication_requeue(publication=published, at=clock()) == 0
    drain(published, clock)
    assert Operation.objects.get(kind="extend").result["total_available_places"] == 4
    prolific.give_back(place.submission)
    sync()
    assert StudySync.objects.get().unreturned == 0
    assert publication_requeue(publication=published, at=clock()) == 0


def test_what_is_not_returned_has_an_alarm_and_is_in_the_ledger_when_prolific_pays_it(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    place = prolific.take(published.hit_type_id, prolific.participant("Declines"))
    go_back(published, prolific, place.submission, Ending.DECLINED)
    campaign_move(campaign=published.campaign, to="closed", at=clock())
    finished_end(publication=published, at=clock())
    drain(published, clock)
    assert prolific.rows("study")[0]["status"] != "ACTIVE"
    clock.ahead += published.longest_time + timedelta(days=2)
    settle(published, clock)
    assert not published.published_hits.filter(next_poll_at__isnull=False).exists()
    alarm = Alarm.objects.get(kind="unreturned")
    assert alarm.text.startswith("Some participants came back to Prolific without work, and have not returned their")
    assert not publication_finish(publication=published, at=clock())
    calls = len(prolific.requests("submissions/counts/"))
    jobs.sync()
    assert len(prolific.requests("submissions/counts/")) == calls + 1
    prolific.advance(22 * 86_400)
    clock.ahead += timedelta(days=22)
    settle(published, clock)
    alarm.refresh_from_db()
    paid = Payment.objects.get()
    assert alarm.settled_at is not None and paid.state == "paid"
    assert sum(row["amount"] for row in prolific.ledger("reward")) == paid.amount * 100
    assert comparison_make(publication=published, at=clock()).agree


def test_failed_tests_pay_and_ask_for_another_place_and_the_study_stops_when_all_is_done(
    published: Publication, prolific: Double
) -> None:
    clock = Clock()
    _place, failing = begin(published, prolific, "Fails")
    factories.judge(failing, fail_tests=True)
    judgment_services.assignment_finish(assignment=failing, at=clock())
    prolific.complete(failing.platform_assignment_id, None)
    settle(published, clock)
    failing.refresh_from_db()
    assert failing.verdict == "excluded" and len(prolific.ledger("reward")) == 1
    opened_again = Browser().get(f"/j/{links.assignment_token(failing)}/done/").content.decode()
    assert f"cc={adapter_of(published).exit_of(published, Ending.FAILED).code}" in opened_again  # type: ignore[union-attr]
    assert publication_requeue(publication=published, at=clock()) == 1
    drain(published, clock)
    assert Operation.objects.get(kind="extend").result["total_available_places"] == 4
    assert Operation.objects.filter(kind="exclude", state=DONE).count() == 1
    assert len(prolific.rows("membership")) == 1
    for number in range(3):
        work(published, prolific, f"Pat {number}")
    settle(published, clock)
    assert prolific.rows("study")[0]["status"] == "COMPLETED"
    assert len(prolific.ledger("reward")) == 4


def test_ids_that_prolific_does_not_confirm_open_nothing(published: Publication, prolific: Double) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    wrong = place.url.replace(place.submission, "f" * 24)
    assert "did not sign this address for this visit" in visit(place._replace(url=wrong))
    adapter = adapter_of(published)
    for study, person in ((published.hit_type_id, "f" * 24), ("f" * 24, place.submission)):
        with pytest.raises(BadRequest, match="does not know of this visit"):
            adapter.confirm_arrival(published, study=study, worker_id=person, assignment_id=place.submission)
    assert not Assignment.objects.exists()
    prolific.give_back(place.submission)
    assert "this submission is over" in visit(place)
    assert not Assignment.objects.exists()


def test_a_rejection_is_a_persons_with_a_hundred_characters_and_a_category(
    published: Publication, prolific: Double, rita: User
) -> None:
    clock = Clock()
    stray = prolific.take(published.hit_type_id, prolific.participant("Stray"))
    prolific.complete(stray.submission, "WRONG")  # never opened here: on the first HIT, for a person
    settle(published, clock)
    submission = Submission.objects.get()
    assert (submission.assignment, submission.decision) == (None, "")
    about = {"submission": submission, "by": rita, "at": clock()}
    with pytest.raises(BadRequest, match="at least 100"):
        submission_reject(why="No.", **about)
    with pytest.raises(BadRequest, match="no rejection category"):
        submission_reject(why="x" * 100, category="UGLY", **about)
    submission_reject(why="You came back with a code of your own, and never opened the study. " * 2, **about)
    drain(published, clock)
    assert fresh(submission).status == "Rejected" and prolific.ledger("reward") == []


def test_a_token_is_checked_kept_sealed_and_never_shown(
    campaign: Campaign,
    account: LabAccount,
    prolific: Double,
    ada: User,
    client: Browser,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    assert prolific.token not in account.sealed and account.fee_share == Decimal("0.4")
    client.force_login(ada)
    address = reverse("platforms:lab_account", args=[campaign.lab_id, "prolific"])
    page = client.post(address, {"token": "wrong"})
    assert page.status_code == 400 and "does not accept this token" in page.content.decode()
    prolific.settings(currency="CHF")
    page = client.post(address, {"token": prolific.token})
    assert page.status_code == 409 and "is in CHF" in page.content.decode()
    prolific.settings(currency="USD")
    page = client.post(address, {"token": prolific.token}, follow=True)
    assert "$1,000.00" in page.content.decode() and prolific.token not in page.content.decode()
    assert "send_request_headers" in caplog.text and prolific.token not in caplog.text
    client.post(address, {"remove": "yes"})
    assert not LabAccount.objects.exists()


def test_reads_are_repeated_and_errors_are_sentences(prolific: Double) -> None:
    pauses: list[float] = []
    api = Client(url=f"{prolific.api}/", token=prolific.token, sleep=pauses.append)
    prolific.fault("too many", path="users/me", seconds=3)
    prolific.fault("lost before", path="users/me")
    assert api.get("users/me/")["id"] and len(pauses) == 2 and 3 in pauses
    with pytest.raises(Exception, match="eward"):
        api.post("study-cost-calculator/", {"reward": 0, "total_available_places": 1})
    prolific.fault("lost before", path="study-cost")
    with pytest.raises(httpx.HTTPError):
        api.post("study-cost-calculator/", {"reward": 1, "total_available_places": 1})
    assert len(prolific.requests("study-cost")) == 2
    assert prolific.token not in repr(api.__dict__)


def test_a_lab_without_a_token_cannot_choose_prolific(campaign: Campaign, rita: User, client: Browser) -> None:
    client.force_login(rita)
    page = client.get(reverse("platforms:terms", args=[campaign.pk])).content.decode()
    assert 'value="mturk"' in page and 'value="prolific"' not in page
    with pytest.raises(Refused, match="no account at Prolific"):
        publication_write(campaign=campaign, platform="prolific")


def test_the_pages_show_the_way_back_with_button_and_code_for_each_ending(
    published: Publication, prolific: Double
) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    parts, browser, adapter = urlsplit(place.url), Browser(), adapter_of(published)
    page = browser.get(f"{parts.path}?{parts.query}")
    assert page.status_code == 200 and not Assignment.objects.exists()
    codes = {ending: adapter.exit_of(published, ending).code for ending in Ending}  # type: ignore[union-attr]
    assert len(set(codes.values())) == len(codes)
    declined = browser.get(reverse("judging:visit_declined", args=[published.campaign.link])).content.decode()
    assert f"cc={codes[Ending.DECLINED]}" in declined and f">{codes[Ending.DECLINED]}<" in declined
    address = visit(place)
    assert browser.get(address).status_code == 200
    assignment = Assignment.objects.get()
    factories.judge(assignment, only=range(1, 3))
    assert "You are paid" in browser.get(f"{address}leave/").content.decode()
    Publication.objects.filter(pk=published.pk).update(pay="full-on-exit")
    assert "button to submit" not in browser.get(f"{address}leave/").content.decode()  # it is a way back, with a code
    Publication.objects.filter(pk=published.pk).update(pay=published.pay)
    left = browser.post(f"{address}leave/", follow=True).content.decode()
    assert f"cc={codes[Ending.LEFT]}" in left and "paid as a bonus" in left
    Publication.objects.filter(pk=published.pk).update(pay="full-on-exit")
    assert f"cc={codes[Ending.FINISHED]}" in browser.get(f"{address}done/").content.decode()
    Publication.objects.filter(pk=published.pk).update(pay=published.pay)
    _place, other = work(published, prolific, "Sam")
    done = browser.get(f"/j/{links.assignment_token(other)}/done/")
    text = done.content.decode()
    assert f"cc={codes[Ending.FINISHED]}" in text and f">{codes[Ending.FINISHED]}<" in text
    assert "externalSubmit" not in text and done.headers["X-Frame-Options"] == "DENY"
    Assignment.objects.filter(pk=other.pk).update(leased_until=other.taken_at)
    late = browser.get(f"/j/{links.assignment_token(other)}/done/").content.decode()
    assert "after time ran out" in late and "separate task" not in late


def test_another_submission_of_the_same_person_gets_another_hit_up_to_what_the_campaign_allows(
    publication: Publication, prolific: Double
) -> None:
    clock = Clock()
    Campaign.objects.filter(pk=publication.campaign_id).update(hits_per_worker=2)
    publication = Publication.objects.get(pk=publication.pk)
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    publication.refresh_from_db()
    person, hits = prolific.participant("Pat"), set[int]()
    for _time in range(2):
        place = prolific.take(publication.hit_type_id, person)
        assert visit(place).startswith("/j/")
        assignment = Assignment.objects.get(platform_assignment_id=place.submission)
        hits.add(assignment.hit_id)
        finish(publication, prolific, assignment)
    assert len(hits) == 2
    assert publication.hit_type_id not in prolific.open_studies(person)


def test_too_little_time_is_refused_and_so_are_other_terms_of_a_published_study(publication: Publication) -> None:
    clock, campaign = Clock(), publication.campaign
    with pytest.raises(Refused, match="wants at least"):
        publication_write(campaign=campaign, assignment_duration=timedelta(minutes=3))
    publication_publish(publication=publication, at=clock(), typed_name=campaign.name)
    drain(publication, clock)
    publication.refresh_from_db()
    age = [{"filter_id": "age", "selected_range": {"lower": 21}}]
    for terms in ({"title": "Another title"}, {"requirements": age}, {"assignment_duration": timedelta(hours=9)}):
        with pytest.raises(Refused, match="cannot be changed at Prolific"):
            publication_replace_terms(publication=publication, terms=terms, by=None, at=clock())


def test_a_workspace_is_named_by_its_id_and_a_token_that_pays_a_campaign_stays(
    published: Publication, account: LabAccount, prolific: Double, rita: User
) -> None:
    fields = {"lab": account.lab, "platform": "prolific", "token": prolific.token, "by": rita, "at": Clock()()}
    with pytest.raises(BadRequest, match=rf"{account.workspace_id}\)\. Choose one by its id"):
        lab_account_store(workspace_id="f" * 24, **fields)
    lab_account_store(workspace_id=account.workspace_id, **fields)
    with pytest.raises(NotNow, match="need the token"):
        lab_account_remove(lab=account.lab, platform="prolific")


def test_a_study_ends_at_once_when_the_last_task_is_done_by_a_link(
    published: Publication, prolific: Double, alice: Worker
) -> None:
    for _hit in range(2):
        factories.do(alice, published.campaign)
        jobs.offer(published.campaign_id)
    assert prolific.rows("study")[0]["status"] == "ACTIVE"
    last = factories.do(alice, published.campaign)
    assert last.leased_until > Clock()()
    jobs.offer(published.campaign_id)
    assert prolific.rows("study")[0]["status"] == "COMPLETED"
    assert not published.alarms.filter(settled_at=None).exists()
