"""The page on which a worker says that something is wrong with a pair: without a script, a cookie, or any trace of
which pairs are tests.
"""

import re

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from judgments import services as judgment_services
from judgments.models import Judgment, PairReport, WorkerNote
from pools.models import Campaign
from tasks import links
from tasks.models import Assignment, Worker
from tests import factories


def send(address: str, data: dict[str, str]) -> tuple[int, str, str]:
    """Send a form from a browser without cookies: status, where to, and the page."""
    answer = Client(enforce_csrf_checks=True).post(address, data)
    return answer.status_code, answer.get("Location", ""), answer.content.decode()


def shown(address: str) -> str:
    return Client().get(address).content.decode()


def test_a_worker_reports_a_pair_goes_on_and_can_judge_it_after_all(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    token = links.assignment_token(assignment)
    item, report = (reverse(f"judging:{name}", args=[token, 1]) for name in ("item", "report"))
    assert report in shown(item)
    assert "never counts against you" in shown(report) and not PairReport.objects.exists()
    status, _to, page = send(report, {"reason": "", "note": "Look!"})
    assert status == 400 and "Please choose what is wrong." in page and "Look!" in page
    status, to, _page = send(report, {"reason": "broken", "note": "It ends in the mid"})
    assert (status, to) == (303, reverse("judging:item", args=[token, 2]))
    stored = PairReport.objects.get()
    assert (stored.reason, stored.note, stored.withdrawn_at) == ("broken", "It ends in the mid", None)
    page = shown(item)
    assert "You reported this pair" in page and "data-reported" in page
    assert re.search(r'value="broken" required checked', shown(report))
    assert "1 of 5" in shown(reverse("judging:finish", args=[token])) and not Judgment.objects.exists()
    stamp = re.search(r'name="shown" value="([^"]+)"', page)
    assert stamp is not None
    assert send(item, {"shown": stamp[1], "preferred": "left"})[0] == 303
    assert "You reported this pair" not in shown(item)
    assert PairReport.objects.get().withdrawn_at is not None


def test_the_page_is_the_same_for_pairs_and_test_pairs_and_the_last_leads_to_the_end(
    campaign: Campaign, alice: Worker
) -> None:
    assignment = factories.take(alice, campaign)
    token = links.assignment_token(assignment)
    pages = set()
    for position in range(1, 6):
        address = reverse("judging:report", args=[token, position])
        pages.add(re.sub(rf"/{position}/|{position} of", "", shown(address)))
        _status, to, _page = send(address, {"reason": "same", "note": ""})
    assert len(pages) == 1
    assert to == reverse("judging:finish", args=[token])
    assert send(to, {})[0] == 303
    assignment.refresh_from_db()
    assert (assignment.verdict, assignment.judged) == (Assignment.Verdict.HELD, 5)
    assert send(reverse("judging:report", args=[token, 1]), {"reason": "same"})[1] == reverse(
        "judging:done", args=[token]
    )
    assert Client().get(reverse("judging:report", args=[token, 9])).status_code == 303


def test_a_worker_is_told_why_work_is_not_used_and_an_objection_reaches_the_researcher(
    campaign: Campaign, alice: Worker, rita: User, client: Client
) -> None:
    failed = factories.do(alice, campaign, fail_tests=True)
    token = links.assignment_token(failed)
    done, note = (reverse(f"judging:{name}", args=[token]) for name in ("done", "note"))
    page = shown(done)
    assert "In 2 of 2 of them, you chose the other one." in page
    assert "You are paid for this task all the same." in page
    assert "test question" not in page  # how many, and never which
    assert send(note, {"text": "  "})[0] == 400
    assert send(note, {"text": "Number 3 is in Dutch."})[:2] == (303, done)
    send(note, {"text": "Number 3 is in Dutch."})
    assert WorkerNote.objects.count() == 1
    assert "Number 3 is in Dutch." in shown(done)
    client.force_login(rita)
    address = reverse("review:assignment", args=[campaign.pk, failed.pk])
    assert "Number 3 is in Dutch." in client.get(address).content.decode()
    assert not any(b"in Dutch" in content for content in factories.exported(campaign).values())
    for number in range(4):
        send(note, {"text": f"More {number}"})
    assert send(note, {"text": "And more"})[0] == 409 and WorkerNote.objects.count() == 5


def test_good_work_has_no_reason_and_work_that_goes_on_takes_no_note(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    note = reverse("judging:note", args=[links.assignment_token(assignment)])
    assert send(note, {"text": "Hello"})[0] == 409 and not WorkerNote.objects.exists()
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    page = shown(reverse("judging:done", args=[links.assignment_token(assignment)]))
    assert "About your answers" not in page and "Write to the research group" in page
    assert "data-local" in page
