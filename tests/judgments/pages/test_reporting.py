"""The page on which a worker says that something is wrong with a pair: without a script, a cookie, or any trace of
which pairs are tests.
"""

import re

from django.test import Client
from django.urls import reverse

from judgments.models import Judgment, PairReport
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
    found = re.search(r'name="shown" value="([^"]+)"', page)
    assert found is not None
    assert send(item, {"shown": found[1], "preferred": "left"})[0] == 303
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
