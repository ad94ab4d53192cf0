"""The command line, run in this process as a user runs it."""

import contextlib
import io
import json
from typing import Any, NamedTuple

from evaluation.cli.main import main


class Output(NamedTuple):
    """What a command printed."""

    out: str
    err: str


class Done(NamedTuple):
    """The code that a command left with, and what it printed."""

    code: object
    out: str
    err: str


def try_cli(*words: object) -> Done:
    """Run a command that may fail."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            code: object = main([str(word) for word in words])
        except SystemExit as left:
            code = left.code
    return Done(code, *(stream.buffer.getvalue().decode() for stream in streams))  # type: ignore[attr-defined]


def run_cli(*words: object, code: int = 0) -> Output:
    """What a command printed that must leave with this code."""
    done = try_cli(*words)
    assert done.code == code, done.err
    return Output(done.out, done.err)


def json_of(*words: object) -> Any:
    """What a command printed as JSON that must end well."""
    return json.loads(run_cli(*words).out)
