"""What a machine answered about pairs of passages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evaluation.files.preferences import TIED, numbered_outcomes
from evaluation.files.textfiles import Source

NO_ANSWER = "!"
_SIGNS = TIED | {NO_ANSWER: "no answer"}


class Answer(NamedTuple):
    """What a machine said when it was shown `a` first and `b` second: the id of one of them, TIE or NO_ANSWER."""

    query: str
    a: str
    b: str
    preferred: str

    @property
    def is_decisive(self) -> bool:
        """Whether it preferred one of the two."""
        return self.preferred in (self.a, self.b)


def read_answers(source: Source, *, name: str | None = None) -> Iterator[Answer]:
    """Answers in file order, from lines `query a b preferred`: `preferred` is one of the two passages, = or !.

    A pair may be there in both orders, and repeatedly. Raises BadInput as `read_preferences` does.
    """
    for _, answer in numbered_answers(source, name=name):
        yield answer


def numbered_answers(source: Source, *, name: str | None = None) -> Iterator[tuple[int, Answer]]:
    """As `read_answers`, each with its line."""
    for line, answer in numbered_outcomes(source, "answers", _SIGNS, name=name):
        yield line, Answer(*answer)
