"""The past of a board: both of MS MARCO's CSV files become entries."""

import bz2
import html
import io
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import Refused
from core.models import Lab, User
from evaluation.errors import BadInput
from leaderboards import artifacts, jobs, submitting
from leaderboards.importing import BoardImport, NotImported, board_import
from leaderboards.models import Board, DevScoring
from leaderboards.public.published import published
from runs.models import Collection
from tests import factories
from tests.leaderboards import taking_part
from tests.leaderboards.public_boards import NOW, entry, public_board

pytestmark = pytest.mark.django_db
DOCUMENTS = """\
id,date,,description,team,paper,code,type,MRR@10 (Dev),MRR@10 (Eval),tweet
20200811-late,2020/08/11,🏆,"Late, but ""best"" yet",Team A — Lab,https://example.org/a,,full ranking,0.390,0.310,
20200810b,2020/08/10,🏛,Baseline (NDRM3),Organizers,,,reranking,,0.293,1293306436399685632
20200811-same,2020/08/11,,Same day,Team B,example.org/b,https://example.org/c,reraking,0.391,0.310,
20200812-anon--,2020/08/12,🏆,Anonymous,Anonymous,,,full ranking,0.400,0.320,
"""
PASSAGES = """\
id,,description,team,paper,code,type,date,eval,dev,tweet
,🏆,Unnamed,Hongyin Zhu,,,reranking,2019/06/26,0.174,,
20200101-x,🏆,Wrongly marked,Team,,,full ranking,2020/01/01,0.170,0.180,
,,First,Other,,,reranking,2019/06/20,0.173,
"""


@pytest.fixture
def board(collection: Collection) -> Board:
    """A board without entries."""
    return public_board(collection)


def bring(board: Board, text: str, name: str = "board.csv") -> BoardImport:
    """Import a file's text."""
    return board_import(board=board, source=io.BytesIO(text.encode()), filename=name, by=None, at=timezone.now())


def test_entries_trophies_and_scores_come_out_as_published(board: Board) -> None:
    done = board_import(
        board=board, source=io.BytesIO(DOCUMENTS.encode()), filename="doc.csv", by=None, at=timezone.now()
    )
    sums = done.summary
    assert (sums.entries, sums.baselines, sums.trophies, sums.disagreements, sums.both) == (4, 1, 2, (), 3)
    entries = published(board, NOW).entries
    assert [(entry.run_id, entry.rank, entry.mark, entry.printed_dev, entry.printed_eval) for entry in entries] == [
        ("20200812-anon--", 1, "trophy", "0.400", "0.320"),
        ("20200811-late", 2, "trophy", "0.390", "0.310"),
        ("20200811-same", 2, "", "0.391", "0.310"),
        ("20200810b", 4, "baseline", "", "0.293"),
    ]
    same = board.submissions.get(run_id="20200811-same")
    assert (same.type, same.paper, same.state, same.origin) == (
        "reranking", "https://example.org/b", "published", "imported"
    )  # fmt: skip
    assert {score.origin for score in same.scores.all()} == {"published"}
    assert board.submissions.get(run_id="20200810b").link.endswith("/1293306436399685632")
    assert "Imported from doc.csv." in {event.note for event in same.events.all()}


def test_disagreements_are_listed_and_the_scores_decide(board: Board) -> None:
    done = bring(board, PASSAGES)
    assert sorted((line, entry.key, earned) for line, entry, earned in done.disagreements) == [
        (3, "20200101-x", False), (4, "import-3", True)
    ]  # fmt: skip
    summary = done.summary
    assert (summary.entries, summary.baselines, summary.trophies, summary.both) == (3, 0, 2, 1)
    marks = {entry.run_id: entry.mark for entry in published(board, NOW).entries}
    assert marks == {"import-1": "trophy", "20200101-x": "", "import-3": "trophy"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DOCUMENTS.replace("0.400", "four"), "board.csv, line 5: dev score"),
        (DOCUMENTS.replace("2020/08/12", "2020/13/12"), "board.csv, line 5: date"),
        (DOCUMENTS.replace("20200812-anon--", "x" * 61), "board.csv, line 5: id"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_imported(board: Board, text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        bring(board, text)
    assert not board.submissions.exists()


def test_an_id_that_comes_a_second_time_gets_another_and_is_told(board: Board) -> None:
    text = DOCUMENTS.replace("20200812-anon--", "20200810B")
    done = board_import(board=board, source=io.BytesIO(text.encode()), filename="board.csv", by=None, at=timezone.now())
    assert sorted(board.submissions.values_list("run_id", flat=True)) == [
        "20200810b", "20200811-late", "20200811-same", "import-4",
    ]  # fmt: skip
    assert (5, "id 20200810B a second time (first on line 3): taken as import-4.") in done.file.notes


def test_what_does_not_fit_the_board_is_refused(board: Board) -> None:
    with pytest.raises(NotImported, match=r"scores by MRR@100, and Board small ranks by RR@10"):
        bring(board, DOCUMENTS.replace("MRR@10 ", "MRR@100 "))
    with pytest.raises(NotImported, match="has no entries"):
        bring(board, DOCUMENTS.splitlines()[0] + "\n")
    bring(board, DOCUMENTS)
    with pytest.raises(NotImported, match=r"has had 4 of these ids: 20200810b, 20200811-late"):
        bring(board, DOCUMENTS)
    assert board.submissions.count() == 4


def test_an_organizer_imports_on_the_page_and_sees_what_came_of_it(board: Board, client: Client, rita: User) -> None:
    place = reverse("leaderboards:import", args=["small"])
    viewer = factories.member(Lab.objects.get(members=rita), "viewer")
    client.force_login(viewer)
    assert client.post(place).status_code == 403
    client.force_login(factories.user("outsider"))
    assert client.get(place).status_code in (403, 404)
    client.force_login(rita)
    season = board.seasons.get().pk
    bad = SimpleUploadedFile("bad.csv", DOCUMENTS.replace("0.400", "four").encode())
    refused = client.post(place, {"file": bad, "season": season})
    assert refused.status_code == 400 and "bad.csv, line 5: dev score" in refused.content.decode()
    done = client.post(place, {"file": SimpleUploadedFile("p.csv", PASSAGES.encode()), "season": season})
    page = done.content.decode()
    assert done.status_code == 200 and "3 entries are imported" in page and "Wrongly marked" in page
    assert board.submissions.get(run_id="20200101-x").submitted_by == rita
    again = client.post(place, {"file": SimpleUploadedFile("p.csv", PASSAGES.encode()), "season": season})
    assert again.status_code == 409 and "has had 3 of these ids" in again.content.decode()


def test_imported_entries_come_before_later_ones_and_count_apart(board: Board, client: Client) -> None:
    bring(board, DOCUMENTS)
    entry(board, "new", on=NOW.date(), eval="0.32")
    entries = published(board, NOW).entries
    assert [(entry.run_id, entry.rank, entry.mark) for entry in entries][:2] == [
        ("20200812-anon--", 1, "trophy"), ("20261101-new", 1, "")
    ]  # fmt: skip
    page = client.get(reverse("boards:board", args=["small"])).content.decode()
    assert "<dt>Imported<dd>4<" in page and "<dt>Without runs<dd>4<" in page and "as published" in page


CSV = "id,date,,description,team,paper,code,type,MRR@10 (Dev),MRR@10 (Eval),tweet\n20200101-old,2020/01/01,,Old,Them,,,"


@pytest.mark.parametrize(("published", "text"), [("0.700", "0.750 here, +0.050 against"), ("", "0.750 here<")])
def test_a_run_added_to_an_imported_entry_is_scored_and_compared(
    collection: Collection, olga: User, client: Client, published: str, text: str
) -> None:
    board = taking_part.make(collection, olga)
    bring(board, f"{CSV}full ranking,{published},0.3,\n")
    (row,), season = board.submissions.all(), board.seasons.get()
    client.force_login(olga)
    fields = {"season": season.pk, "entry": row.pk}
    run = taking_part.run(taking_part.DEV, 3)
    page = reverse("leaderboards:dev", args=[board.slug])
    client.post(page, fields | {"file": SimpleUploadedFile("bad.txt", b"d1 p\n")})
    jobs.score_dev()
    assert not row.scores.filter(origin="computed").exists(), "what the check refuses is not added"
    assert client.post(page, fields | {"file": SimpleUploadedFile("dev.txt", run.encode())}).status_code == 303
    jobs.score_dev()
    score = row.scores.get(origin="computed")
    assert (score.part, score.fraction) == ("dev", "3/4") and artifacts.per_query(score).tolist() == [1, 1, 1, 0]
    entry = client.get(reverse("boards:entry", args=[board.slug, row.public_id])).content.decode()
    assert f"RR@10 {text}" in entry
    again = client.post(page, fields | {"file": SimpleUploadedFile("dev.txt", run.encode())})
    assert again.status_code == 409 and "has its dev run" in again.text


def test_only_organizers_add_runs_and_only_to_imported_entries(collection: Collection, olga: User) -> None:
    board = taking_part.make(collection, olga)
    bring(board, f"{CSV}full ranking,0.7,0.3,\n")
    row, season, stranger = board.submissions.get(), board.seasons.get(), factories.user("mallory")
    with pytest.raises(Refused, match="Only the organizers"):
        submitting.dev_scoring_ask(season=season, name="a", content=b"x", by=stranger, at=NOW, entry=row)
    other = taking_part.season(board, "Other", NOW)
    with pytest.raises(Refused, match="imported entry of the same season"):
        submitting.dev_scoring_ask(season=other, name="a", content=b"x", by=olga, at=NOW, entry=row)
    assert not row.dev_scorings.exists()


@pytest.fixture(scope="module")
def old_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an RSA pair, made as the old scripts' page says."""
    folder = tmp_path_factory.mktemp("keys")
    openssl("genrsa", "-out", str(folder / "private.pem"), "2048")
    openssl("rsa", "-in", str(folder / "private.pem"), "-pubout", "-out", str(folder / "public.pem"))
    return folder


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def old_package(folder: Path, keys: Path, run_id: str, runs: dict[str, str]) -> dict[str, bytes]:
    """The two files of a package that have its runs, made by the scripts' own commands."""
    (folder / run_id).mkdir()
    for part, run in runs.items():
        (folder / run_id / f"{part}.txt.bz2").write_bytes(bz2.compress(run.encode()))
    subprocess.run(["tar", "cf", f"{run_id}.tar", f"{run_id}/"], cwd=folder, check=True)
    key, tar = folder / f"{run_id}.key.bin", folder / f"{run_id}.tar"
    openssl("rand", "-base64", "-out", str(key), "32")
    openssl("rsautl", "-encrypt", "-inkey", str(keys / "public.pem"), "-pubin", "-in", str(key), "-out", f"{key}.enc")
    openssl("enc", "-aes-256-cbc", "-salt", "-in", str(tar), "-out", f"{tar}.enc", "-pass", f"file:{key}", "-pbkdf2")
    return {"tar": Path(f"{tar}.enc").read_bytes(), "key": Path(f"{key}.enc").read_bytes(), "burnt": key.read_bytes()}


def sent(run_id: str, files: dict[str, bytes], keys: Path, season: int, **other: SimpleUploadedFile) -> dict[str, Any]:
    """What the form of an old package sends."""
    named = {
        "tar": SimpleUploadedFile(f"{run_id}.tar.enc", files["tar"]),
        "key": SimpleUploadedFile(f"{run_id}.key.bin.enc", files["key"]),
        "private": SimpleUploadedFile("private.pem", (keys / "private.pem").read_bytes()),
    }
    return {"old": "1", "season": season, **named, **other}


def test_an_old_package_adds_both_runs_to_the_imported_entry_and_eval_is_for_organizers(
    collection: Collection, olga: User, client: Client, tmp_path: Path, old_keys: Path
) -> None:
    board = taking_part.make(collection, olga)
    bring(board, f"{CSV}full ranking,0.700,0.500,\n")
    row, season = board.submissions.get(), board.seasons.get()
    runs = {"dev": taking_part.run(taking_part.DEV, 3), "eval": taking_part.run(taking_part.EVAL, 2)}
    files = old_package(tmp_path, old_keys, "20200101-old", runs)
    other = old_package(tmp_path, old_keys, "20200101-other--", runs)
    page = reverse("leaderboards:dev", args=[board.slug])
    client.force_login(factories.user("stranger"))
    assert "ID.tar.enc" not in client.get(page).text
    client.post(page, sent("20200101-old", files, old_keys, season.pk))
    client.force_login(olga)
    assert "ID.tar.enc" in client.get(page).text

    def refused(run_id: str, files: dict[str, bytes], **instead: SimpleUploadedFile) -> str:
        answer = client.post(page, sent(run_id, files, old_keys, season.pk, **instead))
        assert answer.status_code in (400, 409) and "PRIVATE KEY" not in answer.text
        return html.unescape(answer.text)

    message = refused("20200101-other--", other)
    assert "package of “20200101-other--”, and the season has no entry of that id" in message
    assert "Files of several packages" in refused("20200101-old", files, key=SimpleUploadedFile(
        "20200101-other--.key.bin.enc", other["key"]))  # fmt: skip
    assert "was changed, or encrypted with another key" in refused("20200101-old", files | {"key": other["key"]})
    assert "It is burnt" in refused("20200101-old", files, key=SimpleUploadedFile("20200101-old.key.bin", b"k"))
    assert "no key in PEM" in refused("20200101-old", files, private=SimpleUploadedFile("p.pem", "ä".encode()))
    assert "asked for" in refused("20200101-old", files, tar=SimpleUploadedFile("20200101-old.zip", files["tar"]))
    assert not row.dev_scorings.exists() and not row.openings.exists()

    assert client.post(page, sent("20200101-old", files, old_keys, season.pk)).status_code == 303
    (opening,) = row.openings.all()
    assert (opening.what, opening.by) == ("package", olga)
    jobs.score_dev()
    text = client.get(page).text
    assert "RR@10 on dev: 0.750 here, 0.700 as published." in text
    assert "RR@10 on eval: 0.500 here, 0.500 as published." in text
    (score,) = row.scores.filter(origin="computed")
    assert (score.part, score.fraction) == ("dev", "3/4")
    assert not any(name for scoring in row.dev_scorings.all() if (name := scoring.file.name))
    client.logout()
    entry = client.get(reverse("boards:entry", args=[board.slug, row.public_id])).text
    assert "RR@10 0.750 here, +0.050 against" in entry and "0.500 here" not in entry
    client.force_login(olga)
    assert "has its dev run" in refused("20200101-old", files)


def test_an_eval_run_is_scored_of_an_imported_entry_alone(collection: Collection, olga: User) -> None:
    board = taking_part.make(collection, olga)
    with pytest.raises(IntegrityError), transaction.atomic():
        DevScoring.objects.create(season=board.seasons.get(), part="eval", asked_by=olga, asked_at=NOW, name="x")
