"""Small files that a test can show."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

Write = Callable[[str, "str | bytes"], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and gives its path."""

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file
