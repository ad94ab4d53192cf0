"""How long it takes to read something and choose."""

from collections.abc import Iterable

from evaluation.judging.recognition import split_words

WORDS_PER_MINUTE = 230
"""Of an adult who reads silently, for understanding; about as many signs in scripts without spaces."""
CHOICE_SECONDS = 4
"""To decide and press, for each choice."""


def reading_minutes(texts: Iterable[str], *, choices: int) -> float:
    """Minutes for reading the texts once and making so many choices."""
    words = sum(len(split_words(text)) for text in texts)
    return words / WORDS_PER_MINUTE + choices * CHOICE_SECONDS / 60
