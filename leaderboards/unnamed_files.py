"""Files of leaderboards that no row names: a process was killed after it wrote a file and before it committed the row.

The row decides: what none names can be opened by nobody, and goes once it is a day old.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.core.files.storage import default_storage
from django.db.models import FileField, Model

from leaderboards.models import Artifact, DevScoring, Score, SeasonFile, Submission

FOLDERS = ("boards/seasons", "boards/packages", "boards/artifacts")
MODELS: tuple[type[Model], ...] = (Submission, Artifact, Score, SeasonFile, DevScoring)
AGE = timedelta(days=1)  # no request and no job takes that long
FEW = 20  # files that may go although they are most of all
log = logging.getLogger(__name__)


class Unnamed(NamedTuple):
    """Files that no row names, of those that are older than a day; and how many files there are in all."""

    names: list[str]
    all: int

    @property
    def is_suspect(self) -> bool:
        """Whether these are most of all files: then the database may be another one than the files are of."""
        return len(self.names) > max(FEW, self.all // 2)


def unnamed_files(*, at: datetime) -> Unnamed:
    """What would be deleted."""
    stored = {name for folder in FOLDERS for name in _files_in(folder)}
    unnamed = stored.difference(_named())  # read after the files: a row that came meanwhile keeps its own
    return Unnamed(sorted(name for name in unnamed if _written_at(name, at) < at - AGE), len(stored))


def unnamed_delete(*, at: datetime) -> Unnamed:
    """Delete them, unless they are suspect. Those that were deleted before are none."""
    unnamed = unnamed_files(at=at)
    if not unnamed.is_suspect:
        for name in unnamed.names:
            default_storage.delete(name)
            log.info("Deleted %s, which no row names", name)
    return unnamed


def _files_in(folder: str) -> Iterator[str]:
    """The files in a folder and those below it; none where it is not there."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (f"{folder}/{name}" for name in files if name)
    for below in folders:
        yield from _files_in(f"{folder}/{below}")


def _written_at(name: str, at: datetime) -> datetime:
    """When a file was written; now, if it has just gone."""
    try:
        return default_storage.get_modified_time(name)
    except FileNotFoundError:
        return at


def _named() -> Iterator[str]:
    for model in MODELS:
        for field in model._meta.get_fields():
            if isinstance(field, FileField):
                yield from model._default_manager.exclude(**{field.name: ""}).values_list(field.name, flat=True)
