"""Newcomers are compared with the answers only, and confirmed before they replace one."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.files.preferences import Pair, Preference
from evaluation.judging.challengers import settle_challenges
from evaluation.judging.posterior import Judging, Strengths, given
from evaluation.judging.settling import assess_pairs, expected_wrong, settle, worth_asking

from .command import run_cli
from .conftest import Write


def judged(order: str, query: str = "q") -> list[Preference]:
    return [Preference(query, a, b, a) for a, b in combinations(order, 2)]


def test_a_newcomer_is_compared_with_the_answer_only() -> None:
    (settled,) = settle({"q": "abcxy"}, judged("abc"))
    assert (settled.answers, list(settled.pairs)) == (("a",), [("q", "a", "x"), ("q", "a", "y")])
    assert not settle({"q": "abc"}, judged("abc"))[0].pairs
    (alone, whole) = settle({"p": "a", "q": "abc"}, [])
    assert (alone.answers, alone.pairs) == (("a",), {})
    assert (whole.answers, list(whole.pairs)) == ((), [("q", *pair) for pair in combinations("abc", 2)])


def test_a_newcomer_that_wins_once_is_confirmed_and_one_that_loses_is_out() -> None:
    pools, rows = {"q": "abcxy"}, judged("abc")
    lost, won = Preference("q", "a", "x", "a"), Preference("q", "a", "y", "y")
    (settled,) = settle(pools, [*rows, lost, won], judging=given(0.3))
    assert (settled.answers, list(settled.pairs)) == (("a",), [("q", "a", "y")])
    (twice,) = settle(pools, [*rows, lost, won, won], judging=given(0.3))
    assert (twice.answers, twice.pairs) == (("y",), {})  # no third judgment would change the majority
    assert 0.5 < twice.replaced["y"] < 0.9
    wrong = expected_wrong([("q", "y", "a")], pools, [*rows, lost, won, won], judging=given(0.3))
    assert wrong == pytest.approx(1 - twice.replaced["y"])
    against = Preference("q", "a", "y", "a")
    (split,) = settle(pools, [*rows, lost, won, against], judging=given(0.3))
    assert (split.answers, split.pairs) == (("a",), {}), "it does not lead, and the answer won a tournament"
    sure = settle(pools, [*rows, lost, won], judging=given(0.001))[0]
    assert (sure.answers, sure.pairs) == (("y",), {}), "who never errs is asked once"
    assert settle(pools, [*rows, lost, won], most=1)[0].answers == ("y",)


def test_one_newcomer_at_a_time_is_confirmed_the_most_probable_first() -> None:
    rows = [*judged("abc"), *[Preference("q", "a", newcomer, newcomer) for newcomer in "xyz"]]
    rows += [Preference("q", "b", "y", "y"), Preference("q", "c", "z", "c")]
    (settled,) = settle({"q": "abcxyz"}, rows, judging=given(0.3))
    assert (settled.answers, list(settled.pairs)) == (("a",), [("q", "a", "y")])


def test_two_newcomers_that_beat_the_answer_are_compared_with_each_other() -> None:
    rows = [*judged("abc"), *[Preference("q", "a", newcomer, newcomer) for newcomer in "xxyy"]]
    (settled,) = settle({"q": "abcxy"}, rows, judging=given(0.3))
    assert (settled.answers, list(settled.pairs)) == (("x",), [("q", "x", "y")])


def test_within_a_budget_the_most_open_pairs_are_asked() -> None:
    rows = [*judged("ab", "p"), *judged("ab", "r"), Preference("p", "a", "x", "x"), Preference("r", "a", "x", "x")]
    settled = settle({"p": "abx", "q": "ab", "r": "abx"}, rows, judging=given(0.2))
    assert worth_asking(settled) == [("p", "a", "x"), ("q", "a", "b"), ("r", "a", "x")]
    assert len(worth_asking(settled, 2)) == 2 and worth_asking(settled, 0) == []


def test_a_challenger_is_confirmed_as_settle_confirms_it_whatever_is_judged_elsewhere() -> None:
    random, judging, most = np.random.default_rng(2), Judging({Strengths(1.2, 0.1): 0.5, Strengths(2.4, 0.3): 0.5}), 4
    pools = {f"q{number:02}": "abcx" for number in range(60)}
    before = [row for query in pools for row in judged("abc", query)]
    since: list[Preference] = []
    over = dict[str, int]()
    while len(over) < len(pools):
        since += [Preference(query, "a", "x", "ax"[random.integers(2)]) for query in pools if query not in over]
        chance = assess_pairs(since, before, judging)
        challenges = settle_challenges(
            dict.fromkeys(pools, "a"), dict.fromkeys(pools, "x"), [*before, *since], most=most, level=0.7, chance=chance
        )
        verdicts = settle(pools, [*before, *since], judging=judging, most=most, level=0.7)
        for challenge, settled in zip(challenges, verdicts, strict=True):
            assert bool(challenge.missing) == bool(settled.pairs)
            if not challenge.missing:
                is_tie = len(challenge.best) == 2  # which `settle` does not let replace an answer
                assert is_tie or challenge.best == settled.answers
                assert over.setdefault(challenge.query, len(challenge.best)) == len(challenge.best)
    assert any(sum(row.query == query for row in since) == 2 for query in pools)


def test_what_is_judged_of_other_pairs_changes_no_chance() -> None:
    judging = Judging({Strengths(1.2, 0.1): 0.5, Strengths(2.4, 0.3): 0.5})
    before = [row for query in "pqr" for row in judged("abcde"[: ord(query) - 109], query)]
    since = [Preference(query, "a", passage, passage) for query in "pqr" for passage in "xyz"]
    together = assess_pairs(since, before, judging)
    for row in since:
        pair = Pair(*row[:3])
        assert together(pair) == pytest.approx(assess_pairs([row], before, judging)(pair), abs=1e-6)
    assert together(Pair("p", "a", "b")) > 0.5, "judged before only"


def test_confirming_keeps_the_best_more_often_than_one_judgment_does() -> None:
    """Seven first passages and eight newcomers: simulated people, by Bradley and Terry."""
    names, judging = [f"p{at:02}" for at in range(15)], Judging({Strengths(1.2, 0.0): 1.0})
    right, requested = {}, {}
    for most in (1, 3):
        random = np.random.default_rng(4)
        pools = {f"q{number:03}": names for number in range(100)}
        strengths = {query: dict(zip(names, random.normal(0, 1.2, 15).tolist(), strict=True)) for query in pools}

        def ask(query: str, a: str, b: str, random: np.random.Generator = random, of: Any = strengths) -> Preference:
            return Preference(query, a, b, a if random.random() < 1 / (1 + np.exp(of[query][b] - of[query][a])) else b)

        firsts = {query: sorted(random.permutation(names).tolist()[:7]) for query in pools}
        rows = [ask(query, *pair) for query, first in firsts.items() for pair in combinations(first, 2)]
        started = len(rows)
        while pairs := worth_asking(settled := settle(pools, rows, judging=judging, most=most)):
            rows += [ask(*pair) for pair in pairs]
        truly = {query: max(values, key=values.__getitem__) for query, values in strengths.items()}
        right[most] = sum(truly[row.query] in row.answers for row in settled) / len(pools)
        requested[most] = (len(rows) - started) / len(pools)
    assert right[3] >= right[1] + 0.05
    # A tournament of all would ask 84 more.
    assert 8 <= requested[1] < requested[3] <= 12


def test_the_command_prints_pairs_until_all_is_settled_and_then_the_answers(write: Write, tmp_path: Path) -> None:
    members = write("members.txt", "q a\nq b\nq c\nr x\n")
    judgments = tmp_path / "judgments.txt"
    judgments.write_text("")
    options = ["--pools", members, "--judgments", str(judgments)]
    assert run_cli("settle", "next", *options).out == "q a b\nq a c\nq b c\n"
    judgments.write_text("q a b a\nq a c c\n")
    out, err = run_cli("settle", "next", *options)
    assert (out, err) == ("q a c\n", "1 of 2 pools settled.\n")
    judgments.write_text("q a b a\nq a c c\nq a c c\n")
    assert run_cli("settle", "next", *options).out == ""
    out, err = run_cli("settle", "result", *options)
    assert out == "q 0 c 1\nr 0 x 1\n" and "1 newcomer replaced an answer" in err
    run_cli("settle", "next", "--pools", members, "--judgments", write("other.txt", "q a z a\n"), code=1)
