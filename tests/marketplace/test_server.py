"""The tests' own marketplaces leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.marketplace.server import REPOSITORY

PARENT = """
import sys, time
from pathlib import Path
from tests.marketplace.server import Marketplace

running = Marketplace(Path(sys.argv[1]))
print(running.pid, flush=True)
time.sleep(120)
"""


def descendants(pid: int) -> set[int]:
    """A process and its children that live."""
    living = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        number = int(stat.parent.name)
        if state not in "ZX" and pid in (number, int(parent)):
            living.add(number)
    return living


def is_alive(pid: int) -> bool:
    """Whether a process runs, and is not only waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_marketplace_ends_with_the_process_that_started_it(number: signal.Signals, tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout
    master = int(parent.stdout.readline())
    servers = {master}
    try:
        deadline = time.monotonic() + 60
        while len(servers) < 3 and time.monotonic() < deadline:  # the master starts its workers one after the other
            servers = descendants(master)
        assert len(servers) == 3

        parent.send_signal(number)
        parent.wait(10)
        deadline = time.monotonic() + 60
        while any(map(is_alive, servers)) and time.monotonic() < deadline:
            time.sleep(0.1)

        assert [pid for pid in servers if is_alive(pid)] == []
    finally:
        for pid in filter(is_alive, servers):
            os.kill(pid, signal.SIGKILL)
        parent.kill()
        parent.communicate(timeout=10)
