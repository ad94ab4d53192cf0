"""A campaign at a platform: the right host, the exact requests, who may begin, what was submitted."""

import json
import ssl
import subprocess
import threading
from datetime import timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from django.utils import timezone

from core.errors import BadRequest, NotNow, Refused
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from platforms import jobs as platform_jobs
from platforms.adapter import Trouble, WrongHost
from platforms.addresses import frame_address
from platforms.arriving import assignment_arrive
from platforms.demands import PAPER
from platforms.models import Publication
from platforms.mturk.client import answers_of, assert_host, client_for, existing_hit, signed_post, trouble_of
from platforms.mturk.endpoints import bonus_fee, endpoint_of, reward_fee
from platforms.mturk.requirements import requirements_of
from platforms.outbox import operations_run
from platforms.publishing.publications import dry_run, publication_plan, publication_publish
from platforms.registry import adapter_of
from platforms.reviewing.requeuing import publication_requeue
from platforms.syncing import finished_end, hints_take, publication_sync, published_hit_poll
from platforms.terms import publication_write
from pools.models import Campaign
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Assignment, Hit, Worker
from tests import factories
from tests.marketplace.server import Marketplace, Requester
from tests.marketplace.server import Worker as PlatformWorker
from tests.platforms.platforms import Clock, arrive, drain, finish, judge, published_hit_of, work
from tests.races import beside

# --- hosts, errors, money


class _Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"Count": 7}')


def test_calls_beside_the_api_trust_the_authority_that_the_clients_trust(
    settings: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, key = tmp_path / "root.crt", tmp_path / "root.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-out", str(root), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(root, key)
    server = HTTPServer(("127.0.0.1", 0), _Echo)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.MARKETPLACE_URL = f"https://localhost:{server.server_port}"  # type: ignore[attr-defined]
    settings.MARKETPLACE_KEY = ("key", "secret")  # type: ignore[attr-defined]
    monkeypatch.setenv("AWS_CA_BUNDLE", str(root))
    try:
        assert signed_post(endpoint_of("marketplace"), "/extensions/x", "Service.X", {}, 5) == {"Count": 7}
    finally:
        server.shutdown()
        server.server_close()


def test_the_client_talks_to_the_environments_host_whatever_the_surroundings_say(
    requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://elsewhere.example.org")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    for name in ("marketplace", "mturk-sandbox", "mturk"):
        client = client_for(endpoint_of(name))
        assert_host(client, endpoint_of(name))
        assert client.meta.region_name == "us-east-1"
        assert client.meta.config.retries["total_max_attempts"] == 1
    assert client_for(endpoint_of("marketplace")).get_account_balance()["AvailableBalance"] == "1000.00"


def test_nothing_is_sent_to_another_host(publication: Publication, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = boto3.client("mturk", endpoint_url="https://elsewhere.example.org", region_name="us-east-1")
    with pytest.raises(WrongHost, match=r"elsewhere\.example\.org"):
        assert_host(wrong, endpoint_of("marketplace"))
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    monkeypatch.setattr("platforms.mturk.adapter.client_for", lambda _endpoint, **_how: wrong)
    with pytest.raises(WrongHost):
        operations_run(publication=publication, clock=clock, sleep=clock.sleep)


def test_a_platform_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Refused, match="no platform “moon”"):
        endpoint_of("moon")


def error(code: str, status: int = 400, turk: str = "") -> ClientError:
    """An error as botocore raises it."""
    response: dict[str, Any] = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response | ({"TurkErrorCode": f"AWS.MechanicalTurk.{turk}"} if turk else {}), "CreateHIT")


@pytest.mark.parametrize(
    ("raised", "trouble"),
    [
        (error("ThrottlingException"), Trouble.THROTTLED),
        (error("ServiceFault", 500), Trouble.UNKNOWN),
        (error("RequestError", turk="HitAlreadyExists"), Trouble.REPEATED),
        (error("RequestError", turk="DuplicateRequest"), Trouble.REPEATED),
        (error("RequestError", turk="InsufficientFunds"), Trouble.FUNDS),
        (error("RequestError", turk="InvalidAssignmentState"), Trouble.STATE),
        (error("RequestError", turk="InvalidParameterValue"), Trouble.REFUSED),
        (error("UnrecognizedClientException"), Trouble.ACCOUNT),
        (ReadTimeoutError(endpoint_url="x"), Trouble.UNKNOWN),
    ],
)
def test_errors_say_what_is_left_to_do(raised: Exception, trouble: Trouble) -> None:
    assert trouble_of(raised) == trouble


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        trouble_of(ZeroDivisionError())


def test_the_id_of_a_hit_that_exists_is_read_from_the_message() -> None:
    text = 'An error occurred: The HIT with ID "3ABCDEFGHIJKLMNOP" already exists, made with this UniqueRequestToken.'
    assert existing_hit(Exception(text)) == "3ABCDEFGHIJKLMNOP"
    assert existing_hit(Exception("no id")) == ""


def test_fees_are_those_of_the_facts() -> None:
    two = Decimal("2.00")
    assert (reward_fee(two, 1), reward_fee(two, 9), reward_fee(two, 10)) == (
        Decimal("0.40"),
        Decimal("0.40"),
        Decimal("0.80"),
    )
    assert (bonus_fee(Decimal("1.90")), bonus_fee(Decimal("0.01"))) == (Decimal("0.38"), Decimal("0.01"))


def test_answers_are_read_and_strange_documents_are_not() -> None:
    assert answers_of("<a><Answer><QuestionIdentifier>x</QuestionIdentifier><FreeText>1</FreeText></Answer></a>") == {
        "x": "1"
    }
    commented = "<a><Answer><QuestionIdentifier>x<!-- y --></QuestionIdentifier><FreeText>&lt;!</FreeText></Answer></a>"
    assert answers_of(commented) == {"x": "<!"}
    assert answers_of("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>") == {}
    assert answers_of('<!DOCTYPE a SYSTEM "https://example.org/a.dtd"><a/>') == {}
    assert answers_of("<a>\ud800</a>") == {}
    assert answers_of("no xml") == {}


# --- publishing


def test_frames_are_https_except_in_development(published: Publication, settings: Any) -> None:
    hit = Hit.objects.get(number=2)
    assert frame_address(published, hit) == f"http://localhost:8000/m/{published.campaign.link}/2/"
    settings.DEVELOPMENT = False
    with pytest.raises(Refused, match="https"):
        frame_address(published, hit)
    settings.SITE_URL = "https://judge.example.org"
    assert frame_address(published, hit) == f"https://judge.example.org/m/{published.campaign.link}/2/"


def test_a_dry_run_says_what_will_be_sent_and_sends_nothing(
    publication: Publication, requester: Requester, wanda: PlatformWorker
) -> None:
    publication.requirements = requirements_of(PAPER)
    publication.save()
    promised = list(dry_run(publication))
    assert [operation for operation, _request in promised] == [
        "CreateQualificationType",
        "CreateHITType",
        *["CreateHITWithHITType"] * 3,
    ]
    assert requester.client.list_hits()["NumResults"] == 0

    clock = Clock()
    publication_publish(publication=publication, at=clock())
    drain(publication, clock)

    sent = [operation.request for operation in publication.operations.order_by("id")]
    as_sent = json.loads(
        json.dumps([request for _operation, request in promised])
        .replace("<exclusion>", publication.exclusion_id)
        .replace("<HIT type>", publication.hit_type_id)
    )
    assert [{k: v for k, v in request.items() if k != "UniqueRequestToken"} for request in as_sent] == sent
    hit = requester.client.get_hit(HITId=published_hit_of(publication, 1).platform_hit_id)["HIT"]
    guarded = [(row["QualificationTypeId"], row["Comparator"]) for row in hit["QualificationRequirements"]]
    assert guarded == [
        ("00000000000000000071", "EqualTo"),
        ("00000000000000000040", "GreaterThan"),
        ("000000000000000000L0", "GreaterThanOrEqualTo"),
        (publication.exclusion_id, "DoesNotExist"),
    ]


def test_a_balance_that_does_not_cover_all_publishes_nothing(publication: Publication, requester: Requester) -> None:
    requester.hit(Reward="828.00")  # $6.40 are left, and $9.60 needed

    with pytest.raises(Refused, match=r"has \$6\.40, but the campaign may cost \$9\.60.* operator of the marketplace"):
        publication_publish(publication=publication, at=timezone.now())

    assert not publication.operations.exists()


def test_production_asks_for_the_campaigns_name(campaign: Campaign) -> None:
    publication = publication_write(campaign=campaign, platform="mturk")
    with pytest.raises(Refused, match="Type the campaign's name"):
        publication_publish(publication=publication, at=timezone.now(), typed_name="Pilot")
    assert not publication.operations.exists()


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"auto_approval": timedelta(days=2)}, "from 3 to 30 days"),
        ({"approve_after": timedelta(days=7)}, "a day less"),
        ({"lifetime": timedelta(seconds=20)}, "30 seconds"),
        ({"requirements": [{}] * 10}, "at most 9"),
        ({"platform": "moon"}, "no platform"),
        ({"rate": 0}, "greater than"),
    ],
)
def test_terms_that_cannot_be_are_refused(campaign: Campaign, settings: Any, terms: dict[str, Any], words: str) -> None:
    settings.MARKETPLACE_URL = "http://localhost:8100"
    with pytest.raises(Refused, match=words):
        publication_write(campaign=campaign, **terms)
    assert not Publication.objects.exists()


def test_published_terms_are_fixed(published: Publication) -> None:
    with pytest.raises(NotNow):
        publication_write(campaign=published.campaign, base=Decimal("0.50"))


# --- arriving


def again(assignment: Assignment, publication: Publication, **changes: Any) -> Assignment:
    """The same frame once more, or with other ids."""
    ids = {"assignment_id": assignment.platform_assignment_id, "worker_id": assignment.worker.external_id} | changes
    return assignment_arrive(publication=publication, hit=assignment.hit, at=timezone.now(), **ids)


def test_arriving_again_gives_the_same_assignment(published: Publication, wanda: PlatformWorker) -> None:
    assignment = arrive(published, wanda)

    assert again(assignment, published) == assignment
    assert (Assignment.objects.count(), Worker.objects.count()) == (1, 1)
    assert assignment.worker.platform == "marketplace"


def test_a_returned_assignment_taken_by_another_is_another_row(
    published: Publication, wanda: PlatformWorker, will: PlatformWorker
) -> None:
    first = arrive(published, wanda)
    factories.judge(first, only=[1, 2])
    wanda.give_back(first.platform_assignment_id)

    second = arrive(published, will)

    assert second.platform_assignment_id == first.platform_assignment_id
    assert second != first
    assert second.judgments.count() == 0
    finish(second, will)
    publication_sync(publication=published, at=timezone.now(), everything=True)
    assert published.submissions.get().assignment == second


def test_who_is_barred_or_too_late_is_refused(
    published: Publication, wanda: PlatformWorker, will: PlatformWorker
) -> None:
    assignment = arrive(published, wanda)
    task_services.worker_bar(worker=assignment.worker, at=timezone.now())
    with pytest.raises(task_services.NoWork, match="no more tasks"):
        arrive(published, wanda, 2)
    Hit.objects.filter(number=3).update(needed=0)
    with pytest.raises(task_services.NoWork, match="Others have completed this task"):
        arrive(published, will, 3)
    assert again(assignment, published) == assignment  # what was begun may be finished


def test_a_worker_of_a_platform_may_hold_several_tasks(published: Publication, wanda: PlatformWorker) -> None:
    first, second = arrive(published, wanda), arrive(published, wanda, 2)
    finish(second, wanda)
    finish(first, wanda)
    publication_sync(publication=published, at=timezone.now(), everything=True)
    assert {row.assignment for row in published.submissions.all()} == {first, second}


@pytest.mark.parametrize("made_up", ["ASSIGNMENT_ID_NOT_AVAILABLE", "", "x" * 65, "a b", "é", "\0"])
def test_a_preview_makes_no_rows(published: Publication, made_up: str) -> None:
    hit = Hit.objects.get(number=1)
    with pytest.raises(BadRequest):
        assignment_arrive(publication=published, hit=hit, assignment_id=made_up, worker_id="A1", at=timezone.now())
    assert not Worker.objects.exists()


# --- sync


def test_submitted_is_what_the_api_says(published: Publication, wanda: PlatformWorker) -> None:
    assignment = judge(published, wanda)
    assert publication_sync(publication=published, at=timezone.now(), everything=True) == (3, 0)

    assignment.refresh_from_db()
    wanda.submit(assignment.platform_assignment_id, receipt=assignment.receipt)

    assert publication_sync(publication=published, at=timezone.now(), everything=True) == (3, 1)
    assert publication_sync(publication=published, at=timezone.now(), everything=True) == (3, 0)
    assert published.submissions.get().assignment == assignment


def test_only_what_is_reviewable_or_due_is_asked_about(published: Publication, wanda: PlatformWorker) -> None:
    later = timezone.now() + timedelta(minutes=10)
    publication_sync(publication=published, at=later)
    work(published, wanda, 2)

    assert publication_sync(publication=published, at=later + timedelta(seconds=10)) == (0, 0), "asked about just now"
    assert publication_sync(publication=published, at=later + timedelta(minutes=1)) == (1, 1)
    assert publication_sync(publication=published, at=later + timedelta(minutes=2)) == (0, 0), "known to be submitted"


def test_a_hint_makes_the_poll_come_sooner(published: Publication) -> None:
    at = timezone.now()
    publication_sync(publication=published, at=at + timedelta(minutes=10))
    hint = [published_hit_of(published, 1).platform_hit_id, "3SOMEBODYELSES"]
    assert hints_take(publication=published, platform_hit_ids=hint, at=at + timedelta(minutes=11)) == 1
    assert publication_sync(publication=published, at=at + timedelta(minutes=11)).polled == 1


def test_every_page_is_read_and_every_submission_found(
    marketplace: Marketplace, published: Publication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platforms.mturk.client.PAGE", 2)
    published_hit = published_hit_of(published, 1)
    client = client_for(endpoint_of("marketplace"))
    client.create_additional_assignments_for_hit(HITId=published_hit.platform_hit_id, NumberOfAdditionalAssignments=6)
    for _ in range(7):
        marketplace.worker(vouched_approved=20_000).do(published_hit.platform_hit_id)
    marketplace.test("faults", script=[{"kind": "throttled"}, {"kind": "before_commit"}, {"kind": "reply_dropped"}])

    assert publication_sync(publication=published, at=timezone.now(), everything=True).new == 7


def test_work_that_arrives_after_the_expiry_is_taken(published: Publication, wanda: PlatformWorker) -> None:
    assignment = arrive(published, wanda)
    client = client_for(endpoint_of("marketplace"))
    client.update_expiration_for_hit(HITId=assignment.hit.published_hits.get().platform_hit_id, ExpireAt=0)
    published.published_hits.update(expires_at=timezone.now())
    publication_sync(publication=published, at=timezone.now(), everything=True)

    finish(assignment, wanda)

    later = timezone.now() + timedelta(hours=1)
    assert publication_sync(publication=published, at=later).new == 1
    assert published.submissions.get().assignment == assignment


@pytest.mark.parametrize("receipt", ["", "7K3M-Q2ZD-91XA"])
def test_a_wrong_receipt_waits_for_a_person(published: Publication, wanda: PlatformWorker, receipt: str) -> None:
    assignment = judge(published, wanda)
    wanda.submit(assignment.platform_assignment_id, receipt=receipt)

    publication_sync(publication=published, at=timezone.now(), everything=True)

    submission = published.submissions.get()
    assert submission.assignment is None
    assert "receipt" in submission.why_unmatched
    assert published.alarms.filter(kind="unmatched", settled_at=None).count() == 1


def test_work_that_was_not_finished_here_waits_and_is_matched_once_it_is(
    published: Publication, wanda: PlatformWorker
) -> None:
    assignment = arrive(published, wanda)
    code = task_services.receipt_code(assignment)
    wanda.submit(assignment.platform_assignment_id, receipt=code)
    publication_sync(publication=published, at=timezone.now(), everything=True)
    assert "did not finish here" in published.submissions.get().why_unmatched

    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    publication_sync(publication=published, at=timezone.now(), everything=True)

    assert published.submissions.get().assignment == assignment
    assert not published.alarms.filter(settled_at=None).exists()


def test_unchecked_work_rings_before_the_platforms_clock_approves_it(
    published: Publication, wanda: PlatformWorker
) -> None:
    wanda.do(published_hit_of(published, 1).platform_hit_id)
    publication_sync(publication=published, at=timezone.now(), everything=True)
    assert not published.alarms.filter(kind="auto-approval").exists()

    publication_sync(publication=published, at=timezone.now() + timedelta(days=6, hours=1), everything=True)

    assert published.alarms.filter(kind="auto-approval", settled_at=None).count() == 1


def test_a_hit_that_needs_nobody_any_more_is_ended(published: Publication, requester: Requester) -> None:
    Hit.objects.filter(number=1).update(needed=0)

    assert finished_end(publication=published, at=timezone.now()) == 1
    assert finished_end(publication=published, at=timezone.now()) == 0
    drain(published)

    hit_id = published_hit_of(published, 1).platform_hit_id
    assert requester.client.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Reviewable"


def test_where_ten_assignments_may_not_be_reached_the_hit_is_posted_again(
    published: Publication, marketplace: Marketplace, requester: Requester
) -> None:
    published_hit = published_hit_of(published, 1)
    Hit.objects.filter(number=1).update(needed=9)
    marketplace.worker(vouched_approved=20_000).do(published_hit.platform_hit_id)
    publication_sync(publication=published, at=timezone.now(), everything=True)

    for _ in range(2):
        publication_requeue(publication=published, at=timezone.now())
    drain(published)

    second = published_hit_of(published, 1)
    assert (second.round, second.max_assignments) == (2, 9)
    assert requester.client.get_hit(HITId=second.platform_hit_id)["HIT"]["MaxAssignments"] == 9


@pytest.mark.django_db(transaction=True)
def test_the_jobs_do_all_of_it(publication: Publication, wanda: PlatformWorker) -> None:
    publication_publish(publication=publication, at=timezone.now())
    assert platform_jobs.publish() == "calls made: 5"
    assert platform_jobs.publish() == "calls made: 0"
    work(publication, wanda)
    publication.published_hits.update(next_poll_at=timezone.now())

    assert platform_jobs.sync() == "new submissions: 1"
    assert platform_jobs.settle() == "decided: 0"  # nothing is decided before its test pairs are checked
    assert judgment_jobs.check() == "checked: 1"
    assert judgment_jobs.check() == "checked: 0"
    assert platform_jobs.settle() == "decided: 1"
    assert platform_jobs.publish() == "calls made: 2"
    assert platform_jobs.requeue() == "HITs changed: 0"
    assert platform_jobs.reconcile() == "differences: 0"
    assert publication_plan(publication_id=publication.pk, at=timezone.now()) == 0
    assert sum(publication.payments.values_list("amount", flat=True)) == Decimal("2.00")


def test_what_was_asked_for_again_while_it_was_being_asked_about_is_still_polled(
    published: Publication, wanda: PlatformWorker
) -> None:
    work(published, wanda)
    at = timezone.now()
    publication_sync(publication=published, at=at)
    published.submissions.update(status="Approved", decision="approve")
    client = client_for(endpoint_of("marketplace"))
    client.approve_assignment(AssignmentId=published.submissions.get().platform_assignment_id)
    stale = published_hit_of(published, 1)
    published.published_hits.filter(pk=stale.pk).update(max_assignments=2, next_poll_at=at)

    published_hit_poll(adapter=adapter_of(published), client=client, published_hit=stale, at=at)

    assert published_hit_of(published, 1).next_poll_at is not None


def test_a_hit_that_ended_long_ago_is_polled_while_work_on_it_waits_and_then_costs_little_once_more(
    published: Publication, django_assert_num_queries: Any
) -> None:
    client, at = client_for(endpoint_of("marketplace")), timezone.now() + timedelta(days=60)
    ended = published_hit_of(published, 1)
    ids = {"platform_assignment_id": "3MEANWHILE", "platform_worker_id": "A1"}
    submission = published.submissions.create(published_hit=ended, status="Submitted", submitted_at=at, **ids)

    published_hit_poll(adapter=adapter_of(published), client=client, published_hit=ended, at=at)
    assert published_hit_of(published, 1).next_poll_at is not None

    published.submissions.filter(pk=submission.pk).update(status="Approved")
    with django_assert_num_queries(3):
        published_hit_poll(adapter=adapter_of(published), client=client, published_hit=ended, at=at)
    assert published_hit_of(published, 1).next_poll_at is None


@pytest.mark.django_db(transaction=True)
def test_two_who_arrive_at_the_same_moment_are_shown_different_layouts(
    collection: Collection, requester: Requester
) -> None:
    campaign = factories.campaign(collection, overlap=2)
    published = publication_write(campaign=campaign, pay="base-and-bonus", rate=1000)
    clock = Clock()
    publication_publish(publication=published, at=clock())
    drain(published, clock)

    def layout_of(worker_id: str) -> int:
        publication = Publication.objects.get(pk=published.pk)
        return assignment_arrive(
            publication=publication,
            hit=publication.campaign.hits.get(),
            assignment_id=f"3{worker_id}",
            worker_id=worker_id,
            at=timezone.now(),
        ).layout

    with beside(lambda: layout_of("A2")) as second:
        first = layout_of("A1")
    assert {first, second[0].result()} == {0, 1}


def test_an_id_typed_into_another_frame_stops_nobody(published: Publication, wanda: PlatformWorker) -> None:
    first, second = published_hit_of(published, 1), published_hit_of(published, 2)
    real = wanda.accept(first.platform_hit_id)
    for published_hit, typed in ((second, real), (first, "3MADEUP")):
        assert published_hit.hit is not None
        assignment_arrive(
            publication=published, hit=published_hit.hit, assignment_id=typed, worker_id=wanda.id, at=timezone.now()
        )
    mine = Assignment.objects.get(hit=first.hit)
    factories.judge(mine)
    mine = judgment_services.assignment_finish(assignment=mine, at=timezone.now())
    wanda.submit(real, receipt=mine.receipt)

    assert publication_sync(publication=published, at=timezone.now(), everything=True).new == 1
    assert published.submissions.get().assignment == mine


def test_hits_that_expire_without_enough_work_ring(published: Publication) -> None:
    publication_requeue(publication=published, at=timezone.now() + timedelta(days=13))
    assert not published.alarms.exists()
    publication_requeue(publication=published, at=timezone.now() + timedelta(days=15))
    assert "3 HITs have expired" in published.alarms.get(settled_at=None).text


def test_a_later_round_asks_only_for_what_is_missing(published: Publication) -> None:
    published_hit = published_hit_of(published, 1)
    Hit.objects.filter(number=1).update(needed=5)
    published.published_hits.filter(pk=published_hit.pk).update(max_assignments=9)
    for number in range(5):
        published.submissions.create(
            published_hit=published_hit,
            platform_assignment_id=f"3A{number}",
            platform_worker_id=f"A{number}",
            status="Submitted",
            submitted_at=timezone.now(),
        )

    for _ in range(2):
        publication_requeue(publication=published, at=timezone.now())

    second = published.published_hits.get(round=2)
    assert second.max_assignments == 1
