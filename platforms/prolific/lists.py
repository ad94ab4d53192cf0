"""A study's submissions, as many at once as Prolific gives, and little of each."""

from collections.abc import Iterator
from typing import Any

from platforms.calls import Answer

MOST_ROWS = 1000  # that are asked for at once; Prolific may give fewer
KEPT = ("id", "participant_id", "status", "study_code", "started_at", "completed_at")  # of each: some 600 bytes


def submissions_of(client: Any, study: str, status: str = "", ordering: str = "") -> Iterator[Answer]:
    """All of them, or those in a state, which has underscores where answers have spaces."""
    chosen = {"study": study} | ({"status": status} if status else {}) | ({"ordering": ordering} if ordering else {})
    for row in client.listed("submissions/", page_size=MOST_ROWS, **chosen):
        yield {name: row.get(name) for name in KEPT}
