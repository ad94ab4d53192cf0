"""Ends the programs of a site whose main process was killed: `python local/guardian.py`, with a pipe as its input.

Lines `+123` and `-123` in the pipe name process groups that are to be ended, or need not be any more. The pipe ends
with the process that holds its other end, however that dies: then every group is asked to end, and killed when it has
not ended ten seconds later. Only the standard library is imported, so that it starts fast.
"""

import contextlib
import os
import signal
import sys
import time

GRACE_SECONDS = 10.0


def main() -> None:
    """Read until the pipe ends, then end what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        if line.endswith("\n"):  # the last may have been cut off
            (groups.add if line.startswith("+") else groups.discard)(int(line[1:]))
    deadline = time.monotonic() + GRACE_SECONDS
    left = [group for group in groups if is_signalled(group, signal.SIGTERM)]
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = [group for group in left if is_signalled(group, 0)]
    for group in left:
        is_signalled(group, signal.SIGKILL)


def is_signalled(group: int, number: int) -> bool:
    """Send a signal to a process group. False if nobody is left in it."""
    with contextlib.suppress(PermissionError):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return False
    return True


if __name__ == "__main__":
    main()
