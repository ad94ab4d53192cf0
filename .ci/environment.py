"""Make `.venv`, and bring it up to date: `python3 .ci/environment.py requirements.txt` (or requirements-dev.txt).

With `quickest` as a second word, a new `.venv` is of the quickest Python of this version on the PATH. One that was
built without its compiler's optimizations, as some tools build it, takes up to half as long again for everything.

Does nothing, fast, when that was done before for the same requirements. Two at once take turns; an interrupted one is
done again. What pip says is shown only when it fails.
"""

import contextlib
import fcntl
import hashlib
import json
import os
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
# Some of everything that a program does, and the seconds that this took.
WORK = """
import ensurepip, json, re, sys, time, venv
class Box:
    def __init__(self, value): self.value = value
    def get(self, other=None, *more, **named): return self.value if other is None else other
def seconds():
    began, boxes = time.process_time(), {}
    for number in range(20000):
        box = Box(number)
        boxes[str(number)] = box.get() + box.get(1, 2, three=3)
    json.loads(json.dumps(boxes))
    sorted(",".join(f"{key}={value}" for key, value in boxes.items() if re.match("[0-4]+$", key)))
    return time.process_time() - began
print(json.dumps([min(seconds() for _ in range(5)), sys.version_info[:2], sys.executable]))
"""


class CommandError(Exception):
    """A program failed. The message says which, what it said, and what to do."""


def main(requirements: str, which: str = "") -> int:
    """Make sure that the environment has what a requirements file lists. Gives the exit code."""
    wanted = {name: hashlib.sha256((REPOSITORY / name).read_bytes()).hexdigest() for name in INCLUDES[requirements]}
    with (REPOSITORY / "requirements.txt").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _usable() and wanted.items() <= _installed().items():
            return 0
        try:
            NOTE.unlink(missing_ok=True)
            if not _usable():
                python = _quickest() if which == "quickest" else sys.executable
                _run(
                    f"Making the virtual environment in .venv with {python}",
                    [python, "-m", "venv", "--clear", str(VENV)],
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
        part.write_text(json.dumps(wanted))
        part.replace(NOTE)
    return 0


def _usable() -> bool:
    """Whether .venv holds a Python that runs, is new enough, and has pip."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    with contextlib.suppress(OSError):
        return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0  # noqa: S603
    return False


def _quickest() -> str:
    """The Python of this one's version that is by far quicker than it, if there is one on the PATH, or this one."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    programs = {
        (folder / name).resolve() for folder in folders for name in ("python3", f"python3.{sys.version_info[1]}")
    }
    seconds: dict[str, float] = {}
    # In turns, as a busy machine is slow for a while.
    for program in 3 * (Path(sys.executable), *sorted(programs - {Path(sys.executable).resolve()})):
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            asked = subprocess.run(  # noqa: S603 - a Python of the user's own
                [program, "-I", "-c", WORK], capture_output=True, check=False, timeout=30
            )
            taken, version, executable = json.loads(asked.stdout)
            if version == [*sys.version_info[:2]]:
                seconds[executable] = min(taken, seconds.get(executable, taken))
    quickest = min(seconds, key=lambda executable: seconds[executable], default=sys.executable)
    by_far = seconds.get(quickest, 0) < 0.88 * seconds.get(sys.executable, float("inf"))
    return quickest if by_far else sys.executable


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
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
