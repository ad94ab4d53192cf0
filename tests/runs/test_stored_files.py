"""Files beside the database: brought through standard input, missed by name, moved from one store to another."""

import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from core.errors import FileAway
from pools.models import Campaign
from runs.models import Collection, Run
from runs.selectors import load_artifact


@contextmanager
def standard_input(content: bytes) -> Iterator[None]:
    """What is piped into a command."""
    before = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    os.dup2(reading, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(reading)
        os.close(before)


def test_a_run_comes_through_standard_input(collection: Collection, capsys: pytest.CaptureFixture[str]) -> None:
    with standard_input(b"q1 Q0 p1 1 2.0 x\nq1 Q0 p2 2 1.0 x\n"):
        call_command("import_run", "small", "-", name="piped")
    assert "piped: stored." in capsys.readouterr().out
    run = Run.objects.get(name="piped")
    with run.original.open("rb") as file:
        assert file.read().startswith(b"q1 Q0 p1")
    with standard_input(b""), pytest.raises(CommandError, match="needs a --name"):
        call_command("import_run", "small", "-")


def test_queries_come_through_standard_input(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    with standard_input(b"q1\tWhy?\n"):
        call_command("import_collection", "piped", "--lab", "Ours", "--queries", "-")
    assert "1 queries" in capsys.readouterr().out


def test_exports_go_to_standard_output(campaign: Campaign, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    call_command("export_campaign", campaign.name, "--to", "-")
    with zipfile.ZipFile(io.BytesIO(capfdbinary.readouterr().out)) as archive:
        assert "manifest.json" in archive.namelist()


def test_missing_files_are_named_and_copied_from_where_they_were(
    collection: Collection, tmp_path: Path, settings: object, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("check_files")
    assert "6 files are named; 0 were copied, 0 are missing." in capsys.readouterr().out
    before = Path(settings.MEDIA_ROOT)  # type: ignore[attr-defined]
    settings.MEDIA_ROOT = str(tmp_path / "elsewhere")  # type: ignore[attr-defined]
    run = collection.runs.get(name="red")
    with pytest.raises(CommandError, match=rf"{run.artifact.name}|and \d+ more"):
        call_command("check_files")
    assert "6 are missing" in capsys.readouterr().out
    call_command("check_files", copy_from=before)
    assert "6 were copied, 0 are missing" in capsys.readouterr().out
    assert default_storage.exists(run.artifact.name)
    assert load_artifact(run)


def test_a_missing_file_is_a_sentence(collection: Collection, settings: object) -> None:
    shutil.rmtree(settings.MEDIA_ROOT)  # type: ignore[attr-defined]
    with pytest.raises(FileAway, match="The file of the run red is missing: file storage has no runs/"):
        load_artifact(collection.runs.get(name="red"))
