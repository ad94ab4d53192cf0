"""How long it takes to read something and choose."""

from collections.abc import Iterable

from evaluation.judging.recognition import split_words

# Words a minute of an adult who reads silently, for understanding; about as many signs in scripts without spaces.
WORDS_PER_MINUTE = 230
# To decide and press, for each choice.
CHOICE_SECONDS = 4
# Nobody reads faster, even skimming.
MOST_WORDS_PER_MINUTE = 600


def reading_minutes(texts: Iterable[str], *, choices: int) -> float:
    """Minutes for reading the texts once and making so many choices."""
    return _words(texts) / WORDS_PER_MINUTE + choices * CHOICE_SECONDS / 60


def least_minutes(texts: Iterable[str]) -> float:
    """Minutes below which nobody has read the texts."""
    return _words(texts) / MOST_WORDS_PER_MINUTE


def _words(texts: Iterable[str]) -> int:
    return sum(len(split_words(text)) for text in texts)
