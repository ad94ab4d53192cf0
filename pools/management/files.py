"""What commands that read and write files share: `-` for standard input and output, labs by name, errors in words."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from django.core.management.base import CommandError

from evaluation.errors import BadInput
from pools.errors import Refused
from pools.models import Campaign, Collection, Lab


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
def opened(path: Path) -> Iterator[BinaryIO]:
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


Row = TypeVar("Row", Lab, Collection, Campaign)


def lab_called(name: str) -> Lab:
    """The lab of that name."""
    return _the(Lab, f"lab called {name}", name=name)


def collection_called(name: str, lab: str | None) -> Collection:
    """The collection of that name, of a lab where several have one."""
    return _the(Collection, f"collection called {name}", name=name, **({"lab__name": lab} if lab else {}))


def campaign_called(name: str, lab: str | None) -> Campaign:
    """The campaign of that name, of a lab where several have one."""
    return _the(Campaign, f"campaign called {name}", name=name, **({"lab__name": lab} if lab else {}))


def _the(model: type[Row], what: str, **by: str) -> Row:
    found = list(model.objects.filter(**by)[:2])
    if not found:
        raise CommandError(f"There is no {what}.")
    if len(found) > 1:
        raise CommandError(f"Several labs have a {what}: say which with --lab.")
    return found[0]
