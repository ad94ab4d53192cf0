"""Commands about test pairs, and about every publication."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from core.errors import Refused
from platforms.models import Operation, Publication
from platforms.publishing.publications import publication_resume
from pools.models import Campaign
from runs.models import Collection
from tasks.services import campaign_launch
from tests import factories


def test_test_pairs_come_from_a_file_and_count_once_a_person_has_read_them(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = factories.campaign(collection, "mine", start=False, tests=0)
    tests = tmp_path / "tests.tsv"
    tests.write_text("q1\tp1\tp4\nq2\tp4\tp7\nq3\tp7\tp1\n")
    call_command("import_test_pairs", "mine", str(tests))
    assert "3 test pairs added; 0 of 3 are confirmed" in capsys.readouterr().out
    with pytest.raises(Refused, match="at least 3 confirmed test pairs but has 0"):
        campaign_launch(campaign=campaign)
    more = tmp_path / "more.tsv"
    more.write_text("q1 p1 p5\nq2 p4 p8\nq3 p7 p2\nq1 p1 p4\n")
    call_command("import_test_pairs", "mine", str(more), confirmed=True)
    assert "3 test pairs added; 3 of 6 are confirmed" in capsys.readouterr().out


def test_test_pairs_of_unknown_passages_are_named(collection: Collection, tmp_path: Path) -> None:
    factories.campaign(collection, "x", start=False, tests=0)
    tests = tmp_path / "tests.tsv"
    tests.write_text("q1 p1 p99\n")
    with pytest.raises(CommandError, match="no text for: p99"):
        call_command("import_test_pairs", "x", str(tests))
    tests.write_text("q1 p1 p4\nq1 p1\n")
    with pytest.raises(CommandError, match=r"tests\.tsv, line 2: 2 columns where a test pair has 3"):
        call_command("import_test_pairs", "x", str(tests))


def test_all_publications_are_stopped_without_a_word_to_the_platform(
    campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    publication = Publication.objects.create(campaign=campaign, title="Reading", state=Publication.State.OPEN)
    call_command("stop_publications", reason="restored from a backup", by="olga")
    publication.refresh_from_db()
    assert publication.state == Publication.State.STOPPED
    assert not Operation.objects.filter(publication=publication).exists()
    alarm = publication.alarms.get(settled_at=None)
    assert alarm.text == "Stopped by olga: restored from a backup. Compare the ledgers, then resume."
    assert "1 publications are stopped" in capsys.readouterr().out
    publication_resume(publication=publication, at=timezone.now())
    assert not publication.alarms.filter(settled_at=None).exists()


def test_a_stop_of_all_leaves_drafts_alone(campaign: Campaign) -> None:
    publication = Publication.objects.create(campaign=campaign, title="Reading")
    call_command("stop_publications", reason="a drill", by="olga")
    publication.refresh_from_db()
    assert publication.state == Publication.State.DRAFT
    with pytest.raises(CommandError, match="Say why"):
        call_command("stop_publications", reason=" ", by="olga")
