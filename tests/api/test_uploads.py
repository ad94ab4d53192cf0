"""Programs send large files straight to the bucket."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command

from api.models import Scope
from core.models import User
from runs.models import Collection, DirectUpload, Job, Run
from tests import factories
from tests.api.conftest import Program
from tests.buckets import Gate, endpoint, gate
from tests.databases import REPOSITORY

__all__ = ["endpoint", "gate"]
RUN = b"q1 Q0 o1 1 9.5 sent\nq2 Q0 o1 1 9.5 sent\n"
GUIDE = (REPOSITORY / "docs" / "api.md").read_text()


@pytest.fixture
def program(rita: User, collection: Collection, gate: Gate) -> Program:
    return Program(rita)


def send(program: Program, content: bytes = RUN) -> str:
    """Send a file whole. Its token."""
    upload = program.post("uploads/", {"name": "sent.txt", "size": len(content)})
    assert upload.status_code == 201
    unfinished = program.post(f"uploads/{upload.json()['token']}/finish/").json()
    assert unfinished["received"] == 0 and len(unfinished["parts"]) == 1
    for part in unfinished["parts"]:
        httpx.put(part["url"], content=content, trust_env=False).raise_for_status()
    finished = program.post(f"uploads/{upload.json()['token']}/finish/").json()
    assert finished["parts"] == [] and finished["received"] == len(content)
    return str(finished["token"])


def test_a_run_by_its_token_is_done_once_however_often_it_is_asked_for(
    program: Program, collection: Collection
) -> None:
    fields = {"collection": collection.pk, "name": "sent", "file": send(program)}
    content = program.upload("runs/", **fields)
    assert content.status_code == 202
    call_command("call_api", "get", f"jobs/{content.json()['id']}/", "--as", "rita")
    assert Job.objects.get().uploads.get().name == "sent.txt"
    again = program.upload("runs/", **fields | {"name": "again"})
    assert again.status_code == 400 and "used already" in again.json()["errors"][0]["detail"]
    assert again.json()["errors"][0]["field"] == "file" and Job.objects.count() == 1


def test_files_of_a_collection_may_come_in_both_ways(program: Program, collection: Collection, tmp_path: Path) -> None:
    texts = tmp_path / "passages.tsv"
    texts.write_text("new\tA new passage.\n")
    with texts.open("rb") as file:
        token = send(program, b"q9\tWhat is new?\n")
        answer = program.upload(f"collections/{collection.pk}/files/", queries=token, passages=file)
    assert answer.status_code == 202, answer.content
    parts = dict(Job.objects.get().uploads.values_list("part", "size"))
    assert parts == {"queries": 16, "passages": 19}


def test_a_token_is_of_no_use_to_others_and_readers_get_none(program: Program, collection: Collection) -> None:
    token = send(program)
    sam = factories.user("sam")
    theirs = Collection.objects.create(lab=factories.lab("Another lab", sam), name="theirs")
    other = Program(sam)
    assert other.post(f"uploads/{token}/finish/").status_code == 404
    assert other.upload("runs/", collection=theirs.pk, file=token).status_code == 400
    reader = Program(program.user, Scope.READ)
    assert reader.post("uploads/", {"name": "x", "size": 1}).status_code == 403
    assert reader.post(f"uploads/{token}/finish/").status_code == 403
    viewer = factories.user("vera")
    collection.lab.memberships.create(user=viewer, role="viewer")
    assert Program(viewer).post("uploads/", {"name": "x", "size": 1}).status_code == 403
    assert program.post("uploads/forged/finish/").status_code == 404
    assert DirectUpload.objects.count() == 1 and not Job.objects.exists()


def test_the_guides_function_sends_a_file_and_the_command_line_takes_its_token(
    program: Program, collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = [code for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "def send(" in code]

    class Api:
        def post(self, address: str, json: Any = None) -> Any:
            return program.post(address, json)

    names: dict[str, Any] = {"api": Api(), "check": lambda answer: answer.json(), "httpx": httpx, "Path": Path}
    exec(compile(example, "docs/api.md", "exec"), names)
    (tmp_path / "guided.txt").write_bytes(RUN)
    token = names["send"](tmp_path / "guided.txt")
    pair = ["--set", f"collection={collection.pk}", f"file={token}"]
    call_command("call_api", "post", "runs/", "--as", "rita", "--wait", *pair)
    assert Run.objects.get(name="guided").original.read() == RUN
