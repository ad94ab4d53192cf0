"""A campaign from the command line: made, given test pairs, started."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from platforms.models import Operation, Publication
from platforms.publishing import publication_resume
from pools.models import Campaign, Collection


def test_a_campaign_is_made_tested_and_started(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("create_campaign", "small", "mine", runs=["red", "blue"], pairs_per_hit=1, reward="1.50", seed=9)
    told = capsys.readouterr().out
    assert "2 pairs in 2 HITs" in told
    assert "$9.00: rewards $6.00, fees $1.20, work done again $1.80 (1 assignment," in told
    tests = tmp_path / "tests.tsv"
    tests.write_text("q1\tp1\tp4\nq2\tp4\tp7\nq3\tp7\tp1\n")
    with pytest.raises(CommandError, match="at least 3 confirmed test pairs but has 0"):
        call_command("start_campaign", "mine")
    call_command("import_test_pairs", "mine", str(tests))
    assert "3 test pairs added; 0 of 3 are confirmed" in capsys.readouterr().out
    more = tmp_path / "more.tsv"
    more.write_text("q1 p1 p5\nq2 p4 p8\nq3 p7 p2\nq1 p1 p4\n")
    call_command("import_test_pairs", "mine", str(more), confirmed=True)
    assert "3 test pairs added; 3 of 6 are confirmed" in capsys.readouterr().out
    call_command("start_campaign", "mine")
    campaign = Campaign.objects.get(name="mine")
    assert (campaign.state, campaign.hits.count(), campaign.seed) == ("open", 2, 9)
    assert f"/c/{campaign.link}/" in capsys.readouterr().out


def test_queries_can_be_named_in_a_file(collection: Collection, tmp_path: Path) -> None:
    listed = tmp_path / "ids.txt"
    listed.write_text("q1\nq3\n")
    call_command("create_campaign", "small", "listed", queries=listed)
    campaign = Campaign.objects.get(name="listed")
    assert set(campaign.pools.values_list("query__qid", flat=True)) == {"q1", "q3"}


def test_unknown_runs_and_test_pairs_are_named(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no run called violet"):
        call_command("create_campaign", "small", "x", runs=["violet", "red"])
    call_command("create_campaign", "small", "x")
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
