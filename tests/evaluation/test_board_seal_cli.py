"""The commands `seal` and `unseal`: a submission from the participant's files to the board's, and back."""

import bz2
import gzip
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluation.boards import packages, sealing

from .command import json_of, run_cli

BOARD = sealing.new_key()
RUN = b"".join(b"q%d p%d %d\n" % (query, rank, rank) for query in range(3) for rank in range(1, 4))
QUERIES = "".join(f"q{query}\twhat is {query}\n" for query in range(3))
METADATA = {"team": "Ours", "model_description": "BM25", "paper": "", "code": "example.org", "type": "full ranking"}
SEAL = (
    "seal --board board.json --metadata metadata.json --dev dev.txt.gz --eval eval.txt "
    "--dev-queries queries.tsv --eval-queries queries.tsv"
).split()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A board's file, and a participant's runs, queries and metadata."""
    monkeypatch.chdir(tmp_path)
    Path("board.json").write_text(json.dumps(packages.BoardTerms("passages", BOARD.public_pem, hits=3).as_dict()))
    Path("metadata.json").write_text(json.dumps(METADATA, indent=1))
    Path("dev.txt.gz").write_bytes(gzip.compress(RUN))
    Path("eval.txt").write_bytes(RUN)
    Path("queries.tsv").write_text(QUERIES)
    Path("board.pem").write_text(BOARD.private_pem)
    return tmp_path


@pytest.fixture
def run_id() -> str:
    """Of today, where that is; a test that begins before midnight may end after it."""
    return f"{datetime.now(UTC):%Y%m%d}-ours"


@pytest.mark.usefixtures("folder")
def test_a_submission_is_checked_sealed_and_opened(run_id: str) -> None:
    out, err = run_cli(*SEAL, "--id", run_id)
    assert "dev.txt.gz: MS MARCO, 9 lines, 3 of 3 queries, 3 hits a query." in out
    assert f"for submission {run_id} to passages." in out
    assert f"fingerprint {sealing.spaced(BOARD.fingerprint)}\n" in out
    assert err == "metadata.json, line 5: Note: code example.org is taken as https://example.org.\n"

    package = Path(f"{run_id}.sealed")
    run_cli("unseal", "--key", "board.pem", "--to", "opened", str(package))
    opened = Path("opened", run_id)
    assert sorted(path.name for path in opened.iterdir()) == sorted(packages.FILES)
    assert bz2.decompress((opened / "dev.txt.bz2").read_bytes()) == RUN
    assert json.loads((opened / "metadata.json").read_text()) == METADATA
    assert {stat.S_IMODE(path.stat().st_mode) for path in opened.iterdir()} == {0o600}
    assert stat.S_IMODE(opened.stat().st_mode) == 0o700
    # Nothing is written over.
    err = run_cli("unseal", "--key", "board.pem", "--to", "opened", str(package), code=1).err
    assert "metadata.json: there already: it is not replaced." in err


@pytest.mark.usefixtures("folder")
def test_a_key_of_the_participants_own_opens_the_package_too() -> None:
    out, _ = run_cli("seal", "--new-key", "mine")
    assert stat.S_IMODE(Path("mine.pem").stat().st_mode) == 0o600
    fingerprint = sealing.fingerprint(Path("mine.pub.pem").read_text())
    assert sealing.spaced(fingerprint) in out
    assert "mine.pem: there already" in run_cli("seal", "--new-key", "mine", code=1).err

    run_cli(*SEAL, "--name", "ours", "--also-to", "mine.pub.pem", "--output", "out.sealed")
    run_cli("unseal", "--key", "mine.pem", "--to", "a", "out.sealed")
    run_cli("unseal", "--key", "board.pem", "--to", "b", "out.sealed")
    run_cli(*SEAL, "--name", "ours", "--output", "only.sealed")
    err = run_cli("unseal", "--key", "mine.pem", "--to", "c", "only.sealed", code=1).err
    assert "only.sealed: the package was sealed for the keys" in err
    assert not Path("c").exists()


@pytest.mark.usefixtures("folder")
def test_a_package_is_refused_where_another_board_or_submission_is_expected() -> None:
    run_cli(*SEAL, "--name", "ours", "--output", "out.sealed")
    for words in (["--run-board", "documents"], ["--run-id", "20200101-theirs"]):
        err = run_cli("unseal", "--key", "board.pem", "--to", "a", *words, "out.sealed", code=1).err
        assert "out.sealed: the package was sealed for" in err
    package = bytearray(Path("out.sealed").read_bytes())
    package[-1] ^= 1
    Path("out.sealed").write_bytes(package)
    err = run_cli("unseal", "--key", "board.pem", "--to", "a", "out.sealed", code=1).err
    assert "was changed or cut after it was sealed" in err
    assert not Path("a").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("metadata.json", '{"team": "Ours",\n "type": "full ranking"}', "metadata.json: model_description is missing."),
        ("metadata.json", json.dumps({**METADATA, "team": "anonymous"}, indent=1), "metadata.json, line 2: team is"),
        ("eval.txt", "q0 p1 1\nq0 p2 1\n", "eval.txt, line 2: rank 1 a second time for query q0"),
        ("eval.txt", "x p1 1\n", "eval.txt: answers none of the 3 queries"),
        ("dev.txt.gz", "q0 p1\n", "dev.txt.gz, line 1:"),
        ("board.json", "{}", 'board.json: board is ""'),
        ("queries.tsv", "", "queries.tsv, line 1: the file is empty."),
    ],
)
def test_what_is_wrong_is_told_by_line_and_nothing_is_sealed(file: str, content: str, why: str) -> None:
    Path(file).write_text(content)
    out, err = run_cli(*SEAL, "--name", "ours", "--output", "out.sealed", code=1)
    assert why in out + err
    assert not Path("out.sealed").exists()


@pytest.mark.usefixtures("folder")
def test_a_bad_id_is_told_together_with_the_rest() -> None:
    Path("metadata.json").write_text('{"type": "x"}')
    old = f"{datetime.now(UTC) - timedelta(3):%Y%m%d}-ours"
    for run_id, why in ((old, "more than one day from today"), ("ours", "is needed"), ("20210230-a", "is no date")):
        err = run_cli(*SEAL, "--id", run_id, "--output", "out.sealed", code=1).err
        assert why in err
        assert "line 1: type x where the board has full ranking, reranking." in err
    assert not Path("out.sealed").exists()


@pytest.mark.usefixtures("folder")
def test_a_check_alone_seals_nothing_and_json_tells_all() -> None:
    assert run_cli(*SEAL, "--name", "ours", "--check").out.endswith("Nothing is wrong with it.\n")
    printed = json_of(*SEAL, "--name", "ours", "--check", "--json")
    assert (printed["ok"], printed["package"], printed["bytes"], printed["fingerprint"]) == (
        True,
        None,
        None,
        BOARD.fingerprint,
    )
    assert printed["runs"]["eval"]["lines"] == 9
    assert list(Path().glob("*.sealed")) == []


@pytest.mark.usefixtures("folder")
def test_candidates_bind_reranking_runs_only() -> None:
    Path("candidates.txt").write_text("q0 p1 1\nq1 p1 1\nq2 p1 1\n")
    words = [*SEAL, "--name", "ours", "--check", "--dev-candidates", "candidates.txt"]
    run_cli(*words)
    Path("metadata.json").write_text(json.dumps({**METADATA, "type": "reranking"}))
    assert "dev.txt.gz, line 2: passage p2 is not among the candidates of query q0" in run_cli(*words, code=1).out


@pytest.mark.usefixtures("folder")
def test_a_wrong_command_is_told_so() -> None:
    for words, why in (
        (["seal"], "--board, --metadata, --dev, --eval, --dev-queries, --eval-queries, --id or --name needed"),
        (["unseal", "x.sealed"], "the following arguments are required: --key, --to"),
    ):
        assert why in run_cli(*words, code=2).err
    Path("bad.pem").write_text("no key")
    assert "bad.pem: not a public key in PEM" in run_cli(*SEAL, "--name", "ours", "--also-to", "bad.pem", code=1).err
    err = run_cli(*SEAL, "--name", "ours", "--output", "missing/out.sealed", code=1).err
    assert "missing/out.sealed: cannot be written" in err


def test_the_scripts_packages_are_unsealed_too(tmp_path: Path) -> None:
    """Made by the commands of the scripts, with openssl."""
    import subprocess

    commands = """
    openssl genrsa -out private.pem 2048; openssl rsa -in private.pem -pubout -out public.pem
    mkdir 20210303-a; echo dev | bzip2 > 20210303-a/dev.txt.bz2; echo eval | bzip2 > 20210303-a/eval.txt.bz2
    echo '{}' > 20210303-a-metadata.json; openssl rand -base64 32 > 20210303-a.key.bin
    openssl rsautl -encrypt -inkey public.pem -pubin -in 20210303-a.key.bin -out 20210303-a.key.bin.enc
    tar cf 20210303-a.tar 20210303-a/
    for name in 20210303-a.tar 20210303-a-metadata.json; do
      openssl enc -aes-256-cbc -salt -in $name -out $name.enc -pass file:20210303-a.key.bin -pbkdf2; done
    """
    subprocess.run(["bash", "-ec", commands], cwd=tmp_path, check=True, capture_output=True)
    files = [str(path) for path in tmp_path.glob("*.enc")]
    words = ["unseal", "--key", str(tmp_path / "private.pem"), "--to", str(tmp_path / "opened")]
    assert "It is burnt" in run_cli(*words, *files, str(tmp_path / "20210303-a.key.bin"), code=1).err
    err = run_cli(*words, "--run-id", "20210303-b", *files, code=1).err
    assert "is of submission 20210303-a, not of 20210303-b" in err
    run_cli(*words, *files)
    assert bz2.decompress((tmp_path / "opened/20210303-a/eval.txt.bz2").read_bytes()) == b"eval\n"
