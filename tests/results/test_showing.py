"""The page of results for people without an account: what it shows, what it says nothing of, and that it ends."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import AuditEntry, User
from judgments.evidence import Evidence
from judgments.models import StoredFile
from pools.models import Campaign
from results import refreshing, showing
from results.inputs import inputs_of
from results.models import Result, ShownResults
from results.report import is_about_something
from results.sections.subjects import Subject
from results.sections.whole import read
from runs.models import Run
from runs.services import run_release
from tests import factories

NOTHING = "The results are not shown at present."


@pytest.fixture
def page(demo: Campaign) -> str:
    """The address of the demo's page."""
    return page_of(demo)


def page_of(campaign: Campaign) -> str:
    by = campaign.lab.memberships.latest("pk").user
    return reverse("results:shown", args=[showing.page_make(campaign=campaign, by=by, at=timezone.now()).token])


def _brings_something(campaign: Campaign, run: Run) -> bool:
    """Whether a run brought a passage into a pool that nothing else did."""
    Run.objects.filter(pk=run.pk).update(is_released=False)
    withheld = Evidence(campaign).withheld
    Run.objects.filter(pk=run.pk).update(is_released=True)
    return bool(withheld)


def whole_text(page: str) -> str:
    """The page with all that it leads to, as somebody sees it without an account."""
    addresses = [page, *(f"{page}{subject}/" for subject in list(Subject)[1:])]
    answers = [Client().get(address) for address in addresses]
    assert answers[0].status_code == 200
    text = "".join(answer.content.decode() for answer in answers if answer.status_code == 200)
    marks = [Client().get(address) for address in re.findall('data-marks="([^"]+)"', text)]
    assert all(answer.status_code == 200 for answer in marks)
    return "".join([text, *(answer.content.decode() for answer in marks)])


def test_it_shows_the_finding_the_leaderboard_the_picture_and_four_subjects_without_an_account(
    page: str, demo: Campaign
) -> None:
    client = Client()
    answer = client.get(page)
    html = answer.content.decode()
    assert "minilm is now first (all 27 queries" in html.partition("<blockquote")[2].partition("</blockquote>")[0]
    assert f"{Result.objects.get(campaign=demo).computed_at:%-d %B %Y}" in html
    assert 'aria-label="Table: The leaderboard, before and after"' in html and html.count("<svg") == 1
    for subject, words in (
        ("certainty", "How certain the best known answers are"),
        ("runs", "Pairwise comparison of runs"),
        ("passages", "What each run brought"),
        ("people", "Along a HIT"),
    ):
        assert f'href="{page}{subject}/"' in html
        assert words in client.get(f"{page}{subject}/").content.decode()
    assert client.get(f"{page}nonsense/").status_code == 404
    text = whole_text(page)
    assert "/campaigns/" not in text and "/login/" not in text
    assert "noindex" in text and "noindex" in answer["X-Robots-Tag"]
    assert not client.cookies


def test_it_says_nothing_of_workers(page: str, demo: Campaign) -> None:
    assert demo.lab.workers.exists()
    for worker in demo.lab.workers.all():
        worker.label, worker.external_id = f"zqkxv {worker.pk}", f"zqkxv-{worker.pk}"
        worker.save()
    assert refreshing.result_refresh(campaign=demo, anew=True)
    assert "zqkxv" not in whole_text(page)


@pytest.mark.parametrize("pooled", [True, False])
def test_it_says_nothing_of_a_run_that_is_held_back_and_meanwhile_nothing_at_all(
    judged: Campaign, pooled: bool
) -> None:
    page = page_of(judged)
    if pooled:
        run = next(run for run in judged.runs.order_by("name") if _brings_something(judged, run))
    else:
        run = factories.run(judged.collection, "zqkxv", {"q1": ["p1"], "q2": ["p3"]})
        refreshing.result_refresh(campaign=judged, anew=True)
    Run.objects.filter(pk=run.pk).update(name="zqkxv")
    refreshing.result_refresh(campaign=judged, anew=True)
    assert "zqkxv" in whole_text(page)

    run_release(run=Run.objects.get(pk=run.pk), is_released=False)
    assert NOTHING in whole_text(page)
    assert refreshing.result_refresh(campaign=Campaign.objects.get())
    text = whole_text(page)
    assert "The leaderboard, before and after" in text
    assert "zqkxv" not in text
    withheld, current = Evidence(judged).withheld, showing.shown_of(judged)
    assert bool(withheld) is pooled
    assert current is not None and current.data.stability
    for answer in current.data.stability:
        assert withheld.isdisjoint((answer.qid, passage) for passage in (*answer.best, *answer.set, *answer.also))
    for query in inputs_of(judged).held_back(withheld):
        assert f">{query}<" not in text
    assert "zqkxv" in str(Result.objects.get().data)

    stored = StoredFile.objects.get(name=showing.FILE, state="current")
    stored.file.delete(save=False)
    assert Client().get(page).status_code == 503
    run_release(run=Run.objects.get(pk=run.pk), is_released=True)
    assert refreshing.result_refresh(campaign=Campaign.objects.get())
    assert "zqkxv" in whole_text(page)


def test_a_page_that_is_made_while_a_run_is_held_back_is_computed_for(judged: Campaign) -> None:
    run = judged.runs.earliest("name")
    run_release(run=run, is_released=False)
    refreshing.result_refresh(campaign=Campaign.objects.get())
    page = page_of(judged)
    assert NOTHING in whole_text(page)
    assert refreshing.result_refresh(campaign=Campaign.objects.get())
    assert "The leaderboard, before and after" in whole_text(page)


def test_it_shows_nothing_where_a_setting_names_a_run_that_is_held_back_or_all_is_about_it(
    judged: Campaign, tmp_path: Any
) -> None:
    page, run = page_of(judged), judged.runs.earliest("name")
    Campaign.objects.update(comparisons="baseline", baseline=run.name)
    run_release(run=run, is_released=False)
    refreshing.result_refresh(campaign=Campaign.objects.get())
    assert is_about_something(read(Result.objects.get().data))
    assert NOTHING in whole_text(page)
    check = factories.campaign(
        judged.collection, "check", runs=[run.name], design="champion_check", qrel_policy="first"
    )
    factories.do(factories.worker(check, "Wim"), check, prefer="a")
    page = page_of(check)
    refreshing.result_refresh(campaign=check)
    assert NOTHING in whole_text(page)


def test_it_is_made_once_and_ends_at_once(judged: Campaign, client: Client) -> None:
    address = reverse("results:show", args=[judged.pk])
    client.force_login(User.objects.get(username="rita"))
    assert "Make the page" in client.get(address).content.decode()
    for _twice in range(2):
        assert client.post(address, {"do": "make"}).status_code == 303
    token = ShownResults.objects.get().token
    page = reverse("results:shown", args=[token])
    assert page in client.get(address).content.decode()
    assert Client().get(page).status_code == 200
    client.post(address, {"do": "end"})
    assert Client().get(page).status_code == Client().get(f"{page}runs/").status_code == 404
    client.post(address, {"do": "make"})
    assert ShownResults.objects.get().token != token

    entries = AuditEntry.objects.filter(subject="results_shownresults").order_by("pk")
    rita = User.objects.get(username="rita").pk
    assert [(entry.action, entry.actor_id) for entry in entries] == [
        ("insert", rita),
        ("delete", rita),
        ("insert", rita),
    ]
    assert token not in str(list(entries.values()))


def test_it_is_not_asked_for_without_end(judged: Campaign, limits: None) -> None:
    page, client = page_of(judged), Client(REMOTE_ADDR="192.0.2.77")
    for _time in range(119):  # at an address that costs the site less to answer
        assert client.get(reverse("results:shown", args=["nothing"])).status_code == 404
    assert [client.get(page).status_code for _time in range(2)] == [200, 429]
