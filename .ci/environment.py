"""Make `.venv`, and bring it up to date: `python3 .ci/environment.py requirements.txt` (or requirements-dev.txt).

Does nothing, fast, when that was done before for the same requirements. Two at once take turns; an interrupted one is
done again. What pip says is shown only when it fails.
"""

import contextlib
import fcntl
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
VENV = REPOSITORY / ".venv"
PYTHON = VENV / "bin" / "python"
# Hashes of the requirements files that are installed. Written last, and removed before anything is changed.
NOTE = VENV / "installed.json"

INCLUDES = {
    "requirements.txt": ["requirements.txt"],
    "requirements-dev.txt": ["requirements.txt", "requirements-dev.txt"],
}


class CommandError(Exception):
    """A program failed. The message says which, what it said, and what to do."""


def main(requirements: str) -> int:
    """Make sure that the environment has what a requirements file lists. Gives the exit code."""
    hashes = {name: hashlib.sha256((REPOSITORY / name).read_bytes()).hexdigest() for name in INCLUDES[requirements]}
    with (REPOSITORY / "requirements.txt").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _usable() and hashes.items() <= _installed().items():
            return 0
        try:
            NOTE.unlink(missing_ok=True)
            if not _usable():
                _run(
                    "Making the virtual environment in .venv",
                    [sys.executable, "-m", "venv", "--clear", str(VENV)],
                    "On Debian and Ubuntu, Python's venv is a package of its own: apt-get install python3-venv",
                )
            _run(
                f"Installing {requirements} into .venv (only this once; a minute or two)",
                [
                    *(str(PYTHON), "-m", "pip", "install", "--require-hashes", "--disable-pip-version-check"),
                    *("--no-input", "--progress-bar", "off", "-r", requirements),
                ],
                "Run the same command again when the cause is gone: what was downloaded is kept.",
            )
        except CommandError as failure:
            print(failure, file=sys.stderr)
            return 1
        part = NOTE.with_suffix(".part")
        part.write_text(json.dumps(hashes))
        part.replace(NOTE)
    return 0


def _usable() -> bool:
    """Whether .venv holds a Python that runs, is new enough, and has pip."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    with contextlib.suppress(OSError):
        return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0  # noqa: S603
    return False


def _installed() -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(NOTE.read_text()))
    return {}


def _run(what: str, command: Sequence[str], advice: str) -> None:
    """Run a program, with a dot for every few seconds that it takes."""
    print(f"{what} ", end="", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(  # noqa: S603 - our own commands
            command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(3)
                    break
                print(".", end="", flush=True)
        except BaseException:
            process.kill()
            process.wait()
            print(" interrupted", flush=True)
            raise
        print(f" {time.monotonic() - started:.0f} s", flush=True)
        if process.returncode:
            output.seek(0)
            raise CommandError(f"{output.read()}\n{what} failed. The reason should be above. {advice}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
