"""Servers that tests start end with the process that started them, however that ends: SIGKILL runs no fixture's end.

`tied(command)` gives the command to start instead. It runs this file, which asks Linux for a SIGTERM when its parent
dies, and becomes the command. Elsewhere it only becomes the command.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def tied(command: Sequence[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """The command that starts a program which ends with this process. Start it from the main thread."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main() -> None:
    """Tie this process to its parent, and become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before it was asked for
            sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
