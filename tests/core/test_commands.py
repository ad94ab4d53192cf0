"""What commands share: `--json` and `--dry-run`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from core.models import Lab, User
from pools.models import Collection
from tests import factories

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[dict[str, Any], str]:
    """What a command prints as JSON, and what it says meanwhile."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*words, "--json", stdout=out, stderr=err)
    return json.loads(out.getvalue()), err.getvalue()


def test_a_dry_run_says_what_would_come_of_it_and_changes_nothing(collection: Collection, tmp_path: Path) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q8\twhat is a fugue\nq9\twhat is a canon\n")
    asked = ("import_collection", "another", "--lab", "A new lab", "--queries", str(queries))

    facts, said = run(*asked, "--dry-run")

    assert (facts["queries"], facts["dry_run"]) == (2, True)
    assert "2 queries" in said and "nothing has been changed" in said
    assert not Collection.objects.filter(name="another").exists()
    assert not Lab.objects.filter(name="A new lab").exists()
    facts, said = run(*asked)
    assert facts["dry_run"] is False
    assert Collection.objects.get(name="another").pk == facts["collection"]
    assert "dry run" not in said


def test_a_lab_is_made_with_its_first_admin_or_a_link_for_them(ada: User) -> None:
    facts, _said = run("create_lab", "Sounds", ada.username, "--dry-run")
    assert facts["dry_run"] is True and not Lab.objects.filter(name="Sounds").exists()

    facts, _said = run("create_lab", "Sounds", ada.username)
    assert Lab.objects.get(pk=facts["lab"]).memberships.get().role == "admin" and facts["invitation"] is None
    facts, said = run("create_lab", "Images", ada.username, "--invite", "nora@example.org")
    assert facts["invitation"] in said and Client().get("/" + facts["invitation"].split("/", 3)[3]).status_code == 200
    with pytest.raises(CommandError, match="already a lab called “Images”"):
        call_command("create_lab", "Images", ada.username)


def test_a_campaign_is_started_for_a_program_after_a_dry_run(collection: Collection) -> None:
    draft = factories.campaign(collection, start=False, pairs_per_hit=3, tests_per_hit=2)
    run("check_test_pairs", draft.name)

    facts, _said = run("start_campaign", draft.name, "--dry-run")
    draft.refresh_from_db()
    assert (facts["state"], draft.state, draft.hits.count()) == ("open", "draft", 0)

    facts, _said = run("start_campaign", draft.name)
    draft.refresh_from_db()
    assert (facts["state"], draft.state, draft.hits.count()) == ("open", "open", facts["hits"])
    assert facts["link"].endswith(f"/{draft.link}/")


def test_without_json_people_are_told_and_a_refusal_is_one_sentence() -> None:
    out, err = io.StringIO(), io.StringIO()
    call_command("stop_publications", "--reason", "a restored backup", stdout=out, stderr=err)
    assert out.getvalue() == "0 publications are stopped.\n"
    assert err.getvalue() == ""
    assert run("stop_publications", "--reason", "again")[0] == {"stopped": [], "dry_run": False}
    with pytest.raises(CommandError, match="nowhere"):
        run("start_campaign", "nowhere")
