"""A worker has one name: on every page, in every file, in the audit."""

import csv
import re
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import Lab, User
from judgments import quality
from platforms.models import Operation, Publication
from pools.models import Campaign
from protection import erasing
from protection.models import RetentionResult
from runs.models import Collection
from tasks.models import Worker
from tasks.names import pseudonym
from tests import factories


def test_a_worker_has_one_name_on_every_page_in_every_file_and_in_the_audit(
    client: Client, campaign: Campaign, lab: Lab, rita: User, ada: User
) -> None:
    client.force_login(ada)
    worker = Worker.objects.create(lab=lab)
    work = factories.do(worker, campaign)
    at, name = timezone.now(), pseudonym(campaign, worker.pk)
    quality.worker_bar(worker=worker, campaign=campaign, why="Clicks.", by=rita, at=at)
    RetentionResult.objects.create(
        lab=lab, at=at, erased=0, kept=[{"worker": worker.pk, "why": "Works."}], kept_count=1
    )
    erasing.retention_set(lab=lab, worker_days=90, audit_days=None)
    pages = [
        reverse("review:work", args=[campaign.pk]),
        reverse("review:assignment", args=[campaign.pk, work.pk]),
        reverse("review:worker", args=[campaign.pk, worker.pk]),
        reverse("review:workers"),
        reverse("protection:protection") + f"?who={name}",
        reverse("protection:protection_worker", args=[worker.pk]),
        reverse("protection:protection_lab", args=[lab.pk]),
        reverse("audit:entries"),
    ]
    for page in pages:
        text = client.get(page).text
        assert name in text, page
        assert not re.search(rf"orker {worker.pk}\b", text), page
    files = [(reverse("review:workers"), "list"), (reverse("review:work", args=[campaign.pk]), "decisions")]
    for page, file in files:
        rows = csv.DictReader(_file(client, page, file).splitlines())
        assert {row["worker"] for row in rows} == {name}, page
    assert name in _file(client, reverse("review:assignments_csv", args=[campaign.pk]))
    assert name in _file(client, reverse("review:workers_csv", args=[campaign.pk]))
    assert name in factories.exported(campaign)["judgments.tsv"].decode()
    call = Operation(publication=Publication(campaign=campaign), worker=worker)
    assert call.about == f"worker {name}"


def test_where_no_campaign_is_meant_a_worker_is_called_as_in_the_one_they_came_to_last(
    client: Client, campaign: Campaign, collection: Collection, lab: Lab, rita: User
) -> None:
    client.force_login(rita)
    page = reverse("review:workers")
    panelist = factories.worker(campaign, "Alice")
    assert pseudonym(campaign, panelist.pk) in client.get(page).text
    later = factories.campaign(collection, name="later")
    factories.do(panelist, campaign)
    at = timezone.now()
    later.assignments.create(hit=later.hits.get(), worker=panelist, taken_at=at, leased_until=at)
    html = client.get(page).text
    assert pseudonym(later, panelist.pk) in html and pseudonym(campaign, panelist.pk) not in html
    assert "Alice" in html and "Alice" not in _file(client, page, "list")


def _file(client: Client, page: str, file: str = "") -> str:
    answer: Any = client.get(page, {"csv": file} if file else {})
    return b"".join(answer).decode()
