"""Newly surfaced top passages against the best known answers."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evaluation.files.preferences import Pair, Preference, read_preferences
from evaluation.files.qrels import read_qrels
from evaluation.files.runs import check_run
from evaluation.judging.challengers import challenge_pairs, find_challengers, settle_challenges
from evaluation.judging.pooling import all_pairs, pool_queries
from evaluation.judging.tournament import derive


def judged(query: str, *pairs: str) -> list[Preference]:
    """Two letters a pair: the first was preferred; with a dash between, nobody knew."""
    return [Preference(query, pair[0], pair[-1], None if "-" in pair else pair[0]) for pair in pairs]


def settled(best: str, challengers: str, *pairs: str, **rule: Any) -> tuple[str, list[str]]:
    (challenge,) = settle_challenges({"q": best}, {"q": challengers}, judged("q", *pairs), **rule)
    return "".join(challenge.best), ["".join(pair[1:]) for pair in challenge.missing]


def test_what_no_pool_had_challenges_the_best_known_answer_alone() -> None:
    pools = {"q": "abc", "r": "x", "s": "y"}
    tops = [{"q": ("d", "e"), "r": ("x",), "s": ("z",), "t": ("n",)}, {"q": ("b",), "s": ("w",)}]
    challengers = find_challengers(tops, pools)
    assert challengers == {"q": ("d",), "s": ("w", "z")}
    assert challenge_pairs({"q": "ab", "s": "y"}, challengers) == [
        Pair("q", "a", "d"), Pair("q", "b", "d"), Pair("s", "w", "y"), Pair("s", "y", "z"),
    ]  # fmt: skip


def test_a_challenger_that_wins_takes_the_place_and_one_that_loses_changes_nothing() -> None:
    assert settled("a", "d", "da") == ("d", [])
    assert settled("a", "d", "ad") == ("a", [])


def test_a_tie_keeps_both() -> None:
    assert settled("a", "d", "a-d") == ("ad", [])
    assert settled("a", "d", "ad", "da") == ("ad", [])
    assert settled("a", "d", "ad", "da", "da") == ("d", [])


def test_nothing_changes_before_all_is_judged() -> None:
    assert settled("a", "de", "da") == ("a", ["ae"])


def test_several_challengers_that_win_must_meet() -> None:
    assert settled("a", "de", "da", "ea") == ("a", ["de"])
    assert settled("a", "de", "da", "ea", "ed") == ("e", [])
    assert settled("a", "de", "da", "ae") == ("d", [])


def test_a_comparison_is_over_once_it_is_probable_enough_who_is_better() -> None:
    """Of newcomers, where the chance is that of the first of a pair."""

    def with_chance(chance: float | None) -> dict[str, Any]:
        return {"most": 3, "level": 0.9, "chance": lambda _pair: chance}

    assert settled("a", "d", "da", **with_chance(0.3)) == ("a", ["ad"])
    assert settled("a", "d", "da", **with_chance(None)) == ("a", ["ad"])
    assert settled("a", "d", "da", **with_chance(0.1)) == ("d", [])
    assert settled("a", "d", "da", **with_chance(0.9)) == ("a", [])
    assert settled("a", "d", "da", "ad", **with_chance(0.1)) == ("d", []), "although as many were for the answer"
    assert settled("a", "d", "da", "ad", **with_chance(0.6)) == ("a", []), "it does not lead, nor is it the likelier"
    assert settled("a", "d", "da", "ad", **with_chance(0.4)) == ("a", ["ad"])
    # No third judgment would change the majority, so the likelier one is the answer.
    assert settled("a", "d", "da", "da", **with_chance(0.4)) == ("d", [])
    assert settled("a", "d", "da", "da", **with_chance(0.6)) == ("a", [])
    assert settled("a", "d", "ad", **with_chance(0.1)) == ("a", []), "one that loses at once is out"
    assert settled("a", "de", "da", "ea", "de", **with_chance(0.05)) == ("d", [])


def test_a_deadlock_stays_until_it_is_broken() -> None:
    cycle = ("ab", "bc", "ca")
    assert settled("abc", "d", *cycle, "ad", "bd", "cd") == ("abc", [])
    assert settled("abc", "d", *cycle, "da", "db", "dc") == ("d", [])
    # d beats b alone: a and d are not ahead of the others by this, and a has two wins as c has.
    assert settled("abc", "d", *cycle, "db", "ad", "cd") == ("c", [])


def test_a_query_without_a_best_known_answer_has_no_challenge() -> None:
    assert challenge_pairs({}, {"q": "d"}) == []
    assert settle_challenges({}, {"q": "d"}, []) == []


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.booleans()), max_size=20))
def test_the_order_of_judgments_changes_nothing_and_a_loser_never_enters(rows: list[tuple[str, str, bool]]) -> None:
    preferences = [Preference("q", a, b, a if won else None) for a, b, won in rows if a != b]
    (challenge,) = settle_challenges({"q": "a"}, {"q": "bcd"}, preferences)
    assert [challenge] == settle_challenges({"q": "a"}, {"q": "bcd"}, preferences[::-1])
    assert set(challenge.best) <= set("abcd")
    assert challenge.best == ("a",) or not challenge.missing


def test_a_thirteenth_run_costs_all_pairs_anew_fewer_with_reuse_and_few_as_challengers(data: Path) -> None:
    qrels = read_qrels(data / "sparse-qrels.txt")
    tops = [run.top("score") for path in sorted((data / "runs").glob("*.gz"))[:13] if (run := check_run(path).artifact)]
    before, after = pool_queries(tops[:12], qrels), pool_queries(tops, qrels)
    pairs_before = {pair for query, pool in before.items() for pair in all_pairs(query, pool)}
    needed = {pair for query, pool in after.items() for pair in all_pairs(query, pool)}
    oracle = list(read_preferences(data / "oracle-preferences.txt.gz"))
    best: dict[str, list[str]] = {}
    for query, passage in derive(before, [row for row in oracle if Pair(*row[:3]) in pairs_before]).qrels:
        best.setdefault(query, []).append(passage)
    challengers = find_challengers(tops[12:], before)
    pairs = challenge_pairs(best, challengers)
    assert (len(needed), len(needed - pairs_before), len(pairs)) == {
        "made-up": (1091, 172, 29),
        "trec-dl-2021": (1514, 237, 32),
    }[data.name]
    # Judged by the oracle, the challenge is settled at once, and only where the challenger won.
    settled = settle_challenges(best, challengers, oracle)
    assert not any(challenge.missing for challenge in settled)
    won = {row.query for row in oracle if Pair(*row[:3]) in set(pairs) and row.preferred in challengers[row.query]}
    assert {challenge.query for challenge in settled if challenge.changed} == won
