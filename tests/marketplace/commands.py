"""The marketplace's commands, each run by a copy of a process that has loaded the marketplace already.

A start takes most of a second of a processor, and a copy next to nothing. Each line of standard input is a command's
words, as JSON; each line of the answer is its exit code and what it wrote.
"""

import contextlib
import io
import json
import os
import sys
import traceback

import django
from django.core.checks import run_checks
from django.core.management import execute_from_command_line


def run(words: list[str]) -> tuple[int, str, str]:
    """Run a command. Its exit code, and what it printed and complained of."""
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        try:
            execute_from_command_line(["python -m marketplace", *words])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            traceback.print_exc()
            code = 1
    return code, printed.getvalue(), complaints.getvalue()


def main() -> None:
    """Run commands until there are no more."""
    django.setup()
    run_checks()  # as every command does, which loads all of the rest
    for line in sys.stdin:
        copy = os.fork()
        if not copy:
            print(json.dumps(run(json.loads(line))), flush=True)
            os._exit(0)
        os.waitpid(copy, 0)


if __name__ == "__main__":
    main()
