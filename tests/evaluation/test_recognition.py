"""How well a program tells test pairs from pairs, and how off-topic passages are chosen so that it cannot."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.judging.recognition import (
    Candidate,
    Features,
    Rarity,
    ShownItem,
    auc,
    choose_off_topic,
    features_of,
    is_near_copy,
    recognition,
    shingles_of,
    words_of,
)

VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@given(VALUES, VALUES)
def test_auc_is_the_share_of_couples_that_the_larger_value_tells_apart(some: list[int], others: list[int]) -> None:
    wins = sum((a > b) + (a == b) / 2 for a in some for b in others) / (len(some) * len(others))
    assert auc(some, others) == pytest.approx(max(wins, 1 - wins))


def test_values_that_never_meet_tell_with_certainty_and_equal_ones_not_at_all() -> None:
    assert auc([1, 2], [3, 4]) == auc([3, 4], [1, 2]) == 1
    assert auc([1, 1], [1, 1]) == 0.5


def test_words_are_counted_without_case_or_signs_and_sign_by_sign_where_there_are_no_spaces() -> None:
    assert words_of("Why is the Sky BLUE? (sky-blue)") == {"why", "is", "the", "sky", "blue"}
    assert words_of("東京の夏 2024") == {"東", "京", "の", "夏", "2024"}


def test_two_versions_of_a_text_are_near_copies_and_two_texts_about_the_same_are_not() -> None:
    text = shingles_of("The kanima is about the size of an average human, and covered in scales.")
    assert is_near_copy(text, shingles_of("The Kanima is ABOUT the size of an average human and has a tail."))
    assert is_near_copy(text, shingles_of("Long before that it was said: the kanima is about the size of an average."))
    assert not is_near_copy(text, shingles_of("An average human is larger than the kanima, whose scales cover it."))
    assert is_near_copy(shingles_of("yes"), shingles_of("Yes!"))
    assert not is_near_copy(shingles_of("yes"), text)


def test_common_words_count_next_to_nothing() -> None:
    rarity = Rarity([words_of(f"the text {number}") for number in range(50)])
    question = words_of("the cello")
    assert rarity.share(question, words_of("the sea")) < 0.01
    assert rarity.share(question, words_of("a cello")) > 0.99


def test_a_share_does_not_depend_on_the_order_of_the_words() -> None:
    rarity = Rarity([words_of(f"word{n} " * (n % 7) + "the " + "sea " * (n % 3)) for n in range(50)])
    words = [f"word{n}" for n in range(40)]
    assert len({rarity.weights(words[turn:] + words[:turn]) for turn in range(40)}) == 1


PAIRS = [ShownItem(f"about word{n}", f"word{n} is this and more", f"word{n} is that") for n in range(30)]


def told(tests: list[ShownItem]) -> dict[str, float]:
    return {feature.feature: feature.auc for feature in recognition(tests, PAIRS)}


def test_an_off_topic_passage_without_a_word_of_the_question_gives_every_test_pair_away() -> None:
    features = told([ShownItem(f"about word{n}", f"word{n} is this and more", "red seas") for n in range(10)])
    assert features["question_words_worse"] == 1
    assert features["hits"] == 0.5


def test_test_pairs_like_pairs_are_not_told_apart() -> None:
    assert max(told(PAIRS[::3]).values()) < 0.6


def test_test_pairs_that_come_in_several_hits_are_told_by_that() -> None:
    features = told([item._replace(hits=3) for item in PAIRS[::3]])
    assert features["hits"] == 1
    assert max(value for name, value in features.items() if name != "hits") < 0.6


def test_nothing_is_measured_without_test_pairs_or_without_pairs() -> None:
    assert recognition([], PAIRS) == []
    assert recognition(PAIRS, []) == []


def candidate(key: int, text: str) -> Candidate:
    return Candidate(key, words_of(text), len(text))


def test_the_off_topic_passage_is_counted_like_the_pair_that_was_drawn() -> None:
    texts = ["the router for wood", "seas and tides", "router and modem of the house", "a modem makes noise"]
    candidates = [candidate(key, text) for key, text in enumerate(texts)]
    rarity = Rarity([candidate.words for candidate in candidates] * 5)
    model = features_of(ShownItem("router or modem", "a router and a modem", "the router"), rarity)
    chosen = choose_off_topic("router or modem", "a modem and a router", candidates, model, rarity)
    assert chosen is not None
    assert chosen.key in (0, 3)
    assert choose_off_topic("router or modem", "a modem", [], model, rarity) is None


def test_chosen_passages_follow_the_pairs_whatever_their_share_of_words() -> None:
    random = Random(1)
    vocabulary = [f"w{n}" for n in range(60)]
    texts = [" ".join(random.choices(vocabulary, k=20)) for _ in range(600)]
    rarity = Rarity([words_of(text) for text in texts])
    questions = [" ".join(random.sample(vocabulary, 6)) for _ in range(40)]

    def nearest(question: str, places: slice) -> list[str]:
        return sorted(texts, key=lambda text: -rarity.share(words_of(question), words_of(text)))[places]

    pairs = [ShownItem(question, *nearest(question, slice(0, 9, 8))) for question in questions]
    models: list[Features] = [features_of(pair, rarity) for pair in pairs]
    candidates = [candidate(key, text) for key, text in enumerate(texts)]
    tests, blind = [], []
    for question in questions:
        best = nearest(question, slice(0, 1))[0]
        others = [candidate for candidate in candidates if texts[candidate.key] != best]
        chosen = choose_off_topic(question, best, others, random.choice(models), rarity)
        assert chosen is not None
        tests.append(ShownItem(question, best, texts[chosen.key]))
        blind.append(ShownItem(question, best, random.choice(texts)))
    assert max(feature.auc for feature in recognition(tests, pairs)) < 0.7
    assert max(feature.auc for feature in recognition(blind, pairs)) > 0.9


def test_two_versions_of_a_text_are_near_copies_and_short_texts_only_if_they_are_equal() -> None:
    def are_near(first: str, second: str) -> bool:
        return is_near_copy(shingles_of(first), shingles_of(second))

    long = "The kanima is about the size of an average human and covered in scales."
    assert are_near(long, "The kanima is roughly the size of an average human, covered in scales.")
    assert not are_near(long, "The orchestra has about a hundred players of average age and height.")
    assert not are_near("passage 7 says so again", "passage 7 says so now")
    assert not are_near("passage 7", "passage 8")
    assert are_near("Passage 7!", "passage 7")
