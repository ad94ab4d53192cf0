"""What a machine answered about pairs of passages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evaluation.errors import BadInput
from evaluation.files.preferences import TIE, numbered_outcomes
from evaluation.files.textfiles import Source, name_of, quote_value

NO_ANSWER = "!"


class Answer(NamedTuple):
    """What a machine said when it was shown `a` first and `b` second: the id of one of them, TIE or NO_ANSWER."""

    query: str
    a: str
    b: str
    said: str

    @property
    def is_decisive(self) -> bool:
        """Whether it preferred one of the two."""
        return self.said in (self.a, self.b)


def read_answers(source: Source, *, name: str | None = None) -> Iterator[Answer]:
    """Answers in file order, from lines `query a b preferred`: `preferred` is one of the two passages, = or !.

    A pair may be there in both orders, and repeatedly. Raises BadInput as `read_preferences` does.
    """
    for _, answer in numbered_answers(source, name=name):
        yield answer


def numbered_answers(source: Source, *, name: str | None = None) -> Iterator[tuple[int, Answer]]:
    """As `read_answers`, each with its line."""
    name = name_of(source) if name is None else name
    for line, (query, a, b, said) in numbered_outcomes(source, name, (TIE, NO_ANSWER), "answers have"):
        if said not in (a, b, TIE, NO_ANSWER):
            message = (
                f"'{quote_value(said)}' where {quote_value(a)}, {quote_value(b)}, {TIE} (a tie) or {NO_ANSWER} (no "
                "answer) is needed."
            )
            raise BadInput(name, line, message)
        yield line, Answer(query, a, b, said)
