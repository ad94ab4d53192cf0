"""The commands `seal` and `unseal`: a submission from the participant's files to the board's, and back."""

import bz2
import gzip
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluation.boards import packages, sealing
from evaluation.cli.main import main

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
def test_a_submission_is_checked_sealed_and_opened(run_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEAL, "--id", run_id]) == 0
    out, err = capsys.readouterr()
    assert "dev.txt.gz: MS MARCO, 9 lines, 3 of 3 queries, 3 hits a query." in out
    assert f"for submission {run_id} to passages." in out
    assert f"fingerprint {sealing.spaced(BOARD.fingerprint)}\n" in out
    assert err == "metadata.json, line 5: Note: code example.org is taken as https://example.org.\n"

    package = Path(f"{run_id}.sealed")
    assert main(["unseal", "--key", "board.pem", "--to", "opened", str(package)]) == 0
    opened = Path("opened", run_id)
    assert sorted(path.name for path in opened.iterdir()) == sorted(packages.FILES)
    assert bz2.decompress((opened / "dev.txt.bz2").read_bytes()) == RUN
    assert json.loads((opened / "metadata.json").read_text()) == METADATA
    assert {stat.S_IMODE(path.stat().st_mode) for path in opened.iterdir()} == {0o600}
    assert stat.S_IMODE(opened.stat().st_mode) == 0o700
    # Nothing is written over.
    capsys.readouterr()
    assert main(["unseal", "--key", "board.pem", "--to", "opened", str(package)]) == 1
    assert "metadata.json: there already: it is not replaced." in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_key_of_the_participants_own_opens_the_package_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seal", "--new-key", "mine"]) == 0
    assert stat.S_IMODE(Path("mine.pem").stat().st_mode) == 0o600
    fingerprint = sealing.fingerprint(Path("mine.pub.pem").read_text())
    assert sealing.spaced(fingerprint) in capsys.readouterr().out
    assert main(["seal", "--new-key", "mine"]) == 1
    assert "mine.pem: there already" in capsys.readouterr().err

    assert main([*SEAL, "--name", "ours", "--also-to", "mine.pub.pem", "--output", "out.sealed"]) == 0
    assert main(["unseal", "--key", "mine.pem", "--to", "a", "out.sealed"]) == 0
    assert main(["unseal", "--key", "board.pem", "--to", "b", "out.sealed"]) == 0
    assert main([*SEAL, "--name", "ours", "--output", "only.sealed"]) == 0
    capsys.readouterr()
    assert main(["unseal", "--key", "mine.pem", "--to", "c", "only.sealed"]) == 1
    assert "only.sealed: the package was sealed for the keys" in capsys.readouterr().err
    assert not Path("c").exists()


@pytest.mark.usefixtures("folder")
def test_a_package_is_refused_where_another_board_or_submission_is_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*SEAL, "--name", "ours", "--output", "out.sealed"]) == 0
    for words in (["--run-board", "documents"], ["--run-id", "20200101-theirs"]):
        assert main(["unseal", "--key", "board.pem", "--to", "a", *words, "out.sealed"]) == 1
        assert "out.sealed: the package was sealed for" in capsys.readouterr().err
    package = bytearray(Path("out.sealed").read_bytes())
    package[-1] ^= 1
    Path("out.sealed").write_bytes(package)
    assert main(["unseal", "--key", "board.pem", "--to", "a", "out.sealed"]) == 1
    assert "was changed or cut after it was sealed" in capsys.readouterr().err
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
def test_what_is_wrong_is_told_by_line_and_nothing_is_sealed(
    file: str, content: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text(content)
    assert main([*SEAL, "--name", "ours", "--output", "out.sealed"]) == 1
    out, err = capsys.readouterr()
    assert why in out + err
    assert not Path("out.sealed").exists()


@pytest.mark.usefixtures("folder")
def test_a_bad_id_is_told_together_with_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    Path("metadata.json").write_text('{"type": "x"}')
    old = f"{datetime.now(UTC) - timedelta(3):%Y%m%d}-ours"
    for run_id, why in ((old, "more than one day from today"), ("ours", "is needed"), ("20210230-a", "is no date")):
        assert main([*SEAL, "--id", run_id, "--output", "out.sealed"]) == 1
        err = capsys.readouterr().err
        assert why in err
        assert "line 1: type x where the board has full ranking, reranking." in err
    assert not Path("out.sealed").exists()


@pytest.mark.usefixtures("folder")
def test_a_check_alone_seals_nothing_and_json_tells_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEAL, "--name", "ours", "--check"]) == 0
    assert capsys.readouterr().out.endswith("Nothing is wrong with it.\n")
    assert main([*SEAL, "--name", "ours", "--check", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["ok"], printed["package"], printed["bytes"], printed["fingerprint"]) == (
        True,
        None,
        None,
        BOARD.fingerprint,
    )
    assert printed["runs"]["eval"]["lines"] == 9
    assert list(Path().glob("*.sealed")) == []


@pytest.mark.usefixtures("folder")
def test_candidates_bind_reranking_runs_only(capsys: pytest.CaptureFixture[str]) -> None:
    Path("candidates.txt").write_text("q0 p1 1\nq1 p1 1\nq2 p1 1\n")
    words = [*SEAL, "--name", "ours", "--check", "--dev-candidates", "candidates.txt"]
    assert main(words) == 0
    Path("metadata.json").write_text(json.dumps({**METADATA, "type": "reranking"}))
    assert main(words) == 1
    assert "dev.txt.gz, line 2: passage p2 is not among the candidates of query q0" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a_wrong_command_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    for words, why in (
        (["seal"], "--board, --metadata, --dev, --eval, --dev-queries, --eval-queries, --id or --name needed"),
        (["unseal", "x.sealed"], "the following arguments are required: --key, --to"),
    ):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 2
        assert why in capsys.readouterr().err
    Path("bad.pem").write_text("no key")
    assert main([*SEAL, "--name", "ours", "--also-to", "bad.pem"]) == 1
    assert "bad.pem: not a public key in PEM" in capsys.readouterr().err
    assert main([*SEAL, "--name", "ours", "--output", "missing/out.sealed"]) == 1
    assert "missing/out.sealed: cannot be written" in capsys.readouterr().err


def test_the_scripts_packages_are_unsealed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert main([*words, *files, str(tmp_path / "20210303-a.key.bin")]) == 1
    assert "It is burnt" in capsys.readouterr().err
    assert main([*words, "--run-id", "20210303-b", *files]) == 1
    assert "is of submission 20210303-a, not of 20210303-b" in capsys.readouterr().err
    assert main([*words, *files]) == 0
    assert bz2.decompress((tmp_path / "opened/20210303-a/eval.txt.bz2").read_bytes()) == b"eval\n"
