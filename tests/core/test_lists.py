"""Lists as files: all rows that the filter leaves, to those who may see the page."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.lists import BATCH
from core.models import Lab, User
from pools.models import Campaign, Collection, Query, Run
from tests import factories

pytestmark = pytest.mark.django_db


def rows_of(client: Client, address: str, **asked: str) -> list[dict[str, str]]:
    """The lines of a file."""
    answer = client.get(address, {"csv": "list", **asked})
    assert answer.status_code == 200, answer.status_code
    assert answer["Content-Type"] == "text/csv; charset=utf-8" and answer.streaming
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]


@pytest.fixture
def page(client: Client, rita: User, lab: Lab) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def test_lists_of_campaigns_runs_collections_and_queries_come_as_csv(page: Client, campaign: Campaign) -> None:
    collection = campaign.collection
    [row] = rows_of(page, reverse("pools:campaigns"))
    expected: dict[str, Any] = {"campaign": "pilot", "state": "open", "hits": "3", "pairs": "7", "collection": "small"}
    assert row.items() >= expected.items()
    assert row["created"] == campaign.created_at.isoformat()
    assert [run["run"] for run in rows_of(page, reverse("pools:runs"))] != []
    [found] = rows_of(page, reverse("pools:collections"))
    assert (found["collection"], found["queries"], found["runs"]) == ("small", "4", "3")
    queries = rows_of(page, reverse("judgments:queries", args=[campaign.pk]))
    assert [(query["query"], query["pairs"]) for query in queries] == [
        ("q1", "3"),
        ("q2", "3"),
        ("q3", "1"),
        ("q4", "0"),
    ]
    runs = rows_of(page, reverse("pools:collection", args=[collection.pk]), csv="runs")
    assert [run["run"] for run in runs] == ["blue", "green", "red"]
    assert {run["released"] for run in runs} == {"yes"}
    people = rows_of(page, reverse("core:people", args=[campaign.lab_id]))
    assert [(person["person"], person["role"]) for person in people] == [("rita", "researcher")]
    shown = page.get(reverse("pools:collection", args=[collection.pk])).text
    assert 'href="?csv=runs"' in shown and 'href="?csv=campaigns"' in shown
    missing = page.get(reverse("pools:campaigns"), {"csv": "nothing"})
    assert missing["Content-Type"].startswith("text/html")


def test_a_file_has_every_row_that_the_filter_leaves_sorted_and_no_formula(
    page: Client, collection: Collection
) -> None:
    like = Run.objects.filter(collection=collection).earliest("id")
    Run.objects.bulk_create(
        Run(lab=like.lab, collection=collection, name=f"=run {n:04}", census=like.census, sha256=str(n), original="a")
        for n in range(BATCH + 5)
    )
    runs = rows_of(page, reverse("pools:runs"), name="=run", sort="-name")
    assert len(runs) == BATCH + 5
    assert [runs[0]["run"], runs[-1]["run"]] == [f"'=run {BATCH + 4}", "'=run 0000"]
    kept = page.get(reverse("pools:runs"), {"name": "=run", "sort": "-name"}).text
    assert "?name=%3Drun&amp;sort=-name&amp;csv=list" in kept


def test_a_file_is_for_those_who_may_see_the_page(campaign: Campaign) -> None:
    outsider = Client()
    outsider.force_login(factories.member(factories.lab("Elsewhere"), "admin"))
    assert rows_of(outsider, reverse("pools:campaigns")) == []
    assert outsider.get(reverse("judgments:queries", args=[campaign.pk]), {"csv": "list"}).status_code == 404
    assert Client().get(reverse("pools:runs"), {"csv": "list"}).status_code == 302
    assert Query.objects.exists()
