"""Export files: made by the job, served from storage, replaced when judgments changed, and deleted a while later."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.models import Alarm
from judgments import jobs as judgment_jobs
from judgments import refreshing, stored_files
from judgments import selectors as judgment_selectors
from judgments.models import Export, StoredFile
from pools.models import Campaign
from runs.models import Collection
from tasks.models import Worker
from tests import factories

QRELS = "preference-qrels.txt"


def current(campaign: Campaign, name: str = QRELS) -> StoredFile:
    stored = judgment_selectors.stored_file(campaign, StoredFile.Kind.EXPORT, name)
    assert stored is not None
    return stored


def test_before_any_job_a_download_says_when_it_will_be_there(page: Client, campaign: Campaign) -> None:
    answer = page.get(reverse("judgments:export", args=[campaign.pk, QRELS]))
    assert answer.status_code == 404
    assert "within a minute or two" in answer.content.decode()
    assert not StoredFile.objects.exists()
    assert QRELS not in page.get(reverse("judgments:files", args=[campaign.pk])).content.decode()


def test_the_page_says_as_of_when_and_has_the_files_made_now(page: Client, campaign: Campaign, alice: Worker) -> None:
    judgment_jobs.make_exports()
    html = page.get(reverse("judgments:files", args=[campaign.pk])).content.decode()
    assert "Nothing has changed since." in html
    before = current(campaign)
    factories.do(alice, campaign)
    html = page.get(reverse("judgments:files", args=[campaign.pk])).content.decode()
    assert "Work has been done since." in html
    address = reverse("judgments:export", args=[campaign.pk, QRELS])
    assert page.get(address).getvalue() == before.file.read()  # no GET makes it
    judgment_jobs.make_exports(campaign.pk)  # what the button asks for
    after = current(campaign)
    assert after.pk != before.pk and after.revision > before.revision
    assert page.get(address).getvalue() == factories.exported(campaign)[QRELS]
    assert page.get(address)["ETag"] == f'"{after.sha256}"'


def test_files_are_made_again_only_when_something_changed(campaign: Campaign, alice: Worker, bob: Worker) -> None:
    assert judgment_jobs.make_exports() == "exports made: 1"
    steps = [
        lambda: factories.take(alice, campaign),
        lambda: factories.judge(factories.take(alice, campaign), only=[1]),
        lambda: factories.do(alice, campaign),
        lambda: factories.do(bob, campaign, fail_tests=True),
    ]
    for step in steps:
        Export.objects.update(rests_until=timezone.now())
        assert judgment_jobs.make_exports() == "exports made: 0"
        step()
        assert judgment_jobs.make_exports() == "exports made: 1"
        judgments = factories.exported(campaign)["judgments.tsv"]
        assert current(campaign, "judgments.tsv").file.read() == judgments


def test_while_work_comes_in_files_rest_between_one_making_and_the_next(campaign: Campaign, alice: Worker) -> None:
    judgment_jobs.make_exports()
    Export.objects.update(rests_until=timezone.now() + timedelta(minutes=1))
    factories.do(alice, campaign)
    assert judgment_jobs.make_exports() == "exports made: 0"


def test_a_replaced_file_can_be_read_to_its_end_and_is_deleted_an_hour_later(campaign: Campaign, alice: Worker) -> None:
    judgment_jobs.make_exports()
    before, files = current(campaign), StoredFile.objects.count()
    factories.do(alice, campaign)
    judgment_jobs.make_exports(campaign.pk)
    assert stored_files.replaced_delete(at=timezone.now()) == 0
    assert default_storage.exists(before.file.name)
    later = timezone.now() + stored_files.GRACE + timedelta(minutes=1)
    assert stored_files.replaced_delete(at=later) == files
    assert not default_storage.exists(before.file.name)
    assert default_storage.exists(current(campaign).file.name)
    assert StoredFile.objects.count() == files


def test_what_a_killed_job_left_in_storage_is_deleted_a_day_later(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(**_named: object) -> None:
        raise SystemExit

    monkeypatch.setattr(stored_files, "files_publish", killed)
    with pytest.raises(SystemExit):
        refreshing.export_refresh(campaign=campaign)
    left = StoredFile.objects.get(name=QRELS)
    files = StoredFile.objects.count()
    assert left.state == StoredFile.State.WRITING and default_storage.exists(left.file.name)
    assert judgment_selectors.stored_file(campaign, StoredFile.Kind.EXPORT, QRELS) is None
    assert stored_files.replaced_delete(at=timezone.now() + timedelta(hours=1)) == 0
    assert stored_files.replaced_delete(at=timezone.now() + timedelta(hours=25)) == files
    assert not default_storage.exists(left.file.name)


def test_a_campaign_whose_files_cannot_be_made_keeps_no_other_waiting(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (factories.campaign(collection, name) for name in ("first", "second"))
    counts_of = judgment_selectors.counts_of

    def count_or_fail(campaign: Campaign, *of: Any) -> object:
        if campaign.pk == first.pk:
            raise ValueError("poison")
        return counts_of(campaign, *of)

    monkeypatch.setattr(judgment_selectors, "counts_of", count_or_fail)
    assert judgment_jobs.make_exports() == "exports made: 1"
    assert current(second)
    assert "ValueError: poison" in Alarm.objects.get(campaign=first, kind="exports").text
    assert judgment_jobs.make_exports() == "exports made: 0"  # it rests before it is tried again
    monkeypatch.undo()
    Alarm.objects.update(retry_at=timezone.now())
    assert judgment_jobs.make_exports() == "exports made: 1"
    assert Alarm.objects.get().settled_at is not None


def test_a_file_that_storage_has_lost_is_made_again_when_asked_for(page: Client, campaign: Campaign) -> None:
    judgment_jobs.make_exports()
    lost = current(campaign)
    default_storage.delete(lost.file.name)
    address = reverse("judgments:export", args=[campaign.pk, QRELS])
    answer = page.get(address)
    assert answer.status_code == 503
    assert "Have it made again" in answer.content.decode()
    judgment_jobs.make_exports(campaign.pk)
    assert page.get(address).getvalue() == factories.exported(campaign)[QRELS]


def test_drafts_have_no_files(collection: Collection) -> None:
    draft = factories.campaign(collection, start=False)
    assert judgment_jobs.make_exports() == judgment_jobs.make_exports(draft.pk) == "exports made: 0"


def test_what_is_stored_is_what_the_command_writes(campaign: Campaign, alice: Worker, tmp_path: Path) -> None:
    factories.do(alice, campaign)
    judgment_jobs.make_exports()
    call_command("export_campaign", campaign.name, to=tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        assert current(campaign, path.name).file.read() == path.read_bytes()


def test_campaigns_that_are_in_step_cost_the_job_nothing_more_however_many_they_are(collection: Collection) -> None:
    counts = []
    for number in range(3):
        factories.campaign(collection, f"campaign {number}", tests=4)
        judgment_jobs.make_exports()
        with CaptureQueriesContext(connection) as capture:
            assert judgment_jobs.make_exports() == "exports made: 0"
        counts.append(len(capture))
    assert counts[0] == counts[-1] <= 3
