"""What commands that read and write files share: `-` for standard input and output, labs by name, errors in words."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError

from core.errors import Refused
from evaluation.errors import BadInput


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """Turn bad input and refusals into a CommandError: one sentence, no traceback, exit code 1."""
    try:
        yield
    except (BadInput, Refused) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise CommandError(f"{error.filename}: {error.strerror}.") from error


STANDARD_INPUT = Path("/dev/stdin")


def input_path(text: str) -> Path:
    """A file that is read once, named on the command line; `-` is standard input."""
    return STANDARD_INPUT if text == "-" else Path(text)


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """A file, open to be read more than once. What comes from standard input is kept in a temporary file."""
    with path.open("rb") as file:
        if file.seekable():
            yield file
            return
        with tempfile.TemporaryFile() as kept:
            shutil.copyfileobj(file, kept)
            kept.seek(0)
            yield kept


def write_output(content: bytes) -> None:
    """Write bytes to standard output."""
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
