"""What commands that read and write files share: `-` for standard input and output, labs by name, errors in words."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError, OutputWrapper
from django.template.defaultfilters import filesizeformat

from core.errors import Refused
from core.progress import Progress, Report
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
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            yield copy


def write_output(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


@contextmanager
def reporting_to(stream: OutputWrapper) -> Iterator[Report]:
    """Progress on a terminal, in one line that is written over and wiped out at the end; none in a file."""
    width = 0

    def tell(progress: Progress) -> None:
        nonlocal width
        text = progress.step
        if progress.total:
            in_words = filesizeformat if progress.unit == "bytes" else "{:,}".format
            text += f": {in_words(progress.done)} of {in_words(progress.total)}"
        width = max(width, len(text))
        stream.write(f"\r{text:<{width}}", ending="")
        stream.flush()

    try:
        yield Report(tell if stream.isatty() else lambda _progress: None)
    finally:
        if width:
            stream.write(f"\r{'':<{width}}\r", ending="")
