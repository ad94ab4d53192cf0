"""Reading test pairs by id from a file: `query relevant off_topic`."""

from collections.abc import Iterator
from pathlib import Path

from evaluation.errors import BadInput
from evaluation.files.textfiles import TextFile, columns, counted


def read_test_pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    """The file's test pairs in order. Raises BadInput with file and line for anything but three columns."""
    file = TextFile(path)
    for number, row in file.rows():
        split = columns(row)
        if len(split) != 3:
            message = f"{counted(len(split), 'column')} where a test pair has 3 (query relevant off_topic)."
            raise BadInput(file.name, number, message)
        yield split[0], split[1], split[2]
