"""Participants seal without the project: with what a board serves, in an environment of their own."""

import io
import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from core.version import VERSION
from evaluation.package.wheels import SEALING, WHOLE, make_wheel, sources
from leaderboards.models import Board, SeasonFile, Team
from leaderboards.public import sealing
from tests.conftest import REPOSITORY
from tests.leaderboards import taking_part

pytestmark = pytest.mark.django_db
MOST_BYTES = 120_000


def pip(*words: object) -> None:
    """Without the network."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def served() -> tuple[str, bytes]:
    """The wheel's name and content, as the files page of the board links it."""
    answer = Client().get(urlsplit(sealing.installing().address).path)
    assert answer.status_code == 200
    return answer["Content-Disposition"].partition('"')[2].rstrip('"'), answer.content


@pytest.fixture
def command(board: Board, tmp_path: Path) -> Path:
    """The command `bestknown` in a new environment, which has the packages that it needs and nothing of the project."""
    name, content = served()
    (tmp_path / name).write_bytes(content)
    return installed(tmp_path, f"{(tmp_path / name).as_uri()}#sha256={sealing.installing().sha256}")


def installed(folder: Path, wheel: str) -> Path:
    """The command of a wheel in a new environment, which has the packages that it needs and nothing of the project."""
    venv.create(folder / "new", with_pip=False)
    python = folder / "new" / "bin" / "python"
    command = [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    home = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    (home / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    pip("--python", python, "install", "--no-index", "--no-deps", wheel)
    return folder / "new" / "bin" / "bestknown"


def run(command: Path, folder: Path, *words: str) -> str:
    done = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_served_command_checks_seals_and_opens_a_run_that_the_board_evaluates(
    board: Board, team: Team, paul: User, command: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "small.json").write_bytes(Client().get(reverse("leaderboards:terms", args=[board.slug])).content)
    (folder / "metadata.json").write_text(json.dumps(taking_part.METADATA))
    for half, relevant in (("dev", taking_part.DEV), ("eval", taking_part.EVAL)):
        (folder / f"{half}.txt").write_text(taking_part.run(relevant, 3))
        (folder / f"{half}-queries.tsv").write_bytes(taking_part.season_files()[f"{half}_queries"][1])
    assert "dev.txt: no errors." in run(command, folder, "check", "dev.txt", "--queries", "dev-queries.tsv")
    run(command, folder, "seal", "--new-key", "own")
    words = sealing.seal_command("small.json").replace("NAME", "ours").split()[1:]
    output = run(command, folder, *words, "--also-to", "own.pub.pem", "--output", "ours.sealed")
    fingerprint = board.keys.get().fingerprint
    assert " ".join(fingerprint[at : at + 4] for at in range(0, 64, 4)) in output
    run(command, folder, "unseal", "--key", "own.pem", "--to", "opened", "ours.sealed")
    assert json.loads(next(folder.glob("opened/*/metadata.json")).read_text()) == taking_part.METADATA

    sealed = (folder / "ours.sealed").read_bytes()
    submission = taking_part.evaluated(board, team, paul, "ours", timezone.now(), sealed=sealed)
    assert submission.scores.get(part="eval").fraction == "3/4"

    assert "usage: bestknown seal" in (output := run(command, folder, "seal", "--help"))
    assert "  bestknown seal --board board.json" in output and "python -m evaluation" not in output


def test_the_commands_of_a_sample_submission_work_and_the_board_takes_no_sample(
    board: Board, team: Team, paul: User, command: Path, tmp_path: Path
) -> None:
    answer = Client().get(reverse("leaderboards:sample", args=[board.slug]))
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path / "sample")
    folder = tmp_path / "sample"
    assert (folder / "eval-queries.tsv").read_text() == "e1\tquestion e1\ne2\tquestion e2\ne3\tquestion e3\n"
    lines = [line.split() for line in (folder / "README.txt").read_text().splitlines() if line.startswith("  ")]
    assert [line[:2] for line in lines] == [
        ["pip", "install"], ["bestknown", "check"], ["bestknown", "seal"], ["bestknown", "unseal"],
    ]  # fmt: skip
    assert lines[0][2] == sealing.installing().address
    package = next(folder.glob("*.sealed"))
    sealed = package.read_bytes()
    run(command, folder, *lines[1][1:])
    run(command, folder, *lines[3][1:])
    assert (folder / "opened" / package.stem / "dev.txt.bz2").exists()
    run(command, folder, *lines[2][1:])
    assert package.read_bytes() != sealed, "sealed anew"
    client = Client()
    client.force_login(paul)
    form: dict[str, Any] = {"team": team.pk, "season": board.seasons.get().pk, "policy": 1, "accept": "on"}
    sent = {**form, "run_id": package.stem, "package": io.BytesIO(sealed)}
    assert client.post(reverse("leaderboards:submit", args=[board.slug]), sent).status_code != 303
    assert not board.submissions.exists()


@pytest.mark.parametrize("order", ["rank", "score"])
def test_a_sample_has_the_boards_own_form_and_passes_its_check(board: Board, order: str, tmp_path: Path) -> None:
    Board.objects.filter(pk=board.pk).update(order=order, fewer_refused=True)
    answer = Client().get(reverse("leaderboards:sample", args=[board.slug]))
    with zipfile.ZipFile(io.BytesIO(answer.content)) as opened:
        opened.extractall(tmp_path)
        first = opened.read("dev.txt").decode().splitlines()[0]
    assert first == ("d1 Q0 passage1 1 9 sample" if order == "score" else "d1\tpassage1\t1")
    words = sealing.seal_command("board.json").replace("NAME", "sample").split()[1:]
    checked = [sys.executable, "-m", "evaluation", *words, "--check"]
    done = subprocess.run(
        checked, cwd=tmp_path, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(REPOSITORY)}
    )
    assert done.returncode == 0 and "Nothing is wrong with it." in done.stdout, done.stdout + done.stderr
    assert "Note" not in done.stdout


def test_who_may_have_a_sample_and_when_there_is_none(board: Board, paul: User) -> None:
    address = reverse("leaderboards:sample", args=[board.slug])
    page = reverse("boards:board", args=[board.slug])
    assert address in Client().get(page).text
    Board.objects.update(is_public=False)
    assert Client().get(address).status_code == 404
    Board.objects.update(is_public=True)
    SeasonFile.objects.filter(part="eval_queries").delete()
    assert "has no queries" in Client().get(address, headers={"accept": "text/html"}).text
    assert address not in Client().get(page).text
    assert Client().get(reverse("boards:files", args=[board.slug])).status_code == 200


def test_the_pages_say_what_to_install_with_its_size_and_hash(board: Board, team: Team, paul: User) -> None:
    wheel, client = make_wheel(SEALING), Client()
    client.force_login(paul)
    for page in (reverse("boards:files", args=[board.slug]), reverse("leaderboards:submit", args=[board.slug])):
        text = client.get(page).text
        assert f"{wheel.name}#sha256={wheel.sha256}" in text and "bestknown seal --board small.json" in text
    assert served() == wheel
    assert Client().get(reverse("boards:wheel", args=["other-1.0-py3-none-any"])).status_code == 404


def test_the_wheel_holds_no_more_than_it_needs() -> None:
    wheel, modules = make_wheel(SEALING), sources(SEALING.command)
    assert f"-{VERSION}-" in wheel.name and len(wheel.content) < MOST_BYTES
    assert {"evaluation.boards.sealing", "evaluation.files.runs"} <= set(modules)
    assert not any(name.startswith(("evaluation.judging", "evaluation.boards.alike")) for name in modules)
    assert all(path.is_file() for path in modules.values())


def test_the_folder_installs_every_command_without_django(tmp_path: Path) -> None:
    pip("wheel", "--no-index", "--no-deps", "--wheel-dir", tmp_path, REPOSITORY / "evaluation")
    whole = make_wheel(WHOLE)
    assert (tmp_path / whole.name).read_bytes() == whole.content
    command = installed(tmp_path, (tmp_path / whole.name).as_uri())
    helped = run(command, tmp_path, "--help")
    assert "  bestknown settle" not in helped and "  bestknown check bm25.txt.gz" in helped
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 d2 1 2 run\nq1 Q0 d1 2 1 run\n")
    assert '"mean": 0.5' in run(command, tmp_path, "score", "--qrels", "qrels.txt", "run.txt")
    (tmp_path / "preferences.txt").write_text("q1 d1 d2 d2\n")
    assert run(command, tmp_path, "qrels", "preferences.txt") == "q1 0 d2 1\n"
    imported = 'import sys, bestknown_evaluation; sys.argv = ["bestknown", "--help"]\n'
    imported += "try: bestknown_evaluation.main()\nexcept SystemExit: assert 'django' not in sys.modules"
    subprocess.run([command.with_name("python"), "-c", imported], check=True, capture_output=True)
