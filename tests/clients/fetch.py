"""Get what the tests of other people's clients need: `python -m tests.clients.fetch`, which `make test` does.

The AWS CLI goes into an environment of its own in `.tools/clients`, and source distributions are unpacked beside it.
Versions and hashes are in `tools.txt` and `sources.txt`. Done once; where no registry can be reached, it says so, and
those tests are skipped with that sentence.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOOLS = HERE.parent.parent / ".tools" / "clients"
PYTHON = TOOLS / "venv" / "bin" / "python"
SOURCES = TOOLS / "sources"
# What was fetched: written last, so that an interrupted fetch is done again.
MADE = TOOLS / "made"
MISSING = "other people's clients are not here, since no package registry could be reached: see tests.clients.fetch"


def is_fetched() -> bool:
    """Whether all of it is here, in the versions that are wanted."""
    return MADE.exists() and MADE.read_text() == _wanted()


def source(name: str) -> Path:
    """The folder of an unpacked source distribution. Skips the test where nothing could be fetched."""
    if not is_fetched():
        pytest.skip(MISSING)
    (folder,) = [path for path in SOURCES.iterdir() if path.name.lower().startswith(f"{name}-")]
    return folder


def aws_cli() -> list[str]:
    """The AWS CLI as a command. Skips the test where nothing could be fetched."""
    if not is_fetched():
        pytest.skip(MISSING)
    return [str(PYTHON), "-m", "awscli"]  # its script would not run from a path with a space


def main() -> int:
    """Fetch what is not here yet. Gives the exit code: 1 only if something came that is not what is wanted."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_fetched():
            return 0
        MADE.unlink(missing_ok=True)
        print("Fetching other people's clients for the tests (only this once; a minute)", flush=True)
        failure = _fetch()
        if not failure:
            MADE.write_text(_wanted())
            return 0
    print(failure, file=sys.stderr)
    if "DO NOT MATCH THE HASHES" in failure:
        return 1
    print("No package registry could be reached, it seems: the tests of other people's clients will be skipped.")
    return 0


def _wanted() -> str:
    lists = b"".join((HERE / name).read_bytes() for name in ("tools.txt", "sources.txt"))
    return hashlib.sha256(lists + f"{sys.version_info[:2]}".encode()).hexdigest()


def _fetch() -> str:
    """What went wrong; empty if nothing did."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    archives = TOOLS / "archives"
    venv.create(TOOLS / "venv", with_pip=True, clear=True)
    quiet = ("--quiet", "--require-hashes", "--disable-pip-version-check", "--no-input")
    # pip asks each source distribution for its name before it gives it to us: hence the build tools, which are
    # installed first, and no isolation, which would fetch others.
    unbuilt = ("--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(archives))
    for command in (
        ("install", *quiet, "--requirement", str(HERE / "tools.txt")),
        ("download", *quiet, *unbuilt, "--requirement", str(HERE / "sources.txt")),
    ):
        done = subprocess.run(
            [PYTHON, "-m", "pip", *command], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            return done.stdout + done.stderr
    for archive in archives.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            if hasattr(tarfile, "data_filter"):  # since Python 3.11.4; what is opened is pinned by its hash
                opened.extraction_filter = tarfile.data_filter
            opened.extractall(SOURCES)
    shutil.rmtree(archives)
    return ""


if __name__ == "__main__":
    sys.exit(main())
