"""Upkeep: submission after submission, the best known answers are those of a tournament held from scratch."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Pair, Preference, read_preferences
from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.judging.pooling import Tops, all_pairs, pool_queries
from evaluation.judging.tournament import derive
from evaluation.judging.upkeep import Judge, Prices, Submitted, Upkeep, judge_by, replay, year_of
from evaluation.statistics.ranks import Board

Quality = Callable[[str, str], float]
PRICES = Prices(overlap=1, pairs_per_hit=10, dollars_per_assignment=Decimal("2.00"))


def judge_of(quality: Quality, requested: list[Pair] | None = None) -> Judge:
    """Prefers the passage of greater quality; equal ones tie. Notes what it is asked."""

    def judge(pairs: Sequence[Pair]) -> list[Preference]:
        if requested is not None:
            requested.extend(pairs)
        return [
            Preference(q, a, b, None if quality(q, a) == quality(q, b) else max(a, b, key=lambda pid: quality(q, pid)))
            for q, a, b in pairs
        ]

    return judge


def from_scratch(tops: Sequence[Tops], qrels: Qrels, judge: Judge) -> dict[str, tuple[str, ...]]:
    pools = pool_queries(tops, qrels)
    answers: dict[str, list[str]] = {}
    for query, passage in derive(
        pools, judge([pair for q, pool in pools.items() for pair in all_pairs(q, pool)])
    ).qrels:
        answers.setdefault(query, []).append(passage)
    return {query: tuple(passages) for query, passages in answers.items()}


qualities = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=8)
submissions = st.lists(st.fixed_dictionaries({"q": st.sampled_from("abcdefgh").map(lambda pid: (pid,))}), min_size=1)


@given(qualities, submissions)
def test_with_transitive_preferences_ties_too_it_is_the_tournament_from_scratch_after_every_submission(
    quality: dict[str, int], tops: list[Tops]
) -> None:
    qrels = Qrels({"q": {"a": 1}})
    judge = judge_of(lambda _query, pid: quality[pid])
    upkeep = Upkeep.start(tops[:1], qrels, judge)
    for number, top in enumerate(tops[1:], 2):
        upkeep.submit(str(number), top, judge)
        assert upkeep.answers == from_scratch(tops[:number], qrels, judge)


def test_no_pair_is_asked_twice_and_nothing_is_asked_of_what_has_been_considered() -> None:
    requested: list[Pair] = []
    judge = judge_of(lambda _query, pid: "dacb".index(pid), requested)
    upkeep = Upkeep.start([{"q": ("a",)}], Qrels({"q": {"b": 1}}), judge)
    assert (requested, upkeep.answers) == ([Pair("q", "a", "b")], {"q": ("b",)})
    first = upkeep.submit("c", {"q": ("c",), "unknown": ("x",)}, judge)
    assert (first.challengers, first.pairs, first.rounds, first.outcomes["lost"]) == (1, 1, 1, 1)
    for top in "abc":
        again = upkeep.submit(f"again {top}", {"q": (top,)}, judge)
        assert (again.challengers, again.pairs) == (0, 0)
    assert len(requested) == len({*requested}) == upkeep.total == 2
    assert upkeep.all_pairs == 3


def test_what_is_not_judged_stays_open_and_is_asked_for_with_the_next_submission() -> None:
    judge = judge_of(lambda _query, pid: ord(pid))
    upkeep = Upkeep.start([{"q": ("a",)}], Qrels({"q": {"a": 1}}), judge)
    step = upkeep.submit("one", {"q": ("b",)}, lambda _pairs: [])
    assert (step.pairs, step.outcomes["open"], upkeep.answers, upkeep.open) == (0, 1, {"q": ("a",)}, {"q": ("b",)})
    step = upkeep.submit("two", {"q": ("c",)}, judge)
    assert (step.challengers, step.outcomes["won"], step.outcomes["lost"]) == (2, 1, 1)
    assert (upkeep.answers, upkeep.open) == ({"q": ("c",)}, {})


def test_several_that_win_meet_in_a_second_round() -> None:
    judge = judge_of(lambda _query, pid: ord(pid))
    upkeep = Upkeep.start([{"q": ("a",)}], Qrels({"q": {"a": 1}}), judge)
    upkeep.submit("one", {"q": ("b",)}, lambda _pairs: [])
    step = upkeep.submit("two", {"q": ("c",)}, judge)
    assert (step.rounds, step.pairs) == (2, 3)


def test_a_withdrawn_submission_keeps_its_answers_and_is_asked_about_no_more() -> None:
    judge = judge_of(lambda _query, pid: ord(pid))
    upkeep = Upkeep.start([{"q": ("a",)}], Qrels({"q": {"a": 1}}), judge)
    upkeep.submit("gone", {"q": ("c",)}, judge)
    upkeep.submit("gone", {"q": ("d",)}, lambda _pairs: [])
    upkeep.submit("stays", {"q": ("d",)}, lambda _pairs: [])
    upkeep.submit("gone", {"q": ("e",)}, lambda _pairs: [])
    upkeep.withdraw("gone")
    assert (upkeep.answers, upkeep.open) == ({"q": ("c",)}, {"q": ("d",)})


def test_a_deadlock_stays_until_it_is_broken() -> None:
    cycle = {"ab": "a", "bc": "b", "ac": "c", "ad": "a", "bd": "b", "cd": "c", "ae": "e", "be": "e", "ce": "e"}
    judge = judge_by([Preference("q", pair[0], pair[1], winner) for pair, winner in cycle.items()])
    tops: list[Tops] = [{"q": (pid,)} for pid in "abc"]
    upkeep = Upkeep.start(tops, Qrels({"q": {"a": 1}}), judge)
    assert upkeep.answers == {"q": ("a", "b", "c")}
    assert upkeep.submit("d", {"q": ("d",)}, judge).outcomes["lost"] == 1
    assert upkeep.answers == {"q": ("a", "b", "c")}
    assert upkeep.submit("e", {"q": ("e",)}, judge).outcomes["won"] == 1
    assert upkeep.answers == {"q": ("e",)}


def _load(data: Path) -> tuple[dict[str, RunArtifact], dict[str, Tops], Qrels]:
    """The runs, the weakest four on the qrels first."""
    qrels = read_qrels(data / "sparse-qrels.txt")
    paths = sorted((data / "runs").glob("*.gz"))
    runs = {path.name: artifact for path in paths if (artifact := check_run(path).artifact) is not None}
    assert len(runs) == 16
    means = Board(runs, 10, "score").ranks(qrels).means()
    runs = {name: runs[name] for name in sorted(runs, key=lambda name: means[name])}
    return runs, {name: run.top("score") for name, run in runs.items()}, qrels


def _weakest_first(names: list[str]) -> list[str]:
    return names


def _strongest_first(names: list[str]) -> list[str]:
    return names[::-1]


def _mixed(seed: int) -> Callable[[list[str]], list[str]]:
    return lambda names: Random(seed).sample(names, len(names))


@pytest.mark.parametrize("ordered", [_weakest_first, _strongest_first, *map(_mixed, range(3))])
def test_the_twelve_stronger_ones_keep_the_answers_as_from_scratch_at_a_small_share_of_the_pairs(
    data: Path, ordered: Callable[[list[str]], list[str]]
) -> None:
    runs, tops, qrels = _load(data)
    names = list(tops)
    submitted = ordered(names[4:])
    grades = read_qrels(data / "qrels.txt.gz").grades
    coin = {
        pid: number
        for number, pid in enumerate(sorted({top[0] for top_of_run in tops.values() for top in top_of_run.values()}))
    }
    judge = judge_of(lambda query, pid: (grades.get(query, {}).get(pid, 0), coin.get(pid, -1)))  # type: ignore[arg-type, return-value]
    so_far = [tops[name] for name in names[:4]]
    upkeep = Upkeep.start(so_far, qrels, judge)
    started, start_pairs = upkeep.total, upkeep.all_pairs
    assert started == start_pairs
    shares = []
    for name in submitted:
        so_far.append(tops[name])
        step = upkeep.submit(name, tops[name], judge)
        scratch = from_scratch(so_far, qrels, judge)
        assert upkeep.answers == scratch
        # Re-scoring is exact: as if every list were walked by hand, on the qrels from scratch.
        now = Qrels({query: dict.fromkeys(passages, 1) for query, passages in upkeep.answers.items()})
        assert _exact(Board(runs, 10, "score").ranks(now).places) == [_by_hand(run, scratch) for run in runs.values()]
        assert not step.outcomes["open"]
        assert step.all_pairs == sum(len(pool) * (len(pool) - 1) // 2 for pool in pool_queries(so_far, qrels).values())
        shares.append((step.total - started) / (step.all_pairs - start_pairs))
    # Of the pairs that the twelve add to the tournament, as docs/upkeep.md has it; the curve falls as there are more.
    assert (upkeep.all_pairs - start_pairs, upkeep.total - started) == {
        "made-up": (1307, 214),
        "trec-dl-2021": (1602, 235),
    }[data.name]
    assert data.name == "made-up" or (0.21 <= shares[0] <= 0.24 and shares[-1] < 0.15)
    assert shares == sorted(shares, reverse=True)


def _exact(places: object) -> list[Fraction]:
    return [sum((Fraction(1, place) for place in row if place), Fraction(0)) for row in places.tolist()]  # type: ignore[attr-defined]


def _by_hand(run: RunArtifact, answers: dict[str, tuple[str, ...]]) -> Fraction:
    total = Fraction(0)
    for query, ranked in run.top("score", 10).items():
        places = [place for place, pid in enumerate(ranked, 1) if pid in answers.get(query, ())]
        total += Fraction(1, places[0]) if places else 0
    return total


def test_with_the_oracle_of_people_s_judgments_only_intransitive_queries_may_differ(data: Path) -> None:
    _runs, tops, qrels = _load(data)
    oracle = list(read_preferences(data / "oracle-preferences.txt.gz"))
    judge = judge_by(oracle)
    beats = {
        (preference.query, preference.preferred, preference.b if preference.preferred == preference.a else preference.a)
        for preference in oracle
    }
    names = list(tops)
    upkeep = Upkeep.start([tops[name] for name in names[:4]], qrels, judge)
    transitive = 0
    for number, name in enumerate(names[4:], 5):
        upkeep.submit(name, tops[name], judge)
        pools = pool_queries([tops[name] for name in names[:number]], qrels)
        scratch = from_scratch([tops[name] for name in names[:number]], qrels, judge)
        for query, pool in pools.items():
            if not _has_cycle(query, pool, beats):
                transitive += 1
                assert upkeep.answers[query] == scratch[query], (name, query)
    assert transitive > 300  # of 12 * 53
    assert upkeep.total / upkeep.all_pairs < {"made-up": 0.36, "trec-dl-2021": 0.35}[data.name]


def _has_cycle(query: str, pool: tuple[str, ...], beats: set[tuple[str, str | None, str]]) -> bool:
    wins = sorted(sum((query, passage, other) in beats for other in pool) for passage in pool)
    return wins != list(range(len(pool)))  # a tournament is transitive if and only if all its scores differ


def test_replays_are_the_same_for_a_seed_and_refuse_what_leaves_nothing() -> None:
    tops: list[Tops] = [{"q": (pid,)} for pid in "abcd"]
    qrels, judge = Qrels({"q": {"a": 1}}), judge_of(lambda _query, pid: ord(pid))
    assert replay(tops, qrels, judge, first=1, orders=5, seed=3) == replay(
        tops, qrels, judge, first=1, orders=5, seed=3
    )
    rows = replay(tops, qrels, judge, first=2, orders=5, seed=3)
    assert [row.before for row in rows] == [2, 3] * 5
    for first in (0, 4):
        with pytest.raises(ValueError, match=f"{first} runs to start from where there are 4"):
            replay(tops, qrels, judge, first=first, orders=1, seed=0)


def test_a_year_costs_what_the_replays_said_where_they_all_said_the_same() -> None:
    submitted = [Submitted(before, 50) for before in (4, 5, 6)]
    year = year_of(submitted, PRICES, replayed_queries=100, queries=1000, entries=7, submissions=12, campaigns=4)
    assert (year.a, year.b) == (pytest.approx(0.5), pytest.approx(0))
    # 500 pairs a submission, three submissions a campaign: 150 HITs, four times.
    assert [*year.pairs] == [6000] * 3
    assert [*year.assignments] == [600] * 3
    assert [*year.dollars_per_submission] == [100] * 3
    dear = year_of(
        submitted, Prices(3, 10, Decimal("2.00"), 0.5), replayed_queries=100, queries=1000, entries=7, submissions=12
    )
    assert dear.assignments.mean == 600 * 3 * 1.5


def test_a_year_goes_on_as_the_replays_fell_and_none_costs_nothing() -> None:
    submitted = [Submitted(before, 4000 // before) for before in (4, 8, 16)]
    year = year_of(submitted, PRICES, replayed_queries=100, queries=100, entries=100, submissions=1, campaigns=1)
    assert (year.b, year.pairs.mean) == (pytest.approx(1), pytest.approx(40))
    nothing = year_of(submitted, PRICES, replayed_queries=100, queries=100, entries=100, submissions=0)
    assert (nothing.pairs.mean, nothing.dollars.high, nothing.dollars_per_submission.mean) == (0, 0, 0)
    never = year_of([Submitted(4, 0)], PRICES, replayed_queries=100, queries=100, entries=4, submissions=5)
    assert never.pairs.high == 0
    with pytest.raises(ValueError, match="a replay is needed"):
        year_of([], PRICES, replayed_queries=1, queries=1, entries=1, submissions=1)


def test_every_pair_of_a_tournament_is_in_canonical_order_for_a_judge() -> None:
    requested: list[Pair] = []
    Upkeep.start([{"q": ("c",)}, {"q": ("b",)}], Qrels({"q": {"a": 1}}), judge_of(lambda _q, pid: ord(pid), requested))
    assert requested == [Pair("q", *pair) for pair in combinations("abc", 2)]
