"""What commands share: `--json` and `--dry-run`."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, ProgrammingError
from kombu.exceptions import OperationalError as BrokerError
from psycopg2 import errors
from redis.exceptions import ConnectionError as RedisConnectionError

from core.models import Lab, User
from local.lacking import lacking
from pools.models import Campaign
from runs.models import Collection
from tasks.models import Worker
from tests import factories
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[dict[str, Any], str]:
    """What a command prints as JSON, and what it says meanwhile."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*words, "--json", stdout=out, stderr=err)
    return json.loads(out.getvalue()), err.getvalue()


def test_a_dry_run_says_what_would_come_of_it_and_changes_nothing(collection: Collection, tmp_path: Path) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q8\twhat is a fugue\nq9\twhat is a canon\n")
    command = ("import_collection", "another", "--lab", "A new lab", "--queries", str(queries))

    facts, output = run(*command, "--dry-run")

    assert (facts["queries"], facts["dry_run"]) == (2, True)
    assert "2 queries" in output and "nothing has been changed" in output
    assert not Collection.objects.filter(name="another").exists()
    assert not Lab.objects.filter(name="A new lab").exists()
    facts, output = run(*command)
    assert facts["dry_run"] is False
    assert Collection.objects.get(name="another").pk == facts["collection"]
    assert "dry run" not in output


def test_an_import_makes_a_lab_with_an_admin_or_says_that_it_has_none(ada: User, tmp_path: Path) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q8\twhat is a fugue\n")
    command = ("import_collection", "sounds", "--queries", str(queries), "--lab")

    _facts, output = run(*command, "Sounds", "--admin", ada.username)
    assert Lab.objects.get(name="Sounds").memberships.get().role == "admin" and "no members" not in output
    _facts, output = run(*command, "Images")
    assert (
        "The lab Images is new and has no members" in output and not Lab.objects.get(name="Images").memberships.exists()
    )
    with pytest.raises(CommandError, match="no user called nobody"):
        run(*command, "Words", "--admin", "nobody")
    assert not Lab.objects.filter(name="Words").exists()


def test_runs_are_checked_by_a_dry_run_and_what_is_wrong_is_told_by_line(
    collection: Collection, tmp_path: Path
) -> None:
    def file(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return str(tmp_path / name)

    def say(*words: str) -> dict[str, Any]:
        with pytest.raises(CommandError, match="2 of 3 files refused; the others"):
            call_command("import_run", collection.name, *words, "--json", stdout=(out := io.StringIO()), stderr=err)
        return dict(json.loads(out.getvalue()))

    err, before = io.StringIO(), collection.runs.count()
    good = file("good.txt", "q1 Q0 p2 1 1.0 g\n")
    same, bad = file("same.txt", "q1 Q0 p2 1 1.0 g\n"), file("bad.txt", "q1 Q0 p2 1 x g\n")

    dry = say(good, same, bad, "--dry-run")
    assert collection.runs.count() == before
    assert "bad.txt, line 1:" in err.getvalue()
    facts = say(good, same, bad)
    assert collection.runs.count() == before + 1
    for report in (dry, facts):
        assert [(row["name"], row["passed"]) for row in report["files"]] == [
            ("good", True), ("same", False), ("bad", False)
        ]  # fmt: skip
        assert "called good, and it is this very file" in report["files"][1]["errors"][0]["message"]
        assert report["files"][2]["errors"][0]["line"] == 1
    assert dry["files"][0]["run"] is None
    assert facts["files"][0]["run"] == collection.runs.get(name="good").pk


def test_exports_say_what_they_wrote_and_a_dry_run_writes_nothing(
    campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, tmp_path: Path
) -> None:
    for worker in (alice, bob, carol):
        factories.do(worker, campaign)
    folder = tmp_path / "out"
    facts, output = run("export_campaign", campaign.name, "--to", str(folder), "--dry-run")
    assert not folder.exists() and "preference-qrels.txt" in output

    result, _said = run("export_campaign", campaign.name, "--to", str(folder))
    assert result["files"] == facts["files"]
    assert {row["name"]: row["sha256"] for row in result["files"]} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()
    }
    with pytest.raises(CommandError, match="--to - and --json both write to standard output"):
        run("export_campaign", campaign.name, "--to", "-")


def test_without_json_people_are_told_and_a_refusal_is_one_sentence() -> None:
    out, err = io.StringIO(), io.StringIO()
    call_command("stop_publications", "--reason", "a restored backup", stdout=out, stderr=err)
    assert out.getvalue() == "0 publications are stopped.\n"
    assert err.getvalue() == ""
    assert run("stop_publications", "--reason", "again")[0] == {"stopped": [], "dry_run": False}
    with pytest.raises(CommandError, match="nowhere"):
        run("export_campaign", "nowhere", "--to", "nothing")


@pytest.mark.parametrize("line", ["manage.py stop_publications --reason x", "-m marketplace verify_ledger"])
def test_a_command_says_what_the_site_lacks_and_shows_no_traceback(line: str) -> None:
    nowhere = "postgres://nobody@127.0.0.1:1/nothing"
    away = {"DATABASE_URL": nowhere, "MARKETPLACE_DATABASE_URL": nowhere, "REDIS_URL": "redis://127.0.0.1:1/0"}
    away["DJANGO_SETTINGS_MODULE"] = "marketplace.settings" if "-m" in line else "config.settings"

    done = subprocess.run(
        [sys.executable, *line.split()], cwd=REPOSITORY, env=os.environ | away, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert re.search(
        r"^PostgreSQL does not answer \(.*refused.*correct (MARKETPLACE_)?DATABASE_URL\.$", done.stderr, re.M
    )
    assert "Traceback" not in done.stderr


def test_what_is_lacking_has_a_sentence_and_a_mistake_of_ours_has_none() -> None:
    of_another_version = ProgrammingError("no")
    of_another_version.__cause__ = errors.UndefinedColumn()
    assert "manage.py migrate" in lacking(of_another_version)
    assert "correct DATABASE_URL" in lacking(OperationalError("refused\nIs it running?"))
    assert (
        lacking(RedisConnectionError("refused")) == "Redis does not answer (refused). Start it, or correct REDIS_URL."
    )
    assert lacking(BrokerError("refused")) == "Redis does not answer (refused). Start it, or correct REDIS_URL."
    assert lacking(ImproperlyConfigured("Set SECRET_KEY.")) == "Set SECRET_KEY."
    assert lacking(ProgrammingError("a mistake")) == lacking(KeyError("x")) == ""
