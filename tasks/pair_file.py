"""Reading test pairs by id from a file: `query relevant off_topic`, or a table that names these columns."""

from collections.abc import Iterator
from pathlib import Path

from evaluation.files.tables import read_table


def read_test_pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    """The file's test pairs in order. Raises BadInput with file and line for anything but three columns."""
    for _line, (query, relevant, off_topic) in read_table(path, "test pairs"):
        yield query, relevant, off_topic
