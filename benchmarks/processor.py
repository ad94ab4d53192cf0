"""Processor time of running programs, as Linux counts it: what a busy machine does not change much."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def thread_seconds(pid: int) -> float:
    """What the first thread of a process has used, to the nanosecond: all of a process of PostgreSQL."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def tree_seconds(*roots: int) -> float:
    """What these processes and all below them have used, with those that have ended, in hundredths of a second."""
    parents: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                # The name of the program, in parentheses, may hold anything.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
            used[int(folder.name)] = sum(int(ticks) for ticks in fields[11:15])
    waiting, ticks = list(roots), 0
    while waiting:
        pid = waiting.pop()
        ticks += used.get(pid, 0)
        waiting += parents.get(pid, [])
    return ticks / _TICKS
