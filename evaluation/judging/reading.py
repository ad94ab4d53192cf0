"""How long it takes to read something and choose."""

from collections.abc import Iterable

from evaluation.judging.recognition import split_words

# Words a minute of an adult who reads silently, for understanding; about as many signs in scripts without spaces.
WORDS_PER_MINUTE = 230
# To decide and press, for each choice.
CHOICE_SECONDS = 4


def reading_minutes(texts: Iterable[str], *, choices: int) -> float:
    """Minutes for reading the texts once and making so many choices."""
    words = sum(len(split_words(text)) for text in texts)
    return words / WORDS_PER_MINUTE + choices * CHOICE_SECONDS / 60
