"""The storm's background workers leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import REPOSITORY

PARENT = """
import os, subprocess, sys, time
environment = os.environ | {"STORM_PARENT": str(os.getpid())}
jobs = subprocess.Popen([sys.executable, "-m", "tests.storm.jobs"], env=environment, start_new_session=True)
print(jobs.pid, flush=True)
time.sleep(60)
"""


def group(number: int) -> list[int]:
    """The living processes of a process group."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == number and state not in "ZX":
            members.append(int(stat.parent.name))
    return members


def test_they_end_when_the_process_that_started_them_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    jobs = int(parent.stdout.readline())
    try:
        deadline = time.monotonic() + 60
        while len(group(jobs)) < 3 and time.monotonic() < deadline:  # itself and two that work
            time.sleep(0.1)
        assert len(group(jobs)) >= 3

        parent.send_signal(signal.SIGTERM)
        parent.wait(10)
        deadline = time.monotonic() + 60
        while group(jobs) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert group(jobs) == []
    finally:
        if group(jobs):
            os.killpg(jobs, signal.SIGKILL)
        parent.kill()
        parent.communicate(timeout=10)
