"""How long reading takes: words, in scripts with and without spaces, and a little for each choice."""

import pytest

from evaluation.judging.reading import (
    CHOICE_SECONDS,
    MOST_WORDS_PER_MINUTE,
    WORDS_PER_MINUTE,
    least_minutes,
    reading_minutes,
)


def test_words_are_read_at_a_pace_and_each_choice_takes_a_moment() -> None:
    assert reading_minutes(["one two three"] * WORDS_PER_MINUTE, choices=0) == 3
    assert reading_minutes([], choices=20) == pytest.approx(20 * CHOICE_SECONDS / 60)


def test_repeated_words_are_read_each_time_and_signs_count_where_there_are_no_spaces() -> None:
    assert reading_minutes(["no no no"], choices=0) == pytest.approx(3 / WORDS_PER_MINUTE)
    assert reading_minutes(["東京の夏"], choices=0) == pytest.approx(4 / WORDS_PER_MINUTE)


def test_nobody_reads_more_than_600_words_a_minute() -> None:
    assert MOST_WORDS_PER_MINUTE == 600
    assert least_minutes(["one two three"] * 100) == 0.5
